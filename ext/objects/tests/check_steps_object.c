/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_object.c - a trim of an object pool stops at each of its steps, and another
 * thread gets an object meanwhile, makes room, or forks and gets one in the child.  Steps of
 * gets that come across slots for threads that wait, or await the last one.
 *
 * Includes steps.h.
 */
#include "steps.h" /* first: it says which system interfaces are wanted */

#include "granted.h"

#include <cpool/priority.h>

#include <errno.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OBJECTS = 4 };

static cpool_objects_t *make_pool(void)
{
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_objects_t *pool;
    void *objects[OBJECTS];

    type.object_size = 64;
    config.type = &type;
    config.capacity = OBJECTS;
    REQUIRE_EQUAL(cpool_objects_create(&pool, &config), 0);
    for (int i = 0; i < OBJECTS; i++) {
        objects[i] = cpool_object_get(pool);
        REQUIRE(objects[i] != NULL);
    }
    for (int i = 0; i < OBJECTS; i++)
        cpool_object_put(pool, objects[i]);
    REQUIRE_EQUAL(cpool_objects_resize(pool, -OBJECTS, 0), OBJECTS);
    REQUIRE_EQUAL(cpool_objects_resize(pool, OBJECTS, 0), OBJECTS);
    return pool;
}

static void trim(void *pool)
{
    (void)cpool_objects_resize(pool, 0, 0);
}

static void get_all(void *pool)
{
    void *object;

    for (int i = 0; i < OBJECTS; i++)
        REQUIRE_EQUAL(cpool_object_get_with(pool, &object, NULL), 0);
    REQUIRE_EQUAL(cpool_object_get_with(pool, &object, NULL), CPOOL_EDRY);
}

static bool get_beside_trim(struct worker *worker, bool forks, size_t nth)
{
    cpool_objects_t *pool = make_pool();
    struct steps_stop stop;
    bool stopped = steps_run(&stop, worker, NULL, nth, trim, pool);

    if (forks)
        support_in_child(get_all, pool);
    else
        get_all(pool);
    steps_go_on(&stop);
    if (!forks)
        REQUIRE_EQUAL(cpool_objects_reset(pool, SIZE_MAX), OBJECTS);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
    return stopped;
}

TEST_TIMES(every_object_can_be_had_beside_a_trim, 2)
{
    STEPS_SWEEP(get_beside_trim(worker, _i == 1, nth), 1, 1);
}

/* --- A walk over active objects beside the end of one --- */

static struct steps_stop walk_stop;
static bool is_walk_stopped;
static void *walked;

static void walk(void *pool)
{
    cpool_object_info_t info = CPOOL_OBJECT_INFO_INIT;

    walked = cpool_objects_next(pool, &info);
}

/* The walk goes on while this object is in the making. */
static int let_walk_on(void *object, void *unused)
{
    (void)object;
    (void)unused;
    if (is_walk_stopped)
        steps_go_on(&walk_stop);
    return 0;
}

static bool make_beside_walk(struct worker *worker, size_t nth)
{
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_objects_t *pool;
    void *object;
    bool stopped;

    type.object_size = 64;
    type.create = let_walk_on;
    config.type = &type;
    config.capacity = 1;
    config.flags = CPOOL_OBJECT_FAKE;
    is_walk_stopped = false;
    REQUIRE_EQUAL(cpool_objects_create(&pool, &config), 0);
    object = cpool_object_get(pool);
    stopped = steps_run(&walk_stop, worker, NULL, nth, walk, pool);
    is_walk_stopped = stopped;
    REQUIRE(stopped || walked == object);
    cpool_object_put(pool, object);
    object = cpool_object_get(pool);
    if (stopped)
        REQUIRE(walked == NULL);
    else
        steps_go_on(&walk_stop);
    cpool_object_put(pool, object);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
    return stopped;
}

/* The objects of a fake pool follow each other at one place. */
TEST(walk_visits_no_object_in_the_making)
{
    STEPS_SWEEP(make_beside_walk(worker, nth), 1, 3);
}

/* --- A trim with slots in hand --- */

struct beside {
    struct steps_stop stop;
    struct worker *worker;
    cpool_objects_t *pool;
    void (*body)(void *pool);
};

/* It comes to its end, or waits for the lock that the trim has. */
static void run_beside(void *argument)
{
    struct beside *beside = argument;

    (void)steps_run(&beside->stop, beside->worker, STEPS_LOCK, 1, beside->body, beside->pool);
}

static bool trim_with(struct beside *beside, size_t nth)
{
    bool done;

    beside->pool = make_pool();
    steps_plan(NULL, nth, run_beside, beside);
    trim(beside->pool);
    done = steps_drop();
    if (done) {
        steps_go_on(&beside->stop);
        REQUIRE_EQUAL(cpool_objects_reset(beside->pool, SIZE_MAX), OBJECTS);
    }
    REQUIRE_EQUAL(cpool_objects_destroy(beside->pool), 0);
    return done;
}

TEST(get_finds_the_slots_that_a_trim_has_in_hand)
{
    struct beside beside = {.worker = worker_start(), .body = get_all};
    size_t nth = 1;

    while (trim_with(&beside, nth))
        nth++;
    REQUIRE(nth > 5);
    worker_stop(beside.worker);
}

/* --- Offers --- */

enum { MANY = 2000, SOME = 50 };

static cpool_objects_t *make_waitable(size_t capacity, size_t max)
{
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_objects_t *pool;

    type.object_size = 64;
    config.type = &type;
    config.capacity = capacity;
    config.max_capacity = max;
    config.flags = CPOOL_OBJECT_WAITABLE;
    REQUIRE_EQUAL(cpool_objects_create(&pool, &config), 0);
    return pool;
}

/* Offered slots, and those that are trimmed meanwhile, are used once each. */
static void grow_and_get_all(void *pool)
{
    REQUIRE_EQUAL(cpool_objects_resize(pool, SOME, 0), SOME);
    for (int i = 0; i < OBJECTS + SOME; i++)
        REQUIRE(cpool_object_get(pool) != NULL);
    REQUIRE(cpool_object_get(pool) == NULL);
}

static bool offer_beside_trim(struct beside *beside, size_t nth)
{
    bool done;

    beside->pool = make_waitable(OBJECTS, OBJECTS + SOME);
    REQUIRE_EQUAL(cpool_objects_populate(beside->pool, OBJECTS, NULL), OBJECTS);
    REQUIRE_EQUAL(cpool_objects_resize(beside->pool, -OBJECTS, 0), OBJECTS);
    REQUIRE_EQUAL(cpool_objects_resize(beside->pool, OBJECTS, 0), OBJECTS);
    steps_plan(NULL, nth, run_beside, beside);
    trim(beside->pool);
    done = steps_drop();
    if (done) {
        steps_go_on(&beside->stop);
        REQUIRE_EQUAL(cpool_objects_reset(beside->pool, SIZE_MAX), OBJECTS + SOME);
    }
    REQUIRE_EQUAL(cpool_objects_destroy(beside->pool), 0);
    return done;
}

TEST(offer_beside_a_trim_loses_no_slot)
{
    struct beside beside = {.worker = worker_start(), .body = grow_and_get_all};
    size_t nth = 1;

    while (offer_beside_trim(&beside, nth))
        nth++;
    REQUIRE(nth > 5);
    worker_stop(beside.worker);
}

/* A get passes few of the slots by that are there for threads that wait. */
TEST(get_after_a_large_grow_takes_few_steps)
{
    cpool_objects_t *pool = make_waitable(1, MANY);

    REQUIRE_EQUAL(cpool_objects_resize(pool, MANY - 1, 0), MANY - 1);
    steps_allow(MANY * 1000);
    for (int i = 0; i < MANY; i++)
        REQUIRE(cpool_object_get(pool) != NULL);
    steps_allow(0);
    REQUIRE(cpool_object_get(pool) == NULL);
    REQUIRE_EQUAL(cpool_objects_reset(pool, SIZE_MAX), MANY);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
}

TEST(populate_after_a_grow_creates_all)
{
    cpool_objects_t *pool = make_waitable(OBJECTS, OBJECTS + SOME);
    int code;

    REQUIRE_EQUAL(cpool_objects_populate(pool, OBJECTS, &code), OBJECTS);
    REQUIRE_EQUAL(cpool_objects_resize(pool, SOME, 0), SOME);
    REQUIRE_EQUAL(cpool_objects_populate(pool, SOME, &code), SOME);
    REQUIRE_EQUAL(code, 0);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
}

/* --- The last vacant slot in another thread's hands --- */

/* A get that passes the offered slot by, and one with an object that fails, with the slot in hand,
 * and room for an object. */
static const struct {
    const char *function;
    int code; /* the get's, in the end */
} holds[] = {
    { "cpi_object_vacate", CPOOL_EDRY },
    { "offer", EIO },
};

enum { HOLDS = sizeof(holds) / sizeof(holds[0]), LOOKS = 12 };

static int create_or_fail(void *object, void *fails)
{
    bool failed = *(bool *)fails;

    (void)object;
    *(bool *)fails = false;
    return failed ? EIO : 0;
}

static cpool_objects_t *make_failing(bool *fails, size_t max)
{
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_objects_t *pool;

    type.object_size = 64;
    type.create = create_or_fail;
    type.arg = fails;
    config.type = &type;
    config.max_capacity = max;
    config.flags = CPOOL_OBJECT_WAITABLE;
    REQUIRE_EQUAL(cpool_objects_create(&pool, &config), 0);
    return pool;
}

/* The slot is offered in the calling thread's cache, where its next get passes it by. */
static void grow_by_one(void *pool)
{
    REQUIRE_EQUAL(cpool_objects_resize(pool, 1, 0), 1);
}

struct get {
    struct steps_stop stop;
    cpool_objects_t *pool;
    void *object;
    int code;
};

static void get_one(void *argument)
{
    struct get *get = argument;

    get->code = cpool_object_get_with(get->pool, &get->object, NULL);
}

TEST_TIMES(get_awaits_the_last_slot_that_another_thread_has_in_hand, HOLDS)
{
    struct worker *workers[] = { worker_start(), worker_start() };
    bool fails = holds[_i].code == EIO;
    cpool_objects_t *pool = make_failing(&fails, 1);
    struct get holder = { .pool = pool };
    struct get get = { .pool = pool };
    bool awaits;

    worker_do(workers[0], grow_by_one, pool);
    REQUIRE(steps_run(&holder.stop, workers[0], holds[_i].function, 1, get_one, &holder));
    awaits = steps_run(&get.stop, workers[1], STEPS_LOCK, 1, get_one, &get) &&
             steps_go_on_to(&get.stop, STEPS_LOCK, LOOKS);
    steps_go_on(&holder.stop);
    steps_go_on(&get.stop);
    REQUIRE_EQUAL(get.code, 0);
    REQUIRE_EQUAL(holder.code, holds[_i].code);
    REQUIRE(awaits);
    cpool_object_put(pool, get.object);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
    for (size_t i = 0; i < 2; i++)
        worker_stop(workers[i]);
}

/* --- Slots that were never used, in the hands of a thread that claims them --- */

enum { STRETCH = 16, CLAIMS = 3, CLAIMED = STRETCH + CLAIMS };

/* All objects but these are the caller's. */
static cpool_objects_t *make_claimed(unsigned flags, size_t left, size_t max)
{
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_objects_t *pool;

    type.object_size = 64;
    config.type = &type;
    config.capacity = STRETCH + left;
    config.max_capacity = max;
    config.populate = STRETCH;
    config.flags = flags;
    REQUIRE_EQUAL(cpool_objects_create(&pool, &config), 0);
    for (size_t i = 0; i < STRETCH; i++)
        REQUIRE(cpool_object_get(pool) != NULL);
    return pool;
}

static void get_for_good(void *pool)
{
    REQUIRE(cpool_object_get(pool) != NULL);
}

/* Milliseconds until a get finds the pool dry. */
static long time_until_dry(void *pool)
{
    struct timespec begin, end;
    void *object;

    REQUIRE_EQUAL(clock_gettime(CLOCK_MONOTONIC, &begin), 0);
    REQUIRE_EQUAL(cpool_object_get_with(pool, &object, NULL), CPOOL_EDRY);
    REQUIRE_EQUAL(clock_gettime(CLOCK_MONOTONIC, &end), 0);
    return (long)(end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000;
}

/* Slots that vanished with a thread are missed in moments, as if there were fewer objects.
 * A busy machine may hold up some of the gets that show it, and not all. */
static void get_what_is_left(void *pool)
{
    void *object;
    int code = 0;
    int gets = 0;

    steps_allow(0);
    for (int i = 0; i < CLAIMED && code == 0; i++)
        code = cpool_object_get_with(pool, &object, NULL);
    REQUIRE_EQUAL(code, CPOOL_EDRY);
    while (time_until_dry(pool) >= 500)
        REQUIRE(++gets < 30);
    cpool_objects_reset(pool, SIZE_MAX);
    REQUIRE(cpool_objects_populate(pool, CLAIMED, &code) < CLAIMED);
    REQUIRE_EQUAL(code, CPOOL_EDRY);
}

/* All of the last slots are a thread's that has not said so yet, and keeps one of them. */
TEST(get_awaits_fresh_slots_that_another_thread_claims)
{
    struct worker *workers[] = { worker_start(), worker_start() };
    cpool_objects_t *pool = make_claimed(0, STRETCH, 2 * STRETCH);
    struct get holder = { .pool = pool };
    struct get get = { .pool = pool };

    REQUIRE(steps_run(&holder.stop, workers[0], "take_run", 2, get_one, &holder));
    if (steps_run(&get.stop, workers[1], STEPS_LOCK, 1, get_one, &get))
        (void)steps_go_on_to(&get.stop, STEPS_LOCK, LOOKS);
    steps_go_on(&holder.stop);
    steps_go_on(&get.stop);
    REQUIRE_EQUAL(holder.code, 0);
    REQUIRE_EQUAL(get.code, 0);
    REQUIRE_EQUAL(cpool_objects_reset(pool, SIZE_MAX), STRETCH + 2);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
    for (size_t i = 0; i < 2; i++)
        worker_stop(workers[i]);
}

static bool fork_beside_claim(struct worker *worker, size_t nth)
{
    cpool_objects_t *pool = make_claimed(0, CLAIMS, CLAIMED);
    struct steps_stop stop;
    bool stopped = steps_run(&stop, worker, NULL, nth, get_for_good, pool);

    support_in_child(get_what_is_left, pool);
    steps_go_on(&stop);
    REQUIRE_EQUAL(cpool_objects_reset(pool, SIZE_MAX), STRETCH + 1);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
    return stopped;
}

TEST(child_of_a_fork_beside_a_claim_runs_dry)
{
    STEPS_SWEEP(fork_beside_claim(worker, nth), 1, 5);
}

static bool grow_beside_claim(struct worker *worker, size_t nth)
{
    cpool_objects_t *pool = make_claimed(CPOOL_OBJECT_WAITABLE, 0, STRETCH + 2);
    struct steps_stop stop;
    bool stopped = steps_run(&stop, worker, NULL, nth, grow_by_one, pool);
    size_t offered;

    REQUIRE_EQUAL(cpool_objects_resize(pool, 1, 0), 1);
    offered = support_stats(cpool_objects_pool(pool)).in_caches;
    steps_go_on(&stop);
    REQUIRE(offered > 0);
    REQUIRE_EQUAL(cpool_objects_reset(pool, SIZE_MAX), STRETCH);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
    return stopped;
}

TEST(grow_beside_a_claim_offers_a_slot)
{
    STEPS_SWEEP(grow_beside_claim(worker, nth), 1, 5);
}

/* --- Room that is made while offers are taken --- */

enum { OFFERS = 8 };

static void grow_beyond_offers(void *pool)
{
    REQUIRE_EQUAL(cpool_objects_resize(pool, OFFERS + 1, 0), OFFERS + 1);
}

static size_t count_offers(const cpool_objects_t *pool)
{
    struct figures stats = support_stats(cpool_objects_pool(pool));

    return stats.in_caches + stats.in_depot;
}

/* One object less than there is room for in the end. */
static bool get_beside_grow(const char *function, struct worker *worker, size_t nth)
{
    cpool_objects_t *pool = make_waitable(0, OFFERS + 1);
    struct steps_stop stop;
    bool stopped = steps_run(&stop, worker, function, nth, grow_beyond_offers, pool);

    for (int i = 0; i < OFFERS; i++)
        (void)!cpool_object_get(pool);
    steps_go_on(&stop);
    REQUIRE(count_offers(pool) > 0);
    (void)cpool_objects_reset(pool, SIZE_MAX);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
    return stopped;
}

TEST_TIMES(room_that_is_left_is_offered, HOLDS)
{
    STEPS_SWEEP(get_beside_grow(holds[_i].function, worker, nth), 1, 1);
}

/* Gets that have room take all offers.  Meanwhile one fails, and its slot is not offered, because
 * there are so many: its room is for a thread that sleeps. */
static void wait_for_one(void *argument)
{
    const uint64_t timeout = UINT64_C(10000000000);
    struct get *get = argument;

    get->code = object_wait(get->pool, &get->object, timeout);
}

enum { FAILS = OFFERS, WAITS, TAKERS };

TEST(room_that_a_get_leaves_beside_taken_offers_wakes_a_thread)
{
    struct worker *workers[OFFERS + TAKERS];
    struct get gets[OFFERS + 1];
    bool fails = true;
    cpool_objects_t *pool = make_failing(&fails, OFFERS + 1);
    struct get wait = { .pool = pool };

    for (size_t i = 0; i < OFFERS + TAKERS; i++)
        workers[i] = worker_start();
    for (size_t i = 0; i < OFFERS; i++)
        worker_do(workers[TAKERS + i], grow_by_one, pool);
    REQUIRE_EQUAL(cpool_objects_resize(pool, 1, 0), 1);
    gets[FAILS].pool = pool;
    REQUIRE(steps_run(&gets[FAILS].stop, workers[FAILS], "cpi_object_count_out", 1, get_one,
                      &gets[FAILS]));
    for (size_t i = 0; i < OFFERS; i++) {
        gets[i].pool = pool;
        REQUIRE(steps_run(&gets[i].stop, workers[i], "cpi_object_count_in", 2, get_one, &gets[i]));
    }
    for (size_t i = 0; i < OFFERS; i++)
        REQUIRE(steps_go_on_to(&gets[i].stop, "take_offer", 1));
    worker_begin(workers[WAITS], wait_for_one, &wait);
    while (support_stats(cpool_objects_pool(pool)).waits == 0)
        sched_yield();
    steps_go_on(&gets[FAILS].stop);
    REQUIRE_EQUAL(gets[FAILS].code, EIO);
    for (size_t i = 0; i < OFFERS; i++) {
        steps_go_on(&gets[i].stop);
        REQUIRE_EQUAL(gets[i].code, 0);
    }
    worker_await(workers[WAITS]);
    REQUIRE(wait.code == 0 && cpool_objects_reset(pool, SIZE_MAX) == OFFERS + 1);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
    for (size_t i = 0; i < OFFERS + TAKERS; i++)
        worker_stop(workers[i]);
}

/* --- The end in the child of a fork --- */

static void do_nothing(void *object, void *arg)
{
    (void)object;
    (void)arg;
}

/* With and without hooks, and where objects are taken from others. */
enum { PLAIN, WITH_HOOKS, COUNTED, PRIORITY, ENDS };

static cpool_objects_t *make_to_end(int kind)
{
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_objects_t *pool;

    type.object_size = 64;
    type.deactivate = kind == WITH_HOOKS ? do_nothing : NULL;
    config.type = &type;
    config.capacity = 1;
    config.flags = kind == COUNTED    ? CPOOL_OBJECT_COUNTED
                   : kind == PRIORITY ? CPOOL_OBJECT_PRIORITY
                                      : 0;
    REQUIRE_EQUAL(cpool_objects_create(&pool, &config), 0);
    return pool;
}

static void get_and_put(void *pool)
{
    for (int i = 0; i < 2; i++)
        cpool_object_put(pool, cpool_object_get(pool));
}

/* The vanished thread's object is live, and nobody's mistake: a report would abort. */
static void end_in_child(void *pool)
{
    int code;

    steps_allow(0);
    code = cpool_objects_destroy(pool);
    REQUIRE(code == 0 || code == CPOOL_ELIVE);
    _exit(code == 0 ? 0 : 1);
}

static bool fork_and_end(int kind, struct worker *worker, size_t nth, size_t *live)
{
    cpool_objects_t *pool = make_to_end(kind);
    struct steps_stop stop;
    bool stopped = steps_run(&stop, worker, NULL, nth, get_and_put, pool);
    struct support_outcome outcome;

    support_fork(end_in_child, pool, &outcome);
    REQUIRE(WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) <= 1);
    *live += (size_t)WEXITSTATUS(outcome.status);
    steps_go_on(&stop);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
    return stopped;
}

TEST_TIMES(child_of_a_fork_ends_a_pool_that_a_vanished_thread_used, ENDS)
{
    struct worker *worker = worker_start();
    size_t live = 0;
    size_t nth = 1;

    while (fork_and_end(_i, worker, nth, &live))
        nth++;
    REQUIRE(nth > 5 && live > 1);
    worker_stop(worker);
}
