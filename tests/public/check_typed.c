/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_typed.c - typed pools: their functions, their creation on first use, their bound, waiters
 * that their functions call, the ends of threads, processes and pools, and reports, which name
 * the function of the type.
 */
#include "support.h"

#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>

#include <cpool/pools.h>

enum { CAPACITY = 1000,
       THREADS = 64 };

struct job {
    long number;
    char text[56];
};

struct odd {
    char bytes[100];
};

CPOOL_DECLARE(jobs, struct job);
CPOOL_DEFINE(jobs, struct job, .capacity = CAPACITY);

CPOOL_DECLARE(odds, struct odd);
CPOOL_DEFINE(odds, struct odd, .capacity = CAPACITY);

CPOOL_DECLARE(bytes, char);
CPOOL_DEFINE(bytes, char, .capacity = CAPACITY, .name = "bytes of tests");

/* With one slot. */
#if defined(__GNUC__)
CPOOL_DEFINE_INLINE(ones, struct job, .capacity = 1);
#else
CPOOL_DECLARE(ones, struct job);
CPOOL_DEFINE(ones, struct job, .capacity = 1);
#endif

/* There can be no such pool, and no compiler knows. */
CPOOL_DECLARE(wrong, struct job);
CPOOL_DEFINE(wrong, struct job, .capacity = CAPACITY, .magazine_rounds = CAPACITY + 1);

static cpool_config_t job_config(size_t capacity, unsigned flags)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;

    config.capacity = capacity;
    support_set_flags(&config, flags);
    return config;
}

static void use_jobs(size_t count)
{
    struct job *held[CAPACITY];

    REQUIRE(count <= CAPACITY);
    for (size_t i = 0; i < count; i++) {
        held[i] = jobs_alloc();
        REQUIRE(held[i] != NULL && (uintptr_t)held[i] % alignof(struct job) == 0);
        held[i]->number = (long)i;
    }
    for (size_t i = 0; i < count; i++) {
        REQUIRE_EQUAL(held[i]->number, i);
        jobs_free(held[i]);
    }
}

static void close_empty(void)
{
    support_require_live(jobs_pool(), 0);
    REQUIRE_EQUAL(jobs_close(), CPOOL_OK);
}

TEST(typed_bulk_mixes_with_single_slots)
{
    struct job *held[CAPACITY];
    struct job *none;

    REQUIRE_EQUAL(jobs_alloc_bulk(held, 300, 0), 300);
    for (size_t i = 300; i < CAPACITY; i++)
        REQUIRE((held[i] = jobs_alloc()) != NULL);
    REQUIRE_EQUAL(jobs_alloc_bulk(&none, 1, 0), 0);
    jobs_free_bulk(held + 100, CAPACITY - 100);
    for (size_t i = 0; i < 100; i++)
        jobs_free(held[i]);
    support_require_obtainable(jobs_pool(), 0);
    close_empty();
}

/* Any function of the handle, before and after the thread's typed entry is in use. */
TEST(typed_functions_mix_with_those_of_the_handle)
{
    cpool_t *pool = jobs_pool();
    cpool_cache_t *cache;
    struct job *job = cpool_alloc(pool);
    void *held[CAPACITY];

    REQUIRE_EQUAL(cpool_cache_create(&cache, pool), 0);
    REQUIRE_EQUAL(cpool_index(pool, job), 0);
    jobs_free(job);
    for (int round = 0; round < 1000; round++) {
        struct job *typed = round % 2 == 0 ? jobs_alloc() : jobs_calloc();
        struct job *plain = cpool_alloc(pool);
        struct job *cached = cpool_cache_alloc(cache);
        struct job *deep = cpool_alloc_uncached(pool);

        REQUIRE(typed != NULL && plain != NULL && cached != NULL && deep != NULL);
        support_require_live(pool, 4);
        cpool_free(pool, typed);
        cpool_cache_free(cache, plain);
        cpool_free_uncached(pool, cached);
        jobs_free(deep);
        if (round % 100 == 50)
            cpool_flush(pool);
        if (round % 100 == 70)
            cpool_trim(pool);
    }
    REQUIRE_EQUAL(support_take_all(pool, held), CAPACITY);
    for (size_t i = 0; i < CAPACITY; i++)
        jobs_free(held[i]);
    REQUIRE_EQUAL(cpool_reserve(pool, CAPACITY), CPOOL_OK);
    close_empty();
}

/* Frees at any distance, of a size that is a power of two, one that is none, and 1. */
TEST(typed_free_validates_every_address)
{
    struct job *job;
    struct odd *odd;
    char *byte;
    size_t taken;

    support_capture_reports();
    for (int round = 0; round < 2; round++) {
        job = jobs_alloc();
        odd = odds_alloc();
        byte = bytes_alloc();
        for (size_t i = 1; i < sizeof(*job); i++) {
            jobs_free((struct job *)(void *)((char *)job + i));
            REQUIRE_REPORT(CPOOL_EMISALIGNED);
        }
        for (size_t i = 1; i < sizeof(*odd); i++) {
            odds_free((struct odd *)(void *)((char *)odd + i));
            REQUIRE_REPORT(CPOOL_EMISALIGNED);
        }
        /* The thread's entry knows how many slots were ever taken, and has room. */
        taken = support_stats(jobs_pool()).circulating;
        REQUIRE(taken > 0 && taken < CAPACITY - 3);
        for (size_t i = taken; i < taken + 3; i++) {
            jobs_free((struct job *)cpool_at(jobs_pool(), i));
            REQUIRE_REPORT(CPOOL_EUNUSED);
        }
        jobs_free((struct job *)(void *)odd);
        REQUIRE_REPORT(CPOOL_EFOREIGN);
        bytes_free(byte - 1);
        REQUIRE(strcmp(REQUIRE_REPORT(CPOOL_EFOREIGN).name, "bytes of tests") == 0);
        jobs_free(job);
        odds_free(odd);
        bytes_free(byte);
    }
    support_release_reports();
    REQUIRE_EQUAL(odds_close() + bytes_close(), 0);
    close_empty();
}

/* With a stride other than the size of the type.  The constants of the type do not serve there. */
TEST(typed_free_into_a_longer_slot_reported)
{
    cpool_config_t config = job_config(CAPACITY, 0);
    struct job *job;

    config.slot_align = 128; /* which no job fills */
    REQUIRE_EQUAL(jobs_open(&config), CPOOL_OK);
    support_capture_reports();
    job = jobs_alloc();
    for (int round = 0; round < 3; round++) {
        jobs_free(job + 1);
        REQUIRE_REPORT(CPOOL_EMISALIGNED);
    }
    support_release_reports();
    jobs_free(job);
    support_require_obtainable(jobs_pool(), 0);
    close_empty();
}

TEST(typed_free_of_nothing_makes_no_pool)
{
    jobs_free(NULL);
    jobs_free_bulk(NULL, 0);
    REQUIRE(support_find(0, "jobs") == NULL);
    REQUIRE_EQUAL(jobs_close(), CPOOL_OK);
    use_jobs(1);
    REQUIRE(support_find(0, "jobs") == jobs_pool());
    close_empty();
}

static pthread_barrier_t barrier;
static _Atomic(cpool_t *) seen;

static void *use_at_once(void *unused)
{
    cpool_t *none = NULL;
    struct job *job;

    pthread_barrier_wait(&barrier);
    job = jobs_alloc();
    REQUIRE(job != NULL);
    if (!atomic_compare_exchange_strong(&seen, &none, jobs_pool()))
        REQUIRE(none == jobs_pool());
    pthread_barrier_wait(&barrier);
    jobs_free(job);
    return unused;
}

TEST(typed_first_use_by_many_threads_makes_one_pool)
{
    for (size_t round = 0; round < SUPPORT_COUNT(20, 3); round++) {
        pthread_t threads[THREADS];

        atomic_store(&seen, NULL);
        pthread_barrier_init(&barrier, NULL, THREADS);
        for (int i = 0; i < THREADS; i++)
            threads[i] = support_start(use_at_once, NULL);
        for (int i = 0; i < THREADS; i++)
            support_join(threads[i]);
        pthread_barrier_destroy(&barrier);
        support_require_obtainable(jobs_pool(), 0);
        close_empty();
    }
}

static void *use_and_end(void *count)
{
    use_jobs(*(size_t *)count);
    return NULL;
}

/* Takes all that there is, returns how many those were, and gives them back. */
static size_t take_all(void)
{
    struct job *held[CAPACITY + 1];
    size_t n = 0;

    while ((held[n] = jobs_alloc()) != NULL)
        REQUIRE(++n <= CAPACITY);
    for (size_t i = 0; i < n; i++)
        jobs_free(held[i]);
    return n;
}

static _Atomic size_t live_jobs;

/* Slots are live for less than the time between the two changes of the number. */
static void *take_and_count(void *unused)
{
    struct job *held[CAPACITY];

    for (size_t round = 0; round < SUPPORT_COUNT(200, 20); round++) {
        size_t n = 0;

        while (n < CAPACITY && (held[n] = jobs_alloc()) != NULL) {
            REQUIRE(atomic_fetch_add(&live_jobs, 1) < CAPACITY);
            held[n]->number = (long)(intptr_t)&held[n];
            n++;
        }
        while (n > 0) {
            n--;
            REQUIRE_EQUAL(held[n]->number, (long)(intptr_t)&held[n]);
            atomic_fetch_sub(&live_jobs, 1);
            jobs_free(held[n]);
        }
    }
    return unused;
}

TEST(typed_alloc_at_the_bound_never_exceeds_the_capacity)
{
    enum { TAKERS = 4 };
    pthread_t threads[TAKERS];

    for (int i = 0; i < TAKERS; i++)
        threads[i] = support_start(take_and_count, NULL);
    for (int i = 0; i < TAKERS; i++)
        support_join(threads[i]);
    REQUIRE_EQUAL(take_all(), CAPACITY);
    close_empty();
}

static void await_sleeper(void)
{
    while (support_stats(ones_pool()).waits == 0)
        sched_yield();
}

/* The thread that gets the last slot closes the pool, while the one that freed it may be about to
 * look for waiters. */
static void *wait_and_close(void *unused)
{
    struct job *job = ones_alloc_wait(NULL);

    (void)unused;
    REQUIRE(job != NULL);
    ones_free(job);
    REQUIRE_EQUAL(ones_close(), CPOOL_OK);
    return NULL;
}

TEST(typed_close_by_the_thread_that_waited_for_the_last_slot)
{
    for (int i = 0; i < 200; i++) {
        struct job *job;
        pthread_t thread;

        for (int k = 0; k < 10; k++) /* the cache has a magazine */
            ones_free(ones_alloc());
        job = ones_alloc();
        REQUIRE(job != NULL);
        thread = support_start(wait_and_close, NULL);
        if (i % 2 == 0)
            await_sleeper();
        ones_free(job);
        support_join(thread);
    }
}

/* One report, which names the pool and why there is none. */
static void require_cause(int code, const char *name)
{
    struct support_report report = REQUIRE_REPORT(code);

    REQUIRE(strcmp(report.name, name) == 0);
    REQUIRE(strstr(report.text, name) != NULL && strstr(report.text, cpool_strerror(code)) != NULL);
}

TEST(typed_open_refuses_each_mistake_and_later_succeeds)
{
    cpool_config_t config = job_config(CAPACITY, 0);
    struct job *job;

    REQUIRE_EQUAL(wrong_open(NULL), CPOOL_EROUNDS);
    support_capture_reports();
    REQUIRE(wrong_alloc() == NULL);
    require_cause(CPOOL_EROUNDS, "wrong");
    REQUIRE(wrong_calloc() == NULL && wrong_pool() == NULL);
    REQUIRE_EQUAL(wrong_alloc_bulk(&job, 1, 0), 0);
    wrong_free(NULL);
    REQUIRE_EQUAL(wrong_close(), CPOOL_OK);
    REQUIRE(wrong_alloc() == NULL);
    REQUIRE_NO_REPORT();
    config.slot_size = sizeof(struct job) + 1;
    REQUIRE_EQUAL(wrong_open(&config), CPOOL_ESLOTSIZE);
    config.slot_size = 0;
    config.slot_align = alignof(struct job) / 2;
    REQUIRE_EQUAL(wrong_open(&config), CPOOL_EALIGN);
    config.slot_align = 3 * alignof(struct job);
    REQUIRE_EQUAL(wrong_open(&config), CPOOL_EALIGN);
    config.slot_align = 0;
    config.flags = ~0u;
    REQUIRE_EQUAL(wrong_open(&config), CPOOL_EFLAGS);
    config.flags = 0;
    config.size = 1;
    REQUIRE_EQUAL(wrong_open(&config), CPOOL_ESTRUCT);
    config.size = sizeof(config);
    REQUIRE_EQUAL(wrong_open(&config), CPOOL_OK);
    REQUIRE_EQUAL(wrong_open(&config), CPOOL_EOPEN);
    REQUIRE_EQUAL(wrong_open(NULL), CPOOL_OK);
    job = wrong_alloc();
    REQUIRE(job != NULL);
    wrong_free(job);
    REQUIRE_EQUAL(wrong_close(), CPOOL_OK);
    REQUIRE(wrong_alloc() == NULL); /* reported anew after there was a pool */
    require_cause(CPOOL_EROUNDS, "wrong");
    support_release_reports();
}

/* Larger than the addresses that there are. */
CPOOL_DECLARE(large, struct job);
CPOOL_DEFINE(large, struct job, .capacity = CAPACITY, .max_capacity = UINT32_MAX);

/* The process goes on. */
static void use_without_addresses(void *unused)
{
    support_limit_address_space((size_t)256 << 20);
    REQUIRE(large_alloc() == NULL && large_alloc() == NULL && large_pool() == NULL);
    REQUIRE_EQUAL(large_open(NULL), CPOOL_ENOMEM);
    (void)unused;
}

TEST(typed_first_use_without_memory_is_reported_once)
{
    struct support_outcome outcome;

    SKIP_IF(SUPPORT_SANITIZED || sizeof(size_t) < 8, "addresses cannot be limited");
    support_fork(use_without_addresses, NULL, &outcome);
    REQUIRE_EQUAL(outcome.status, 0);
    REQUIRE(strstr(outcome.text, "'large'") != NULL);
    REQUIRE(strstr(outcome.text, cpool_strerror(CPOOL_ENOMEM)) != NULL);
    REQUIRE(strchr(outcome.text, '\n') == strrchr(outcome.text, '\n'));
}

static const unsigned kinds[] = {0, CPOOL_CHECKED, CPOOL_COLOUR, CPOOL_TRACKED};

struct across {
    pthread_barrier_t barrier;
    int rounds;
};

static void *use_across(void *argument)
{
    struct across *across = argument;

    for (int i = 0; i < across->rounds; i++) {
        pthread_barrier_wait(&across->barrier);
        use_jobs(40);
        pthread_barrier_wait(&across->barrier);
    }
    return NULL;
}

/* Another pool has its descriptor, and so its place in the thread's table. */
TEST(typed_close_leaves_the_entry_to_the_next_pool)
{
    const cpool_t *closed = jobs_pool();
    struct job *job;
    cpool_t *pool;

    use_jobs(1);
    close_empty();
    while ((pool = support_create_plain(sizeof(struct job), CAPACITY)) != closed)
        support_destroy_empty(pool);
    cpool_free(pool, cpool_alloc(pool));
    job = jobs_alloc();
    support_require_live(pool, 0);
    jobs_free(job);
    support_destroy_empty(pool);
    close_empty();
}

/* A thread's entry of the closed pool is not that of the next one. */
TEST(typed_close_and_open_while_threads_live)
{
    struct across across = {.rounds = 20};
    pthread_t threads[2];

    pthread_barrier_init(&across.barrier, NULL, 3);
    for (int i = 0; i < 2; i++)
        threads[i] = support_start(use_across, &across);
    for (int i = 0; i < across.rounds; i++) {
        struct job *live;

        pthread_barrier_wait(&across.barrier);
        use_jobs(40);
        pthread_barrier_wait(&across.barrier);
        live = i % 2 == 0 ? jobs_alloc() : NULL;
        REQUIRE_EQUAL(i % 3 == 0 ? cpool_destroy(jobs_pool()) : jobs_close(),
                      live != NULL ? CPOOL_ELIVE : CPOOL_OK);
        if (i % 4 == 0) {
            cpool_config_t config = job_config(CAPACITY, kinds[i / 4 % SUPPORT_LENGTH(kinds)]);

            REQUIRE_EQUAL(jobs_open(&config), CPOOL_OK);
        }
    }
    for (int i = 0; i < 2; i++)
        support_join(threads[i]);
    pthread_barrier_destroy(&across.barrier);
    close_empty();
}

TEST_TIMES(typed_open_of_every_kind_of_pool, SUPPORT_LENGTH(kinds))
{
    cpool_config_t config = job_config(CAPACITY, kinds[_i]);
    size_t count = CAPACITY / 2;
    size_t stride;

    config.slot_align = _i % 2 == 0 ? 0 : 128;
    REQUIRE_EQUAL(jobs_open(&config), CPOOL_OK);
    for (int round = 0; round < 10; round++) {
        use_jobs(CAPACITY);
        support_in_thread(use_and_end, &count);
        support_require_obtainable(jobs_pool(), 0);
    }
    stride = support_stats(jobs_pool()).slot_stride;
    for (size_t i = 0; i < CAPACITY; i++) {
        REQUIRE((char *)jobs_at(i) == (char *)jobs_at(0) + i * stride);
        REQUIRE_EQUAL(jobs_index(jobs_at(i)), i);
    }
    close_empty();
}

/* Requires one report since the last call, on behalf of this function. */
static void require_named(int code, const char *function)
{
    REQUIRE(strcmp(REQUIRE_REPORT(code).function, function) == 0);
}

/* Without the inline path a function of the type calls that of the pool. */
#if defined(CPOOL_NO_INLINE)
#define FREE_OF_JOBS "cpool_free"
#else
#define FREE_OF_JOBS "jobs_free"
#endif

TEST_TIMES(typed_reports_name_the_functions_of_the_type, SUPPORT_LENGTH(kinds))
{
    cpool_config_t config = job_config(CAPACITY, kinds[_i]);
    struct job *job;

    REQUIRE_EQUAL(jobs_open(&config), CPOOL_OK);
    support_capture_reports();
    job = jobs_alloc();
    jobs_free((struct job *)(void *)((char *)job + 1));
    require_named(CPOOL_EMISALIGNED, FREE_OF_JOBS);
    cpool_free(jobs_pool(), (char *)job + 1);
    require_named(CPOOL_EMISALIGNED, "cpool_free");
    jobs_free(job);
    jobs_alloc_bulk(&job, 1, 0);
    jobs_free(job);
    cpool_flush(jobs_pool());
    REQUIRE_NO_REPORT();
    support_release_reports();
    close_empty();
}
