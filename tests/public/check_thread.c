/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_thread.c - the end of threads: however they end, their cached slots
 * return, and destructors of thread-specific data may go on using the pool.
 */
#include "support.h"

#include <sched.h>
#include <unistd.h>

#include <cpool/pools.h>

enum { CAPACITY = 2000 };

static cpool_t *pool;

static void make_pool(void)
{
    pool = support_create_plain(32, CAPACITY);
}

/* Nothing is cached by any thread, and all but `live` slots are to be had. */
static void require_all_returned(size_t live)
{
    struct figures stats = support_stats(pool);

    REQUIRE_EQUAL(stats.caches, 0);
    REQUIRE_EQUAL(stats.in_caches, 0);
    support_require_live(pool, live);
    support_require_obtainable(pool, live);
}

/* Leaves the thread's cache partly filled. */
static void fill_cache(void)
{
    void *slots[150];

    for (int i = 0; i < 150; i++) {
        slots[i] = cpool_alloc(pool);
        REQUIRE(slots[i] != NULL);
        memset(slots[i], i, 32);
    }
    for (int i = 0; i < 150; i++)
        cpool_free(pool, slots[i]);
    REQUIRE(support_stats(pool).in_caches > 0);
}

/* --- Ways to end --- */

static void *end_by_return(void *unused)
{
    fill_cache();
    return unused;
}

static void *end_by_exit(void *unused)
{
    fill_cache();
    pthread_exit(unused);
}

static void *end_by_cancelling_itself(void *unused)
{
    fill_cache();
    pthread_cancel(pthread_self());
    pthread_testcancel();
    return unused;
}

TEST_TIMES(end_thread_by_return_or_exit_returns_its_cache, 3)
{
    static support_thread_t *const ways[] = { end_by_return, end_by_exit,
                                              end_by_cancelling_itself };

    make_pool();
    for (int round = 0; round < 10; round++)
        support_in_thread(ways[_i], NULL);
    require_all_returned(0);
    support_destroy_empty(pool);
}

/* --- Destructors of thread-specific data --- */

/* The most often that the system calls one destructor of one thread.
 * ThreadSanitizer forgets the thread in the last of these rounds. */
enum { TIMES_CALLED = SUPPORT_THREAD_SANITIZED ? 2 : 4 };

static pthread_key_t early; /* made before the library's own */
static pthread_key_t late;  /* and after */

struct rearming {
    pthread_key_t *key;
    int called;
    void *slots[TIMES_CALLED];
};

/* Gives back what it took the last time, takes another, and asks to be called
 * again. */
static void rearm(void *argument)
{
    struct rearming *state = argument;
    void *slot;

    if (state->called > 0)
        cpool_free(pool, state->slots[state->called - 1]);
    slot = cpool_alloc(pool);
    REQUIRE(slot != NULL);
    memset(slot, 0x77, 32);
    cpool_free(pool, cpool_alloc(pool));
    cpool_flush(pool);
    state->slots[state->called++] = slot;
    if (state->called < TIMES_CALLED)
        REQUIRE_EQUAL(pthread_setspecific(*state->key, state), 0);
}

/* The keys lie on both sides of the library's, which it makes when the first
 * pool is created. */
static void make_keys_around_pool(void)
{
    REQUIRE_EQUAL(pthread_key_create(&early, rearm), 0);
    make_pool();
    REQUIRE_EQUAL(pthread_key_create(&late, rearm), 0);
}

static void *end_with_rearming(void *argument)
{
    struct rearming *states = argument;

    fill_cache();
    states[0].key = &early;
    states[1].key = &late;
    for (int i = 0; i < 2; i++)
        REQUIRE_EQUAL(pthread_setspecific(*states[i].key, &states[i]), 0);
    return NULL;
}

TEST(end_thread_with_rearming_destructors_returns_all)
{
    make_keys_around_pool();
    for (int round = 0; round < 20; round++) {
        struct rearming states[2] = { { NULL, 0, { NULL } }, { NULL, 0, { NULL } } };

        support_in_thread(end_with_rearming, states);
        support_require_live(pool, 2);
        for (int i = 0; i < 2; i++) {
            REQUIRE_EQUAL(states[i].called, TIMES_CALLED);
            cpool_free(pool, states[i].slots[states[i].called - 1]);
        }
        cpool_flush(pool);
        REQUIRE_EQUAL(support_stats(pool).in_caches, 0);
        REQUIRE_EQUAL(support_stats(pool).caches, 1);
    }
    support_destroy_whole(pool);
}

/* A destructor that is the thread's first use of the pool. */
static void *end_with_first_use(void *argument)
{
    struct rearming *state = argument;

    REQUIRE_EQUAL(pthread_setspecific(*state->key, state), 0);
    return NULL;
}

static void use_once(void *argument)
{
    struct rearming *state = argument;

    state->called++;
    fill_cache();
}

TEST(end_thread_with_first_use_in_destructor_returns_all)
{
    struct rearming state = { &early, 0, { NULL } };

    REQUIRE_EQUAL(pthread_key_create(&early, use_once), 0);
    make_pool();
    REQUIRE_EQUAL(pthread_key_create(&late, use_once), 0);
    for (int round = 0; round < 20; round++) {
        state.key = round % 2 == 0 ? &early : &late;
        support_in_thread(end_with_first_use, &state);
    }
    REQUIRE_EQUAL(state.called, 20);
    require_all_returned(0);
    support_destroy_empty(pool);
}

/* --- The main thread --- */

/* Only sees the main thread's cache go, because the main thread itself cannot
 * be joined everywhere. */
static void *await_end_of_main(void *unused)
{
    while (support_stats(pool).caches != 0)
        sched_yield();
    require_all_returned(0);
    _exit(EXIT_SUCCESS);
    return unused;
}

TEST_IN_CHILD(end_main_thread_returns_its_cache)
{
    make_pool();
    fill_cache();
    REQUIRE_EQUAL(support_stats(pool).caches, 1);
    support_start(await_end_of_main, NULL);
    pthread_exit(NULL);
}

#if defined(__linux__)

/* Pools that other threads create after the library's destructor has run: some of them have a
 * table, which it has unmapped, and some have none. */
enum { CREATORS = 4, CREATIONS = 30 };

static _Atomic int created[CREATORS];

static void *create_for_ever(void *number)
{
    _Atomic int *count = &created[*(const int *)number];
    cpool_t *small = support_create_plain(16, 10);

    if (*(const int *)number % 2 == 0)
        cpool_free(small, cpool_alloc(small));
    support_destroy_empty(small);
    for (;; ++*count) {
        cpool_config_t config = support_config(16, 10);
        int code = cpool_create(&small, &config);

        REQUIRE(code == 0 || code == CPOOL_ENOMEM);
        if (code == 0) {
            cpool_free(small, cpool_alloc(small));
            cpool_free(small, NULL);
        }
        REQUIRE_EQUAL(cpool_destroy(small), 0);
        REQUIRE(cpool_of(count, NULL) == NULL);
        sched_yield();
    }
    return NULL;
}

static void await_creations(int more)
{
    for (int i = 0; i < CREATORS; i++)
        for (int from = created[i]; created[i] < from + more;)
            sched_yield();
}

/* A stream's buffer is written after all destructors. */
static ssize_t write_late(void *unused, const char *text, size_t size)
{
    (void)unused;
    (void)text;
    await_creations(CREATIONS);
    return (ssize_t)size;
}

static void exit_beside_creators(void *unused)
{
    static const int numbers[CREATORS] = { 0, 1, 2, 3 };
    const cookie_io_functions_t functions = { .write = write_late };
    FILE *stream = fopencookie(NULL, "w", functions);

    (void)unused;
    REQUIRE(stream != NULL && fputs("late", stream) != EOF);
    for (int i = 0; i < CREATORS; i++)
        support_start(create_for_ever, (void *)(uintptr_t)&numbers[i]);
    await_creations(1);
    exit(EXIT_SUCCESS);
}

TEST(exit_process_beside_creations_does_no_harm)
{
    for (size_t round = 0; round < SUPPORT_COUNT(20, 3); round++)
        support_in_child(exit_beside_creators, NULL);
}

static ssize_t use_destroyed(void *gone, const char *text, size_t size)
{
    (void)text;
    REQUIRE(cpool_alloc(gone) == NULL);
    REQUIRE_REPORT(CPOOL_EPOOL);
    return (ssize_t)size;
}

/* No pool is left that would keep the library's memory. */
TEST_IN_CHILD(destroyed_pool_is_refused_at_the_very_end)
{
    const cookie_io_functions_t functions = { .write = use_destroyed };
    cpool_t *gone = support_create_plain(16, 10);
    FILE *stream = fopencookie(gone, "w", functions);

    REQUIRE(stream != NULL && fputs("late", stream) != EOF);
    cpool_free(gone, cpool_alloc(gone));
    support_destroy_empty(gone);
    support_capture_reports();
    exit(EXIT_SUCCESS);
}

#endif

/* --- Many threads --- */

/* Leaves a cache that is neither full nor empty, different in each thread. */
static void *leave_half_filled(void *argument)
{
    size_t number = *(const size_t *)argument;
    size_t count = 1 + number * 7 % 150;
    void *slots[150];

    for (size_t i = 0; i < count; i++)
        slots[i] = cpool_alloc(pool);
    for (size_t i = 0; i < count; i++)
        cpool_free(pool, slots[i]);
    return NULL;
}

TEST(end_many_threads_in_turn_makes_no_more_magazines)
{
    size_t magazines = 0;
    size_t space = 0;

    make_pool();
    for (size_t i = 0; i < SUPPORT_COUNT(100000, 2000); i++) {
        support_in_thread(leave_half_filled, &i);
        if (i == 500) {
            magazines = support_stats(pool).magazines;
            space = support_address_space();
        }
    }
    REQUIRE_EQUAL(support_stats(pool).magazines, magazines);
    REQUIRE(SUPPORT_SANITIZED || support_address_space() == space);
    require_all_returned(0);
    support_destroy_empty(pool);
}

/* Full magazines are at most capacity / rounds.  Beside those there is one that
 * is neither full nor empty, and those that the threads had at once. */
TEST(end_many_threads_at_once_bounds_magazines)
{
    enum { AT_ONCE = 8 };
    size_t rounds;

    make_pool();
    rounds = support_stats(pool).magazine_rounds;
    for (size_t i = 0; i < SUPPORT_COUNT(20000, 800) / AT_ONCE; i++) {
        pthread_t threads[AT_ONCE];
        size_t numbers[AT_ONCE];

        for (size_t n = 0; n < AT_ONCE; n++) {
            numbers[n] = i * AT_ONCE + n;
            threads[n] = support_start(leave_half_filled, &numbers[n]);
        }
        for (size_t n = 0; n < AT_ONCE; n++)
            support_join(threads[n]);
    }
    REQUIRE(support_stats(pool).magazines <= CAPACITY / rounds + 1 + 4 * AT_ONCE);
    require_all_returned(0);
    support_destroy_empty(pool);
}
