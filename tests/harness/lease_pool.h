/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease_pool.h - the pools under the leases of one thread.
 *
 * Includes lease.h.
 */
#ifndef CPOOL_TESTS_LEASE_POOL_H
#define CPOOL_TESTS_LEASE_POOL_H

#include "lease.h"

#include <stdlib.h>

enum { CAPACITY = 1000, ROUNDS = 8 };

/* The kinds of pools that differ under a lease. */
static const unsigned modes[] = {0, CPOOL_EXACT, CPOOL_WAITABLE, CPOOL_CHECKED,
                                 CPOOL_CHECKED | CPOOL_WAITABLE};

#define MODES (sizeof modes / sizeof modes[0])

static inline cpool_t *make_pool(unsigned flags)
{
    cpool_config_t config = support_config(16, CAPACITY);

    config.flags = flags;
    config.magazine_rounds = ROUNDS;
    return support_create(&config);
}

/* Takes n slots under a lease, each of them once. */
static inline void take(cpool_t *pool, cpool_lease_t *lease, void **slots, size_t n)
{
    char *taken = support_calloc(cpool_index_limit(pool), 1);

    for (size_t i = 0; i < n; i++) {
        slots[i] = cpool_lease_alloc(lease);
        REQUIRE(slots[i] != NULL);
        REQUIRE(taken[cpool_index(pool, slots[i])]++ == 0);
    }
    free(taken);
}

#endif /* CPOOL_TESTS_LEASE_POOL_H */
