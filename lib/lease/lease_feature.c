/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease_feature.c - leases in the life of a pool.
 *
 * ORDERING TABLE
 *   alone | leases and gate load and store, while no thread uses the pool | relaxed | - | -
 */
#include "pool/feature.h"

#include "base/atomic.h"
#include "host/os.h"
#include "lease/lease.h"

CPI_COLD static void emptied(struct cpi_pool *pool)
{
    struct cpi_lease_part *part = cpi_lease_part(pool->part);
    struct cpi_leases *leases = cpi_load(&part->leases, relaxed); /* [alone] */

    if (leases == NULL)
        return;
    for (unsigned i = 0; i < CPOOL_LEASES_MAX; i++)
        if (leases->lease[i].handle != NULL)
            cpi_lease_forget(&leases->lease[i]);
    if (leases->passed != NULL)
        cpi_store(&pool->gate, leases->passed, relaxed); /* [alone] */
    cpi_os_release(leases, leases->size);
    cpi_pool_note_calls(pool, 1);
    cpi_store(&part->leases, NULL, relaxed); /* [alone] */
}

CPI_COLD static void plan(struct cpi_layout *layout, const cpool_config_t *config)
{
    (void)config;
    layout->parts[CPI_PART_LEASE] = sizeof(struct cpi_lease_part);
}

const struct cpi_feature cpi_lease_feature = {.plan = plan, .emptied = emptied};
