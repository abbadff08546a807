/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * types.h - the typed pools of scenarios.
 *
 * Each access of their inline path is a scheduling point.
 */
#ifndef TYPES_H
#define TYPES_H

#include <cpool.h>

/* Bytes of a slot, in any pool of a scenario. */
#define TYPES_SLOT sizeof(uint64_t)

struct types {
    int (*open)(const cpool_config_t *config);
    cpool_t *(*pool)(void);
    void *(*alloc)(cpool_t *pool);
    void (*free)(cpool_t *pool, void *slot);
};

/* The typed pool for a pool with these flags. */
const struct types *types_of(unsigned flags);

#endif /* TYPES_H */
