/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_options.c - the settings that a pool gets beside those of its configuration.
 *
 * Floor 6.
 */
#include "pool_impl.h"

#include "chaos.h"
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

/* Rounds of the magazines of pools with chaos, at most, and magazines that a pool may
 * have at least. */
#define CPI_CHAOS_ROUNDS 4u
#define CPI_CHAOS_MAGAZINES ((size_t)1 << 21)

/* Few rounds, so that there are many exchanges.  The same for each pool of this shape, as
 * cpool_memory_required has to know. */
static size_t few_rounds(const cpool_config_t *config, uint64_t seed)
{
    size_t most = config->max_capacity != 0 ? config->max_capacity : config->capacity;
    uint64_t drawn = cpi_chaos_mix(seed, cpi_chaos_mix(config->slot_size, config->capacity));
    size_t rounds = (size_t)(drawn % CPI_CHAOS_ROUNDS) + 1 + most / CPI_CHAOS_MAGAZINES;

    return rounds < config->capacity ? rounds : config->capacity;
}

void cpi_pool_add_chaos(cpool_config_t *config)
{
    if (CPI_UNLIKELY((config->flags & CPOOL_CHAOS) != 0))
        config->magazine_rounds = few_rounds(config, cpi_options_seed(cpi_options()));
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
    if (options->chaos != 0)
        flags |= CPOOL_CHAOS;

    /* Free slots of this pool are read on purpose, as object pools do. */
    if ((config->flags & (CPOOL_NO_POISON | CPOOL_FILL)) == CPOOL_NO_POISON)
        flags &= ~CPOOL_FILL;
    adds = flags != config->flags;
    config->flags = flags;
    cpi_pool_add_chaos(config);
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
