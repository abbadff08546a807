/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_typed.c - creating and closing typed pools.
 *
 * ORDERING TABLE
 *   open   | pool pointer store | release | pool.h's opened | origin, and all of the pool
 *   refused | refused load, store | relaxed | - | -
 *
 * A typed pool is created with the lock held, which a fork waits for: its child finds
 * a pool or none.
 */
#include "pool/config.h"
#include "pool/create.h"
#include "pool/report.h"
#include "pool/slots.h"

#include "pool/layer.h"

#include "base/atomic.h"
#include "base/error.h"
#include "host/sync.h"

/* The pool, or NULL.  One that was parted from its program and then destroyed is none. */
static cpool_t *opened(const struct cpool_typed *typed)
{
    cpool_t *handle = cpi_typed_opened(typed);

    return handle != NULL && handle->state != NULL ? handle : NULL;
}

void cpi_typed_set(struct cpool_typed *typed, struct cpi_pool *pool)
{
    cpool_t *handle = pool != NULL ? pool->handle : NULL;

    typed->origin = pool != NULL ? pool->slab.base * pool->slab.inverse : 0;
    cpi_word_store(&typed->refused, 0, relaxed); /* [refused] */
    cpi_word_store((uintptr_t *)(void *)&typed->pool, (uintptr_t)handle, release); /* [open] */
}

/* As the process ends a pool stays, because threads may use it.  The variables of its program may
 * go, if that is a plug-in, so nothing of the pool writes them any more. */
static void part(struct cpool_typed *typed)
{
    cpool_t *handle;

    if (cpi_os_process_is_dying() || !cpi_lock_at_end())
        return;
    handle = opened(typed);
    if (handle != NULL) {
        struct cpi_pool *pool = handle->state;

        cpi_announce_part(pool);
        pool->typed = NULL;
    }
    cpi_unlock();
}

/* The type says the settings that are left open. */
static int complete(cpool_config_t *config, const struct cpool_typed *typed)
{
    if (config->name == NULL)
        config->name = typed->name;
    if (config->slot_size == 0)
        config->slot_size = typed->slot_size;
    if (config->slot_align == 0)
        config->slot_align = typed->slot_align;
    if (config->slot_size != typed->slot_size)
        return CPOOL_ESLOTSIZE;
    return config->slot_align < typed->slot_align ? CPOOL_EALIGN : 0;
}

/* With the lock held. */
static int create(struct cpool_typed *typed, const cpool_config_t *config)
{
    struct cpi_pool *pool = NULL;
    int code = cpi_pool_build(&pool, config);

    if (code != 0)
        return code;
    code = cpi_pool_publish(pool);
    if (code != 0) {
        cpi_pool_release(pool);
        return code;
    }
    pool->typed = typed;
    cpi_typed_set(typed, pool);
    return 0;
}

static int open_pool(struct cpool_typed *typed, const cpool_config_t *given)
{
    cpool_config_t config;
    int code = cpi_pool_read_config(&config, given != NULL ? given : typed->settings);

    if (code == 0)
        code = complete(&config, typed);
    if (code != 0)
        return code;
    if (!cpi_thread_startup())
        return CPOOL_ESYSTEM;
    cpi_lock();
    if (opened(typed) == NULL)
        code = create(typed, &config);
    else if (given != NULL)
        code = CPOOL_EOPEN;
    cpi_unlock();
    return code;
}

int cpool_typed_open_abi1(struct cpool_typed *typed, const cpool_config_t *config)
{
    return open_pool(typed, config);
}

/* Whether it is the first failure since there was a pool. */
static bool is_first_failure(struct cpool_typed *typed)
{
    bool first;

    cpi_lock();
    first = cpi_typed_opened(typed) == NULL &&
            cpi_word_load(&typed->refused, relaxed) == 0; /* [refused] */
    if (first)
        cpi_word_store(&typed->refused, 1, relaxed); /* [refused] */
    cpi_unlock();
    return first;
}

CPI_COLD static cpool_t *open_on_first_use(struct cpool_typed *typed)
{
    int code = open_pool(typed, NULL);

    if (code == 0)
        return cpi_typed_opened(typed);
    if (is_first_failure(typed))
        cpi_pool_report_unmade(typed->name, code);
    return NULL;
}

cpool_t *cpool_typed_pool_abi1(struct cpool_typed *typed)
{
    cpool_t *handle = opened(typed);

    return CPI_LIKELY(handle != NULL) ? handle : open_on_first_use(typed);
}

int cpool_typed_close_abi1(struct cpool_typed *typed, bool unloading)
{
    if (!unloading || !cpi_thread_process_ends())
        return cpool_destroy(opened(typed));
    part(typed);
    return 0;
}
