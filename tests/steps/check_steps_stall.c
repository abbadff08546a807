/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_stall.c - threads that lose their processor inside the library, with
 * slots in their hands: others find what they can reach, wait for the rest as long
 * as they were told to, and are refused nothing that is theirs.
 */
#include "inline_steps.h" /* first */

#include "steps.h"

#include <stdatomic.h>
#include <time.h>

enum { ROUNDS = 2, SPARES = 8, CAPACITY = 60, HANDS = 3 * ROUNDS };

/* Longer than any test runs. */
enum { FOR_EVER = 600000 };

static cpool_t *make_pool(unsigned flags, size_t capacity, size_t thread_caches, size_t stall)
{
    return SUPPORT_CREATE(64, capacity, .flags = flags,
                          .magazine_rounds = capacity < ROUNDS ? capacity : ROUNDS,
                          .cache_slots = (SPARES + 1) * ROUNDS, .thread_caches = thread_caches,
                          .stall_limit_ms = stall);
}

static void nap(long milliseconds)
{
    const struct timespec time = { 0, milliseconds * 1000000 };

    nanosleep(&time, NULL);
}

static void fill_cache(void *pool)
{
    void *slots[(SPARES + 1) * ROUNDS];

    /* Often enough for the cache to use its whole quota. */
    for (int round = 0; round < 8; round++) {
        for (size_t i = 0; i < (SPARES + 1) * ROUNDS; i++)
            REQUIRE((slots[i] = cpool_alloc(pool)) != NULL);
        for (size_t i = 0; i < (SPARES + 1) * ROUNDS; i++)
            cpool_free(pool, slots[i]);
    }
}

static void flush(void *pool)
{
    cpool_flush(pool);
}

/* Takes what can be had beside the `count` slots that are there already. */
static size_t take_rest(cpool_t *pool, void **slots, size_t count)
{
    while (count < CAPACITY && (slots[count] = cpool_alloc(pool)) != NULL)
        count++;
    return count;
}

/* False if a flush has fewer steps. */
static bool flush_stops_at(unsigned flags, struct worker *worker, size_t nth)
{
    cpool_t *pool = make_pool(flags, CAPACITY, 0, 1);
    struct steps_stop stop;
    void *slots[CAPACITY];
    size_t count;
    bool stopped;

    worker_do(worker, fill_cache, pool);
    REQUIRE(support_stats(pool).in_caches > HANDS + ROUNDS);
    stopped = steps_run(&stop, worker, NULL, nth, flush, pool);
    count = take_rest(pool, slots, 0);
    REQUIRE(count + HANDS >= CAPACITY);
    steps_go_on(&stop);
    REQUIRE_EQUAL(take_rest(pool, slots, count), CAPACITY);
    cpool_free_bulk(pool, slots, CAPACITY);
    support_destroy_empty(pool);
    return stopped;
}

TEST_TIMES(flush_stopped_anywhere_hides_no_spare, 2)
{
    const unsigned kinds[] = { 0, CPOOL_TRACKED };
    STEPS_SWEEP(flush_stops_at(kinds[_i], worker, nth), SUPPORT_COUNT(1u, 7u), 50);
}

struct slot_user {
    cpool_t *pool;
    void *slot;
    bool uncached;
    _Atomic bool done;
};

static void take(void *argument)
{
    struct slot_user *user = argument;

    user->slot = user->uncached ? cpool_alloc_uncached(user->pool) : cpool_alloc(user->pool);
}

static void give(void *argument)
{
    struct slot_user *user = argument;

    if (user->uncached)
        cpool_free_uncached(user->pool, user->slot);
    else
        cpool_free(user->pool, user->slot);
    atomic_store_explicit(&user->done, true, memory_order_release);
}

/* The ways of the one that is stopped and of the one that waits. */
enum { WAYS = 4 };

static void set_ways(struct slot_user *stopped, struct slot_user *waiter, int way)
{
    stopped->uncached = way % 2 != 0;
    waiter->uncached = way / 2 != 0;
}

/* The only slot is in the hands of a thread that is stopped before its nth step of a
 * free.  Another thread's alloc returns when that one goes on, and not before. */
static bool alloc_waits_for(int way, struct worker **workers, size_t nth)
{
    cpool_t *pool = make_pool(0, 1, 2, FOR_EVER);
    struct slot_user stopped = { .pool = pool };
    struct slot_user waiter = { .pool = pool };
    struct steps_stop stop;
    bool did_stop;

    set_ways(&stopped, &waiter, way);
    worker_do(workers[1], flush, pool);
    worker_do(workers[0], take, &stopped);
    did_stop = steps_run(&stop, workers[0], NULL, nth, give, &stopped);
    worker_begin(workers[1], take, &waiter);
    if (did_stop && nth % 16 == 0)
        nap(50); /* an alloc that gives up soon does so now */
    steps_go_on(&stop);
    worker_await(workers[1]);
    /* The free may not have begun when the alloc looked. */
    if (waiter.slot == NULL) {
        REQUIRE_EQUAL(support_stats(pool).stalls, 0);
        REQUIRE(nth < 8);
    } else {
        worker_do(workers[1], give, &waiter);
    }
    support_require_live(pool, 0);
    support_destroy_empty(pool);
    return did_stop;
}

TEST_TIMES(alloc_waits_for_a_thread_that_is_stopped_inside, WAYS)
{
    struct worker *workers[2] = { worker_start(), worker_start() };
    size_t nth = 1;

    while (alloc_waits_for(_i, workers, nth))
        nth++;
    REQUIRE(nth > 3);
    workers_stop(workers, 2);
}

/* Is cancelled, and not where the alloc sleeps. */
static void *look_in_vain(void *argument)
{
    struct slot_user *user = argument;

    REQUIRE_EQUAL(pthread_cancel(pthread_self()), 0);
    take(user);
    atomic_store_explicit(&user->done, true, memory_order_release);
    pthread_testcancel();
    return NULL;
}

/* It does not wait longer than it was told to, says so in the figures, and has
 * nothing to say where the slot is live. */
TEST_TIMES(alloc_gives_up_when_the_stall_limit_ends, 2)
{
    const unsigned kinds[] = { 0, CPOOL_CHECKED };
    cpool_t *pool = make_pool(kinds[_i], 1, 2, 1);
    struct worker *worker = worker_start();
    struct slot_user stopped = { .pool = pool };
    struct slot_user doomed = { .pool = pool };
    struct steps_stop stop;
    void *result;

    worker_do(worker, take, &stopped);
    REQUIRE(cpool_alloc(pool) == NULL);
    REQUIRE_EQUAL(support_stats(pool).stalls, 0);
    REQUIRE(steps_run(&stop, worker, "cpi_cache_loaded", 1, give, &stopped));
    REQUIRE(cpool_alloc(pool) == NULL);
    REQUIRE_EQUAL(support_stats(pool).stalls, 1);
    REQUIRE_EQUAL(pthread_join(support_start(look_in_vain, &doomed), &result), 0);
    REQUIRE(result == PTHREAD_CANCELED && doomed.done && doomed.slot == NULL);
    REQUIRE_EQUAL(support_stats(pool).stalls, 2);
    steps_go_on(&stop);
    stopped.slot = cpool_alloc(pool);
    REQUIRE(stopped.slot != NULL);
    cpool_free(pool, stopped.slot);
    support_destroy_empty(pool);
    worker_stop(worker);
}

/* The same for a free without a cache.  Where the alloc has not waited, it has found the slot, or
 * the free had not begun. */
TEST(alloc_gives_up_on_a_free_without_a_cache)
{
    struct worker *worker = worker_start();
    size_t nth = 1, stalls = 0;
    bool did_stop = true;

    for (; did_stop; nth++) {
        cpool_t *pool = make_pool(0, 1, 2, 1);
        struct slot_user stopped = { .pool = pool, .uncached = true };
        struct steps_stop stop;
        void *slot;

        worker_do(worker, take, &stopped);
        did_stop = steps_run(&stop, worker, NULL, nth, give, &stopped);
        slot = cpool_alloc(pool);
        REQUIRE(slot == NULL || support_stats(pool).stalls == 0);
        stalls += support_stats(pool).stalls;
        if (support_stats(pool).stalls == 1) { /* and again, when the first one's look is over */
            REQUIRE(cpool_alloc(pool) == NULL);
            REQUIRE_EQUAL(support_stats(pool).stalls, 2);
        }
        steps_go_on(&stop);
        if (slot == NULL)
            slot = cpool_alloc(pool);
        REQUIRE(slot != NULL);
        cpool_free(pool, slot);
        support_destroy_empty(pool);
    }
    REQUIRE(stalls > 2);
    worker_stop(worker);
}

enum { MOST = 4 };

/* In memory of the caller's these are four.  As many threads are stopped in a free.  The fifth's
 * free waits, and is not reported. */
TEST(free_beyond_those_in_flight_waits_for_one)
{
    static _Alignas(64) char memory[1 << 20];
    cpool_t *pool = SUPPORT_CREATE(64, CAPACITY, .magazine_rounds = ROUNDS, .memory = memory,
                                   .memory_size = sizeof memory, .stall_limit_ms = 1);
    struct slot_user users[MOST + 1];
    struct steps_stop stops[MOST];
    struct worker *workers[MOST + 1];
    void *slots[CAPACITY];

    REQUIRE_EQUAL(take_rest(pool, slots, 0), CAPACITY);
    for (int i = 0; i <= MOST; i++) {
        users[i].pool = pool;
        users[i].slot = slots[CAPACITY - 1 - i];
        users[i].uncached = true;
        atomic_init(&users[i].done, false);
        workers[i] = worker_start();
    }
    for (int i = 0; i < MOST; i++)
        REQUIRE(steps_run(&stops[i], workers[i], "cpi_depot_leave", 1, give, &users[i]));
    worker_begin(workers[MOST], give, &users[MOST]);
    nap(20); /* one that did not wait would now be done, or reported */
    REQUIRE(!atomic_load_explicit(&users[MOST].done, memory_order_acquire));
    steps_go_on(&stops[0]);
    worker_await(workers[MOST]);
    for (int i = 1; i < MOST; i++)
        steps_go_on(&stops[i]);
    workers_stop(workers, MOST + 1);
    REQUIRE_EQUAL(take_rest(pool, slots, CAPACITY - 1 - MOST), CAPACITY);
    cpool_free_bulk(pool, slots, CAPACITY);
    support_destroy_empty(pool);
}
