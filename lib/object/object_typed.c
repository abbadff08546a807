/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_typed.c - object pools that are created on first use, and objects that find their
 * pool.
 *
 * ORDERING TABLE
 *   publish | the pool's CAS, from none | release | find    | the pool
 *   find    | the pool's load, CAS failure | acquire | publish | the pool
 *   close   | the pool's CAS, to none   | acquire | publish | the pool
 *
 * Several threads may create the pool at once.  The pools of all but one are destroyed, and
 * as none of them has objects yet, no hook runs for them.
 */
#include <cpool/pools.h>

#include "object/object.h"

#include <string.h>

#include "base/atomic.h"
#include "base/error.h"
#include "base/structs.h"
#include "host/thread.h"

static cpool_objects_t *pool_of(struct cpool_objects_typed *typed)
{
    return cpi_word_load(&typed->pool, acquire); /* [find] */
}

/* The settings of the definition or those given, with the definition's type and name where
 * they have none. */
static int settle(const struct cpool_objects_typed *typed, const cpool_object_config_t *given,
                  cpool_object_config_t *config)
{
    int code = cpi_struct_read(config, sizeof *config, given != NULL ? given : typed->settings);

    if (code != 0)
        return code;
    if (config->name == NULL)
        config->name = typed->name;
    if (config->type == NULL)
        config->type = typed->type;
    else if (config->type->object_size != typed->type->object_size)
        return CPOOL_ESLOTSIZE;
    return 0;
}

/* Shows the pool to all threads, unless there is one. */
static bool publish(struct cpool_objects_typed *typed, cpool_objects_t *pool)
{
    cpool_objects_t *none = NULL;

    /* [publish] [find] */
    return cpi_word_cas(&typed->pool, &none, pool, release, acquire);
}

int cpool_typed_objects_open(struct cpool_objects_typed *typed, const cpool_object_config_t *given)
{
    cpool_object_config_t config;
    cpool_objects_t *pool;
    size_t populate;
    int code;

    if (pool_of(typed) != NULL)
        return given != NULL ? CPOOL_EOPEN : 0;
    code = settle(typed, given, &config);
    if (code != 0)
        return code;
    code = cpi_object_create(&pool, &config, &populate);
    if (code != 0)
        return code;
    if (!publish(typed, pool)) {
        cpool_objects_destroy(pool);
        return given != NULL ? CPOOL_EOPEN : 0;
    }
    cpool_object_populate(pool, populate, NULL);
    return 0;
}

cpool_objects_t *cpool_typed_objects_pool(struct cpool_objects_typed *typed)
{
    cpool_objects_t *pool = pool_of(typed);

    if (CPI_LIKELY(pool != NULL))
        return pool;
    return cpool_typed_objects_open(typed, NULL) == 0 ? pool_of(typed) : NULL;
}

int cpool_typed_objects_close(struct cpool_objects_typed *typed, bool unloading)
{
    cpool_objects_t *pool = pool_of(typed);

    if (unloading && cpi_thread_process_ends())
        return 0;
    while (pool != NULL &&
           !cpi_word_cas(&typed->pool, &pool, NULL, acquire, acquire)) /* [close] [find] */
        ;
    return cpool_objects_destroy(pool);
}

/* --- Objects that find their pool --- */

CPI_COLD static int refuse_stranger(const void *object)
{
    cpool_error_t error;

    memset(&error, 0, sizeof error);
    error.code = CPOOL_EFOREIGN;
    error.function = "cpool_object_release";
    error.name = "";
    error.address = object;
    cpi_report(&error, "cpool_object_release: %s (in no object pool, address %p)",
               cpool_strerror(CPOOL_EFOREIGN), object);
    return CPOOL_EFOREIGN;
}

int cpool_object_release(void *object)
{
    void *slot = NULL;
    cpool_t *slots = object != NULL ? cpool_of(object, &slot) : NULL;
    cpool_objects_t *pool;

    if (object == NULL)
        return 0;
    if (slots != NULL && slot == object)
        pool = cpi_layer_owner(slots, CPOOL_VIEW_OBJECTS);
    else
        pool = cpi_object_fake_pool(object);
    return pool != NULL ? cpool_object_put(pool, object) : refuse_stranger(object);
}
