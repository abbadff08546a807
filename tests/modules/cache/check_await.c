/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_await.c - what is out of reach in other threads' hands, counts that tell of changes,
 * and waiting (lib/cache/steal.h), inside real pools.
 */
#include "support.h"

#include <stdatomic.h>
#include <time.h>

#include "inside.h"
#include "cache/steal.h"
#include "cache/mark.h"

enum { CAPACITY = 2000, ROUNDS = 20 };

static cpool_t *pool;

static void make_pool(void)
{
    cpool_config_t config = support_config(16, CAPACITY);

    config.magazine_rounds = ROUNDS;
    pool = support_create(&config);
}

/* Another thread's operation may have two magazines in its hands, whether it has a
 * cache or none. */
TEST(hands_of_others_are_out_of_reach)
{
    const size_t hands = 2 * (size_t)ROUNDS;
    struct cpi_cache *cache;
    struct cpi_uncached uncached;
    size_t before;

    make_pool();
    cache = cpi_registry_own_cache(&inside(pool)->registry);
    before = cpi_await_out_of_reach(&inside(pool)->registry);
    cpi_depot_enter(&inside(pool)->depot, &uncached);
    REQUIRE_EQUAL(cpi_await_out_of_reach(&inside(pool)->registry), before + hands);
    cpi_depot_leave(&inside(pool)->depot, &uncached);
    REQUIRE_EQUAL(cpi_await_out_of_reach(&inside(pool)->registry), before);
    REQUIRE(cpi_mark_try_enter(cache));
    REQUIRE_EQUAL(cpi_await_out_of_reach(&inside(pool)->registry), before + hands);
    cpi_mark_leave(cache);
    support_destroy_empty(pool);
}

static struct support_door door;

struct word {
    uint64_t value;
};

CPOOL_DECLARE(words, struct word);
CPOOL_DEFINE(words, struct word, .capacity = 5 * ROUNDS, .magazine_rounds = ROUNDS);

static size_t words_out_of_reach(void)
{
    return cpi_await_out_of_reach(&inside(words_pool())->registry);
}

static void *use_word_and_wait(void *unused)
{
    words_free(words_alloc());
    REQUIRE(support_stats(words_pool()).in_caches < ROUNDS);
    REQUIRE_EQUAL(words_out_of_reach(), support_stats(words_pool()).in_caches);
    support_door_wait(&door);
    return unused;
}

/* The typed entry of another thread is not read, because its memory goes with the thread or
 * the module.  Its magazine counts as full.  That of the calling thread is counted. */
TEST(loaded_magazines_of_other_typed_entries_count_as_full)
{
    pthread_t thread;

#if defined(CPOOL_NO_INLINE)
    SKIP("a typed pool has no entry without the inline path");
#endif
    REQUIRE_EQUAL(words_out_of_reach(), 0);
    support_door_init(&door);
    thread = support_start(use_word_and_wait, NULL);
    support_door_await(&door, 1);
    REQUIRE_EQUAL(words_out_of_reach(), ROUNDS);
    support_door_open(&door);
    support_join(thread);
    REQUIRE_EQUAL(words_out_of_reach(), 0);
    REQUIRE_EQUAL(words_close(), CPOOL_OK);
}

static uint64_t moves(void)
{
    struct cpi_activity activity;

    cpi_await_activity(&inside(pool)->registry, &activity);
    return activity.moves;
}

/* Each kind of step alone: a fresh slot moves the watermark and nothing else, and
 * uncached operations are counted by what they exchange. */
TEST_TIMES(activity_tells_of_fresh_slots_and_visitors, 2)
{
    cpool_config_t config = support_config(16, 100);
    uint64_t before;
    void *slot;

    config.flags = _i == 0 ? 0 : CPOOL_EXACT;
    pool = support_create(&config);
    before = moves();
    REQUIRE_EQUAL(moves(), before);
    slot = cpool_depot_alloc(pool);
    REQUIRE(slot != NULL);
    REQUIRE(moves() != before);
    before = moves();
    cpool_depot_free(pool, slot);
    REQUIRE(moves() != before);
    before = moves();
    slot = cpool_depot_alloc(pool);
    REQUIRE(slot != NULL);
    REQUIRE(moves() != before);
    /* The magazines that an owner gives to the depot. */
    cpool_free(pool, slot);
    before = moves();
    cpool_flush(pool);
    REQUIRE(moves() != before);
    /* And the one it takes: the partial magazine. */
    before = moves();
    REQUIRE(cpool_alloc(pool) == slot);
    REQUIRE(moves() != before);
    REQUIRE_EQUAL(support_destroy(pool), 1);
}

static _Atomic bool is_over;

static void *destroy(void *unused)
{
    REQUIRE_EQUAL(cpool_destroy(pool), 0);
    atomic_store_explicit(&is_over, true, memory_order_release);
    return unused;
}

/* An operation that has given its last slot and has not begun to call is still inside. */
TEST(destroy_waits_for_an_owner_that_is_inside)
{
    const struct timespec a_while = {0, 20000000};
    struct cpi_cache *cache;
    pthread_t thread;

    make_pool();
    cache = cpi_registry_own_cache(&inside(pool)->registry);
    REQUIRE(cache != NULL && cpi_mark_try_enter(cache));
    thread = support_start(destroy, NULL);
    REQUIRE_EQUAL(nanosleep(&a_while, NULL), 0);
    REQUIRE(!atomic_load_explicit(&is_over, memory_order_acquire));
    cpi_mark_leave(cache);
    support_join(thread);
}
