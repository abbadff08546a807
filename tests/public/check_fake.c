/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_fake.c - fake pools: blocks of malloc in the place of slots, and all else as in a
 * pool of the same configuration.
 *
 * Includes the public API only.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include <cpool/layer.h>
#include <cpool/lease.h>
#include <cpool/pools.h>
#include <cpool/track.h>

enum { CAPACITY = 64, SIZE = 40, THREADS = 4, ROUNDS = 2000 };

static const unsigned kinds[] = {
    CPOOL_FAKE, CPOOL_FAKE | CPOOL_EXACT, CPOOL_FAKE | CPOOL_WAITABLE,
    CPOOL_FAKE | CPOOL_TRACKED, CPOOL_FAKE | CPOOL_TRACKED | CPOOL_WAITABLE,
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct item {
    char bytes[SIZE];
};

CPOOL_DECLARE(items, struct item);
CPOOL_DEFINE(items, struct item, .capacity = CAPACITY, .flags = CPOOL_FAKE);

static cpool_t *make_pool(unsigned flags)
{
    cpool_config_t config = support_config(SIZE, CAPACITY);

    config.flags = flags;
    return support_create(&config);
}

/* Each with its own bytes, so that two in one place show. */
static void fill(void *const *slots, size_t n)
{
    for (size_t i = 0; i < n; i++)
        memset(slots[i], (int)i + 1, SIZE);
}

static void require_filled(void *const *slots, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t at = 0; at < SIZE; at++)
            REQUIRE(((const char *)slots[i])[at] == (char)(i + 1));
}

START_TEST(capacity_and_figures_are_those_of_any_pool)
{
    cpool_t *pool = make_pool(kinds[_i]);
    void *slots[CAPACITY];

    REQUIRE_EQUAL(support_take_all(pool, slots), CAPACITY);
    fill(slots, CAPACITY);
    REQUIRE(cpool_alloc(pool) == NULL);
    support_require_live(pool, CAPACITY);
    REQUIRE_EQUAL(support_stats(pool).slot_size, SIZE);
    require_filled(slots, CAPACITY);
    for (size_t i = 0; i < CAPACITY; i++)
        cpool_free(pool, slots[i]);
    support_require_live(pool, 0);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}
END_TEST

/* The block is malloc's, and is gone after the free: it lies in no slot of the pool's. */
START_TEST(index_leads_to_the_block_while_it_is_live)
{
    cpool_t *pool = make_pool(kinds[_i]);
    void *slot = cpool_alloc(pool);
    void *around = NULL;
    size_t index = cpool_index(pool, slot);

    REQUIRE(index < cpool_index_limit(pool));
    REQUIRE(cpool_at(pool, index) == slot);
    REQUIRE(cpool_at(pool, cpool_index_limit(pool) - 1) == NULL);
    REQUIRE(cpool_owns(pool, slot));
    REQUIRE(!cpool_owns(pool, (char *)slot + 1));
    REQUIRE(!cpool_owns(pool, &pool));
    REQUIRE(cpool_of(slot) == pool);
    REQUIRE(cpool_around((char *)slot + SIZE - 1, &around) == pool && around == slot);
    REQUIRE(cpool_of((char *)slot + 1) == NULL);
    cpool_release(slot);
    REQUIRE(!cpool_owns(pool, slot));
    REQUIRE(cpool_of(slot) == NULL);
    REQUIRE(cpool_at(pool, index) == NULL);
    REQUIRE_EQUAL(cpool_index(pool, slot), SIZE_MAX);
    support_destroy_empty(pool);
    REQUIRE(cpool_of(slot) == NULL);
}
END_TEST

START_TEST(wrong_addresses_are_reported_and_refused)
{
    cpool_t *pool = make_pool(kinds[_i]);
    char *slot = cpool_alloc(pool);
    int local;

    support_capture_reports();
    cpool_free(pool, NULL);
    REQUIRE_NO_REPORT();
    cpool_free(pool, &local);
    REQUIRE_REPORT(CPOOL_EFOREIGN);
    cpool_free(pool, slot + 1);
    REQUIRE_REPORT(CPOOL_EMISALIGNED);
    cpool_release(slot + 1);
    REQUIRE_REPORT(CPOOL_EMISALIGNED);
    support_require_live(pool, 1);
    cpool_free(pool, slot);
    REQUIRE_NO_REPORT();
    cpool_free(pool, slot);
    REQUIRE(support_require_report(CPOOL_EDOUBLEFREE, __FILE__, __LINE__).slot == slot);
    cpool_release(slot);
    REQUIRE_REPORT(CPOOL_EDOUBLEFREE);
    support_require_live(pool, 0);
    support_release_reports();
    support_destroy_empty(pool);
}
END_TEST

START_TEST(blocks_have_the_alignment_and_offset)
{
    static const size_t aligns[] = {0, 1, 2, 8, 16, 64, 4096};
    static const size_t offsets[] = {0, 1, 8, 24};
    cpool_config_t config = support_config(SIZE, CAPACITY);
    size_t align = aligns[_i];

    config.flags = CPOOL_FAKE;
    config.slot_align = align;
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        void *slots[CAPACITY];
        cpool_t *pool;

        config.slot_offset = offsets[i];
        pool = support_create(&config);
        REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, CAPACITY), CAPACITY);
        fill(slots, CAPACITY);
        require_filled(slots, CAPACITY);
        for (size_t n = 0; n < CAPACITY; n++)
            REQUIRE(((uintptr_t)slots[n] + offsets[i]) % (align != 0 ? align : 8) == 0);
        cpool_free_bulk(pool, slots, CAPACITY);
        support_destroy_empty(pool);
    }
}
END_TEST

static void *by_ticket(cpool_t *pool)
{
    cpool_ticket_t ticket = CPOOL_TICKET_INIT;
    void *room[2];
    void *slot;

    REQUIRE_EQUAL(cpool_ticket_draw(&ticket, pool, room, 2), 0);
    slot = cpool_ticket_alloc(&ticket);
    REQUIRE_EQUAL(cpool_ticket_return(&ticket), 1);
    return slot;
}

START_TEST(every_door_gives_blocks_and_takes_them)
{
    cpool_t *pool = make_pool(kinds[_i]);
    cpool_cache_t *cache;
    void *slots[5];

    REQUIRE_EQUAL(cpool_cache_create(&cache, pool), 0);
    slots[0] = cpool_calloc(pool);
    for (size_t i = 0; i < SIZE; i++)
        REQUIRE(((char *)slots[0])[i] == 0);
    slots[1] = cpool_cache_alloc(cache);
    slots[2] = cpool_depot_alloc(pool);
    slots[3] = by_ticket(pool);
    slots[4] = cpool_alloc_fresh(pool);
    for (size_t i = 0; i < 5; i++)
        REQUIRE(cpool_owns(pool, slots[i]));
    fill(slots, 5);
    require_filled(slots, 5);
    support_require_live(pool, 5);
    cpool_cache_free(cache, slots[0]);
    cpool_depot_free(pool, slots[1]);
    cpool_free_bulk(pool, slots + 2, 3);
    support_require_live(pool, 0);
    cpool_cache_destroy(cache);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(typed_pool_can_be_fake)
{
    struct item *item = items_alloc();
    cpool_t *pool = items_pool();

    REQUIRE(item != NULL && cpool_of(item) == pool);
    memset(item, 1, sizeof *item);
    support_capture_reports();
    items_free((struct item *)(void *)&pool);
    REQUIRE_REPORT(CPOOL_EFOREIGN);
    support_release_reports();
    items_free(item);
    REQUIRE(!cpool_owns(pool, item));
    REQUIRE_EQUAL(items_close(), 0);
}
END_TEST

static bool count_slot(void *slot, cpool_handle_t handle, void *arg)
{
    size_t *seen = arg;

    REQUIRE(slot != NULL && handle != CPOOL_HANDLE_NONE);
    seen[((unsigned char *)slot)[0]]++;
    return true;
}

START_TEST(tracked_one_has_handles_and_visits)
{
    cpool_t *pool = make_pool(CPOOL_FAKE | CPOOL_TRACKED);
    cpool_iter_t iter = CPOOL_ITER_INIT;
    cpool_handle_t handles[4];
    size_t seen[5] = {0};
    size_t visited = 0;
    void *slots[4];

    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, 4), 4);
    fill(slots, 4);
    for (size_t i = 0; i < 4; i++) {
        handles[i] = cpool_handle(pool, slots[i]);
        REQUIRE(cpool_resolve(pool, handles[i]) == slots[i]);
    }
    cpool_free(pool, slots[2]);
    REQUIRE(cpool_resolve(pool, handles[2]) == NULL);
    REQUIRE(cpool_handle(pool, slots[2]) == CPOOL_HANDLE_NONE);
    REQUIRE_EQUAL(cpool_foreach(pool, count_slot, seen), 3);
    REQUIRE(seen[1] == 1 && seen[2] == 1 && seen[3] == 0 && seen[4] == 1);
    REQUIRE_EQUAL(cpool_iter_begin(&iter, pool, 0, SIZE_MAX), 0);
    for (void *slot; (slot = cpool_iter_next(&iter)) != NULL; visited++)
        REQUIRE(slot == slots[0] || slot == slots[1] || slot == slots[3]);
    REQUIRE_EQUAL(visited, 3);
    REQUIRE_EQUAL(cpool_count_live(pool, 0, SIZE_MAX), 3);
    REQUIRE_EQUAL(support_destroy(pool), 3);
}
END_TEST

static void see(void *slot, void *arg)
{
    void **slots = arg;

    REQUIRE(slot == slots[0] || slot == slots[1]);
}

START_TEST(lease_ends_the_blocks_of_its_slots)
{
    cpool_t *pool = make_pool(kinds[_i]);
    cpool_lease_t *lease = cpool_lease_begin(pool);
    void *slots[4];

    slots[0] = cpool_lease_alloc(lease);
    slots[1] = cpool_alloc(pool);
    slots[2] = cpool_lease_alloc(lease);
    slots[3] = cpool_alloc(pool);
    fill(slots, 4);
    require_filled(slots, 4);
    REQUIRE_EQUAL(cpool_lease_adopt(lease, slots[1]), 0);
    REQUIRE_EQUAL(cpool_lease_promote(lease, slots[2]), 0);
    support_capture_reports();
    cpool_free(pool, slots[0]);
    REQUIRE_REPORT(CPOOL_ELEASED);
    support_release_reports();
    REQUIRE_EQUAL(cpool_lease_each(lease, see, slots), 2);
    REQUIRE_EQUAL(cpool_lease_end(lease), 2);
    REQUIRE(!cpool_owns(pool, slots[0]) && !cpool_owns(pool, slots[1]));
    REQUIRE(cpool_owns(pool, slots[2]) && cpool_owns(pool, slots[3]));
    cpool_free(pool, slots[2]);
    cpool_free(pool, slots[3]);
    support_require_live(pool, 0);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(reset_and_destroy_free_what_is_live)
{
    cpool_t *pool = make_pool(kinds[_i]);
    void *slots[CAPACITY];

    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, 10), 10);
    REQUIRE_EQUAL(cpool_reset(pool), 10);
    for (size_t i = 0; i < 10; i++)
        REQUIRE(!cpool_owns(pool, slots[i]));
    REQUIRE_EQUAL(support_take_all(pool, slots), CAPACITY);
    REQUIRE_EQUAL(support_destroy(pool), CAPACITY);
    REQUIRE(cpool_of(slots[0]) == NULL);
}
END_TEST

/* malloc has no such block: the slot stays free, and can be given to nobody. */
START_TEST(alloc_without_memory_loses_no_slot)
{
    cpool_config_t config = support_config(SIZE_MAX / 4, 3);
    cpool_t *pool;

    if (SUPPORT_SANITIZED)
        SKIP("a sanitizer's malloc ends the process");
    config.flags = kinds[_i];
    pool = support_create(&config);
    for (int i = 0; i < 10; i++) {
        REQUIRE(cpool_alloc(pool) == NULL);
        support_require_live(pool, 0);
    }
    support_destroy_empty(pool);
}
END_TEST

START_TEST(settings_that_keep_slots_are_refused)
{
    static const unsigned others[] = {CPOOL_CHECKED, CPOOL_FILL, CPOOL_KEEP_PAGES,
                                      CPOOL_NO_POISON};
    cpool_config_t config = support_config(SIZE, CAPACITY);
    cpool_t *pool;

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        config.flags = CPOOL_FAKE | others[i];
        REQUIRE_EQUAL(cpool_create(&pool, &config), CPOOL_EFLAGS);
    }
    config.flags = CPOOL_FAKE;
    config.quarantine = 1;
    REQUIRE_EQUAL(cpool_create(&pool, &config), CPOOL_EFLAGS);
}
END_TEST

static _Alignas(CPOOL_MEMORY_ALIGN) unsigned char memory[1 << 16];

START_TEST(fake_pool_in_callers_memory_serves)
{
    cpool_config_t config = support_config(SIZE, CAPACITY);
    void *slots[CAPACITY];
    cpool_t *pool;

    config.flags = CPOOL_FAKE;
    config.thread_caches = 2;
    config.memory = memory;
    config.memory_size = cpool_memory_required(&config);
    REQUIRE(config.memory_size != 0 && config.memory_size <= sizeof memory);
    memset(memory, 0xa5, sizeof memory);
    pool = support_create(&config);
    REQUIRE_EQUAL(support_take_all(pool, slots), CAPACITY);
    fill(slots, CAPACITY);
    require_filled(slots, CAPACITY);
    cpool_free_bulk(pool, slots, CAPACITY);
    support_destroy_empty(pool);
}
END_TEST

/* As many as there are, a few each, so that threads take each other's and wait. */
static void *take_and_give(void *argument)
{
    cpool_t *pool = argument;
    void *slots[CAPACITY / THREADS];

    for (int i = 0; i < SUPPORT_COUNT(ROUNDS, 200); i++) {
        size_t n = cpool_alloc_bulk(pool, slots, CAPACITY / THREADS);

        fill(slots, n);
        require_filled(slots, n);
        cpool_free_bulk(pool, slots, n);
    }
    return NULL;
}

static void run_threads(cpool_t *pool, support_thread_t *body)
{
    pthread_t threads[THREADS];

    for (size_t i = 0; i < THREADS; i++)
        threads[i] = support_start(body, pool);
    for (size_t i = 0; i < THREADS; i++)
        support_join(threads[i]);
}

START_TEST(threads_share_the_capacity)
{
    cpool_t *pool = make_pool(kinds[_i]);

    run_threads(pool, take_and_give);
    support_require_live(pool, 0);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}
END_TEST

static void *wait_and_give(void *argument)
{
    cpool_t *pool = argument;

    for (int i = 0; i < SUPPORT_COUNT(200, 50); i++) {
        void *slot = cpool_alloc_wait(pool, NULL);

        REQUIRE(slot != NULL);
        memset(slot, i, SIZE);
        cpool_free(pool, slot);
    }
    return NULL;
}

START_TEST(threads_wait_for_one_block)
{
    cpool_config_t config = support_config(SIZE, 1);
    cpool_t *pool;

    config.flags = CPOOL_FAKE | CPOOL_WAITABLE;
    pool = support_create(&config);
    run_threads(pool, wait_and_give);
    support_destroy_empty(pool);
}
END_TEST

static void use_in_child(void *argument)
{
    void **slots = argument;
    cpool_t *pool = cpool_of(slots[0]);
    void *more[CAPACITY];

    REQUIRE(pool != NULL && cpool_owns(pool, slots[1]));
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, more, CAPACITY / 2), CAPACITY / 2);
    fill(more, CAPACITY / 2);
    cpool_free_bulk(pool, more, CAPACITY / 2);
    cpool_free_bulk(pool, slots, 2);
    REQUIRE(!cpool_owns(pool, slots[0]));
}

/* Another thread may be within a chain, or have its lock, at each fork. */
START_TEST(child_of_a_fork_goes_on)
{
    cpool_t *pool = make_pool(CPOOL_FAKE);
    void *slots[2];
    pthread_t thread;

    if (SUPPORT_SANITIZED)
        SKIP("a sanitizer's malloc may be locked in the child");
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, 2), 2);
    thread = support_start(take_and_give, pool);
    for (int i = 0; i < 20; i++)
        support_in_child(use_in_child, slots);
    support_join(thread);
    cpool_free_bulk(pool, slots, 2);
    support_destroy_empty(pool);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(capacity_and_figures_are_those_of_any_pool, KINDS),
        TIMES(index_leads_to_the_block_while_it_is_live, KINDS),
        TIMES(wrong_addresses_are_reported_and_refused, KINDS),
        TIMES(blocks_have_the_alignment_and_offset, 7),
        TIMES(every_door_gives_blocks_and_takes_them, KINDS),
        ONCE(typed_pool_can_be_fake),
        ONCE(tracked_one_has_handles_and_visits),
        TIMES(lease_ends_the_blocks_of_its_slots, KINDS),
        TIMES(reset_and_destroy_free_what_is_live, KINDS),
        TIMES(alloc_without_memory_loses_no_slot, KINDS),
        ONCE(settings_that_keep_slots_are_refused),
        ONCE(fake_pool_in_callers_memory_serves),
        TIMES(threads_share_the_capacity, KINDS),
        ONCE(threads_wait_for_one_block),
        ONCE(child_of_a_fork_goes_on),
    };

    return SUPPORT_RUN("fake", tests);
}
