/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_quarantine.c - freed slots that wait before they are used again: in the order of
 * their frees, and not while the pool is dry.
 *
 * Includes the public API only.
 */
#include "support.h"

#include <string.h>

#include <cpool/debug.h>

enum { CAPACITY = 300, PLACES = 64 };

/* The modes that have their own ways of freeing. */
static const struct mode {
    unsigned flags;
    size_t fill;
} modes[] = { { 0, 0 }, { CPOOL_EXACT, 0 }, { CPOOL_WAITABLE, 0 }, { 0, 1 } };

#define MODES (sizeof(modes) / sizeof(modes[0]))

static cpool_t *make_pool(const struct mode *mode, unsigned flags, size_t capacity, size_t places)
{
    cpool_config_t config = support_config(24, capacity);
    cpool_debug_t debug = CPOOL_DEBUG_INIT;

    debug.quarantine = places;
    config.flags = mode->flags | flags;
    debug.fill = mode->fill;
    config.debug = &debug;
    support_capture_reports();
    return support_create(&config);
}

START_TEST(freed_slot_waits_for_as_many_frees_as_places)
{
    cpool_t *pool = make_pool(&modes[_i], 0, CAPACITY, PLACES);
    void *slot = cpool_alloc(pool);

    cpool_free(pool, slot);
    for (int i = 0; i < PLACES; i++) {
        void *other = cpool_alloc(pool);

        REQUIRE(other != NULL && other != slot);
        cpool_free(pool, other);
    }
    support_require_live(pool, 0);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
    REQUIRE_NO_REPORT();
}
END_TEST

/* Fewer slots than places: each alloc takes the slot that has waited longest. */
START_TEST(dry_pool_uses_the_oldest_first)
{
    cpool_t *pool = make_pool(&modes[_i], CPOOL_EXACT, 10, 10);
    void *slots[10];

    REQUIRE_EQUAL(support_take_all(pool, slots), 10);
    for (int i = 0; i < 10; i++)
        cpool_free(pool, slots[(i * 7) % 10]);
    support_require_live(pool, 0);
    for (int i = 0; i < 10; i++)
        REQUIRE(cpool_alloc(pool) == slots[(i * 7) % 10]);
    REQUIRE(cpool_alloc(pool) == NULL);
    cpool_free_bulk(pool, slots, 10);
    support_destroy_empty(pool);
    REQUIRE_NO_REPORT();
}
END_TEST

START_TEST(every_slot_can_be_had_again_and_again)
{
    cpool_t *pool = make_pool(&modes[_i], 0, CAPACITY, PLACES);
    void *slots[CAPACITY];

    for (int round = 0; round < 20; round++) {
        REQUIRE_EQUAL(support_take_all(pool, slots), CAPACITY);
        cpool_free_bulk(pool, slots, CAPACITY);
        support_require_live(pool, 0);
    }
    REQUIRE_EQUAL(cpool_reserve(pool, CAPACITY), 0);
    REQUIRE_EQUAL(cpool_reset(pool), 0);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
    REQUIRE_NO_REPORT();
}
END_TEST

START_TEST(shrink_reaches_slots_that_wait)
{
    cpool_t *pool = make_pool(&modes[0], 0, 100, 100);
    void *slots[100];

    REQUIRE_EQUAL(support_take_all(pool, slots), 100);
    cpool_free_bulk(pool, slots, 100);
    REQUIRE_EQUAL(cpool_shrink(pool, 60), 60);
    support_require_live(pool, 0);
    REQUIRE_EQUAL(support_take_all(pool, slots), 40);
    cpool_free_bulk(pool, slots, 40);
    support_destroy_empty(pool);
    REQUIRE_NO_REPORT();
}
END_TEST

/*
 * ---- Empty means empty, with other threads ---------------------------------
 */

struct work {
    cpool_t *pool;
    size_t rounds;
};

/* Each thread holds one slot at most, so there is one for every thread at any time. */
static void *take_and_free(void *argument)
{
    const struct work *work = argument;

    for (size_t i = 0; i < work->rounds; i++) {
        void *slot = cpool_alloc(work->pool);

        REQUIRE(slot != NULL);
        memset(slot, 1, 24);
        cpool_free(work->pool, slot);
    }
    return NULL;
}

START_TEST(alloc_beside_threads_finds_slots_that_wait)
{
    struct work work = { make_pool(&modes[_i], CPOOL_EXACT, 4, 4), SUPPORT_COUNT(20000, 2000) };
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        threads[i] = support_start(take_and_free, &work);
    for (int i = 0; i < 4; i++)
        support_join(threads[i]);
    support_require_live(work.pool, 0);
    support_destroy_empty(work.pool);
    REQUIRE_NO_REPORT();
}
END_TEST

static void *wait_for_slot(void *argument)
{
    struct work *work = argument;

    for (size_t i = 0; i < work->rounds; i++) {
        void *slot = cpool_alloc_wait(work->pool, NULL);

        REQUIRE(slot != NULL);
        cpool_free(work->pool, slot);
    }
    return NULL;
}

START_TEST(waiting_threads_get_slots_that_wait)
{
    struct work work = { make_pool(&modes[0], CPOOL_WAITABLE, 2, 2), SUPPORT_COUNT(3000, 300) };
    pthread_t threads[6];

    for (int i = 0; i < 6; i++)
        threads[i] = support_start(wait_for_slot, &work);
    for (int i = 0; i < 6; i++)
        support_join(threads[i]);
    support_require_live(work.pool, 0);
    support_destroy_empty(work.pool);
    REQUIRE_NO_REPORT();
}
END_TEST

START_TEST(quarantine_in_callers_memory_starts_empty)
{
    cpool_config_t config = support_config(24, 50);
    cpool_debug_t debug = CPOOL_DEBUG_INIT;
    void *slots[50];
    cpool_t *pool;

    config.thread_caches = 2;
    config.flags = CPOOL_EXACT;
    debug.quarantine = 20;
    debug.log = 10;
    config.debug = &debug;
    config.memory_size = cpool_memory_required(&config);
    config.memory = support_lines(config.memory_size);
    memset(config.memory, 0xA5, config.memory_size);
    support_capture_reports();
    pool = support_create(&config);
    support_require_live(pool, 0);
    REQUIRE_EQUAL(support_take_all(pool, slots), 50);
    cpool_free_bulk(pool, slots, 50);
    support_destroy_empty(pool);
    REQUIRE_NO_REPORT();
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(freed_slot_waits_for_as_many_frees_as_places, MODES),
        TIMES(dry_pool_uses_the_oldest_first, MODES),
        TIMES(every_slot_can_be_had_again_and_again, MODES),
        ONCE(shrink_reaches_slots_that_wait),
        TIMES(alloc_beside_threads_finds_slots_that_wait, MODES),
        ONCE(waiting_threads_get_slots_that_wait),
        ONCE(quarantine_in_callers_memory_starts_empty),
    };

    return SUPPORT_RUN("quarantine", tests);
}
