/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_lease_reset.c - a thread stops at every step of a reset of a lease, and the process
 * forks, another thread waits for a slot, or one that took part ends, allocates or is robbed.
 *
 * Includes steps.h, and pool_impl.h for the lock and the figures of a search.
 */
#include "steps.h" /* first: it says which system interfaces are wanted */

#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache/await.h"
#include "cache/cache_swap.h"
#include "inside_wait.h"
#include "party.h"

/* A thread that vanished inside has left its loaded magazine behind, and had two in its hands. */
enum { LEFT_BEHIND = 3 * ROUNDS };

/* Where a reset by the only thread of the lease takes no lock. */
enum { UNLOCKED = 2 };

static void reset(void *argument)
{
    struct party *party = argument;

    party->got = cpool_lease_reset(party->lease);
}

static void adopt(void *argument)
{
    struct party *party = argument;

    REQUIRE_EQUAL(cpool_lease_adopt(party->lease, cpool_depot_alloc(party->pool)), 0);
}

/* Slots in each part of the record: two magazines of the chain and a half, and one adopted. */
enum { TAKEN = 2 * ROUNDS + ROUNDS / 2 + 1 };

static struct party begin_whole(unsigned flags, struct worker *worker)
{
    struct party party = begin(flags, worker, TAKEN - 1);

    worker_do(worker, adopt, &party);
    return party;
}

/* Takes all that can be had, each slot once. */
static size_t take_all(cpool_t *pool)
{
    bool taken[4 * CAPACITY] = {false};
    size_t count = 0;
    void *slot;

    for (; (slot = cpool_alloc(pool)) != NULL; count++) {
        size_t index = cpool_index(pool, slot);

        REQUIRE(index < 4 * CAPACITY && !taken[index]);
        taken[index] = true;
    }
    return count;
}

START_TEST(reset_by_the_only_thread_takes_no_lock)
{
    struct worker *worker = worker_start();
    struct party party = begin_whole(modes[_i], worker);
    struct steps_stop stop;

    REQUIRE(!steps_run(&stop, worker, STEPS_LOCK, 1, reset, &party));
    steps_go_on(&stop);
    REQUIRE_EQUAL(party.got, TAKEN);
    REQUIRE_EQUAL(cpool_lease_end(party.lease), 0);
    support_destroy_empty(party.pool);
    worker_stop(worker);
}
END_TEST

/* A search must not take the pool for one in which nothing was freed, though as many slots are in
 * the same places as before. */
START_TEST(reset_shows_in_the_figures_of_a_search)
{
    struct worker *worker = worker_start();
    struct party party = begin(modes[_i], worker, ROUNDS);
    struct cpi_activity before, after;

    cpi_await_activity(&inside(party.pool)->registry, &before);
    worker_do(worker, reset, &party);
    REQUIRE_EQUAL(party.got, ROUNDS);
    party.wanted = ROUNDS;
    worker_do(worker, take, &party);
    cpi_await_activity(&inside(party.pool)->registry, &after);
    REQUIRE(after.moves != before.moves);
    REQUIRE_EQUAL(cpool_lease_end(party.lease), ROUNDS);
    support_destroy_empty(party.pool);
    worker_stop(worker);
}
END_TEST

/* Whether nobody has the library's lock: then a handler may run, and a thread end. */
static bool lock_is_free(void)
{
    if (!cpi_try_lock())
        return false;
    cpi_unlock();
    return true;
}

/* --- Forks --- */

/* The slots are the lease's or free, and none is there twice. */
static void end_and_take_in_child(void *argument)
{
    struct party *party = argument;
    size_t slots;

    steps_allow(0);
    support_capture_reports();
    slots = cpool_lease_reset(party->lease);
    slots += cpool_lease_end(party->lease);
    REQUIRE(slots <= TAKEN + ROUNDS);
    slots = take_all(party->pool);
    REQUIRE(slots <= CAPACITY && slots + LEFT_BEHIND >= CAPACITY);
    REQUIRE_NO_REPORT();
    support_release_reports();
}

static void require_all(const struct party *party)
{
    REQUIRE_EQUAL(party->got, TAKEN);
    support_require_obtainable(party->pool, 0);
    REQUIRE_EQUAL(cpool_lease_end(party->lease), 0);
    support_destroy_empty(party->pool);
}

static bool fork_beside(unsigned flags, struct worker *worker, size_t nth)
{
    struct party party = begin_whole(flags, worker);
    struct steps_stop stop;
    bool stopped = steps_run(&stop, worker, NULL, nth, reset, &party);

    support_in_child(end_and_take_in_child, &party);
    steps_go_on(&stop);
    require_all(&party);
    return stopped;
}

START_TEST(fork_beside_a_reset_leaves_slots_that_are_leased_or_free)
{
    struct worker *worker = worker_start();
    size_t nth = 1;

    while (fork_beside(modes[_i], worker, nth))
        nth++;
    REQUIRE(nth > 5);
    worker_stop(worker);
}
END_TEST

/* As a signal handler. */
static void fork_here(void *child)
{
    if (lock_is_free())
        *(pid_t *)child = fork();
}

/* The child goes on with the reset, and has all. */
static bool fork_within(unsigned flags, size_t nth)
{
    cpool_t *pool = steps_pool(flags, CAPACITY, 0, ROUNDS);
    struct party party = {pool, cpool_lease_begin(pool), TAKEN - 1, 0};
    pid_t child = -1;
    int status;
    bool stopped;

    take(&party);
    adopt(&party);
    steps_plan(NULL, nth, fork_here, &child);
    reset(&party);
    stopped = steps_drop();
    if (child == 0) {
        require_all(&party);
        _exit(0);
    }
    if (child > 0) {
        REQUIRE_EQUAL(waitpid(child, &status, 0), child);
        REQUIRE_EQUAL(status, 0);
    }
    require_all(&party);
    return stopped;
}

START_TEST(fork_of_a_handler_within_a_reset_loses_no_slot)
{
    size_t nth = 1;

    while (fork_within(modes[_i], nth))
        nth++;
    REQUIRE(nth > 5);
}
END_TEST

/* --- Other threads --- */

struct leaver {
    struct worker *worker; /* NULL: it has ended */
};

static void end_thread(void *argument)
{
    struct leaver *leaver = argument;

    if (!lock_is_free())
        return;
    worker_stop(leaver->worker);
    leaver->worker = NULL;
}

/* A thread that took part ends at the nth step of another one's reset. */
static bool end_thread_beside(unsigned flags, size_t nth)
{
    struct leaver leaver = {worker_start()};
    struct party party = begin_whole(flags, leaver.worker);
    bool done;

    REQUIRE(cpool_lease_alloc(party.lease) != NULL);
    steps_plan(NULL, nth, end_thread, &leaver);
    REQUIRE_EQUAL(cpool_lease_reset(party.lease), TAKEN + 1);
    done = steps_drop();
    if (leaver.worker != NULL)
        worker_stop(leaver.worker);
    support_require_live(party.pool, 0);
    support_require_obtainable(party.pool, 0);
    REQUIRE_EQUAL(cpool_lease_end(party.lease), 0);
    support_destroy_empty(party.pool);
    return done;
}

START_TEST(thread_that_ends_beside_a_reset_leaves_no_slot)
{
    size_t nth = 1;

    while (end_thread_beside(modes[_i], nth))
        nth++;
    REQUIRE(nth > 20);
}
END_TEST

/* That is a mistake.  Each slot goes back once. */
static bool reset_beside_alloc(unsigned flags, struct worker *worker, size_t nth)
{
    struct party party = begin(flags, worker, ROUNDS + 1);
    struct steps_stop stop;
    bool stopped;
    size_t slots;

    support_capture_reports();
    party.wanted = ROUNDS;
    stopped = steps_run(&stop, worker, NULL, nth, take, &party);
    steps_plan(STEPS_LOCK, 2, resume, &stop);
    slots = cpool_lease_reset(party.lease);
    if (!steps_drop())
        steps_resume(&stop);
    worker_await(worker);
    REQUIRE_EQUAL(party.got, 2 * ROUNDS + 1);
    REQUIRE(slots > 0 || support_take_reports(NULL) > 0);
    slots += cpool_lease_end(party.lease);
    REQUIRE_EQUAL(slots, party.got);
    support_require_obtainable(party.pool, 0);
    support_release_reports();
    support_destroy_empty(party.pool);
    return stopped;
}

START_TEST(reset_beside_an_alloc_has_each_slot_once_or_is_refused)
{
    struct worker *worker = worker_start();
    size_t nth = 1;

    while (reset_beside_alloc(modes[1 + _i], worker, nth))
        nth++;
    REQUIRE(nth > 10);
    worker_stop(worker);
}
END_TEST

/* --- Waiters --- */

struct sleeper {
    cpool_t *pool;
    pthread_t thread;
    _Atomic bool over;
};

static void *wait_for_slot(void *argument)
{
    struct sleeper *sleeper = argument;
    void *slot = cpool_alloc_wait(sleeper->pool, NULL);

    atomic_store(&sleeper->over, true);
    return slot;
}

/* Starts one that sleeps, unless it finds a slot.  It does not look by itself any more. */
static void start_sleeper(void *argument)
{
    struct sleeper *sleeper = argument;

    sleeper->thread = support_start(wait_for_slot, sleeper);
    while (support_stats(sleeper->pool).waits == 0 && !atomic_load(&sleeper->over))
        sched_yield();
    if (!atomic_load(&sleeper->over))
        inside_await_hunger(sleeper->pool);
}

/* The slots are in the loaded magazine of the lease, and no others are free. */
static bool wait_within_reset(size_t nth)
{
    cpool_t *pool = steps_pool(CPOOL_WAITABLE, CAPACITY, 0, ROUNDS);
    struct party party = {pool, cpool_lease_begin(pool), ROUNDS - 1, 0};
    struct sleeper sleeper = {.pool = pool};
    uint64_t recalls;
    bool done;
    void *slot;

    take(&party);
    while (cpool_alloc(pool) != NULL)
        ;
    recalls = support_stats(pool).recalls;
    steps_plan(NULL, nth, start_sleeper, &sleeper);
    reset(&party);
    done = steps_drop();
    REQUIRE_EQUAL(party.got, ROUNDS - 1);
    if (!done)
        start_sleeper(&sleeper);
    REQUIRE_EQUAL(pthread_join(sleeper.thread, &slot), 0);
    REQUIRE(slot != NULL);
    if (nth == 1) /* it was there before, and is handed a slot */
        REQUIRE_EQUAL(support_stats(pool).recalls, recalls);
    support_require_live(pool, CAPACITY - ROUNDS + 2);
    support_destroy(pool);
    return done;
}

START_TEST(waiter_that_comes_within_a_reset_is_woken)
{
    size_t nth = 1;

    while (wait_within_reset(nth))
        nth++;
    REQUIRE(nth > 10);
}
END_TEST

static void see_depot(void *argument)
{
    struct party *party = argument;

    party->got = support_stats(party->pool).in_depot;
}

/* When the slots are in the depot, one is about to be handed over, before anybody is called. */
START_TEST(waiter_that_starves_is_not_overtaken_by_a_frame)
{
    cpool_t *pool = steps_pool(CPOOL_WAITABLE | (_i < 2 ? 0 : CPOOL_CHECKED), CAPACITY, 0, ROUNDS);
    struct party party = {pool, cpool_lease_begin(pool), CAPACITY, 0};
    struct party depot = {.pool = pool};
    struct sleeper sleeper = {.pool = pool};
    void *slot;

    take(&party);
    REQUIRE_EQUAL(party.got, CAPACITY);
    start_sleeper(&sleeper);
    steps_plan("cpi_queue_glance", 1, see_depot, &depot);
    REQUIRE_EQUAL((_i % 2 == 0 ? cpool_lease_reset : cpool_lease_end)(party.lease), CAPACITY);
    REQUIRE(steps_drop());
    REQUIRE_EQUAL(depot.got, CAPACITY - 1);
    REQUIRE_EQUAL(pthread_join(sleeper.thread, &slot), 0);
    cpool_free(pool, slot);
    if (_i % 2 == 0)
        REQUIRE_EQUAL(cpool_lease_end(party.lease), 0);
    support_destroy_empty(pool);
}
END_TEST

/* --- Beside a theft --- */

static void alloc_one(void *argument)
{
    struct party *party = argument;

    party->got = cpool_alloc(party->pool) != NULL;
}

/* The free slots are those of the lease's cache alone, which is this thread's. */
static struct party begin_dry(struct party *theft)
{
    cpool_t *pool = steps_pool(CPOOL_EXACT, CAPACITY, 0, ROUNDS);
    struct party party = {pool, cpool_lease_begin(pool), ROUNDS + 1, 0};

    take(&party);
    while (support_stats(pool).in_depot + support_stats(pool).fresh > 0)
        REQUIRE(cpool_depot_alloc(pool) != NULL);
    *theft = (struct party){pool, NULL, 0, 0};
    return party;
}

static bool reset_beside_theft(struct worker *thief, size_t nth)
{
    struct party theft;
    struct party party = begin_dry(&theft);
    size_t live = support_stats(party.pool).live;
    struct steps_stop stop;
    bool stopped = steps_run(&stop, thief, NULL, nth, alloc_one, &theft);

    steps_plan(STEPS_LOCK, 1, resume, &stop); /* it waits while the thief has the cache */
    REQUIRE_EQUAL(cpool_lease_reset(party.lease), ROUNDS + 1);
    if (!steps_drop())
        steps_resume(&stop);
    worker_await(thief);
    REQUIRE_EQUAL(theft.got, 1);
    support_require_live(party.pool, live - ROUNDS);
    REQUIRE_EQUAL(take_all(party.pool), CAPACITY - live + ROUNDS);
    REQUIRE_EQUAL(cpool_lease_end(party.lease), 0);
    support_destroy(party.pool);
    return stopped;
}

START_TEST(reset_beside_a_theft_gives_all_back)
{
    struct worker *thief = worker_start();
    size_t nth = 1;

    while (reset_beside_theft(thief, nth))
        nth++;
    REQUIRE(nth > 20);
    worker_stop(thief);
}
END_TEST

/* The thief has vanished.  The magazine that it was at may stay behind. */
static void reset_after_theft(void *argument)
{
    struct party *party = argument;
    const struct cpi_cache *cache =
        cpi_thread_entry((const cpool_t *)(const void *)party->lease)->home;
    size_t slots;

    steps_allow(0);
    support_capture_reports();
    slots = cpool_lease_reset(party->lease);
    REQUIRE(slots >= ROUNDS && slots <= 2 * ROUNDS);
    REQUIRE(cpi_cache_loaded(cache) != 0 || cpi_cache_count(cache) == 0);
    slots += cpool_lease_end(party->lease);
    REQUIRE(slots <= 2 * ROUNDS);
    REQUIRE(take_all(party->pool) >= ROUNDS);
    REQUIRE_NO_REPORT();
    support_release_reports();
}

static bool fork_beside_theft(struct worker *thief, size_t nth)
{
    struct party theft;
    struct party party = begin_dry(&theft);
    struct steps_stop stop;
    bool stopped = steps_run(&stop, thief, NULL, nth, alloc_one, &theft);

    support_in_child(reset_after_theft, &party);
    steps_go_on(&stop);
    REQUIRE_EQUAL(theft.got, 1);
    REQUIRE_EQUAL(cpool_lease_reset(party.lease), ROUNDS + 1);
    REQUIRE_EQUAL(cpool_lease_end(party.lease), 0);
    support_destroy(party.pool);
    return stopped;
}

START_TEST(reset_in_the_child_of_a_fork_beside_a_theft_has_each_slot_once)
{
    struct worker *thief = worker_start();
    size_t nth = 1;

    while (fork_beside_theft(thief, nth))
        nth++;
    REQUIRE(nth > 20);
    worker_stop(thief);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(reset_by_the_only_thread_takes_no_lock, UNLOCKED),
        TIMES(reset_shows_in_the_figures_of_a_search, UNLOCKED),
        TIMES(fork_beside_a_reset_leaves_slots_that_are_leased_or_free, MODES),
        TIMES(fork_of_a_handler_within_a_reset_loses_no_slot, MODES),
        TIMES(thread_that_ends_beside_a_reset_leaves_no_slot, MODES),
        TIMES(reset_beside_an_alloc_has_each_slot_once_or_is_refused, MODES - 1),
        ONCE(waiter_that_comes_within_a_reset_is_woken),
        TIMES(waiter_that_starves_is_not_overtaken_by_a_frame, 4),
        ONCE(reset_beside_a_theft_gives_all_back),
        ONCE(reset_in_the_child_of_a_fork_beside_a_theft_has_each_slot_once),
    };

    return SUPPORT_RUN("steps_lease_reset", tests);
}
