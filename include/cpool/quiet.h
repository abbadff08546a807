/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/quiet.h - stretches of a thread's work without delays by the library.
 *
 * Included by <cpool.h>.  Never include it yourself.
 */
#ifndef CPOOL_QUIET_H
#define CPOOL_QUIET_H

#ifndef CPOOL_H
#error "include <cpool.h> instead of <cpool/quiet.h>"
#endif

/*
 * ---- Quiet scopes (cpool_quiet.3) ------------------------------------------
 */

/*
 * The library's work on behalf of one thread, with any pool, that could make it late.
 */
typedef struct cpool_quiet {
    size_t size;           /* sizeof(cpool_quiet_t), set by the initialiser */
    uint64_t growths;      /* the capacity of a pool was raised */
    uint64_t system_calls; /* memory was asked for or given back, a barrier paid, the
                              processor given up, a sleep.  The system calls of locks
                              are not counted */
    uint64_t fresh_slots;  /* slots taken for the first time: each may cost a
                              page fault when it is touched */
    uint64_t exchanges;    /* with a depot: of one magazine, or of all that a lease gives */
} cpool_quiet_t;

#define CPOOL_QUIET_INIT                                                       \
    {                                                                          \
        sizeof(cpool_quiet_t), 0, 0, 0, 0                                      \
    }

/* cpool_quiet_begin's flags: which of these are reported, as CPOOL_ENOTQUIET,
 * when they happen, beside being counted. */
#define CPOOL_TRAP_GROWTHS 0x1u
#define CPOOL_TRAP_SYSTEM_CALLS 0x2u
#define CPOOL_TRAP_FRESH_SLOTS 0x4u
#define CPOOL_TRAP_EXCHANGES 0x8u

/*
 * cpool_quiet_begin, cpool_quiet_end - bracket a stretch of the calling thread's
 * work, a frame say, that should not be held up by any of the above.
 *
 * begin   starts counting at zero.  It returns 0, CPOOL_EFLAGS for unknown
 *         traps, CPOOL_EPOOL when no pool has ever been created, or
 *         CPOOL_ENOMEM
 * end     stops, and fills in the counts, which start from CPOOL_QUIET_INIT.  It
 *         returns 0, or CPOOL_ENULL or CPOOL_ESTRUCT, after which the scope goes on
 *
 *     cpool_quiet_t counts = CPOOL_QUIET_INIT;
 *
 *     cpool_quiet_begin(0);
 *     run_frame();
 *     cpool_quiet_end(&counts);
 *     assert(counts.system_calls == 0 && counts.fresh_slots == 0);
 *
 * Scopes do not nest: a second begin starts over.  Nothing is counted on the
 * fast path, which never does any of this.
 *
 * A report's `function` is the public function that was under way.  It is made as that
 * function ends, once for each kind of event that is trapped.  The scope is suspended
 * while the error handler runs.  The handler's actions are neither counted nor trapped.
 * A handler that does not return leaves the scope suspended until the next begin.
 *
 * begin may block and make a system call.  end is wait-free.
 */
CPOOL_API int cpool_quiet_begin(unsigned traps);
CPOOL_API int cpool_quiet_end(cpool_quiet_t *counts);

#endif /* CPOOL_QUIET_H */
