/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_wait.c - sleeping until a slot is free: who frees one wakes the first who
 * waits, nobody is forgotten, and giving up is nothing special.
 *
 * Includes growth.h, and recall.h, to test without the kernel's barrier too.
 */
#include "growth.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "recall.h"

#if defined(__linux__)
#include <sys/syscall.h>
#endif

enum { SLOT_SIZE = 32, CAPACITY = 20, WAITERS = 6 };

static const struct timespec no_time = { 0, 0 };
static const struct timespec a_moment = { 0, 2000000 };

static cpool_t *create(unsigned flags, size_t capacity)
{
    cpool_config_t config = support_config(SLOT_SIZE, capacity);

    config.flags = CPOOL_WAITABLE | flags;
    return support_create(&config);
}

static double seconds_now(void)
{
    struct timespec now;

    REQUIRE_EQUAL(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Returns when so many allocs have gone to sleep since the pool's creation. */
static void await_waits(const cpool_t *pool, uint64_t waits)
{
    while (support_stats(pool).waits < waits)
        sched_yield();
}

/*
 * ---- One waiter ----------------------------------------------------------
 */

struct waiter {
    struct worker *worker;
    cpool_t *pool;
    const struct timespec *timeout;
    void *slot;
    bool forget; /* frees the slot at once */
};

static void wait_for_slot(void *argument)
{
    struct waiter *waiter = argument;

    waiter->slot = cpool_alloc_wait(waiter->pool, waiter->timeout);
    if (waiter->forget)
        cpool_free(waiter->pool, waiter->slot);
}

static void waiter_start(struct waiter *waiter, cpool_t *pool, const struct timespec *timeout)
{
    waiter->worker = worker_start();
    waiter->pool = pool;
    waiter->timeout = timeout;
    waiter->slot = NULL;
    waiter->forget = false;
}

static void waiter_begin(struct waiter *waiter)
{
    worker_begin(waiter->worker, wait_for_slot, waiter);
}

static void *waiter_end(struct waiter *waiter)
{
    worker_await(waiter->worker);
    return waiter->slot;
}

/*
 * ---- What is asked of the pool -------------------------------------------
 */

START_TEST(wait_on_other_pool_refused)
{
    static const unsigned flags[] = { 0, CPOOL_EXACT, CPOOL_CHECKED, CPOOL_AUTO_TRIM };
    cpool_config_t config = support_config(SLOT_SIZE, CAPACITY);
    cpool_t *pool;

    config.flags = flags[_i];
    pool = support_create(&config);
    support_capture_reports();
    REQUIRE(cpool_alloc_wait(pool, NULL) == NULL);
    REQUIRE(REQUIRE_REPORT(CPOOL_EWAITABLE).pool == pool);
    REQUIRE(cpool_alloc_wait(pool, &no_time) == NULL);
    REQUIRE_REPORT(CPOOL_EWAITABLE);
    support_require_live(pool, 0);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(wait_while_slots_are_free_is_alloc)
{
    cpool_t *pool = create(_i == 0 ? 0 : CPOOL_CHECKED, CAPACITY);
    struct hold hold;

    hold_init(&hold, pool);
    for (int i = 0; i < CAPACITY; i++)
        hold_add(&hold, cpool_alloc_wait(pool, i % 2 == 0 ? NULL : &no_time));
    REQUIRE_EQUAL(support_stats(pool).waits, 0);
    REQUIRE(cpool_alloc(pool) == NULL);
    hold_free_all(&hold);
    hold_fini(&hold);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(wait_without_time_does_not_sleep)
{
    cpool_t *pool = create(0, CAPACITY);
    struct hold hold;

    hold_init(&hold, pool);
    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), CAPACITY);
    for (int i = 0; i < 100; i++)
        REQUIRE(cpool_alloc_wait(pool, &no_time) == NULL);
    REQUIRE_EQUAL(support_stats(pool).waits, 0);
    support_require_live(pool, CAPACITY);
    hold_free_all(&hold);
    hold_fini(&hold);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(wait_until_time_is_up_is_null)
{
    cpool_t *pool = create(_i == 0 ? 0 : CPOOL_CHECKED, CAPACITY);
    struct hold hold;

    hold_init(&hold, pool);
    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), CAPACITY);
    support_capture_reports();
    for (unsigned i = 1; i <= 20; i++) {
        double before = seconds_now();

        REQUIRE(cpool_alloc_wait(pool, &a_moment) == NULL);
        REQUIRE(seconds_now() - before >= 0.002);
        REQUIRE_EQUAL(support_stats(pool).waits, i);
    }
    REQUIRE_NO_REPORT();
    support_require_live(pool, CAPACITY);
    hold_free_all(&hold);
    support_require_obtainable(pool, 0);
    hold_fini(&hold);
    support_destroy_empty(pool);
}
END_TEST

/*
 * ---- Being served --------------------------------------------------------
 */

/* How the slot comes that ends the waiting. */
struct release {
    cpool_t *pool;
    void *slot;
    cpool_cache_t *cache;
};

static void by_free(void *argument)
{
    struct release *release = argument;

    cpool_free(release->pool, release->slot);
}

static void by_depot_free(void *argument)
{
    struct release *release = argument;

    cpool_depot_free(release->pool, release->slot);
}

static void by_bulk(void *argument)
{
    struct release *release = argument;

    cpool_free_bulk(release->pool, &release->slot, 1);
}

static void by_cache(void *argument)
{
    struct release *release = argument;

    cpool_cache_free(release->cache, release->slot);
}

static void by_ticket(void *argument)
{
    struct release *release = argument;
    cpool_ticket_t ticket = { release->pool, &release->slot, 1 };

    REQUIRE_EQUAL(cpool_ticket_return(&ticket), 1);
}

static void (*const releases[])(void *argument) = {
    by_free, by_depot_free, by_bulk, by_cache, by_ticket,
};

enum { RELEASES = sizeof(releases) / sizeof(releases[0]) };

static void release_to_waiter(unsigned flags, void (*body)(void *argument))
{
    struct release release = { create(flags, CAPACITY), NULL, NULL };
    struct worker *other = worker_start();
    struct waiter waiter;
    struct hold hold;

    REQUIRE_EQUAL(cpool_cache_create(&release.cache, release.pool), 0);
    hold_init(&hold, release.pool);
    waiter_start(&waiter, release.pool, NULL);
    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), CAPACITY);
    for (unsigned i = 1; i <= 50; i++) {
        waiter_begin(&waiter);
        await_waits(release.pool, i);
        release.slot = hold.slots[--hold.count];
        /* Here, and in a thread that has never used the pool before. */
        if (i % 2 == 0)
            body(&release);
        else
            worker_do(other, body, &release);
        REQUIRE(waiter_end(&waiter) == release.slot);
        REQUIRE_EQUAL(support_stats(release.pool).live, CAPACITY);
        hold_add(&hold, waiter.slot);
    }
    hold_free_all(&hold);
    worker_stop(waiter.worker);
    worker_stop(other);
    cpool_cache_destroy(release.cache);
    support_require_obtainable(release.pool, 0);
    hold_fini(&hold);
    support_destroy_empty(release.pool);
}

START_TEST(wait_ends_with_the_slot_that_is_freed)
{
    release_to_waiter(_i < RELEASES ? 0 : CPOOL_CHECKED, releases[_i % RELEASES]);
}
END_TEST

/* A thread that waits is handed slots that others have in their caches. */
START_TEST(wait_takes_what_lies_in_caches)
{
    cpool_t *pool = create(0, CAPACITY);
    struct waiter waiters[WAITERS];
    struct hold hold;

    hold_init(&hold, pool);
    for (int i = 0; i < WAITERS; i++) {
        waiter_start(&waiters[i], pool, NULL);
        waiters[i].forget = true;
        hold_take(&hold, SIZE_MAX);
        REQUIRE_EQUAL(hold.count, CAPACITY);
        hold_free(&hold, 1 + (size_t)i);
        for (int round = 0; round < 20; round++) {
            waiter_begin(&waiters[i]);
            REQUIRE(waiter_end(&waiters[i]) != NULL);
        }
    }
    hold_free_all(&hold);
    for (int i = 0; i < WAITERS; i++)
        worker_stop(waiters[i].worker);
    hold_fini(&hold);
    support_destroy_empty(pool);
}
END_TEST

/* A slot that nobody frees: it comes into being. */
START_TEST(wait_ends_when_the_pool_is_grown)
{
    cpool_t *pool = create(_i == 0 ? 0 : CPOOL_CHECKED, CAPACITY);
    struct waiter waiter;
    struct hold hold;

    hold_init(&hold, pool);
    REQUIRE_EQUAL(cpool_shrink(pool, 5), 5);
    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), CAPACITY - 5);
    waiter_start(&waiter, pool, NULL);
    for (unsigned i = 1; i <= 5; i++) {
        waiter_begin(&waiter);
        await_waits(pool, i);
        REQUIRE_EQUAL(cpool_grow(pool, 1), 1);
        hold_add(&hold, waiter_end(&waiter));
    }
    worker_stop(waiter.worker);
    hold_free_all(&hold);
    hold_fini(&hold);
    support_destroy_empty(pool);
}
END_TEST

/* A pool that may grow does, before anybody waits. */
START_TEST(wait_grows_the_pool_first)
{
    cpool_config_t config = support_config(SLOT_SIZE, CAPACITY);
    struct hold hold;
    cpool_t *pool;

    config.flags = CPOOL_WAITABLE;
    config.max_capacity = 3 * CAPACITY;
    pool = support_create(&config);
    hold_init(&hold, pool);
    for (int i = 0; i < 3 * CAPACITY; i++)
        hold_add(&hold, cpool_alloc_wait(pool, NULL));
    REQUIRE_EQUAL(support_stats(pool).waits, 0);
    REQUIRE(cpool_alloc_wait(pool, &a_moment) == NULL);
    hold_free_all(&hold);
    hold_fini(&hold);
    support_destroy_empty(pool);
}
END_TEST

/*
 * ---- In order ------------------------------------------------------------
 */

/* Those who gave up in the meantime are passed over. */
static void require_order(cpool_t *pool, struct waiter *waiters, size_t count, struct hold *hold)
{
    uint64_t waits = support_stats(pool).waits;

    for (size_t i = 0; i < count; i++) {
        waiters[i].timeout = i % 3 == 1 ? &a_moment : NULL;
        waiter_begin(&waiters[i]);
        await_waits(pool, waits + i + 1);
    }
    for (size_t i = 1; i < count; i += 3)
        REQUIRE(waiter_end(&waiters[i]) == NULL);
    for (size_t i = 0; i < count; i++) {
        void *slot;

        if (i % 3 == 1)
            continue;
        slot = hold->slots[hold->count - 1];
        hold_free(hold, 1);
        REQUIRE(waiter_end(&waiters[i]) == slot);
        hold_add(hold, slot);
    }
}

START_TEST(waiting_threads_are_served_in_order)
{
    cpool_t *pool = create(_i == 0 ? 0 : CPOOL_CHECKED, CAPACITY);
    struct waiter waiters[WAITERS];
    struct hold hold;

    hold_init(&hold, pool);
    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), CAPACITY);
    for (int i = 0; i < WAITERS; i++)
        waiter_start(&waiters[i], pool, NULL);
    for (size_t round = 0; round < SUPPORT_COUNT(50u, 10u); round++)
        require_order(pool, waiters, 1 + round % WAITERS, &hold);
    hold_free_all(&hold);
    for (int i = 0; i < WAITERS; i++)
        worker_stop(waiters[i].worker);
    support_require_obtainable(pool, 0);
    hold_fini(&hold);
    support_destroy_empty(pool);
}
END_TEST

/* Who comes later does not get what is freed while somebody waits. */
START_TEST(waiting_thread_is_not_overtaken)
{
    cpool_t *pool = create(0, CAPACITY);
    struct waiter waiter;
    struct hold hold;

    hold_init(&hold, pool);
    waiter_start(&waiter, pool, NULL);
    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), CAPACITY);
    for (unsigned i = 1; i <= 100; i++) {
        waiter_begin(&waiter);
        await_waits(pool, i);
        hold_free(&hold, 1);
        REQUIRE(cpool_alloc(pool) == NULL);
        hold_add(&hold, waiter_end(&waiter));
    }
    hold_free_all(&hold);
    worker_stop(waiter.worker);
    hold_fini(&hold);
    support_destroy_empty(pool);
}
END_TEST

/*
 * ---- Nobody is forgotten -------------------------------------------------
 */

enum { CROWD = 8 };

struct guest {
    cpool_t *pool;
    _Atomic size_t *live;
    size_t capacity;
    size_t turns;
    uint64_t random;
    bool restless;
};

/* What else a thread may do with the pool while others wait. */
static void do_something_else(struct guest *guest)
{
    switch (support_random(&guest->random) % 16) {
    case 0:
        cpool_flush(guest->pool);
        break;
    case 1:
        cpool_trim(guest->pool);
        break;
    case 2:
        cpool_depot_free(guest->pool, cpool_depot_alloc(guest->pool));
        break;
    case 3:
        cpool_free(guest->pool, cpool_alloc(guest->pool));
        break;
    case 4:
        cpool_grow(guest->pool, cpool_shrink(guest->pool, 1));
        break;
    default:
        break;
    }
}

static void *wait_for_turn(struct guest *guest)
{
    const struct timespec instant = { 0, 20000 };
    void *slot = NULL;

    if (guest->restless && support_random(&guest->random) % 4 == 0)
        while ((slot = cpool_alloc_wait(guest->pool, &instant)) == NULL)
            ;
    else
        slot = cpool_alloc_wait(guest->pool, NULL);
    return slot;
}

static void *visit(void *argument)
{
    struct guest *guest = argument;
    struct hold hold;

    hold_init(&hold, guest->pool);
    for (size_t turn = 0; turn < guest->turns; turn++) {
        void *slot = wait_for_turn(guest);

        REQUIRE(slot != NULL);
        /* relaxed: raised after the alloc and lowered before the free, so it
         * never tells too many, and no other data goes with it. */
        REQUIRE(atomic_fetch_add_explicit(guest->live, 1, memory_order_relaxed) <
                guest->capacity);
        hold_add(&hold, slot);
        if (support_random(&guest->random) % 4 == 0)
            sched_yield();
        atomic_fetch_sub_explicit(guest->live, 1, memory_order_relaxed);
        hold_free_all(&hold);
        if (guest->restless)
            do_something_else(guest);
    }
    hold_fini(&hold);
    return NULL;
}

/* Threads come and go, too: as many rounds, each with new threads. */
static void crowd(unsigned flags, size_t capacity, size_t turns, bool restless)
{
    cpool_t *pool = create(flags, capacity);
    struct guest guests[CROWD];
    pthread_t threads[CROWD];
    _Atomic size_t live = 0;

    for (size_t round = 0; round < SUPPORT_COUNT(6u, 2u); round++) {
        for (size_t i = 0; i < CROWD; i++) {
            guests[i].pool = pool;
            guests[i].live = &live;
            guests[i].capacity = capacity;
            guests[i].turns = turns;
            guests[i].random = i + 1 + round * CROWD;
            guests[i].restless = restless;
            threads[i] = support_start(visit, &guests[i]);
        }
        for (size_t i = 0; i < CROWD; i++)
            support_join(threads[i]);
    }
    REQUIRE_EQUAL(support_stats(pool).capacity, capacity);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}

static void crowds(void *argument)
{
    unsigned flags = *(const unsigned *)argument;
    size_t turns = SUPPORT_COUNT(200u, 40u);

    crowd(flags, 1, turns, false);
    crowd(flags, 3, turns, false);
    crowd(flags, CROWD - 1, turns, false);
    crowd(flags, 2, turns, true);
    crowd(flags, CROWD - 1, turns, true);
}

static void crowds_without_barrier(void *argument)
{
#if defined(__linux__) && defined(SYS_membarrier)
    if (!growth_refuse_call(SYS_membarrier, ENOSYS))
        return;
#endif
    cpi_recall_startup(); /* there may have been a pool before this test */
    REQUIRE(!cpi_recall_has_barrier());
    crowds(argument);
}

/* It ends: that is what is tested. */
START_TEST(wait_by_more_threads_than_slots_ends_for_all)
{
    unsigned flags = _i % 2 == 0 ? 0 : CPOOL_CHECKED;

    if (_i < 2)
        crowds(&flags);
    else
        support_in_child(crowds_without_barrier, &flags);
}
END_TEST

/* Slots that return in the caches of threads that end reach those who wait. */
static void *come_and_go(void *argument)
{
    struct guest *guest = argument;

    for (size_t turn = 0; turn < guest->turns; turn++) {
        struct guest once = *guest;

        once.turns = 1 + turn % 3;
        once.random = turn + 1;
        support_in_thread(visit, &once);
    }
    return NULL;
}

START_TEST(wait_while_threads_end_ends)
{
    cpool_t *pool = create(0, 2);
    struct guest guests[CROWD];
    pthread_t threads[CROWD];
    _Atomic size_t live = 0;

    for (size_t i = 0; i < CROWD; i++) {
        const struct guest guest = { pool, &live, 2, SUPPORT_COUNT(300u, 40u), i + 1, false };

        guests[i] = guest;
        threads[i] = support_start(come_and_go, &guests[i]);
    }
    for (size_t i = 0; i < CROWD; i++)
        support_join(threads[i]);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}
END_TEST

/*
 * ---- Helping -------------------------------------------------------------
 */

struct helper {
    struct hold *hold;
    size_t calls;
    size_t frees_at; /* the call that frees a slot; 0: none does */
    size_t ends_at;  /* the call that finds no work */
};

static bool help(void *argument)
{
    struct helper *helper = argument;

    helper->calls++;
    if (helper->calls == helper->frees_at)
        hold_free(helper->hold, 1);
    return helper->calls != helper->ends_at;
}

static const unsigned help_flags[] = { 0, CPOOL_EXACT, CPOOL_WAITABLE, CPOOL_CHECKED };

enum { HELP_KINDS = sizeof(help_flags) / sizeof(help_flags[0]) };

START_TEST(alloc_or_help_helps_until_there_is_a_slot)
{
    cpool_config_t config = support_config(SLOT_SIZE, CAPACITY);
    struct hold hold;
    cpool_t *pool;
    void *slot;

    config.flags = help_flags[_i];
    pool = support_create(&config);
    hold_init(&hold, pool);
    for (size_t calls = 0; calls < 10; calls++) {
        struct helper helper = { &hold, 0, calls, 0 };

        if (calls == 0)
            hold_take(&hold, CAPACITY - 1); /* one is left: no help is needed */
        slot = cpool_alloc_or_help(pool, help, &helper);
        REQUIRE_EQUAL(helper.calls, calls);
        hold_add(&hold, slot);
        REQUIRE_EQUAL(hold.count, CAPACITY);
    }
    hold_free_all(&hold);
    hold_fini(&hold);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(alloc_or_help_without_work_is_null)
{
    cpool_config_t config = support_config(SLOT_SIZE, CAPACITY);
    struct helper gives_up = { NULL, 0, 0, 4 };
    struct helper frees_last = { NULL, 0, 3, 3 };
    struct hold hold;
    cpool_t *pool;

    config.flags = help_flags[_i];
    pool = support_create(&config);
    hold_init(&hold, pool);
    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), CAPACITY);
    gives_up.hold = &hold;
    frees_last.hold = &hold;
    REQUIRE(cpool_alloc_or_help(pool, help, &gives_up) == NULL);
    REQUIRE_EQUAL(gives_up.calls, 4);
    /* What the last piece of work freed is still found. */
    hold_add(&hold, cpool_alloc_or_help(pool, help, &frees_last));
    REQUIRE_EQUAL(frees_last.calls, 3);
    REQUIRE_EQUAL(hold.count, CAPACITY);
    hold_free_all(&hold);
    hold_fini(&hold);
    support_destroy_empty(pool);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(wait_on_other_pool_refused, 4),
        TIMES(wait_while_slots_are_free_is_alloc, 2),
        ONCE(wait_without_time_does_not_sleep),
        TIMES(wait_until_time_is_up_is_null, 2),
        TIMES(wait_ends_with_the_slot_that_is_freed, 2 * RELEASES),
        ONCE(wait_takes_what_lies_in_caches),
        TIMES(wait_ends_when_the_pool_is_grown, 2),
        ONCE(wait_grows_the_pool_first),
        TIMES(waiting_threads_are_served_in_order, 2),
        ONCE(waiting_thread_is_not_overtaken),
        TIMES(wait_by_more_threads_than_slots_ends_for_all, 4),
        ONCE(wait_while_threads_end_ends),
        TIMES(alloc_or_help_helps_until_there_is_a_slot, HELP_KINDS),
        TIMES(alloc_or_help_without_work_is_null, HELP_KINDS),
    };

    return SUPPORT_RUN("wait", tests);
}
