/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_wait.c - who waits for a slot, and who gives one, each stopped at
 * every step while the other does all it has to do: no wake-up is lost, and nobody
 * else gets a slot that is freed while somebody waits.
 *
 * Includes steps.h, and pool_impl.h, to see who holds which lock and who sleeps.
 */
#include "steps.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "pool_impl.h"

enum { CAPACITY = 4, ROUNDS = 2 };

/* If nobody wakes who waits; those who are woken do not wait for it. */
static const struct timespec patience = { 20, 0 };

/*
 * ---- How a slot comes ----------------------------------------------------
 */

/* Who gives: has some slots live, or in a cache. */
struct giver {
    cpool_t *pool;
    cpool_cache_t *cache;
    struct hold hold;
};

static void give_by_free(void *argument)
{
    struct giver *giver = argument;

    hold_free(&giver->hold, 1);
}

static void give_by_depot_free(void *argument)
{
    struct giver *giver = argument;

    cpool_depot_free(giver->pool, giver->hold.slots[--giver->hold.count]);
}

static void give_by_bulk(void *argument)
{
    struct giver *giver = argument;

    giver->hold.count--;
    cpool_free_bulk(giver->pool, &giver->hold.slots[giver->hold.count], 1);
}

static void give_by_cache(void *argument)
{
    struct giver *giver = argument;

    cpool_cache_free(giver->cache, giver->hold.slots[--giver->hold.count]);
}

/* Of which the second alloc's slot is free in between. */
static void give_by_free_and_alloc(void *argument)
{
    struct giver *giver = argument;

    hold_free(&giver->hold, 2);
    (void)hold_take(&giver->hold, 1);
}

static void give_by_flush(void *argument)
{
    struct giver *giver = argument;

    hold_free(&giver->hold, 1);
    cpool_flush(giver->pool);
}

static void give_by_cache_destroy(void *argument)
{
    struct giver *giver = argument;

    cpool_cache_free(giver->cache, giver->hold.slots[--giver->hold.count]);
    cpool_cache_destroy(giver->cache);
    giver->cache = NULL;
}

static void give_by_trim(void *argument)
{
    struct giver *giver = argument;

    hold_free(&giver->hold, 1);
    cpool_trim(giver->pool);
}

static void give_by_grow(void *argument)
{
    struct giver *giver = argument;

    REQUIRE_EQUAL(cpool_grow(giver->pool, 1), 1);
}

/* The lowest slot, so that it is not removed. */
static void give_by_shrink(void *argument)
{
    struct giver *giver = argument;

    hold_free_one(&giver->hold, 0);
    REQUIRE_EQUAL(cpool_shrink(giver->pool, 1), 0);
}

static void (*const gives[])(void *argument) = {
    give_by_free,          give_by_depot_free,     give_by_bulk,
    give_by_cache,         give_by_free_and_alloc, give_by_flush,
    give_by_cache_destroy, give_by_trim,           give_by_grow,
    give_by_shrink,
};

/* The first ones free one slot and do nothing else. */
enum { FREES = 4, GIVES = sizeof(gives) / sizeof(gives[0]) };

/*
 * ---- Both ----------------------------------------------------------------
 */

struct meeting {
    struct giver giver;
    struct worker *gives;
    struct worker *waits;
    struct steps_stop wait;
    void *slot;
    _Atomic bool over; /* the waiting is */
};

static void take_all(void *argument)
{
    struct giver *giver = argument;

    REQUIRE_EQUAL(hold_take(&giver->hold, SIZE_MAX), CAPACITY);
}

/* All slots but one that the pool may grow by are live in the giver's hands, and
 * both threads have caches. */
static void meeting_init(struct meeting *meeting, struct worker **workers)
{
    struct giver *giver = &meeting->giver;

    giver->pool = steps_pool(CPOOL_WAITABLE, CAPACITY + 1, 0, ROUNDS);
    REQUIRE_EQUAL(cpool_shrink(giver->pool, 1), 1);
    REQUIRE_EQUAL(cpool_cache_create(&giver->cache, giver->pool), 0);
    hold_init(&giver->hold, giver->pool);
    meeting->gives = workers[0];
    meeting->waits = workers[1];
    meeting->slot = NULL;
    atomic_init(&meeting->over, false);
    worker_do(meeting->gives, take_all, giver);
}

static void give_all(void *argument)
{
    struct giver *giver = argument;

    hold_free_all(&giver->hold);
}

static void meeting_fini(struct meeting *meeting)
{
    struct giver *giver = &meeting->giver;

    cpool_free(giver->pool, meeting->slot);
    worker_do(meeting->gives, give_all, giver);
    cpool_cache_destroy(giver->cache);
    hold_fini(&giver->hold);
    support_require_obtainable(giver->pool, 0);
    support_destroy_empty(giver->pool);
}

static void wait_for_slot(void *argument)
{
    struct meeting *meeting = argument;

    meeting->slot = cpool_alloc_wait(meeting->giver.pool, &patience);
    atomic_store_explicit(&meeting->over, true, memory_order_release);
}

/* Whether who has stopped holds a lock: then nobody else gets past it anyway. */
static bool lock_is_held(struct giver *giver)
{
    if (!cpi_try_lock())
        return true;
    cpi_unlock();
    if (pthread_mutex_trylock(&giver->pool->waiters.lock) != 0)
        return true;
    pthread_mutex_unlock(&giver->pool->waiters.lock);
    return false;
}

/* Without a lock, which the other thread might hold. */
static bool is_asleep(const struct meeting *meeting)
{
    return atomic_load_explicit(&meeting->giver.pool->waiters.waits, memory_order_relaxed) > 0;
}

static bool is_over(const struct meeting *meeting)
{
    /* acquire: pairs with wait_for_slot's store, for the slot. */
    return atomic_load_explicit(&meeting->over, memory_order_acquire);
}

/* Lets the waiter run until it has stopped, sleeps, or has got a slot; whether it
 * has stopped. */
static bool run_waiter(struct meeting *meeting, size_t nth)
{
    steps_begin(&meeting->wait, meeting->waits, NULL, nth, wait_for_slot, meeting);
    while (!steps_has_stopped(&meeting->wait) && !is_asleep(meeting) && !is_over(meeting))
        sched_yield();
    return steps_has_stopped(&meeting->wait);
}

enum { NEVER = 0 };

/*
 * ---- No wake-up is lost --------------------------------------------------
 */

/* The waiter stops at its nth step, and a slot is given; false if the waiter sleeps
 * before that step. */
static bool wait_at(void (*give)(void *argument), struct worker **workers, size_t nth)
{
    struct meeting meeting;
    bool stopped;

    meeting_init(&meeting, workers);
    stopped = run_waiter(&meeting, nth);
    if (stopped && lock_is_held(&meeting.giver))
        steps_resume(&meeting.wait); /* nobody could give anything */
    worker_do(meeting.gives, give, &meeting.giver);
    steps_go_on(&meeting.wait);
    REQUIRE(meeting.slot != NULL);
    meeting_fini(&meeting);
    return stopped;
}

/* Who gives stops at its nth step, and the waiter goes as far as it gets; false if
 * the giver comes to its end before that step. */
static bool give_at(void (*give)(void *argument), struct worker **workers, size_t nth)
{
    struct meeting meeting;
    struct steps_stop stop;
    bool stopped;

    meeting_init(&meeting, workers);
    stopped = steps_run(&stop, meeting.gives, NULL, nth, give, &meeting.giver);
    if (stopped && lock_is_held(&meeting.giver))
        steps_resume(&stop);
    (void)run_waiter(&meeting, NEVER);
    steps_go_on(&stop);
    steps_go_on(&meeting.wait);
    REQUIRE(meeting.slot != NULL);
    meeting_fini(&meeting);
    return stopped;
}

static void sweep(bool (*at)(void (*give)(void *argument), struct worker **workers, size_t nth),
                  void (*give)(void *argument))
{
    struct worker *workers[3] = { worker_start(), worker_start(), worker_start() };
    size_t nth = 1;

    while (at(give, workers, nth))
        nth += SUPPORT_COUNT(1u, 13u);
    REQUIRE(nth > 1);
    for (int i = 0; i < 3; i++)
        worker_stop(workers[i]);
}

START_TEST(wait_stopped_at_every_step_ends_with_what_is_given)
{
    sweep(wait_at, gives[_i]);
}
END_TEST

START_TEST(wait_for_who_is_stopped_at_every_step_of_giving_ends)
{
    sweep(give_at, gives[_i]);
}
END_TEST

/*
 * ---- Nobody is overtaken -------------------------------------------------
 */

struct rival {
    cpool_t *pool;
    void *slot;
};

static void alloc_too(void *argument)
{
    struct rival *rival = argument;

    rival->slot = cpool_depot_alloc(rival->pool);
}

/* While one waits another frees a slot, and at its nth step a third one allocates,
 * in vain. */
static bool overtake_at(void (*give)(void *argument), struct worker **workers, size_t nth)
{
    struct meeting meeting;
    struct steps_stop stop;
    struct steps_stop rivals;
    struct rival rival;
    const void *slot;
    bool stopped;

    meeting_init(&meeting, workers);
    rival.pool = meeting.giver.pool;
    slot = meeting.giver.hold.slots[meeting.giver.hold.count - 1];
    (void)run_waiter(&meeting, NEVER);
    REQUIRE(is_asleep(&meeting));
    stopped = steps_run(&stop, meeting.gives, NULL, nth, give, &meeting.giver);
    (void)steps_run(&rivals, workers[2], STEPS_LOCK, 1, alloc_too, &rival);
    steps_go_on(&stop);
    steps_go_on(&rivals);
    steps_go_on(&meeting.wait);
    REQUIRE(rival.slot == NULL);
    REQUIRE(meeting.slot == slot);
    meeting_fini(&meeting);
    return stopped;
}

/* By each of the ways to free one slot. */
START_TEST(slot_freed_while_somebody_waits_goes_to_nobody_else)
{
    sweep(overtake_at, gives[_i]);
}
END_TEST

/* Nor does it pass through a magazine. */
START_TEST(slot_freed_while_somebody_waits_is_handed_over_directly)
{
    struct worker *workers[3] = { worker_start(), worker_start(), worker_start() };
    struct meeting meeting;
    uint64_t exchanges;
    cpool_stats_t stats;

    meeting_init(&meeting, workers);
    (void)run_waiter(&meeting, NEVER);
    stats = support_stats(meeting.giver.pool);
    exchanges = stats.exchanges;
    worker_do(meeting.gives, gives[_i], &meeting.giver);
    steps_go_on(&meeting.wait);
    stats = support_stats(meeting.giver.pool);
    REQUIRE_EQUAL(stats.exchanges, exchanges);
    REQUIRE_EQUAL(stats.in_depot + stats.in_caches, 0);
    meeting_fini(&meeting);
    for (int i = 0; i < 3; i++)
        worker_stop(workers[i]);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(wait_stopped_at_every_step_ends_with_what_is_given, GIVES),
        TIMES(wait_for_who_is_stopped_at_every_step_of_giving_ends, GIVES),
        TIMES(slot_freed_while_somebody_waits_goes_to_nobody_else, FREES),
        TIMES(slot_freed_while_somebody_waits_is_handed_over_directly, FREES),
    };

    return SUPPORT_RUN("steps_wait", tests);
}
