/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_cpool.h - what both ways of calling libcpool share: making the pool.
 *
 * Included by rival_cpool.c and rival_cpool_cache.c.
 */
#ifndef BENCH_RIVAL_CPOOL_H
#define BENCH_RIVAL_CPOOL_H

#include <cpool.h>

#include "bench.h"

static void *rival_create(const struct bench_cell *cell)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_t *pool;
    int code;

    config.name = "bench";
    config.slot_size = cell->slot_size;
    config.capacity = cell->capacity;
    config.magazine_rounds = cell->magazine_rounds;
    code = cpool_create(&pool, &config);
    if (code != CPOOL_OK)
        bench_fail("cpool_create: %s", cpool_strerror(code));
    return pool;
}

static void rival_destroy(void *pool)
{
    cpool_destroy((cpool_t *)pool);
}

static const char *rival_version(void)
{
    return "libcpool " CPOOL_VERSION;
}

#endif /* BENCH_RIVAL_CPOOL_H */
