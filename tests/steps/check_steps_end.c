/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_end.c - a thread that ends, stopped at every step of what the library
 * does then: it holds up no other pool, and a fork and the destruction of its pool
 * find all.
 */
#include "meeting.h" /* first: it says which system interfaces are wanted */

#include "inside_wait.h"

enum { CAPACITY = 24, ROUNDS = 3, USED = 4 * ROUNDS - 1 };

/* The most that a thread that vanishes inside may take with it: three magazines. */
enum { MOST_LOST = 3 * ROUNDS };

static const unsigned kinds[] = { 0, CPOOL_TRACKED };

struct end {
    cpool_t *pool;
    size_t used; /* slots, which it leaves in its cache */
    size_t nth;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool stands; /* at the step */
    bool goes_on;
    bool ended;
};

static pthread_key_t last; /* its destructor runs after the library's */

static void stand_still(void *argument)
{
    struct end *end = argument;

    pthread_mutex_lock(&end->mutex);
    end->stands = true;
    pthread_cond_broadcast(&end->changed);
    while (!end->goes_on)
        pthread_cond_wait(&end->changed, &end->mutex);
    pthread_mutex_unlock(&end->mutex);
}

static void note_end(void *argument)
{
    struct end *end = argument;

    (void)steps_drop();
    pthread_mutex_lock(&end->mutex);
    end->ended = true;
    pthread_cond_broadcast(&end->changed);
    pthread_mutex_unlock(&end->mutex);
}

/* Leaves its cache with several magazines in it, one of them half full. */
static void *use_and_end(void *argument)
{
    struct end *end = argument;
    void *slots[USED];

    REQUIRE_EQUAL(cpool_alloc_bulk(end->pool, slots, end->used, 0), end->used);
    cpool_free_bulk(end->pool, slots, end->used);
    REQUIRE_EQUAL(pthread_setspecific(last, end), 0);
    steps_plan(NULL, end->nth, stand_still, end);
    return NULL;
}

/* Returns whether it has stopped at its nth step.  A test begins with the first one. */
static bool begin_end_in(struct end *end, cpool_t *pool, size_t used, size_t nth)
{
    if (nth == 1) {
        REQUIRE(cpi_thread_startup());
        REQUIRE_EQUAL(pthread_key_create(&last, note_end), 0);
    }
    end->pool = pool;
    end->used = used;
    end->nth = nth;
    end->stands = end->goes_on = end->ended = false;
    REQUIRE_EQUAL(pthread_mutex_init(&end->mutex, NULL), 0);
    REQUIRE_EQUAL(pthread_cond_init(&end->changed, NULL), 0);
    end->thread = support_start(use_and_end, end);
    pthread_mutex_lock(&end->mutex);
    while (!end->stands && !end->ended)
        pthread_cond_wait(&end->changed, &end->mutex);
    pthread_mutex_unlock(&end->mutex);
    return end->stands;
}

static bool begin_end(struct end *end, unsigned flags, size_t nth)
{
    return begin_end_in(end, steps_pool(flags, CAPACITY, 0, ROUNDS), USED, nth);
}

static void let_end(struct end *end)
{
    pthread_mutex_lock(&end->mutex);
    end->goes_on = true;
    pthread_cond_broadcast(&end->changed);
    pthread_mutex_unlock(&end->mutex);
    support_join(end->thread);
    REQUIRE_EQUAL(pthread_cond_destroy(&end->changed), 0);
    REQUIRE_EQUAL(pthread_mutex_destroy(&end->mutex), 0);
}

static void require_given_back(cpool_t *pool)
{
    REQUIRE_EQUAL(support_stats(pool).caches, 0);
    support_require_live(pool, 0);
    support_destroy_whole(pool);
}

static bool lock_is_free(void)
{
    if (!cpi_try_lock())
        return false;
    cpi_unlock();
    return true;
}

static void live_and_die(void)
{
    cpool_t *other = steps_pool(0, CAPACITY, 0, ROUNDS);

    cpool_free(other, cpool_alloc(other));
    support_require_live(other, 0);
    support_destroy_empty(other);
}

TEST_TIMES(thread_stopped_at_its_end_holds_up_no_other_pool, SUPPORT_LENGTH(kinds))
{
    size_t with_lock_free = 0;
    struct end end;
    bool stopped = true;

    for (size_t nth = 1; stopped; nth++) {
        stopped = begin_end(&end, kinds[_i], nth);
        if (stopped && lock_is_free()) {
            with_lock_free++;
            live_and_die();
        }
        let_end(&end);
        require_given_back(end.pool);
    }
    /* The whole of the flush.  Without the lock it would be the first step only. */
    REQUIRE(with_lock_free > 10);
}

static size_t take_all(cpool_t *pool, void **slots, size_t count)
{
    while (count < CAPACITY && (slots[count] = cpool_alloc(pool)) != NULL)
        count++;
    return count;
}

/* All but what the ending thread has in its hands can be had, and then that, too. */
TEST_TIMES(thread_stopped_at_its_end_hides_what_it_has_in_its_hands, SUPPORT_LENGTH(kinds))
{
    struct end end;
    bool stopped = true;

    for (size_t nth = 1; stopped; nth++) {
        void *slots[CAPACITY];
        size_t count = 0;

        stopped = begin_end(&end, kinds[_i], nth);
        if (!stopped || lock_is_free()) {
            count = take_all(end.pool, slots, 0);
            REQUIRE(count + (stopped ? MOST_LOST : 0) >= CAPACITY);
        }
        let_end(&end);
        count = take_all(end.pool, slots, count);
        REQUIRE_EQUAL(count, CAPACITY);
        REQUIRE(cpool_alloc(end.pool) == NULL);
        cpool_free_bulk(end.pool, slots, count);
        cpool_flush(end.pool);
        support_destroy_whole(end.pool);
    }
}

static void use_and_destroy(void *argument)
{
    cpool_t *pool = argument;
    void *slots[CAPACITY];
    size_t count = take_all(pool, slots, 0);

    REQUIRE(count >= CAPACITY - MOST_LOST);
    cpool_free_bulk(pool, slots, count);
    REQUIRE(support_destroy(pool) <= MOST_LOST);
}

TEST_TIMES(fork_at_every_step_of_a_threads_end_leaves_the_pool_usable, SUPPORT_LENGTH(kinds))
{
    struct end end;
    bool stopped = true;

    for (size_t nth = 1; stopped; nth++) {
        stopped = begin_end(&end, kinds[_i], nth);
        if (stopped && lock_is_free())
            support_in_child(use_and_destroy, end.pool);
        let_end(&end);
        require_given_back(end.pool);
    }
}

/* The stopped thread is on its way, but inside nothing that destroy awaits anyway. */
static bool only_leaves(const cpool_t *pool)
{
    for (size_t i = 0; i < cpi_registry_made(&inside(pool)->registry); i++)
        if (cpi_registry_cache(&inside(pool)->registry, i)->busy % 2 != 0)
            return false;
    return inside(pool)->registry.leaving > 0;
}

static void destroy(void *pool)
{
    support_destroy_empty(pool);
}

static void reset(void *pool)
{
    REQUIRE_EQUAL(cpool_reset(pool), 0);
}

TEST_TIMES(destroy_and_reset_wait_for_a_thread_that_leaves, 2 * SUPPORT_LENGTH(kinds))
{
    struct worker *worker = worker_start();
    size_t waited = 0;
    struct steps_stop stop;
    struct end end;
    bool stopped = true;

    for (size_t nth = 1; stopped; nth++) {
        stopped = begin_end(&end, kinds[_i / 2], nth);
        if (stopped && lock_is_free() && only_leaves(end.pool)) {
            waited++;
            /* It looks again and again, each time with the lock. */
            REQUIRE(steps_run(&stop, worker, STEPS_LOCK, 20, _i % 2 == 0 ? destroy : reset,
                              end.pool));
            let_end(&end);
            steps_go_on(&stop);
            if (_i % 2 != 0)
                require_given_back(end.pool);
        } else {
            let_end(&end);
            require_given_back(end.pool);
        }
    }
    REQUIRE(waited > 0);
    worker_stop(worker);
}

/* All slots are loaded in the cache of the thread that ends. */
TEST(thread_stopped_at_its_end_wakes_who_waits)
{
    struct worker *worker = worker_start();
    bool stopped = true;

    for (size_t nth = 1; stopped; nth++) {
        struct meeting_second heir = { NULL, NULL, NULL, false };
        struct end end;

        stopped = begin_end_in(&end, steps_pool(0, ROUNDS, 0, ROUNDS), ROUNDS, nth);
        heir.pool = end.pool;
        inside(end.pool)->waiters.starving_after = UINT64_MAX / 4; /* no look before */
        if (!stopped || lock_is_free()) {
            worker_begin(worker, meeting_wait_too, &heir);
            meeting_await_second(&heir);
            let_end(&end);
            worker_await(worker);
            REQUIRE(heir.slot != NULL);
            cpool_free(heir.pool, heir.slot);
            cpool_flush(heir.pool);
        } else {
            let_end(&end);
        }
        support_require_live(end.pool, 0);
        support_destroy_empty(end.pool);
    }
    worker_stop(worker);
}
