/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_notice.c - cpool_alloc_or_notify beside other threads that wait, ask or free,
 * one of which stops at each of its steps.
 */
#include "meeting.h" /* first: it says which system interfaces are wanted */

#include <stdatomic.h>
#include <time.h>

#include "inside_wait.h"

enum { CAPACITY = 4, ROUNDS = 2, WAITERS = 2 };

struct scene {
    cpool_t *pool;
    struct hold hold; /* the giver's: all slots but those that it has given */
    struct worker *gives;
    struct worker *asks;
    struct steps_stop stop;
    void *slot; /* the answer */
    _Atomic bool answered;
    _Atomic unsigned notices;
    bool called_inside; /* a notice came in the asking thread, before its answer */
};

static _Thread_local bool asking;

static void count(cpool_t *pool, void *argument)
{
    struct scene *scene = argument;

    (void)pool;
    atomic_fetch_add(&scene->notices, 1u);
    if (asking)
        scene->called_inside = true;
}

static void take_all(void *argument)
{
    struct scene *scene = argument;

    REQUIRE_EQUAL(hold_take(&scene->hold, SIZE_MAX), CAPACITY);
}

static void give_all(void *argument)
{
    struct scene *scene = argument;

    hold_free_all(&scene->hold);
}

static void give_one(void *argument)
{
    struct scene *scene = argument;

    hold_free(&scene->hold, 1);
}

static void take_one(void *argument)
{
    struct scene *scene = argument;

    (void)hold_take(&scene->hold, 1);
}

static void give_two(void *argument)
{
    struct scene *scene = argument;

    hold_free(&scene->hold, 2);
}

static void give_three(void *argument)
{
    struct scene *scene = argument;

    hold_free(&scene->hold, 3);
}

static void ask(void *argument)
{
    struct scene *scene = argument;

    asking = true;
    scene->slot = cpool_alloc_or_notify(scene->pool);
    asking = false;
    atomic_store_explicit(&scene->answered, true, memory_order_release); /* see await_answer */
}

/* Until there is an answer, or for as long as shows that the call waits for a thread that stands
 * still inside. */
static void await_answer(const struct scene *scene)
{
    static const struct timespec a_while = { 0, 100000 };

    for (int i = 0; i < 10; i++) {
        if (atomic_load_explicit(&scene->answered, memory_order_acquire)) /* see ask */
            return;
        REQUIRE_EQUAL(nanosleep(&a_while, NULL), 0);
    }
}

/* Another thread, which stands still, goes on when it has to. */
static void ask_beside(struct scene *scene, struct worker *worker)
{
    atomic_init(&scene->answered, false);
    worker_begin(worker, ask, scene);
    await_answer(scene);
    steps_go_on(&scene->stop);
    worker_await(worker);
}

static cpool_t *make_pool(void)
{
    /* A thread that a test has stopped is not waited for. */
    return SUPPORT_CREATE(WAITER_SLOT_SIZE, CAPACITY, .magazine_rounds = ROUNDS,
                          .stall_limit_ms = 1);
}

static void scene_init(struct scene *scene, struct worker **workers)
{
    scene->pool = make_pool();
    scene->gives = workers[0];
    scene->asks = workers[1];
    scene->slot = NULL;
    scene->called_inside = false;
    atomic_init(&scene->notices, 0);
    inside(scene->pool)->waiters.starving_after = MEETING_LONG; /* no look before */
    REQUIRE_EQUAL(cpool_set_ready(scene->pool, count, scene), 0);
    scene->hold = hold_of(scene->pool);
    worker_do(scene->gives, take_all, scene);
}

static void scene_fini(struct scene *scene)
{
    worker_do(scene->gives, give_all, scene);
    hold_fini(&scene->hold);
    support_destroy_empty(scene->pool);
}

/* Does a test at each step in turn, until it tells that there is no such step. */
static void sweep(bool (*at)(struct worker **workers, int variant, size_t nth), int variant)
{
    struct worker *workers[2 + WAITERS];
    size_t nth = 1;

    workers_start(workers, 2 + WAITERS);
    while (at(workers, variant, nth))
        nth++;
    workers_stop(workers, 2 + WAITERS);
    REQUIRE(nth > 1);
}

#define TEST_SWEEP(name, times)                                                              \
    static bool name##_at(struct worker **workers, int variant, size_t nth);                 \
    TEST_TIMES(name, times)                                                                  \
    {                                                                                        \
        sweep(name##_at, _i);                                                                \
    }                                                                                        \
    static bool name##_at(struct worker **workers, int variant __attribute__((__unused__)),  \
                          size_t nth)

/* --- Whose notice it is --- */

/* One call has returned NULL.  A slot is freed, and before its thread calls anybody another
 * call finds it.  When that one frees the slot the notice must have come. */
TEST_SWEEP(notice_is_owed_although_another_call_found_a_slot, 1)
{
    struct scene scene;
    bool stopped;

    scene_init(&scene, workers);
    worker_do(scene.asks, ask, &scene);
    REQUIRE(scene.slot == NULL);
    stopped = steps_run(&scene.stop, scene.gives, NULL, nth, give_one, &scene);
    ask_beside(&scene, scene.asks);
    cpool_free(scene.pool, scene.slot);
    REQUIRE(scene.notices >= 1);
    scene_fini(&scene);
    return stopped;
}

struct asker {
    const struct scene *scene;
    void **slot;
};

static void ask_first(void *argument)
{
    const struct asker *asker = argument;

    *asker->slot = cpool_alloc_or_notify(asker->scene->pool);
}

static void give_one_and_open(void *argument)
{
    struct scene *scene = argument;

    give_one(scene);
    for (int i = 0; i < 4; i++) /* more operations than an entry that was closed stays so */
        if (hold_take(&scene->hold, 1) == 1)
            give_one(scene);
}

/* The only free slot lies in a thread's cache.  One call stops in its search, and another
 * one finds the slot.  If the first one then returns NULL it gets its notice. */
TEST_SWEEP(notice_of_a_call_that_searches_stays_asked_for, 1)
{
    struct scene scene;
    void *first = NULL;
    struct asker asker = { &scene, &first };
    bool stopped;

    scene_init(&scene, workers);
    worker_do(scene.gives, give_one_and_open, &scene);
    stopped = steps_run(&scene.stop, scene.asks, NULL, nth, ask_first, &asker);
    ask_beside(&scene, workers[2]);
    REQUIRE((scene.slot == NULL) != (first == NULL));
    cpool_free(scene.pool, first);
    cpool_free(scene.pool, scene.slot);
    REQUIRE(scene.notices >= 1);
    scene_fini(&scene);
    return stopped;
}

/* A slot is freed between any two steps of the only call, and its thread stops at any step of
 * the free.  The call returns the slot, or NULL before the notice, which the freeing thread
 * brings: the caller may hold a lock that the notice takes.  Where an earlier call has returned
 * NULL, that one is owed its notice, whatever this one finds. */
static bool beside_at(struct worker **workers, bool owed, size_t asked, size_t given, bool *gives)
{
    struct steps_stop stop;
    struct scene scene;
    bool stopped;

    scene_init(&scene, workers);
    if (owed)
        worker_do(scene.asks, ask, &scene);
    atomic_init(&scene.answered, false);
    stopped = steps_run(&scene.stop, scene.asks, NULL, asked, ask, &scene);
    *gives = steps_run(&stop, scene.gives, NULL, given, give_one, &scene);
    steps_resume(&scene.stop);
    await_answer(&scene);
    steps_go_on(&stop);
    steps_go_on(&scene.stop);
    REQUIRE(owed || !scene.called_inside);
    REQUIRE(scene.slot != NULL || scene.notices >= 1);
    cpool_free(scene.pool, scene.slot);
    REQUIRE(!owed || scene.notices >= 1);
    scene_fini(&scene);
    return stopped;
}

TEST_TIMES(notice_does_not_come_inside_the_only_call, 2)
{
    struct worker *workers[2] = { worker_start(), worker_start() };
    bool stopped = true;
    size_t asked;

    for (asked = 1; stopped; asked++) {
        bool gives = true;
        size_t given;

        for (given = 1; gives; given++)
            stopped = beside_at(workers, _i == 1, asked, given, &gives);
    }
    workers_stop(workers, 2);
    REQUIRE(asked > 2);
}

/* The call has looked in vain, and its bell is called by a free of which another call has the slot.
 * Of a slot that is freed then it must not hear of nobody. */
TEST(call_whose_bell_was_called_for_another_looks_again)
{
    struct worker *workers[3] = { worker_start(), worker_start(), worker_start() };
    void *other = NULL;
    struct scene scene;
    struct asker asker = { &scene, &other };
    unsigned notices;

    scene_init(&scene, workers);
    REQUIRE(steps_run(&scene.stop, scene.asks, STEPS_LOCK, 4, ask, &scene));
    worker_do(scene.gives, give_one, &scene);
    worker_do(workers[2], ask_first, &asker);
    REQUIRE(other != NULL);
    notices = scene.notices;
    worker_do(scene.gives, give_one, &scene);
    steps_go_on(&scene.stop);
    REQUIRE(scene.slot != NULL || scene.notices > notices);
    cpool_free(scene.pool, other);
    cpool_free(scene.pool, scene.slot);
    scene_fini(&scene);
    workers_stop(workers, 3);
}

/* --- Beside threads that wait --- */

/* One slot more is free than threads wait.  The call stops with one or two of them in its hands,
 * and the threads look, perhaps in vain.  Then it goes on, and takes one: they get theirs. */
TEST_SWEEP(call_that_takes_one_slot_leaves_the_others_to_waiters, WAITERS)
{
    struct meeting_second waiting[WAITERS];
    struct scene scene;
    bool stopped;

    scene_init(&scene, workers);
    worker_do(scene.asks, take_one, &scene); /* in vain: its entry is closed, and keeps nothing */
    worker_do(scene.gives, variant == 1 ? give_three : give_two, &scene);
    stopped = steps_run(&scene.stop, scene.asks, NULL, nth, ask, &scene);
    for (size_t i = 0; i <= (size_t)variant; i++) {
        waiting[i].pool = scene.pool;
        atomic_init(&waiting[i].over, false);
        worker_begin(workers[2 + i], meeting_wait_too, &waiting[i]);
        meeting_await_second(&waiting[i]);
    }
    steps_go_on(&scene.stop);
    REQUIRE(scene.slot != NULL);
    for (size_t i = 0; i <= (size_t)variant; i++) {
        worker_await(workers[2 + i]);
        REQUIRE(waiting[i].slot != NULL);
        cpool_free(scene.pool, waiting[i].slot);
    }
    cpool_free(scene.pool, scene.slot);
    scene_fini(&scene);
    return stopped;
}

/* The free slots are two of a thread's cache.  It stops in an alloc, so that a call cannot see
 * whether there are any, and takes one. */
TEST_SWEEP(alloc_that_leaves_a_slot_in_its_cache_brings_the_notice, 1)
{
    struct scene scene;
    bool stopped;

    scene_init(&scene, workers);
    worker_do(scene.gives, give_two, &scene);
    stopped = steps_run(&scene.stop, scene.gives, NULL, nth, take_one, &scene);
    ask_beside(&scene, scene.asks);
    REQUIRE(scene.slot != NULL || scene.notices >= 1);
    cpool_free(scene.pool, scene.slot);
    scene_fini(&scene);
    return stopped;
}
