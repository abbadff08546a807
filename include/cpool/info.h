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
 * cpool_owns - tells whether p is the address of one of the pool's slots.
 *
 * Returns true for every slot, live, free or never used, including those that the pool may
 * grow to.  Returns false for any other address.
 * Any thread, wait-free, async-signal-safe.
 */
CPOOL_LOCAL_ bool cpool_owns(const cpool_t *pool, const void *p);

/*
 * cpool_index, cpool_at, cpool_index_limit - from a slot to its index, and back.
 *
 * Indices are dense and start at 0.  The limit is one more than the largest index that a slot can
 * ever have: max_capacity, or capacity in a pool that does not grow.  Use it as the size of tables
 * that go with the pool.
 *
 * From the creation of the pool to its end the slot of index i lies at
 * (char *)cpool_at(pool, 0) + i * stride, unless slots are sampled: see cpool_debug(3).  The stride
 * is slot_stride in cpool_read_stats, and the size of the type in a typed pool whose settings have
 * no CPOOL_CHECKED, no CPOOL_COLOUR, and no slot_align that does not divide that size.
 *
 * Returns SIZE_MAX for an address that is not a slot, and NULL for an index not below the limit.
 * The memory of a slot that was never handed out may not be committed: then an access traps.
 * Any thread, wait-free, async-signal-safe.  Inline, without a call for a slot or an index below
 * the limit, so a pointer that was never a pool may go unnoticed.
 */
CPOOL_API size_t cpool_index(const cpool_t *pool, const void *slot);
CPOOL_API void *cpool_at(const cpool_t *pool, size_t index);
CPOOL_LOCAL_ size_t cpool_index_limit(const cpool_t *pool);

/*
 * A pool's figures.  The counts of slots are estimates while other threads use the pool, or while a
 * thread that used it is still ending.  When all of them pause, the counts are exact, and then
 *
 *     live + free = capacity
 *
 * peak and average are of live slots, counted at exchanges with the depot: each thread counts at
 * one in 32 of its exchanges, or fewer in pools with many caches, or more near the mark of
 * cpool_set_pressure, and cpool_read_stats counts for the peak.  A burst between two counts is not
 * seen.  So more than `peak` may have been live at times, by some dozens of magazines, but never
 * more than `circulating`.  A count while other threads use the pool is an estimate, too high by a
 * few magazines at most.  The peak is never below `live` of the same reading.
 *
 * Two readings show what the pool did in between.  In a steady state system_calls does not change,
 * although slots are exchanged: all memory is there.  Neither does circulating, unless slots are
 * reserved that were never handed out.  Allocs and frees are not counted, which would take time in
 * each of them.
 *
 * system_calls counts requests to the operating system by any thread on behalf of the pool:
 * committing memory (mprotect), making it resident (madvise), giving it back in a trim or shrink
 * (mmap, madvise, munmap), and barriers (membarrier).  It does not count the calls of cpool_create
 * and cpool_destroy, of a thread's own tables, of locks, waits and pauses.
 *
 * cpool_dump prints more figures, of how the pool works inside, which may change.
 *
 * Start from CPOOL_STATS_INIT.
 */
typedef struct cpool_stats {
    size_t size;            /* sizeof(cpool_stats_t), set by the initialiser */
    size_t capacity;        /* the current number of slots */
    size_t max_capacity;    /* the limit of capacity */
    size_t live;            /* slots that callers hold */
    size_t free;            /* the others */
    size_t circulating;     /* slots in circulation: taken from those that were never
                               handed out, often a whole magazine at a time, and not
                               removed by a shrink or reset since.  No more have been
                               live since the last of these */
    size_t peak;            /* the largest count of live slots */
    size_t average;         /* of all counts at exchanges; `live` if there were none */
    size_t retired;         /* slots among `live` that are held back for readers
                               (cpool/retire.h).  Exact while no thread retires */
    size_t slot_size;       /* bytes, as configured */
    size_t slot_stride;     /* bytes from one slot to the next */
    size_t reserved_bytes;  /* address space reserved */
    size_t committed_bytes; /* of it, bytes that may become resident */
    uint64_t failures;      /* calls that got fewer slots than they asked for, or no object */
    uint64_t stalls;        /* of them, those that returned NULL because a thread was
                               preempted inside the library for longer than stall_limit_ms */
    uint64_t waits;         /* allocs that slept */
    uint64_t reclaims;      /* magazines taken out of caches by allocs that found
                               nothing else, by waiting threads and by trims */
    uint64_t system_calls;  /* requests to the operating system so far */
} cpool_stats_t;

#define CPOOL_STATS_INIT                                                       \
    {                                                                          \
        sizeof(cpool_stats_t), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 \
    }

/*
 * cpool_read_stats - reads the figures.
 *
 * Returns 0, CPOOL_ENULL, CPOOL_ESTRUCT, or CPOOL_EPOOL, which is reported.
 * Any thread.  It may block, and makes no system call unless it does.
 */
CPOOL_API int cpool_read_stats(const cpool_t *pool, cpool_stats_t *stats);

/*
 * The forms of cpool_dump.
 *
 *   CPOOL_DUMP_TEXT        figures, for a person.  For all pools with their sums
 *   CPOOL_DUMP_JSON        the same for a program, as one object in one line.  For all pools it has
 *                          the library's version as `version`, and `pools`, an array of objects
 *   CPOOL_DUMP_PROMETHEUS  the figures as metrics in the text format of Prometheus, with the labels
 *                          `pool` (its name), `number` and `kind`
 *   CPOOL_DUMP_LIVE        the live slots of one checked pool, by the place that took them.  A line
 *                          has the number of slots, the place, the thread and the address of the
 *                          oldest slot, and how long the oldest and the youngest have been live.
 *                          Places with many slots come first.  Beyond 63 places they are counted
 *                          together
 *   CPOOL_DUMP_PROFILE     the live slots that are sampled, as cpool_debug(3) describes, of one
 *                          pool, with the stacks of their allocs, as a heap profile in the text
 *                          form of pprof.  Each stands for as many slots as there are allocs for a
 *                          sample.  A pool has 64 of them at most, so with many live slots the sum
 *                          is too small.  Compare it with `live`
 */
enum cpool_dump_form {
    CPOOL_DUMP_TEXT,
    CPOOL_DUMP_JSON,
    CPOOL_DUMP_PROMETHEUS,
    CPOOL_DUMP_LIVE,
    CPOOL_DUMP_PROFILE
};

/* Takes the next `length` bytes of a text, which end with no zero. */
typedef void (*cpool_write_t)(const char *text, size_t length, void *arg);

/*
 * cpool_dump - writes the figures of a pool or of all pools, or live slots.
 *
 * pool    NULL for all pools
 * write   called with one part of the text after the other, in the calling thread and without a
 *         lock.  It may use any function
 * arg     passed to it
 *
 * doc/JSON.md in the sources describes each member of the JSON, and the metrics.  Later versions
 * may add members.  Those in cpool_stats_t and cpool_view_t stay.  The others describe how the
 * library works, and may go.  For Prometheus, serve the metrics of all pools over HTTP as
 * text/plain; version=0.0.4 (examples/metrics.c in the sources).
 *
 * CPOOL_DUMP_LIVE and CPOOL_DUMP_PROFILE without a pool are reported as CPOOL_EPOOL, and an unknown
 * form as CPOOL_EFLAGS.
 *
 * Returns the number of pools or slots written.  Any thread, while others use the pool.  It may
 * block.  An error handler may call it.
 */
CPOOL_API size_t cpool_dump(const cpool_t *pool, enum cpool_dump_form form, cpool_write_t write,
                            void *arg) CPOOL_NONNULL_(3);

#endif /* CPOOL_INFO_H */
