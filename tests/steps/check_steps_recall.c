/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_recall.c - slots that move while a dry alloc looks for one: at every
 * step of it they go from a place not yet looked at to one already passed.
 *
 * Includes steps.h.
 */
#include "steps.h"

enum { CAPACITY = 2 };

static const unsigned kinds[] = { 0, CPOOL_EXACT, CPOOL_WAITABLE, CPOOL_CHECKED | CPOOL_EXACT };

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/*
 * ---- From cache to cache -------------------------------------------------
 */

/* Of two slots never more than one is live, in one thread's hands or in the
 * other's.  The other slot lies in the cache of the thread that has none. */
struct exchange {
    cpool_t *pool;
    struct worker *workers[2];
    struct hold holds[2];
    int holder; /* the thread with the live slot */
};

static void take_one(void *argument)
{
    REQUIRE_EQUAL(hold_take(argument, 1), 1);
}

static void free_one(void *argument)
{
    hold_free(argument, 1);
}

/* The thread that has a slot frees it, and the other takes the one in its own cache. */
static void change_over(struct exchange *exchange)
{
    int to = 1 - exchange->holder;

    worker_do(exchange->workers[exchange->holder], free_one, &exchange->holds[exchange->holder]);
    worker_do(exchange->workers[to], take_one, &exchange->holds[to]);
    exchange->holder = to;
}

static void change_over_once(void *argument)
{
    change_over(argument);
}

static void exchange_init(struct exchange *exchange, unsigned flags, int holder,
                          struct worker **workers)
{
    exchange->pool = steps_pool(flags, CAPACITY, 0, CAPACITY);
    for (int i = 0; i < 2; i++) {
        exchange->workers[i] = workers[i];
        hold_init(&exchange->holds[i], exchange->pool);
        worker_do(workers[i], take_one, &exchange->holds[i]);
    }
    worker_do(workers[1 - holder], free_one, &exchange->holds[1 - holder]);
    exchange->holder = holder;
}

static void exchange_fini(struct exchange *exchange)
{
    worker_do(exchange->workers[exchange->holder], free_one, &exchange->holds[exchange->holder]);
    for (int i = 0; i < 2; i++)
        hold_fini(&exchange->holds[i]);
    support_require_live(exchange->pool, 0);
    support_destroy_empty(exchange->pool);
}

/* This thread's alloc, with the change-over at its nth step.  Returns false if
 * it has fewer. */
static bool hunt_at(unsigned flags, int holder, struct worker **workers, size_t nth)
{
    struct exchange exchange;
    void *slot;
    bool met;

    exchange_init(&exchange, flags, holder, workers);
    cpool_cache(exchange.pool); /* takes a lock, and the step is not in there */
    steps_plan(NULL, nth, change_over_once, &exchange);
    slot = cpool_alloc(exchange.pool);
    met = steps_drop();
    REQUIRE(slot != NULL);
    cpool_free(exchange.pool, slot);
    exchange_fini(&exchange);
    return met;
}

TEST_TIMES(alloc_while_slots_change_places_finds_one, KINDS)
{
    struct worker *workers[2] = { worker_start(), worker_start() };

    for (int holder = 0; holder < 2; holder++) {
        size_t nth = 1;

        while (hunt_at(kinds[_i], holder, workers, nth))
            nth++;
        REQUIRE(nth > 20);
    }
    worker_stop(workers[0]);
    worker_stop(workers[1]);
}

/*
 * ---- Cancellation --------------------------------------------------------
 */

/* A thread that is to be cancelled looks for a slot, in vain, until its patience
 * ends. */
struct doomed {
    struct hold *hold;
    bool looks;
};

static void require_elsewhere(void *argument)
{
    const struct doomed *doomed = argument;

    REQUIRE(!doomed->looks); /* cancelled, but not in the alloc */
}

static void *look_in_vain(void *argument)
{
    struct doomed *doomed = argument;

    pthread_cleanup_push(require_elsewhere, doomed);
    REQUIRE_EQUAL(pthread_cancel(pthread_self()), 0);
    doomed->looks = true;
    (void)hold_take(doomed->hold, 1);
    doomed->looks = false;
    pthread_testcancel();
    pthread_cleanup_pop(0);
    return NULL;
}

static void flush(void *argument)
{
    cpool_flush(argument);
}

/* The slot in question is in the hands of a thread that stands still inside. */
TEST_TIMES(alloc_that_naps_is_no_point_of_cancellation, KINDS - 1)
{
    /* The first kind has no such naps. */
    cpool_t *pool = steps_pool(kinds[1 + _i], CAPACITY, 0, CAPACITY);
    struct worker *worker = worker_start();
    struct steps_stop stop;
    struct hold theirs;
    struct hold hold;
    struct doomed doomed = { &hold, false };
    pthread_t thread;
    void *result;

    hold_init(&hold, pool);
    hold_init(&theirs, pool);
    worker_do(worker, take_one, &theirs);
    worker_do(worker, free_one, &theirs);
    REQUIRE(steps_run(&stop, worker, "cpi_cache_detach", 1, flush, pool));
    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), CAPACITY - 1);
    thread = support_start(look_in_vain, &doomed);
    REQUIRE_EQUAL(pthread_join(thread, &result), 0);
    REQUIRE(result == PTHREAD_CANCELED);
    steps_go_on(&stop);
    hold_free_all(&hold);
    support_require_live(pool, 0);
    worker_stop(worker);
    hold_fini(&hold);
    hold_fini(&theirs);
    support_destroy_empty(pool);
}
