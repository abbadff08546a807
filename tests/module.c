/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * module.c - a plug-in that uses a pool of its own; loaded and unloaded by
 * check_dlopen.
 *
 * Includes the public API.  Built twice: linked with the shared library, and
 * with the library's objects inside.
 */
#include "module.h"

#include <string.h>

#include <cpool.h>

enum { SLOT_SIZE = 48, CAPACITY = 1000 };

static cpool_t *pool;

int module_open(void)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;

    config.name = "module";
    config.slot_size = SLOT_SIZE;
    config.capacity = CAPACITY;
    return cpool_create(&pool, &config);
}

size_t module_work(size_t count)
{
    void *slots[CAPACITY];
    size_t got = 0;

    while (got < count && got < CAPACITY && (slots[got] = cpool_alloc(pool)) != NULL) {
        memset(slots[got], (int)got, SLOT_SIZE);
        got++;
    }
    for (size_t i = 0; i < got; i++)
        cpool_free(pool, slots[i]);
    return got;
}

size_t module_cached(void)
{
    cpool_stats_t stats = CPOOL_STATS_INIT;

    return cpool_stats(pool, &stats) == 0 ? stats.in_caches : 0;
}

int module_close(void)
{
    return cpool_destroy(pool);
}
