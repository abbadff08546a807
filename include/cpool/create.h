/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/create.h - a pool's configuration, how it is made and how it ends.
 *
 * Included by <cpool.h>.  Never include it yourself.
 */
#ifndef CPOOL_CREATE_H
#define CPOOL_CREATE_H

#ifndef CPOOL_H
#error "include <cpool.h> instead of <cpool/create.h>"
#endif

/*
 * ---- Configuration (cpool_create.3) ----------------------------------------
 */

/* The strictest slot alignment that can be asked for, bytes. */
#define CPOOL_ALIGN_MAX ((size_t)2 * 1024 * 1024)

/* The largest capacity, slots. */
#define CPOOL_CAPACITY_MAX ((size_t)UINT32_MAX)

/* The largest number of rounds in a magazine. */
#define CPOOL_ROUNDS_MAX ((size_t)65535)

/* The largest number of threads that may hold a cache of one pool. */
#define CPOOL_THREAD_CACHES_MAX ((size_t)65535)

/* Alignment that caller-provided memory must have, bytes. */
#define CPOOL_MEMORY_ALIGN ((size_t)64)

/*
 * Flags.
 *
 * CPOOL_CHECKED   Every operation is verified: double free, bytes before and
 *                 after each slot, use of a cache by the wrong thread.  Leaks
 *                 are reported by the place that allocated them (cpool_debug.3).
 *                 Costs time in this pool only, and 72 bytes or more of memory a
 *                 slot.  Implies CPOOL_TRACKED.
 */
#define CPOOL_CHECKED 0x1u

/*
 * CPOOL_TRACKED   The pool knows which slots are live: <cpool/track.h> has handles of
 *                 slots and visits to all that are live.  Each free of a slot that is free
 *                 already, or was never taken, is reported and refused.  Every alloc and
 *                 free is then a call, and a slot takes 8 bytes more.
 */
#define CPOOL_TRACKED 0x8u

/*
 * CPOOL_EXACT     Never more than `capacity` slots are live, and never fewer are within
 *                 reach: before an alloc fails, the slots in all other threads' caches are
 *                 taken back, loaded magazines included.  A thread that was stopped
 *                 inside the library, because it lost its processor, keeps its loaded
 *                 magazine, and up to two magazines more.  An alloc that finds nothing
 *                 else waits for it, stall_limit at most.  Without it the pool
 *                 may exceed `capacity`, by at most one magazine for each thread cache.
 *                 Every alloc and free is then a call, with two
 *                 more stores.
 */
#define CPOOL_EXACT 0x2u

/*
 * CPOOL_WAITABLE  Threads may wait for a slot: cpool_alloc_wait.  Implies
 *                 CPOOL_EXACT.  A free then also looks whether a thread waits.
 */
#define CPOOL_WAITABLE 0x4u

/*
 * Flags of the slots' memory.  No bit is a flag of both kinds.
 *
 * CPOOL_MEMORY_HUGE_PAGES  The slots lie in huge pages where the operating system makes
 *                 them (Linux: transparent huge pages, "always" or "madvise"):
 *                 fewer page faults while fresh slots are touched, and fewer
 *                 misses of the address translation in pools of many megabytes.
 *                 Memory is committed, and given back, by huge pages then, 2 MiB
 *                 each on most machines.  Where there are none, and in the
 *                 caller's memory, it means nothing.
 */
#define CPOOL_MEMORY_HUGE_PAGES 0x1000u

/*
 * CPOOL_MEMORY_COLOUR  Slots at a distance of an even number of cache lines get one line
 *                 more between them, so that their beginnings fall on all sets of the
 *                 processor's caches instead of a few.  This is for slots of some
 *                 hundred bytes and more with the first lines used most.  Costs 64
 *                 bytes a slot.  Slots that are aligned to more than a line stay as
 *                 they are.
 */
#define CPOOL_MEMORY_COLOUR 0x2000u

/*
 * CPOOL_MEMORY_KEEP_PAGES  cpool_trim and cpool_shrink give no pages back: slots keep
 *                 their bytes while they are free, and objects in them stay constructed.
 */
#define CPOOL_MEMORY_KEEP_PAGES 0x4000u

/*
 * CPOOL_MEMORY_NO_POISON  Sanitizers and Memcheck take the slots for ordinary memory, free
 *                 or not.  For pools whose free slots are read on purpose, or whose
 *                 objects stay constructed in them.  Means nothing where none of these
 *                 tools runs (<cpool/tools.h>).
 */
#define CPOOL_MEMORY_NO_POISON 0x8000u

/*
 * Debug settings, which a pool may have beside the checks (<cpool/debug.h>).  Start from
 * CPOOL_DEBUG_INIT.
 */
typedef struct cpool_debug {
    size_t size;       /* sizeof(cpool_debug_t), set by the initialiser */
    size_t fill;       /* not 0: freed slots are filled with the byte 0xDF, so that objects
                          do not stay constructed in them.  A slot that was written while it
                          was free is reported when it is taken again, and by cpool_audit,
                          as CPOOL_EFREED */
    size_t quarantine; /* freed slots that wait, in the order of their frees, before they
                          are used again, up to 1048576.  A dry pool uses them at once */
    size_t sites;      /* return addresses that are kept of each slot's last alloc and last
                          free, up to 32.  0: 1 */
    size_t log;        /* the last allocs and frees that reports list, up to 1048576 */
} cpool_debug_t;

#define CPOOL_DEBUG_INIT                                                       \
    {                                                                          \
        sizeof(cpool_debug_t), 0, 0, 0, 0                                      \
    }

/*
 * A pool's configuration.  Start from CPOOL_CONFIG_INIT and set what you need.
 */
typedef struct cpool_config {
    size_t size;            /* sizeof(cpool_config_t), set by the initialiser */
    const char *name;       /* for reports, in UTF-8, copied, whole characters of 31
                               bytes at most, may be NULL */
    size_t slot_size;       /* bytes, 1 or more */
    size_t slot_align;      /* bytes, a power of two up to CPOOL_ALIGN_MAX.  0:
                               the largest power of two that divides slot_size,
                               at most that of max_align_t */
    size_t slot_offset;     /* bytes, up to slot_size: it is slot + offset that
                               is aligned */
    size_t capacity;        /* slots, 1 to CPOOL_CAPACITY_MAX */
    size_t max_capacity;    /* slots the pool may grow to by itself or by
                               cpool_grow, up to CPOOL_CAPACITY_MAX.  Addresses
                               never move.  0: capacity, it does not grow */
    size_t magazine_rounds; /* slots that move to and from the depot at once, up
                               to CPOOL_ROUNDS_MAX.  Every cache then holds two
                               magazines at most, unless cache_slots says
                               otherwise.  0: chosen from capacity, and caches
                               adapt their size to their use */
    unsigned flags;         /* CPOOL_CHECKED ..., or 0 */
    unsigned memory_flags;  /* CPOOL_MEMORY_HUGE_PAGES ..., or 0 */
    size_t thread_caches;   /* threads that may hold a cache at the same time.
                               Further ones work without, at the depot.  0: one
                               for each 16 slots, or for each magazine's rounds
                               if there is slack and they are more, at least
                               256 and at most 4096 (64 on 32-bit systems), or
                               16 in caller-provided memory and where the
                               system refuses addresses for more */
    void *memory;           /* NULL: taken from the operating system.  Else the
                               pool with all its bookkeeping is laid out here.
                               There is no slack then, see CPOOL_EXACT.  Beside
                               it the library takes a table for each thread that
                               serves all its pools (a MiB of addresses, two
                               pages of memory or more).  cpool_trim,
                               cpool_shrink and cpool_reserve take a bit or a
                               pointer for each slot while they run */
    size_t memory_size;     /* bytes at memory */
    size_t cache_slots;     /* slots that one thread's cache may come to hold
                               once its use has shown that it needs them, no
                               less than two magazines.  0: two magazines if
                               magazine_rounds is set, else 4608, or 16 MiB of
                               them, or a sixteenth of the pool */
    size_t stall_limit;     /* milliseconds that an alloc that finds nothing else waits
                               for threads that were stopped inside the library with
                               slots in their hands.  0: 1000 */
    const cpool_debug_t *debug; /* copied.  Not NULL: implies CPOOL_CHECKED */
    size_t fallback;        /* blocks of malloc that may be live beside the slots, handed
                               out when the pool is dry, up to CPOOL_CAPACITY_MAX */
} cpool_config_t;

#define CPOOL_CONFIG_INIT                                                      \
    {                                                                          \
        sizeof(cpool_config_t), NULL, 0, 0, 0, 0, 0, 0, 0u, 0u, 0, NULL, 0, 0, 0, NULL, 0 \
    }

/*
 * cpool_memory_required - how much caller-provided memory a configuration needs.
 *
 * config   as for cpool_create, but memory and memory_size are ignored
 *
 * Returns the bytes needed at an address aligned to CPOOL_MEMORY_ALIGN: exactly that many
 * are enough, wherever they lie.  0 when the configuration is wrong.  cpool_create then
 * says in what way.  The checks that CPOOL_OPTIONS asks for are included (cpool_debug.3).
 * Any thread.  The first call may block.
 */
CPOOL_API size_t cpool_memory_required(const cpool_config_t *config) CPOOL_MUST_USE_;

/*
 * ---- Creation and destruction (cpool_create.3) -----------------------------
 */

/*
 * cpool_create - makes a pool.
 *
 * pool     receives the pool, set to NULL on every failure
 * config   copied, need not outlive the call
 *
 * A pool in a static array:
 *
 *     static _Alignas(CPOOL_MEMORY_ALIGN) unsigned char memory[1 << 20];
 *     ...
 *     config.thread_caches = 4;
 *     config.memory = memory;
 *     config.memory_size = sizeof memory;
 *     if (cpool_create(&pool, &config) == CPOOL_EMEMSIZE)
 *         printf("%zu bytes are needed", cpool_memory_required(&config));
 *
 * Reserves address space for the whole pool and touches next to none of it:
 * the cost does not depend on the capacity.  Slots become resident as they are
 * used for the first time.  (Lazy initialisation by watermark: B. Kenwright,
 * "Fast Efficient Fixed-Size Memory Pool", COMPUTATION TOOLS 2012.)
 *
 * Fallback: a pool that is dry, after it has grown and looked everywhere, hands out blocks
 * of malloc, up to `fallback` of them at once, exactly.  They have the size, alignment and
 * offset of slots, are freed as slots are, and go back to malloc then.  The table that knows
 * them takes 16 to 32 bytes a block, from the operating system.  An address that is neither is
 * CPOOL_EFOREIGN as ever.  A second free of a block is CPOOL_EDOUBLEFREE until other blocks have
 * taken its place in the table, and then CPOOL_EFOREIGN.
 *
 * A block has no index.  cpool_owns, cpool_index, cpool_at, handles and visits know slots only.
 * cpool_verify and cpool_lease_adopt report CPOOL_EBLOCK.  Leases hand out slots only, object
 * and sized pools have no blocks, and cpool_lanes_create returns CPOOL_EFALLBACK.
 * cpool_alloc_wait and cpool_alloc_or_notify take a block rather than wait,
 * and the free of a block calls a waiter, without regard to the order in which waiters came.
 * The functions that are async-signal-safe on other pools are not so on one with a fallback,
 * because malloc is not.  Checked pools do not look at the bytes around blocks.
 *
 * Returns 0, CPOOL_ENULL, or a code of the configuration or of the resources, which
 * names the one thing that is wrong.  Nothing is left behind then.
 * Any thread.  It may block and makes system calls.
 */
CPOOL_API int cpool_create(cpool_t **pool, const cpool_config_t *config) CPOOL_MUST_USE_;

/*
 * cpool_destroy - returns everything to the operating system, live slots too.
 *
 * pool   no thread may be using it, or use it later, but threads that used it
 *        may live on.  NULL is a no-op.
 *
 * A thread that has obtained every slot, of any kind of pool, may destroy it, although
 * the threads that freed them may not have returned from their frees yet: they are
 * waited for.
 *
 * Returns 0 when all slots had been freed, else a code.  The pool is gone with every
 * code but CPOOL_EPOOL:
 *
 *   CPOOL_ELIVE         slots, or blocks of the fallback, were still live.  cpool_stats says
 *                       before how many.  Not reported, because a pool may be meant to end
 *                       so.  Checked pools print the live slots, by the address that
 *                       allocated them, to standard error
 *   CPOOL_EDOUBLEFREE   more slots are free than were ever handed out.  Reported, in
 *                       any pool.  A leaked slot cancels out a double free
 *   CPOOL_EGUARD        bytes around slots, or in freed ones, were overwritten, and
 *                       nothing else is wrong but live slots.  Reported, in checked pools
 *   CPOOL_EPOOL         the pointer is not a living pool.  Reported
 *
 * It may block and makes system calls.
 */
CPOOL_API int cpool_destroy(cpool_t *pool);

#endif /* CPOOL_CREATE_H */
