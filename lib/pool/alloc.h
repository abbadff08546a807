/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * alloc.h - alloc and free out of line, and the steps that they are made of.
 */
#ifndef CPI_ALLOC_H
#define CPI_ALLOC_H

#include "cache/reclaim.h"
#include "pool/pool.h"
#include "pool/report.h"
#include "pool/slots.h"

/*
 * How a slot is obtained and given back.  All public functions come down to these two, but for
 * what the inline path does, and the swaps of magazines behind it.  The cache is the calling
 * thread's own, an explicit one, or NULL for none.
 *
 * alloc returns NULL if there is none.  free takes any address: NULL is a no-op, and a wrong
 * address is reported.
 */
void *cpi_pool_alloc(struct cpi_pool *pool, struct cpi_cache *cache, struct cpi_call call);
void cpi_pool_free(struct cpi_pool *pool, struct cpi_cache *cache, void *slot,
                   struct cpi_call call);

/* alloc and free where the inline path ends, with the calling thread's cache: most often a swap. */
void *cpi_pool_alloc_near(const cpool_t *handle, struct cpi_cache *cache, struct cpi_call call);
void cpi_pool_free_near(const cpool_t *handle, struct cpi_cache *cache, void *slot,
                        uintptr_t index, struct cpi_call call);

/* As cpool_alloc_abi1 and cpool_free_abi1, on behalf of a caller of inline.c's. */
void *cpi_alloc_out(cpool_t *handle, cpool_cache_t *entry, const void *site);
void cpi_free_out(cpool_t *handle, void *slot, uintptr_t index, cpool_cache_t *entry,
                  const void *site);

/* caches.c.  An explicit cache's, where the inline path ends. */
void *cpi_pool_cache_alloc(cpool_cache_t *entry, struct cpi_call call);
void cpi_pool_cache_free(cpool_cache_t *entry, void *slot, struct cpi_call call);

/* --- Steps --- */

/* A slot of this cache, of the depot or a fresh one, which has not passed yet (slots.h).  NULL if
 * there is none. */
void *cpi_pool_take(struct cpi_pool *pool, struct cpi_cache *cache);

/* Gives back a slot that cpi_pool_returns let pass, and wakes a thread that waits.  Returns false
 * if there is no place for the slot. */
bool cpi_pool_give(struct cpi_pool *pool, struct cpi_cache *cache, void *slot);

/* For a thread that waits, after cpi_reclaim_all: a slot of the depot, or one that is made or found
 * now, among retired ones if it `retires`.  While a trim or shrink has the depot's magazines, it
 * returns NULL. */
void *cpi_pool_look(struct cpi_pool *pool, bool retires);

/* Before an alloc that leaves the inline path, most of all for an exchange with the depot: counts
 * live slots now and then. */
void cpi_pool_note_exchange(struct cpi_pool *pool, struct cpi_cache *cache);

/* Adds `more` slots, which are committed or will be as they are used, and counts that, if the
 * bounds are still these.  Returns false otherwise.  Lock-free. */
bool cpi_pool_raise(struct cpi_pool *pool, uint64_t bounds, uintptr_t more);

#endif /* CPI_ALLOC_H */
