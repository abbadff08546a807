/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_lease_threads.c - several threads, forks and full registries under leases.
 *
 * Includes pool_impl.h to see which leases are open.
 */
#include "lease.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "inside.h"
#include "lease/lease.h"

enum { CAPACITY = 4000, ROUNDS = 8, THREADS = 4, EACH = 500 };

static const unsigned modes[] = {0, CPOOL_EXACT, CPOOL_WAITABLE, CPOOL_CHECKED};

#define MODES (sizeof modes / sizeof modes[0])

static cpool_t *make_pool(unsigned flags, size_t thread_caches)
{
    cpool_config_t config = support_config(16, CAPACITY);

    config.flags = flags;
    config.magazine_rounds = ROUNDS;
    config.thread_caches = thread_caches;
    config.stall_limit = 60000; /* a thread inside may be away for a while */
    return support_create(&config);
}

/* A thread that takes part in a lease. */
struct party {
    pthread_t thread;
    cpool_t *pool;
    cpool_lease_t *lease;
    struct support_door *door; /* to wait at with the slots in hand, or NULL */
    size_t wanted;
    size_t got;
    void *slots[CAPACITY];
};

static void *take_part(void *argument)
{
    struct party *party = argument;
    void *slot;

    while (party->got < party->wanted && (slot = cpool_lease_alloc(party->lease)) != NULL) {
        memset(slot, (int)(party->got & 0xff), 16);
        party->slots[party->got++] = slot;
        if (party->got % 7 == 0)
            cpool_free(party->pool, cpool_alloc(party->pool));
    }
    if (party->door != NULL)
        support_door_wait(party->door);
    return NULL;
}

static struct party *start(cpool_t *pool, cpool_lease_t *lease, struct support_door *door,
                           size_t threads, size_t wanted)
{
    struct party *parties = support_calloc(threads, sizeof *parties);

    for (size_t i = 0; i < threads; i++) {
        parties[i].pool = pool;
        parties[i].lease = lease;
        parties[i].door = door;
        parties[i].wanted = wanted;
        parties[i].thread = support_start(take_part, &parties[i]);
    }
    return parties;
}

/* All threads hold so many slots each when it returns, and wait at the door. */
static struct party *start_and_await(cpool_t *pool, cpool_lease_t *lease,
                                     struct support_door *door, size_t each)
{
    struct party *parties;

    support_door_init(door);
    parties = start(pool, lease, door, THREADS, each);
    support_door_await(door, THREADS);
    return parties;
}

static size_t join(struct party *parties, size_t threads)
{
    size_t got = 0;

    for (size_t i = 0; i < threads; i++) {
        support_join(parties[i].thread);
        got += parties[i].got;
    }
    return got;
}

/* No slot was obtained twice, nor overwritten. */
static void require_distinct(cpool_t *pool, const struct party *parties, size_t threads)
{
    char *taken = support_calloc(cpool_index_limit(pool), 1);

    for (size_t i = 0; i < threads; i++)
        for (size_t k = 0; k < parties[i].got; k++) {
            REQUIRE(taken[cpool_index(pool, parties[i].slots[k])]++ == 0);
            REQUIRE_EQUAL(*(unsigned char *)parties[i].slots[k], k & 0xff);
        }
    free(taken);
}

START_TEST(threads_that_ended_leave_their_slots_to_the_lease)
{
    cpool_t *pool = make_pool(modes[_i], 0);

    for (size_t round = 0; round < 10; round++) {
        cpool_lease_t *lease = begin(pool);
        struct party *parties = start(pool, lease, NULL, THREADS, EACH);

        REQUIRE_EQUAL(join(parties, THREADS), THREADS * EACH);
        require_distinct(pool, parties, THREADS);
        support_require_live(pool, THREADS * EACH);
        support_require_obtainable(pool, THREADS * EACH);
        REQUIRE_EQUAL(cpool_lease_end(lease), THREADS * EACH);
        support_require_live(pool, 0);
        REQUIRE(support_stats(pool).thread_caches <= 2);
        free(parties);
    }
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(lease_ends_while_its_threads_live)
{
    cpool_t *pool = make_pool(modes[_i], 0);
    cpool_lease_t *lease = begin(pool);
    cpool_lease_t *next = begin(pool);
    struct support_door door;
    struct party *parties;

    parties = start_and_await(pool, lease, &door, EACH);
    require_distinct(pool, parties, THREADS);
    REQUIRE(cpool_lease_alloc(next) != NULL);
    REQUIRE_EQUAL(cpool_lease_end(lease), THREADS * EACH);
    support_require_live(pool, 1);
    support_require_obtainable(pool, 1);
    support_door_open(&door);
    join(parties, THREADS);
    end_all(pool, next, 1);
    free(parties);
}
END_TEST

START_TEST(every_slot_can_be_had_beside_a_lease)
{
    cpool_t *pool = make_pool(modes[_i], 0);
    cpool_lease_t *lease = begin(pool);
    struct support_door door;
    struct party *parties;
    size_t live;

    parties = start_and_await(pool, lease, &door, ROUNDS + 1);
    live = THREADS * (ROUNDS + 1);
    support_require_obtainable(pool, live);
    support_require_live(pool, live);
    support_door_open(&door);
    REQUIRE_EQUAL(join(parties, THREADS), live);
    require_distinct(pool, parties, THREADS);
    end_all(pool, lease, live);
    free(parties);
}
END_TEST

START_TEST(threads_without_a_cache_take_part)
{
    cpool_t *pool = make_pool(modes[_i], 2);
    cpool_lease_t *lease = begin(pool);
    struct support_door door;
    struct party *parties;

    parties = start_and_await(pool, lease, &door, EACH);
    require_distinct(pool, parties, THREADS);
    REQUIRE(support_stats(pool).thread_caches <= 2);
    support_door_open(&door);
    REQUIRE_EQUAL(join(parties, THREADS), THREADS * EACH);
    end_all(pool, lease, THREADS * EACH);
    free(parties);
}
END_TEST

START_TEST(no_cache_left_means_no_lease)
{
    cpool_t *pool = make_pool(modes[_i], 1);
    cpool_cache_t *cache;

    REQUIRE_EQUAL(cpool_cache_create(&cache, pool), 0);
    REQUIRE(cpool_lease_begin(pool) == NULL);
    cpool_cache_destroy(cache);
    REQUIRE_EQUAL(cpool_lease_end(begin(pool)), 0);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(threads_exhaust_the_pool_together)
{
    cpool_t *pool = make_pool(modes[_i], 0);
    cpool_lease_t *lease = begin(pool);
    struct party *parties = start(pool, lease, NULL, THREADS, CAPACITY);
    size_t got = join(parties, THREADS);

    REQUIRE(got + THREADS > CAPACITY); /* each holds a slot of its own now and then */
    require_distinct(pool, parties, THREADS);
    end_all(pool, lease, got);
    free(parties);
}
END_TEST

static size_t count_open(const cpool_t *pool)
{
    const struct cpi_lease_part *part = cpi_lease_part(inside(pool)->part);
    const struct cpi_leases *leases = cpi_load(&part->leases, relaxed);
    size_t open = 0;

    for (size_t i = 0; i < CPOOL_LEASES_MAX; i++)
        open += leases->lease[i].handle != NULL;
    return open;
}

/* There are no more caches. */
START_TEST(refused_lease_does_not_stay_open)
{
    cpool_t *pool = make_pool(modes[_i], 4);
    cpool_lease_t *leases[CPOOL_LEASES_MAX];
    size_t begun = 0;

    while ((leases[begun] = cpool_lease_begin(pool)) != NULL)
        begun++;
    REQUIRE(begun > 0 && begun <= 4);
    REQUIRE_EQUAL(count_open(pool), begun);
    while (begun > 0)
        REQUIRE_EQUAL(cpool_lease_end(leases[--begun]), 0);
    REQUIRE_EQUAL(count_open(pool), 0);
    support_destroy_empty(pool);
}
END_TEST

static void *wait_for_slot(void *pool)
{
    return cpool_alloc_wait(pool, NULL);
}

START_TEST(end_wakes_waiters)
{
    cpool_t *pool = make_pool(CPOOL_WAITABLE, 0);
    cpool_lease_t *lease = begin(pool);
    const struct timespec a_while = {0, 5000000};
    size_t taken = 0;
    pthread_t thread;
    void *slot;

    while (cpool_lease_alloc(lease) != NULL)
        taken++;
    REQUIRE_EQUAL(taken, CAPACITY);
    thread = support_start(wait_for_slot, pool);
    while (support_stats(pool).waits == 0)
        sched_yield();
    nanosleep(&a_while, NULL); /* it is about to sleep */
    REQUIRE_EQUAL(cpool_lease_end(lease), CAPACITY);
    REQUIRE_EQUAL(pthread_join(thread, &slot), 0);
    REQUIRE(slot != NULL);
    cpool_free(pool, slot);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}
END_TEST

/* --- A report's handler in the middle of an alloc --- */

/* The slot that the alloc has taken has damage beside it, and is not the lease's yet. */
struct middle {
    cpool_lease_t *lease;
    size_t reports;
    size_t ended; /* slots that another thread's end gave back */
};

static void *end_lease(void *argument)
{
    struct middle *middle = argument;

    middle->ended = cpool_lease_end(middle->lease);
    return NULL;
}

static void allocate_and_end(const cpool_error_t *error, void *context)
{
    struct middle *middle = context;

    (void)error;
    if (middle->reports++ > 0) /* that of the end */
        return;
    REQUIRE(cpool_lease_alloc(middle->lease) != NULL);
    support_join(support_start(end_lease, middle));
}

/* Two slots of a lease that has ended, the second with a byte after it overwritten. */
static void leave_damage(cpool_t *pool)
{
    cpool_lease_t *lease = begin(pool);
    unsigned char *slot = cpool_lease_alloc(lease);

    REQUIRE(slot != NULL && (slot = cpool_lease_alloc(lease)) != NULL);
    REQUIRE_EQUAL(cpool_lease_end(lease), 2);
    slot[16] ^= 0x5a;
}

START_TEST(alloc_within_an_alloc_keeps_the_lease_in_use)
{
    cpool_t *pool = make_pool(CPOOL_CHECKED, 0);
    struct middle middle = {NULL, 0, 0};
    size_t got = 0;

    leave_damage(pool);
    middle.lease = begin(pool);
    cpool_set_error_handler(allocate_and_end, &middle);
    for (; middle.reports == 0; got++)
        REQUIRE(cpool_lease_alloc(middle.lease) != NULL);
    cpool_set_error_handler(NULL, NULL);
    REQUIRE_EQUAL(middle.ended, 0);
    REQUIRE_EQUAL(middle.reports, 2);
    end_all(pool, middle.lease, got + 1);
}
END_TEST

/* --- Fork --- */

struct fork_case {
    cpool_t *pool;
    cpool_lease_t *lease;
    size_t others; /* slots of threads that are not there in the child */
};

static void child(void *argument)
{
    struct fork_case *fork_case = argument;
    void *slot;

    for (size_t i = 0; i < EACH; i++) {
        slot = cpool_lease_alloc(fork_case->lease);
        REQUIRE(slot != NULL);
        memset(slot, 'c', 16);
    }
    support_require_live(fork_case->pool, fork_case->others + 2 * EACH);
    REQUIRE_EQUAL(cpool_lease_end(fork_case->lease), fork_case->others + 2 * EACH);
    support_require_live(fork_case->pool, 0);
    support_require_obtainable(fork_case->pool, 0);
    support_destroy_empty(fork_case->pool);
}

START_TEST(lease_goes_on_in_the_child_of_a_fork)
{
    cpool_t *pool = make_pool(modes[_i], 0);
    cpool_lease_t *lease = begin(pool);
    struct fork_case fork_case = {pool, lease, THREADS * EACH};
    struct support_door door;
    struct party *parties;

    parties = start_and_await(pool, lease, &door, EACH);
    for (size_t i = 0; i < EACH; i++)
        REQUIRE(cpool_lease_alloc(lease) != NULL);
    support_in_child(child, &fork_case);
    support_door_open(&door);
    REQUIRE_EQUAL(join(parties, THREADS), THREADS * EACH);
    end_all(pool, lease, (THREADS + 1) * EACH);
    free(parties);
}
END_TEST

/* Takes all empty magazines, or gives them back. */
static struct cpi_counters emptied;
static uint32_t empties[8 * CAPACITY / ROUNDS];
static size_t empties_taken;

static void take_empties(cpool_t *pool)
{
    uint32_t node;

    while ((node = cpi_depot_take_empty(&inside(pool)->depot, &emptied)) != 0) {
        REQUIRE(empties_taken < sizeof empties / sizeof empties[0]);
        empties[empties_taken++] = node;
    }
}

static void give_empties(cpool_t *pool)
{
    while (empties_taken > 0)
        cpi_depot_give(&inside(pool)->depot, &emptied, empties[--empties_taken]);
}

/* The free slots of the thread's magazine are the lease's, or those of the pool. */
static void end_without_loss(void *argument)
{
    const struct fork_case *fork_case = argument;
    size_t slots;

    give_empties(fork_case->pool);
    slots = cpool_lease_end(fork_case->lease);
    REQUIRE(slots >= fork_case->others && slots < fork_case->others + ROUNDS);
    support_require_live(fork_case->pool, 0);
    support_require_obtainable(fork_case->pool, 0);
    support_destroy_empty(fork_case->pool);
}

/* As in a child after many forks that have left magazines behind. */
static void leave_without_an_empty_magazine(unsigned mode, bool vanishes)
{
    cpool_t *pool = make_pool(mode, 0);
    struct fork_case fork_case = {pool, begin(pool), 3};
    struct support_door door;
    struct party *party;

    support_door_init(&door);
    party = start(pool, fork_case.lease, &door, 1, fork_case.others);
    support_door_await(&door, 1);
    take_empties(pool);
    if (vanishes)
        support_in_child(end_without_loss, &fork_case);
    support_door_open(&door);
    REQUIRE_EQUAL(join(party, 1), fork_case.others);
    end_without_loss(&fork_case);
    free(party);
}

START_TEST(thread_that_ends_without_an_empty_magazine_leaves_its_slots)
{
    leave_without_an_empty_magazine(modes[_i], false);
}
END_TEST

START_TEST(thread_that_vanishes_in_a_fork_without_an_empty_magazine_leaves_its_slots)
{
    leave_without_an_empty_magazine(modes[_i], true);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(threads_that_ended_leave_their_slots_to_the_lease, MODES),
        TIMES(lease_ends_while_its_threads_live, MODES),
        TIMES(every_slot_can_be_had_beside_a_lease, MODES),
        TIMES(threads_without_a_cache_take_part, MODES),
        TIMES(no_cache_left_means_no_lease, MODES),
        TIMES(refused_lease_does_not_stay_open, MODES),
        TIMES(threads_exhaust_the_pool_together, MODES),
        ONCE(end_wakes_waiters),
        ONCE(alloc_within_an_alloc_keeps_the_lease_in_use),
        TIMES(lease_goes_on_in_the_child_of_a_fork, MODES),
        TIMES(thread_that_ends_without_an_empty_magazine_leaves_its_slots, MODES),
        TIMES(thread_that_vanishes_in_a_fork_without_an_empty_magazine_leaves_its_slots, MODES),
    };

    return SUPPORT_RUN("lease_threads", tests);
}
