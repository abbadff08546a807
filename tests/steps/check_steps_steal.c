/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_steal.c - a fork at every step of a thread that takes from another
 * one's cache: the child finds no claim, and the cache whole.
 *
 * Includes script.h, and pool_impl.h, to see what is loaded.
 */
#include "script.h"

#include "cache/mark.h"
#include "inside.h"


static void fill_cache(void *argument)
{
    struct script *script = argument;

    script_take(script, script->capacity);
    script_give(script, script->capacity);
}

static void steal(void *argument)
{
    struct script *script = argument;

    script_take(script, 1);
}

/* The magazine on the stealing thread's own stack is lost, but not one that it has only
 * claimed. */
static size_t most_lost_with_thief(const struct script *stealer)
{
    const struct cpi_cache *own = cpi_registry_known_cache(&inside(stealer->pool)->registry);

    if (own != NULL && inside(stealer->pool)->registry.exact && cpi_cache_loaded(own) != 0 &&
        stealer->capacity == SCRIPT_ROUNDS)
        return 1;
    return SCRIPT_ROUNDS + 1;
}

/* Uses the structures of all caches that the vanished threads had. */
static void use_all_caches(void *argument)
{
    struct script *stealer = argument;
    cpool_cache_t *caches[SCRIPT_CACHES];
    size_t lost = most_lost_with_thief(stealer);
    size_t count = 0;

    script_require_no_hands(stealer->pool);
    while (count < SCRIPT_CACHES && cpool_cache_create(&caches[count], stealer->pool) == 0)
        count++;
    for (size_t i = 0; i < count; i++)
        cpool_cache_free(caches[i], cpool_cache_alloc(caches[i]));
    while (count > 0)
        cpool_cache_destroy(caches[--count]);
    script_require_whole(stealer, lost, 2);
}

/* All slots lie in one thread's cache, which is this one, or another.  A stealing thread
 * takes from it, and stops there, and a fork leaves it behind. */
static bool fork_beside_thief_at(unsigned flags, size_t capacity, bool survives,
                                 struct worker **workers, size_t nth)
{
    struct script owner;
    struct script stealer;
    struct steps_stop stop;
    bool stopped;

    script_init(&owner, flags, capacity, &script_doors[0], workers[0]);
    stealer = owner;
    worker_do(workers[1], script_begin, &stealer);
    if (survives)
        fill_cache(&owner);
    else
        worker_do(workers[0], fill_cache, &owner);
    stopped = steps_run(&stop, workers[1], NULL, nth, steal, &stealer);
    script_fork(use_all_caches, &stealer);
    steps_go_on(&stop);
    cpool_free_bulk(stealer.pool, stealer.live, stealer.count);
    support_require_live(stealer.pool, 0);
    support_destroy_empty(stealer.pool);
    return stopped;
}

TEST_TIMES(fork_beside_a_thief_at_every_step_leaves_no_claim, 4 * SCRIPT_KINDS)
{
    struct worker *workers[2] = { worker_start(), worker_start() };
    unsigned flags = script_kinds[_i % SCRIPT_KINDS];
    /* Without a spare, and with one. */
    size_t capacity = _i / SCRIPT_KINDS % 2 == 0 ? SCRIPT_ROUNDS : 2 * SCRIPT_ROUNDS;
    bool survives = _i / SCRIPT_KINDS / 2 == 1;
    size_t nth = 1;

    while (fork_beside_thief_at(flags, capacity, survives, workers, nth))
        nth += SUPPORT_COUNT(1u, 7u);
    REQUIRE(nth > 20);
    worker_stop(workers[0]);
    worker_stop(workers[1]);
}

/*
 * ---- A stealing thread that comes late ---------------------------------------------
 */

static void take_one(void *argument)
{
    REQUIRE_EQUAL(hold_take(argument, 1), 1);
}

static void free_all(void *argument)
{
    hold_free_all(argument);
}

static void take_and_free_one(void *argument)
{
    take_one(argument);
    free_all(argument);
}

/* Uses the structure that the thread had, which has ended. */
static void use_the_structure_again(void *argument)
{
    cpool_t *pool = argument;
    cpool_cache_t *cache;

    script_require_no_hands(pool);
    REQUIRE_EQUAL(cpool_cache_create(&cache, pool), 0);
    cpool_cache_free(cache, cpool_cache_alloc(cache));
    steps_allow(100000); /* or it waits for the stealing thread for ever */
    cpool_cache_destroy(cache);
    steps_allow(0);
}

/* The stealing thread has seen rounds in a cache, and claims it when its thread has ended. */
TEST(fork_beside_a_thief_that_claims_an_unused_cache_leaves_no_claim)
{
    cpool_t *pool = steps_pool(CPOOL_EXACT, 1, 0, 1);
    struct worker *owner = worker_start();
    struct worker *stealer = worker_start();
    struct steps_stop stop;
    struct hold owners;
    struct hold thiefs;

    hold_init(&owners, pool);
    hold_init(&thiefs, pool);
    worker_do(owner, take_and_free_one, &owners);
    REQUIRE(steps_run(&stop, stealer, "cpi_mark_lock", 1, take_one, &thiefs));
    worker_stop(owner);
    REQUIRE(steps_go_on_to(&stop, "cpi_mark_is_inside", 1));
    script_fork(use_the_structure_again, pool);
    steps_go_on(&stop);
    worker_do(stealer, free_all, &thiefs);
    worker_stop(stealer);
    hold_fini(&owners);
    hold_fini(&thiefs);
    support_destroy_empty(pool);
}

/*
 * ---- A theft by mistake --------------------------------------------------
 */

/* As a stealing thread that took the place's magazine for the full one that lay there. */
static void take_empty_spares(void *argument)
{
    struct cpi_pool *pool = inside(argument);
    struct cpi_cache *cache = cpi_registry_known_cache(&pool->registry);
    struct cpi_uncached thief;

    cpi_depot_enter(&pool->depot, &thief);
    for (uint32_t i = 0; i < cache->quota_max; i++) {
        uint32_t node = atomic_load_explicit(&cache->spare[i], memory_order_relaxed);

        if (node == 0 || cpi_magazine_count(cpi_depot_magazine(&pool->depot, node)) != 0)
            continue;
        atomic_store_explicit(&cache->spare[i], 0, memory_order_relaxed);
        cpi_depot_give(&pool->depot, &thief.counters, node);
    }
    cpi_depot_leave(&pool->depot, &thief);
}

/* The owner's nth exchange of a spare finds that it has gone.  Returns false if there is none. */
static bool spill_beside_mistake(unsigned flags, size_t nth)
{
    cpool_t *pool = steps_pool(flags, SCRIPT_CAPACITY, 0, SCRIPT_ROUNDS);
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

TEST_TIMES(spare_taken_by_mistake_loses_no_slot, SCRIPT_KINDS)
{
    size_t nth = 1;

    while (spill_beside_mistake(script_kinds[_i], nth))
        nth++;
    REQUIRE(nth > 3);
}
