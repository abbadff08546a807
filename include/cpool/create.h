/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/create.h - a pool's configuration, creation and destruction.
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

/* The largest alignment of slots, bytes. */
#define CPOOL_ALIGN_MAX CPOOL_NUMBER_(size_t, 2 * 1024 * 1024)

/* The largest capacity, slots. */
#define CPOOL_CAPACITY_MAX CPOOL_NUMBER_(size_t, UINT32_MAX)

/* The largest number of rounds in a magazine. */
#define CPOOL_ROUNDS_MAX CPOOL_NUMBER_(size_t, 65535)

/* The largest number of threads that may hold a cache of one pool. */
#define CPOOL_THREAD_CACHES_MAX CPOOL_NUMBER_(size_t, 65535)

/* The alignment required of caller-provided memory, bytes. */
#define CPOOL_MEMORY_ALIGN CPOOL_NUMBER_(size_t, 64)

/*
 * Flags of a pool.  Object pools and blocks of many sizes take them, too, with flags of their own.
 *
 * CPOOL_CHECKED   Every operation is verified: double free, bytes before and
 *                 after each slot.  Leaks are reported by the place that
 *                 allocated them: cpool_debug(3).
 *                 Costs time in this pool only, and 72 bytes or more of memory a
 *                 slot.  Implies CPOOL_TRACKED.
 */
#define CPOOL_CHECKED 0x1u

/*
 * CPOOL_RESIDENT  All slots, up to max_capacity, have their memory from the beginning: it
 *                 is committed, and resident as by cpool_reserve, and never given back.
 *                 For devices and mlock (cpool_span).  cpool_create returns
 *                 CPOOL_ENOMEM if the operating system refuses it.  Implies
 *                 CPOOL_KEEP_PAGES.  Not for blocks of many sizes.
 */
#define CPOOL_RESIDENT 0x10u

/*
 * CPOOL_TRACKED   The pool knows which slots are live: <cpool/track.h> has handles of
 *                 slots and visits to all live ones.  Each free of a slot that is already
 *                 free, or was never taken, is reported and refused.  Every alloc and
 *                 free is then a call, and a slot takes 8 bytes more.
 */
#define CPOOL_TRACKED 0x8u

/*
 * CPOOL_HUGE_PAGES  The slots are in huge pages where the operating system has
 *                 them (Linux: transparent huge pages, "always" or "madvise"):
 *                 fewer page faults while fresh slots are touched, and fewer
 *                 TLB misses in pools of many megabytes.  Memory is then committed and
 *                 given back by huge pages, 2 MiB each on most machines.  No effect
 *                 where there are none, and in caller-provided memory.  On Windows
 *                 CPOOL_EFLAGS: they take a right, and cannot be committed in parts.
 */
#define CPOOL_HUGE_PAGES 0x1000u

/*
 * CPOOL_COLOUR    A stride of an even number of cache lines grows by one line, so
 *                 that the beginnings of slots fall on all sets of the processor's caches
 *                 instead of a few.  For slots of some hundred bytes and more whose first
 *                 lines are used most.  Costs 64 bytes a slot.  No effect on slots
 *                 aligned to more than a line.
 */
#define CPOOL_COLOUR 0x2000u

/*
 * CPOOL_KEEP_PAGES  cpool_trim and cpool_shrink give no pages back: slots keep
 *                 their bytes while they are free, and objects in them stay constructed.
 */
#define CPOOL_KEEP_PAGES 0x4000u

/*
 * CPOOL_NO_POISON  Sanitizers and Memcheck treat the slots as ordinary memory, free
 *                 or not.  For pools whose free slots are read on purpose, or keep
 *                 constructed objects.  No effect where none of these tools runs
 *                 (<cpool/debug.h>).
 */
#define CPOOL_NO_POISON 0x8000u

/*
 * A pool's configuration.  Start from CPOOL_CONFIG_INIT and set what you need.
 */
typedef struct cpool_config {
    size_t size;            /* sizeof(cpool_config_t), set by the initialiser */
    const char *name;       /* for reports, copied, 31 bytes at most.  What is not
                               printable ASCII, quotes and backslashes become '?'.
                               May be NULL */
    size_t slot_size;       /* bytes, 1 or more */
    size_t slot_align;      /* bytes, a power of two up to CPOOL_ALIGN_MAX.  0:
                               the largest power of two that divides slot_size,
                               at most that of max_align_t */
    size_t slot_offset;     /* bytes, up to slot_size: the address slot + offset
                               is aligned */
    size_t capacity;        /* slots, 1 to CPOOL_CAPACITY_MAX */
    size_t max_capacity;    /* slots the pool may grow to by itself or by
                               cpool_grow, up to CPOOL_CAPACITY_MAX.  Addresses
                               never move.  0: capacity, it does not grow */
    size_t magazine_rounds; /* slots that move to and from the depot at once, up
                               to CPOOL_ROUNDS_MAX.  Every cache then holds two
                               magazines at most, unless cache_slots says
                               otherwise.  0: chosen from capacity */
    unsigned flags;         /* CPOOL_CHECKED ..., or 0 */
    size_t thread_caches;   /* threads that may hold a cache at the same time.
                               Further ones work without, at the depot.  0: one
                               for each 16 slots, at least 256 and at most 4096
                               (64 on 32-bit systems), or 16 in caller-provided
                               memory and where the system refuses addresses
                               for more */
    void *memory;           /* NULL: memory of the operating system.  Else the
                               pool with all its bookkeeping is laid out here.
                               Outside it the library has a table for each
                               thread that serves all its pools (a MiB of
                               addresses, two pages of memory or more).
                               cpool_trim and cpool_shrink use a bit for each
                               slot while they run */
    size_t memory_size;     /* bytes at memory */
    size_t cache_slots;     /* slots that one thread's cache keeps at most, no
                               less than two magazines.  0: two magazines if
                               magazine_rounds is set, else 4608, or 16 MiB of
                               them, or a sixteenth of the pool */
    size_t stall_limit_ms;  /* milliseconds for which an alloc that finds nothing else
                               waits for threads stopped inside the library with slots.
                               0: 1000 */
    size_t sample;          /* allocs of which about one gets a slot that ends or begins
                               at a page that traps, and traps itself after its free
                               (cpool_debug(3)).  0: none */
} cpool_config_t;

#define CPOOL_CONFIG_INIT                                                      \
    {                                                                          \
        sizeof(cpool_config_t), NULL, 0, 0, 0, 0, 0, 0, 0u, 0, NULL, 0, 0, 0, 0 \
    }

/*
 * cpool_memory_required - the size of the caller-provided memory that a configuration needs.
 *
 * config   as for cpool_create, but memory and memory_size are ignored
 *
 * Returns the exact number of bytes needed, at any address aligned to CPOOL_MEMORY_ALIGN.  Returns
 * 0 if the configuration is wrong; cpool_create then returns the reason.  If CPOOL_OPTIONS has
 * words for the pool, the number is enough with them and without: see cpool_debug(3).  Any thread.
 * The first call may block.
 */
CPOOL_API size_t cpool_memory_required(const cpool_config_t *config) CPOOL_MUST_USE_;

/*
 * CPOOL_MEMORY_BYTES - the size of memory for a pool, as a constant expression.
 *
 * size     bytes of a slot
 * slots    the capacity
 * caches   thread_caches, 1 or more
 *
 * At least what cpool_memory_required returns for a configuration with only these three settings,
 * in any library that the program may run with: the library's own structures may grow by a fifth.
 * What CPOOL_OPTIONS changes may take more, and is then left out of the pool.
 * Slots with a slot_align above CPOOL_MEMORY_ALIGN need that many bytes in addition.
 */
#define CPOOL_MEMORY_BYTES(size, slots, caches)                                        \
    CPOOL_MEMORY_(size, slots, caches, CPOOL_WHOLE_ROUNDS_(CPOOL_FEW_ROUNDS_(size, slots)))

/* The library's own rules for the caller's memory: rounds of a magazine, those that fill its lines,
 * spares of a cache, magazines of the pool, and the bytes of all. */
#define CPOOL_POOL_BYTES_ 2048u /* of the pool's structure, and of a cache's without spares: */
#define CPOOL_CACHE_BYTES_ 376u
#define CPOOL_LEAST_(a, b) ((a) < (b) ? (a) : (b))
#define CPOOL_LINES_(bytes) (((bytes) + 63u) / 64u * 64u)
#define CPOOL_WIDE_(number) (sizeof(char) - 1u + (number)) /* a size_t, without a cast */
#define CPOOL_FEW_ROUNDS_(size, slots)                                                 \
    CPOOL_LEAST_(CPOOL_LEAST_(CPOOL_WIDE_(slots) / 16u, 63u), 1048576u / (size))
#define CPOOL_WHOLE_ROUNDS_(few)                                                       \
    ((few) >= 64u / sizeof(void *) ? (few) - (8u + (few) * sizeof(void *)) % 64u / sizeof(void *) \
     : (few) > 0                   ? (few)                                             \
                                   : 1u)
#define CPOOL_SPARES_(slots, rounds)                                                   \
    CPOOL_LEAST_(CPOOL_WIDE_(slots) / (rounds) / 16u, 72u)
#define CPOOL_MAGAZINES_(slots, caches, rounds)                                        \
    (CPOOL_WIDE_(slots) / (rounds) + 1u + 4u * CPOOL_WIDE_(caches) +                   \
     2u * CPOOL_LEAST_(CPOOL_WIDE_(caches) + ((caches) == 1u), 4u) +                   \
     (CPOOL_SPARES_(slots, rounds) > 1u                                                \
          ? CPOOL_LEAST_(CPOOL_WIDE_(slots) / (rounds) / 2u,                          \
                         (CPOOL_SPARES_(slots, rounds) - 1u) * (caches))               \
          : 0u))
#define CPOOL_MEMORY_(size, slots, caches, rounds)                                     \
    (CPOOL_POOL_BYTES_ +                                                               \
     (caches) * CPOOL_LINES_(CPOOL_CACHE_BYTES_ + 4u * CPOOL_SPARES_(slots, rounds)) + \
     CPOOL_MAGAZINES_(slots, caches, rounds) * CPOOL_LINES_(8u + (rounds) * sizeof(void *)) + \
     CPOOL_LINES_(CPOOL_WIDE_(slots) * (size)))

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
 * Reserves address space for the whole pool and touches hardly any of it: the cost does not depend
 * on the capacity, except with CPOOL_RESIDENT.  Only in caller-provided memory a tracked pool
 * clears 8 bytes for each slot, and a checked one 64.  Slots become resident when they are first
 * used.  (Lazy initialisation by watermark: B. Kenwright, "Fast Efficient Fixed-Size Memory Pool",
 * COMPUTATION TOOLS 2012.)
 *
 * Locked memory: mlockall with MCL_FUTURE locks reserved addresses, too, and RLIMIT_MEMLOCK counts
 * them: 2 MiB once, 1 MiB for each thread that uses pools, and for each pool 2 to 10 KiB for each
 * of its thread_caches, in addition to the slots.  So set thread_caches to the number of threads: a
 * pool of 1,024 slots of 64 bytes then locks 112 KiB with 4 threads, and 700 KiB by default.
 *
 * Mappings: a pool takes two of Linux's mappings when it is created, and up to eight when it is
 * used (twelve if checked).  A process has 65,530 (vm.max_map_count), so about 8,187 pools can be
 * used.  In one more, an alloc returns NULL.  At most 16,383 pools can exist (1,023 on 32-bit
 * systems); one more fails with CPOOL_ELIMIT.
 *
 * Returns 0, CPOOL_ENULL, or a code of the configuration or of the resources, which names the one
 * thing that is wrong.  A failure leaves nothing behind.  Any thread.  It may block and makes
 * system calls.
 */
CPOOL_API int cpool_create(cpool_t **pool, const cpool_config_t *config) CPOOL_MUST_USE_;

/*
 * cpool_destroy - ends a pool, live slots too, and returns its memory.
 *
 * pool   no thread may be using it, or use it later, but threads that used it
 *        may live on.  NULL is a no-op.
 *
 * The memory goes back to the operating system, and so do the caches of cpool_cache_create: destroy
 * them first, because a cache that is used or destroyed after its pool traps.
 *
 * A thread that has obtained every slot may destroy the pool, even while the threads that freed
 * them are still returning from their frees: cpool_destroy waits for those.
 *
 * Returns 0 if all slots had been freed, else a code.  The pool is gone with every code except
 * CPOOL_EPOOL:
 *
 *   CPOOL_ELIVE         slots were still live (cpool_read_stats counts them).  Not
 *                       reported, because a program may end its pools so.  Checked pools
 *                       print the live slots, by the address that allocated them, to
 *                       standard error
 *   CPOOL_EDOUBLEFREE   more slots are free than were ever handed out.  Reported, in
 *                       any pool.  A leaked slot cancels out a double free
 *   CPOOL_EGUARD        bytes around slots were overwritten, and nothing else is wrong
 *                       but live slots.  Reported, in checked pools
 *   CPOOL_EPOOL         the pointer is not a living pool.  Reported
 *
 * It may block and makes system calls.
 */
CPOOL_API int cpool_destroy(cpool_t *pool);

#endif /* CPOOL_CREATE_H */
