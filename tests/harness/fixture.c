/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fixture.c - caches without a pool (fixture.h).
 */
#include "fixture.h"

#include "base/atomic.h"

enum { CACHES = 3, FOR_CACHES = CACHES * (FIXTURE_PLACES + CPI_CACHE_HANDS + 1) };

struct cpi_slab *fixture_slab;
struct cpi_depot *fixture_depot;
struct cpi_registry *fixture_registry;

static void init_registry(void)
{
    size_t bytes = cpi_registry_bytes(CACHES, FIXTURE_PLACES);

    fixture_registry = support_lines(sizeof(*fixture_registry));
    cpi_extent_init(&fixture_registry->caches, support_lines(bytes), bytes, 1, bytes);
    cpi_registry_init(fixture_registry, NULL, fixture_slab, fixture_depot, FIXTURE_PLACES);
    fixture_registry->max = CACHES;
}

void fixture_init(void)
{
    size_t stride = cpi_depot_stride(FIXTURE_LIMIT);
    size_t for_slots = cpi_depot_magazines(FIXTURE_CAPACITY, FIXTURE_LIMIT, CACHES);
    char *memory = support_lines((for_slots + FOR_CACHES) * stride);
    size_t size = (size_t)FIXTURE_CAPACITY * 16;

    fixture_slab = support_lines(sizeof(*fixture_slab));
    fixture_depot = support_lines(sizeof(*fixture_depot));
    fixture_slab->slot_size = fixture_slab->stride = 16;
    fixture_slab->slots = FIXTURE_CAPACITY;
    cpi_extent_init(&fixture_slab->extent, support_lines(size), size, 1, size);
    cpi_slab_init(fixture_slab, FIXTURE_CAPACITY);
    cpi_extent_init(&fixture_depot->for_slots, memory, for_slots * stride, 1, for_slots * stride);
    cpi_extent_init(&fixture_depot->for_caches, memory + for_slots * stride, FOR_CACHES * stride,
                    1, FOR_CACHES * stride);
    cpi_depot_init(fixture_depot, FIXTURE_LIMIT, CACHES);
    cpi_barrier_startup();
    init_registry();
}

struct cpi_cache *fixture_cache(uint32_t quota, bool inline_path)
{
    struct cpi_cache *cache;

    fixture_registry->spares = fixture_registry->spares_out + quota - CPI_QUOTA_MIN;
    fixture_registry->inline_path = inline_path;
    REQUIRE_EQUAL(cpi_registry_add_cache(fixture_registry, &cache), 0);
    REQUIRE(cache->quota == quota);
    return cache;
}

struct cpi_cache *fixture_begin(uint32_t quota, bool inline_path)
{
    fixture_init();
    return fixture_cache(quota, inline_path);
}

bool fixture_reclaim(void)
{
    bool all;

    cpi_reclaim_begin(fixture_registry);
    all = cpi_reclaim_all(fixture_registry, NULL, false);
    cpi_reclaim_end(fixture_registry, fixture_registry->forks);
    return all;
}

bool fixture_is_open(const struct cpi_cache *cache)
{
    return cpi_word_load(&cpi_cache_active(cache)->limit, relaxed) != 0;
}

size_t fixture_in_depot(void)
{
    return cpi_depot_count_stocked(fixture_depot) * FIXTURE_LIMIT +
           cpi_depot_partial_rounds(fixture_depot);
}

void fixture_take(struct cpi_cache *cache, void **slots, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        slots[i] = cpi_cache_take(cache);
        REQUIRE(cpi_slab_index(fixture_slab, slots[i]) < FIXTURE_CAPACITY);
    }
}

void fixture_give(struct cpi_cache *cache, void **slots, size_t n)
{
    for (size_t i = 0; i < n; i++)
        REQUIRE(cpi_cache_give(cache, slots[i]));
}
