/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_cache.c - refilling, spilling and recalling (lib/cache.h), with a slab
 * and a depot and without a pool.
 */
#include "support.h"

#include <stdatomic.h>
#include <string.h>

#include "atomic.h"
#include "cache.h"

enum {
    CAPACITY = 1000,
    LIMIT = 10,
    PLACES = 8,
    CACHES = 3,
    FOR_CACHES = CACHES * (PLACES + CPI_CACHE_HANDS)
};

static struct cpi_slab *slab;
static struct cpi_depot *depot;

static void make_store(void)
{
    size_t stride = cpi_depot_stride(LIMIT);
    size_t for_slots = cpi_depot_magazines(CAPACITY, LIMIT, CACHES);
    char *memory = support_lines((for_slots + FOR_CACHES) * stride);
    struct cpi_extent first;
    struct cpi_extent second;
    struct cpi_extent extent;
    const struct cpi_slab_shape shape = { 16, 16, CAPACITY, CAPACITY, CAPACITY };

    slab = support_lines(sizeof(*slab));
    depot = support_lines(sizeof(*depot));
    cpi_extent_init_committed(&extent, support_lines((size_t)CAPACITY * 16), (size_t)CAPACITY * 16);
    cpi_slab_init(slab, &extent, 0, &shape);
    cpi_extent_init_committed(&first, memory, for_slots * stride);
    cpi_extent_init_committed(&second, memory + for_slots * stride, FOR_CACHES * stride);
    cpi_depot_init(depot, &first, &second, LIMIT, CACHES);
}

/* A cache that uses its whole quota of spares. */
static struct cpi_cache *make_cache(uint32_t quota, bool inline_path)
{
    struct cpi_cache *cache =
        support_lines(offsetof(struct cpi_cache, spare) + PLACES * sizeof(cache->spare[0]));

    cache->slab = slab;
    cache->depot = depot;
    cache->ring_size = PLACES;
    cpi_cache_open(cache, &cache->own, inline_path, quota, NULL);
    cache->target = quota;
    return cache;
}

static size_t in_depot(void)
{
    return cpi_depot_count_stocked(depot) * LIMIT + cpi_depot_partial_rounds(depot);
}

/* Takes n slots, all different. */
static void take(struct cpi_cache *cache, void **slots, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        slots[i] = cpi_cache_alloc(cache);
        REQUIRE(cpi_slab_index(slab, slots[i]) < CAPACITY);
    }
}

static void give(struct cpi_cache *cache, void **slots, size_t n)
{
    for (size_t i = 0; i < n; i++)
        REQUIRE(cpi_cache_free(cache, slots[i]));
}

static uint64_t exchanges(const struct cpi_cache *cache)
{
    return cpi_load(&cache->counters.stocked_in, relaxed) +
           cpi_load(&cache->counters.stocked_out, relaxed) +
           cpi_load(&cache->counters.empty_in, relaxed) +
           cpi_load(&cache->counters.empty_out, relaxed);
}

START_TEST(open_is_both_empty_and_full)
{
    struct cpi_cache *cache;

    make_store();
    cache = make_cache(1, true);
    REQUIRE_EQUAL(cache->entry->count, 0);
    REQUIRE_EQUAL(cache->entry->limit, 0);
    REQUIRE(cache->entry->home == cache);
    REQUIRE_EQUAL(cpi_cache_rounds(cache), 0);
}
END_TEST

START_TEST(refill_from_fresh_is_in_order_of_address)
{
    struct cpi_cache *cache;

    make_store();
    cache = make_cache(1, true);
    for (size_t i = 0; i < CAPACITY; i++) {
        REQUIRE_EQUAL(cpi_slab_index(slab, cpi_cache_alloc(cache)), i);
        /* A magazine's rounds at a time, and fewer near the end. */
        REQUIRE(cpi_slab_fresh(slab) > i && cpi_slab_fresh(slab) <= i + LIMIT);
        REQUIRE_EQUAL(cache->entry->bound, cpi_slab_fresh(slab));
        REQUIRE_EQUAL(cpi_cache_rounds(cache), cpi_slab_fresh(slab) - i - 1);
    }
    REQUIRE(!cpi_cache_refill(cache));
    REQUIRE(cpi_cache_alloc(cache) == NULL);
}
END_TEST

/* A pool without the inline path shows its entry as empty and full for ever. */
START_TEST(use_without_inline_path_shows_nothing)
{
    struct cpi_cache *cache;
    void *slots[100];

    make_store();
    cache = make_cache(2, false);
    for (int round = 0; round < 3; round++) {
        take(cache, slots, 100);
        give(cache, slots, 50);
        REQUIRE_EQUAL(cache->entry->count, 0);
        REQUIRE_EQUAL(cache->entry->limit, 0);
        REQUIRE_EQUAL(cpi_cache_rounds(cache) + in_depot() + 50, cpi_slab_fresh(slab));
        give(cache, slots + 50, 50);
    }
}
END_TEST

/* At each place near the edge of a magazine, back and forth. */
START_TEST(alloc_and_free_across_the_edge_touch_no_depot)
{
    struct cpi_cache *cache;
    void *slots[4 * LIMIT];

    make_store();
    cache = make_cache(1, true);
    take(cache, slots, 4 * LIMIT);
    give(cache, slots, 2 * LIMIT);
    for (size_t held = 0; held < LIMIT; held++) {
        uint64_t before;
        void *few[4];

        take(cache, few, 1);
        before = exchanges(cache);
        for (int round = 0; round < 100; round++) {
            take(cache, few + 1, 3);
            give(cache, few + 1, 3);
        }
        /* Once at most, to find the place. */
        REQUIRE(exchanges(cache) <= before + 2);
    }
}
END_TEST

START_TEST(free_then_alloc_is_last_in_first_out)
{
    struct cpi_cache *cache;
    void *slots[CAPACITY];

    make_store();
    cache = make_cache((uint32_t)_i + 1, true);
    take(cache, slots, CAPACITY);
    give(cache, slots, CAPACITY);
    for (size_t i = CAPACITY; i-- > 0;)
        REQUIRE(cpi_cache_alloc(cache) == slots[i]);
}
END_TEST

START_TEST(free_keeps_no_more_than_the_share)
{
    struct cpi_cache *cache;
    void *slots[CAPACITY];

    make_store();
    cache = make_cache((uint32_t)_i + 1, true);
    take(cache, slots, CAPACITY);
    for (size_t i = 0; i < CAPACITY; i++) {
        REQUIRE(cpi_cache_free(cache, slots[i]));
        REQUIRE(cpi_cache_rounds(cache) <= (size_t)(_i + 2) * LIMIT);
        REQUIRE_EQUAL(cpi_cache_rounds(cache) + in_depot(), i + 1);
    }
    REQUIRE(cpi_cache_rounds(cache) > (size_t)(_i + 1) * LIMIT - LIMIT);
}
END_TEST

START_TEST(flush_gives_all_to_the_depot)
{
    struct cpi_cache *cache;
    void *slots[100];

    make_store();
    cache = make_cache(PLACES, true);
    for (size_t n = 0; n <= 100; n++) {
        take(cache, slots, n);
        give(cache, slots, n);
        cpi_cache_flush(cache);
        REQUIRE_EQUAL(cpi_cache_rounds(cache), 0);
        REQUIRE_EQUAL(in_depot(), cpi_slab_fresh(slab));
        REQUIRE_EQUAL(cache->entry->limit, 0);
        REQUIRE_EQUAL(cpi_cache_loaded(cache), 0);
        REQUIRE_EQUAL(cpi_load(&cache->stocked, relaxed), 0);
        for (size_t i = 0; i < PLACES; i++)
            REQUIRE_EQUAL(cpi_load(&cache->spare[i], relaxed), 0);
    }
}
END_TEST

/* Bursts that a larger share would have kept from the depot widen it, up to the
 * quota and no further. */
START_TEST(burst_beyond_the_share_widens_it)
{
    struct cpi_cache *cache;
    void *slots[(PLACES + 4) * LIMIT];

    make_store();
    cache = make_cache((uint32_t)_i + 1, true);
    cache->target = 1;
    for (int round = 0; round < 10; round++) {
        take(cache, slots, (PLACES + 4) * LIMIT);
        give(cache, slots, (PLACES + 4) * LIMIT);
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

    make_store();
    cache = make_cache(PLACES, true);
    cache->target = 2;
    take(cache, slots, 2 * LIMIT);
    give(cache, slots, 2 * LIMIT);
    cache->gave = false;
    for (int round = 0; round < 10; round++) {
        take(cache, slots, 2 * LIMIT);
        give(cache, slots, 2 * LIMIT);
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

    make_store();
    cache = make_cache(PLACES, true);
    cache->target = 1;
    cache->gave = false;
    take(cache, slots, 8 * LIMIT);
    for (n = 0; cpi_load(&cache->counters.stocked_in, relaxed) == 0; n++)
        give(cache, slots + n, 1);
    share = cache->target;
    REQUIRE_EQUAL(share, 2);
    while (cpi_load(&cache->counters.stocked_out, relaxed) == 0)
        take(cache, slots + --n, 1);
    REQUIRE_EQUAL(cache->target, 2 * share);
}
END_TEST

/* A spare that stays full is not needed; half of those go at each review. */
START_TEST(review_gives_up_unneeded_spares)
{
    struct cpi_cache *cache;
    void *slots[(PLACES + 1) * LIMIT];

    make_store();
    cache = make_cache(PLACES, true);
    take(cache, slots, (PLACES + 1) * LIMIT);
    give(cache, slots, (PLACES + 1) * LIMIT);
    REQUIRE(cpi_cache_rounds(cache) >= PLACES * LIMIT);
    for (size_t swaps = 0; swaps < 20 * CPI_REVIEW_SWAPS; swaps++) {
        take(cache, slots, 2 * LIMIT);
        give(cache, slots, 2 * LIMIT);
    }
    REQUIRE(cpi_cache_rounds(cache) <= 5 * LIMIT);
    REQUIRE_EQUAL(cpi_cache_rounds(cache) + in_depot(), cpi_slab_fresh(slab));
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

    make_store();
    cache = make_cache(PLACES, true);
    take(cache, slots, (PLACES + 1) * LIMIT);
    give(cache, slots, (PLACES + 1) * LIMIT);
    /* The first review knows of the time when there were none. */
    while (cache->counters.swaps < CPI_REVIEW_SWAPS) {
        take(cache, slots, 2 * LIMIT);
        give(cache, slots, 2 * LIMIT);
    }
    REQUIRE_EQUAL(cache->target, PLACES);
    take(cache, slots, used);
    give(cache, slots, used);
    before = cache->counters.swaps;
    while (cache->counters.swaps / CPI_REVIEW_SWAPS == before / CPI_REVIEW_SWAPS) {
        take(cache, slots, 2 * LIMIT);
        give(cache, slots, 2 * LIMIT);
    }
    if (_i == 0)
        REQUIRE(cache->target < PLACES && cache->target >= PLACES / 2);
    else
        REQUIRE_EQUAL(cache->target, PLACES);
}
END_TEST

/* Wherever the ring of spares is when the review comes, and whatever places are free:
 * a spare that is no longer counted must be gone. */
START_TEST(review_beside_free_places_refuses_and_loses_nothing)
{
    struct cpi_cache *cache;
    void *slots[(PLACES + 1) * LIMIT];
    size_t kept = (size_t)(_i + 2) * LIMIT;

    make_store();
    cache = make_cache(PLACES, true);
    take(cache, slots, (PLACES + 1) * LIMIT);
    give(cache, slots, kept);
    for (size_t swaps = 0; swaps < 2 * CPI_REVIEW_SWAPS + (size_t)_i; swaps++) {
        take(cache, slots, LIMIT + 1);
        give(cache, slots, LIMIT + 1);
    }
    give(cache, slots + kept, (PLACES + 1) * LIMIT - kept);
    REQUIRE_EQUAL(cpi_cache_rounds(cache) + in_depot(), cpi_slab_fresh(slab));
    REQUIRE(cpi_load(&cache->stocked, relaxed) <= cache->target);
    cpi_cache_flush(cache);
    REQUIRE_EQUAL(in_depot(), cpi_slab_fresh(slab));
}
END_TEST

/* The last full magazine of a dry pool: a part is loaded, the rest is for all. */
START_TEST(refill_while_dry_leaves_most_to_others)
{
    struct cpi_cache *cache;
    void *slots[LIMIT];

    make_store();
    cache = make_cache(1, true);
    take(cache, slots, LIMIT);
    give(cache, slots, LIMIT);
    cpi_cache_flush(cache);
    REQUIRE_EQUAL(in_depot(), LIMIT);
    cpi_depot_set_dry(depot, true);
    REQUIRE(cpi_cache_refill(cache));
    REQUIRE_EQUAL(cpi_cache_rounds(cache), (LIMIT + 3) / 4);
    REQUIRE_EQUAL(in_depot(), LIMIT - (LIMIT + 3) / 4);
    take(cache, slots, LIMIT);
    for (size_t i = 0; i < LIMIT; i++)
        for (size_t j = 0; j < i; j++)
            REQUIRE(slots[i] != slots[j]);
    REQUIRE_EQUAL(cpi_slab_fresh(slab), LIMIT);
    give(cache, slots, LIMIT);
}
END_TEST

/* With magazines to spare in the depot again nobody goes on dividing them. */
START_TEST(refill_beside_full_magazines_ends_the_dryness)
{
    struct cpi_cache *cache;
    void *slots[3 * LIMIT];

    make_store();
    cache = make_cache(1, true);
    take(cache, slots, 3 * LIMIT);
    give(cache, slots, 3 * LIMIT);
    cpi_cache_flush(cache);
    cpi_depot_set_dry(depot, true);
    REQUIRE(cpi_cache_refill(cache));
    REQUIRE(!cpi_depot_is_dry(depot));
    REQUIRE_EQUAL(cpi_cache_rounds(cache), LIMIT);
}
END_TEST

/* Frees of what was just claimed, and of what others have claimed meanwhile, need not
 * come out of line twice. */
START_TEST(bound_follows_the_watermark)
{
    struct cpi_cache *cache;
    struct cpi_cache *other;
    void *slots[2];
    void *others[LIMIT];

    make_store();
    cache = make_cache(1, true);
    other = make_cache(1, true);
    REQUIRE(cpi_cache_refill_fresh(cache, 0));
    REQUIRE_EQUAL(cache->entry->bound, cpi_slab_fresh(slab));
    take(cache, slots, 2);
    take(other, others, LIMIT);
    REQUIRE(cache->entry->bound < cpi_slab_fresh(slab));
    give(cache, slots, 1);
    REQUIRE_EQUAL(cache->entry->bound, cpi_slab_fresh(slab));
}
END_TEST

/* Near the end a claim takes a part of what is left, so that others get some. */
START_TEST(refill_from_fresh_leaves_some_to_others)
{
    struct cpi_cache *cache;
    void *slots[CAPACITY];

    make_store();
    cache = make_cache(1, true);
    take(cache, slots, CAPACITY - 2 * LIMIT);
    while (cpi_cache_rounds(cache) > 0)
        take(cache, slots, 1);
    if (cpi_slab_fresh(slab) < CAPACITY) {
        size_t left = CAPACITY - cpi_slab_fresh(slab);

        REQUIRE(cpi_cache_refill(cache));
        REQUIRE(cpi_cache_rounds(cache) <= left / 16 + 1);
    }
}
END_TEST

/* A stealing thread finds an empty spare of no use, and leaves it to the owner. */
START_TEST(steal_leaves_empty_spares)
{
    struct cpi_cache *cache;
    void *slots[5 * LIMIT];
    size_t empty = 0;

    make_store();
    cache = make_cache(4, true);
    take(cache, slots, 5 * LIMIT);
    give(cache, slots, 5 * LIMIT);
    take(cache, slots, 3 * LIMIT);
    REQUIRE(cpi_load(&cache->stocked, relaxed) > 0);
    while (cpi_cache_steal(cache) != 0)
        ;
    for (size_t i = 0; i < PLACES; i++)
        empty += cpi_load(&cache->spare[i], relaxed) != 0;
    REQUIRE(empty >= 2);
}
END_TEST

START_TEST(spill_while_dry_gives_full_spares_away)
{
    struct cpi_cache *cache;
    void *slots[(PLACES + 1) * LIMIT];

    make_store();
    cache = make_cache(PLACES, true);
    take(cache, slots, (PLACES + 1) * LIMIT);
    cpi_depot_set_dry(depot, true);
    give(cache, slots, (PLACES + 1) * LIMIT);
    REQUIRE(cpi_cache_rounds(cache) <= 2 * LIMIT);
    REQUIRE(in_depot() >= (PLACES - 1) * LIMIT);
}
END_TEST

START_TEST(discard_forgets_all)
{
    struct cpi_cache *cache;
    void *slots[50];

    make_store();
    cache = make_cache(PLACES, true);
    take(cache, slots, 50);
    give(cache, slots, 50);
    cpi_cache_discard(cache);
    REQUIRE_EQUAL(cpi_cache_rounds(cache), 0);
    REQUIRE_EQUAL(cache->entry->count, 0);
    REQUIRE_EQUAL(cache->entry->limit, 0);
}
END_TEST

/*
 * ---- Recall --------------------------------------------------------------
 */

START_TEST(steal_takes_full_spares_until_there_is_none)
{
    struct cpi_cache *cache;
    struct cpi_counters stealer;
    void *slots[5 * LIMIT];
    size_t stolen = 0;
    uint32_t node;

    make_store();
    memset(&stealer, 0, sizeof(stealer));
    cache = make_cache(4, true);
    REQUIRE_EQUAL(cpi_cache_steal(cache), 0);
    take(cache, slots, 5 * LIMIT);
    REQUIRE_EQUAL(cpi_cache_steal(cache), 0);
    give(cache, slots, 5 * LIMIT);
    while ((node = cpi_cache_steal(cache)) != 0) {
        REQUIRE_EQUAL(cpi_magazine_count(cpi_depot_magazine(depot, node)), LIMIT);
        cpi_depot_give(depot, &stealer, node);
        stolen++;
    }
    REQUIRE_EQUAL(stolen, 4);
    /* What is loaded stays, and the owner finds the rest in the depot. */
    take(cache, slots, 5 * LIMIT);
    REQUIRE_EQUAL(in_depot() + cpi_cache_rounds(cache) + 5 * LIMIT, cpi_slab_fresh(slab));
    give(cache, slots, 5 * LIMIT);
    cpi_cache_flush(cache);
    REQUIRE_EQUAL(in_depot(), cpi_slab_fresh(slab));
}
END_TEST

static struct cpi_cache *victim;
static _Atomic bool stop;

static void *steal_until_stopped(void *unused)
{
    struct cpi_counters stealer;

    memset(&stealer, 0, sizeof(stealer));
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        uint32_t node = cpi_cache_steal(victim);

        if (node == 0)
            continue;
        cpi_depot_give(depot, &stealer, node);
    }
    return unused;
}

/* The owner stamps what it holds, while two stealing threads empty its cache. */
START_TEST(steal_from_working_owner_loses_and_doubles_nothing)
{
    pthread_t stealers[2];
    void *slots[60];

    make_store();
    victim = make_cache(PLACES, true);
    for (int i = 0; i < 2; i++)
        stealers[i] = support_start(steal_until_stopped, NULL);
    for (size_t round = 0; round < SUPPORT_COUNT(20000, 1000); round++) {
        size_t n = round % 61;

        take(victim, slots, n);
        for (size_t i = 0; i < n; i++)
            *(size_t *)slots[i] = i;
        for (size_t i = 0; i < n; i++)
            REQUIRE(*(size_t *)slots[i] == i);
        give(victim, slots, n);
    }
    atomic_store_explicit(&stop, true, memory_order_relaxed);
    for (int i = 0; i < 2; i++)
        support_join(stealers[i]);
    cpi_cache_flush(victim);
    REQUIRE_EQUAL(in_depot(), cpi_slab_fresh(slab));
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        ONCE(open_is_both_empty_and_full),
        ONCE(refill_from_fresh_is_in_order_of_address),
        ONCE(use_without_inline_path_shows_nothing),
        ONCE(alloc_and_free_across_the_edge_touch_no_depot),
        TIMES(free_then_alloc_is_last_in_first_out, PLACES),
        TIMES(free_keeps_no_more_than_the_share, PLACES),
        ONCE(flush_gives_all_to_the_depot),
        TIMES(burst_beyond_the_share_widens_it, PLACES),
        ONCE(burst_within_the_share_widens_nothing),
        ONCE(exchange_after_a_gift_widens_the_share),
        ONCE(review_gives_up_unneeded_spares),
        TIMES(review_keeps_half_and_what_was_used, 2),
        TIMES(review_beside_free_places_refuses_and_loses_nothing, PLACES - 2),
        ONCE(refill_while_dry_leaves_most_to_others),
        ONCE(refill_beside_full_magazines_ends_the_dryness),
        ONCE(bound_follows_the_watermark),
        ONCE(refill_from_fresh_leaves_some_to_others),
        ONCE(steal_leaves_empty_spares),
        ONCE(spill_while_dry_gives_full_spares_away),
        ONCE(discard_forgets_all),
        ONCE(steal_takes_full_spares_until_there_is_none),
        ONCE(steal_from_working_owner_loses_and_doubles_nothing),
    };

    return SUPPORT_RUN("cache", tests);
}
