/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/track.h - pools that know which of their slots are live.
 *
 * OVERVIEW
 *
 *     config.flags = CPOOL_TRACKED;
 *     ...
 *     struct body *body = cpool_alloc(bodies);
 *     cpool_handle_t handle = cpool_handle(bodies, body);      kept for later
 *     ...
 *     body = cpool_resolve(bodies, handle);                    NULL once it was freed
 *
 *     cpool_iter_t iter = CPOOL_ITER_INIT(bodies, 0, SIZE_MAX);
 *     while ((body = cpool_iter_next(&iter)) != NULL)          every live slot
 *         move(body);
 *
 * A tracked pool keeps a 64-bit word for each slot: a bit that is set while the slot is live, and a
 * generation, which each free advances.  The words are in an array of their own, and none of these
 * functions reads or writes a slot.  A free of a slot that is already free, or was never taken, is
 * found in its word, and reported as CPOOL_EDOUBLEFREE or CPOOL_EUNUSED.
 *
 * NOTES: cpool_track(3) has notes on live slots, handles and trims (doc/man/cpool_track.txt).
 */
#ifndef CPOOL_TRACK_H
#define CPOOL_TRACK_H

#include <cpool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * ---- Handles (cpool_track.3) -------------------------------------------------
 */

/* Identifies a live slot, until it is freed. */
typedef uint64_t cpool_handle_t;

/* A handle that stands for no slot. */
#define CPOOL_HANDLE_NONE CPOOL_NUMBER_(cpool_handle_t, 0)

/*
 * cpool_handle - the handle of a live slot.
 *
 * slot   from an alloc on this pool, not freed since
 *
 * Returns the handle, or CPOOL_HANDLE_NONE for any other address, or after CPOOL_EKIND was
 * reported because the pool is not tracked.  Any thread, wait-free, async-signal-safe.
 */
CPOOL_API cpool_handle_t cpool_handle(const cpool_t *pool, const void *slot);

/*
 * cpool_resolve - the slot of a handle.
 *
 * handle   from this pool, or any number
 *
 * Returns the slot if it is live and has been since the handle was made, else NULL.  Also returns
 * NULL after CPOOL_EKIND was reported because the pool is not tracked.  cpool_track(3) describes
 * the permitted use of the slot.  A thread that knows of a free before it calls, by
 * synchronisation, gets NULL.  Concurrently with a free it may get either.  Any thread, wait-free,
 * async-signal-safe.
 */
CPOOL_API void *cpool_resolve(const cpool_t *pool, cpool_handle_t handle);

/*
 * ---- Iterating over live slots (cpool_track.3) -------------------------------------
 */

/*
 * An iterator over the live slots of a range of indices, in ascending order.
 *
 * Jobs that divide the range from 0 to cpool_index_limit, or to `circulating` in cpool_read_stats,
 * together visit every slot.  Only one thread at a time may use an iterator.  It holds nothing
 * between two calls, and need not be closed.
 */
typedef struct cpool_iter {
    size_t size;           /* sizeof(cpool_iter_t), set by the initialiser */
    const cpool_t *pool;   /* the pool */
    size_t next;           /* index of the next slot to examine */
    size_t end;            /* one more than the last */
    cpool_handle_t handle; /* of the slot returned last */
} cpool_iter_t;

#define CPOOL_ITER_INIT(pool, first, end)                                      \
    {                                                                          \
        sizeof(cpool_iter_t), (pool), (first), (end), CPOOL_HANDLE_NONE        \
    }

/*
 * cpool_iter_next - the next live slot.
 *
 * iter   from CPOOL_ITER_INIT with a pool, the index of the first slot of a range, and one
 *        more than the index of the last one, SIZE_MAX for all
 *
 * Other threads may alloc and free meanwhile, and the caller may free the slot that it got.  A slot
 * that is live throughout the iteration is visited exactly once.  A slot that is taken or freed
 * meanwhile is visited once or not at all.  "Throughout" means: from an alloc that happens before
 * the first call, by synchronisation, to a free that happens after the last one.  The caller may
 * use a slot like a thread that has resolved its handle.
 *
 * Returns the slot, or NULL if there are no more, or after CPOOL_ESTRUCT, CPOOL_EPOOL or
 * CPOOL_EKIND was reported, because the size or the pool is wrong.  One thread at a time,
 * wait-free and async-signal-safe.  The calls read 8 bytes for each slot of the range that was ever
 * handed out.
 */
CPOOL_API void *cpool_iter_next(cpool_iter_t *iter) CPOOL_NONNULL_(1);

/*
 * ---- Typed pools (cpool_track.3) ---------------------------------------------
 */

/*
 * CPOOL_DECLARE_HANDLES - defines the functions of a typed pool (CPOOL_DECLARE) for handles and
 * iterators, which are inline.
 *
 * At file scope, after the declaration of the pool:
 *
 *     cpool_handle_t <name>_handle(const type *slot);   as cpool_handle
 *     type *<name>_resolve(cpool_handle_t handle);      as cpool_resolve
 *     type *<name>_iter_next(cpool_iter_t *iter);       as cpool_iter_next
 */
#define CPOOL_DECLARE_HANDLES(name, type)                                              \
    /* cpool_handle_t <name>_handle(const type *slot)    the handle of a live slot     \
     * type *<name>_resolve(cpool_handle_t handle)       the slot of a handle, or NULL \
     * type *<name>_iter_next(cpool_iter_t *iter)        the next live slot, or NULL */ \
    CPOOL_TYPED_INLINE_ cpool_handle_t name##_handle(const type *cpool_slot_)          \
    {                                                                                  \
        cpool_t *cpool_pool_ = name##_pool();                                          \
                                                                                       \
        return cpool_pool_ != NULL ? cpool_handle(cpool_pool_, cpool_slot_) : CPOOL_HANDLE_NONE; \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_INLINE_ type *name##_resolve(cpool_handle_t cpool_handle_)             \
    {                                                                                  \
        cpool_t *cpool_pool_ = name##_pool();                                          \
        void *cpool_any_ = NULL;                                                       \
                                                                                       \
        if (cpool_pool_ != NULL)                                                       \
            cpool_any_ = cpool_resolve(cpool_pool_, cpool_handle_);                    \
        return CPOOL_CAST_(type *, cpool_any_);                                        \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_INLINE_ type *name##_iter_next(cpool_iter_t *cpool_iter_)              \
    {                                                                                  \
        return CPOOL_CAST_(type *, cpool_iter_next(cpool_iter_));                      \
    }                                                                                  \
                                                                                       \
    CPOOL_TYPED_END_

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_TRACK_H */
