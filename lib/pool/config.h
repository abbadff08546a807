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

/* Where the parts lie, bytes from the start of the region. */
struct cpi_layout {
    bool callers; /* the memory is, and it is not zero, and committed whole */
    size_t unit;
    size_t slot_size;
    size_t align;
    size_t offset;
    size_t gap; /* guard bytes before and after each slot */
    size_t sides[CPI_SIDES];    /* bytes beside each slot */
    size_t stride;
    size_t capacity;
    size_t slots; /* that capacity may grow to */
    size_t rounds;
    size_t cache_slots; /* as configured */
    size_t uncached; /* threads that may work without a cache at once */
    size_t caches;   /* how many caches */
    size_t quota;    /* spares that one cache may have */
    size_t spares;   /* and all together, beyond the first of each */
    size_t stall_ms;  /* as configured, or by default */
    size_t fixed;     /* bytes from the start to the end of what is there from the beginning */
    size_t caches_at;
    size_t for_slots_at;
    size_t for_caches_at;
    size_t sides_at[CPI_SIDES];
    size_t lead_at;   /* where the slab's extent begins */
    size_t slab_size; /* its size, the longest lead included */
    size_t total;
};

/* Copies the program's configuration, with the flags that its flags imply.  Returns 0 or a code. */
int cpi_pool_read_config(cpool_config_t *config, const cpool_config_t *given);

/* Adds the requests of CPOOL_OPTIONS.  Returns true if that is more than there was. */
bool cpi_pool_add_options(cpool_config_t *config);

/* CPOOL_CLIENT_RESERVED is one of the flags from now on.  Returns whether it is there. */
bool cpi_pool_read_reserved(cpool_config_t *config);

/*
 * Checks a configuration and computes the layout.  `page` is the page size, or 0 for memory of the
 * caller's.  Returns 0 or the code that cpool_create is to return.
 */
int cpi_layout_compute(struct cpi_layout *layout, const cpool_config_t *config, size_t page);

/* The alignment of slot + offset, bytes. */
size_t cpi_layout_align(const cpool_config_t *config);

/* The size of the pages by which a pool in uncommitted memory is laid out. */
size_t cpi_layout_page(const cpool_config_t *config);

#endif /* CPI_CONFIG_H */
