/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_grow.c - pools that grow by themselves, that are grown and that are
 * shrunk: addresses stay, and the slots added and removed add up.
 */
#include "growth.h"

enum { SLOT_SIZE = 32, CAPACITY = 200, MAX_CAPACITY = 20000 };

/* --- Growing --- */

/* One by one up to the limit.  No slot that was there before moves. */
TEST_TIMES(alloc_grows_the_pool_up_to_its_maximum, GROWTH_KINDS)
{
    cpool_t *pool = growth_pool(SLOT_SIZE, growth_kinds[_i], CAPACITY, MAX_CAPACITY);
    char *base = cpool_at(pool, 0);
    size_t stride = support_stats(pool).slot_stride;
    size_t capacity = CAPACITY;
    struct hold hold = hold_of(pool);

    REQUIRE_EQUAL(support_stats(pool).max_capacity, MAX_CAPACITY);
    while (hold_take(&hold, 1) == 1) {
        struct figures stats;

        if (hold.count % 50 != 0)
            continue;
        stats = support_stats(pool);
        REQUIRE(stats.capacity >= hold.count);
        REQUIRE(stats.capacity <= capacity + capacity / 2 + stats.magazine_rounds);
        capacity = stats.capacity;
        REQUIRE(cpool_at(pool, hold.count - 1) == (void *)(base + (hold.count - 1) * stride));
    }
    REQUIRE_EQUAL(hold.count, MAX_CAPACITY);
    growth_require_capacity(pool, MAX_CAPACITY);
    REQUIRE(support_stats(pool).growths > 5);
    hold_free_all(&hold);
    growth_require_capacity(pool, MAX_CAPACITY);
    hold_fini(&hold);
    support_destroy_whole(pool);
}

TEST_TIMES(grow_returns_what_it_added, GROWTH_KINDS)
{
    cpool_t *pool = growth_pool(SLOT_SIZE, growth_kinds[_i], CAPACITY, 1000);

    REQUIRE_EQUAL(cpool_grow(pool, 0), 0);
    REQUIRE_EQUAL(cpool_grow(pool, 1), 1);
    growth_require_capacity(pool, CAPACITY + 1);
    REQUIRE_EQUAL(cpool_grow(pool, 299), 299);
    growth_require_capacity(pool, CAPACITY + 300);
    REQUIRE_EQUAL(support_stats(pool).growths, 2);
    REQUIRE_EQUAL(cpool_grow(pool, SIZE_MAX), 500);
    growth_require_capacity(pool, 1000);
    REQUIRE_EQUAL(cpool_grow(pool, 1), 0);
    REQUIRE_EQUAL(cpool_grow(pool, SIZE_MAX), 0);
    support_require_live(pool, 0);
    support_destroy_whole(pool);
}

TEST_TIMES(alloc_grows_within_callers_memory, GROWTH_KINDS)
{
    cpool_config_t config = support_config(SLOT_SIZE, CAPACITY);
    struct hold hold;
    void *memory;
    cpool_t *pool;

    config.flags = growth_kinds[_i];
    config.max_capacity = 5000;
    config.memory_size = cpool_memory_required(&config);
    REQUIRE_EQUAL(posix_memalign(&memory, CPOOL_MEMORY_ALIGN, config.memory_size), 0);
    config.memory = memory;
    pool = support_create(&config);
    hold = hold_of(pool);
    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), 5000);
    hold_free_all(&hold);
    REQUIRE(cpool_shrink(pool, SIZE_MAX) <= 4999);
    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), 5000);
    hold_end(&hold);
    free(memory);
}

/* --- Shrinking --- */

TEST_TIMES(shrink_removes_fresh_slots_first, GROWTH_KINDS)
{
    cpool_t *pool = growth_pool(SLOT_SIZE, growth_kinds[_i], 1000, 0);
    struct hold hold = hold_of(pool);

    REQUIRE_EQUAL(cpool_shrink(pool, 0), 0);
    REQUIRE_EQUAL(cpool_shrink(pool, 300), 300);
    growth_require_capacity(pool, 700);
    support_require_live(pool, 0);
    REQUIRE_EQUAL(hold_take(&hold, 50), 50);
    REQUIRE_EQUAL(cpool_shrink(pool, 100), 100);
    /* No growth by itself: it has no maximum above its capacity. */
    hold_take(&hold, SIZE_MAX);
    REQUIRE_EQUAL(hold.count, 600);
    growth_require_capacity(pool, 600);
    REQUIRE_EQUAL(support_stats(pool).growths, 0);
    REQUIRE_EQUAL(cpool_shrink(pool, 10), 0);
    hold_verify(&hold);
    REQUIRE_EQUAL(cpool_grow(pool, SIZE_MAX), 400);
    hold_take(&hold, SIZE_MAX);
    REQUIRE_EQUAL(hold.count, 1000);
    hold_end(&hold);
}

/* Frees all but the slots below an index. */
static void keep_below(struct hold *hold, size_t index)
{
    for (size_t i = hold->count; i > 0; i--)
        if (cpool_index(hold->pool, hold->slots[i - 1]) >= index)
            hold_free_one(hold, i - 1);
}

TEST_TIMES(shrink_removes_free_slots_at_the_top, GROWTH_KINDS)
{
    cpool_t *pool = growth_pool(SLOT_SIZE, growth_kinds[_i], 1000, 0);
    struct hold hold = hold_of(pool);

    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), 1000);
    REQUIRE_EQUAL(cpool_shrink(pool, 1), 0);
    keep_below(&hold, 700);
    REQUIRE_EQUAL(cpool_shrink(pool, 100), 100);
    growth_require_capacity(pool, 900);
    support_require_live(pool, 700);
    REQUIRE_EQUAL(cpool_shrink(pool, SIZE_MAX), 200);
    growth_require_capacity(pool, 700);
    support_require_live(pool, 700);
    hold_verify(&hold);
    REQUIRE(cpool_alloc(pool) == NULL);
    keep_below(&hold, 350);
    support_require_obtainable(pool, 350);
    hold_end(&hold);
}

TEST_TIMES(shrink_leaves_one_slot, GROWTH_KINDS)
{
    cpool_t *pool = growth_pool(SLOT_SIZE, growth_kinds[_i], 1000, 0);
    struct hold hold = hold_of(pool);

    REQUIRE_EQUAL(cpool_shrink(pool, SIZE_MAX), 999);
    growth_require_capacity(pool, 1);
    REQUIRE_EQUAL(cpool_shrink(pool, SIZE_MAX), 0);
    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), 1);
    hold_free_all(&hold);
    /* And where all have been in use. */
    REQUIRE_EQUAL(cpool_grow(pool, 999), 999);
    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), 1000);
    hold_free_all(&hold);
    REQUIRE_EQUAL(cpool_shrink(pool, SIZE_MAX), 999);
    growth_require_capacity(pool, 1);
    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), 1);
    hold_end(&hold);
}

/* Sanitizers keep memory of their own, but not in the slab. */
TEST_TIMES(shrink_gives_the_memory_back, GROWTH_KINDS)
{
    cpool_t *pool = growth_pool(SLOT_SIZE, growth_kinds[_i], 10000, 0);
    size_t bytes = 10000 * support_stats(pool).slot_stride;
    bool keeps = (growth_kinds[_i] & CPOOL_CHECKED) != 0;
    struct hold hold = hold_of(pool);

    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), 10000);
    REQUIRE(support_resident_inside(cpool_at(pool, 0), bytes) > bytes - 2 * support_page_size());
    hold_free_all(&hold);
    REQUIRE_EQUAL(cpool_shrink(pool, 9000), 9000);
    REQUIRE(keeps || support_resident_inside(cpool_at(pool, 0), bytes) < bytes / 8);
    hold_fini(&hold);
    support_destroy_whole(pool);
}
