/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_life.c - an object from its construction to its end, the calls of its hooks, the active
 * objects, and figures.
 *
 * ORDERING TABLE
 *   mine   | record store of BUSY and VACANT, by the same | relaxed | - | -
 *   see    | record load by any thread   | acquire | object.h's active, object.c's active | that
 *                                                              the object is there
 *   failed | CAS failure                 | relaxed | - | -
 *   count  | counters, trace, room load  | relaxed | - | -
 *   use    | active fetch-and-add of a get | release | object.c's used | that the object exists
 *
 * A slot goes from thread to thread through the pool of slots, or by the vacancy bits, which
 * order the record along with it.  So the thread that has a slot in hand reads its record
 * without an order of its own.
 */
#include "object/object.h"

#include <string.h>

#include "base/atomic.h"
#include "base/error.h"
#include "base/structs.h"
#include "base/text.h"
#include "host/os.h"

void cpi_object_report(int code, const char *function, const cpool_objects_t *pool,
                       const void *object)
{
    uintptr_t index =
        pool != NULL && object != NULL ? cpi_object_index(pool, object) : CPI_OBJECT_NONE;
    const char *name = pool != NULL ? pool->name : "";
    cpool_error_t error = {.code = code, .function = function, .name = name, .address = object,
                           .pool = pool != NULL ? cpool_objects_pool(pool) : NULL};

    if (index != CPI_OBJECT_NONE) {
        error.slot = object;
        error.index = index;
    }
    if (object == NULL)
        cpi_report(&error, "%s: %s (object pool '%s')", function, cpool_strerror(code), name);
    else
        cpi_report(&error, "%s: %s (object pool '%s', address %p)", function, cpool_strerror(code),
                   pool != NULL ? name : "none", object);
}

cpool_t *cpool_objects_pool(const cpool_objects_t *pool)
{
    if (CPI_HAS_ENDED(pool))
        return NULL;
    return cpi_object_is_fake(pool) ? NULL : cpi_layer_face(pool->pool);
}

bool cpool_object_is_active(const cpool_objects_t *pool, const void *object)
{
    uintptr_t index = CPI_OBJECT_NONE;

    if (!CPI_HAS_ENDED(pool) && object != NULL)
        index = cpi_object_index(pool, object);
    return index != CPI_OBJECT_NONE &&
           (cpi_load(&pool->records[index], acquire) & CPI_OBJECT_STATES) == /* [see] */
               CPI_OBJECT_ACTIVE;
}

void cpi_object_shelve(cpool_objects_t *pool, uintptr_t index, uint32_t state)
{
    cpi_object_settle(pool, index, state);
    cpi_object_free(pool, index);
}

void cpi_object_count_active(cpool_objects_t *pool)
{
    uint64_t active = cpi_fetch_add(&pool->active, 1u, release) + 1; /* [use] */

    if (!cpi_object_is_fake(pool))
        cpi_raise(&pool->peak, active, relaxed); /* [count] [failed] */
}

void cpi_object_uncount_active(cpool_objects_t *pool)
{
    if ((pool->flags & CPOOL_OBJECT_COUNTED) != 0)
        cpi_fetch_add(&pool->active, UINT64_MAX, relaxed); /* [count] */
}

int cpi_object_make(cpool_objects_t *pool, uintptr_t index)
{
    int code = 0;

    cpi_store(&pool->records[index], CPI_OBJECT_BUSY, relaxed); /* [mine] */
    if (pool->type.create != NULL)
        code = pool->type.create(cpi_object_at(pool, index), pool->type.arg);
    if (code == 0) {
        cpi_fetch_add(&pool->creations, 1u, relaxed); /* [count] */
        cpi_object_born(pool, index);
        return 0;
    }
    cpi_fetch_add(&pool->failures, 1u, relaxed);                  /* [count] */
    cpi_store(&pool->records[index], CPI_OBJECT_VACANT, relaxed); /* [mine] */
    return code;
}

void cpi_object_unmake(cpool_objects_t *pool, uintptr_t index)
{
    cpi_object_set_busy(pool, index);
    if (pool->type.destroy != NULL)
        pool->type.destroy(cpi_object_at(pool, index), pool->type.arg);
    cpi_fetch_add(&pool->destructions, 1u, relaxed);              /* [count] */
    cpi_store(&pool->records[index], CPI_OBJECT_VACANT, relaxed); /* [mine] */
}

/* Ends the use of a BUSY object, which stays in hand. */
static void end_use(cpool_objects_t *pool, uintptr_t index, bool deactivates)
{
    if (pool->policy != NULL)
        pool->policy->given(pool, index);
    if (deactivates)
        cpi_object_deactivate(pool, cpi_object_at(pool, index));
    cpi_object_uncount_active(pool);
}

void cpi_object_end(cpool_objects_t *pool, uintptr_t index, bool deactivates)
{
    end_use(pool, index, deactivates);
    cpi_object_unmake(pool, index);
}

void cpi_object_give(cpool_objects_t *pool, uintptr_t index)
{
    end_use(pool, index, true);
    if (!cpi_object_is_fake(pool) && cpi_object_take_place(pool)) {
        if (pool->resets == CPI_RESET_ON_PUT)
            cpi_object_reset(pool, cpi_object_at(pool, index));
        cpi_object_shelve(pool, index, CPI_OBJECT_INACTIVE);
    } else {
        cpi_object_unmake(pool, index);
        cpi_object_give_up(pool, index);
    }
}

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
    uintptr_t reached = CPI_HAS_ENDED(pool) ? 0 : cpi_object_reached(pool);
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

/* As cpi_object_give, where puts are short. */
static void give_shortly(cpool_objects_t *pool, uintptr_t index, void *object)
{
    cpi_object_deactivate(pool, object);
    if (pool->resets == CPI_RESET_ON_PUT)
        cpi_object_reset(pool, object);
    cpi_object_settle(pool, index, CPI_OBJECT_INACTIVE);
    (void)cpi_layer_push(pool->slots, object);
}

size_t cpool_objects_put_all(cpool_objects_t *pool)
{
    uintptr_t reached = CPI_HAS_ENDED(pool) ? 0 : cpi_object_reached(pool);
    bool is_short = pool->short_put != 0 && reached > 1;
    char *first = is_short ? cpi_object_at(pool, 0) : NULL;
    size_t stride = is_short ? (size_t)((char *)cpi_object_at(pool, 1) - first) : 0;
    size_t released = 0;

    for (uintptr_t index = 0; index < reached; index++) {
        if (!cpi_object_seize(pool, index))
            continue;
        if (is_short)
            give_shortly(pool, index, first + index * stride);
        else
            cpi_object_give(pool, index);
        released++;
    }
    return released;
}

/* --- Figures --- */

static size_t positive(size_t a, size_t b)
{
    return a > b ? a - b : 0;
}

/* The free slots of the pool of slots are those of inactive objects, but for those that are
 * offered.  Others are held. */
static size_t count_inactive(const cpool_objects_t *pool)
{
    cpool_stats_t stats = CPOOL_STATS_INIT;

    if (pool->max_inactive != 0)
        return (size_t)cpi_load(&pool->inactive, relaxed); /* [count] */
    if (cpool_stats(pool->pool, &stats) != 0)
        return 0;
    return positive(stats.in_depot + stats.in_caches + cpi_object_held(pool),
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
    if (CPI_HAS_ENDED(pool))
        return CPOOL_EPOOL;
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
    stats->peak = (size_t)cpi_load(&pool->peak, relaxed); /* [count] */
    stats->average = objects.active;
}

void cpi_object_correct_figures(const void *slots, cpool_stats_t *stats)
{
    const cpool_objects_t *pool = slots;
    size_t objects = CPI_ROOM_OBJECTS(cpi_load(&pool->room, relaxed));      /* [count] */
    size_t offered = (size_t)cpi_load(&pool->offered, relaxed);             /* [count] */

    stats->live = positive(stats->live + objects + offered,
                           stats->circulating + cpi_object_held(pool));
}
