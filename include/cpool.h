/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool.h - a thread-safe, lock-free pool of fixed-size slots with per-thread
 * caches.
 *
 * OVERVIEW
 *
 * A pool is created once, with the size and the number of its slots.  From
 * then on any thread takes slots from it and any thread gives them back:
 *
 *     cpool_config_t config = CPOOL_CONFIG_INIT;
 *     cpool_t *jobs;
 *
 *     config.name = "jobs";
 *     config.slot_size = sizeof(struct job);
 *     config.capacity = 100000;
 *     if (cpool_create(&jobs, &config) != 0)
 *         ...
 *     struct job *job = cpool_alloc(jobs);    NULL when all are out
 *     ...
 *     cpool_free(jobs, job);
 *     ...
 *     cpool_destroy(jobs);
 *
 * Each thread keeps a magazine of free slots of each pool it uses.  Allocating
 * pops it, freeing pushes it, without a locked instruction, a fence or a call.
 * When it runs empty or full it is exchanged, whole, with a global depot: one
 * compare-and-swap for dozens of slots.
 *
 * Empty means empty: an alloc fails only when `capacity` slots are live, however
 * many others lie in other threads' caches, whether those threads run, sleep or
 * are stopped.  (In caller-provided memory, which has no room for slack, this
 * takes CPOOL_EXACT: else what other threads have loaded is out of reach.)  There is
 * one limit without CPOOL_EXACT, because the inline path counts nothing.  If threads
 * that run take the last free slots from one loaded magazine and fill another, twice or
 * more within one search and each time just before that search comes by, it may find
 * every magazine empty.
 *
 * The library does not serve mixed sizes, does not call constructors, and is no
 * garbage collector.  A slot freed while another thread still uses it is a bug
 * here as everywhere.
 *
 * NOTES
 *
 * Slots: the library neither reads nor writes free slots.  A slot keeps its bytes from
 * free to the next alloc.  Objects constructed in it stay constructed, and a stray
 * write to a freed slot cannot damage the pool.  There are two exceptions.  cpool_trim
 * and cpool_shrink give pages back, and the bytes of these are zero afterwards.
 * cpool_reserve touches pages where the operating system cannot make them resident by
 * itself, and keeps their bytes.
 *
 * Fork: the child may go on using every pool.  Slots that vanished threads had cached
 * return to the depot.  Slots they had live stay live.  A thread that was exchanging a
 * magazine at the very moment of the fork leaves up to three magazines' rounds behind in
 * the child, where they count as live.  In a chain of forks these add up.  The library
 * holds a lock from its fork handlers' first to its last: handlers of your own should not
 * use pools.  A pool in caller-provided memory that parent and child share (MAP_SHARED) is
 * not for both.
 *
 * Inlining: cpool_alloc, cpool_free, cpool_cache_alloc and cpool_cache_free are inlined
 * where the compiler knows GNU extensions.  -DCPOOL_NO_INLINE makes them calls into the
 * library with the same effect, for breakpoints, for small code, and for a program that
 * has to run with a later library that has another inline path.
 *
 * Tools: AddressSanitizer, MemorySanitizer, ThreadSanitizer and Valgrind see slots as they
 * see malloc's blocks, in programs that are not compiled again for it, too
 * (<cpool/tools.h>).  Every alloc and free is then a call.
 *
 * Fibers: a function that a fiber leaves in one thread and goes on with in another must
 * not contain the inline path, because compilers keep addresses of thread-local storage
 * across the switch.  Give the fiber a cache of its own (cpool_cache_create), or compile
 * such files with -DCPOOL_NO_INLINE.
 *
 * Signals: cpool_depot_alloc and cpool_depot_free are async-signal-safe, except in
 * pools created with CPOOL_WAITABLE, and so are cpool_owns, cpool_index, cpool_at,
 * cpool_index_limit, cpool_strerror, cpool_version and cpool_version_number.  No other
 * function is.  The library blocks signals while it holds its lock, so a handler may
 * fork or exit, at any point of the library's operations.
 *
 * Cancellation: cpool_print and cpool_print_json may be points of cancellation,
 * as their stream is, and so may the application's own error handler.  No other
 * function is one.
 *
 * Handles: a pool's handle is refused after the pool has been destroyed, until 1,023
 * other pools (255 on 32-bit systems) have been destroyed after it.  The number is
 * smaller where more than 15,000 pools (700) exist.  Every function then reports
 * CPOOL_EPOOL and does nothing else.  Functions that are not inline refuse any other
 * pointer as well that is no living pool's handle.
 *
 * Copies: a process may hold several copies of the library, as when a plug-in has
 * it linked statically.  A pool belongs to the copy that made it.  With another
 * copy's pool every function that is not inline reports CPOOL_EPOOL.  The inline
 * functions do not look: cpool_alloc and cpool_free must not be called with another
 * copy's pool, and most likely trap.
 *
 * Threads: a thread's caches return to the depot when it ends in any way.  Destructors
 * of thread-specific data may allocate and free, before and after the library's own has
 * run.  A thread that uses a pool for the very first time in the last round of
 * destructors, or after it, leaves its cache registered.  The slots in it can still be
 * recalled.
 *
 * Progress: it is stated for every function in these terms.
 *
 *   wait-free    done in a bounded number of own steps
 *   lock-free    some thread always completes
 *   may block    takes a mutex
 *   first use    a thread's first alloc or free on a pool: it registers a cache,
 *                under a mutex
 *
 * An alloc that finds the pool dry may yield the processor.  In an exact pool it may
 * sleep some milliseconds, and make the system call membarrier.
 */
#ifndef CPOOL_H
#define CPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cpool/attributes.h>
#include <cpool/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A pool's handle, the address of a descriptor that <cpool/fast.h> describes. */
typedef struct cpool_descriptor cpool_t;

/* Of <time.h>, which defines it for C11 and for POSIX programs only. */
struct timespec;

/* One owner's cache of one pool (see cpool_cache). */
typedef struct cpool_entry cpool_cache_t;

/*
 * ---- Version (cpool_version.3) ---------------------------------------------
 *
 * <cpool/version.h> says which version the program was compiled with:
 * CPOOL_VERSION, as "1.2.3", and CPOOL_VERSION_NUMBER, as 1002003, with its parts
 * CPOOL_VERSION_MAJOR, CPOOL_VERSION_MINOR and CPOOL_VERSION_PATCH.
 */

/*
 * cpool_version, cpool_version_number - the version of the library that the program
 * runs with, as CPOOL_VERSION and as CPOOL_VERSION_NUMBER have it.
 *
 * Any thread, wait-free, async-signal-safe.
 */
CPOOL_API const char *cpool_version(void) CPOOL_RETURNS_NONNULL_;
CPOOL_API unsigned cpool_version_number(void);

/*
 * ---- Structures (cpool.7) --------------------------------------------------
 *
 * Every structure that is passed between program and library begins with its size in
 * bytes, as the program's header knows it.  CPOOL_CONFIG_INIT and its like set it, and
 * so does `{ .size = sizeof(cpool_config_t), .capacity = 100 }`.  Structures grow at
 * their end only.  A program may therefore meet a library that is older or newer than
 * its header:
 *
 *   what the program passes      members that only the library knows are zero, which
 *                                means "default".  Members that only the program knows
 *                                must be zero, else CPOOL_ETAIL is returned
 *   what the library fills in    members that only the library knows are not
 *                                written, and members that only the program
 *                                knows become zero
 *
 * A size that is below that of `size` itself, or above 4096, is refused with
 * CPOOL_ESTRUCT.
 */

/*
 * ---- Errors and their codes (cpool_error.3) ------------------------------
 *
 * Functions that can fail return 0 or one of these, all negative.  The hundreds tell
 * what has to be done about a code:
 *
 *   -1 to -99      configuration: a structure or an argument is wrong.  Correct the
 *                  program, or the user's settings
 *   -101 to -199   use: a mistake of the caller that is found while a pool is in use.
 *                  Most of these reach the error handler (cpool_set_error_handler)
 *   -201 to -299   resources: the program is right.  Try with less, or later
 */
enum {
    CPOOL_OK = 0,

    CPOOL_ESTRUCT = -1,      /* the size in a structure is no structure's */
    CPOOL_ETAIL = -2,        /* a structure has a setting that this library lacks */
    CPOOL_ESLOTSIZE = -3,    /* slot_size is zero */
    CPOOL_EALIGN = -4,       /* slot_align is no power of two, or above CPOOL_ALIGN_MAX */
    CPOOL_EOFFSET = -5,      /* slot_offset is larger than slot_size */
    CPOOL_ECAPACITY = -6,    /* capacity is zero or above CPOOL_CAPACITY_MAX */
    CPOOL_EMAXCAPACITY = -7, /* max_capacity is below capacity, or above CPOOL_CAPACITY_MAX */
    CPOOL_EOVERFLOW = -8,    /* the pool would not fit into the address space */
    CPOOL_EROUNDS = -9,      /* magazine_rounds is out of range for this capacity */
    CPOOL_ECACHES = -10,     /* thread_caches is above CPOOL_THREAD_CACHES_MAX */
    CPOOL_EFLAGS = -11,      /* unknown bits in flags */
    CPOOL_EMEMORY = -12,     /* memory_size or CPOOL_RESERVED is given without memory */
    CPOOL_EMEMSIZE = -13,    /* memory_size is below cpool_memory_required */
    CPOOL_EMEMALIGN = -14,   /* memory is not aligned to CPOOL_MEMORY_ALIGN, or with
                                CPOOL_RESERVED to a page */
    CPOOL_ECLASSES = -15,    /* no sizes of classes, or no class of this number
                                (cpool_sized) */

    CPOOL_ENULL = -101,       /* a required pointer is NULL */
    CPOOL_EPOOL = -102,       /* not a pool: NULL, never created, destroyed, or made by
                                 another copy of the library */
    CPOOL_EFOREIGN = -103,    /* the address lies outside the pool's slab */
    CPOOL_EMISALIGNED = -104, /* the address lies inside a slot, not at its start */
    CPOOL_EUNUSED = -105,     /* the slot has never been handed out */
    CPOOL_EDOUBLEFREE = -106, /* the slot is free already (see cpool_free) */
    CPOOL_EGUARD = -107,      /* bytes around the slot were overwritten (checked pools) */
    CPOOL_EOWNER = -108,      /* the cache belongs to another thread (checked pools) */
    CPOOL_EWAITABLE = -109,   /* the pool was not created with CPOOL_WAITABLE */
    CPOOL_ENOTQUIET = -110,   /* something happened that a quiet scope traps */
    CPOOL_ELIVE = -111,       /* the pool was destroyed, with slots still live */
    CPOOL_EOPEN = -112,       /* the typed pool exists already */
    CPOOL_EINACTIVE = -113,   /* the object is not active (cpool/object.h) */
    CPOOL_EHOOK = -114,       /* a hook of an object pool was left without returning */
    CPOOL_ETRACKED = -115,    /* the pool was not created with CPOOL_TRACKED */
    CPOOL_EFREED = -116,      /* a slot was written while it was free (CPOOL_FILL) */
    CPOOL_ELEASE = -117,      /* no open lease, or the slot is not of this lease */
    CPOOL_ELEASED = -118,     /* the slot goes back with its lease (checked pools) */

    CPOOL_ENOMEM = -201,  /* the operating system refused memory */
    CPOOL_ESYSTEM = -202, /* the operating system refused another resource */
    CPOOL_EPOOLS = -203,  /* as many pools exist as the library can have at once */
    CPOOL_EDRY = -204     /* fewer slots are free than were asked for */
};

/*
 * cpool_strerror - a short English sentence for an error code.
 *
 * Returns a static string, never NULL, for unknown codes too.
 * Any thread, wait-free, async-signal-safe.
 */
CPOOL_API const char *cpool_strerror(int code) CPOOL_RETURNS_NONNULL_;

/* The report to the error handler. */
typedef struct cpool_error {
    size_t size;          /* bytes that the library has filled in.  A handler built
                             against a newer header looks at it first */
    int code;             /* CPOOL_EPOOL ... */
    const char *text;     /* one line: the mistake, the pool, the address, the nearest
                             slot */
    const char *function; /* the public function that found it */
    cpool_t *pool;        /* as passed by the caller, possibly no pool at all */
    const char *name;     /* the pool's name, or "" when it is not known */
    const void *address;  /* the offending address, or NULL */
    const void *slot;     /* the nearest slot, or NULL when there is none */
    size_t index;         /* that slot's index, or 0 */
    const void *site;     /* return address of the slot's last alloc or free
                             (checked pools), or NULL */
    const char *details;  /* lines on what is known of the slots concerned, or "" */
} cpool_error_t;

/*
 * A handler may be called by any thread that misuses a pool, and by several at
 * once.  If it returns, the operation that was found wrong is refused, and the
 * pool is unharmed.  It must not call into the pool concerned.
 */
typedef void (*cpool_error_handler_t)(const cpool_error_t *error, void *context);

/*
 * cpool_set_error_handler - replaces what happens on a caller's mistake.
 *
 * handler   called with each report.  NULL restores the default, which writes
 *           the text to standard error without allocating and then aborts
 * context   passed to the handler as it is
 *
 * Any thread, but a report being made at this moment may still reach the old
 * handler.  Lock-free.  It allocates memory for the 17th different pair of
 * handler and context and for each after it.  Where that fails, the default is
 * restored.
 */
CPOOL_API void cpool_set_error_handler(cpool_error_handler_t handler, void *context);

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
 *                 Costs time in this pool only, and 88 bytes or more of memory a
 *                 slot.  Implies CPOOL_TRACKED.
 */
#define CPOOL_CHECKED 0x1u

/*
 * CPOOL_TRACKED   The pool knows which slots are live: <cpool/track.h> has handles of
 *                 slots and visits to all that are live.  Each free of a slot that is free
 *                 already, or was never taken, is reported and refused.  Every alloc and
 *                 free is then a call, and a slot takes 8 bytes more.
 */
#define CPOOL_TRACKED 0x40u

/*
 * CPOOL_FILL      Implies CPOOL_CHECKED.  Freed slots are filled with the byte 0xDF, so
 *                 that objects do not stay constructed in them.  A slot that was written
 *                 while it was free is reported when it is taken again, and by
 *                 cpool_audit, as CPOOL_EFREED.
 */
#define CPOOL_FILL 0x2000u

/*
 * CPOOL_KEEP_PAGES  cpool_trim and cpool_shrink give no pages back: slots keep their bytes
 *                 while they are free, and objects in them stay constructed.
 */
#define CPOOL_KEEP_PAGES 0x80u

/*
 * CPOOL_EXACT     Never more than `capacity` slots live, and never fewer to be had:
 *                 before an alloc fails, the slots in all other threads' caches are
 *                 taken back, loaded magazines included.  A thread that was stopped
 *                 inside the library, because it lost its processor, keeps its loaded
 *                 magazine, and up to two magazines more.  An alloc that finds nothing
 *                 else waits for it, stall_limit at most.  Without it, more than
 *                 `capacity` may be live at times: slack, at most one magazine's rounds
 *                 for each of thread_caches, of which only as much is used as was out
 *                 of reach at some time.  Every alloc and free is then a call, with two
 *                 more stores.
 */
#define CPOOL_EXACT 0x2u

/*
 * CPOOL_WAITABLE  Threads may wait for a slot: cpool_alloc_wait.  Implies
 *                 CPOOL_EXACT.  A free then also looks whether a thread waits.
 */
#define CPOOL_WAITABLE 0x4u

/*
 * CPOOL_HUGE_PAGES  The slots lie in huge pages where the operating system makes
 *                 them (Linux: transparent huge pages, "always" or "madvise"):
 *                 fewer page faults while fresh slots are touched, and fewer
 *                 misses of the address translation in pools of many megabytes.
 *                 Memory is committed, and given back, by huge pages then, 2 MiB
 *                 each on most machines.  Where there are none, and in the
 *                 caller's memory, it means nothing.
 */
#define CPOOL_HUGE_PAGES 0x10u

/*
 * CPOOL_COLOUR    Slots at a distance of an even number of cache lines get one line
 *                 more between them, so that their beginnings fall on all sets of the
 *                 processor's caches instead of a few.  This is for slots of some
 *                 hundred bytes and more with the first lines used most.  Costs 64
 *                 bytes a slot.  Slots that want to be aligned to more than a line stay
 *                 as they are.
 */
#define CPOOL_COLOUR 0x20u

/*
 * CPOOL_RESERVED  `memory` is address space that the caller has reserved, in whole
 *                 pages, and that reads as zero once it is readable and writable.  The
 *                 pool lies in it as in memory of its own.  It commits the parts that it
 *                 needs, which makes them readable and writable, and gives their memory
 *                 back when it is trimmed and destroyed.  The addresses stay the
 *                 caller's.  So several pools lie in one range, and an address tells
 *                 its pool.
 */
#define CPOOL_RESERVED 0x100u

/*
 * CPOOL_NO_POISON  Sanitizers and Memcheck take the slots for ordinary memory, free or
 *                 not.  For pools whose free slots are read on purpose, or whose objects
 *                 stay constructed in them.  Means nothing where none of these tools runs
 *                 (<cpool/tools.h>).
 */
#define CPOOL_NO_POISON 0x1000u

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
    size_t thread_caches;   /* threads that may hold a cache at the same time.
                               Further ones work without, at the depot.  0: one
                               for each 16 slots, at least 256 and at most 4096
                               (64 on 32-bit systems), or 16 in caller-provided
                               memory */
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
    size_t quarantine;      /* freed slots that wait, in the order of their frees, before
                               they are used again, up to 1048576.  A pool that is dry
                               uses them at once.  This and the next two imply
                               CPOOL_CHECKED when they are not 0 */
    size_t sites;           /* return addresses that are kept of each slot's last alloc
                               and last free, up to 32.  0: 1 in checked pools */
    size_t log;             /* allocs and frees, the last so many, that reports list, up
                               to 1048576 */
} cpool_config_t;

#define CPOOL_CONFIG_INIT                                                      \
    {                                                                          \
        sizeof(cpool_config_t), NULL, 0, 0, 0, 0, 0, 0, 0u, 0, NULL, 0, 0, 0,  \
            0, 0, 0                                                            \
    }

/*
 * cpool_memory_required - how much caller-provided memory a configuration needs.
 *
 * config   as for cpool_create, but memory and memory_size are ignored
 *
 * Returns the bytes needed at an address aligned to CPOOL_MEMORY_ALIGN (with
 * CPOOL_RESERVED to a page, with CPOOL_HUGE_PAGES too to a huge one): exactly that many
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
 *   CPOOL_ELIVE         slots were still live.  cpool_stats says before how many.  Not
 *                       reported, because a pool may be meant to end so.  Checked pools
 *                       print the live slots, by the address that allocated them, to
 *                       standard error
 *   CPOOL_EDOUBLEFREE   more slots are free than were ever handed out.  Reported, in
 *                       any pool.  A slot that was lost for each one freed twice hides
 *                       that
 *   CPOOL_EGUARD        bytes around slots, or in freed ones, were overwritten, and
 *                       nothing else is wrong but live slots.  Reported, in checked pools
 *   CPOOL_EPOOL         the pointer is not a living pool.  Reported
 *
 * It may block and makes system calls.
 */
CPOOL_API int cpool_destroy(cpool_t *pool);

/*
 * ---- Allocating and freeing (cpool_alloc.3) --------------------------------
 *
 * In this group `pool` must be a living pool: for the sake of speed the inline
 * path does not test it, and NULL traps at the first access (on 32-bit systems most
 * likely).
 */

/*
 * cpool_alloc - takes a slot.
 *
 * Returns the slot, its bytes as they were last left (on first use zero, or as they
 * were in caller-provided memory), or NULL when none can be had.  Then the capacity is
 * live, or a thread stayed stopped inside the library for stall_limit with slots in its
 * hands (three magazines at most, counted in stats.stalls), or the operating system
 * refused memory.  A checked pool that finds CPOOL_EGUARD on the way reports it and
 * returns the slot all the same.
 * Any thread.  Wait-free from the thread's magazine, else lock-free.  It makes a system
 * call when slots are used for the first time, and first use may block.  While
 * cpool_trim, cpool_shrink or cpool_reserve has the depot's slots, an alloc that finds
 * the depot empty waits until some are back, in whatever way it allocates.
 * (Magazines: J. Bonwick and J. Adams, "Magazines and Vmem", USENIX 2001.)
 */
CPOOL_API CPOOL_INLINE_ void *cpool_alloc(cpool_t *pool) CPOOL_MUST_USE_ CPOOL_NONNULL_(1);

/*
 * cpool_free - gives a slot back, from whichever thread.
 *
 * slot   from an alloc on the same pool, not freed since.  NULL is a no-op.
 *
 * Always verified: an address outside the slab (CPOOL_EFOREIGN), inside a slot
 * (CPOOL_EMISALIGNED), or of a slot never handed out (CPOOL_EUNUSED) is reported and
 * refused.  Checked pools find CPOOL_EDOUBLEFREE and CPOOL_EGUARD as well.  After
 * CPOOL_EGUARD the slot stays live, and the next free succeeds.  Other pools serve a
 * slot that was freed twice to two callers.  They report CPOOL_EDOUBLEFREE when a free
 * finds no room, which is thousands of double frees later, and cpool_destroy and
 * cpool_reset do when more slots are free than were ever handed out.  Never fails
 * otherwise, and makes no system call but on first use and in CPOOL_WAITABLE pools.
 * Any thread.  Wait-free into the thread's magazine, else lock-free.  First use
 * may block.
 */
CPOOL_API CPOOL_INLINE_ void cpool_free(cpool_t *pool, void *slot) CPOOL_NONNULL_(1);

/*
 * cpool_depot_alloc, cpool_depot_free - as cpool_alloc and cpool_free, but past
 * the calling thread's cache, straight from and to the depot.
 *
 * For signal handlers, and for threads that allocate too seldom to deserve a
 * cache.  Several times slower than the cached pair.
 * Any thread, lock-free, as long as not more than 64 threads (4 in caller-provided
 * memory) are inside these two at once.  A further one waits for one of them to leave.
 * A handler that interrupts such an operation needs a place of its own, so none leaves
 * if all are taken by threads whose handlers wait for another one.
 * alloc makes a system call when slots are used for the first time, and waits as
 * cpool_alloc does when it finds nothing.  It does not wait for the operation of its
 * own thread that a signal interrupted.  Async-signal-safe, except with CPOOL_WAITABLE.
 * In caller-provided memory without CPOOL_EXACT what the calling thread itself has
 * loaded is out of its reach, too.
 */
CPOOL_API void cpool_depot_free(cpool_t *pool, void *slot);
CPOOL_API void *cpool_depot_alloc(cpool_t *pool) CPOOL_MUST_USE_
    CPOOL_FREED_BY_(cpool_depot_free);

/*
 * cpool_calloc - cpool_alloc, with the slot_size bytes set to zero.
 */
CPOOL_API void *cpool_calloc(cpool_t *pool) CPOOL_MUST_USE_ CPOOL_FREED_BY_(cpool_depot_free);

/*
 * cpool_alloc_bulk - takes up to n slots.
 *
 * slots   receives them, with room for n
 *
 * Returns the number obtained, less than n only when the pool ran dry.  A NULL
 * slots with n > 0 is reported as CPOOL_ENULL, and 0 returned.
 * Any thread, progress as cpool_alloc.
 */
CPOOL_API size_t cpool_alloc_bulk(cpool_t *pool, void **slots, size_t n) CPOOL_MUST_USE_;

/*
 * cpool_alloc_bulk_all - takes n slots, or none.
 *
 * Returns 0, or CPOOL_EDRY when fewer could be had (slots is then undefined),
 * or CPOOL_ENULL, reported, for NULL slots with n > 0.
 * Any thread, progress as cpool_alloc.
 */
CPOOL_API int cpool_alloc_bulk_all(cpool_t *pool, void **slots, size_t n) CPOOL_MUST_USE_;

/*
 * cpool_free_bulk - gives n slots back.
 *
 * slots   each entry as for cpool_free, NULL included.  One that is refused is
 *         reported, and the others are freed all the same.
 *
 * Any thread, progress as cpool_free.
 */
CPOOL_API void cpool_free_bulk(cpool_t *pool, void *const *slots, size_t n);

/*
 * ---- Explicit caches (cpool_cache.3) ---------------------------------------
 */

/*
 * cpool_cache - the calling thread's own cache of a pool.
 *
 * For workers that carry a context: allocating through it skips the thread
 * lookup.  The handle is valid in this thread only, until the thread ends, the
 * pool is reset or the pool is destroyed.  Checked pools report CPOOL_EOWNER
 * when another thread uses it.  In destructors of thread-specific data use
 * cpool_alloc and cpool_free: the cache ends when the library's own destructor
 * runs, and the use of its handle is then reported as CPOOL_EPOOL, until the next
 * thread has taken over the place.
 *
 * Returns the cache, or NULL when this thread can have none (thread_caches are
 * all taken, or no memory).  cpool_alloc and cpool_free work even then.
 * It may block and make system calls.
 */
CPOOL_API cpool_cache_t *cpool_cache(cpool_t *pool);

/*
 * cpool_cache_create - a cache that belongs to the holder of the handle.
 *
 * For fibers and tasks that migrate between threads.  At any moment one thread
 * at most may be using it, and handing it over must synchronise (as handing
 * over the fiber does anyway).
 *
 * cache   receives the cache, set to NULL on failure
 *
 * Returns 0, CPOOL_ENULL, or CPOOL_ENOMEM when thread_caches are all taken or the
 * operating system refuses memory.  It counts as one of the pool's thread_caches until
 * destroyed.  A child of fork finds it empty, and the handle stays good.
 * It may block and make system calls.
 */
CPOOL_API int cpool_cache_create(cpool_cache_t **cache, cpool_t *pool) CPOOL_MUST_USE_;

/*
 * cpool_cache_destroy - returns its slots to the depot and gives it up.
 *
 * cache   from cpool_cache_create.  NULL is a no-op.  Before the pool's end or
 *         reset, which end the pool's caches by themselves.  A thread's own
 *         cache is reported as CPOOL_EOWNER and left alone.
 *
 * May block.
 */
CPOOL_API void cpool_cache_destroy(cpool_cache_t *cache);

/*
 * cpool_cache_alloc, cpool_cache_free - as cpool_alloc and cpool_free, through
 * an explicit cache.
 *
 * A slot may be freed through another cache than it was taken from, or through none.
 * The owner only, progress as there.
 */
CPOOL_API CPOOL_INLINE_ void *cpool_cache_alloc(cpool_cache_t *cache) CPOOL_MUST_USE_
    CPOOL_NONNULL_(1);
CPOOL_API CPOOL_INLINE_ void cpool_cache_free(cpool_cache_t *cache, void *slot)
    CPOOL_NONNULL_(1);

/*
 * cpool_flush - gives all slots in the calling thread's cache to the depot.
 *
 * Before a thread goes to sleep for long.  The cache stays usable.
 * Lock-free, and makes no system call.  In a CPOOL_EXACT pool it waits for a thread
 * that is just taking slots from the cache, and in a CPOOL_WAITABLE one it may block to
 * serve waiting threads.
 */
CPOOL_API void cpool_flush(cpool_t *pool);

/*
 * cpool_reset - takes back every slot at once, live ones included.
 *
 * The caller guarantees that no thread is using the pool meanwhile, and that none
 * touches an old slot afterwards.  Afterwards the pool is as new: slots come in order
 * of address again.  Their bytes are as they were left, and the capacity is what it has
 * grown or shrunk to.  Ends all caches: handles from cpool_cache and cpool_cache_create
 * are void.
 *
 * Returns the number of slots released: those that were live.  Reports
 * CPOOL_EDOUBLEFREE as cpool_destroy does, and CPOOL_EGUARD in checked pools.
 * It may block.  Its cost depends on the number of caches and on that of magazines in
 * the depot, not on that of slots (checked pools verify every guard).
 */
CPOOL_API size_t cpool_reset(cpool_t *pool);

/*
 * ---- Growing and giving back (cpool_memory.3) ------------------------------
 */

/*
 * cpool_grow - raises the capacity by up to n slots, within max_capacity, and
 * commits memory for them.
 *
 * A pool also grows by itself, by half or at least a magazine, when an alloc
 * finds nothing free.  Addresses never move.
 *
 * Returns the number of slots added: fewer than n at the limit, 0 when there is
 * nothing to add or the operating system refuses memory.
 * Any thread, lock-free, makes system calls.
 */
CPOOL_API size_t cpool_grow(cpool_t *pool, size_t n);

/*
 * cpool_shrink - lowers the capacity by up to n slots: first those never handed
 * out, then the topmost ones as far as they are free in the depot.  Their memory goes
 * back to the operating system, unless the pool is checked or lies in caller-provided
 * memory.
 *
 * Free slots in the caches of other threads are not reached.  cpool_flush in each
 * thread helps.  A pool with max_capacity above its capacity may grow again.
 *
 * Returns the number of slots removed.  At least one slot stays.  Where it is 0,
 * the free slots have kept their bytes.
 * Reports what cpool_trim does.
 * Any thread, while others allocate and free.  It may block, and so do allocs
 * that find the depot empty meanwhile.  It makes system calls.
 */
CPOOL_API size_t cpool_shrink(cpool_t *pool, size_t n);

/*
 * cpool_trim - gives the memory of pages that hold only free slots back to the
 * operating system, and puts the depot's free slots into order of address, so
 * that they are handed out page by page again.
 *
 * The contents of slots on such pages become zero, and slots stay readable until the pool
 * is destroyed.  With CPOOL_KEEP_PAGES no page goes back.  Of the caches it takes the
 * calling thread's slots, and the spare magazines of those that exchanged none since the
 * last trim.  The loaded magazines of other threads are not reached.  So a timer that
 * calls it every few seconds gives back what has not been needed lately.  Checked pools,
 * and pools in caller-provided memory, are put in order only.
 *
 * Free slots are looked through on the way.  One that lies there twice was freed
 * twice: it is reported, once, as CPOOL_EDOUBLEFREE, and is one slot again.  One
 * that a shrink had removed, and that was freed all the same, is reported as
 * CPOOL_EUNUSED and left out.
 *
 * Takes one bit of memory for each slot from the operating system while it is at work,
 * also beside caller-provided memory, and so do cpool_shrink and cpool_reserve.
 * Without it, it does nothing.
 *
 * Returns the bytes given back that were resident.  Where the operating system does not
 * tell, all count, and so do those beyond the first 4 GiB that it is asked about.
 * Pages that were swapped out are given back, and do not count.
 * Any thread, while others allocate and free.  It may block, and so do allocs that find
 * the depot empty meanwhile, until some slots are back.  It makes system calls.
 */
CPOOL_API size_t cpool_trim(cpool_t *pool);

/*
 * cpool_reserve - sees to it that the next n allocs need no memory from the
 * operating system: commits it and makes it resident.
 *
 * Slots that were never handed out come into circulation as far as they are needed for
 * it.  Free slots are neither read nor written where the operating system can make
 * pages resident by itself (Linux 5.14).  Elsewhere each of their pages is touched, and
 * keeps its bytes.  Other threads may take slots all the while.
 *
 * Holds as long as other threads do not take those slots first.  Where they
 * might, draw a ticket.
 *
 * Returns 0, CPOOL_EDRY if n slots are not free, or CPOOL_ENOMEM if the
 * operating system refuses memory.  Reports what cpool_trim does.
 * Any thread.  It may block and makes system calls.
 */
CPOOL_API int cpool_reserve(cpool_t *pool, size_t n);

/*
 * A ticket: slots drawn beforehand, so that taking them later cannot fail.
 *
 *     void *room[24];
 *     cpool_ticket_t ticket = CPOOL_TICKET_INIT;
 *
 *     if (cpool_ticket_draw(&ticket, pool, room, 24) != 0)
 *         ... not enough; try the whole graph later
 *     ... cpool_ticket_alloc(&ticket) up to 24 times ...
 *     cpool_ticket_return(&ticket);       what was not used
 *
 * One thread at a time uses a ticket.  Slots taken from it are freed as any.
 */
typedef struct cpool_ticket {
    size_t size;   /* sizeof(cpool_ticket_t), set by the initialiser */
    cpool_t *pool; /* where the slots were drawn */
    void **slots;  /* the slots drawn */
    size_t left;   /* how many of them were not taken yet */
} cpool_ticket_t;

#define CPOOL_TICKET_INIT                                                      \
    {                                                                          \
        sizeof(cpool_ticket_t), NULL, NULL, 0                                  \
    }

/*
 * cpool_ticket_draw - takes n slots into a ticket, or none.
 *
 * ticket  from CPOOL_TICKET_INIT, or returned
 * slots   room for n pointers, in use until the ticket is returned
 *
 * Returns 0, CPOOL_EDRY when fewer can be had, or CPOOL_ENULL, reported, for NULL slots
 * with n > 0.  After these failures the ticket is empty.  CPOOL_ESTRUCT and CPOOL_ETAIL
 * leave the ticket as it is.  A ticket that is smaller than cpool_ticket_t was in the
 * first release is CPOOL_ESTRUCT, too.  Progress as cpool_alloc_bulk_all.
 */
CPOOL_API int cpool_ticket_draw(cpool_ticket_t *ticket, cpool_t *pool, void **slots, size_t n)
    CPOOL_MUST_USE_ CPOOL_NONNULL_(1);

/* cpool_ticket_alloc - a slot of the ticket's, or NULL when all are taken.
 * Wait-free. */
CPOOL_API void *cpool_ticket_alloc(cpool_ticket_t *ticket) CPOOL_MUST_USE_ CPOOL_NONNULL_(1);

/* cpool_ticket_return - frees the slots that were not taken and returns how
 * many those were.  Progress as cpool_free_bulk. */
CPOOL_API size_t cpool_ticket_return(cpool_ticket_t *ticket) CPOOL_NONNULL_(1);

/*
 * ---- Waiting (cpool_wait.3) ------------------------------------------------
 */

/*
 * cpool_alloc_wait - cpool_alloc that sleeps until a slot is free.
 *
 * pool      created with CPOOL_WAITABLE
 * timeout   the longest to wait, relative, by the monotonic clock.  NULL waits
 *           for ever.  Its members are added, whatever their signs and sizes.  A sum of
 *           zero or less does not wait
 *
 * A slot that is freed may go to a thread that runs before the one that was woken for
 * it wakes up.  A thread that has waited for a millisecond is not overtaken any more
 * while it sleeps.  Slots that are freed then are handed to the waiting threads, past
 * all caches, in the order in which they came.
 *
 * When memory is refused, it is tried again a hundred times a second.  A thread that
 * waits for slots which it holds itself waits for ever.
 *
 * Returns the slot, or NULL when the time is up or cpool_wake_all ends the waiting
 * (<cpool/events.h>).  NULL after CPOOL_EWAITABLE was reported for another kind of pool.
 * Any thread.  It blocks, but beside a trim or shrink for no longer than the timeout.
 * Not a point of cancellation.
 */
CPOOL_API void *cpool_alloc_wait(cpool_t *pool, const struct timespec *timeout) CPOOL_MUST_USE_
    CPOOL_FREED_BY_(cpool_depot_free);

/*
 * cpool_alloc_or_help - cpool_alloc that does other work while none is free.
 *
 * help      called with arg whenever no slot is to be had.  It does a piece of work,
 *           which may free slots, and returns true, or false if there is no work
 *
 * A worker that runs other jobs until it has room for its own:
 *
 *     static bool run_one_job(void *arg)
 *     {
 *         struct job *job = next_job(arg);
 *
 *         if (job != NULL)
 *             run(arg, job);               frees it
 *         return job != NULL;
 *     }
 *     ...
 *     job = cpool_alloc_or_help(jobs, run_one_job, worker);
 *
 * Returns the slot, or NULL once help has returned false and still none is free.  Then
 * the jobs that are live wait for the one that could not be made: their graph needs more
 * slots than there are.  Run that job in place, as a call, or draw a ticket for a whole
 * graph before it begins.
 * Any thread, any pool.  It takes as long as help takes.
 */
CPOOL_API void *cpool_alloc_or_help(cpool_t *pool, bool (*help)(void *arg), void *arg)
    CPOOL_MUST_USE_ CPOOL_NONNULL_(2) CPOOL_FREED_BY_(cpool_depot_free);

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
    uint64_t exchanges;    /* magazines exchanged with a depot */
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

/*
 * ---- Slots, indices and figures (cpool_info.3) ------------------------------
 */

/*
 * cpool_owns - whether p is the address of one of the pool's slots.
 *
 * True for every slot, live, free or never used, those that the pool may grow to
 * included.  False for any other address.
 * Any thread, wait-free, async-signal-safe.
 */
CPOOL_API bool cpool_owns(const cpool_t *pool, const void *p);

/*
 * cpool_index, cpool_at, cpool_index_limit - from a slot to its index, and back.
 *
 * Indices are dense and start at 0.  The limit is one more than the largest index
 * that a slot can ever have: max_capacity, and just that in an exact pool or in
 * caller-provided memory, else thread_caches * magazine_rounds more.  Tables beside the
 * pool are dimensioned by it.  Fewer thread_caches bring it down.
 *
 * Returns SIZE_MAX for an address that is not a slot, NULL for an index that is not
 * below the limit.
 * Any thread, wait-free, async-signal-safe.
 */
CPOOL_API size_t cpool_index(const cpool_t *pool, const void *slot);
CPOOL_API void *cpool_at(const cpool_t *pool, size_t index);
CPOOL_API size_t cpool_index_limit(const cpool_t *pool);

/*
 * A pool's figures.  While other threads use the pool the counts of slots are
 * an estimate.  When they pause, exact, and then
 *
 *     live + in_depot + in_caches + fresh = capacity + slack
 *
 * live_peak and live_average are estimates in any case.  `live` is sampled by cpool_stats,
 * and ten thousand times a second at most by threads that take magazines from the depot.
 * No more than high_water were ever live.
 *
 * Start from CPOOL_STATS_INIT.
 */
typedef struct cpool_figures {
    size_t size;            /* sizeof(cpool_stats_t), set by the initialiser */
    size_t capacity;        /* slots, now */
    size_t max_capacity;    /* slots it may grow to */
    size_t slack;           /* slots in circulation beyond the capacity, in place
                               of some that are loaded in caches */
    size_t live;            /* slots in the hands of callers */
    size_t in_depot;        /* free slots every thread can have */
    size_t in_caches;       /* free slots in the caches of threads */
    size_t fresh;           /* slots never handed out */
    size_t high_water;      /* slots in circulation: taken from the fresh ones, and not
                               removed by a shrink or reset since.  No more have been
                               live since the last of these */
    size_t slot_size;       /* bytes, as configured */
    size_t slot_stride;     /* bytes from one slot to the next */
    size_t magazine_rounds; /* slots in a full magazine */
    size_t magazines;       /* magazines made so far */
    size_t thread_caches;   /* caches registered now */
    uint64_t exchanges;     /* stacks of the depot pushed and popped so far */
    uint64_t cas_retries;   /* compare-and-swaps that had to be repeated */
    uint64_t recalls;       /* magazines taken out of caches because all else
                               was used up */
    uint64_t growths;       /* times the capacity was raised */
    uint64_t trims;         /* times memory was looked for to give back */
    uint64_t waits;         /* allocs that went to sleep */
    size_t spares;          /* spare magazines that the registered caches may
                               hold */
    size_t reserved_bytes;  /* address space taken */
    size_t committed_bytes; /* of it, bytes that may become resident */
    uint64_t stalls;        /* allocs that returned NULL because a thread stayed
                               stopped inside the library for stall_limit */
    size_t live_peak;       /* the largest `live` that was sampled */
    size_t live_average;    /* `live`, averaged over time */
} cpool_stats_t;

#define CPOOL_STATS_INIT                                                       \
    {                                                                          \
        sizeof(cpool_stats_t), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
            0, 0, 0, 0, 0, 0, 0, 0                                             \
    }

/*
 * cpool_stats - reads the figures.
 *
 * Returns 0, CPOOL_ENULL or CPOOL_ESTRUCT.
 * Any thread.  It may block, and makes no system call but those that block signals.
 */
CPOOL_API int cpool_stats(const cpool_t *pool, cpool_stats_t *stats);

/*
 * cpool_stats_restart - begins live_peak and live_average anew, with what is live now.
 *
 * Any thread; may block; makes no system call but those that block signals.
 */
CPOOL_API void cpool_stats_restart(cpool_t *pool);

/*
 * cpool_print, cpool_print_json - write the figures, for a person or for a program.
 *
 * JSON is one object in one line, described in doc/JSON.md.  Bytes of the name that are no
 * UTF-8 become U+FFFD.
 * A NULL stream is reported as CPOOL_ENULL.
 *
 * Any thread.  It may block, and does what the stream does.
 */
CPOOL_API void cpool_print(const cpool_t *pool, FILE *out);
CPOOL_API void cpool_print_json(const cpool_t *pool, FILE *out);

#include <cpool/fast.h>
#include <cpool/typed.h>

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_H */
