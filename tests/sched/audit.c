/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * audit.c - walks the depot's stacks and the caches, inside the library.
 */
#include "audit.h"

#include <string.h>

#include "../harness/inside.h"
#include "inside_wait.h"

#define MAGAZINES_MAX 1024

struct survey {
    const struct cpi_depot *depot;
    bool seen[MAGAZINES_MAX];
    size_t met;
    const char *wrong;
};

/* Where a magazine may lie, by how many rounds it must have. */
enum place { STOCKED, EMPTY, REMNANT, LOADED, SPARE };

static bool rounds_fit(const struct survey *survey, uint32_t node, enum place place)
{
    uint32_t count = cpi_magazine_count(cpi_depot_magazine(survey->depot, node));
    uint32_t limit = survey->depot->limit;

    switch (place) {
    case STOCKED: return count == limit;
    case EMPTY: return count == 0;
    case REMNANT: return count > 0 && count < limit;
    case LOADED: return count == 0; /* the cache keeps it */
    case SPARE: return count == 0 || count == limit;
    }
    return false;
}

static void meet(struct survey *survey, uint32_t node, enum place place)
{
    if (survey->wrong != NULL || node == 0)
        return;
    if (node >= MAGAZINES_MAX)
        survey->wrong = "a magazine that cannot be";
    else if (survey->seen[node])
        survey->wrong = "a magazine is in two places";
    else if (!rounds_fit(survey, node, place))
        survey->wrong = "a magazine is where it does not belong";
    else
        survey->seen[node] = true;
    survey->met++;
}

static void walk(struct survey *survey, const struct cpi_tagstack *stack, enum place place)
{
    uint32_t node = cpi_tagstack_top(stack);

    while (node != 0 && survey->wrong == NULL) {
        meet(survey, node, place);
        node = cpi_tagstack_below(&survey->depot->links, node);
    }
}

static void visit(struct survey *survey, const struct cpi_cache *cache)
{
    if (!cache->used)
        return;
    meet(survey, cpi_cache_loaded(cache), LOADED);
    for (uint32_t i = 0; i < cache->quota_max; i++)
        meet(survey, cpi_load(&cache->spare[i], relaxed), SPARE);
}

const char *audit_magazines(const cpool_t *pool, size_t missing)
{
    struct survey survey;

    memset(&survey, 0, sizeof survey);
    survey.depot = &inside(pool)->depot;
    meet(&survey, cpi_load(&inside(pool)->depot.partial, relaxed), REMNANT);
    walk(&survey, &inside(pool)->depot.stocked, STOCKED);
    walk(&survey, &inside(pool)->depot.empty, EMPTY);
    for (size_t i = 0; i < cpi_registry_made(&inside(pool)->registry); i++)
        visit(&survey, cpi_registry_cache(&inside(pool)->registry, i));
    if (survey.wrong == NULL && survey.met + missing < cpi_depot_made(&inside(pool)->depot))
        survey.wrong = "a magazine was lost";
    return survey.wrong;
}

void audit_starve_after(cpool_t *pool, uint64_t nanoseconds)
{
    inside(pool)->waiters.starving_after = nanoseconds;
}

/* With operations that are no points of the explorer's: nothing may happen between
 * the count and the fork. */
size_t audit_hands(const cpool_t *pool)
{
    const struct cpi_registry *registry = &inside(pool)->registry;
    const char *caches = registry->caches.base;
    size_t made = atomic_load_explicit(&registry->made, memory_order_relaxed);
    size_t hands = 0;

    for (size_t i = 0; i < made; i++) {
        const void *place = caches + i * cpi_registry_bytes(1, registry->quota_max);
        const struct cpi_cache *cache = place;

        const cpool_cache_t *active = atomic_load_explicit(&cache->active, memory_order_relaxed);

        hands += atomic_load_explicit(&cache->busy, memory_order_relaxed) % 2 != 0 ||
                 (__atomic_load_n(&active->count, __ATOMIC_RELAXED) & CPI_BUSY) != 0;
    }
    return hands + cpi_depot_in_flight(
                       atomic_load_explicit(&inside(pool)->depot.flights, memory_order_relaxed));
}
