/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * create.c - creating and resetting pools.  Programs that only have typed pools do not link it.
 */
#include "base/tools.h"
#include "pool/config.h"
#include "pool/alloc.h"

int cpi_pool_create(cpool_t **handle, const cpool_config_t *given, const cpool_client_t *client)
{
    struct cpi_pool *pool = NULL;
    cpool_config_t config;
    int code;

    if (given == NULL)
        return CPOOL_ENULL;
    code = cpi_pool_read_config(&config, given, client != NULL ? CPOOL_CLIENT_RESERVED : 0);
    if (code != 0)
        return code;
    if (!cpi_thread_startup())
        return CPOOL_ENOMEM;
    code = cpi_pool_build(&pool, &config, client);
    if (code == 0)
        *handle = pool->handle;
    return code;
}

int cpool_create(cpool_t **pool, const cpool_config_t *config)
{
    if (pool == NULL)
        return CPOOL_ENULL;
    *pool = NULL;
    cpi_tools_wrote(pool, sizeof *pool);
    return cpi_pool_create(pool, config, NULL);
}

size_t cpool_reset(cpool_t *handle)
{
    static const char function[] = "cpool_reset";
    struct cpi_pool *pool = cpi_pool_of(handle, function);
    size_t released;
    int64_t counted;
    int damage;

    if (pool == NULL)
        return 0;
    counted = cpi_pool_stop(pool, function, &damage);
    cpi_registry_end_caches(&pool->registry);
    cpi_depot_reset(&pool->depot);
    cpi_announce(pool, false);
    cpi_announce(pool, true);
    if (pool->samples != NULL)
        cpi_samples_reset(pool->samples, CPI_CALLER());
    for (uintptr_t i = pool->map.words != NULL ? cpi_slab_fresh(&pool->slab) : 0; i-- > 0;)
        cpi_slotmap_clear(&pool->map, i);
    if (pool->end_frames != NULL)
        pool->end_frames(pool);
    cpi_registry_recount(&pool->registry);
    cpi_slab_reset(&pool->slab);
    cpi_unlock();
    released = cpi_pool_judge_live(pool, counted, function);
    cpi_waiters_came(&pool->waiters); /* no thread waits, but an event loop may */
    return released;
}
