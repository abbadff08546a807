/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_list.c - the active objects, and figures.
 *
 * ORDERING TABLE
 *   see   | record load by any thread | acquire | object.h's active, object.c's active,
 *                                          object_life.c's active | the object, and its trace
 *   count | counters, trace, room load | relaxed | - | -
 */
#include "object/object.h"

#include <string.h>

#include "base/atomic.h"
#include "host/os.h"
#include "base/structs.h"

/* --- Active objects --- */

static void describe(const cpool_objects_t *pool, uintptr_t index, uint32_t record,
                     cpool_object_info_t *info)
{
    memset(info, 0, sizeof *info);
    info->size = sizeof *info;
    info->object = cpi_object_at(pool, index);
    info->index = index;
    info->uses = record / CPI_OBJECT_USE;
    if (pool->traces != NULL) {
        uint64_t since = cpi_load(&pool->traces[index].since, relaxed); /* [count] */
        uint64_t now = cpi_os_now();

        info->age = now > since ? now - since : 0;
        info->site = (const void *)cpi_load(&pool->traces[index].site, relaxed); /* [count] */
    }
}

size_t cpool_object_each(const cpool_objects_t *pool,
                         bool (*visit)(const cpool_object_info_t *info, void *arg), void *arg)
{
    uintptr_t reached = cpi_load(&pool->reached, relaxed); /* [count] */
    uintptr_t index;
    size_t visits = 0;

    for (index = 0; index < reached; index++) {
        uint32_t record = cpi_load(&pool->records[index], acquire); /* [see] */
        cpool_object_info_t info;

        if ((record & CPI_OBJECT_STATES) != CPI_OBJECT_ACTIVE)
            continue;
        describe(pool, index, record, &info);
        visits++;
        if (!visit(&info, arg))
            break;
    }
    return visits;
}

size_t cpool_objects_put_all(cpool_objects_t *pool)
{
    uintptr_t reached = cpi_load(&pool->reached, relaxed); /* [count] */
    uintptr_t index;
    size_t released = 0;

    for (index = 0; index < reached; index++) {
        if (cpi_object_seize(pool, index, CPI_OBJECT_BUSY)) {
            cpi_object_give(pool, index);
            released++;
        }
    }
    return released;
}

/* --- Figures --- */

static size_t positive(size_t a, size_t b)
{
    return a > b ? a - b : 0;
}

/* The free slots of the pool of slots are those of inactive objects, but for those that are
 * offered. */
static size_t count_inactive(const cpool_objects_t *pool)
{
    cpool_stats_t stats = CPOOL_STATS_INIT;

    if (pool->max_inactive != 0)
        return (size_t)cpi_load(&pool->inactive, relaxed); /* [count] */
    if (cpool_stats(pool->pool, &stats) != 0)
        return 0;
    return positive(stats.in_depot + stats.in_caches,
                    (size_t)cpi_load(&pool->offered, relaxed)); /* [count] */
}

static void count_objects(const cpool_objects_t *pool, cpool_object_stats_t *stats)
{
    uint64_t room = cpi_load(&pool->room, relaxed); /* [count] */
    bool grows = pool->growth != 0 || pool->percent != 0;

    stats->capacity = CPI_ROOM_CAPACITY(room);
    stats->objects = CPI_ROOM_OBJECTS(room);
    if (cpi_object_is_fake(pool) || (pool->flags & CPOOL_OBJECT_COUNTED) != 0) {
        stats->active = stats->objects;
        if ((pool->flags & CPOOL_OBJECT_COUNTED) != 0)
            stats->active = (size_t)cpi_load(&pool->active, relaxed); /* [count] */
        stats->inactive = positive(stats->objects, stats->active);
    } else {
        stats->inactive = count_inactive(pool);
        if (stats->inactive > stats->objects)
            stats->inactive = stats->objects;
        stats->active = stats->objects - stats->inactive;
    }
    stats->available = positive(grows ? pool->max : stats->capacity, stats->objects);
    if (!cpi_object_is_fake(pool))
        stats->available += stats->inactive;
}

int cpool_object_stats(const cpool_objects_t *pool, cpool_object_stats_t *given)
{
    cpool_object_stats_t stats;
    int code;

    if (pool == NULL || given == NULL)
        return CPOOL_ENULL;
    code = cpi_struct_check(given);
    if (code != 0)
        return code;
    memset(&stats, 0, sizeof stats);
    count_objects(pool, &stats);
    stats.max_capacity = pool->max;
    stats.peak = (size_t)cpi_load(&pool->peak, relaxed);        /* [count] */
    stats.creations = cpi_load(&pool->creations, relaxed);      /* [count] */
    stats.destructions = cpi_load(&pool->destructions, relaxed); /* [count] */
    stats.failures = cpi_load(&pool->failures, relaxed);        /* [count] */
    cpi_struct_write(given, &stats, sizeof stats);
    return 0;
}

void cpi_object_fake_figures(const void *fake, cpool_stats_t *stats)
{
    const cpool_objects_t *pool = fake;
    cpool_object_stats_t objects;

    count_objects(pool, &objects);
    stats->capacity = objects.capacity;
    stats->max_capacity = pool->max;
    stats->live = objects.active;
    stats->fresh = positive(objects.capacity, objects.active);
    stats->slot_size = pool->type.object_size;
    stats->slot_stride = pool->type.object_size;
    stats->counted_peak = (size_t)cpi_load(&pool->peak, relaxed); /* [count] */
    stats->counted_average = objects.active;
}
