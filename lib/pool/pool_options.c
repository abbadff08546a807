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

bool cpi_pool_add_options(cpool_config_t *config)
{
    const struct cpi_options *options = cpi_options();
    const cpool_config_t given = *config;

    config->flags |= options->flags;
    config->memory_flags |= options->memory_flags;
    /* Free slots of a pool that is not to be poisoned are read on purpose, as by object pools. */
    if ((given.memory_flags & CPOOL_MEMORY_NO_POISON) != 0 && (given.flags & CPOOL_FILL) == 0)
        config->flags &= ~CPOOL_FILL;
    return config->flags != given.flags || config->memory_flags != given.memory_flags;
}

void cpi_pool_tell_unchecked(const cpool_config_t *config, int code)
{
    char name[CPI_NAME_SIZE];

    cpi_text_copy(name, sizeof name, config->name);
    cpi_tell("CPOOL_OPTIONS: pool '%s' stays as its program made it, because with them %s",
             name, cpool_strerror(code));
}
