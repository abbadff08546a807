/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_faults.c - the system refuses every call for memory in turn, or every one from some
 * point on, in the life of a pool and while threads wait.  Afterwards the pool is whole.
 *
 * Includes waiter.h, and pool_impl.h to see which waiters sleep.
 */
#include "waiter.h"

#include <cpool/events.h>

#include "inside_wait.h"
#include "refuse.h"

/* Sanitizers make each of the processes slow. */
#define MANY_PROCESSES "sanitizers: more than a thousand processes take too long"

/*
 * ---- A pool's life -------------------------------------------------------
 */

/* Few slots, because each of some thousand lives verifies all of them. */
enum { SLOT_SIZE = 256, CAPACITY = 750, MAX_CAPACITY = 2250 };

struct life {
    unsigned flags;
    size_t max_capacity;
    size_t at; /* the call that is refused, from 1 */
    bool lasting;
};

static void work_elsewhere(void *argument)
{
    struct hold *hold = argument;

    hold_take(hold, CAPACITY / 3);
    hold_verify(hold);
    hold_free_all(hold);
}

static void free_some(struct hold *hold, uint64_t *random, size_t n)
{
    while (n-- > 0 && hold->count > 0)
        hold_free_one(hold, random_below(random, hold->count));
}

/* More slots are free than that: nothing but a refusal is a reason not to. */
static void reserve(cpool_t *pool)
{
    size_t refused = refuse_refused();
    int code = cpool_reserve(pool, 100);

    if (refused == refuse_refused())
        REQUIRE_EQUAL(code, 0);
    else
        REQUIRE(code == 0 || code == CPOOL_ENOMEM);
}

/* All functions that make system calls, and the steps between. */
static void use(cpool_t *pool, struct hold *hold, struct hold *elsewhere, struct worker *worker)
{
    uint64_t random = 3;

    hold_take(hold, CAPACITY * 2 / 3);
    worker_do(worker, work_elsewhere, elsewhere);
    free_some(hold, &random, hold->count * 9 / 10);
    cpool_trim(pool);
    hold_verify(hold);
    cpool_grow(pool, CAPACITY / 6);
    hold_take(hold, SIZE_MAX);
    free_some(hold, &random, hold->count / 2);
    cpool_shrink(pool, CAPACITY / 3);
    hold_verify(hold);
    reserve(pool);
    hold_take(hold, CAPACITY / 2);
    worker_do(worker, work_elsewhere, elsewhere);
    cpool_flush(pool);
    hold_verify(hold);
}

/* With memory again: nothing is lost, and everything can be had. */
static void require_whole(cpool_t *pool, struct hold *hold, const struct life *life)
{
    cpool_stats_t stats = support_stats(pool);
    size_t most = life->max_capacity != 0 ? life->max_capacity : stats.capacity;

    REQUIRE_EQUAL(stats.live, hold->count);
    REQUIRE_EQUAL(stats.live + stats.in_depot + stats.in_caches + stats.fresh,
                  stats.capacity + stats.slack);
    hold_take(hold, SIZE_MAX);
    REQUIRE(hold->count >= most);
    hold_free_all(hold);
    cpool_grow(pool, SIZE_MAX);
    REQUIRE_EQUAL(support_stats(pool).capacity, support_stats(pool).max_capacity);
    REQUIRE_EQUAL(cpool_reserve(pool, support_stats(pool).max_capacity), 0);
    cpool_trim(pool);
    support_require_live(pool, 0);
}

static void live(void *argument)
{
    const struct life *life = argument;
    cpool_config_t config = support_config(SLOT_SIZE, CAPACITY);
    struct worker *worker = worker_start();
    struct hold elsewhere;
    struct hold hold;
    cpool_t *pool;
    int code;

    config.flags = life->flags;
    config.max_capacity = life->max_capacity;
    refuse_arm(REFUSE_MEMORY, life->at, life->lasting);
    code = cpool_create(&pool, &config);
    if (code != 0) {
        REQUIRE_EQUAL(code, CPOOL_ENOMEM);
        REQUIRE(pool == NULL);
        refuse_disarm();
        worker_stop(worker);
        return;
    }
    hold_init(&hold, pool);
    hold_init(&elsewhere, pool);
    use(pool, &hold, &elsewhere, worker);
    refuse_disarm();
    require_whole(pool, &hold, life);
    worker_stop(worker);
    hold_fini(&elsewhere);
    hold_fini(&hold);
    support_destroy_empty(pool);
}

static struct life life_of(int kind, size_t max_capacity, bool lasting)
{
    struct life life = { growth_kinds[kind], max_capacity, 0, lasting };

    return life;
}

/* Until a life has made fewer calls than it would take to be refused one. */
static void refuse_each_in_turn(struct life *life)
{
    refuse_init();
    do {
        life->at++;
        support_in_child(live, life);
    } while (refuse_refused() > 0);
    REQUIRE(life->at > 10); /* there were calls to refuse */
}

TEST_TIMES(refusal_of_any_one_call_leaves_pool_whole, 2 * GROWTH_KINDS)
{
    struct life life = life_of(_i % GROWTH_KINDS, _i < GROWTH_KINDS ? 0 : MAX_CAPACITY, false);

    SKIP_IF(SUPPORT_SANITIZED, MANY_PROCESSES);
    refuse_each_in_turn(&life);
}

TEST_TIMES(refusal_of_all_calls_from_any_one_on_leaves_pool_whole, 2 * GROWTH_KINDS)
{
    struct life life = life_of(_i % GROWTH_KINDS, _i < GROWTH_KINDS ? 0 : MAX_CAPACITY, true);

    SKIP_IF(SUPPORT_SANITIZED, MANY_PROCESSES);
    refuse_each_in_turn(&life);
}

/* Nothing can be done about it, and nobody is the worse. */
static void destroy_refused(void *argument)
{
    cpool_t *pool = support_create_plain(SLOT_SIZE, CAPACITY);

    (void)argument;
    support_require_obtainable(pool, 0);
    refuse_arm(REFUSE_MEMORY, 1, true);
    REQUIRE_EQUAL(cpool_destroy(pool), 0);
    refuse_disarm();
    pool = support_create_plain(SLOT_SIZE, CAPACITY);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}

TEST(refusal_to_unmap_on_destroy_is_endured)
{
    refuse_init();
    support_in_child(destroy_refused, NULL);
    REQUIRE(refuse_refused() > 0);
}

/* Each operation would want a table, or a cache. */
static void *use_without_table(void *pool)
{
    enum { PAIRS = 50000, MOST_CALLS = 100 };

    refuse_arm(REFUSE_MEMORY, 1, true);
    for (int i = 0; i < PAIRS; i++) {
        void *slot = cpool_alloc(pool);

        REQUIRE(slot != NULL);
        cpool_free(pool, slot);
    }
    refuse_disarm();
    REQUIRE(refuse_calls() > 0);
    REQUIRE(refuse_calls() < MOST_CALLS);
    /* A thread that asks for a cache by name gets it.  Others do after a while. */
    REQUIRE(cpool_cache(pool) != NULL);
    return NULL;
}

static void *use_until_cached(void *pool)
{
    refuse_arm(REFUSE_MEMORY, 1, true);
    cpool_free(pool, cpool_alloc(pool));
    refuse_disarm();
    while (support_stats(pool).thread_caches == 1)
        cpool_free(pool, cpool_alloc(pool));
    return NULL;
}

TEST_TIMES(refusal_of_a_table_is_remembered_for_a_while, 2)
{
    cpool_t *pool;

    refuse_init();
    pool = support_create_plain(SLOT_SIZE, CAPACITY);
    support_require_obtainable(pool, 0);
    support_in_thread(_i == 0 ? use_without_table : use_until_cached, pool);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}

/*
 * ---- Waiting -------------------------------------------------------------
 */

static void wait_for_memory(void *argument)
{
    cpool_t *pool = argument;
    void *slot = waiter_wait(pool);

    REQUIRE(slot != NULL);
    cpool_free(pool, slot);
}

/* The memory is there again, and the thread that takes a slot of it says that
 * there are more. */
TEST(wait_without_memory_ends_when_there_is_some)
{
    struct worker *worker = worker_start();
    cpool_config_t config = support_config((size_t)1 << 20, 8);
    void *slots[2];
    cpool_t *pool;

    refuse_init();
    config.flags = CPOOL_WAITABLE;
    pool = support_create(&config);
    slots[0] = cpool_alloc(pool);
    refuse_arm(REFUSE_MEMORY, 1, true);
    worker_begin(worker, wait_for_memory, pool);
    waiter_await_sleep(pool, 1);
    refuse_disarm();
    slots[1] = cpool_alloc(pool);
    worker_await(worker);
    for (int i = 0; i < 2; i++)
        cpool_free(pool, slots[i]);
    worker_stop(worker);
    support_destroy_empty(pool);
}

/* No other thread does anything with the pool, and all its slots are free. */
static void count_ring(cpool_t *pool, void *rings)
{
    (void)pool;
    ++*(int *)rings;
}

/* Otherwise an event loop would be called for as long as there is no memory. */
TEST(bell_does_not_ring_for_want_of_memory)
{
    cpool_config_t config = support_config((size_t)1 << 20, 8);
    cpool_t *pool;
    void *slot;
    int rings = 0;

    refuse_init();
    config.flags = CPOOL_WAITABLE;
    pool = support_create(&config);
    REQUIRE_EQUAL(cpool_set_ready(pool, count_ring, &rings), CPOOL_OK);
    refuse_arm(REFUSE_MEMORY, 1, true);
    for (int i = 0; i < 3; i++) {
        REQUIRE(cpool_alloc_or_notify(pool) == NULL);
        REQUIRE(cpool_alloc(pool) == NULL);
        REQUIRE(cpool_alloc_wait(pool, &(struct timespec){0, 1000}) == NULL);
    }
    refuse_disarm();
    REQUIRE_EQUAL(rings, 0);
    slot = cpool_alloc(pool);
    REQUIRE(slot != NULL);
    cpool_free(pool, slot);
    REQUIRE(rings > 0);
    support_destroy_empty(pool);
}

TEST_TIMES(wait_without_memory_tries_again_by_itself, 2)
{
    struct worker *worker = worker_start();
    cpool_config_t config = support_config((size_t)1 << 20, 8);
    cpool_t *pool;

    refuse_init();
    config.flags = CPOOL_WAITABLE;
    config.max_capacity = _i == 0 ? 0 : 16;
    pool = support_create(&config);
    refuse_arm(REFUSE_MEMORY, 1, true);
    worker_begin(worker, wait_for_memory, pool);
    inside_await_hunger(pool);
    refuse_disarm();
    worker_await(worker);
    worker_stop(worker);
    support_destroy_empty(pool);
}
