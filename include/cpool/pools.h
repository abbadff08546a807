/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/pools.h - the pools of a process: by address, by name, and all of them.
 *
 * OVERVIEW
 *
 *     #include <cpool/pools.h>
 *
 *     cpool_release(particle);                   goes back to its pool, whichever
 *     cpool_print(cpool_of(particle), stderr);   the pool's figures
 *
 * A pool is found by the address of any of its slots, in a time that depends neither on
 * the number of pools nor on their sizes.  So an object can go back without a pointer to
 * its pool, and a report about a stray pointer can name the pool that it leads into.
 *
 * NOTES
 *
 * All of it is about the pools of one copy of the library.  Where a process holds several
 * copies, as when a plug-in has one linked statically, each knows its own pools.
 *
 * Reference: the tree of addresses is that of page tables.  Entries of its upper levels
 * stand for whole ranges, as large pages do.
 */
#ifndef CPOOL_POOLS_H
#define CPOOL_POOLS_H

#include <cpool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * ---- Pools by address (cpool_of.3) ------------------------------------------
 */

/*
 * cpool_of - the pool of a slot.
 *
 * slot   any address.  The slot may be live, free or never used
 *
 * Returns the pool in which a slot begins at this address, or NULL if there is none.  It
 * may lie in a slot of another pool.
 *
 * Other pools may be created and destroyed meanwhile.  While the pool itself is being
 * destroyed, the result is the pool or NULL.
 * Any thread, wait-free, async-signal-safe.  A dozen dependent loads at most.
 */
CPOOL_API cpool_t *cpool_of(const void *slot);

/*
 * cpool_around - the pool and the slot that an address lies in.
 *
 * address   any address: of a slot, inside a slot, or in the bytes between two slots,
 *           which count to the slot before them
 * slot      receives the address of the slot, or NULL if there is none.  It may be NULL
 *
 * Returns the pool, or NULL.  With a pool in a slot of another pool it is the inner one for
 * addresses among the inner one's slots, and the outer one for the rest.
 * Progress as cpool_of.
 */
CPOOL_API cpool_t *cpool_around(const void *address, void **slot);

/*
 * cpool_release - cpool_free, on the pool of the slot.
 *
 * slot   from an alloc on any pool, not freed since.  NULL is a no-op
 *
 * Verified as by cpool_free.  An address inside a slot is reported as CPOOL_EMISALIGNED, and
 * one in no pool as CPOOL_EFOREIGN.
 * Any thread, progress as cpool_free.
 */
CPOOL_API void cpool_release(void *slot);

#ifdef __cplusplus
}
#endif

#endif /* CPOOL_POOLS_H */
