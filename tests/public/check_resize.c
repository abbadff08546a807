/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_resize.c - pools that are grown and shrunk while other threads allocate
 * and free, by one thread and by many: the slots added and removed add up.
 *
 * Includes growth.h.
 */
#include "growth.h"

#include <stdatomic.h>

enum { SLOT_SIZE = 32, THREADS = 4, MOST = 300 };

struct user {
    cpool_t *pool;
    size_t most;  /* slots at a time */
    bool entitled; /* to all of them, for any actions of the others */
    uint64_t random;
    _Atomic bool *over;
};

/* Takes and frees at random.  Every slot taken is this thread's alone. */
static void *use(void *argument)
{
    struct user *user = argument;
    struct hold hold;

    hold_init(&hold, user->pool);
    while (!atomic_load_explicit(user->over, memory_order_relaxed)) {
        size_t n = random_below(&user->random, user->most - hold.count + 1);
        size_t got = hold_take(&hold, n);

        REQUIRE(got == n || !user->entitled);
        hold_free(&hold, random_below(&user->random, hold.count + 1));
        if (random_below(&user->random, 8) == 0)
            cpool_flush(user->pool);
    }
    hold_free_all(&hold);
    hold_fini(&hold);
    return NULL;
}

static void users_start(struct user *users, pthread_t *threads, cpool_t *pool, bool entitled,
                        _Atomic bool *over)
{
    for (size_t i = 0; i < THREADS; i++) {
        const struct user user = { pool, MOST, entitled, i + 1, over };

        users[i] = user;
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

    users_start(users, threads, pool, false, &over);
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

/* All threads at once make the pool grow, by what each is entitled to, while it is
 * shrunk again and again: nothing is handed out twice, and the limit is kept. */
TEST_TIMES(growth_under_load_from_all_threads_ends_at_the_maximum, GROWTH_KINDS)
{
    cpool_t *pool = growth_pool(SLOT_SIZE, growth_kinds[_i], 16, THREADS * MOST);
    struct user users[THREADS];
    pthread_t threads[THREADS];
    _Atomic bool over = false;
    struct hold hold;

    users_start(users, threads, pool, true, &over);
    for (size_t i = 0; i < SUPPORT_COUNT(300u, 30u); i++) {
        cpool_shrink(pool, SIZE_MAX);
        REQUIRE(support_stats(pool).capacity <= THREADS * MOST);
    }
    atomic_store_explicit(&over, true, memory_order_relaxed);
    for (int i = 0; i < THREADS; i++)
        support_join(threads[i]);
    support_require_live(pool, 0);
    hold_init(&hold, pool);
    REQUIRE(hold_take(&hold, THREADS * MOST) == THREADS * MOST);
    growth_require_capacity(pool, THREADS * MOST);
    REQUIRE(support_stats(pool).growths > 0);
    hold_free_all(&hold);
    hold_fini(&hold);
    support_destroy_empty(pool);
}

/* The magazines that held what is removed come back: in the end there is room for all. */
TEST_TIMES(shrink_and_grow_often_loses_no_magazine, GROWTH_KINDS)
{
    enum { WHOLE = 1000, ROUNDS = 10 };
    cpool_config_t config = support_config(SLOT_SIZE, WHOLE);
    cpool_t *pool;

    config.flags = growth_kinds[_i];
    config.magazine_rounds = ROUNDS;
    pool = support_create(&config);
    for (int round = 0; round < 20; round++) {
        support_require_obtainable(pool, 0);
        cpool_flush(pool);
        REQUIRE_EQUAL(cpool_shrink(pool, WHOLE / 2), WHOLE / 2);
        REQUIRE_EQUAL(cpool_grow(pool, WHOLE / 2), WHOLE / 2);
    }
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}
