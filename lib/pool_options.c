/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_options.c - the settings that a pool gets beside those of its configuration.
 *
 * Floor 6.
 */
#include "pool_impl.h"

#include "error.h"
#include "options.h"

bool cpi_pool_add_options(cpool_config_t *config)
{
    const struct cpi_options *options = cpi_options();
    unsigned flags = config->flags | (unsigned)options->flags;
    bool adds = flags != config->flags;

    config->flags = flags;
    return adds;
}

void cpi_pool_tell_unchecked(const cpool_config_t *config, int code)
{
    cpi_tell("CPOOL_OPTIONS: pool '%.31s' stays as its program made it, because with them %s",
             config->name != NULL ? config->name : "", cpool_strerror(code));
}
