/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * config.h - the configuration of a pool, and the layout of its memory.
 */
#ifndef CPI_CONFIG_H
#define CPI_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <cpool.h>

#include "depot/slab.h"

/* Where the parts of a pool lie, in bytes from the start of its region. */
struct cpi_layout {
    const cpool_config_t *config; /* that it was computed from */
    bool callers; /* the caller's memory: not zeroed, and all of it committed */
    size_t unit;
    size_t align; /* of slot + offset */
    size_t gap; /* guard bytes before and after each slot */
    size_t sides[CPI_SIDES];    /* side memory of each slot, bytes */
    size_t stride;
    size_t slots; /* the limit of capacity */
    size_t rounds;
    size_t uncached; /* threads that may work without a cache at the same time */
    size_t caches;   /* number of caches */
    size_t quota;    /* spares of one cache */
    size_t spares;   /* spares of all caches together, beyond each one's first */
    size_t for_slots_at;
    size_t for_caches_at;
    size_t sides_at[CPI_SIDES];
    size_t lead_at;   /* where the slab's extent begins */
    size_t slab_size; /* its size, including the longest lead */
    size_t total;
};

/* Copies the program's configuration, and sets the flags that its flags imply.  `allowed` is
 * CPOOL_CLIENT_RESERVED or 0.  Returns 0 or a code. */
int cpi_pool_read_config(cpool_config_t *config, const cpool_config_t *given, unsigned allowed);

/* Changes the configuration as CPOOL_OPTIONS says, within the bounds that it has.  A client's pool
 * keeps its capacity.  `tells`: on standard error, what a bound has cut.  Returns false if there is
 * nothing to change. */
bool cpi_pool_add_options(cpool_config_t *config, bool is_clients, bool tells);

/* Checks a configuration and computes the layout.  `page` is the page size, or 0 for the caller's
 * memory.  Returns 0, or the code that cpool_create must return. */
int cpi_layout_compute(struct cpi_layout *layout, const cpool_config_t *config, size_t page);

/* The size of the pages for which a pool in uncommitted memory is laid out. */
size_t cpi_layout_page(const cpool_config_t *config);

#endif /* CPI_CONFIG_H */
