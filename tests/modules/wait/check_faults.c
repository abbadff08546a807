/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_faults.c - the system refuses memory for a thread's table, and while threads wait.  The
 * result of each function for each call that is refused is in check_fault_*.c.
 */
#include "waiter.h"

#include "inside_wait.h"
#include "refuse.h"

/* --- A thread's table --- */

enum { SLOT_SIZE = 256, CAPACITY = 750 };

/* Each operation would want a table, or a cache. */
static void *use_without_table(void *pool)
{
    enum { PAIRS = 50000, MOST_CALLS = 100 };

    refuse_arm(REFUSE_MEMORY, 1, true);
    for (int i = 0; i < PAIRS; i++) {
        void *slot = cpool_alloc(pool);

        REQUIRE(slot != NULL);
        cpool_free(pool, slot);
    }
    refuse_disarm();
    REQUIRE(refuse_calls() > 0);
    REQUIRE(refuse_calls() < MOST_CALLS);
    return NULL;
}

static void *use_until_cached(void *pool)
{
    refuse_arm(REFUSE_MEMORY, 1, true);
    cpool_free(pool, cpool_alloc(pool));
    refuse_disarm();
    while (support_stats(pool).caches == 1)
        cpool_free(pool, cpool_alloc(pool));
    return NULL;
}

TEST_TIMES(refusal_of_a_table_is_remembered_for_a_while, 2)
{
    cpool_t *pool;

    refuse_init();
    pool = support_create_plain(SLOT_SIZE, CAPACITY);
    support_require_obtainable(pool, 0);
    support_in_thread(_i == 0 ? use_without_table : use_until_cached, pool);
    support_destroy_whole(pool);
}

/* --- Waiting --- */

static void wait_for_memory(void *argument)
{
    cpool_t *pool = argument;
    void *slot = waiter_wait(pool);

    REQUIRE(slot != NULL);
    cpool_free(pool, slot);
}

/* The memory is there again, and the thread that takes a slot of it says that
 * there are more. */
TEST(wait_without_memory_ends_when_there_is_some)
{
    struct worker *worker = worker_start();
    void *slots[2];
    cpool_t *pool;

    refuse_init();
    pool = support_create_plain((size_t)1 << 20, 8);
    slots[0] = cpool_alloc(pool);
    refuse_arm(REFUSE_MEMORY, 1, true);
    worker_begin(worker, wait_for_memory, pool);
    waiter_await_sleep(pool, 1);
    refuse_disarm();
    slots[1] = cpool_alloc(pool);
    worker_await(worker);
    for (int i = 0; i < 2; i++)
        cpool_free(pool, slots[i]);
    worker_stop(worker);
    support_destroy_empty(pool);
}

static void count_ring(cpool_t *pool, void *rings)
{
    (void)pool;
    ++*(int *)rings;
}

/* Otherwise an event loop would be called for as long as there is no memory. */
TEST(bell_does_not_ring_for_want_of_memory)
{
    cpool_t *pool;
    void *slot;
    int rings = 0;

    refuse_init();
    pool = support_create_plain((size_t)1 << 20, 8);
    REQUIRE_EQUAL(cpool_set_ready(pool, count_ring, &rings), CPOOL_OK);
    refuse_arm(REFUSE_MEMORY, 1, true);
    for (int i = 0; i < 3; i++) {
        REQUIRE(cpool_alloc_or_notify(pool) == NULL);
        REQUIRE(cpool_alloc(pool) == NULL);
        REQUIRE(cpool_alloc_wait(pool, &(struct timespec){0, 1000}) == NULL);
    }
    refuse_disarm();
    REQUIRE_EQUAL(rings, 0);
    slot = cpool_alloc(pool);
    REQUIRE(slot != NULL);
    cpool_free(pool, slot);
    REQUIRE(rings > 0);
    support_destroy_empty(pool);
}

TEST_TIMES(wait_without_memory_tries_again_by_itself, 2)
{
    struct worker *worker = worker_start();
    cpool_t *pool;

    refuse_init();
    pool = SUPPORT_CREATE((size_t)1 << 20, 8, .max_capacity = _i == 0 ? 0 : 16);
    refuse_arm(REFUSE_MEMORY, 1, true);
    worker_begin(worker, wait_for_memory, pool);
    inside_await_hunger(pool);
    refuse_disarm();
    worker_await(worker);
    worker_stop(worker);
    support_destroy_empty(pool);
}
