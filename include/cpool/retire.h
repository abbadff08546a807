/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/retire.h - slots that go back when no reader can see them any more.
 *
 * OVERVIEW
 *
 * A thread removes a node from a list, a table or a tree that other threads read without a lock.
 * One of them may still look at the node, so it cannot be freed yet.  It is retired instead:
 *
 *     cpool_domain_config_t config = CPOOL_DOMAIN_CONFIG_INIT;
 *
 *     config.readers = 16;
 *     config.max_held = 1024;
 *     if (cpool_domain_create(&domain, &config) != 0)
 *         ...
 *     if (cpool_reader_create(&reader, domain, 0) != 0)        the calling thread's
 *         ...
 *     cpool_read_begin(reader);
 *     node = look_up(table, key);                              without a lock
 *     use(node);
 *     cpool_read_end(reader);
 *     ...
 *     unlink_node(table, node);                                in any thread
 *     while (cpool_retire(reader, nodes, node) == CPOOL_EHELD)
 *         sched_yield();                                       readers are slow: outside
 *     ...
 *     cpool_domain_destroy(domain);
 *
 * The slot goes back to its pool after every section that had begun before the retire has ended.
 *
 * NOTES: cpool_retire(3) has notes on the promise, the cost, pools, threads and fork
 * (doc/man/cpool_retire.txt).
 */
#ifndef CPOOL_RETIRE_H
#define CPOOL_RETIRE_H

#include <cpool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Readers, and the slots that they have retired. */
typedef struct cpool_domain cpool_domain_t;

/* One thread's part of a domain.  All members are the library's. */
typedef struct cpool_reader {
    uintptr_t inside; /* atomic: the epoch in which the section has begun, or even outside */
    uintptr_t nested; /* beginnings without an end */
    const uintptr_t *epoch; /* atomic: the domain's, or odd, and beginnings are out of line */
    uintptr_t reserved;     /* for future layouts */
} cpool_reader_t;

/*
 * ---- Retired slots (cpool_retire.3) -----------------------------------------
 */

/* The most readers of a domain, and the most slots that one of them may hold back. */
#define CPOOL_READERS_MAX 4096u
#define CPOOL_HELD_MAX 1048576u

/* A domain's configuration.  Start from CPOOL_DOMAIN_CONFIG_INIT and set what you need. */
typedef struct cpool_domain_config {
    size_t size;           /* sizeof(cpool_domain_config_t), set by the initialiser */
    size_t readers;        /* that it may have at once, 1 to CPOOL_READERS_MAX */
    size_t max_held;       /* slots that each of them may hold back, 4 to CPOOL_HELD_MAX.  It is
                              rounded up to a multiple of 4 */
    size_t stall_limit_ms; /* milliseconds.  A retire or flush that finds its reader's slots held
                              back by one section for longer reports the section once, as
                              CPOOL_ESTALLED with the reader as the address.  0: never */
} cpool_domain_config_t;

#define CPOOL_DOMAIN_CONFIG_INIT { sizeof(cpool_domain_config_t), 0, 0, 0 }

/*
 * cpool_domain_create - makes a domain.
 *
 * domain    receives it, set to NULL on failure
 * config    copied, need not outlive the call
 *
 * The domain takes 16 bytes of addresses for each slot that may be held back, and six cache
 * lines for each reader.
 *
 * Returns 0, CPOOL_ENULL, CPOOL_ECAPACITY for numbers out of range, CPOOL_ESTRUCT,
 * CPOOL_ENOMEM or CPOOL_ELIMIT.
 * Any thread.  It may block, and makes system calls.
 */
CPOOL_API int cpool_domain_create(cpool_domain_t **domain, const cpool_domain_config_t *config)
    CPOOL_MUST_USE_;

/*
 * cpool_domain_destroy - gives all slots back that are held back, and ends the domain.
 *
 * domain   no thread may be using it or its readers, or use them later.  NULL is a no-op
 *
 * Returns 0, or CPOOL_EREADER, which is reported: a reader is inside a section, and the domain
 * stays as it was.
 * Any thread.  It makes system calls.
 */
CPOOL_API int cpool_domain_destroy(cpool_domain_t *domain);

/* A domain's figures. */
typedef struct cpool_domain_stats {
    size_t size; /* sizeof(cpool_domain_stats_t), set by the initialiser */
    size_t held; /* slots that are held back.  Exact if no thread retires at the moment */
    const cpool_reader_t *oldest; /* the reader with the section that holds back the most slots,
                                     which may have ended meanwhile.  NULL: none is inside */
} cpool_domain_stats_t;

#define CPOOL_DOMAIN_STATS_INIT { sizeof(cpool_domain_stats_t), 0, NULL }

/*
 * cpool_domain_read_stats - reads the figures.
 *
 * Returns 0, CPOOL_ENULL, CPOOL_ESTRUCT, or CPOOL_EPOOL, which is reported.
 * Any thread, wait-free.  Its cost is proportional to the number of readers.
 */
CPOOL_API int cpool_domain_read_stats(const cpool_domain_t *domain, cpool_domain_stats_t *stats)
    CPOOL_NONNULL_(1);

/* A reader that no thread owns, for a fiber or a signal handler. */
#define CPOOL_READER_UNOWNED 0x1u

/*
 * cpool_reader_create - the calling thread's reader of a domain, or one that no thread owns.
 *
 * reader   receives it, set to NULL on failure
 * flags    0: the thread's own, which the first call creates and later ones return.  It is given up
 *          at the end of the thread, or of the domain.  CPOOL_READER_UNOWNED: another one each time
 *
 * Returns 0, CPOOL_ENULL, CPOOL_EFLAGS, CPOOL_EPOOL, CPOOL_ELIMIT if as many are in use as the
 * domain may have, or CPOOL_ENOMEM, also in a thread that has run its destructors.  A destroyed
 * one is in use until its slots are free.
 * Any thread.  Wait-free for the thread's but for the first use, which may block.  Lock-free for
 * one that no thread owns.
 */
CPOOL_API int cpool_reader_create(cpool_reader_t **reader, cpool_domain_t *domain, unsigned flags)
    CPOOL_MUST_USE_;

/*
 * cpool_reader_destroy - gives a reader up.
 *
 * reader   no thread may be using it, or use it later.  NULL is a no-op.  A reader inside a section
 *          is reported as CPOOL_EREADER, and stays
 *
 * Slots that it still holds back are left to the other readers of the domain, which give
 * them back in their own time.  A thread's own reader may be destroyed before the thread's end.
 * Any thread.  It may block, and makes a system call.
 */
CPOOL_API void cpool_reader_destroy(cpool_reader_t *reader);

/*
 * cpool_read_begin - begins a section, or another one inside it.
 *
 * The reader's thread, wait-free.
 * (Epochs: K. Fraser, "Practical lock-freedom", University of Cambridge, 2004.)
 */
CPOOL_API CPOOL_INLINE_ void cpool_read_begin(cpool_reader_t *reader) CPOOL_NONNULL_(1);

/*
 * cpool_read_end - ends the section that was begun last.
 *
 * After the last end the thread has forgotten all slots that it has found, and looks for them
 * again.  An end without a beginning is the caller's mistake, and is not noticed.
 * The reader's thread, wait-free.
 */
CPOOL_API CPOOL_INLINE_ void cpool_read_end(cpool_reader_t *reader) CPOOL_NONNULL_(1);

/*
 * cpool_read_quiescent - ends the section and begins the next one, in one store.
 *
 * For threads that are always inside but say when they hold nothing: they begin once, call this
 * between two pieces of work, and end before they block.  The thread has forgotten all slots that
 * it has found.  Outside a section, and in a nested one, it does nothing.
 * The reader's thread, wait-free.
 * (Quiescent states: M. Desnoyers et al., "User-level implementations of read-copy update", IEEE
 * TPDS 23(2), 2012.)
 */
CPOOL_LOCAL_ void cpool_read_quiescent(cpool_reader_t *reader) CPOOL_NONNULL_(1);

/*
 * cpool_retire - frees a slot after all sections that have begun.
 *
 * reader   the caller's, inside a section or not
 * pool     the slot's
 * slot     live, and no section that begins now can find it.  NULL is a no-op
 *
 * Returns 0, or CPOOL_EHELD: the reader holds back as many slots as it may, and sections last,
 * or another thread is at its bags for a moment.  CPOOL_EPOOL, and in tracked and checked pools
 * CPOOL_ERETIRED, CPOOL_EDOUBLEFREE or CPOOL_EUNUSED, are reported.
 * The slot is as it was then.  A caller that is inside a section ends it before it tries
 * again, because it waits for itself otherwise.
 * The reader's thread, lock-free but for the first of a pool, which may block.
 * Three full bags make a system call at most.
 */
CPOOL_API int cpool_retire(cpool_reader_t *reader, cpool_t *pool, void *slot) CPOOL_MUST_USE_
    CPOOL_NONNULL_(1);

/* Waits until all slots that the reader has retired, and those of destroyed readers, are free. */
#define CPOOL_FLUSH_WAIT 0x1u

/*
 * cpool_retire_flush - gives back what no section can see any more, and may wait for the rest.
 *
 * flags   0, or CPOOL_FLUSH_WAIT.  Inside a section of the reader, which would wait for itself,
 *         that is reported as CPOOL_EREADER, and it does not wait.  With any other, which is
 *         reported as CPOOL_EFLAGS, it does nothing
 *
 * Returns the number of slots that the reader still holds back.
 * The reader's thread.  Without flags it is lock-free, and makes a system call at most.  With
 * CPOOL_FLUSH_WAIT it blocks until the sections have ended, and makes system calls.
 */
CPOOL_API size_t cpool_retire_flush(cpool_reader_t *reader, unsigned flags) CPOOL_NONNULL_(1);

/* The out-of-line half of a beginning, and of a quiescent state. */
CPOOL_API void cpool_read_begin_abi1(cpool_reader_t *reader);

#if CPOOL_IS_INLINE_

/*
 * The store is a release for a thread that finds the section: it sees the sections before as
 * ended.  The compiler keeps the second load of `epoch` and the section's loads behind it, and the
 * barrier of a thread that scans makes the processor do so (ext/retire/epoch.c).
 */
#define CPOOL_READ_ENTER_(reader)                                                                \
    do {                                                                                         \
        const uintptr_t *cpool_at_ = __atomic_load_n(&(reader)->epoch, __ATOMIC_RELAXED);        \
        if (CPOOL_LIKELY_((CPOOL_CAST_(uintptr_t, cpool_at_) & 1u) == 0)) {                      \
            uintptr_t cpool_now_ = __atomic_load_n(cpool_at_, __ATOMIC_ACQUIRE);                 \
            __atomic_store_n(&(reader)->inside, cpool_now_, __ATOMIC_RELEASE);                   \
            __atomic_signal_fence(__ATOMIC_SEQ_CST);                                             \
            if (CPOOL_LIKELY_(__atomic_load_n(&(reader)->epoch, __ATOMIC_RELAXED) == cpool_at_)) \
                break;                                                                           \
        }                                                                                        \
        cpool_read_begin_abi1(reader);                                                           \
    } while (0)

CPOOL_API CPOOL_INLINE_ void cpool_read_begin(cpool_reader_t *reader)
{
    if (reader->nested++ == 0)
        CPOOL_READ_ENTER_(reader);
}

CPOOL_API CPOOL_INLINE_ void cpool_read_end(cpool_reader_t *reader)
{
    uintptr_t nested = reader->nested - 1u;
    uintptr_t inside;

    reader->nested = nested;
    if (nested == 0) {
        inside = __atomic_load_n(&reader->inside, __ATOMIC_RELAXED);
        __atomic_store_n(&reader->inside, inside + 1u, __ATOMIC_RELEASE);
    }
}

#else
#define CPOOL_READ_ENTER_(reader) cpool_read_begin_abi1(reader)
#endif /* CPOOL_IS_INLINE_ */

CPOOL_LOCAL_ void cpool_read_quiescent(cpool_reader_t *reader)
{
    if (reader->nested == 1)
        CPOOL_READ_ENTER_(reader);
}

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_RETIRE_H */
