/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_fallback.c - blocks of malloc that a pool hands out when it is dry.
 *
 * Includes the public API only.
 */
#include "support.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cpool/debug.h>
#include <cpool/events.h>
#include <cpool/lanes.h>
#include <cpool/lease.h>
#include <cpool/pools.h>
#include <cpool/track.h>

enum { CAPACITY = 8, BLOCKS = 5, ALL = CAPACITY + BLOCKS, SIZE = 40, THREADS = 4 };

static const unsigned kinds[] = {0, CPOOL_EXACT, CPOOL_WAITABLE, CPOOL_TRACKED, CPOOL_CHECKED};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct item {
    char bytes[SIZE];
};

CPOOL_DECLARE(items, struct item);
CPOOL_DEFINE(items, struct item, .capacity = CAPACITY, .flags = CPOOL_EXACT, .fallback = BLOCKS);

static cpool_config_t configuration(unsigned flags)
{
    cpool_config_t config = support_config(SIZE, CAPACITY);

    config.flags = flags;
    config.fallback = BLOCKS;
    return config;
}

static cpool_t *make_pool(unsigned flags)
{
    cpool_config_t config = configuration(flags);

    return support_create(&config);
}

static bool is_block(const cpool_t *pool, const void *slot)
{
    return slot != NULL && cpool_index(pool, slot) == SIZE_MAX;
}

/* Takes all slots and blocks, the blocks last. */
static void take_all(cpool_t *pool, void **slots)
{
    for (size_t i = 0; i < ALL; i++) {
        slots[i] = cpool_alloc(pool);
        REQUIRE(slots[i] != NULL && is_block(pool, slots[i]) == (i >= CAPACITY));
        memset(slots[i], (int)i + 1, SIZE);
    }
    REQUIRE(cpool_alloc(pool) == NULL);
}

static void free_all(cpool_t *pool, void **slots, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t at = 0; at < SIZE; at++)
            REQUIRE(((const char *)slots[i])[at] == (char)(i + 1));
        cpool_free(pool, slots[i]);
    }
}

START_TEST(dry_pool_hands_out_blocks_up_to_the_limit)
{
    cpool_t *pool = make_pool(kinds[_i]);
    void *slots[ALL];

    for (int round = 0; round < 3; round++) {
        take_all(pool, slots);
        support_require_live(pool, CAPACITY);
        REQUIRE_EQUAL(support_stats(pool).fallback_live, BLOCKS);
        free_all(pool, slots, ALL);
        support_require_live(pool, 0);
        REQUIRE_EQUAL(support_stats(pool).fallback_live, 0);
        REQUIRE_EQUAL(support_stats(pool).fallback_peak, BLOCKS);
    }
    support_destroy_empty(pool);
}
END_TEST

START_TEST(pool_without_a_fallback_has_none)
{
    cpool_t *pool = support_create_plain(SIZE, CAPACITY);
    cpool_config_t config = configuration(0);
    int local = 0;

    support_capture_reports();
    cpool_free(pool, &local);
    REQUIRE_REPORT(CPOOL_EFOREIGN);
    support_release_reports();
    REQUIRE_EQUAL(support_stats(pool).fallback_live + support_stats(pool).fallback_peak, 0);
    support_destroy_empty(pool);
    config.fallback = CPOOL_CAPACITY_MAX;
    config.fallback++;
    REQUIRE_EQUAL(cpool_create(&pool, &config),
                  config.fallback > CPOOL_CAPACITY_MAX ? CPOOL_EFALLBACK : 0);
}
END_TEST

START_TEST(wrong_addresses_are_reported_and_refused)
{
    cpool_t *pool = make_pool(kinds[_i]);
    void *slots[ALL];
    char *block;
    int local = 0;

    take_all(pool, slots);
    block = slots[ALL - 1];
    support_capture_reports();
    cpool_free(pool, &local);
    REQUIRE_REPORT(CPOOL_EFOREIGN);
    cpool_free(pool, block + 1);
    REQUIRE_REPORT(CPOOL_EFOREIGN);
    REQUIRE_EQUAL(support_stats(pool).fallback_live, BLOCKS);
    cpool_free(pool, block);
    REQUIRE_NO_REPORT();
    cpool_free(pool, block);
    REQUIRE(support_require_report(CPOOL_EDOUBLEFREE, __FILE__, __LINE__).address == block);
    support_release_reports();
    free_all(pool, slots, ALL - 1);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(block_of_another_pool_is_foreign)
{
    cpool_t *pools[2] = {make_pool(0), make_pool(0)};
    void *slots[2][ALL];

    take_all(pools[0], slots[0]);
    take_all(pools[1], slots[1]);
    support_capture_reports();
    cpool_free(pools[0], slots[1][ALL - 1]);
    REQUIRE_REPORT(CPOOL_EFOREIGN);
    support_release_reports();
    REQUIRE(cpool_of(slots[0][ALL - 1], NULL) == pools[0]);
    REQUIRE(cpool_of(slots[1][ALL - 1], NULL) == pools[1]);
    REQUIRE(cpool_of(slots[0][0], NULL) == pools[0] && cpool_of(&pools, NULL) == NULL);
    cpool_release(slots[0][ALL - 1]);
    REQUIRE(cpool_of(slots[0][ALL - 1], NULL) == NULL);
    free_all(pools[0], slots[0], ALL - 1);
    free_all(pools[1], slots[1], ALL);
    support_destroy_empty(pools[0]);
    support_destroy_empty(pools[1]);
}
END_TEST

START_TEST(block_has_no_index)
{
    cpool_t *pool = make_pool(CPOOL_TRACKED);
    cpool_lease_t *lease = cpool_lease_begin(pool);
    cpool_config_t config = configuration(0);
    cpool_lanes_t *lanes;
    void *slots[ALL];
    void *block;

    take_all(pool, slots);
    block = slots[ALL - 1];
    REQUIRE(!cpool_owns(pool, block));
    REQUIRE_EQUAL(cpool_handle(pool, block), CPOOL_HANDLE_NONE);
    REQUIRE_EQUAL(cpool_foreach(pool, 0, SIZE_MAX, NULL, NULL), CAPACITY);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_verify(pool, block), CPOOL_EBLOCK);
    REQUIRE_REPORT(CPOOL_EBLOCK);
    REQUIRE(cpool_lease_adopt(lease, block) != 0);
    REQUIRE_REPORT(CPOOL_EBLOCK);
    support_release_reports();
    cpool_free(pool, block);
    REQUIRE(cpool_lease_alloc(lease) == NULL);
    REQUIRE_EQUAL(support_stats(pool).fallback_live, BLOCKS - 1);
    REQUIRE_EQUAL(cpool_lease_end(lease), 0);
    free_all(pool, slots, ALL - 1);
    support_destroy_empty(pool);
    config.flags = 0;
    REQUIRE_EQUAL(cpool_lanes_create(&lanes, &config, 2), CPOOL_EFALLBACK);
}
END_TEST

START_TEST(blocks_have_the_alignment_and_offset)
{
    static const size_t aligns[] = {0, 1, 2, 8, 16, 64, 4096};
    static const size_t offsets[] = {0, 1, 8, 24};
    cpool_config_t config = configuration(0);
    size_t align = aligns[_i];
    config.slot_align = align;
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        void *slots[ALL];
        cpool_t *pool;

        config.slot_offset = offsets[i];
        pool = support_create(&config);
        take_all(pool, slots);
        for (size_t n = 0; n < ALL; n++)
            REQUIRE(((uintptr_t)slots[n] + offsets[i]) % (align != 0 ? align : 8) == 0);
        free_all(pool, slots, ALL);
        support_destroy_empty(pool);
    }
}
END_TEST

START_TEST(every_door_gives_blocks_and_takes_them)
{
    cpool_t *pool = make_pool(kinds[_i]);
    cpool_cache_t *cache;
    void *slots[CAPACITY];
    void *blocks[3 + BLOCKS]; /* as many as the call that is refused asks for */

    REQUIRE_EQUAL(cpool_cache_create(&cache, pool), 0);
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, CAPACITY), CAPACITY);
    blocks[0] = cpool_calloc(pool);
    for (size_t i = 0; i < SIZE; i++)
        REQUIRE(((char *)blocks[0])[i] == 0);
    blocks[1] = cpool_cache_alloc(cache);
    blocks[2] = cpool_depot_alloc(pool);
    REQUIRE_EQUAL(cpool_alloc_bulk_all(pool, blocks + 3, BLOCKS), CPOOL_EDRY);
    REQUIRE_EQUAL(cpool_alloc_bulk_all(pool, blocks + 3, 2), 0);
    for (size_t i = 0; i < BLOCKS; i++)
        REQUIRE(is_block(pool, blocks[i]));
    cpool_cache_free(cache, blocks[0]);
    cpool_depot_free(pool, blocks[1]);
    cpool_free_bulk(pool, blocks + 2, 3);
    cpool_free_bulk(pool, slots, CAPACITY);
    REQUIRE_EQUAL(support_stats(pool).fallback_live, 0);
    cpool_cache_destroy(cache);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(typed_pool_falls_back)
{
    struct item *slots[ALL];

    for (size_t i = 0; i < ALL; i++) {
        slots[i] = items_alloc();
        REQUIRE(slots[i] != NULL && is_block(items_pool(), slots[i]) == (i >= CAPACITY));
        memset(slots[i], (int)i, SIZE);
    }
    REQUIRE(items_alloc() == NULL);
    for (size_t i = ALL; i-- > 0;)
        items_free(slots[i]);
    support_capture_reports();
    items_free(slots[ALL - 1]);
    REQUIRE_REPORT(CPOOL_EDOUBLEFREE);
    support_release_reports();
    REQUIRE_EQUAL(items_close(), 0);
}
END_TEST

START_TEST(reset_and_destroy_free_what_is_live)
{
    cpool_t *pool = make_pool(kinds[_i]);
    void *slots[ALL];

    take_all(pool, slots);
    REQUIRE_EQUAL(cpool_reset(pool), ALL);
    REQUIRE_EQUAL(support_stats(pool).fallback_live, 0);
    take_all(pool, slots);
    free_all(pool, slots, CAPACITY);
    REQUIRE_EQUAL(cpool_destroy(pool), CPOOL_ELIVE);
    REQUIRE(cpool_of(slots[ALL - 1], NULL) == NULL);
}
END_TEST

START_TEST(limit_stays_where_malloc_refuses)
{
    cpool_config_t config = support_config((size_t)64 << 20, 1);
    cpool_t *pool;
    void *slot;

    SKIP_IF(SUPPORT_SANITIZED, "a sanitizer's malloc ends the process");
    SKIP_IF(sizeof(size_t) < 8, "such a pool does not fit into the address space");
    config.fallback = BLOCKS;
    pool = support_create(&config);
    slot = cpool_depot_alloc(pool);
    REQUIRE(slot != NULL);
    support_limit_address_space((size_t)1 << 20);
    for (int i = 0; i < 2 * BLOCKS; i++)
        REQUIRE(cpool_depot_alloc(pool) == NULL);
    REQUIRE_EQUAL(support_stats(pool).fallback_live, 0);
    REQUIRE_EQUAL(support_stats(pool).fallback_peak, 0);
    cpool_depot_free(pool, slot);
    support_destroy_empty(pool);
}
END_TEST

struct share {
    cpool_t *pool;
    _Atomic size_t live;
    _Atomic size_t most;
};

static void *take_and_give(void *argument)
{
    struct share *share = argument;

    for (int i = 0; i < SUPPORT_COUNT(4000, 400); i++) {
        void *slots[ALL / 2];
        size_t n = 0;

        for (; n < ALL / 2 && (slots[n] = cpool_alloc(share->pool)) != NULL; n++) {
            size_t live = atomic_fetch_add(&share->live, 1) + 1;
            size_t most = atomic_load(&share->most);

            memset(slots[n], (int)n + 1, SIZE);
            while (live > most && !atomic_compare_exchange_weak(&share->most, &most, live))
                ;
        }
        sched_yield();
        atomic_fetch_sub(&share->live, n);
        free_all(share->pool, slots, n);
    }
    return NULL;
}

static void run_threads(support_thread_t *body, void *argument)
{
    pthread_t threads[THREADS];

    for (size_t i = 0; i < THREADS; i++)
        threads[i] = support_start(body, argument);
    for (size_t i = 0; i < THREADS; i++)
        support_join(threads[i]);
}

START_TEST(limit_is_exact_among_threads)
{
    struct share share = {.pool = make_pool(kinds[_i] | CPOOL_EXACT)};
    void *slots[ALL];

    run_threads(take_and_give, &share);
    REQUIRE(atomic_load(&share.most) <= ALL);
    REQUIRE_EQUAL(support_stats(share.pool).fallback_live, 0);
    REQUIRE(support_stats(share.pool).fallback_peak <= BLOCKS);
    take_all(share.pool, slots);
    free_all(share.pool, slots, ALL);
    support_destroy_empty(share.pool);
}
END_TEST

/* Two threads free one block at the same moment, again and again, for some seconds at most. */
struct race {
    cpool_t *pool;
    void *_Atomic block;
    _Atomic int arrived, rounds;
    pthread_t leader;
    time_t end;
};

static void race_meet(struct race *race, int times)
{
    atomic_fetch_add(&race->arrived, 1);
    while (atomic_load(&race->arrived) < 2 * times)
        ;
}

static void *race_run(void *argument)
{
    struct race *race = argument;
    bool leads = pthread_equal(race->leader, pthread_self());

    for (int i = 0; i < race->rounds; i++) {
        if (leads && time(NULL) > race->end)
            race->rounds = i + 1;
        if (leads)
            atomic_store(&race->block, cpool_alloc(race->pool));
        race_meet(race, 2 * i + 1);
        cpool_free(race->pool, atomic_load(&race->block));
        race_meet(race, 2 * i + 2);
    }
    return NULL;
}

START_TEST(block_is_freed_once_by_two_threads)
{
    struct race race = {.pool = make_pool(CPOOL_EXACT), .rounds = SUPPORT_COUNT(20000, 500),
                        .leader = pthread_self(), .end = time(NULL) + 20};
    struct support_report report;
    void *slots[CAPACITY];
    pthread_t thread;

    REQUIRE_EQUAL(cpool_alloc_bulk(race.pool, slots, CAPACITY), CAPACITY);
    support_capture_reports();
    thread = support_start(race_run, &race);
    race_run(&race);
    support_join(thread);
    REQUIRE_EQUAL(support_take_reports(&report), race.rounds);
    REQUIRE_EQUAL(report.code, CPOOL_EDOUBLEFREE);
    support_release_reports();
    REQUIRE_EQUAL(support_stats(race.pool).fallback_live, 0);
    REQUIRE_EQUAL(support_stats(race.pool).fallback_peak, 1);
    cpool_free_bulk(race.pool, slots, CAPACITY);
    support_destroy_empty(race.pool);
}
END_TEST

struct waiting {
    cpool_t *pool;
    void *slot;
};

static void *wait_for_one(void *argument)
{
    struct waiting *waiting = argument;

    waiting->slot = cpool_alloc_wait(waiting->pool, NULL);
    return NULL;
}

/* A waiter gets a block rather than wait, and is called when one is freed. */
START_TEST(waiter_is_served_by_a_block)
{
    struct waiting waiting = {
        .pool = make_pool(CPOOL_EXACT | CPOOL_WAITABLE | (_i == 0 ? 0u : CPOOL_TRACKED))};
    void *slots[ALL];

    REQUIRE_EQUAL(cpool_alloc_bulk(waiting.pool, slots, CAPACITY), CAPACITY);
    for (size_t i = CAPACITY; i < ALL; i++) {
        slots[i] = cpool_alloc_wait(waiting.pool, NULL);
        REQUIRE(is_block(waiting.pool, slots[i]));
    }
    REQUIRE(cpool_alloc_wait(waiting.pool, &(struct timespec){0, 2000000}) == NULL);
    const uint64_t waits = support_stats(waiting.pool).waits;
    pthread_t thread = support_start(wait_for_one, &waiting);
    while (support_stats(waiting.pool).waits == waits)
        sched_yield();
    cpool_free(waiting.pool, slots[ALL - 1]);
    support_join(thread);
    REQUIRE(is_block(waiting.pool, waiting.slot));
    slots[ALL - 1] = waiting.slot;
    cpool_free_bulk(waiting.pool, slots, ALL);
    support_destroy_empty(waiting.pool);
}
END_TEST

static void *wait_and_give(void *argument)
{
    cpool_t *pool = argument;

    for (int i = 0; i < SUPPORT_COUNT(2000, 200); i++) {
        void *slot = cpool_alloc_wait(pool, NULL);

        REQUIRE(slot != NULL);
        memset(slot, i, SIZE);
        sched_yield();
        cpool_free(pool, slot);
    }
    return NULL;
}

START_TEST(threads_wait_for_few_blocks)
{
    cpool_config_t config = support_config(SIZE, 1);
    cpool_t *pool;

    config.flags = CPOOL_WAITABLE;
    config.fallback = 1;
    pool = support_create(&config);
    run_threads(wait_and_give, pool);
    REQUIRE(support_stats(pool).fallback_peak <= 1);
    REQUIRE_EQUAL(support_stats(pool).fallback_live, 0);
    support_destroy_empty(pool);
}
END_TEST

static void count_notice(cpool_t *pool, void *count)
{
    (void)pool;
    atomic_fetch_add((_Atomic int *)count, 1);
}

START_TEST(notice_comes_when_a_block_is_freed)
{
    cpool_t *pool = make_pool(CPOOL_EXACT | CPOOL_WAITABLE);
    _Atomic int notices = 0;
    void *slots[ALL];

    REQUIRE_EQUAL(cpool_set_ready(pool, count_notice, &notices), 0);
    take_all(pool, slots);
    REQUIRE(cpool_alloc_or_notify(pool) == NULL);
    REQUIRE_EQUAL(atomic_load(&notices), 0);
    cpool_free(pool, slots[ALL - 1]);
    REQUIRE_EQUAL(atomic_load(&notices), 1);
    slots[ALL - 1] = cpool_alloc_or_notify(pool);
    REQUIRE(is_block(pool, slots[ALL - 1]));
    cpool_free_bulk(pool, slots, ALL);
    support_destroy_empty(pool);
}
END_TEST

static void use_in_child(void *argument)
{
    void **slots = argument;
    cpool_t *pool = cpool_of(slots[0], NULL);
    void *more[ALL];

    REQUIRE(pool != NULL && cpool_of(slots[1], NULL) == pool);
    for (size_t i = 0; i < 2; i++)
        cpool_free(pool, slots[i]);
    for (size_t n = 0; n < ALL && (more[n] = cpool_alloc(pool)) != NULL; n++)
        memset(more[n], 1, SIZE);
}

START_TEST(child_of_a_fork_goes_on)
{
    struct share share = {.pool = make_pool(CPOOL_EXACT)};
    void *slots[ALL];
    pthread_t thread;

    SKIP_IF(SUPPORT_SANITIZED, "a sanitizer's malloc may be locked in the child");
    take_all(share.pool, slots);
    for (size_t i = 0; i < ALL - 2; i++)
        cpool_free(share.pool, slots[i]);
    thread = support_start(take_and_give, &share);
    for (int i = 0; i < 20; i++)
        support_in_child(use_in_child, slots + ALL - 2);
    support_join(thread);
    cpool_free_bulk(share.pool, slots + ALL - 2, 2);
    support_destroy_empty(share.pool);
}
END_TEST

static void fake(void *argument)
{
    static const unsigned flags[] = {0, CPOOL_EXACT, CPOOL_WAITABLE};
    void *slots[ALL + 1];

    (void)argument;
    REQUIRE_EQUAL(setenv("CPOOL_OPTIONS", "fake,checked", 1), 0);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        cpool_config_t config = configuration(0);
        cpool_lease_t *lease;
        cpool_t *pool;

        config.flags = flags[i];
        pool = support_create(&config);
        REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, ALL + 1), ALL);
        for (size_t n = 0; n < ALL; n++)
            REQUIRE(is_block(pool, slots[n]));
        REQUIRE_EQUAL(support_stats(pool).fallback_live, ALL);
        lease = cpool_lease_begin(pool);
        REQUIRE(cpool_index(pool, cpool_lease_alloc(lease)) < CAPACITY);
        REQUIRE_EQUAL(cpool_lease_end(lease), 1);
        REQUIRE(flags[i] != CPOOL_WAITABLE || cpool_alloc_or_notify(pool) == NULL);
        cpool_free_bulk(pool, slots, ALL);
        if (flags[i] == CPOOL_WAITABLE)
            run_threads(wait_and_give, pool);
        support_destroy_empty(pool);
    }
    slots[0] = items_alloc();
    REQUIRE(is_block(items_pool(), slots[0]));
    items_free(slots[0]);
    cpool_t *kept = make_pool(CPOOL_TRACKED);
    slots[0] = cpool_alloc(kept);
    REQUIRE(!is_block(kept, slots[0]));
    cpool_free(kept, slots[0]);
    support_destroy_empty(kept);
}

START_TEST(word_fake_makes_blocks_of_all)
{
    support_in_child(fake, NULL);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(dry_pool_hands_out_blocks_up_to_the_limit, KINDS),
        ONCE(pool_without_a_fallback_has_none),
        TIMES(wrong_addresses_are_reported_and_refused, KINDS),
        ONCE(block_of_another_pool_is_foreign),
        ONCE(block_has_no_index),
        TIMES(blocks_have_the_alignment_and_offset, 7),
        TIMES(every_door_gives_blocks_and_takes_them, KINDS),
        ONCE(typed_pool_falls_back),
        TIMES(reset_and_destroy_free_what_is_live, KINDS),
        ONCE(limit_stays_where_malloc_refuses),
        TIMES(limit_is_exact_among_threads, KINDS),
        ONCE(block_is_freed_once_by_two_threads),
        TIMES(waiter_is_served_by_a_block, 2),
        ONCE(threads_wait_for_few_blocks),
        ONCE(notice_comes_when_a_block_is_freed),
        ONCE(child_of_a_fork_goes_on),
        ONCE(word_fake_makes_blocks_of_all),
    };

    return SUPPORT_RUN("fallback", tests);
}
