/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_alloc.h - how a slot is found where the inline path has none.
 *
 * Includes pool_impl.h.
 */
#ifndef CPI_POOL_ALLOC_H
#define CPI_POOL_ALLOC_H

#include "pool/pool_impl.h"

/*
 * The two that all public functions come down to.  cache is the calling thread's, or NULL
 * for none.  free takes any address: NULL is a no-op, a wrong one is reported.  It returns
 * true if a slot went back.
 */
void *cpi_pool_alloc(struct cpi_pool *pool, struct cpi_cache *cache, struct cpi_call call);

/* The same, but never a block of the fallback's. */
void *cpi_pool_alloc_slot(struct cpi_pool *pool, struct cpi_cache *cache, struct cpi_call call);
bool cpi_pool_free(struct cpi_pool *pool, struct cpi_cache *cache, void *slot,
                   struct cpi_call call);

/* Moves slots from some cache to the depot.  False if no cache has any.  Lock-free. */
bool cpi_pool_recall(struct cpi_pool *pool, struct cpi_uncached *uncached);

/* A slot from this cache, or none, from the depot, or a fresh one, not yet marked.
 * NULL if there is none in any of these.  A block in a pool that fakes. */
void *cpi_pool_take(struct cpi_pool *pool, struct cpi_cache *cache);

/* Looks everywhere, for the owner of this cache or for a thread without one.  It does
 * not lose slots that it finds on the way.  `awaits`: while a trim or shrink has the
 * depot's magazines it waits until some are back.  Otherwise the caller waits to be
 * called. */
void *cpi_pool_look(struct cpi_pool *pool, struct cpi_cache *cache, bool awaits);

/* The same for a waiter, which waits to be called, and which takes a block of the fallback's
 * rather than wait. */
void *cpi_pool_look_waiting(struct cpi_pool *pool);

#endif /* CPI_POOL_ALLOC_H */
