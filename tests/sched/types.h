/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * types.h - the typed pool of scenarios.
 *
 * Each access of its inline path is a scheduling point.
 */
#ifndef TYPES_H
#define TYPES_H

#include <cpool.h>

/* Bytes of a slot, in any pool of a scenario. */
#define TYPES_SLOT sizeof(uint64_t)

int types_open(const cpool_config_t *config);
cpool_t *types_pool(void);
void *types_alloc(cpool_t *pool);
void types_free(cpool_t *pool, void *slot);

#endif /* TYPES_H */
