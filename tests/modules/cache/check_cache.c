/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_cache.c - refilling and spilling, the owner's mark, open and closed entries
 * (lib/cache/cache.h), with a slab, a depot and a registry, and without a pool.
 */
#include "fixture.h"

#include "base/atomic.h"

enum { CAPACITY = FIXTURE_CAPACITY, LIMIT = FIXTURE_LIMIT, PLACES = FIXTURE_PLACES };

/* Near the end a claim takes a part of what is left, so that others get some. */
TEST(refill_from_fresh_leaves_some_to_others)
{
    struct cpi_cache *cache = fixture_begin(1, true);
    void *slots[CAPACITY];

    fixture_take(cache, slots, CAPACITY - 2 * LIMIT);
    while (cpi_cache_rounds(cache) > 0)
        fixture_take(cache, slots, 1);
    if (cpi_slab_fresh(fixture_slab) < CAPACITY) {
        size_t left = CAPACITY - cpi_slab_fresh(fixture_slab);

        REQUIRE(cpi_cache_refill(cache));
        REQUIRE(cpi_cache_rounds(cache) <= left / 16 + 1);
    }
}

TEST_TIMES(free_keeps_no_more_than_the_share, PLACES)
{
    struct cpi_cache *cache = fixture_begin((uint32_t)_i + 1, true);
    void *slots[CAPACITY];

    fixture_take(cache, slots, CAPACITY);
    for (size_t i = 0; i < CAPACITY; i++) {
        REQUIRE(cpi_cache_give(cache, slots[i]));
        REQUIRE(cpi_cache_rounds(cache) <= (size_t)(_i + 2) * LIMIT);
        REQUIRE_EQUAL(cpi_cache_rounds(cache) + fixture_in_depot(), i + 1);
    }
    REQUIRE(cpi_cache_rounds(cache) > (size_t)(_i + 1) * LIMIT - LIMIT);
}

TEST(flush_gives_all_to_the_depot)
{
    struct cpi_cache *cache = fixture_begin(PLACES, true);
    void *slots[100];

    for (size_t n = 0; n <= 100; n++) {
        fixture_take(cache, slots, n);
        fixture_give(cache, slots, n);
        cpi_cache_flush(cache);
        REQUIRE_EQUAL(cpi_cache_rounds(cache), 0);
        REQUIRE_EQUAL(fixture_in_depot(), cpi_slab_fresh(fixture_slab));
        REQUIRE(!fixture_is_open(cache));
        REQUIRE_EQUAL(cpi_cache_loaded(cache), 0);
        REQUIRE_EQUAL(cpi_load(&cache->stocked, relaxed), 0);
        for (size_t i = 0; i < PLACES; i++)
            REQUIRE_EQUAL(cpi_load(&cache->spare[i], relaxed), 0);
    }
}

/* Frees of what was just claimed, and of what others have claimed meanwhile, need not
 * come out of line twice. */
TEST(bound_follows_the_watermark)
{
    struct cpi_cache *cache = fixture_begin(1, true);
    struct cpi_cache *other = fixture_cache(1, true);
    void *slots[2];
    void *others[LIMIT];

    REQUIRE(cpi_cache_refill(cache));
    REQUIRE_EQUAL(cpi_cache_active(cache)->bound, cpi_slab_fresh(fixture_slab));
    fixture_take(cache, slots, 2);
    fixture_take(other, others, LIMIT);
    REQUIRE(cpi_cache_active(cache)->bound < cpi_slab_fresh(fixture_slab));
    fixture_give(cache, slots, 1);
    REQUIRE_EQUAL(cpi_cache_active(cache)->bound, cpi_slab_fresh(fixture_slab));
}

/* As of a pool that is reset: nothing is counted, and the entry is closed. */
TEST(discard_leaves_nothing_in_the_entry)
{
    struct cpi_cache *cache = fixture_begin(2, true);
    void *slots[3 * LIMIT];

    fixture_take(cache, slots, 3 * LIMIT);
    fixture_give(cache, slots, 3 * LIMIT - 1);
    REQUIRE(fixture_is_open(cache) && cpi_cache_count(cache) > 0);
    cpi_cache_discard(cache);
    REQUIRE(!fixture_is_open(cache) && cpi_cache_loaded(cache) == 0);
    REQUIRE(cpi_cache_count(cache) == 0 && cpi_cache_rounds(cache) == 0);
}

/* A stealing thread finds an empty spare of no use, and leaves it to the owner. */
TEST(steal_leaves_empty_spares)
{
    struct cpi_cache *cache = fixture_begin(4, true);
    void *slots[5 * LIMIT];
    size_t empty = 0;

    fixture_take(cache, slots, 5 * LIMIT);
    fixture_give(cache, slots, 5 * LIMIT);
    fixture_take(cache, slots, 3 * LIMIT);
    REQUIRE(cpi_load(&cache->stocked, relaxed) > 0);
    while (cpi_cache_steal(cache, false) != 0)
        ;
    for (size_t i = 0; i < PLACES; i++)
        empty += cpi_load(&cache->spare[i], relaxed) != 0;
    REQUIRE(empty >= 2);
}

/* --- The owner's mark --- */

static uintptr_t shown_count(const struct cpi_cache *cache)
{
    return cpi_word_load(&cpi_cache_active(cache)->count, relaxed);
}

TEST(enter_marks_and_leave_unmarks)
{
    struct cpi_cache *cache = fixture_begin(1, true);
    void *slots[3];
    uint32_t busy;

    for (size_t round = 0; round < 10; round++) {
        uintptr_t count = shown_count(cache);

        REQUIRE((count & CPI_BUSY) == 0);
        busy = cpi_load(&cache->busy, relaxed);
        REQUIRE_EQUAL(busy % 2, 0);
        REQUIRE_EQUAL(cpi_cache_enter(cache, cpi_cache_active(cache)), round > 0);
        REQUIRE_EQUAL(shown_count(cache), count | CPI_BUSY);
        REQUIRE_EQUAL(cpi_cache_count(cache), count);
        REQUIRE_EQUAL(cpi_load(&cache->busy, relaxed), busy + 1);
        cpi_cache_leave(cache, cpi_cache_active(cache));
        REQUIRE_EQUAL(shown_count(cache), count);
        REQUIRE_EQUAL(cpi_load(&cache->busy, relaxed), busy + 2);
        fixture_take(cache, slots, 3);
        fixture_give(cache, slots, 2);
    }
}

/* --- Open and closed --- */

static void require_nothing_kept(struct cpi_cache *cache, size_t held)
{
    REQUIRE(!fixture_is_open(cache));
    REQUIRE_EQUAL(cpi_cache_loaded(cache), 0);
    REQUIRE_EQUAL(cpi_cache_rounds(cache), 0);
    REQUIRE(cpi_cache_steal(cache, true) == 0);
    REQUIRE_EQUAL(fixture_in_depot() + held, cpi_slab_fresh(fixture_slab));
}

/* Its slots come from the depot and the fresh ones, and go to the depot, for as long as
 * anybody is closing. */
TEST_TIMES(closed_entry_keeps_nothing, 2)
{
    struct cpi_cache *cache = fixture_begin(3, _i == 0);
    void *slots[CAPACITY];

    fixture_take(cache, slots, 5 * LIMIT);
    fixture_give(cache, slots, 5 * LIMIT);
    cpi_reclaim_begin(fixture_registry);
    REQUIRE(cpi_reclaim_all(fixture_registry, NULL, false));
    require_nothing_kept(cache, 0);
    for (size_t n = 0; n < CAPACITY; n++) {
        fixture_take(cache, slots + n, 1);
        require_nothing_kept(cache, n + 1);
        REQUIRE_EQUAL(cpi_cache_stocked(cache), 0); /* which were taken, as it has noticed */
    }
    REQUIRE(cpi_cache_take(cache) == NULL);
    REQUIRE(!cpi_cache_refill(cache));
    for (size_t n = CAPACITY; n > 0; n--) {
        fixture_give(cache, slots + n - 1, 1);
        require_nothing_kept(cache, n - 1);
    }
    cpi_reclaim_end(fixture_registry, fixture_registry->forks);
    fixture_take(cache, slots, 1);
    REQUIRE(fixture_is_open(cache)); /* there were operations enough */
}

/* To close an entry costs as much as that many operations. */
TEST_TIMES(closed_entry_is_opened_after_calm, 2)
{
    struct cpi_cache *cache = fixture_begin(1, _i == 0);
    void *slot;

    for (int round = 0; round < 3; round++) {
        fixture_take(cache, &slot, 1);
        REQUIRE(fixture_is_open(cache));
        REQUIRE(fixture_reclaim());
        for (uint32_t i = 0; i < CPI_CALM; i++) {
            if (i % 2 == 0)
                fixture_give(cache, &slot, 1);
            else
                fixture_take(cache, &slot, 1);
            require_nothing_kept(cache, i % 2);
        }
        fixture_give(cache, &slot, 1);
        REQUIRE(fixture_is_open(cache));
        REQUIRE(cpi_cache_is_valid(cache));
    }
}

/* All that close have to end. */
TEST(entry_stays_closed_while_anybody_closes)
{
    struct cpi_cache *cache = fixture_begin(1, true);
    void *slot;

    cpi_reclaim_begin(fixture_registry);
    cpi_reclaim_begin(fixture_registry);
    for (int closing = 2; closing > 0; closing--) {
        for (uint32_t i = 0; i <= CPI_CALM; i++) {
            fixture_take(cache, &slot, 1);
            fixture_give(cache, &slot, 1);
            REQUIRE(!fixture_is_open(cache));
        }
        cpi_reclaim_end(fixture_registry, fixture_registry->forks);
    }
    fixture_take(cache, &slot, 1);
    REQUIRE(fixture_is_open(cache));
}

/* Nobody has come for it: the owner brings it back itself. */
TEST(loaded_magazine_of_a_closed_entry_goes_to_the_depot)
{
    struct cpi_cache *cache = fixture_begin(4, true);
    void *slots[3 * LIMIT];

    for (size_t n = 0; n < 3 * LIMIT; n++) {
        fixture_take(cache, slots, n + 1);
        fixture_give(cache, slots, n);
        REQUIRE(fixture_is_open(cache));
        cpi_word_store(&cpi_cache_active(cache)->limit, 0, relaxed); /* as one that closes */
        fixture_give(cache, slots + n, 1);
        require_nothing_kept(cache, 0);
        cpi_cache_flush(cache); /* so that it is opened at once */
    }
}

/* Somebody has: what the entry counts is no longer there. */
TEST(loaded_magazine_that_was_taken_is_not_counted_twice)
{
    struct cpi_cache *cache = fixture_begin(1, true);
    void *slots[CAPACITY];

    fixture_take(cache, slots, LIMIT);
    fixture_give(cache, slots, LIMIT / 2);
    REQUIRE(shown_count(cache) > 0);
    REQUIRE(fixture_reclaim());
    REQUIRE_EQUAL(cpi_cache_rounds(cache), 0);
    fixture_take(cache, slots, 1);
    require_nothing_kept(cache, LIMIT - LIMIT / 2 + 1);
    REQUIRE_EQUAL(shown_count(cache), 0);
    fixture_take(cache, slots + 1, CAPACITY - (LIMIT - LIMIT / 2) - 1);
    REQUIRE(cpi_cache_take(cache) == NULL);
}

/* More are given back than were ever there. */
TEST_TIMES(give_without_an_empty_magazine_fails, 2)
{
    struct cpi_cache *cache = fixture_begin(2, true);
    size_t given = 0;
    void *slot;

    fixture_take(cache, &slot, 1);
    if (_i != 0)
        cpi_reclaim_begin(fixture_registry);
    while (cpi_cache_give(cache, slot))
        REQUIRE(given++ < 100 * CAPACITY);
    REQUIRE(given >= LIMIT);
    cpi_cache_flush(cache); /* without an empty magazine the entry stays closed, too */
    REQUIRE(cpi_cache_take(cache) == slot);
    REQUIRE_EQUAL(cpi_load(&cache->busy, relaxed) % 2, 0);
}
