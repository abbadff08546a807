/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_options.c - the settings that a pool gets beside those of its configuration.
 */
#include "pool/pool_config.h"
#include "pool/pool_create.h"
#include "pool/pool_options.h"

#include "base/error.h"
#include "base/text.h"
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

bool cpi_pool_add_options(cpool_config_t *config, cpool_debug_t *debug)
{
    static const cpool_debug_t none = CPOOL_DEBUG_INIT;
    const struct cpi_options *options = cpi_options();
    unsigned flags = config->flags | (unsigned)options->flags;
    unsigned memory_flags = config->memory_flags | (unsigned)options->memory_flags;
    bool adds;

    *debug = config->debug != NULL ? *config->debug : none;
    adds = raise(&debug->sites, options->sites);
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

void cpi_pool_prepare(const cpool_config_t *config)
{
    if ((config->debug != NULL && config->debug->sites > 1) || cpi_options()->sites > 1)
        (void)cpi_trace_ready(); /* without it there is one site */
}

void cpi_pool_tell_unchecked(const cpool_config_t *config, int code)
{
    char name[CPI_NAME_SIZE];

    cpi_text_copy(name, sizeof name, config->name);
    cpi_tell("CPOOL_OPTIONS: pool '%s' stays as its program made it, because with them %s",
             CPI_SHOWN(name), cpool_strerror(code));
}
