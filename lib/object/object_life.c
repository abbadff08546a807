/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_life.c - an object from its construction to its end, and the calls of its hooks.
 *
 * ORDERING TABLE
 *   own    | record load by the thread that has the slot in hand | relaxed | - | -
 *   mine   | record store of BUSY and VACANT, by the same | relaxed | - | -
 *   active | record store of ACTIVE, NEW, INACTIVE | release | object.h's seize, see,
 *                            object_list.c's see | the object's construction, and its trace
 *   see    | record load by any thread   | acquire | active, object.c's active | that the object
 *                                                              is there
 *   failed | CAS failure                 | relaxed | - | -
 *   count  | counters                    | relaxed | - | -
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
#include "base/text.h"

/* --- Reports --- */

void cpi_object_report(int code, const char *function, const cpool_objects_t *pool,
                       const void *object)
{
    uintptr_t index = object != NULL ? cpi_object_index(pool, object) : CPI_OBJECT_NONE;
    cpool_error_t error;

    memset(&error, 0, sizeof error);
    error.code = code;
    error.function = function;
    error.pool = cpool_objects_pool(pool);
    error.name = pool->name;
    error.address = object;
    if (index != CPI_OBJECT_NONE) {
        error.slot = object;
        error.index = index;
    }
    if (object == NULL)
        cpi_report(&error, "%s: %s (object pool '%s')", function, cpool_strerror(code),
                   CPI_SHOWN(pool->name));
    else
        cpi_report(&error, "%s: %s (object pool '%s', address %p)", function, cpool_strerror(code),
                   CPI_SHOWN(pool->name), object);
}

cpool_t *cpool_objects_pool(const cpool_objects_t *pool)
{
    return cpi_object_is_fake(pool) ? NULL : cpi_layer_face(pool->pool);
}

/* --- Records --- */

bool cpool_object_is_active(const cpool_objects_t *pool, const void *object)
{
    uintptr_t index = object != NULL ? cpi_object_index(pool, object) : CPI_OBJECT_NONE;

    return index != CPI_OBJECT_NONE &&
           (cpi_load(&pool->records[index], acquire) & CPI_OBJECT_STATES) == /* [see] */
               CPI_OBJECT_ACTIVE;
}

void cpi_object_shelve(cpool_objects_t *pool, uintptr_t index, uint32_t state)
{
    uint32_t record = cpi_load(&pool->records[index], relaxed); /* [own] */

    cpi_store(&pool->records[index], (record & ~CPI_OBJECT_STATES) | state, release); /* [active] */
    cpi_object_free(pool, index);
}

/* --- Counts --- */

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

/* --- Hooks --- */

int cpi_object_make(cpool_objects_t *pool, uintptr_t index)
{
    int code = 0;

    cpi_store(&pool->records[index], CPI_OBJECT_BUSY, relaxed); /* [mine] */
    if (pool->type.create != NULL)
        code = pool->type.create(cpi_object_at(pool, index), pool->type.arg);
    if (code == 0) {
        cpi_fetch_add(&pool->creations, 1u, relaxed); /* [count] */
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

void cpi_object_deactivate(cpool_objects_t *pool, uintptr_t index)
{
    if (pool->type.deactivate != NULL)
        pool->type.deactivate(cpi_object_at(pool, index), pool->type.arg);
}

void cpi_object_reset(const cpool_objects_t *pool, uintptr_t index)
{
    if (pool->type.reset != NULL)
        pool->type.reset(cpi_object_at(pool, index), pool->type.arg);
    if (pool->reset != NULL)
        pool->reset(cpi_object_at(pool, index), pool->reset_arg);
}

/* Ends the use of a BUSY object, which stays in hand. */
static void end_use(cpool_objects_t *pool, uintptr_t index)
{
    if (pool->policy != NULL)
        pool->policy->given(pool, index);
    cpi_object_deactivate(pool, index);
    cpi_object_uncount_active(pool);
}

void cpi_object_end(cpool_objects_t *pool, uintptr_t index)
{
    end_use(pool, index);
    cpi_object_unmake(pool, index);
}

void cpi_object_give(cpool_objects_t *pool, uintptr_t index)
{
    end_use(pool, index);
    if (!cpi_object_is_fake(pool) && cpi_object_take_place(pool)) {
        if (pool->resets == CPI_RESET_ON_PUT)
            cpi_object_reset(pool, index);
        cpi_object_shelve(pool, index, CPI_OBJECT_INACTIVE);
    } else {
        cpi_object_unmake(pool, index);
        cpi_object_give_up(pool, index);
    }
}
