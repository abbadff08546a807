/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * roster.c - a pool's caches as a list, and their accounts.
 *
 * ORDERING TABLE
 *   known | made load              | acquire | registry.c's new | the structure is all zero
 *   tally | dealings loads         | relaxed | - | -
 *   fold  | dealings, visitors fetch-and-add | relaxed | - | -
 *   leave | visitors fetch-and-add | release | recall.c's hands | what the visitor did
 */
#include "roster.h"

#include <string.h>

#include "atomic.h"
#include "bits.h"

size_t cpi_roster_bytes(size_t max, size_t share_max)
{
    size_t size = offsetof(struct cpi_cache, spare) + share_max * sizeof(uint32_t);

    return max * cpi_align_up(size, CPI_LINE);
}

size_t cpi_roster_magazines(size_t max, size_t spares)
{
    return max * (CPI_CACHE_HANDS + CPI_SHARE_MIN) + spares;
}

struct cpi_cache *cpi_roster_cache(const struct cpi_roster *roster, size_t i)
{
    size_t stride = cpi_roster_bytes(1, roster->share_max);

    return (struct cpi_cache *)(void *)(roster->caches.base + i * stride);
}

size_t cpi_roster_made(const struct cpi_roster *roster)
{
    return cpi_load(&roster->made, acquire); /* [known] */
}

static void tally(const struct cpi_dealings *dealings, struct cpi_roster_figures *figures)
{
    uint64_t in = cpi_load(&dealings->stocked_in, relaxed);   /* [tally] */
    uint64_t out = cpi_load(&dealings->stocked_out, relaxed); /* [tally] */

    figures->stocked += (int64_t)(in - out);
    figures->exchanges += in + out;
    figures->exchanges += cpi_load(&dealings->empty_in, relaxed);  /* [tally] */
    figures->exchanges += cpi_load(&dealings->empty_out, relaxed); /* [tally] */
    figures->retries += cpi_load(&dealings->retries, relaxed);     /* [tally] */
}

void cpi_roster_figures(const struct cpi_roster *roster, struct cpi_roster_figures *figures)
{
    size_t i;

    memset(figures, 0, sizeof *figures);
    figures->caches = cpi_load(&roster->used, relaxed); /* [tally] */
    figures->stocked = roster->stocked_correction;
    figures->recalls = cpi_load(&roster->recalls, relaxed); /* [tally] */
    tally(&roster->outside, figures);
    for (i = 0; i < cpi_roster_made(roster); i++) {
        const struct cpi_cache *cache = cpi_roster_cache(roster, i);

        tally(&cache->dealings, figures);
        if (cache->used) {
            figures->rounds += cpi_cache_rounds(cache);
            figures->spares += cache->granted;
        }
    }
}

/* Adds one counter of an operation without a cache to those of all of them. */
static void fold(_Atomic uint64_t *total, const _Atomic uint64_t *counter)
{
    uint64_t more = cpi_load(counter, relaxed); /* [tally] */

    if (more != 0)
        cpi_fetch_add(total, more, relaxed); /* [fold] */
}

void cpi_roster_visit(struct cpi_roster *roster, struct cpi_dealings *dealings)
{
    memset(dealings, 0, sizeof *dealings);
    cpi_fetch_add(&roster->visitors, 1u, relaxed); /* [fold] */
}

void cpi_roster_account(struct cpi_roster *roster, const struct cpi_dealings *dealings)
{
    fold(&roster->outside.stocked_in, &dealings->stocked_in);
    fold(&roster->outside.stocked_out, &dealings->stocked_out);
    fold(&roster->outside.empty_in, &dealings->empty_in);
    fold(&roster->outside.empty_out, &dealings->empty_out);
    fold(&roster->outside.remnants, &dealings->remnants);
    fold(&roster->outside.retries, &dealings->retries);
    cpi_fetch_add(&roster->visitors, UINT32_MAX, release); /* [leave] */
}

void cpi_roster_recount(struct cpi_roster *roster)
{
    struct cpi_roster_figures figures;

    cpi_roster_figures(roster, &figures);
    roster->stocked_correction +=
        (int64_t)cpi_depot_count_stocked(roster->depot) - figures.stocked;
}
