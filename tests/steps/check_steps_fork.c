/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_fork.c - a fork at every step of what another thread does with a
 * pool: the child finds every slot but those that were on their way, each once,
 * and every magazine.
 *
 * The children start no threads, because ThreadSanitizer does not let them.
 */
#include "script.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../ext/retire/tests/domains.h"
#include "crew.h"
#include "inside_wait.h"

/* How many slots may be in none of the places where they are looked for: those left
 * behind, and one on its way to or from the caller. */
static size_t most_lost(const struct script *script)
{
    return script->hands * SCRIPT_ROUNDS + script_in_transit(script);
}

static void be_child(void *argument)
{
    struct script *script = argument;

    REQUIRE(script->count + script->more_count <= SCRIPT_CAPACITY);
    memcpy(script->live + script->count, script->more, script->more_count * sizeof(void *));
    script->count += script->more_count;
    script->more_count = 0;
    script_require_whole(script, most_lost(script), script->hands);
    if (script->cache != NULL) {
        void *slot = cpool_cache_alloc(script->cache);

        REQUIRE(cpool_owns(script->pool, slot));
        cpool_cache_free(script->cache, slot);
        cpool_cache_destroy(script->cache);
    }
}

/* Takes all that can be had while the other thread stands still, its spares too, so
 * that the magazines that it names may lie in this thread's cache.  Half of it stays
 * live. */
static void take_what_can_be_had(struct script *script)
{
    size_t half;

    script_take_more(script);
    half = script->more_count / 2;
    cpool_free_bulk(script->pool, script->more + half, script->more_count - half);
    script->more_count = half;
}

enum { FRESH,
       USED_UP,
       ROBBED,
       STATES };

/* False if the script has fewer steps. */
static bool fork_at(const struct script_door *door, int state, struct worker *worker, size_t nth)
{
    struct script script;
    struct steps_stop stop;
    bool stopped;

    script_init(&script, SCRIPT_CAPACITY, door, worker);
    if (state != FRESH)
        script_use_up_fresh(&script);
    stopped = steps_run(&stop, worker, NULL, nth, script_play, &script);
    if (state == ROBBED)
        take_what_can_be_had(&script);
    script.hands = script_count_hands(script.pool);
    script_fork(be_child, &script);
    script_give_more(&script);
    steps_go_on(&stop);
    worker_do(worker, script_begin, &script); /* the parent is none the worse */
    script_fini(&script);
    return stopped;
}

static void fork_at_all(void *argument)
{
    const struct script_door *door = argument;
    struct worker *worker = worker_start();

    for (int state = 0; state < STATES; state++) {
        size_t nth = 1;

        /* One that finds the pool dry beside a thread that stands still inside has patience. */
        while (fork_at(door, state, worker, nth))
            nth += state == ROBBED ? SUPPORT_COUNT(7u, 101u) : SUPPORT_COUNT(1u, 17u);
        REQUIRE(nth > 100);
    }
    worker_stop(worker);
}

TEST_TIMES(fork_at_every_step_child_finds_everything, 2 * SCRIPT_DOORS)
{
    struct script_door door = script_doors[_i % SCRIPT_DOORS];

    if (_i < SCRIPT_DOORS)
        fork_at_all(&door);
    else
        crew_without_barrier(fork_at_all, &door);
}

/* --- What a vanished thread had begun --- */

static void give_all(void *argument)
{
    struct script *script = argument;

    script_give(script, script->count);
}

struct spill {
    struct script script;
    size_t loaded; /* the count shown, which a thread that vanishes inside leaves behind */
};

/* Spares are found wherever the thread stopped that was about to count them. */
static void find_all(void *argument)
{
    struct spill *spill = argument;
    struct script *script = &spill->script;
    void *slots[SCRIPT_CAPACITY];
    size_t lost = spill->loaded + (script->freeing != NULL);

    REQUIRE(script_take_rest(script, slots) + script->count + lost >= SCRIPT_CAPACITY);
}

/* A thread vanishes while it gives slots to a cache that stays. */
static bool fork_in_spill(struct worker *worker, size_t nth)
{
    struct spill spill;
    struct script *script = &spill.script;
    struct steps_stop stop;
    bool stopped;

    script_init(script, SCRIPT_CAPACITY, &script_doors[SCRIPT_CACHE], worker);
    script_take(script, 4 * SCRIPT_ROUNDS);
    stopped = steps_run(&stop, worker, "cpi_cache_set_stocked", nth, give_all, script);
    spill.loaded = cpi_cache_count(script->cache->home);
    script_fork(find_all, &spill);
    steps_go_on(&stop);
    cpool_cache_destroy(script->cache);
    support_destroy_empty(script->pool);
    return stopped;
}

TEST(fork_in_a_spill_child_finds_all_spares)
{
    struct worker *worker = worker_start();
    size_t nth = 1;

    while (fork_in_spill(worker, nth))
        nth++;
    REQUIRE_EQUAL(nth, 2); /* there is room for one spare, and an exchange leaves the number */
    worker_stop(worker);
}

static void take_one(void *argument)
{
    script_take(argument, 1);
}

/* Free slots, all of them loaded in the cache of the thread that forks. */
enum { LOADED = SCRIPT_ROUNDS - 1 };

static void use_own_cache(void *argument)
{
    struct script *script = argument;

    script_require_no_hands(script->pool);
    cpool_free_bulk(script->pool, script->more, script->more_count);
    REQUIRE(support_stats(script->pool).in_caches > 0);
}

/* A thread vanishes that finds the pool dry and takes slots from another one's cache. */
static bool fork_in_theft(struct worker *worker, size_t nth)
{
    struct script script;
    struct steps_stop stop;
    bool stopped;

    script_init(&script, SCRIPT_CAPACITY, &script_doors[SCRIPT_OWN], worker);
    REQUIRE_EQUAL(support_take_all(script.pool, script.more), SCRIPT_CAPACITY);
    script.more_count = SCRIPT_CAPACITY - LOADED;
    cpool_free_bulk(script.pool, script.more + script.more_count, LOADED);
    stopped = steps_run(&stop, worker, NULL, nth, take_one, &script);
    script_fork(use_own_cache, &script);
    steps_go_on(&stop);
    script_give(&script, 1);
    cpool_free_bulk(script.pool, script.more, script.more_count);
    support_destroy_empty(script.pool);
    return stopped;
}

TEST(fork_in_a_theft_child_uses_its_cache)
{
    STEPS_SWEEP(fork_in_theft(worker, nth), SUPPORT_COUNT(1u, 17u), 30);
}

static void give_one(void *argument)
{
    script_give(argument, 1);
}

static void destroy(void *argument)
{
    struct script *script = argument;

    (void)support_destroy(script->pool);
}

/* A thread vanishes while it gives a slot to a cache that stays, in a pool that is waited
 * on: the child destroys the pool, for which that thread would have had to be done. */
static bool fork_in_free(struct worker *worker, size_t nth)
{
    struct script script;
    struct steps_stop stop;
    bool stopped;

    script_init(&script, SCRIPT_CAPACITY, &script_doors[SCRIPT_CACHE], worker);
    script_take(&script, 1);
    script_close_entries(&script); /* the inline path is short of what destroy awaits */
    stopped = steps_run(&stop, worker, NULL, nth, give_one, &script);
    script_fork(destroy, &script);
    steps_go_on(&stop);
    cpool_cache_destroy(script.cache);
    support_destroy_empty(script.pool);
    return stopped;
}

TEST(fork_in_a_free_child_destroys_the_pool)
{
    STEPS_SWEEP(fork_in_free(worker, nth), 1, 3);
}

/* --- Waiters --- */

struct waiting {
    cpool_t *pool;
    void *held;
};

static void wait_and_free(void *argument)
{
    struct waiting *waiting = argument;

    cpool_free(waiting->pool, cpool_alloc_wait(waiting->pool, NULL));
}

static void lock_queue(void *argument)
{
    struct waiting *waiting = argument;

    REQUIRE_EQUAL(pthread_mutex_lock(&inside(waiting->pool)->waiters.lock), 0);
}

static void unlock_queue(void *argument)
{
    struct waiting *waiting = argument;

    REQUIRE_EQUAL(pthread_mutex_unlock(&inside(waiting->pool)->waiters.lock), 0);
}

static void wait_in_child(void *argument)
{
    const struct timespec briefly = { 0, 1000000 };
    struct waiting *waiting = argument;

    REQUIRE(cpool_alloc_wait(waiting->pool, &briefly) == NULL);
    cpool_free(waiting->pool, waiting->held);
    REQUIRE(cpool_alloc_wait(waiting->pool, &briefly) == waiting->held);
}

/* The one that vanishes sleeps, and starves.  Another one has the queue's lock. */
TEST(child_of_a_fork_has_a_queue_of_its_own)
{
    struct worker *workers[2] = { worker_start(), worker_start() };
    struct waiting waiting = { steps_pool(0, 1, 0, 1), NULL };

    waiting.held = cpool_alloc(waiting.pool);
    worker_begin(workers[0], wait_and_free, &waiting);
    inside_await_hunger(waiting.pool);
    worker_do(workers[1], lock_queue, &waiting);
    script_fork(wait_in_child, &waiting);
    worker_do(workers[1], unlock_queue, &waiting);
    cpool_free(waiting.pool, waiting.held);
    workers_stop(workers, 2);
    support_destroy_empty(waiting.pool);
}

/* A thread forks inside a look of its own, in the notice of a slot that the look gives back. */
struct look {
    struct waiting waiting;
    bool taken; /* in the child the slot is taken before the look finds it */
    bool in_child;
};

static void fork_in_notice(cpool_t *pool, void *argument)
{
    struct look *look = argument;
    pid_t child = fork();
    int status;

    REQUIRE(child >= 0);
    if (child > 0) {
        REQUIRE_EQUAL(waitpid(child, &status, 0), child);
        REQUIRE_EQUAL(status, 0);
        return;
    }
    (void)alarm(20); /* unless it comes to its end */
    look->in_child = true;
    if (look->taken)
        REQUIRE(cpool_alloc_uncached(pool) == look->waiting.held);
}

static void require_nobody_waits(struct waiting *waiting)
{
    struct cpi_pool *pool = inside(waiting->pool);

    REQUIRE_EQUAL(pool->registry.closed, 0);
    REQUIRE(pool->waiters.queue.last == NULL);
    wait_in_child(waiting);
    cpool_free(waiting->pool, waiting->held);
    for (int i = 0; i < 3; i++) /* more operations than an entry that was closed stays so */
        cpool_free(waiting->pool, cpool_alloc(waiting->pool));
    REQUIRE(cpi_cache_active(cpi_registry_known_cache(&pool->registry))->limit != 0);
}

/* Another thread, which stands still, is before it in the queue. */
static void fork_in_look(void *argument)
{
    struct look *look = argument;
    struct waiting *waiting = &look->waiting;
    struct worker *worker = worker_start();
    struct steps_stop stop;
    cpool_domain_t *domain;

    REQUIRE_EQUAL(domain_create(&domain, 1, 4, 0), 0);
    REQUIRE_EQUAL(cpool_set_ready(waiting->pool, fork_in_notice, look), 0);
    waiting->held = cpool_alloc(waiting->pool);
    REQUIRE(cpool_alloc_or_notify(waiting->pool) == NULL);
    REQUIRE(steps_run(&stop, worker, "close_entry", 1, wait_and_free, waiting));
    REQUIRE_EQUAL(cpool_retire(reader_in(domain, 0), waiting->pool, waiting->held), 0);
    REQUIRE(cpool_alloc_wait(waiting->pool, NULL) ==
            (look->in_child && look->taken ? NULL : waiting->held));
    if (look->in_child) {
        require_nobody_waits(waiting);
    } else {
        cpool_free(waiting->pool, waiting->held);
        steps_go_on(&stop);
        worker_stop(worker);
    }
}

TEST_TIMES(fork_inside_a_look_leaves_nobody_in_the_queue, 2)
{
    struct look look = { { steps_pool(0, 1, 0, 1), NULL }, _i % 2 != 0, false };

    support_in_child(fork_in_look, &look);
    support_destroy_empty(look.waiting.pool);
}

/* --- The cost of a fork --- */

enum { MANY_ROUNDS = 2,
       MANY_MAGAZINES = 1000,
       MANY = MANY_ROUNDS * MANY_MAGAZINES,
       CROWD = 8 };

static void use_many(void *pool)
{
    void *slots[4 * MANY_ROUNDS];

    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, 4 * MANY_ROUNDS, 0), 4 * MANY_ROUNDS);
    cpool_free_bulk(pool, slots, 4 * MANY_ROUNDS);
}

static void use_more(void *pool)
{
    void *slots[20 * MANY_ROUNDS];

    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, 20 * MANY_ROUNDS, 0), 20 * MANY_ROUNDS);
    cpool_free_bulk(pool, slots, 20 * MANY_ROUNDS);
}

static void lift_allowance(void *unused)
{
    (void)unused;
    steps_allow(0);
}

/* Each thread with a cache costs some steps.  The depot's magazines cost some once, if
 * a thread that vanished was inside, not once for each thread. */
TEST_TIMES(fork_takes_steps_for_threads_and_not_for_magazines, 2)
{
    cpool_t *pool = steps_pool(0, MANY, 0, MANY_ROUNDS);
    struct worker *workers[CROWD];
    struct steps_stop stop;
    bool inside = _i == 1;

    support_require_obtainable(pool, 0);
    cpool_flush(pool);
    for (size_t i = 0; i < CROWD; i++) {
        workers[i] = worker_start();
        worker_do(workers[i], use_many, pool);
    }
    if (inside)
        REQUIRE(steps_run(&stop, workers[0], "cpi_tagstack_pop", 1, use_more, pool));
    steps_allow(CROWD * 100 + (inside ? 4 * MANY_MAGAZINES : 0));
    support_in_child(lift_allowance, NULL);
    steps_allow(0);
    if (inside)
        steps_go_on(&stop);
    workers_stop(workers, CROWD);
    support_destroy_whole(pool);
}
