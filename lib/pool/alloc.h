/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * alloc.h - the slow paths of alloc and free, and their steps.
 *
 * Includes reclaim.h, report.h, slots.h, which includes os.h.
 */
#ifndef CPI_ALLOC_H
#define CPI_ALLOC_H

#include "cache/reclaim.h"
#include "pool/report.h"
#include "pool/slots.h"

/* All public functions obtain and give back slots through these two functions, except on the inline
 * path and in the swaps of magazines behind it.  The cache is the calling thread's own, an explicit
 * one, or NULL for none. free accepts any address, and reports a wrong one. */
void *cpi_pool_alloc(struct cpi_pool *pool, struct cpi_cache *cache, struct cpi_call call);
void cpi_pool_free(struct cpi_pool *pool, struct cpi_cache *cache, void *slot,
                   struct cpi_call call);

/* alloc and free where the inline path fails, with the calling thread's cache: most often a
 * swap. */
void *cpi_pool_alloc_near(const cpool_t *handle, struct cpi_cache *cache, struct cpi_call call);
void cpi_pool_free_near(const cpool_t *handle, struct cpi_cache *cache, void *slot,
                        uintptr_t index, struct cpi_call call);

/* Like cpool_alloc_abi1 and cpool_free_abi1, for callers of the functions in inline.c. */
void *cpi_alloc_out(cpool_t *handle, cpool_cache_t *entry, const void *site);
void cpi_free_out(cpool_t *handle, void *slot, uintptr_t index, cpool_cache_t *entry,
                  const void *site);

/* --- Steps --- */

/* A slot from this cache, from the depot, or a fresh one.  cpi_pool_passes (slots.h) comes next.
 * NULL if there is none. */
void *cpi_pool_take(struct cpi_pool *pool, struct cpi_cache *cache);

/* Gives back a slot that cpi_pool_returns has accepted, and wakes a waiting thread.  Returns false
 * if there is no place for the slot. */
bool cpi_pool_give(struct cpi_pool *pool, struct cpi_cache *cache, void *slot);

/* For a waiting thread, after cpi_reclaim_all: a slot from the depot, a fresh one, or one that
 * growth, a spare or, if `retires`, a client can provide.  Returns NULL while a trim or shrink
 * holds the depot's magazines. */
void *cpi_pool_look(struct cpi_pool *pool, bool retires);

/* Called before an alloc that leaves the inline path, usually for an exchange with the depot:
 * counts live slots now and then.  May call the function of cpool_set_pressure, so the caller holds
 * no lock, and is not inside. */
void cpi_pool_note_exchange(struct cpi_pool *pool, struct cpi_cache *cache);

/* cpi_pool_take after cpi_pool_note_exchange.  Also counts if it finds nothing. */
void *cpi_pool_try(struct cpi_pool *pool, struct cpi_cache *cache);

/* Counts a call that got fewer slots than it asked for. */
void cpi_pool_note_failure(struct cpi_pool *pool);

/* Raises the capacity by `more` slots if the bounds are still these, and counts a growth.
 * Otherwise returns false.  Lock-free. */
bool cpi_pool_raise(struct cpi_pool *pool, uint64_t bounds, uintptr_t more);

/* memory.c.  Purges the whole pages of the slots from `first` to before `end`, and the page that
 * the first one shares with the run below, which begins with `bottom` and is the caller's, too.
 * Returns the bytes. */
size_t cpi_pool_purge(struct cpi_pool *pool, uintptr_t bottom, uintptr_t first, uintptr_t end);

#endif /* CPI_ALLOC_H */
