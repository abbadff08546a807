/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease.h - what the tests of leases share.
 *
 * Includes support.h.
 */
#ifndef CPOOL_TESTS_LEASE_H
#define CPOOL_TESTS_LEASE_H

#include "support.h"

#include <cpool/lease.h>

static inline cpool_lease_t *begin(cpool_t *pool)
{
    cpool_lease_t *lease = cpool_lease_begin(pool);

    REQUIRE(lease != NULL);
    return lease;
}

/* Ends the last user of the pool, a lease with so many slots, and the pool. */
static inline void end_all(cpool_t *pool, cpool_lease_t *lease, size_t slots)
{
    REQUIRE_EQUAL(cpool_lease_end(lease), slots);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}

#endif /* CPOOL_TESTS_LEASE_H */
