/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_options.c - the settings that a pool gets beside those of its configuration.
 *
 * Floor 6.
 */
#include "pool_impl.h"

#include "error.h"
#include "options.h"
#include "trace.h"

/* Returns true if the setting is raised. */
static bool raise(size_t *setting, size_t least)
{
    if (*setting >= least)
        return false;
    *setting = least;
    return true;
}

bool cpi_pool_add_options(cpool_config_t *config)
{
    const struct cpi_options *options = cpi_options();
    unsigned flags = config->flags | (unsigned)options->flags;
    bool adds;

    /* Checks are for other pools: tools look at the blocks of fake ones. */
    if ((config->flags & CPOOL_FAKE) != 0)
        return false;
    if (options->fake != 0 && cpi_pool_can_be_fake(config)) {
        config->flags |= CPOOL_FAKE;
        return true;
    }
    /* Free slots of this pool are read on purpose, as object pools do. */
    if ((config->flags & (CPOOL_NO_POISON | CPOOL_FILL)) == CPOOL_NO_POISON)
        flags &= ~CPOOL_FILL;
    adds = flags != config->flags;
    config->flags = flags;
    adds = raise(&config->quarantine, options->quarantine) || adds;
    adds = raise(&config->sites, options->sites) || adds;
    return raise(&config->log, options->log) || adds;
}

void cpi_pool_prepare(const cpool_config_t *config)
{
    if (config->sites > 1 || cpi_options()->sites > 1)
        (void)cpi_trace_ready(); /* without it there is one site */
}

void cpi_pool_tell_unchecked(const cpool_config_t *config, int code)
{
    cpi_tell("CPOOL_OPTIONS: pool '%.31s' stays as its program made it, because with them %s",
             config->name != NULL ? config->name : "", cpool_strerror(code));
}
