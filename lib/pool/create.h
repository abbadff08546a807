/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * create.h - the life of a pool.
 *
 * Includes pool.h.
 */
#ifndef CPI_CREATE_H
#define CPI_CREATE_H

#include "pool/pool.h"

/*
 * create is cpool_create for a client, or for none: NULL.  build makes a pool in memory of its own
 * or of the caller's.  Both return 0 or a code.  publish gives it
 * a handle, by which it can be used, with the lock held.  Returns 0,
 * CPOOL_EPOOLS if none is left, or CPOOL_ENOMEM.  withdraw takes the handle back, with the
 * lock held and the caches ended.  release gives the memory of a pool
 * without a handle back.  next_number counts pools, with the lock held.
 */
int cpi_pool_create(cpool_t **pool, const cpool_config_t *config, const cpool_client_t *client);
int cpi_pool_build(struct cpi_pool **pool, const cpool_config_t *config);
int cpi_pool_publish(struct cpi_pool *pool);
void cpi_pool_withdraw(struct cpi_pool *pool);
uint64_t cpi_pool_next_number(void);
void cpi_pool_release(struct cpi_pool *pool);

/*
 * destroy.c.  Steps of a reset and of the end, in this order, while no thread uses the pool.
 * stop looks for damage, takes the lock, and returns how many slots are live.  A count below zero
 * is the number of double frees, less that of the slots still live.
 * After the lock is released, judge_live returns the number of live slots for the user, and
 * reports a count below zero.
 */
int64_t cpi_pool_stop(struct cpi_pool *pool, const char *function, size_t *damages);
size_t cpi_pool_judge_live(const struct cpi_pool *pool, int64_t counted, const char *function);

#endif /* CPI_CREATE_H */
