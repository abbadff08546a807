/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steal.c - rounds taken back from caches (lib/cache/steal.h), inside real pools.
 */
#include "support.h"

#include "inside.h"
#include "cache/steal.h"

enum { CAPACITY = 2000, ROUNDS = 20 };

static cpool_t *pool;

static void make_pool(void)
{
    cpool_config_t config = support_config(16, CAPACITY);

    config.magazine_rounds = ROUNDS;
    pool = support_create(&config);
}

/* Bursts that make a cache want more spares than it began with. */
static void burst(size_t n)
{
    void *slots[CAPACITY];

    for (int round = 0; round < 10; round++) {
        REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, n), n);
        cpool_free_bulk(pool, slots, n);
    }
}

static struct support_door door;

static void *fill_and_wait(void *unused)
{
    burst(CAPACITY / 4);
    support_door_wait(&door);
    return unused;
}

TEST(steal_gives_spares_of_a_waiting_thread_to_the_depot)
{
    struct cpi_uncached uncached;
    pthread_t thread;
    size_t cached;

    make_pool();
    cpi_depot_enter(&inside(pool)->depot, &uncached);
    support_door_init(&door);
    thread = support_start(fill_and_wait, NULL);
    support_door_await(&door, 1);
    cached = support_stats(pool).in_caches;
    REQUIRE(cached > ROUNDS);
    while (cpi_steal_spare(&inside(pool)->registry, &uncached.counters))
        ;
    /* The loaded magazine stays with the thread. */
    REQUIRE(inside_figures(pool).caches == 1);
    support_door_open(&door);
    support_join(thread);
    cpi_depot_leave(&inside(pool)->depot, &uncached);
    support_require_live(pool, 0);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}

/* Spares taken out of caches are counted, one by one. */
TEST(steal_is_counted)
{
    struct cpi_uncached uncached;
    void *slots[6 * ROUNDS];
    uint64_t recalls = 0;

    make_pool();
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, 6 * ROUNDS), 6 * ROUNDS);
    cpool_free_bulk(pool, slots, 6 * ROUNDS);
    cpi_depot_enter(&inside(pool)->depot, &uncached);
    while (cpi_steal_spare(&inside(pool)->registry, &uncached.counters))
        REQUIRE_EQUAL(inside_figures(pool).recalls, ++recalls);
    REQUIRE(recalls > 0);
    cpi_depot_leave(&inside(pool)->depot, &uncached);
    support_destroy_empty(pool);
}

/* As a user sees it: a dry pool takes back what waiting threads have spare. */
TEST_TIMES(alloc_when_dry_recalls_spares_of_waiting_threads, 2)
{
    enum { WAITING = 3 };
    pthread_t threads[WAITING];
    void *slots[CAPACITY];
    size_t got;

    make_pool();
    support_door_init(&door);
    for (size_t i = 0; i < WAITING; i++) {
        threads[i] = support_start(fill_and_wait, NULL);
        support_door_await(&door, i + 1);
        cpool_flush(pool);
    }
    got = _i == 0 ? support_take_all(pool, slots) : cpool_alloc_bulk(pool, slots, CAPACITY);
    REQUIRE_EQUAL(got, CAPACITY);
    cpool_free_bulk(pool, slots, got);
    support_door_open(&door);
    for (size_t i = 0; i < WAITING; i++)
        support_join(threads[i]);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}
