/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/layer.h - what a layer above a pool needs of the pool.
 *
 * OVERVIEW
 *
 * A layer keeps something of its own for each slot, or keeps slots for itself.  The
 * object pools of <cpool/object.h> are one.  A layer tells a slot that is new to it from
 * one that it had before, gives the memory of slots that it holds back to the operating
 * system, and finds its own data by the pool.
 *
 * A layer that decides by itself how many slots there are creates the pool with
 * `capacity` equal to `max_capacity`, and lowers the capacity with cpool_shrink before
 * the first alloc.  Such a pool never grows by itself.
 */
#ifndef CPOOL_LAYER_H
#define CPOOL_LAYER_H

#include <cpool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * ---- Layers above a pool (cpool_layer.3) -----------------------------------
 */

/*
 * cpool_alloc_fresh - takes a slot that was never handed out, past all caches.
 *
 * Where no such slot is left within the capacity, the capacity is raised by one in the
 * same step.  No other thread's alloc can take that slot.  Slots that a shrink has removed,
 * and those of a pool that was reset, count as never handed out.
 *
 * Returns the slot, or NULL when the pool has reached max_capacity and has no such slot,
 * or the operating system refuses memory.  It is freed as any slot.
 * Any thread, lock-free.  It makes a system call when memory must be committed.
 */
CPOOL_API void *cpool_alloc_fresh(cpool_t *pool) CPOOL_MUST_USE_ CPOOL_FREED_BY_(cpool_depot_free);

/*
 * cpool_discard - gives the memory of slots that the caller holds back to the operating
 * system.
 *
 * first   the slot with the lowest address
 * n       this slot and those that follow it, all of them live and the caller's
 *
 * Pages that lie within these slots as a whole are given back.  The slots stay the
 * caller's, and their bytes on such pages become zero.  Checked pools, and pools in
 * caller-provided memory, keep theirs.
 *
 * Returns the bytes given back that were resident.  CPOOL_EFOREIGN, CPOOL_EMISALIGNED or
 * CPOOL_EUNUSED is reported when one of the n is no slot that was handed out.  Nothing is
 * given back then.
 * Any thread, lock-free.  It makes system calls.
 */
CPOOL_API size_t cpool_discard(cpool_t *pool, void *first, size_t n);

/*
 * cpool_has_free - whether an alloc would find a slot, at a glance.
 *
 * An estimate: other threads take and free slots meanwhile.  It does not look whether the
 * operating system would give memory.
 * Any thread, wait-free.  The cost grows with the number of caches only when nothing lies
 * in the depot.
 */
CPOOL_API bool cpool_has_free(const cpool_t *pool);

/*
 * cpool_set_layer, cpool_layer - data that a layer finds by the pool.
 *
 * key    an address that only this layer uses, that of a static variable say
 * data   the layer's own.  NULL with any key when the layer is gone
 *
 * A pool carries the data of one layer.  cpool_layer returns them, or NULL when the pool
 * has none with this key.
 *
 * set is called before other threads know the pool.  cpool_layer: any thread, wait-free,
 * async-signal-safe.
 */
CPOOL_API void cpool_set_layer(cpool_t *pool, const void *key, void *data);
CPOOL_API void *cpool_layer(const cpool_t *pool, const void *key);

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_LAYER_H */
