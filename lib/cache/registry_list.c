/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * registry_list.c - a pool's caches as a list, and their accounts.
 *
 * Implements a part of registry.h.
 *
 * ORDERING TABLE
 *   known | made, uncached_used load  | acquire | registry.c's new, places | zeroed structure
 *   tally | counter loads          | relaxed | - | -
 *   enter | holder CAS             | acquire | leave  | the counters
 *   leave | turns store, holder store | release | enter, held, await.c's inside | all that the
 *                                                  uncached operation did
 *   held  | holder load         | acquire | leave | what the uncached operation did
 *   places | uncached_used CAS            | release | known  | nothing but the number
 *   own   | turns, holder, uncached_used load, CAS failure | relaxed | - | -
 *
 * A uncached operation's mark is its holder.  A thread that looks for slots sees the mark
 * because it acquires an exchange of the uncached operation's, which comes later.
 */
#include "cache/registry.h"

#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "host/os.h"
#include "host/thread.h"

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

size_t cpi_registry_number(const struct cpi_registry *registry, const struct cpi_cache *cache)
{
    size_t offset = (size_t)((const char *)cache - (const char *)registry->caches.base);

    return offset / cpi_registry_bytes(1, registry->quota_max);
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

void cpi_registry_figures(const struct cpi_registry *registry, struct cpi_registry_figures *figures)
{
    size_t i;

    CPI_ASSERT(cpi_lock_is_held());
    memset(figures, 0, sizeof *figures);
    figures->caches = cpi_load(&registry->used, relaxed); /* [tally] */
    figures->stocked = registry->stocked_correction;
    figures->recalls = cpi_load(&registry->recalls, relaxed);   /* [tally] */
    figures->barriers = cpi_load(&registry->barriers, relaxed); /* [tally] */
    figures->registrations = registry->registrations;
    for (i = 0; i < cpi_registry_uncached_used(registry); i++)
        tally(&registry->uncached[i].counters, figures);
    for (i = 0; i < cpi_registry_made(registry); i++) {
        const struct cpi_cache *cache = cpi_registry_cache(registry, i);

        tally(&cache->counters, figures);
        if (cache->used) {
            figures->rounds += cpi_cache_rounds(cache);
            figures->spares += cache->quota;
        }
    }
}

size_t cpi_registry_uncached_used(const struct cpi_registry *registry)
{
    return cpi_load(&registry->uncached_used, acquire); /* [known] */
}

/* Before the place has its holder: a thread that sees what an uncached operation did also looks
 * at its place. */
static void note_uncached(struct cpi_registry *registry, uint32_t places)
{
    uint32_t used = cpi_load(&registry->uncached_used, relaxed); /* [own] */

    while (used < places)
        /* [places] [own] */
        if (cpi_cas_weak(&registry->uncached_used, &used, places, release, relaxed))
            return;
}

/* The i-th place, or NULL if it is taken. */
static struct cpi_uncached *try_place(struct cpi_registry *registry, uint32_t i)
{
    struct cpi_uncached *uncached = &registry->uncached[i];
    uintptr_t none = 0;

    if (cpi_load(&uncached->holder, relaxed) != 0) /* [own] */
        return NULL;
    note_uncached(registry, i + 1);
    /* [enter] [own] */
    return cpi_cas_strong(&uncached->holder, &none, cpi_thread_token(), acquire, relaxed)
               ? uncached
               : NULL;
}

static uint32_t last_place(const struct cpi_registry *registry)
{
    return registry->depot->uncached - 1;
}

struct cpi_uncached *cpi_registry_try_enter(struct cpi_registry *registry)
{
    uint32_t i;

    for (i = 0; i < last_place(registry); i++) {
        struct cpi_uncached *uncached = try_place(registry, i);

        if (uncached != NULL)
            return uncached;
    }
    return NULL;
}

static struct cpi_uncached *try_last(struct cpi_registry *registry)
{
    struct cpi_uncached *uncached;
    struct cpi_signals before;

    cpi_block_signals(&before);
    uncached = try_place(registry, last_place(registry));
    if (uncached != NULL)
        registry->mask_before = before;
    else
        cpi_restore_signals(&before);
    return uncached;
}

struct cpi_uncached *cpi_registry_enter(struct cpi_registry *registry)
{
    struct cpi_uncached *uncached;
    unsigned times = 0;

    CPI_ASSERT(!cpi_lock_is_held());
    while ((uncached = cpi_registry_try_enter(registry)) == NULL &&
           (uncached = try_last(registry)) == NULL)
        cpi_os_back_off(times++);
    return uncached;
}

bool cpi_registry_is_held(const struct cpi_uncached *uncached)
{
    uintptr_t holder = cpi_load(&uncached->holder, acquire); /* [held] */

    return holder != 0 && holder != cpi_thread_token();
}

static void vacate(struct cpi_uncached *uncached)
{
    uint32_t turns = cpi_load(&uncached->turns, relaxed); /* [own] */

    CPI_ASSERT(cpi_load(&uncached->holder, relaxed) != 0); /* [own] */
    /* In this order: a thread that reads `turns` and then finds a holder, and later
     * other turns, knows that the holder it found has left. */
    cpi_store(&uncached->turns, turns + 1, release); /* [leave] */
    cpi_store(&uncached->holder, 0, release);        /* [leave] */
}

void cpi_registry_leave(struct cpi_registry *registry, struct cpi_uncached *uncached)
{
    if (uncached == &registry->uncached[last_place(registry)]) {
        struct cpi_signals before = registry->mask_before;

        vacate(uncached);
        cpi_restore_signals(&before);
    } else {
        vacate(uncached);
    }
}

bool cpi_registry_vacate_vanished(struct cpi_registry *registry)
{
    bool any = false;
    size_t i;

    for (i = 0; i < cpi_registry_uncached_used(registry); i++)
        if (cpi_registry_is_held(&registry->uncached[i])) {
            vacate(&registry->uncached[i]);
            any = true;
        }
    return any;
}

void cpi_registry_recount(struct cpi_registry *registry)
{
    struct cpi_registry_figures figures;

    cpi_registry_figures(registry, &figures);
    registry->stocked_correction +=
        (int64_t)cpi_depot_count_stocked(registry->depot) - figures.stocked;
}
