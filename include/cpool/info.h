/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/info.h - slots, their indices, and the figures of a pool.
 *
 * Included by <cpool.h>.  Never include it yourself.
 */
#ifndef CPOOL_INFO_H
#define CPOOL_INFO_H

#ifndef CPOOL_H
#error "include <cpool.h> instead of <cpool/info.h>"
#endif

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
 * pool are dimensioned by it.  From 70,000 slots on it is at most twice max_capacity by
 * default.  Fewer thread_caches bring it down, and <cpool/track.h> has an example.
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
    size_t slot_stride;     /* bytes from one slot to the next, or slot_size in fake pools */
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

#endif /* CPOOL_INFO_H */
