/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_cache_target.c - how many spares a cache uses: bursts widen its target, and
 * reviews give up what stays full (lib/cache/cache.h).
 *
 * Includes fixture.h.
 */
#include "fixture.h"

#include "base/atomic.h"

enum { CAPACITY = FIXTURE_CAPACITY, LIMIT = FIXTURE_LIMIT, PLACES = FIXTURE_PLACES };

/* Bursts that a larger share would have kept from the depot widen it, up to the
 * quota and no further. */
START_TEST(burst_beyond_the_share_widens_it)
{
    struct cpi_cache *cache;
    void *slots[(PLACES + 4) * LIMIT];

    fixture_init();
    cache = fixture_cache((uint32_t)_i + 1, true);
    cache->target = 1;
    for (int round = 0; round < 10; round++) {
        fixture_take(cache, slots, (PLACES + 4) * LIMIT);
        fixture_give(cache, slots, (PLACES + 4) * LIMIT);
        REQUIRE(cache->target <= cache->quota);
    }
    REQUIRE_EQUAL(cache->target, cache->quota);
}
END_TEST

/* Bursts that fit touch no depot and widen nothing. */
START_TEST(burst_within_the_share_widens_nothing)
{
    struct cpi_cache *cache;
    void *slots[2 * LIMIT];

    fixture_init();
    cache = fixture_cache(PLACES, true);
    cache->target = 2;
    fixture_take(cache, slots, 2 * LIMIT);
    fixture_give(cache, slots, 2 * LIMIT);
    cache->gave = false;
    for (int round = 0; round < 10; round++) {
        fixture_take(cache, slots, 2 * LIMIT);
        fixture_give(cache, slots, 2 * LIMIT);
    }
    REQUIRE_EQUAL(cache->target, 2);
}
END_TEST

/* A magazine that was given and one that comes back soon after: both would have been
 * kept by a larger share. */
START_TEST(exchange_after_a_gift_widens_the_share)
{
    struct cpi_cache *cache;
    void *slots[8 * LIMIT];
    uint32_t share;
    size_t n;

    fixture_init();
    cache = fixture_cache(PLACES, true);
    cache->target = 1;
    cache->gave = false;
    fixture_take(cache, slots, 8 * LIMIT);
    for (n = 0; cpi_load(&cache->counters.stocked_in, relaxed) == 0; n++)
        fixture_give(cache, slots + n, 1);
    share = cache->target;
    REQUIRE_EQUAL(share, 2);
    while (cpi_load(&cache->counters.stocked_out, relaxed) == 0)
        fixture_take(cache, slots + --n, 1);
    REQUIRE_EQUAL(cache->target, 2 * share);
}
END_TEST

/* A spare that stays full is not needed.  Half of those go at each review. */
START_TEST(review_gives_up_unneeded_spares)
{
    struct cpi_cache *cache;
    void *slots[(PLACES + 1) * LIMIT];

    fixture_init();
    cache = fixture_cache(PLACES, true);
    fixture_take(cache, slots, (PLACES + 1) * LIMIT);
    fixture_give(cache, slots, (PLACES + 1) * LIMIT);
    REQUIRE(cpi_cache_rounds(cache) >= PLACES * LIMIT);
    for (size_t swaps = 0; swaps < 20 * CPI_REVIEW_SWAPS; swaps++) {
        fixture_take(cache, slots, 2 * LIMIT);
        fixture_give(cache, slots, 2 * LIMIT);
    }
    REQUIRE(cpi_cache_rounds(cache) <= 5 * LIMIT);
    REQUIRE_EQUAL(cpi_cache_rounds(cache) + fixture_in_depot(), cpi_slab_fresh(fixture_slab));
}
END_TEST

/* Half at a time, and never more than stayed full: one that was used in between, and
 * left few of them for a moment, is kept. */
START_TEST(review_keeps_half_and_what_was_used)
{
    const size_t used = _i == 0 ? 2 * LIMIT : PLACES * LIMIT;
    struct cpi_cache *cache;
    void *slots[(PLACES + 1) * LIMIT];
    uint64_t before;

    fixture_init();
    cache = fixture_cache(PLACES, true);
    fixture_take(cache, slots, (PLACES + 1) * LIMIT);
    fixture_give(cache, slots, (PLACES + 1) * LIMIT);
    /* The first review knows of the time when there were none. */
    while (cache->swaps < CPI_REVIEW_SWAPS) {
        fixture_take(cache, slots, 2 * LIMIT);
        fixture_give(cache, slots, 2 * LIMIT);
    }
    REQUIRE_EQUAL(cache->target, PLACES);
    fixture_take(cache, slots, used);
    fixture_give(cache, slots, used);
    before = cache->swaps;
    while (cache->swaps / CPI_REVIEW_SWAPS == before / CPI_REVIEW_SWAPS) {
        fixture_take(cache, slots, 2 * LIMIT);
        fixture_give(cache, slots, 2 * LIMIT);
    }
    if (_i == 0)
        REQUIRE(cache->target < PLACES && cache->target >= PLACES / 2);
    else
        REQUIRE_EQUAL(cache->target, PLACES);
}
END_TEST

/* For every position of the ring of spares at the review, and any free places: a spare
 * that is no longer counted must be gone. */
START_TEST(review_beside_free_places_refuses_and_loses_nothing)
{
    struct cpi_cache *cache;
    void *slots[(PLACES + 1) * LIMIT];
    size_t kept = (size_t)(_i + 2) * LIMIT;

    fixture_init();
    cache = fixture_cache(PLACES, true);
    fixture_take(cache, slots, (PLACES + 1) * LIMIT);
    fixture_give(cache, slots, kept);
    for (size_t swaps = 0; swaps < 2 * CPI_REVIEW_SWAPS + (size_t)_i; swaps++) {
        fixture_take(cache, slots, LIMIT + 1);
        fixture_give(cache, slots, LIMIT + 1);
    }
    fixture_give(cache, slots + kept, (PLACES + 1) * LIMIT - kept);
    REQUIRE_EQUAL(cpi_cache_rounds(cache) + fixture_in_depot(), cpi_slab_fresh(fixture_slab));
    REQUIRE(cpi_load(&cache->stocked, relaxed) <= cache->target);
    cpi_cache_flush(cache);
    REQUIRE_EQUAL(fixture_in_depot(), cpi_slab_fresh(fixture_slab));
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(burst_beyond_the_share_widens_it, PLACES),
        ONCE(burst_within_the_share_widens_nothing),
        ONCE(exchange_after_a_gift_widens_the_share),
        ONCE(review_gives_up_unneeded_spares),
        TIMES(review_keeps_half_and_what_was_used, 2),
        TIMES(review_beside_free_places_refuses_and_loses_nothing, PLACES - 2),
    };

    return SUPPORT_RUN("cache_target", tests);
}
