/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_reclaim.c - closing entries, taking what lies in them, counts that tell of changes, and
 * waiting for owners (lib/cache/reclaim.h), on caches without a pool and inside real pools.
 */
#include "fixture.h"

#include "base/atomic.h"
#include "inside.h"

enum { LIMIT = FIXTURE_LIMIT };

/* --- Closing and taking --- */

/* A cache with so many free slots, the entry open. */
static struct cpi_cache *filled_cache(uint32_t quota, bool inline_path, size_t n)
{
    struct cpi_cache *cache = fixture_cache(quota, inline_path);
    void *slots[FIXTURE_CAPACITY];

    fixture_take(cache, slots, n);
    fixture_give(cache, slots, n);
    REQUIRE(fixture_is_open(cache));
    REQUIRE(cpi_cache_rounds(cache) > 0);
    return cache;
}

static void require_taken(struct cpi_cache *cache)
{
    REQUIRE(!fixture_is_open(cache));
    REQUIRE_EQUAL(cpi_load(&cache->loaded, relaxed), 0);
    REQUIRE(cpi_cache_steal(cache, true) == 0);
    REQUIRE_EQUAL(cpi_cache_rounds(cache), 0);
}

/* What is closed and empty, or has never been opened, needs none. */
TEST(barrier_is_passed_for_a_reason_only)
{
    struct cpi_cache *cache;
    uint64_t one;
    void *slot;

    fixture_init();
    one = cpi_has_barrier();
    cache = fixture_cache(1, true);
    cpi_reclaim_begin(fixture_registry);
    REQUIRE(cpi_reclaim_all(fixture_registry, NULL, false));
    REQUIRE_EQUAL(cpi_load(&fixture_registry->barriers, relaxed), 0);
    REQUIRE(cpi_reclaim_all(fixture_registry, NULL, true));
    REQUIRE_EQUAL(cpi_load(&fixture_registry->barriers, relaxed), one);
    cpi_reclaim_end(fixture_registry, fixture_registry->forks);
    fixture_take(cache, &slot, 1);
    REQUIRE(fixture_is_open(cache));
    for (int round = 0; round < 3; round++) { /* closed once, by the first */
        REQUIRE(fixture_reclaim());
        REQUIRE_EQUAL(cpi_load(&fixture_registry->barriers, relaxed), 2 * one);
    }
}

/* Full spares, and what was loaded if it is not empty. */
TEST(taken_magazines_are_counted)
{
    struct cpi_cache *cache;
    void *slots[5 * LIMIT];
    size_t n;

    fixture_init();
    cache = filled_cache(4, true, 5 * LIMIT);
    n = cpi_cache_stocked(cache) + (cpi_cache_count(cache) > 0);
    REQUIRE(fixture_reclaim());
    REQUIRE_EQUAL(cpi_load(&fixture_registry->reclaims, relaxed), n);
    cpi_cache_flush(cache);
    fixture_take(cache, slots, LIMIT);
    while (cpi_cache_count(cache) > 0)
        fixture_take(cache, slots, 1);
    REQUIRE(cpi_cache_loaded(cache) != 0);
    REQUIRE(fixture_reclaim());
    require_taken(cache);
    REQUIRE_EQUAL(cpi_load(&fixture_registry->reclaims, relaxed), n);
}

/* The child of a fork has opened what was closed: nothing is left to end. */
TEST(end_of_what_a_fork_has_ended_opens_nothing_more)
{
    unsigned begun;

    fixture_init();
    begun = cpi_reclaim_begin(fixture_registry);
    cpi_registry_mend(fixture_registry);
    REQUIRE_EQUAL(cpi_load(&fixture_registry->closed, relaxed), 0);
    cpi_reclaim_end(fixture_registry, begun);
    REQUIRE_EQUAL(cpi_load(&fixture_registry->closed, relaxed), 0);
}

/* One at a time, until there is none, with entries that stay open. */
TEST(reclaim_spare_disturbs_nobody)
{
    struct cpi_cache *caches[2];
    size_t before = 0;
    size_t spares = 0;

    fixture_init();
    REQUIRE(!cpi_reclaim_spare(fixture_registry));
    for (size_t i = 0; i < 2; i++)
        caches[i] = filled_cache(3, i == 0, 5 * LIMIT);
    for (size_t i = 0; i < 2; i++)
        spares += cpi_cache_stocked(caches[i]);
    before = fixture_in_depot();
    REQUIRE(cpi_cache_enter(caches[0], cpi_cache_active(caches[0])));
    for (size_t n = 1; n <= spares; n++) {
        REQUIRE(cpi_reclaim_spare(fixture_registry));
        REQUIRE_EQUAL(fixture_in_depot(), before + n * LIMIT);
        REQUIRE_EQUAL(cpi_load(&fixture_registry->reclaims, relaxed), n);
    }
    REQUIRE(!cpi_reclaim_spare(fixture_registry));
    cpi_cache_leave(caches[0], cpi_cache_active(caches[0]));
    for (size_t i = 0; i < 2; i++)
        REQUIRE(fixture_is_open(caches[i]) && cpi_cache_rounds(caches[i]) > 0);
    REQUIRE_EQUAL(cpi_load(&fixture_registry->barriers, relaxed), 0);
}

static cpool_t *pool;

/* --- Activity --- */

static uint64_t moves(void)
{
    return cpi_reclaim_activity(&inside(pool)->registry);
}

/* Each kind of step alone: a fresh slot moves the watermark and nothing else, and
 * uncached operations are counted by what they exchange. */
TEST(activity_tells_of_fresh_slots_and_visitors)
{
    uint64_t before;
    void *slot;

    pool = support_create_plain(16, 100);
    before = moves();
    REQUIRE_EQUAL(moves(), before);
    slot = cpool_alloc_uncached(pool);
    REQUIRE(slot != NULL);
    REQUIRE(moves() != before);
    before = moves();
    cpool_free_uncached(pool, slot);
    REQUIRE(moves() != before);
    before = moves();
    slot = cpool_alloc_uncached(pool);
    REQUIRE(slot != NULL);
    REQUIRE(moves() != before);
    /* The magazines that an owner gives to the depot. */
    cpool_free(pool, slot);
    before = moves();
    cpool_flush(pool);
    REQUIRE(moves() != before);
    /* And the one it takes: the partial magazine. */
    before = moves();
    REQUIRE(cpool_alloc(pool) == slot);
    REQUIRE(moves() != before);
    REQUIRE_EQUAL(support_destroy(pool), 1);
}

static void require_activity(struct cpi_cache *cache, void **slots,
                             void (*use)(struct cpi_cache *cache, void **slots, size_t n))
{
    for (size_t i = 0; i < FIXTURE_CAPACITY; i++) {
        uint64_t before = cpi_reclaim_activity(fixture_registry);

        use(cache, slots + i, 1);
        REQUIRE(cpi_reclaim_activity(fixture_registry) != before);
    }
}

/* A search for the last slot sees each of them, and none that found nothing. */
TEST(activity_tells_of_each_operation_of_a_closed_entry)
{
    struct cpi_cache *cache = fixture_begin(2, true);
    void *slots[FIXTURE_CAPACITY];
    uint64_t before;

    cpi_reclaim_begin(fixture_registry);
    require_activity(cache, slots, fixture_take);
    before = cpi_reclaim_activity(fixture_registry);
    REQUIRE(cpi_cache_take(cache) == NULL);
    REQUIRE(cpi_reclaim_all(fixture_registry, NULL, true));
    REQUIRE_EQUAL(cpi_reclaim_activity(fixture_registry), before);
    require_activity(cache, slots, fixture_give);
    require_activity(cache, slots, fixture_take);
    cpi_reclaim_end(fixture_registry, fixture_registry->forks);
}

/* --- Waiting --- */

/* One more operation of the same owner is not the one that was seen. */
TEST(await_inside_ends_without_patience_at_an_owner_that_stays)
{
    struct cpi_backoff impatient = { 1, 0, 0 };
    struct cpi_uncached uncached;
    struct cpi_cache *cache = fixture_begin(1, true);

    REQUIRE(cpi_await_inside(fixture_registry, &impatient));
    (void)cpi_cache_enter(cache, cpi_cache_active(cache));
    REQUIRE(!cpi_await_inside(fixture_registry, &impatient));
    cpi_cache_leave(cache, cpi_cache_active(cache));
    cpi_depot_enter(fixture_depot, &uncached);
    impatient = (struct cpi_backoff){ 1, 0, 0 };
    REQUIRE(!cpi_await_inside(fixture_registry, &impatient));
    cpi_depot_leave(fixture_depot, &uncached);
    impatient = (struct cpi_backoff){ 1, 0, 0 };
    REQUIRE(cpi_await_inside(fixture_registry, &impatient));
}
