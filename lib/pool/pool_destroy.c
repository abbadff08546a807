/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_destroy.c - destroying pools.  A reset uses some of the steps.
 */
#include "pool/feature.h"
#include "pool/pool_create.h"
#include "pool/pool_info.h"
#include "pool/pool_report.h"
#include "pool/slots.h"

#include "cache/reclaim.h"

CPI_COLD int64_t cpi_pool_stop(struct cpi_pool *pool, const char *function, size_t *damages)
{
    struct cpi_registry_figures figures;

    *damages = cpi_pool_verify_all(pool, function);
    cpi_retire_settle(pool);
    /* A thread that has given a slot back may still be about to leave: its own, which another one
     * has obtained since, or a retired one, which is in no bag any more. */
    cpi_await_rest(&pool->registry);
    cpi_lock();
    cpi_registry_await_leaving(&pool->registry);
    cpi_registry_figures(&pool->registry, &figures);
    figures.stocked = (int64_t)cpi_depot_count_stocked(&pool->depot);
    return cpi_pool_live(pool, &figures);
}

size_t cpi_pool_judge_live(const struct cpi_pool *pool, int64_t counted,
                                    const char *function)
{
    if (counted >= 0)
        return (size_t)counted;
    cpi_pool_report_surplus(function, pool, 0 - (uint64_t)counted);
    return 0;
}

CPI_COLD int cpool_destroy(cpool_t *handle)
{
    static const char function[] = "cpool_destroy";
    struct cpi_pool *pool;
    size_t damages;
    int64_t counted;
    size_t live;

    if (handle == NULL)
        return 0;
    pool = cpi_pool_of(handle, function);
    if (pool == NULL)
        return CPOOL_EPOOL;
    counted = cpi_pool_stop(pool, function, &damages);
    CPI_ASSERT(cpi_pool_audit(pool));
    cpi_registry_end_caches(&pool->registry);
    if (pool->typed != NULL)
        cpi_typed_set(pool->typed, NULL);
    cpi_pool_withdraw(pool);
    cpi_unlock();
    live = cpi_pool_judge_live(pool, counted, function);
    if (live > 0) {
        cpi_announce_leaked(pool);
        cpi_pool_tell_leaked(pool, live);
    }
    cpi_pool_release(pool);
    if (counted < 0)
        return CPOOL_EDOUBLEFREE;
    if (damages > 0)
        return CPOOL_EGUARD;
    return live > 0 ? CPOOL_ELIVE : 0;
}
