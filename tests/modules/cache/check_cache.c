/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_cache.c - refilling, spilling and recalling (lib/cache/cache.h), with a slab
 * and a depot and without a pool.
 *
 * Includes fixture.h.
 */
#include "fixture.h"

#include <string.h>

#include "base/atomic.h"

enum { CAPACITY = FIXTURE_CAPACITY, LIMIT = FIXTURE_LIMIT, PLACES = FIXTURE_PLACES };

TEST(open_is_both_empty_and_full)
{
    struct cpi_cache *cache;

    fixture_init();
    cache = fixture_cache(1, true);
    REQUIRE_EQUAL(cache->entry->count, 0);
    REQUIRE_EQUAL(cache->entry->limit, 0);
    REQUIRE(cache->entry->home == cache);
    REQUIRE_EQUAL(cpi_cache_rounds(cache), 0);
}

TEST(refill_from_fresh_is_in_order_of_address)
{
    struct cpi_cache *cache;

    fixture_init();
    cache = fixture_cache(1, true);
    for (size_t i = 0; i < CAPACITY; i++) {
        REQUIRE_EQUAL(cpi_slab_index(fixture_slab, cpi_cache_alloc(cache)), i);
        /* A magazine's rounds at a time, and fewer near the end. */
        REQUIRE(cpi_slab_fresh(fixture_slab) > i && cpi_slab_fresh(fixture_slab) <= i + LIMIT);
        REQUIRE_EQUAL(cache->entry->bound, cpi_slab_fresh(fixture_slab));
        REQUIRE_EQUAL(cpi_cache_rounds(cache), cpi_slab_fresh(fixture_slab) - i - 1);
    }
    REQUIRE(!cpi_cache_refill(cache));
    REQUIRE(cpi_cache_alloc(cache) == NULL);
}

/* A pool without the inline path shows its entry as empty and full for ever. */
TEST(use_without_inline_path_shows_nothing)
{
    struct cpi_cache *cache;
    void *slots[100];

    fixture_init();
    cache = fixture_cache(2, false);
    for (int round = 0; round < 3; round++) {
        fixture_take(cache, slots, 100);
        fixture_give(cache, slots, 50);
        REQUIRE_EQUAL(cache->entry->count, 0);
        REQUIRE_EQUAL(cache->entry->limit, 0);
        REQUIRE_EQUAL(cpi_cache_rounds(cache) + fixture_in_depot() + 50,
                      cpi_slab_fresh(fixture_slab));
        fixture_give(cache, slots + 50, 50);
    }
}

/* At each place near the edge of a magazine, back and forth. */
TEST(alloc_and_free_across_the_edge_touch_no_depot)
{
    struct cpi_cache *cache;
    void *slots[4 * LIMIT];

    fixture_init();
    cache = fixture_cache(1, true);
    fixture_take(cache, slots, 4 * LIMIT);
    fixture_give(cache, slots, 2 * LIMIT);
    for (size_t held = 0; held < LIMIT; held++) {
        uint64_t before;
        void *few[4];

        fixture_take(cache, few, 1);
        before = fixture_exchanges(cache);
        for (int round = 0; round < 100; round++) {
            fixture_take(cache, few + 1, 3);
            fixture_give(cache, few + 1, 3);
        }
        /* Once at most, to find the place. */
        REQUIRE(fixture_exchanges(cache) <= before + 2);
    }
}

/* As many as the cache holds. */
TEST_TIMES(free_then_alloc_is_last_in_first_out, PLACES)
{
    struct cpi_cache *cache;
    void *slots[CAPACITY];
    size_t n = (size_t)(_i + 2) * LIMIT;

    fixture_init();
    cache = fixture_cache((uint32_t)_i + 1, true);
    fixture_take(cache, slots, n);
    fixture_give(cache, slots, n);
    for (size_t i = n; i-- > 0;)
        REQUIRE(cpi_cache_alloc(cache) == slots[i]);
}

TEST_TIMES(free_keeps_no_more_than_the_share, PLACES)
{
    struct cpi_cache *cache;
    void *slots[CAPACITY];

    fixture_init();
    cache = fixture_cache((uint32_t)_i + 1, true);
    fixture_take(cache, slots, CAPACITY);
    for (size_t i = 0; i < CAPACITY; i++) {
        REQUIRE(cpi_cache_free(cache, slots[i]));
        REQUIRE(cpi_cache_rounds(cache) <= (size_t)(_i + 2) * LIMIT);
        REQUIRE_EQUAL(cpi_cache_rounds(cache) + fixture_in_depot(), i + 1);
    }
    REQUIRE(cpi_cache_rounds(cache) > (size_t)(_i + 1) * LIMIT - LIMIT);
}

TEST(flush_gives_all_to_the_depot)
{
    struct cpi_cache *cache;
    void *slots[100];

    fixture_init();
    cache = fixture_cache(PLACES, true);
    for (size_t n = 0; n <= 100; n++) {
        fixture_take(cache, slots, n);
        fixture_give(cache, slots, n);
        cpi_cache_flush(cache);
        REQUIRE_EQUAL(cpi_cache_rounds(cache), 0);
        REQUIRE_EQUAL(fixture_in_depot(), cpi_slab_fresh(fixture_slab));
        REQUIRE_EQUAL(cache->entry->limit, 0);
        REQUIRE_EQUAL(cpi_cache_loaded(cache), 0);
        REQUIRE_EQUAL(cpi_load(&cache->stocked, relaxed), 0);
        for (size_t i = 0; i < PLACES; i++)
            REQUIRE_EQUAL(cpi_load(&cache->spare[i], relaxed), 0);
    }
}

/* The last full magazine of a dry pool: a part is loaded, the rest is for all. */
TEST(refill_while_dry_leaves_most_to_others)
{
    struct cpi_cache *cache;
    void *slots[LIMIT];

    fixture_init();
    cache = fixture_cache(1, true);
    fixture_take(cache, slots, LIMIT);
    fixture_give(cache, slots, LIMIT);
    cpi_cache_flush(cache);
    REQUIRE_EQUAL(fixture_in_depot(), LIMIT);
    cpi_depot_set_dry(fixture_depot, true);
    REQUIRE(cpi_cache_refill(cache));
    REQUIRE_EQUAL(cpi_cache_rounds(cache), (LIMIT + 3) / 4);
    REQUIRE_EQUAL(fixture_in_depot(), LIMIT - (LIMIT + 3) / 4);
    fixture_take(cache, slots, LIMIT);
    for (size_t i = 0; i < LIMIT; i++)
        for (size_t j = 0; j < i; j++)
            REQUIRE(slots[i] != slots[j]);
    REQUIRE_EQUAL(cpi_slab_fresh(fixture_slab), LIMIT);
    fixture_give(cache, slots, LIMIT);
}

/* With magazines to spare in the depot again nobody goes on dividing them. */
TEST(refill_beside_full_magazines_ends_the_dryness)
{
    struct cpi_cache *cache;
    void *slots[3 * LIMIT];

    fixture_init();
    cache = fixture_cache(1, true);
    fixture_take(cache, slots, 3 * LIMIT);
    fixture_give(cache, slots, 3 * LIMIT);
    cpi_cache_flush(cache);
    cpi_depot_set_dry(fixture_depot, true);
    REQUIRE(cpi_cache_refill(cache));
    REQUIRE(!cpi_depot_is_dry(fixture_depot));
    REQUIRE_EQUAL(cpi_cache_rounds(cache), LIMIT);
}

/* Frees of what was just claimed, and of what others have claimed meanwhile, need not
 * come out of line twice. */
TEST(bound_follows_the_watermark)
{
    struct cpi_cache *cache;
    struct cpi_cache *other;
    void *slots[2];
    void *others[LIMIT];

    fixture_init();
    cache = fixture_cache(1, true);
    other = fixture_cache(1, true);
    REQUIRE(cpi_cache_refill_fresh(cache, 0));
    REQUIRE_EQUAL(cache->entry->bound, cpi_slab_fresh(fixture_slab));
    fixture_take(cache, slots, 2);
    fixture_take(other, others, LIMIT);
    REQUIRE(cache->entry->bound < cpi_slab_fresh(fixture_slab));
    fixture_give(cache, slots, 1);
    REQUIRE_EQUAL(cache->entry->bound, cpi_slab_fresh(fixture_slab));
}

/* Near the end a claim takes a part of what is left, so that others get some. */
TEST(refill_from_fresh_leaves_some_to_others)
{
    struct cpi_cache *cache;
    void *slots[CAPACITY];

    fixture_init();
    cache = fixture_cache(1, true);
    fixture_take(cache, slots, CAPACITY - 2 * LIMIT);
    while (cpi_cache_rounds(cache) > 0)
        fixture_take(cache, slots, 1);
    if (cpi_slab_fresh(fixture_slab) < CAPACITY) {
        size_t left = CAPACITY - cpi_slab_fresh(fixture_slab);

        REQUIRE(cpi_cache_refill(cache));
        REQUIRE(cpi_cache_rounds(cache) <= left / 16 + 1);
    }
}

/* A stealing thread finds an empty spare of no use, and leaves it to the owner. */
TEST(steal_leaves_empty_spares)
{
    struct cpi_cache *cache;
    void *slots[5 * LIMIT];
    size_t empty = 0;

    fixture_init();
    cache = fixture_cache(4, true);
    fixture_take(cache, slots, 5 * LIMIT);
    fixture_give(cache, slots, 5 * LIMIT);
    fixture_take(cache, slots, 3 * LIMIT);
    REQUIRE(cpi_load(&cache->stocked, relaxed) > 0);
    while (cpi_cache_steal(cache) != 0)
        ;
    for (size_t i = 0; i < PLACES; i++)
        empty += cpi_load(&cache->spare[i], relaxed) != 0;
    REQUIRE(empty >= 2);
}

TEST(spill_while_dry_gives_full_spares_away)
{
    struct cpi_cache *cache;
    void *slots[(PLACES + 1) * LIMIT];

    fixture_init();
    cache = fixture_cache(PLACES, true);
    fixture_take(cache, slots, (PLACES + 1) * LIMIT);
    cpi_depot_set_dry(fixture_depot, true);
    fixture_give(cache, slots, (PLACES + 1) * LIMIT);
    REQUIRE(cpi_cache_rounds(cache) <= 2 * LIMIT);
    REQUIRE(fixture_in_depot() >= (PLACES - 1) * LIMIT);
}

TEST(discard_forgets_all)
{
    struct cpi_cache *cache;
    void *slots[50];

    fixture_init();
    cache = fixture_cache(PLACES, true);
    fixture_take(cache, slots, 50);
    fixture_give(cache, slots, 50);
    cpi_cache_discard(cache);
    REQUIRE_EQUAL(cpi_cache_rounds(cache), 0);
    REQUIRE_EQUAL(cache->entry->count, 0);
    REQUIRE_EQUAL(cache->entry->limit, 0);
}

/* In the child of a fork an owner goes on where a stealing thread had begun to take its loaded
 * magazine.  The rounds of that are lost, and no other slot is lost or there twice. */
TEST(magazine_that_a_vanished_thread_was_taking_is_left_behind)
{
    enum { TAKEN = 3 * LIMIT + LIMIT / 2 };
    struct cpi_cache *cache;
    void *slots[TAKEN];

    fixture_init();
    cache = fixture_cache(2, false);
    fixture_take(cache, slots, TAKEN);
    REQUIRE(cpi_cache_rounds(cache) > 0 && cpi_cache_rounds(cache) < LIMIT);
    cpi_cache_active(cache)->limit = 0; /* as cpi_cache_detach begins */
    fixture_give(cache, slots, TAKEN);
    cpi_cache_flush(cache);
    REQUIRE_EQUAL(fixture_in_depot(), TAKEN);
}

/*
 * ---- Recall --------------------------------------------------------------
 */

TEST(steal_takes_full_spares_until_there_is_none)
{
    struct cpi_cache *cache;
    struct cpi_counters stealer;
    void *slots[5 * LIMIT];
    size_t stolen = 0;
    uint32_t node;

    fixture_init();
    memset(&stealer, 0, sizeof(stealer));
    cache = fixture_cache(4, true);
    REQUIRE_EQUAL(cpi_cache_steal(cache), 0);
    fixture_take(cache, slots, 5 * LIMIT);
    REQUIRE_EQUAL(cpi_cache_steal(cache), 0);
    fixture_give(cache, slots, 5 * LIMIT);
    while ((node = cpi_cache_steal(cache)) != 0) {
        REQUIRE_EQUAL(cpi_magazine_count(cpi_depot_magazine(fixture_depot, node)), LIMIT);
        cpi_depot_give(fixture_depot, &stealer, node);
        stolen++;
    }
    REQUIRE_EQUAL(stolen, 4);
    /* The loaded magazine stays, and the owner finds the rest in the depot. */
    fixture_take(cache, slots, 5 * LIMIT);
    REQUIRE_EQUAL(fixture_in_depot() + cpi_cache_rounds(cache) + 5 * LIMIT,
                  cpi_slab_fresh(fixture_slab));
    fixture_give(cache, slots, 5 * LIMIT);
    cpi_cache_flush(cache);
    REQUIRE_EQUAL(fixture_in_depot(), cpi_slab_fresh(fixture_slab));
}
