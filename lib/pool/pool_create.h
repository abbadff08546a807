/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_create.h - the life of a pool.
 *
 * Includes pool_impl.h.
 */
#ifndef CPI_POOL_CREATE_H
#define CPI_POOL_CREATE_H

#include "pool/pool_impl.h"

/*
 * create is cpool_create for a layer of this kind, or for none: 0.  build makes
 * a pool in memory of its own or of the caller's.  Both return 0 or a code.  publish gives it
 * a handle, by which it can be used, with the lock held.  Returns 0,
 * CPOOL_EPOOLS if none is left, or CPOOL_ENOMEM.  release gives the memory of a pool
 * without a handle back.  next_number counts pools, with the lock held.
 */
int cpi_pool_create(cpool_t **pool, const cpool_config_t *config, unsigned layer);
int cpi_pool_build(struct cpi_pool **pool, const cpool_config_t *config);
int cpi_pool_publish(struct cpi_pool *pool);
uint64_t cpi_pool_next_number(void);
void cpi_pool_release(struct cpi_pool *pool);

/* pool_region.c.  keep wipes the region of a destroyed pool for the next one with slots at the
 * same place.  False: unmap it.  take returns one, as good as new, or NULL.  Lock-free. */
bool cpi_region_keep(struct cpi_pool *pool);
void *cpi_region_take(size_t size, size_t slots_at);

/* Unmaps those that are kept.  Returns true if there were any.  Lock-free. */
bool cpi_region_release_all(void);

#endif /* CPI_POOL_CREATE_H */
