/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_pools.c - the pool of an address: of slots in every kind of pool, of addresses
 * between and beside them, beside pools that come and go.
 */
#include "support.h"

#include <stdatomic.h>

#include <cpool/pools.h>

enum { SLOTS = 300, THREADS = 2 };

struct kind {
    size_t slot_size;
    size_t slot_align;
    size_t capacity;
    size_t max_capacity;
    unsigned flags;
};

/* The pool in which a slot begins at this address, or NULL. */
static cpool_t *begin_of(const void *address)
{
    void *slot;
    cpool_t *pool = cpool_of(address, &slot);

    return slot == address ? pool : NULL;
}

static const struct kind kinds[] = {
    {1, 0, SLOTS, 0, 0},
    {3, 1, SLOTS, 0, 0},
    {24, 0, SLOTS, SLOTS * 100, 0},
    {40, 0, SLOTS, 0, CPOOL_CHECKED},
    {40, 64, SLOTS, 0, 0},
    {128, 0, SLOTS, 0, CPOOL_TRACKED},
    {256, 0, SLOTS, 0, CPOOL_COLOUR},
    {5000, 0, SLOTS, 0, CPOOL_HUGE_PAGES},
    {64, 4096, SLOTS, 0, CPOOL_CHECKED},
    {64, 0, (size_t)1 << 20, 0, 0},
};

static cpool_config_t config_of(const struct kind *kind)
{
    cpool_config_t config = support_config(kind->slot_size, kind->capacity);

    config.slot_align = kind->slot_align;
    config.max_capacity = kind->max_capacity;
    support_set_flags(&config, kind->flags);
    return config;
}

/* Every slot, its inside, and the bytes beside the slab. */
static void require_found(cpool_t *pool)
{
    struct figures stats = support_stats(pool);
    size_t limit = cpool_index_limit(pool);
    size_t step = limit < 10000 ? 1 : limit / 1000 - 1;
    void *slot = NULL;

    for (size_t i = 0; i < limit; i += step) {
        char *at = cpool_at(pool, i);

        REQUIRE(begin_of(at) == pool);
        REQUIRE(cpool_of(at, &slot) == pool && slot == at);
        REQUIRE(cpool_of(at + stats.slot_size - 1, NULL) == pool);
        REQUIRE(cpool_of(at + stats.slot_stride - 1, &slot) == pool && slot == at);
        REQUIRE(stats.slot_stride == 1 || begin_of(at + 1) == NULL);
    }
    slot = pool;
    REQUIRE(begin_of((char *)cpool_at(pool, 0) - 1) == NULL);
    REQUIRE(cpool_of((char *)cpool_at(pool, 0) - 1, &slot) == NULL && slot == NULL);
    slot = (char *)cpool_at(pool, limit - 1) + stats.slot_stride;
    REQUIRE(begin_of(slot) == NULL);
    REQUIRE(cpool_of(slot, NULL) == NULL);
}

TEST(of_an_address_without_a_pool_finds_one_that_is_created_there)
{
    static _Alignas(CPOOL_MEMORY_ALIGN) char memory[1u << 20];
    cpool_config_t config = support_config(64, SLOTS);
    cpool_t *pool;

    config.memory = memory;
    config.memory_size = sizeof memory;
    for (int i = 0; i < 3; i++) {
        for (size_t at = 0; at < sizeof memory; at += 64)
            REQUIRE(cpool_of(memory + at, NULL) == NULL);
        REQUIRE_EQUAL(cpool_create(&pool, &config), 0);
        require_found(pool);
        support_destroy_empty(pool);
    }
}

TEST_TIMES(of_slots_of_every_kind_is_their_pool, SUPPORT_LENGTH(kinds))
{
    cpool_config_t config = config_of(&kinds[_i]);
    cpool_t *pool = support_create(&config);
    char *slot = cpool_alloc(pool);

    REQUIRE(begin_of(slot) == pool);
    require_found(pool);
    cpool_free(pool, slot);
    REQUIRE(begin_of(slot) == pool);
    support_destroy_empty(pool);
    REQUIRE(begin_of(slot) == NULL);
    REQUIRE(cpool_of(slot, NULL) == NULL);
}

TEST(of_any_other_address_is_none)
{
    int local = 0;
    char *block = support_calloc(1, 100);

    REQUIRE(begin_of(NULL) == NULL);
    REQUIRE(begin_of((void *)UINTPTR_MAX) == NULL);
    REQUIRE(cpool_of((void *)UINTPTR_MAX, NULL) == NULL);
    REQUIRE(begin_of(&local) == NULL);
    REQUIRE(begin_of(block) == NULL);
    REQUIRE(begin_of((void *)(uintptr_t)of_any_other_address_is_none) == NULL);
    free(block);
}

static cpool_config_t small_config(size_t slots)
{
    cpool_config_t config = support_config(24, slots);

    config.thread_caches = 1;
    config.magazine_rounds = 1;
    return config;
}

/* Close together, so that several lie in one page.  In any order they go. */
TEST(of_slots_in_neighbouring_memory_is_the_right_pool)
{
    enum { POOLS = 12 };
    cpool_config_t config = small_config(4);
    size_t size = cpool_memory_required(&config);
    char *memory = support_lines(POOLS * size);
    cpool_t *pools[POOLS];
    char *slots[POOLS];

    REQUIRE(size > 0 && size % CPOOL_MEMORY_ALIGN == 0);
    for (size_t i = 0; i < POOLS; i++) {
        config.memory = memory + i * size;
        config.memory_size = size;
        pools[i] = support_create(&config);
        slots[i] = cpool_at(pools[i], 0);
    }
    for (size_t gone = 0; gone < POOLS; gone++) {
        size_t next = gone * 5 % POOLS;

        for (size_t i = 0; i < POOLS; i++)
            if (pools[i] != NULL)
                require_found(pools[i]);
            else
                REQUIRE(begin_of(slots[i]) == NULL);
        support_destroy_empty(pools[next]);
        pools[next] = NULL;
    }
}

static _Atomic bool over;

/* Pools come and go: large and small, so that nodes of the tree do. */
static void *churn(void *number)
{
    uint64_t random = (uintptr_t)number;

    while (!over) {
        cpool_config_t config = config_of(&kinds[random_below(&random, SUPPORT_LENGTH(kinds))]);
        cpool_t *pool = support_create(&config);
        void *slot = cpool_alloc(pool);

        REQUIRE(begin_of(slot) == pool);
        cpool_free(pool, slot);
        support_destroy_empty(pool);
    }
    return NULL;
}

TEST(of_slots_beside_create_and_destroy_is_right)
{
    cpool_config_t config = config_of(&kinds[2]);
    cpool_t *pool = support_create(&config);
    size_t limit = cpool_index_limit(pool);
    pthread_t threads[THREADS];
    uint64_t random = 7;

    over = false;
    for (size_t i = 0; i < THREADS; i++)
        threads[i] = support_start(churn, (void *)(uintptr_t)(i + 1));
    for (size_t i = 0; i < SUPPORT_COUNT(300000, 20000); i++) {
        char *slot = cpool_at(pool, random_below(&random, limit));

        REQUIRE(begin_of(slot) == pool);
        REQUIRE(cpool_of(slot + 5, NULL) == pool);
        REQUIRE(begin_of(slot + 1) == NULL);
        /* Wherever the others have theirs: no trap. */
        (void)cpool_of((void *)((uintptr_t)slot + random_next(&random) % (1u << 30)), NULL);
    }
    over = true;
    for (size_t i = 0; i < THREADS; i++)
        support_join(threads[i]);
    support_destroy_empty(pool);
}

static void *release_all(void *slots)
{
    for (size_t i = 0; i < SLOTS; i++)
        cpool_release(((void **)slots)[i]);
    return NULL;
}

TEST(release_gives_slots_back_to_their_pools)
{
    cpool_t *pools[SUPPORT_LENGTH(kinds)];
    void *slots[SLOTS];

    for (size_t i = 0; i < SUPPORT_LENGTH(kinds); i++) {
        cpool_config_t config = config_of(&kinds[i]);

        pools[i] = support_create(&config);
    }
    for (size_t i = 0; i < SLOTS; i++)
        slots[i] = cpool_alloc(pools[i % SUPPORT_LENGTH(kinds)]);
    support_in_thread(release_all, slots);
    for (size_t i = 0; i < SUPPORT_LENGTH(kinds); i++)
        support_destroy_empty(pools[i]);
}

TEST(release_wrong_address_reported)
{
    cpool_t *pool = support_create_plain(32, SLOTS);
    char *slot = cpool_alloc(pool);
    struct support_report report;
    int local = 0;

    support_capture_reports();
    cpool_release(NULL);
    REQUIRE_NO_REPORT();
    cpool_release(&local);
    report = REQUIRE_REPORT(CPOOL_EFOREIGN);
    REQUIRE(report.address == &local && report.pool == NULL);
    REQUIRE(strcmp(report.function, "cpool_release") == 0);
    cpool_release(slot + 8);
    report = REQUIRE_REPORT(CPOOL_EMISALIGNED);
    REQUIRE(report.pool == pool && report.slot == slot);
    REQUIRE(strcmp(report.function, "cpool_release") == 0);
    cpool_release(cpool_at(pool, SLOTS - 1));
    REQUIRE_REPORT(CPOOL_EUNUSED);
    cpool_release(slot);
    REQUIRE_NO_REPORT();
    support_release_reports();
    support_destroy_empty(pool);
}
