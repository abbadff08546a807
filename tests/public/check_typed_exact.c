/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_typed_exact.c - typed exact pools: their bound, slots taken back from idle and busy
 * threads, and the ends of threads, processes and pools.
 *
 * Includes typed_jobs.h.
 */
#define JOBS_DECLARE CPOOL_DECLARE_EXACT
#define JOBS_DEFINE CPOOL_DEFINE_EXACT
#include "typed_jobs.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 4 };

struct odd {
    char bytes[24];
};

#if defined(__GNUC__)
CPOOL_DEFINE_EXACT_INLINE(odds, struct odd, .capacity = CAPACITY, .magazine_rounds = ROUNDS);
#else
CPOOL_DECLARE_EXACT(odds, struct odd);
CPOOL_DEFINE_EXACT(odds, struct odd, .capacity = CAPACITY, .magazine_rounds = ROUNDS);
#endif

static void use_jobs(size_t count)
{
    struct job *held[CAPACITY];

    for (size_t i = 0; i < count; i++) {
        REQUIRE((held[i] = jobs_alloc()) != NULL);
        held[i]->number = (intptr_t)i;
    }
    for (size_t i = 0; i < count; i++) {
        REQUIRE_EQUAL(held[i]->number, i);
        jobs_free(held[i]);
    }
}

TEST(all_of_the_capacity_is_served_and_no_more)
{
    jobs_require_bound();
}

TEST(any_function_mixes_with_those_of_the_type)
{
    struct job *held[CAPACITY];

    for (int round = 0; round < 100; round++) {
        void *plain = cpool_alloc(jobs_pool());
        void *deep = cpool_depot_alloc(jobs_pool());

        REQUIRE(plain != NULL && deep != NULL);
        jobs_free(plain);
        jobs_free(deep);
        cpool_free(jobs_pool(), jobs_calloc());
        if (round % 10 == 5)
            cpool_flush(jobs_pool());
        REQUIRE_EQUAL(jobs_alloc_bulk(held, CAPACITY), CAPACITY);
        REQUIRE(jobs_alloc() == NULL);
        jobs_free_bulk(held, CAPACITY);
    }
    jobs_close_empty();
}

TEST(free_validates_every_address)
{
    struct job *job;
    struct odd *odd;

    support_capture_reports();
    for (int round = 0; round < 2; round++) {
        job = jobs_alloc();
        odd = odds_alloc();
        for (size_t i = 1; i < sizeof *job; i++) {
            jobs_free((struct job *)(void *)((char *)job + i));
            REQUIRE_REPORT(CPOOL_EMISALIGNED);
        }
        for (size_t i = 1; i < sizeof *odd; i++) {
            odds_free((struct odd *)(void *)((char *)odd + i));
            REQUIRE_REPORT(CPOOL_EMISALIGNED);
        }
        jobs_free((struct job *)cpool_at(jobs_pool(), CAPACITY - 1));
        REQUIRE_REPORT(CPOOL_EUNUSED);
        jobs_free((struct job *)(void *)odd);
        REQUIRE_REPORT(CPOOL_EFOREIGN);
        jobs_free(job);
        odds_free(odd);
    }
    support_release_reports();
    REQUIRE_EQUAL(odds_close(), CPOOL_OK);
    jobs_close_empty();
}

/* With a stride other than the size of the type.  The constants of the type do not serve there. */
TEST(free_into_a_longer_slot_reported)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    struct job *job;

    config.capacity = CAPACITY;
    config.slot_align = 2 * sizeof *job;
    REQUIRE_EQUAL(jobs_open(&config), CPOOL_OK);
    support_capture_reports();
    job = jobs_alloc();
    for (int round = 0; round < 3; round++) {
        jobs_free(job + 1);
        REQUIRE_REPORT(CPOOL_EMISALIGNED);
    }
    support_release_reports();
    jobs_free(job);
    REQUIRE_EQUAL(jobs_take_all(), CAPACITY);
    jobs_close_empty();
}

/*
 * ---- Threads -------------------------------------------------------------
 */

static _Atomic size_t live;
static atomic_bool over;

/* Slots are live for less than the time between the two changes of the number. */
static void *take_and_count(void *unused)
{
    struct job *held[CAPACITY];

    for (size_t round = 0; round < SUPPORT_COUNT(3000, 200); round++) {
        size_t n = 0;

        while (n < CAPACITY && (held[n] = jobs_alloc()) != NULL) {
            REQUIRE(atomic_fetch_add(&live, 1) < CAPACITY);
            held[n]->number = (intptr_t)&held[n];
            n++;
        }
        while (n > 0) {
            n--;
            REQUIRE_EQUAL(held[n]->number, (intptr_t)&held[n]);
            atomic_fetch_sub(&live, 1);
            jobs_free(held[n]);
        }
    }
    return unused;
}

TEST(threads_at_the_bound_never_have_more_than_the_capacity)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        threads[i] = support_start(take_and_count, NULL);
    for (int i = 0; i < THREADS; i++)
        support_join(threads[i]);
    REQUIRE_EQUAL(jobs_take_all(), CAPACITY);
    jobs_close_empty();
}

static void *hold_some(void *argument)
{
    use_jobs(CAPACITY / THREADS);
    support_door_wait(argument);
    use_jobs(CAPACITY / THREADS);
    return NULL;
}

TEST(slots_of_idle_threads_are_taken_back)
{
    pthread_t threads[THREADS];
    struct support_door door;

    support_door_init(&door);
    for (int i = 0; i < THREADS; i++)
        threads[i] = support_start(hold_some, &door);
    support_door_await(&door, THREADS);
    REQUIRE_EQUAL(jobs_take_all(), CAPACITY);
    support_door_open(&door);
    for (int i = 0; i < THREADS; i++)
        support_join(threads[i]);
    jobs_close_empty();
}

/* Never has more than one slot. */
static void *take_one_again_and_again(void *unused)
{
    while (!atomic_load(&over)) {
        struct job *job = jobs_alloc();

        if (job != NULL) {
            job->number = 1;
            jobs_free(job);
        }
    }
    return unused;
}

TEST(slots_of_a_busy_thread_are_taken_back)
{
    pthread_t thread;

    atomic_store(&over, false);
    thread = support_start(take_one_again_and_again, NULL);
    for (size_t round = 0; round < SUPPORT_COUNT(2000, 100); round++)
        REQUIRE(jobs_take_all() >= CAPACITY - 1);
    atomic_store(&over, true);
    support_join(thread);
    REQUIRE_EQUAL(jobs_take_all(), CAPACITY);
    jobs_close_empty();
}

static void *use_some(void *unused)
{
    use_jobs(CAPACITY);
    return unused;
}

static void use_in_destructor(void *unused)
{
    (void)unused;
    use_jobs(CAPACITY / 2);
}

static void *use_with_keys(void *keys)
{
    REQUIRE_EQUAL(pthread_setspecific(((pthread_key_t *)keys)[0], keys), 0);
    REQUIRE_EQUAL(pthread_setspecific(((pthread_key_t *)keys)[1], keys), 0);
    use_jobs(CAPACITY);
    return NULL;
}

/* The second destructor runs after the library's, which has ended the cache. */
TEST(end_of_thread_returns_its_slots)
{
    pthread_key_t keys[2];

    REQUIRE_EQUAL(pthread_key_create(&keys[0], use_in_destructor), 0);
    use_jobs(1);
    REQUIRE_EQUAL(pthread_key_create(&keys[1], use_in_destructor), 0);
    for (int i = 0; i < 5; i++) {
        support_in_thread(use_some, NULL);
        support_in_thread(use_with_keys, keys);
        REQUIRE_EQUAL(support_stats(jobs_pool()).thread_caches, 1);
        REQUIRE_EQUAL(jobs_take_all(), CAPACITY);
    }
    REQUIRE_EQUAL(pthread_key_delete(keys[0]) + pthread_key_delete(keys[1]), 0);
    jobs_close_empty();
}

/*
 * ---- The pool's end, and forks -------------------------------------------
 */

static const unsigned kinds[] = {0, CPOOL_CHECKED, CPOOL_WAITABLE, CPOOL_MEMORY_COLOUR,
                                 CPOOL_TRACKED};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

static void *use_twice(void *argument)
{
    use_jobs(CAPACITY / 2);
    support_door_wait(argument);
    use_jobs(CAPACITY);
    return NULL;
}

/* A thread that has used the pool uses the next one, of another kind. */
TEST_TIMES(close_and_open_while_a_thread_that_used_it_lives, KINDS)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    struct support_door door;
    pthread_t thread;

    config.capacity = CAPACITY;
    config.magazine_rounds = ROUNDS;
    support_set_flags(&config, kinds[_i]);
    for (int round = 0; round < 2; round++) {
        support_door_init(&door);
        thread = support_start(use_twice, &door);
        support_door_await(&door, 1);
        jobs_close_empty();
        if (round == 0)
            REQUIRE_EQUAL(jobs_open(&config), CPOOL_OK);
        support_door_open(&door);
        support_join(thread);
        REQUIRE_EQUAL(jobs_take_all(), CAPACITY);
        REQUIRE_EQUAL(cpool_reset(jobs_pool()), 0);
        REQUIRE_EQUAL(jobs_take_all(), CAPACITY);
    }
    jobs_close_empty();
}

TEST(reset_takes_back_live_slots)
{
    for (int i = 0; i < 3; i++) {
        for (size_t n = 0; n < CAPACITY; n++)
            REQUIRE(jobs_alloc() != NULL);
        REQUIRE_EQUAL(cpool_reset(jobs_pool()), CAPACITY);
    }
    jobs_close_empty();
}

static void use_in_child(void *unused)
{
    (void)unused;
    REQUIRE_EQUAL(jobs_take_all(), CAPACITY);
    support_in_thread(use_some, NULL);
    jobs_close_empty();
    use_jobs(CAPACITY);
    jobs_close_empty();
}

TEST(fork_beside_threads_with_slots)
{
    struct support_door door;
    pthread_t thread;

    support_in_child(use_in_child, NULL);
    support_door_init(&door);
    thread = support_start(hold_some, &door);
    support_door_await(&door, 1);
    use_jobs(CAPACITY / 2);
    support_in_child(use_in_child, NULL);
    support_door_open(&door);
    support_join(thread);
    jobs_close_empty();
}
