/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_trim.c - memory of free slots returns to the system, that of live ones
 * does not, and slots come in order of address again.  Pools that are grown and shrunk while
 * other threads allocate: the slots added and removed add up.
 */
#include "growth.h"

#include <stdatomic.h>

enum { SLOT_SIZE = 64, COUNT = 20000 };

/* Bytes of the slab that are resident. */
static size_t resident(const cpool_t *pool)
{
    struct figures stats = support_stats(pool);

    return support_resident_inside(cpool_at(pool, 0), stats.capacity * stats.slot_stride);
}

/* Frees all, in no order at all. */
static void free_at_random(struct hold *hold, uint64_t *random, size_t n)
{
    while (n-- > 0)
        hold_free_one(hold, random_below(random, hold->count));
}

/* Takes n and requires each to lie above the one before. */
static void require_in_order(cpool_t *pool, struct hold *hold, size_t n)
{
    size_t before = 0;

    for (size_t i = 0; i < n; i++) {
        size_t index;

        REQUIRE_EQUAL(hold_take(hold, 1), 1);
        index = cpool_index(pool, hold->slots[hold->count - 1]);
        REQUIRE(i == 0 || index > before);
        before = index;
    }
}

TEST(trim_of_free_pool_gives_all_back)
{
    cpool_t *pool = growth_pool(SLOT_SIZE, 0, COUNT, 0);
    size_t page = support_page_size();
    uint64_t random = 1;
    struct hold hold = hold_of(pool);

    for (uint64_t round = 1; round <= 3; round++) {
        size_t bytes;

        REQUIRE_EQUAL(hold_take(&hold, COUNT), COUNT);
        free_at_random(&hold, &random, COUNT);
        bytes = resident(pool);
        REQUIRE(bytes >= (COUNT - 1) * (size_t)SLOT_SIZE - 2 * page);
        REQUIRE(cpool_trim(pool) >= bytes);
        REQUIRE_EQUAL(resident(pool), 0);
        REQUIRE(cpool_trim(pool) >= bytes); /* again, and they are counted again */
        support_require_live(pool, 0);
    }
    require_in_order(pool, &hold, COUNT);
    hold_end(&hold);
}

TEST(trim_of_unused_pool_gives_nothing)
{
    cpool_t *pool = growth_pool(SLOT_SIZE, 0, COUNT, 0);

    REQUIRE_EQUAL(cpool_trim(pool), 0);
    support_require_live(pool, 0);
    cpool_free(pool, cpool_alloc(pool));
    REQUIRE(cpool_trim(pool) < COUNT * (size_t)SLOT_SIZE); /* nothing of what was never used */
    support_destroy_whole(pool);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_trim(NULL), 0);
    REQUIRE_REPORT(CPOOL_EPOOL);
}

/* Slots that are live keep every byte, and so do free ones on their pages. */
TEST(trim_leaves_live_slots_alone)
{
    cpool_t *pool = growth_pool(SLOT_SIZE, 0, COUNT, 0);
    size_t live = COUNT / 100;
    uint64_t random = 7;
    struct hold hold = hold_of(pool);
    size_t before;
    size_t bytes;

    REQUIRE_EQUAL(hold_take(&hold, COUNT), COUNT);
    free_at_random(&hold, &random, COUNT - live);
    before = resident(pool);
    bytes = cpool_trim(pool);
    REQUIRE(bytes > 0);
    REQUIRE(resident(pool) < before && resident(pool) >= before - bytes);
    hold_verify(&hold);
    for (size_t i = 0; i < live; i++)
        REQUIRE(support_resident_inside(support_page_of(hold.slots[i]), support_page_size()) != 0);
    support_require_live(pool, live);
    require_in_order(pool, &hold, COUNT - live - 200);
    hold_free_all(&hold);
    hold_fini(&hold);
    support_destroy_whole(pool);
}

/* With checks, and in the caller's memory, slots keep their bytes, too. */
static void require_order_only(cpool_t *pool)
{
    uint64_t random = 5;
    struct hold hold = hold_of(pool);
    size_t before;

    support_capture_reports();
    REQUIRE_EQUAL(hold_take(&hold, COUNT), COUNT);
    free_at_random(&hold, &random, COUNT);
    before = resident(pool);
    REQUIRE_EQUAL(cpool_trim(pool), 0);
    REQUIRE_EQUAL(resident(pool), before);
    require_in_order(pool, &hold, COUNT);
    hold_free_all(&hold);
    REQUIRE_NO_REPORT();
    hold_end(&hold);
}

TEST(trim_of_checked_pool_makes_order)
{
    require_order_only(growth_pool(SLOT_SIZE, CPOOL_CHECKED, COUNT, 0));
}

TEST(trim_of_callers_memory_makes_order)
{
    cpool_config_t config = support_config(SLOT_SIZE, COUNT);
    void *memory;

    config.memory_size = cpool_memory_required(&config);
    REQUIRE_EQUAL(posix_memalign(&memory, CPOOL_MEMORY_ALIGN, config.memory_size), 0);
    config.memory = memory;
    require_order_only(support_create(&config));
    free(memory);
}

static void fill_cache(void *argument)
{
    struct hold *hold = argument;

    REQUIRE_EQUAL(hold_take(hold, 1000), 1000);
    hold_free_all(hold);
}

/* One call.  The thread is outside. */
TEST(trim_takes_the_slots_of_other_threads)
{
    cpool_t *pool = growth_pool(SLOT_SIZE, 0, COUNT, 0);
    struct worker *worker = worker_start();
    struct hold theirs = hold_of(pool);

    worker_do(worker, fill_cache, &theirs); /* with new magazines, which is no exchange */
    for (int round = 0; round < 5; round++) {
        worker_do(worker, fill_cache, &theirs);
        REQUIRE(support_stats(pool).in_caches > 0);
        cpool_trim(pool);
        REQUIRE_EQUAL(support_stats(pool).in_caches, 0);
    }
    support_require_live(pool, 0);
    support_require_obtainable(pool, 0);
    worker_do(worker, fill_cache, &theirs);
    support_require_live(pool, 0);
    worker_stop(worker);
    hold_fini(&theirs);
    support_destroy_empty(pool);
}

/* --- While others use the pool --- */

enum { THREADS = 4, MOST = 300 };

struct user {
    cpool_t *pool;
    size_t most;   /* slots at a time */
    bool entitled; /* to all of them, for any actions of the others */
    uint64_t random;
    _Atomic bool *over;
};

/* Takes and frees at random.  Every slot taken is this thread's alone. */
static void *use(void *argument)
{
    struct user *user = argument;
    struct hold hold = hold_of(user->pool);

    while (!atomic_load_explicit(user->over, memory_order_relaxed)) {
        size_t wanted = random_below(&user->random, user->most - hold.count + 1);
        size_t got = hold_take(&hold, wanted);

        REQUIRE(got == wanted || !user->entitled);
        hold_verify(&hold);
        free_at_random(&hold, &user->random, random_below(&user->random, hold.count + 1));
        if (random_below(&user->random, 8) == 0)
            cpool_flush(user->pool);
    }
    hold_free_all(&hold);
    hold_fini(&hold);
    return NULL;
}

static void users_start(struct user *users, pthread_t *threads, struct user each)
{
    for (size_t i = 0; i < THREADS; i++) {
        users[i] = each;
        users[i].random = i + 1;
        threads[i] = support_start(use, &users[i]);
    }
}

/* The pool cannot grow by itself here, so all that is added and removed is known. */
TEST_TIMES(grow_and_shrink_while_threads_allocate_add_up, GROWTH_KINDS)
{
    cpool_t *pool = growth_pool(SLOT_SIZE, growth_kinds[_i], 1500, 0);
    struct user users[THREADS];
    pthread_t threads[THREADS];
    _Atomic bool over = false;
    uint64_t random = 99;
    size_t capacity = 1500;

    users_start(users, threads, (struct user){ pool, MOST, false, 0, &over });
    for (size_t i = 0; i < SUPPORT_COUNT(2000u, 200u); i++) {
        size_t n = random_below(&random, 800);

        if (random_below(&random, 2) == 0)
            capacity += cpool_grow(pool, n);
        else
            capacity -= cpool_shrink(pool, n);
        growth_require_capacity(pool, capacity);
        REQUIRE(capacity >= 1 && capacity <= 1500);
    }
    atomic_store_explicit(&over, true, memory_order_relaxed);
    for (int i = 0; i < THREADS; i++)
        support_join(threads[i]);
    growth_require_capacity(pool, capacity);
    support_require_live(pool, 0);
    REQUIRE_EQUAL(cpool_grow(pool, SIZE_MAX), 1500 - capacity);
    support_require_live(pool, 0);
    REQUIRE_EQUAL(cpool_shrink(pool, SIZE_MAX), 1499);
    support_destroy_empty(pool);
}

/* The magazines that held what is removed come back: in the end there is room for all. */
TEST_TIMES(shrink_and_grow_often_loses_no_magazine, GROWTH_KINDS)
{
    enum { WHOLE = 1000, ROUNDS = 10 };
    cpool_t *pool = SUPPORT_CREATE(SLOT_SIZE, WHOLE, .flags = growth_kinds[_i],
                                   .magazine_rounds = ROUNDS);

    for (int round = 0; round < 20; round++) {
        support_require_obtainable(pool, 0);
        cpool_flush(pool);
        REQUIRE_EQUAL(cpool_shrink(pool, WHOLE / 2), WHOLE / 2);
        REQUIRE_EQUAL(cpool_grow(pool, WHOLE / 2), WHOLE / 2);
    }
    support_destroy_whole(pool);
}

/* --- What it finds wrong --- */

static void require_reports(size_t count, int code, const char *function)
{
    struct support_report last;

    REQUIRE_EQUAL(support_take_reports(&last), count);
    REQUIRE_EQUAL(last.code, code);
    REQUIRE(strcmp(last.function, function) == 0);
}

/* A plain pool cannot see it when it happens.  Each slot is one slot again. */
TEST_TIMES(trim_and_shrink_find_slots_freed_twice, 2)
{
    cpool_t *pool = growth_pool(SLOT_SIZE, 0, COUNT, 0);
    void *slots[3] = { cpool_alloc(pool), cpool_alloc(pool), cpool_alloc(pool) };
    size_t addresses;

    support_capture_reports();
    for (int i = 0; i < 3; i++) {
        cpool_free(pool, slots[i]);
        for (int again = 0; again < i; again++)
            cpool_free(pool, slots[i]);
    }
    REQUIRE_NO_REPORT();
    addresses = support_address_space();
    if (_i == 0) {
        cpool_trim(pool);
        require_reports(1, CPOOL_EDOUBLEFREE, "cpool_trim");
        REQUIRE(SUPPORT_SANITIZED || support_address_space() <= addresses);
    } else {
        REQUIRE_EQUAL(cpool_shrink(pool, COUNT - 1), COUNT - 1);
        require_reports(1, CPOOL_EDOUBLEFREE, "cpool_shrink");
    }
    support_require_live(pool, 0);
    support_require_obtainable(pool, 0);
    cpool_trim(pool);
    REQUIRE_NO_REPORT();
    support_destroy_empty(pool);
}

/* A thread that last saw the pool when it was larger. */
struct stale {
    cpool_t *pool;
    void *live; /* so that it has a magazine with room */
    void *removed;
};

static void see_bound(void *argument)
{
    struct stale *stale = argument;

    stale->live = cpool_alloc(stale->pool);
    REQUIRE(stale->live != NULL);
}

static void free_removed(void *argument)
{
    struct stale *stale = argument;

    cpool_free(stale->pool, stale->removed);
    cpool_free(stale->pool, stale->live);
    cpool_flush(stale->pool);
}

TEST_TIMES(trim_and_shrink_find_slots_removed_before, 2)
{
    cpool_t *pool = growth_pool(SLOT_SIZE, 0, COUNT, 0);
    struct worker *worker = worker_start();
    struct stale stale = { pool, NULL, cpool_at(pool, COUNT - 1) };
    struct support_report report;
    struct hold hold = hold_of(pool);

    REQUIRE_EQUAL(hold_take(&hold, COUNT), COUNT);
    hold_free_all(&hold);
    hold_fini(&hold);
    cpool_trim(pool); /* so that the worker gets low ones */
    worker_do(worker, see_bound, &stale);
    REQUIRE_EQUAL(cpool_shrink(pool, COUNT / 2), COUNT / 2);
    support_capture_reports();
    worker_do(worker, free_removed, &stale);
    if (_i == 0)
        cpool_trim(pool);
    else
        (void)cpool_shrink(pool, 1);
    REQUIRE_EQUAL(support_take_reports(&report), 1);
    REQUIRE(report.code == CPOOL_EDOUBLEFREE ||
            report.code == CPOOL_EUNUSED); /* by the free, where the inline path is closed */
    support_require_live(pool, 0);
    support_require_obtainable(pool, 0);
    worker_stop(worker);
    support_destroy_empty(pool);
}
