/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * registry_list.c - a pool's caches as a list, and their accounts.
 *
 * Implements a part of registry.h.
 *
 * ORDERING TABLE
 *   known | made load       | acquire | registry.c's new | zeroed structure
 *   tally | counter loads   | relaxed | - | -
 */
#include "cache/registry.h"

#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"

size_t cpi_registry_bytes(size_t max, size_t quota_max)
{
    size_t size = offsetof(struct cpi_cache, spare) + quota_max * sizeof(uint32_t);

    return max * cpi_align_up(size, CPI_LINE);
}

size_t cpi_registry_magazines(size_t max, size_t spares)
{
    return max * (CPI_CACHE_HANDS + CPI_QUOTA_MIN) + spares;
}

struct cpi_cache *cpi_registry_cache(const struct cpi_registry *registry, size_t i)
{
    size_t stride = cpi_registry_bytes(1, registry->quota_max);

    CPI_ASSERT(i < registry->max);
    return (struct cpi_cache *)(void *)(registry->caches.base + i * stride);
}

size_t cpi_registry_made(const struct cpi_registry *registry)
{
    return cpi_load(&registry->made, acquire); /* [known] */
}

static void tally(const struct cpi_counters *counters, struct cpi_registry_figures *figures)
{
    uint64_t in = cpi_load(&counters->stocked_in, relaxed);   /* [tally] */
    uint64_t out = cpi_load(&counters->stocked_out, relaxed); /* [tally] */

    figures->stocked += (int64_t)(in - out);
    figures->exchanges += in + out;
    figures->exchanges += cpi_load(&counters->empty_in, relaxed);  /* [tally] */
    figures->exchanges += cpi_load(&counters->empty_out, relaxed); /* [tally] */
    figures->retries += cpi_load(&counters->retries, relaxed);     /* [tally] */
}

void cpi_registry_add_up(const struct cpi_registry *registry, struct cpi_registry_figures *figures,
                         size_t (*rounds)(const struct cpi_cache *cache))
{
    size_t i;

    memset(figures, 0, sizeof *figures);
    figures->stocked = registry->stocked_correction;
    tally(&registry->depot->flown, figures);
    for (i = 0; i < cpi_registry_made(registry); i++) {
        const struct cpi_cache *cache = cpi_registry_cache(registry, i);

        tally(&cache->counters, figures);
        figures->rounds += rounds(cache); /* none where it is not registered */
    }
}

void cpi_registry_figures(const struct cpi_registry *registry, struct cpi_registry_figures *figures)
{
    CPI_ASSERT(cpi_lock_is_held());
    cpi_registry_add_up(registry, figures, cpi_cache_rounds);
    figures->caches = cpi_load(&registry->used, relaxed);       /* [tally] */
    figures->recalls = cpi_load(&registry->recalls, relaxed);   /* [tally] */
    figures->barriers = cpi_load(&registry->barriers, relaxed); /* [tally] */
    figures->registrations = registry->registrations;
    figures->spares = figures->caches * CPI_QUOTA_MIN + registry->spares_out;
}

void cpi_registry_recount(struct cpi_registry *registry)
{
    struct cpi_registry_figures figures;

    cpi_registry_figures(registry, &figures);
    registry->stocked_correction +=
        (int64_t)cpi_depot_count_stocked(registry->depot) - figures.stocked;
}
