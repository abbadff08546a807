/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * retire_feature.c - what pools ask of domains, once there has been one.  A program without
 * domains is linked with no more than this.
 *
 * ORDERING TABLE
 *   any | visits load | acquire | domain.c's found | the table
 */
#include "retire/retire_impl.h"

#include "pool/feature.h"

const struct cpi_retire_visits *_Atomic cpi_retire_visits;

static size_t give_back(struct cpi_pool *pool, bool forgets)
{
    const struct cpi_retire_visits *visits = cpi_load(&cpi_retire_visits, acquire); /* [any] */

    return visits != NULL ? visits->give_back(pool, forgets) : 0;
}

bool cpi_retire_dry(struct cpi_pool *pool)
{
    return give_back(pool, false) != 0;
}

void cpi_retire_settle(struct cpi_pool *pool)
{
    (void)give_back(pool, true);
}

void cpi_retire_figures(const struct cpi_pool *pool, cpool_stats_t *stats)
{
    const struct cpi_retire_visits *visits = cpi_load(&cpi_retire_visits, acquire); /* [any] */

    if (visits != NULL)
        visits->figures(pool, stats);
}
