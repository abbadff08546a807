/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_options.c - the settings that a pool gets beside those of its configuration.
 */
#include "pool/pool_config.h"
#include "pool/pool_create.h"
#include "pool/pool_options.h"

#include "pool/layer.h"

#include "base/error.h"
#include "host/options.h"
#include "host/trace.h"

/* Returns true if the setting is raised. */
static bool raise(size_t *setting, size_t least)
{
    if (*setting >= least)
        return false;
    *setting = least;
    return true;
}

/* Whether CPOOL_OPTIONS has `fake` for this pool. */
static bool is_faked(const cpool_config_t *config)
{
    const unsigned others = CPOOL_CHECKED | CPOOL_TRACKED | CPI_LAYER_RESERVED;
    const unsigned keeps = CPOOL_MEMORY_KEEP_PAGES | CPOOL_MEMORY_NO_POISON;

    return cpi_options()->fake != 0 && (config->flags & others) == 0 &&
           (config->memory_flags & keeps) == 0 && config->debug == NULL;
}

bool cpi_pool_add_options(cpool_config_t *config, cpool_debug_t *debug)
{
    static const cpool_debug_t none = CPOOL_DEBUG_INIT;
    const struct cpi_options *options = cpi_options();
    unsigned flags = config->flags | (unsigned)options->flags;
    unsigned memory_flags = config->memory_flags | (unsigned)options->memory_flags;
    bool adds;

    if (is_faked(config))
        return false; /* tools look at the blocks */
    *debug = config->debug != NULL ? *config->debug : none;
    adds = raise(&debug->quarantine, options->quarantine);
    adds = raise(&debug->sites, options->sites) || adds;
    adds = raise(&debug->log, options->log) || adds;
    /* Free slots of a pool that is not to be poisoned are read on purpose, as by object pools. */
    if ((config->memory_flags & CPOOL_MEMORY_NO_POISON) == 0)
        adds = raise(&debug->fill, options->fill) || adds;
    if (adds)
        config->debug = debug;
    adds = flags != config->flags || memory_flags != config->memory_flags || adds;
    config->flags = flags;
    config->memory_flags = memory_flags;
    return adds;
}

/* Blocks are malloc's, so the table that knows them is not in the pool's region. */
int cpi_pool_add_fallback(struct cpi_pool *pool, const cpool_config_t *config)
{
    size_t limit = config->fallback;

    pool->fakes = is_faked(config);
    if (pool->fakes) {
        limit += pool->slab.most;
        pool->registry.inline_path = false;
        pool->only_marked = false;
    }
    if (limit == 0)
        return 0;
    pool->fallback = cpi_fallback_create(limit, config->slot_size, cpi_layout_align(config),
                                         config->slot_offset);
    cpi_pool_count_fallback(pool, 1);
    if (pool->fallback != NULL)
        return 0;
    cpi_pool_release(pool);
    return CPOOL_ENOMEM;
}

void cpi_pool_end_fallback(struct cpi_pool *pool)
{
    cpi_pool_count_fallback(pool, SIZE_MAX);
    cpi_fallback_destroy(pool->fallback);
}

void cpi_pool_prepare(const cpool_config_t *config)
{
    if ((config->debug != NULL && config->debug->sites > 1) || cpi_options()->sites > 1)
        (void)cpi_trace_ready(); /* without it there is one site */
}

void cpi_pool_tell_unchecked(const cpool_config_t *config, int code)
{
    cpi_tell("CPOOL_OPTIONS: pool '%.31s' stays as its program made it, because with them %s",
             config->name != NULL ? config->name : "", cpool_strerror(code));
}
