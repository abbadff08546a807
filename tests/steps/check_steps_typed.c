/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_typed.c - the inline path of a typed waitable pool, at each step of which another
 * thread comes to wait.
 *
 * Includes steps.h and waiter.h, and pool_impl.h, to see the pool's queue.
 */
#include "points.h" /* first: the inline path takes its points from here */

#define CPOOL_POINT_() points->reach(__func__)

#include "steps.h"

#include <sched.h>
#include <stdatomic.h>

#include "cache/mark.h"
#include "inside_wait.h"
#include "waiter.h"

enum { CAPACITY = 2 };

struct seat {
    void *words[4];
};

CPOOL_DECLARE_WAITABLE(seats, struct seat);
CPOOL_DEFINE_WAITABLE(seats, struct seat, .capacity = CAPACITY, .magazine_rounds = CAPACITY,
                      .stall_limit = 1);

struct scene {
    struct seat *held[CAPACITY];
    void *slot; /* the waiter's */
    _Atomic bool over;
};

/* The thread's cache has its magazine. */
static void take_all(void *argument)
{
    struct scene *scene = argument;

    for (int i = 0; i < CAPACITY; i++)
        scene->held[i] = seats_alloc();
    REQUIRE(scene->held[CAPACITY - 1] != NULL);
}

static void free_one(void *argument)
{
    struct scene *scene = argument;

    seats_free(scene->held[0]);
    scene->held[0] = NULL;
}

static void free_all(void *argument)
{
    struct scene *scene = argument;

    for (int i = 0; i < CAPACITY; i++) {
        seats_free(scene->held[i]);
        scene->held[i] = NULL;
    }
}

static void take_and_free_all(void *argument)
{
    take_all(argument);
    free_all(argument);
}

/* A waiter may have taken the last slot. */
static void take_one(void *argument)
{
    struct scene *scene = argument;

    scene->held[0] = seats_alloc();
}

static void wait_for_slot(void *argument)
{
    struct scene *scene = argument;

    scene->slot = waiter_wait(seats_pool());
    atomic_store_explicit(&scene->over, true, memory_order_release); /* see await_waiter */
}

static bool is_asleep(void)
{
    struct cpi_waiters *waiters = cpi_waiters_of(inside(seats_pool()));
    bool asleep;

    pthread_mutex_lock(&waiters->lock);
    asleep = waiters->queue.first != NULL && waiters->queue.first->asleep;
    pthread_mutex_unlock(&waiters->lock);
    return asleep;
}

/* Until it sleeps, or has its slot. */
static void await_waiter(const struct scene *scene)
{
    while (!is_asleep() &&
           !atomic_load_explicit(&scene->over, memory_order_acquire)) /* see wait_for_slot */
        sched_yield();
}

/* The last free slot is pushed, or one of two is popped. */
static const struct way {
    void (*before)(void *scene);
    void (*operation)(void *scene);
    const char *function;
} ways[] = {
    {take_all, free_one, "seats_free"},
    {take_and_free_all, take_one, "seats_alloc"},
};

static bool wait_at(const struct way *way, uint64_t starving_after, struct worker **workers,
                    size_t nth)
{
    struct scene scene = {{NULL}, NULL, false};
    struct steps_stop stop;
    bool stopped;

    REQUIRE_EQUAL(seats_open(NULL), 0);
    cpi_waiters_of(inside(seats_pool()))->starving_after = starving_after;
    worker_do(workers[0], way->before, &scene);
    stopped = steps_run(&stop, workers[0], way->function, nth, way->operation, &scene);
    worker_begin(workers[1], wait_for_slot, &scene);
    await_waiter(&scene);
    steps_go_on(&stop);
    worker_await(workers[1]);
    REQUIRE(scene.slot != NULL);
    cpool_free(seats_pool(), scene.slot);
    worker_do(workers[0], free_all, &scene);
    REQUIRE_EQUAL(seats_close(), 0);
    return stopped;
}

/* Starves at once, or never. */
static const uint64_t patiences[] = {UINT64_C(1000000000000), 0};

enum {
    WAYS = sizeof(ways) / sizeof(ways[0]),
    PATIENCES = sizeof(patiences) / sizeof(patiences[0])
};

TEST_TIMES(waiter_that_comes_at_a_step_of_the_inline_path_gets_a_slot, WAYS * PATIENCES)
{
    struct worker *workers[2];
    size_t nth = 1;

    SKIP_IF(!CPOOL_IS_INLINE_, "there is no inline path");
    REQUIRE(cpi_thread_startup());
    if (!cpi_mark_has_barrier)
        SKIP("without the kernel's barrier the functions of the type show no magazine");
    for (int i = 0; i < 2; i++)
        workers[i] = worker_start();
    while (wait_at(&ways[_i % WAYS], patiences[_i / WAYS], workers, nth))
        nth++;
    REQUIRE(nth > 1);
    for (int i = 0; i < 2; i++)
        worker_stop(workers[i]);
}
