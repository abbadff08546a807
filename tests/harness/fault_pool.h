/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fault_pool.h - the pools of the tables of refused calls, and the look at them afterwards.
 */
#ifndef CPOOL_TESTS_FAULT_POOL_H
#define CPOOL_TESTS_FAULT_POOL_H

#include "fault.h"

#include <cpool/client.h>

/* Slots and bytes of one, so that the slots alone take several pages of any machine. */
enum { FAULT_CAPACITY = 200, FAULT_MOST = 250, FAULT_SLOT = 2048 };

static inline cpool_config_t fault_config(const struct fault_scene *scene)
{
    cpool_config_t config = support_config(FAULT_SLOT, FAULT_CAPACITY);

    support_set_flags(&config, scene->flags);
    config.magazine_rounds = 8;
    config.stall_limit_ms = 1;
    return config;
}

/* Has the library started, as by the first pool of a process. */
static inline void fault_start(struct fault_scene *scene)
{
    (void)scene;
    support_destroy_empty(support_create_plain(16, 1));
}

/* Makes the pool that the function is tried on, which can grow. */
static inline void fault_make(struct fault_scene *scene)
{
    cpool_config_t config = fault_config(scene);

    config.max_capacity = FAULT_MOST;
    scene->pool = support_create(&config);
}

/* The same, with a thread that has used it. */
static inline void fault_make_used(struct fault_scene *scene)
{
    fault_make(scene);
    cpool_free(scene->pool, cpool_alloc(scene->pool));
}

/* A pool in which the next alloc needs memory for slots. */
static inline void fault_make_at_the_edge(struct fault_scene *scene)
{
    size_t committed;

    fault_make(scene);
    committed = support_stats(scene->pool).committed_bytes;
    do {
        scene->slots[scene->count++] = cpool_client_take(scene->pool, CPOOL_CLIENT_FRESH, NULL);
        REQUIRE(scene->slots[scene->count - 1] != NULL);
    } while (scene->count < 2 || support_stats(scene->pool).committed_bytes == committed);
}

/* All slots are out. */
static inline void fault_make_dry(struct fault_scene *scene)
{
    cpool_config_t config = fault_config(scene);

    scene->pool = support_create(&config);
    scene->count = cpool_alloc_bulk(scene->pool, scene->slots, FAULT_CAPACITY, 0);
    REQUIRE_EQUAL(scene->count, FAULT_CAPACITY);
}

/* All slots are out but one, which lies in another cache. */
static inline void fault_make_dry_beside_a_cache(struct fault_scene *scene)
{
    cpool_cache_t *cache;

    fault_make_dry(scene);
    REQUIRE_EQUAL(cpool_cache_create(&cache, scene->pool), 0);
    cpool_cache_free(cache, scene->slots[--scene->count]);
    scene->object = cache;
}

/* Keeps the slot, and says whether there is one. */
static inline int fault_keep(struct fault_scene *scene, void *slot)
{
    scene->slot = slot;
    return slot != NULL ? SOME : NONE;
}

/* Frees what the function has taken.  Then every slot can be had, once, and goes back. */
static inline void fault_require_whole(struct fault_scene *scene)
{
    size_t most = support_stats(scene->pool).max_capacity;
    size_t count;

    if (scene->slot != NULL)
        cpool_free(scene->pool, scene->slot);
    if (scene->count > 0)
        cpool_free_bulk(scene->pool, scene->slots, scene->count);
    support_require_live(scene->pool, 0);
    for (count = 0; count < FAULT_MOST; count++) {
        scene->slots[count] = cpool_alloc(scene->pool);
        if (scene->slots[count] == NULL)
            break;
        *(size_t *)scene->slots[count] = count;
    }
    REQUIRE_EQUAL(count, most);
    REQUIRE(cpool_alloc(scene->pool) == NULL);
    for (size_t i = 0; i < count; i++)
        REQUIRE_EQUAL(*(size_t *)scene->slots[i], i);
    cpool_free_bulk(scene->pool, scene->slots, count);
    support_require_live(scene->pool, 0);
}

static inline void fault_end(struct fault_scene *scene)
{
    fault_require_whole(scene);
    support_destroy_empty(scene->pool);
}

static inline void fault_end_beside_a_cache(struct fault_scene *scene)
{
    cpool_cache_destroy(scene->object);
    fault_end(scene);
}

#endif /* CPOOL_TESTS_FAULT_POOL_H */
