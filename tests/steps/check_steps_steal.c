/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_steal.c - a fork at every step of a thread that takes from another one's cache: the
 * child finds no entry closed for good, and the cache whole.
 *
 * Includes script.h, and pool_impl.h, to see spares.
 */
#include "script.h"

#include "inside.h"

static void fill_cache(void *argument)
{
    struct script *script = argument;

    script_take(script, script->capacity);
    script_give(script, script->capacity);
}

static void take_one(void *script)
{
    script_take(script, 1);
}

/* What a vanished thread has taken and not put anywhere yet is lost. */
static size_t most_lost(const struct script *taker)
{
    return taker->hands * SCRIPT_ROUNDS + 1;
}

/* Uses the structures of all caches that the vanished threads had. */
static void use_all_caches(void *argument)
{
    struct script *taker = argument;
    cpool_cache_t *caches[SCRIPT_CACHES];
    size_t count = 0;

    script_require_no_hands(taker->pool);
    while (count < SCRIPT_CACHES && cpool_cache_create(&caches[count], taker->pool) == 0)
        count++;
    REQUIRE(count > SCRIPT_CACHES - 2);
    for (size_t i = 0; i < count; i++)
        cpool_cache_free(caches[i], cpool_cache_alloc(caches[i]));
    while (count > 0)
        cpool_cache_destroy(caches[--count]);
    script_require_whole(taker, most_lost(taker), taker->hands);
}

/* All slots lie in one thread's cache, which is this one, or another.  A thread that finds the
 * pool dry closes its entry and takes them, and stops there, and a fork leaves it behind. */
static bool fork_beside_taker_at(const struct script_door *door, size_t capacity, bool survives,
                                 struct worker **workers, size_t nth)
{
    struct script owner;
    struct script taker;
    struct steps_stop stop;
    bool stopped;

    script_init(&owner, capacity, door, workers[0]);
    taker = owner;
    worker_do(workers[1], script_begin, &taker);
    if (survives)
        fill_cache(&owner);
    else
        worker_do(workers[0], fill_cache, &owner);
    stopped = steps_run(&stop, workers[1], NULL, nth, take_one, &taker);
    taker.hands = script_count_hands(taker.pool);
    script_fork(use_all_caches, &taker);
    steps_go_on(&stop);
    script_fini(&taker);
    return stopped;
}

/* Without a spare, and with one. */
static const size_t capacities[] = { SCRIPT_ROUNDS, 2 * SCRIPT_ROUNDS };

/* By the descriptor of a pool with the inline path, and of one without. */
static const int doors[] = { SCRIPT_OWN, SCRIPT_HIDDEN };

TEST_TIMES(fork_beside_a_taker_at_every_step_leaves_nothing_closed, 8)
{
    struct worker *workers[2] = { worker_start(), worker_start() };
    size_t nth = 1;

    while (fork_beside_taker_at(&script_doors[doors[_i % 2]], capacities[_i / 2 % 2], _i / 4 == 1,
                                workers, nth))
        nth += SUPPORT_COUNT(1u, 7u);
    REQUIRE(nth > 20);
    worker_stop(workers[0]);
    worker_stop(workers[1]);
}

/*
 * ---- A theft by mistake --------------------------------------------------
 */

/* As a stealing thread that took the place's magazine for the full one that lay there. */
static void take_empty_spares(void *argument)
{
    struct cpi_pool *pool = inside(argument);
    struct cpi_cache *cache = cpi_registry_known_cache(&pool->registry);
    struct cpi_uncached uncached;

    cpi_depot_enter(&pool->depot, &uncached);
    for (uint32_t i = 0; i < cache->quota_max; i++) {
        uint32_t node = atomic_load_explicit(&cache->spare[i], memory_order_relaxed);

        if (node == 0 || cpi_magazine_count(cpi_depot_magazine(&pool->depot, node)) != 0)
            continue;
        atomic_store_explicit(&cache->spare[i], 0, memory_order_relaxed);
        cpi_depot_give(&pool->depot, &uncached.counters, node);
    }
    cpi_depot_leave(&pool->depot, &uncached);
}

/* The owner's nth exchange of a spare finds that it has gone.  Returns false if there is none. */
static bool spill_beside_mistake(size_t nth)
{
    cpool_t *pool = steps_pool(0, SCRIPT_CAPACITY, 0, SCRIPT_ROUNDS);
    void *slots[SCRIPT_CAPACITY];
    bool done;

    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, SCRIPT_CAPACITY), SCRIPT_CAPACITY);
    steps_plan("cpi_cache_swap_at", nth, take_empty_spares, pool);
    for (int turn = 0; turn < 3; turn++) {
        for (size_t i = 0; i < SCRIPT_CAPACITY; i++)
            cpool_free(pool, slots[i]);
        for (size_t i = 0; i < SCRIPT_CAPACITY; i++)
            REQUIRE((slots[i] = cpool_alloc(pool)) != NULL);
    }
    done = steps_drop();
    cpool_free_bulk(pool, slots, SCRIPT_CAPACITY);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
    return done;
}

TEST(spare_taken_by_mistake_loses_no_slot)
{
    size_t nth = 1;

    while (spill_beside_mistake(nth))
        nth++;
    REQUIRE(nth > 3);
}
