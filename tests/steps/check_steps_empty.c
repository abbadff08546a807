/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_empty.c - what an alloc that finds nothing concludes from what it
 * has seen, while others take and free at just the steps at which it looks.
 *
 * Includes steps.h and the depot's header.
 */
#include "steps.h"

#include <string.h>

#include "cache/mark.h"
#include "cache/steal.h"
#include "inside.h"
#include "store/depot.h"

/*
 * ---- Round after round ---------------------------------------------------
 */

enum { ROUND_TRIPS = 13 }; /* reads of a count in one look, and one more */

/* The step of `shown` at which it reads the count.  The first one finds the entry. */
enum { COUNT = 2 };

/* Of two slots never more than one is live.  The other lies in one of two caches,
 * and goes into the other one before each read of a count for which a bit is set. */
struct rounds {
    cpool_cache_t *caches[2];
    void *slot; /* live */
    int holder; /* its owner */
    unsigned turns;
};

static void change_over(struct rounds *rounds)
{
    cpool_cache_free(rounds->caches[rounds->holder], rounds->slot);
    rounds->holder = 1 - rounds->holder;
    rounds->slot = cpool_cache_alloc(rounds->caches[rounds->holder]);
    REQUIRE(rounds->slot != NULL);
}

static void before_count(void *argument)
{
    struct rounds *rounds = argument;
    bool now = rounds->turns % 2 != 0;

    rounds->turns /= 2;
    if (now)
        change_over(rounds);
    if (rounds->turns != 0)
        steps_plan("cpi_mark_shown", COUNT, before_count, rounds);
}

static void look_at_rounds(unsigned flags, unsigned turns, int holder)
{
    cpool_t *pool = steps_pool(flags, 2, 0, 2);
    struct rounds rounds = { { NULL, NULL }, NULL, holder, turns };
    void *slot;

    cpool_depot_free(pool, cpool_depot_alloc(pool)); /* the first visit counts as a move */
    for (int i = 0; i < 2; i++)
        REQUIRE_EQUAL(cpool_cache_create(&rounds.caches[i], pool), 0);
    rounds.slot = cpool_cache_alloc(rounds.caches[holder]);
    slot = cpool_cache_alloc(rounds.caches[1 - holder]);
    cpool_cache_free(rounds.caches[1 - holder], slot);
    cpool_cache(pool);
    steps_plan("cpi_mark_shown", COUNT, before_count, &rounds);
    slot = cpool_alloc(pool);
    steps_drop();
    REQUIRE(slot != NULL);
    cpool_free(pool, slot);
    cpool_cache_free(rounds.caches[rounds.holder], rounds.slot);
    support_destroy_empty(pool);
}

TEST_TIMES(alloc_that_sees_two_caches_empty_in_turn_finds_the_slot, 2)
{
    static const unsigned flags[] = { CPOOL_EXACT, CPOOL_CHECKED | CPOOL_EXACT };

    for (unsigned turns = 0; turns < 1u << ROUND_TRIPS; turns++)
        look_at_rounds(flags[_i], turns, _i);
}

/* As above, in a pool with slack.  Its inline path counts nothing, and one change is
 * seen at any point. */
TEST_TIMES(alloc_that_sees_two_caches_change_over_finds_the_slot, 2)
{
    for (unsigned turn = 0; turn < ROUND_TRIPS; turn++)
        look_at_rounds(0, 1u << turn, _i);
}

/*
 * ---- Between two passes --------------------------------------------------
 */

static void flush_now(void *cache)
{
    cpool_cache_destroy(cache);
}

/* Two slots lie in another cache, one of them in a spare, and go to the depot before this step
 * of the alloc's.  They are free all the time, wherever it has looked before. */
static bool flush_beside_alloc(size_t nth)
{
    cpool_t *pool = steps_pool(0, 2, 0, 1);
    cpool_cache_t *other;
    void *slots[2];
    void *slot;
    bool met;

    REQUIRE_EQUAL(cpool_cache_create(&other, pool), 0);
    for (int i = 0; i < 2; i++)
        slots[i] = cpool_cache_alloc(other);
    for (int i = 0; i < 2; i++)
        cpool_cache_free(other, slots[i]);
    cpool_cache(pool);
    steps_plan(NULL, nth, flush_now, other);
    slot = cpool_alloc(pool);
    met = steps_drop();
    REQUIRE(slot != NULL);
    cpool_free(pool, slot);
    if (!met)
        flush_now(other);
    support_destroy_empty(pool);
    return met;
}

TEST(alloc_beside_a_flush_finds_a_slot)
{
    size_t nth = 1;

    while (flush_beside_alloc(nth))
        nth++;
    REQUIRE(nth > 30);
}

/*
 * ---- A stealing thread that finds the owner at home --------------------------------
 */

static void take_one(void *argument)
{
    REQUIRE_EQUAL(hold_take(argument, 1), 1);
}

static void free_one(void *argument)
{
    hold_free(argument, 1);
}

static void try_one(void *argument)
{
    (void)hold_take(argument, 1);
}

/* The slot lies in the owner's own cache.  A stealing thread claims the cache, gives up because
 * the owner is inside, and lets go of it only after the owner has looked without it.  Then the
 * owner has left, and the stealing thread claims the cache again. */
TEST(thief_that_gives_up_looks_again_when_the_owner_has_left)
{
    cpool_config_t config = support_config(64, 1);
    struct worker *owner = worker_start();
    struct worker *stealer = worker_start();
    struct steps_stop owners;
    struct steps_stop thiefs;
    struct hold theirs;
    struct hold hold;
    cpool_t *pool;

    config.flags = CPOOL_EXACT;
    pool = support_create(&config);
    hold_init(&hold, pool);
    hold_init(&theirs, pool);
    worker_do(owner, take_one, &hold);
    worker_do(owner, free_one, &hold);
    REQUIRE(steps_run(&thiefs, stealer, "cpi_mark_is_inside", 1, take_one, &theirs));
    REQUIRE(steps_run(&owners, owner,
                      cpi_mark_has_barrier ? "cpi_mark_begin_pop" : "cpi_mark_try_enter", 2,
                      try_one, &hold));
    REQUIRE(steps_go_on_to(&thiefs, "cpi_mark_unlock", 1));
    REQUIRE(steps_go_on_to(&owners, STEPS_LOCK, 1)); /* it waits for the stealing thread to leave */
    steps_go_on(&thiefs);
    steps_go_on(&owners);
    REQUIRE_EQUAL(hold.count, 0);
    worker_do(stealer, free_one, &theirs);
    worker_stop(owner);
    worker_stop(stealer);
    hold_fini(&hold);
    hold_fini(&theirs);
    support_destroy_empty(pool);
}

/*
 * ---- An empty magazine ---------------------------------------------------
 */

enum { LONE_ROUNDS = 2, LONE_MAGAZINES = 3 };

/* All magazines of a depot, and the counters of another party. */
struct lone {
    struct cpi_depot *depot;
    struct cpi_counters counters;
};

/* Makes all magazines, and gives one of them. */
static void make_all(void *argument)
{
    struct lone *lone = argument;
    uint32_t node = 0;

    for (int i = 0; i < LONE_MAGAZINES; i++)
        REQUIRE((node = cpi_depot_take_empty(lone->depot, &lone->counters)) != 0);
    cpi_depot_give(lone->depot, &lone->counters, node);
}

/* The thread finds the stack empty.  Then another makes all that are left, so this one can
 * make none, but may not conclude that there is none. */
TEST(empty_magazine_that_comes_between_two_looks_is_found)
{
    size_t size = LONE_MAGAZINES * cpi_depot_stride(LONE_ROUNDS);
    struct cpi_counters mine;
    struct cpi_extent extent;
    struct cpi_extent none;
    struct lone lone;

    memset(&mine, 0, sizeof(mine));
    memset(&lone.counters, 0, sizeof(lone.counters));
    lone.depot = support_lines(sizeof(*lone.depot));
    cpi_extent_init_committed(&extent, support_lines(size), size);
    cpi_extent_init_committed(&none, extent.base + size, 0);
    cpi_depot_init(lone.depot, &extent, &none, LONE_ROUNDS, 1);
    steps_plan("make", 1, make_all, &lone);
    REQUIRE(cpi_depot_take_empty(lone.depot, &mine) != 0);
    REQUIRE(steps_drop());
    REQUIRE_EQUAL(cpi_depot_made(lone.depot), LONE_MAGAZINES);
    REQUIRE_EQUAL(cpi_load(&mine.empty_out, relaxed), 1);
}

/*
 * ---- A cache of one's own ------------------------------------------------
 */

struct own {
    cpool_cache_t *cache;
    void *slot;
};

static void take_last(void *argument)
{
    struct own *own = argument;

    own->slot = cpool_cache_alloc(own->cache);
}

/* The cache shows a round when the stealing thread looks, and none any more when it is locked. */
TEST(theft_of_an_empty_magazine_counts_for_nothing)
{
    cpool_t *pool = steps_pool(CPOOL_EXACT, 1, 0, 1);
    struct cpi_uncached thief;
    struct own own;

    REQUIRE_EQUAL(cpool_cache_create(&own.cache, pool), 0);
    cpool_cache_free(own.cache, cpool_cache_alloc(own.cache));
    cpi_depot_enter(&inside(pool)->depot, &thief);
    steps_plan("cpi_mark_lock", 1, take_last, &own);
    REQUIRE(!cpi_steal_loaded(&inside(pool)->registry, &thief.counters));
    REQUIRE(steps_drop());
    cpi_depot_leave(&inside(pool)->depot, &thief);
    REQUIRE_EQUAL(support_stats(pool).recalls, 0);
    cpool_cache_free(own.cache, own.slot);
    support_destroy_empty(pool);
}

/*
 * ---- Others that never pause ---------------------------------------------
 */

enum { CROWD_ROUNDS = 2, CROWD_LOOKS = 4096 };

/* A thread takes and frees what it has loaded, as long as another one looks. */
struct churn {
    cpool_cache_t *cache;
    void *live[CROWD_ROUNDS];
    size_t count;
    size_t left;
};

static void churn(void *argument)
{
    struct churn *churn_ = argument;
    size_t target = churn_->left-- % (CROWD_ROUNDS + 1);

    while (churn_->count < target)
        churn_->live[churn_->count++] = cpool_cache_alloc(churn_->cache);
    while (churn_->count > target)
        cpool_cache_free(churn_->cache, churn_->live[--churn_->count]);
    REQUIRE(churn_->left > 0); /* the alloc does not come to an end */
    steps_plan("cpi_mark_shown", 1, churn, churn_);
}

static void require_soon_empty(cpool_t *pool)
{
    struct churn churn_ = { NULL, { NULL }, 0, CROWD_LOOKS };
    struct hold hold;

    REQUIRE_EQUAL(cpool_cache_create(&churn_.cache, pool), 0);
    for (size_t i = 0; i < CROWD_ROUNDS; i++)
        churn_.live[churn_.count++] = cpool_cache_alloc(churn_.cache);
    while (churn_.count > 0)
        cpool_cache_free(churn_.cache, churn_.live[--churn_.count]);
    hold_init(&hold, pool);
    hold_take(&hold, SIZE_MAX);
    steps_plan("cpi_mark_shown", 1, churn, &churn_);
    REQUIRE_EQUAL(hold_take(&hold, 1), 0);
    steps_drop();
    REQUIRE_EQUAL(support_stats(pool).stalls, 0);
    while (churn_.count > 0)
        cpool_cache_free(churn_.cache, churn_.live[--churn_.count]);
    hold_free_all(&hold);
    hold_fini(&hold);
}

TEST(alloc_beside_threads_that_never_pause_soon_finds_the_pool_empty)
{
    cpool_t *pool = steps_pool(0, 4, 0, CROWD_ROUNDS);

    require_soon_empty(pool);
    support_destroy_empty(pool);
}

TEST(alloc_in_callers_memory_soon_finds_the_pool_empty)
{
    cpool_config_t config = support_config(64, 4);
    cpool_t *pool;

    config.magazine_rounds = CROWD_ROUNDS;
    config.memory_size = cpool_memory_required(&config);
    config.memory = support_lines(config.memory_size);
    pool = support_create(&config);
    require_soon_empty(pool);
    support_destroy_empty(pool);
}

/* Operations without a cache, of which one is in flight at any moment: each begins before the
 * one before it has left, whenever an alloc looks for those that are. */
struct relay {
    struct cpi_depot *depot;
    struct cpi_uncached uncached[2];
    size_t left;
};

static void pass_on(void *argument)
{
    struct relay *relay = argument;

    cpi_depot_enter(relay->depot, &relay->uncached[(relay->left - 1) % 2]);
    cpi_depot_leave(relay->depot, &relay->uncached[relay->left-- % 2]);
    REQUIRE(relay->left > 0); /* the alloc does not come to an end */
    steps_plan("cpi_depot_have_left", 1, pass_on, relay);
}

TEST(alloc_beside_operations_without_a_cache_soon_finds_the_pool_empty)
{
    cpool_t *pool = steps_pool(CPOOL_EXACT, 1, 0, 1);
    struct relay relay = { .depot = &inside(pool)->depot, .left = CROWD_LOOKS };
    void *slot = cpool_alloc(pool);

    cpi_depot_enter(relay.depot, &relay.uncached[relay.left % 2]);
    steps_plan("cpi_depot_have_left", 1, pass_on, &relay);
    REQUIRE(cpool_alloc(pool) == NULL);
    steps_drop();
    REQUIRE(relay.left < CROWD_LOOKS);
    REQUIRE_EQUAL(support_stats(pool).stalls, 0);
    cpi_depot_leave(relay.depot, &relay.uncached[relay.left % 2]);
    cpool_free(pool, slot);
    support_destroy_empty(pool);
}
