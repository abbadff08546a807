/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_chaos.c - pools with chance in their slow paths (lib/chaos.h).  check_chaos_program
 * has the programs that ask for it by their environment, and refusals by chance.
 *
 * Includes support.h, and pool_impl.h and object.h to see the tags and the chances.
 */
#include "support.h"

#include <string.h>

#include <cpool/lease.h>
#include <cpool/priority.h>

#include "../../lib/object.h" /* the harness has one of this name */
#include "pool_impl.h"

enum { CAPACITY = 200, SLOT_SIZE = 32 };

static const unsigned kinds[] = { 0, CPOOL_EXACT, CPOOL_WAITABLE, CPOOL_CHECKED | CPOOL_FILL };

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static const struct cpi_pool *inside_of(const cpool_t *pool)
{
    return pool->state;
}

static cpool_t *create(unsigned flags, size_t capacity)
{
    cpool_config_t config = support_config(SLOT_SIZE, capacity);

    config.flags = flags | CPOOL_CHAOS;
    return support_create(&config);
}

/*
 * ---- The whole pool ------------------------------------------------------
 */

START_TEST(every_slot_can_be_had_at_any_time)
{
    cpool_t *pool = create(kinds[_i], CAPACITY);

    for (int round = 0; round < 5; round++)
        support_require_obtainable(pool, 0);
    REQUIRE_EQUAL(cpool_reset(pool), 0);
    support_require_obtainable(pool, 0);
    cpool_trim(pool);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}
END_TEST

/* Threads that mark their slots, in a pool that is too small for all of them. */
enum { THREADS = 4, HELD = 30, TURNS = 60 };

static void require_mark(const unsigned char *slot, unsigned char mark)
{
    for (size_t i = 0; i < SLOT_SIZE; i++)
        REQUIRE_EQUAL(slot[i], mark);
}

static void use_all_ways(cpool_t *pool, void **slots, unsigned char mark)
{
    size_t n = cpool_alloc_bulk(pool, slots, HELD / 3);

    for (; n < HELD; n++)
        if ((slots[n] = n % 2 == 0 ? cpool_alloc(pool) : cpool_depot_alloc(pool)) == NULL)
            break;
    for (size_t i = 0; i < n; i++)
        memset(slots[i], mark, SLOT_SIZE);
    for (size_t i = 0; i < n; i++) {
        require_mark(slots[i], mark);
        if (i % 3 == 0)
            cpool_depot_free(pool, slots[i]);
        else
            cpool_free(pool, slots[i]);
    }
}

static _Atomic unsigned char next_mark;

static void *use_marked(void *pool)
{
    unsigned char mark = (unsigned char)(atomic_fetch_add(&next_mark, 1) + 1);
    void *slots[HELD];

    for (int turn = 0; turn < TURNS; turn++) {
        use_all_ways(pool, slots, mark);
        if (turn % 20 == 0)
            cpool_trim(pool);
    }
    return NULL;
}

START_TEST(no_slot_has_two_owners_among_threads)
{
    cpool_t *pool = create(kinds[_i], THREADS * HELD * 3 / 4);
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        threads[i] = support_start(use_marked, pool);
    for (int i = 0; i < THREADS; i++)
        support_join(threads[i]);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}
END_TEST

/*
 * ---- What the chance decides ---------------------------------------------
 */

static void *wait_for_slot(void *pool)
{
    void *slot = cpool_alloc_wait(pool, NULL);

    REQUIRE(slot != NULL);
    cpool_free(pool, slot);
    return NULL;
}

START_TEST(waiters_are_called)
{
    cpool_t *pool = create(CPOOL_WAITABLE, 1);

    for (int turn = 0; turn < 20; turn++) {
        void *slot = cpool_alloc_wait(pool, NULL);
        pthread_t thread = support_start(wait_for_slot, pool);

        cpool_free(pool, slot);
        support_join(thread);
    }
    support_destroy_empty(pool);
}
END_TEST

/* How often an alloc gets the slot that was freed last, and one that was freed before a
 * slot that it got earlier. */
static void count_reuse(cpool_t *pool, size_t *at_once, size_t *out_of_order)
{
    size_t freed[CAPACITY] = { 0 };
    size_t last = SIZE_MAX;
    size_t latest = 0;

    *at_once = *out_of_order = 0;
    for (size_t turn = 1; turn <= 1000; turn++) {
        void *slot = cpool_alloc(pool);
        size_t index = cpool_index(pool, slot);

        *at_once += index == last;
        *out_of_order += freed[index] < latest;
        latest = freed[index] > latest ? freed[index] : latest;
        cpool_free(pool, slot);
        freed[index] = turn;
        last = index;
    }
}

START_TEST(reuse_is_late_and_in_no_order)
{
    cpool_t *pool = create(0, CAPACITY);
    size_t at_once;
    size_t out_of_order;

    support_require_obtainable(pool, 0);
    count_reuse(pool, &at_once, &out_of_order);
    REQUIRE(at_once < 100);
    REQUIRE(out_of_order > 100);
    support_destroy_empty(pool);
}
END_TEST

/* In order no slot leaves the quarantine before it is full. */
START_TEST(places_of_the_quarantine_are_drawn)
{
    cpool_t *pool = create(0, CAPACITY);
    const struct cpi_quarantine *quarantine = &inside_of(pool)->quarantine;
    void *slots[CAPACITY];

    REQUIRE(quarantine->size > 8 && quarantine->size < CAPACITY);
    REQUIRE_EQUAL(cpool_alloc_bulk_all(pool, slots, CAPACITY), 0);
    for (size_t i = 0; i < quarantine->size; i++)
        cpool_free(pool, slots[i]);
    REQUIRE(cpi_quarantine_count(quarantine) < quarantine->size);
    cpool_free_bulk(pool, slots + quarantine->size, CAPACITY - quarantine->size);
    support_destroy_empty(pool);
}
END_TEST

static uint64_t tag_of(const struct cpi_tagstack *stack)
{
    return atomic_load_explicit(&stack->head, memory_order_relaxed) >> CPI_INDEX_BITS;
}

START_TEST(tags_come_round)
{
    cpool_t *pool = create(0, CAPACITY);
    const struct cpi_pool *inside = inside_of(pool);
    uint64_t near = UINT64_MAX >> CPI_INDEX_BITS;

    REQUIRE(tag_of(&inside->depot.stocked) > near - 2000);
    REQUIRE(tag_of(&inside->depot.empty) > near - 2000);
    /* A turn removes some 50 full magazines, or more.  The tag is up to 1000 before its end. */
    for (int turn = 0; turn < 60; turn++)
        support_require_obtainable(pool, 0);
    REQUIRE(tag_of(&inside->depot.stocked) < near / 2);
    REQUIRE(tag_of(&inside->depot.empty) < near / 2);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(exchanges_are_many_and_are_repeated)
{
    cpool_t *pool = create(0, CAPACITY);

    for (int turn = 0; turn < 10; turn++)
        support_require_obtainable(pool, 0);
    REQUIRE(support_stats(pool).magazine_rounds <= 4);
    REQUIRE(support_stats(pool).exchanges > 10 * CAPACITY);
    REQUIRE(support_stats(pool).cas_retries > CAPACITY); /* although there is one thread */
    support_destroy_empty(pool);
}
END_TEST

/* One in four fails, so there is a third as many retries as exchanges.  If either pushes or
 * pops counted none of theirs, there would be a sixth. */
START_TEST(retries_of_pushes_and_of_pops_are_counted)
{
    cpool_t *pool = create(0, CAPACITY);
    cpool_stats_t stats;

    for (int turn = 0; turn < 40; turn++)
        support_require_obtainable(pool, 0);
    stats = support_stats(pool);
    REQUIRE(stats.exchanges > 40 * CAPACITY);
    REQUIRE(stats.cas_retries * 4 > stats.exchanges);
    support_destroy_empty(pool);
}
END_TEST

/*
 * ---- Layers and other kinds of pool --------------------------------------
 */

static uint64_t state_of(const struct cpi_chaos *chaos)
{
    REQUIRE(chaos != NULL);
    return atomic_load_explicit(&chaos->state, memory_order_relaxed);
}

/* The first step is of 64 KiB, or by chance, once in four times, of the page that is needed.
 * The slots have it, and their magazines, and those of the caches. */
START_TEST(memory_is_committed_in_small_steps)
{
    enum { POOLS = 120, EXTENTS = 3 };
    size_t small[EXTENTS] = {0};

    for (int i = 0; i < POOLS; i++) {
        cpool_config_t config = support_config(SLOT_SIZE, 10000);
        const struct cpi_extent *extents[EXTENTS];
        cpool_t *pool;
        void *slot;

        config.flags = CPOOL_CHAOS;
        config.thread_caches = 1000;
        pool = support_create(&config);
        extents[0] = &inside_of(pool)->slab.extent;
        extents[1] = &inside_of(pool)->depot.for_slots;
        extents[2] = &inside_of(pool)->depot.for_caches;
        slot = cpool_alloc(pool);
        for (int n = 0; n < EXTENTS; n++) {
            REQUIRE(extents[n]->size > 65536);
            small[n] += atomic_load_explicit(&extents[n]->committed, memory_order_relaxed) < 65536;
        }
        cpool_free(pool, slot);
        support_destroy_empty(pool);
    }
    for (int n = 0; n < EXTENTS; n++)
        REQUIRE(small[n] > 0 && small[n] < POOLS);
}
END_TEST

CPOOL_DECLARE(chances, struct cpi_chaos);
CPOOL_DEFINE(chances, struct cpi_chaos, .capacity = CAPACITY, .flags = CPOOL_CHAOS);

START_TEST(typed_pools_have_it)
{
    struct cpi_chaos *first = chances_alloc();
    uint64_t before = state_of(inside_of(chances_pool())->depot.chaos);

    REQUIRE(first != NULL && !inside_of(chances_pool())->registry.inline_path);
    for (int i = 0; i < 10; i++)
        chances_free(chances_alloc());
    REQUIRE(state_of(inside_of(chances_pool())->depot.chaos) != before);
    chances_free(first);
    REQUIRE_EQUAL(chances_close(), 0);
}
END_TEST

/* The end of a lease draws, and gives each slot back. */
START_TEST(leases_have_it)
{
    cpool_t *pool = create(kinds[_i], CAPACITY);
    cpool_lease_t *lease = cpool_lease_begin(pool);
    uint64_t before;

    for (int i = 0; i < CAPACITY; i++)
        REQUIRE(cpool_lease_alloc(lease) != NULL);
    REQUIRE(cpool_lease_alloc(lease) == NULL);
    before = state_of(inside_of(pool)->depot.chaos);
    REQUIRE_EQUAL(cpool_lease_end(lease), CAPACITY);
    REQUIRE(state_of(inside_of(pool)->depot.chaos) != before);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}
END_TEST

/* The changes of an object pool's own words are repeated by chance, and count once. */
START_TEST(object_pools_have_it)
{
    enum { OBJECTS = 40 };
    cpool_object_config_t config = CPOOL_OBJECT_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_object_stats_t stats = CPOOL_OBJECT_STATS_INIT;
    cpool_objects_t *pool;
    uint64_t before;

    type.object_size = SLOT_SIZE;
    config.type = &type;
    config.max_capacity = OBJECTS;
    config.growth = 1;
    config.flags = _i % 2 == 0 ? 0 : CPOOL_OBJECT_FAKE;
    config.pool_flags = CPOOL_CHAOS;
    REQUIRE_EQUAL(cpool_objects_create(&pool, &config), 0);
    before = state_of(pool->chaos);
    for (int turn = 0; turn < 5; turn++) {
        for (int i = 0; i < OBJECTS; i++)
            REQUIRE(cpool_object_get(pool) != NULL);
        REQUIRE(cpool_object_get(pool) == NULL);
        REQUIRE_EQUAL(cpool_objects_put_all(pool), OBJECTS);
        REQUIRE_EQUAL(cpool_object_shrink(pool, OBJECTS / 2, 0), OBJECTS / 2);
        cpool_objects_trim(pool);
        REQUIRE_EQUAL(cpool_object_grow(pool, OBJECTS), OBJECTS / 2);
    }
    REQUIRE_EQUAL(cpool_object_stats(pool, &stats), 0);
    REQUIRE_EQUAL(stats.objects, stats.creations - stats.destructions);
    REQUIRE(state_of(pool->chaos) != before);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
}
END_TEST

/* A thread keeps the lock of a priority pool for longer by chance. */
START_TEST(priority_pools_have_it)
{
    cpool_object_config_t config = CPOOL_OBJECT_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_grant_t grant = CPOOL_GRANT_INIT;
    cpool_objects_t *pool;
    uint64_t before;

    type.object_size = SLOT_SIZE;
    config.type = &type;
    config.capacity = 1;
    config.pool_flags = CPOOL_CHAOS;
    REQUIRE_EQUAL(cpool_objects_create(&pool, &config), 0);
    REQUIRE_EQUAL(cpool_priority_attach(pool, CPOOL_PRIORITY_USER, 0), 0);
    REQUIRE_EQUAL(cpool_priority_obtain(pool, 1, &grant), 0);
    before = state_of(pool->chaos);
    REQUIRE_EQUAL(cpool_priority_set(pool, grant.claim, 2), 0);
    REQUIRE(state_of(pool->chaos) != before);
    REQUIRE_EQUAL(cpool_priority_put(pool, grant.claim), 0);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(every_slot_can_be_had_at_any_time, KINDS),
        TIMES(no_slot_has_two_owners_among_threads, KINDS),
        ONCE(waiters_are_called),
        ONCE(reuse_is_late_and_in_no_order),
        ONCE(places_of_the_quarantine_are_drawn),
        ONCE(tags_come_round),
        ONCE(exchanges_are_many_and_are_repeated),
        ONCE(retries_of_pushes_and_of_pops_are_counted),
        ONCE(memory_is_committed_in_small_steps),
        ONCE(typed_pools_have_it),
        TIMES(leases_have_it, KINDS),
        TIMES(object_pools_have_it, 2),
        ONCE(priority_pools_have_it),
    };

    return SUPPORT_RUN("chaos", tests);
}
