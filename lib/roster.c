/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * roster.c - a pool's caches as a list, and their accounts.
 *
 * ORDERING TABLE
 *   known | made and visited load  | acquire | registry.c's new, visit | the structure is all zero
 *   tally | counter loads          | relaxed | - | -
 *   enter | holder CAS             | acquire | leave  | the counters
 *   leave | turns store, holder store | release | enter, recall.c's inside | all that the
 *                                                  visitor did
 *   visit | visited CAS            | release | known  | nothing but the number
 *   own   | turns, holder, visited load, CAS failure | relaxed | - | -
 *
 * A visitor's mark is its holder.  A thread that looks for slots sees the mark
 * because it acquires an exchange of the visitor's, which comes later.
 */
#include "roster.h"

#include <string.h>

#include "atomic.h"
#include "bits.h"
#include "os.h"
#include "thread.h"

size_t cpi_roster_bytes(size_t max, size_t quota_max)
{
    size_t size = offsetof(struct cpi_cache, spare) + quota_max * sizeof(uint32_t);

    return max * cpi_align_up(size, CPI_LINE);
}

size_t cpi_roster_magazines(size_t max, size_t spares)
{
    return max * (CPI_CACHE_HANDS + CPI_SHARE_MIN) + spares;
}

struct cpi_cache *cpi_roster_cache(const struct cpi_roster *roster, size_t i)
{
    size_t stride = cpi_roster_bytes(1, roster->quota_max);

    return (struct cpi_cache *)(void *)(roster->caches.base + i * stride);
}

size_t cpi_roster_made(const struct cpi_roster *roster)
{
    return cpi_load(&roster->made, acquire); /* [known] */
}

static void tally(const struct cpi_counters *counters, struct cpi_roster_figures *figures)
{
    uint64_t in = cpi_load(&counters->stocked_in, relaxed);   /* [tally] */
    uint64_t out = cpi_load(&counters->stocked_out, relaxed); /* [tally] */

    figures->stocked += (int64_t)(in - out);
    figures->exchanges += in + out;
    figures->exchanges += cpi_load(&counters->empty_in, relaxed);  /* [tally] */
    figures->exchanges += cpi_load(&counters->empty_out, relaxed); /* [tally] */
    figures->retries += cpi_load(&counters->retries, relaxed);     /* [tally] */
}

void cpi_roster_figures(const struct cpi_roster *roster, struct cpi_roster_figures *figures)
{
    size_t i;

    memset(figures, 0, sizeof *figures);
    figures->caches = cpi_load(&roster->used, relaxed); /* [tally] */
    figures->stocked = roster->stocked_correction;
    figures->recalls = cpi_load(&roster->recalls, relaxed); /* [tally] */
    for (i = 0; i < cpi_roster_visited(roster); i++)
        tally(&roster->visitors[i].counters, figures);
    for (i = 0; i < cpi_roster_made(roster); i++) {
        const struct cpi_cache *cache = cpi_roster_cache(roster, i);

        tally(&cache->counters, figures);
        if (cache->used) {
            figures->rounds += cpi_cache_rounds(cache);
            figures->spares += cache->quota;
        }
    }
}

size_t cpi_roster_visited(const struct cpi_roster *roster)
{
    return cpi_load(&roster->visited, acquire); /* [known] */
}

/* Before the place has its holder: a thread that sees what a visitor did also looks
 * at its place. */
static void note_visited(struct cpi_roster *roster, uint32_t places)
{
    uint32_t visited = cpi_load(&roster->visited, relaxed); /* [own] */

    while (visited < places)
        if (cpi_cas_weak(&roster->visited, &visited, places, release, relaxed)) /* [visit] [own] */
            return;
}

struct cpi_visitor *cpi_roster_enter(struct cpi_roster *roster)
{
    uintptr_t token = cpi_thread_token();
    unsigned times;
    uint32_t i;

    for (times = 0;; times++) {
        for (i = 0; i < roster->depot->uncached; i++) {
            struct cpi_visitor *visitor = &roster->visitors[i];
            uintptr_t none = 0;

            if (cpi_load(&visitor->holder, relaxed) != 0) /* [own] */
                continue;
            note_visited(roster, i + 1);
            /* [enter] [own] */
            if (cpi_cas_strong(&visitor->holder, &none, token, acquire, relaxed))
                return visitor;
        }
        cpi_os_step_aside(times);
    }
}

void cpi_roster_leave(struct cpi_visitor *visitor)
{
    uint32_t turns = cpi_load(&visitor->turns, relaxed); /* [own] */

    /* In this order: a thread that reads `turns` and then finds a holder, and later
     * other turns, knows that the holder it found has left. */
    cpi_store(&visitor->turns, turns + 1, release); /* [leave] */
    cpi_store(&visitor->holder, 0, release);        /* [leave] */
}

void cpi_roster_recount(struct cpi_roster *roster)
{
    struct cpi_roster_figures figures;

    cpi_roster_figures(roster, &figures);
    roster->stocked_correction +=
        (int64_t)cpi_depot_count_stocked(roster->depot) - figures.stocked;
}
