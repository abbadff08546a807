/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_lease_reset.c - all slots of a lease go back, and it stays open.
 *
 * Includes the public API only.
 */
#include "lease_pool.h"

#include <sched.h>
#include <string.h>
#include <time.h>

#include <cpool/track.h>

/* Threads of a lease, and the slots that each takes. */
enum { THREADS = 3, EACH = 3 * ROUNDS + 3 };

static cpool_t *make_dry(unsigned flags, cpool_lease_t **lease, void **slots)
{
    cpool_t *pool = make_pool(flags);

    *lease = begin(pool);
    take(pool, *lease, slots, CAPACITY);
    return pool;
}

/* --- One thread --- */

START_TEST(frames_give_back_what_was_taken)
{
    static const size_t counts[] = {0, 1, 3, ROUNDS, ROUNDS + 1, 0, 5 * ROUNDS + 3, 2, CAPACITY};
    cpool_t *pool = make_pool(modes[_i]);
    cpool_lease_t *lease = begin(pool);
    void *slots[CAPACITY];

    for (size_t round = 0; round < 3; round++)
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            take(pool, lease, slots, counts[i]);
            support_require_live(pool, counts[i]);
            REQUIRE_EQUAL(cpool_lease_reset(lease), counts[i]);
            support_require_live(pool, 0);
        }
    end_all(pool, lease, 0);
}
END_TEST

START_TEST(frame_after_a_reset_ends_with_the_lease)
{
    cpool_t *pool = make_pool(modes[_i]);
    cpool_lease_t *lease = begin(pool);
    void *slots[EACH];

    take(pool, lease, slots, EACH);
    REQUIRE_EQUAL(cpool_lease_reset(lease), EACH);
    take(pool, lease, slots, ROUNDS + 1);
    end_all(pool, lease, ROUNDS + 1);
}
END_TEST

/* Adopted slots are in magazines of their own. */
START_TEST(adopted_slots_go_back)
{
    cpool_t *pool = make_pool(modes[_i]);
    cpool_lease_t *lease = begin(pool);

    for (size_t frame = 0; frame < 5; frame++) {
        for (size_t i = 0; i < ROUNDS + 3; i++)
            REQUIRE_EQUAL(cpool_lease_adopt(lease, cpool_alloc(pool)), 0);
        REQUIRE(cpool_lease_alloc(lease) != NULL);
        REQUIRE_EQUAL(cpool_lease_reset(lease), ROUNDS + 4);
        support_require_live(pool, 0);
    }
    end_all(pool, lease, 0);
}
END_TEST

START_TEST(short_frames_have_the_same_slots)
{
    cpool_t *pool = make_pool(modes[_i]);
    cpool_lease_t *lease = begin(pool);
    uint64_t exchanges;
    void *first[4];
    void *slots[4];

    take(pool, lease, first, 4);
    REQUIRE_EQUAL(cpool_lease_reset(lease), 4);
    exchanges = support_stats(pool).exchanges;
    for (size_t frame = 0; frame < 10; frame++) {
        take(pool, lease, slots, 4);
        REQUIRE(memcmp(slots, first, sizeof slots) == 0);
        REQUIRE_EQUAL(cpool_lease_reset(lease), 4);
    }
    REQUIRE_EQUAL(support_stats(pool).exchanges, exchanges);
    end_all(pool, lease, 0);
}
END_TEST

START_TEST(slots_are_to_be_had_outside_the_lease)
{
    cpool_lease_t *lease;
    void *slots[CAPACITY];
    cpool_t *pool = make_dry(modes[_i], &lease, slots);

    REQUIRE(cpool_alloc(pool) == NULL);
    REQUIRE_EQUAL(cpool_lease_reset(lease), CAPACITY);
    support_require_obtainable(pool, 0);
    take(pool, lease, slots, EACH);
    support_require_obtainable(pool, EACH);
    REQUIRE_EQUAL(cpool_lease_reset(lease), EACH);
    end_all(pool, lease, 0);
}
END_TEST

START_TEST(other_leases_keep_their_slots)
{
    cpool_t *pool = make_pool(modes[_i]);
    cpool_lease_t *kept = begin(pool);
    cpool_lease_t *lease = begin(pool);
    void *slots[EACH];

    take(pool, kept, slots, EACH);
    for (size_t i = 0; i < EACH; i++)
        memset(slots[i], 'k', 16);
    for (size_t frame = 0; frame < 4; frame++) {
        for (size_t i = 0; i < EACH; i++)
            memset(cpool_lease_alloc(lease), 'f', 16);
        REQUIRE_EQUAL(cpool_lease_reset(lease), EACH);
        support_require_live(pool, EACH);
    }
    for (size_t i = 0; i < EACH; i++)
        REQUIRE(memcmp(slots[i], "kkkkkkkkkkkkkkkk", 16) == 0);
    REQUIRE_EQUAL(cpool_lease_end(kept), EACH);
    end_all(pool, lease, 0);
}
END_TEST

/* --- Pools with a state for each slot --- */

START_TEST(slots_are_free_again)
{
    static const unsigned flags[] = {CPOOL_TRACKED, CPOOL_CHECKED};
    cpool_t *pool = make_pool(flags[_i]);
    cpool_lease_t *lease = begin(pool);
    cpool_handle_t handles[EACH];
    void *slots[EACH];

    take(pool, lease, slots, EACH);
    for (size_t i = 0; i < EACH; i++)
        handles[i] = cpool_handle(pool, slots[i]);
    support_capture_reports();
    cpool_free(pool, slots[0]);
    REQUIRE_REPORT(CPOOL_ELEASED);
    REQUIRE_EQUAL(cpool_lease_reset(lease), EACH);
    for (size_t i = 0; i < EACH; i++)
        REQUIRE(cpool_resolve(pool, handles[i]) == NULL);
    cpool_free(pool, slots[0]);
    REQUIRE_REPORT(CPOOL_EDOUBLEFREE);
    support_release_reports();
    end_all(pool, lease, 0);
}
END_TEST

START_TEST(damage_is_reported_and_goes_back)
{
    cpool_t *pool = make_pool(CPOOL_CHECKED);
    cpool_lease_t *lease = begin(pool);
    unsigned char *slot;
    void *slots[EACH];

    take(pool, lease, slots, EACH);
    slot = slots[1];
    slot[16] ^= 0x5a;
    support_capture_reports();
    REQUIRE_EQUAL(cpool_lease_reset(lease), EACH);
    REQUIRE_REPORT(CPOOL_EGUARD);
    support_release_reports();
    end_all(pool, lease, 0);
}
END_TEST

/* --- Several threads --- */

/* A thread that takes slots under a lease, and waits at the door if there is one. */
struct party {
    cpool_lease_t *lease;
    struct support_door *door;
    size_t wanted;
    pthread_t thread;
};

static void *take_part(void *argument)
{
    struct party *party = argument;

    for (size_t i = 0; i < party->wanted; i++)
        REQUIRE(cpool_lease_alloc(party->lease) != NULL);
    if (party->door != NULL)
        support_door_wait(party->door);
    return NULL;
}

static void start(struct party *parties, cpool_lease_t *lease, struct support_door *door)
{
    for (size_t i = 0; i < THREADS; i++) {
        parties[i] = (struct party){.lease = lease, .door = door, .wanted = EACH};
        parties[i].thread = support_start(take_part, &parties[i]);
    }
}

static void join(const struct party *parties)
{
    for (size_t i = 0; i < THREADS; i++)
        support_join(parties[i].thread);
}

START_TEST(slots_of_all_threads_go_back)
{
    cpool_t *pool = make_pool(modes[_i]);
    cpool_lease_t *lease = begin(pool);
    struct party parties[THREADS];
    struct support_door door;
    size_t caches;

    support_door_init(&door);
    start(parties, lease, &door);
    support_door_await(&door, THREADS);
    REQUIRE(cpool_lease_alloc(lease) != NULL);
    caches = support_stats(pool).thread_caches;
    REQUIRE_EQUAL(cpool_lease_reset(lease), THREADS * EACH + 1);
    support_require_live(pool, 0);
    support_require_obtainable(pool, 0);
    REQUIRE(support_stats(pool).thread_caches >= caches);
    support_door_open(&door);
    join(parties);
    end_all(pool, lease, 0);
}
END_TEST

/* A thread that ended has left slots to the lease: less than a magazine, whole ones, or both.  In
 * the first frame the other thread has taken none, and later it goes on. */
START_TEST(slots_of_an_ended_thread_go_back)
{
    static const size_t counts[] = {EACH, 1, 2 * ROUNDS, EACH};
    cpool_t *pool = make_pool(modes[_i]);
    cpool_lease_t *lease = begin(pool);

    for (size_t frame = 0; frame < sizeof counts / sizeof counts[0]; frame++) {
        struct party party = {.lease = lease, .wanted = counts[frame]};

        support_in_thread(take_part, &party);
        for (size_t i = 0; i < frame; i++)
            REQUIRE(cpool_lease_alloc(lease) != NULL);
        REQUIRE_EQUAL(cpool_lease_reset(lease), counts[frame] + frame);
        support_require_live(pool, 0);
        REQUIRE(cpool_lease_alloc(lease) != NULL); /* alone */
        REQUIRE_EQUAL(cpool_lease_reset(lease), 1);
    }
    end_all(pool, lease, 0);
}
END_TEST

/* A loop hands the lease to a thread, and resets it, or is handed it. */
START_TEST(another_thread_than_the_one_that_took_resets)
{
    cpool_t *pool = make_pool(modes[_i]);
    cpool_lease_t *lease = begin(pool);
    struct party party = {.lease = lease, .wanted = EACH};
    struct support_door door;

    support_door_init(&door);
    party.door = &door;
    party.thread = support_start(take_part, &party);
    support_door_await(&door, 1);
    REQUIRE_EQUAL(cpool_lease_reset(lease), EACH);
    support_require_live(pool, 0);
    support_door_open(&door);
    support_join(party.thread);
    end_all(pool, lease, 0);
}
END_TEST

/* Each alloc is made with the lock, on the record of the common cache. */
START_TEST(thread_without_a_cache_takes_part)
{
    cpool_config_t config = support_config(16, CAPACITY);
    cpool_lease_t *lease;
    struct party party;
    cpool_t *pool;

    config.flags = modes[_i];
    config.magazine_rounds = ROUNDS;
    config.thread_caches = 2;
    pool = support_create(&config);
    lease = begin(pool);
    REQUIRE(cpool_lease_alloc(lease) != NULL);
    party = (struct party){.lease = lease, .wanted = EACH};
    party.thread = support_start(take_part, &party);
    support_join(party.thread);
    REQUIRE_EQUAL(cpool_lease_reset(lease), EACH + 1);
    support_require_live(pool, 0);
    end_all(pool, lease, 0);
}
END_TEST

static void *wait_for_slot(void *pool)
{
    return cpool_alloc_wait(pool, NULL);
}

START_TEST(reset_wakes_waiters)
{
    const struct timespec a_while = {0, 5000000};
    cpool_lease_t *lease;
    void *slots[CAPACITY];
    cpool_t *pool = make_dry(CPOOL_WAITABLE, &lease, slots);
    pthread_t threads[2];
    void *slot;

    REQUIRE_EQUAL(cpool_lease_reset(lease), CAPACITY);
    take(pool, lease, slots, 3); /* of two magazines */
    REQUIRE_EQUAL(cpool_lease_reset(lease), 3);
    take(pool, lease, slots, 3); /* of one */
    for (size_t i = 3; i < CAPACITY; i++)
        REQUIRE(cpool_alloc(pool) != NULL);
    for (size_t i = 0; i < 2; i++)
        threads[i] = support_start(wait_for_slot, pool);
    while (support_stats(pool).waits < 2)
        sched_yield();
    nanosleep(&a_while, NULL); /* they are about to sleep */
    REQUIRE_EQUAL(cpool_lease_reset(lease), 3);
    for (size_t i = 0; i < 2; i++) {
        REQUIRE_EQUAL(pthread_join(threads[i], &slot), 0);
        REQUIRE(slot != NULL);
    }
    support_require_live(pool, CAPACITY - 1);
    REQUIRE_EQUAL(cpool_lease_end(lease), 0);
    support_destroy(pool);
}
END_TEST

/* --- Mistakes --- */

START_TEST(ended_lease_is_refused)
{
    cpool_t *pool = make_pool(modes[_i]);
    cpool_lease_t *lease = begin(pool);

    REQUIRE(cpool_lease_alloc(lease) != NULL);
    REQUIRE_EQUAL(cpool_lease_end(lease), 1);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_lease_reset(lease), 0);
    REQUIRE_REPORT(CPOOL_ELEASE);
    REQUIRE_EQUAL(cpool_lease_reset(NULL), 0);
    REQUIRE_REPORT(CPOOL_ELEASE);
    REQUIRE_EQUAL(cpool_lease_reset((cpool_lease_t *)(void *)pool), 0);
    REQUIRE_REPORT(CPOOL_ELEASE);
    support_release_reports();
    support_destroy_empty(pool);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(frames_give_back_what_was_taken, MODES),
        TIMES(frame_after_a_reset_ends_with_the_lease, MODES),
        TIMES(adopted_slots_go_back, MODES),
        TIMES(short_frames_have_the_same_slots, 3),
        TIMES(slots_are_to_be_had_outside_the_lease, MODES),
        TIMES(other_leases_keep_their_slots, MODES),
        TIMES(slots_are_free_again, 2),
        ONCE(damage_is_reported_and_goes_back),
        TIMES(slots_of_all_threads_go_back, MODES),
        TIMES(slots_of_an_ended_thread_go_back, MODES),
        TIMES(another_thread_than_the_one_that_took_resets, MODES),
        TIMES(thread_without_a_cache_takes_part, MODES),
        ONCE(reset_wakes_waiters),
        TIMES(ended_lease_is_refused, MODES),
    };

    return SUPPORT_RUN("lease_reset", tests);
}
