/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_registry.c - which caches a pool has, and the threads' tables
 * (lib/registry.h, lib/roster.h, lib/thread.h), seen inside real pools.
 */
#include "support.h"

#include <sys/mman.h>

#include "pool_impl.h"

enum { CAPACITY = 2000, ROUNDS = 20 };

static cpool_t *pool;

static void make_pool(size_t thread_caches)
{
    cpool_config_t config = support_config(16, CAPACITY);

    config.thread_caches = thread_caches;
    config.magazine_rounds = ROUNDS;
    pool = support_create(&config);
}

static struct cpi_registry_figures figures(void)
{
    struct cpi_registry_figures result;

    cpi_lock();
    cpi_registry_figures(&pool->registry, &result);
    cpi_unlock();
    return result;
}

static bool known(const cpool_t *candidate)
{
    bool result;

    cpi_lock();
    result = cpi_registry_knows(candidate);
    cpi_unlock();
    return result;
}

/* All members except the unused ones of the frozen layout, and the prefix of no pool
 * that a handle finds after its cache has ended. */
static bool is_clear(const cpool_cache_t *entry)
{
    const struct cpool_prefix *prefix = (const struct cpool_prefix *)(const void *)entry->pool;

    return entry->count == 0 && entry->limit == 0 && entry->rounds == NULL && entry->bound == 0 &&
           entry->home == NULL && (prefix == NULL || prefix->library == NULL);
}

static cpool_cache_t *table_entry(const cpool_t *of)
{
    return (cpool_cache_t *)(void *)(cpool_thread_table_abi1 + of->slab.prefix.table_offset);
}

/*
 * ---- Threads -------------------------------------------------------------
 */

static void *use_table(void *threads)
{
    struct cpi_thread **seen = threads;

    REQUIRE(cpi_thread_known() == NULL);
    REQUIRE(is_clear(table_entry(pool)));
    REQUIRE(cpi_thread_self() != NULL);
    REQUIRE(cpi_thread_known() == cpi_thread_self());
    REQUIRE(cpool_thread_table_abi1 == (char *)cpi_thread_self()->table);
    for (size_t i = 0; i < CPI_TABLE_ENTRIES; i += 97)
        REQUIRE(is_clear(&cpi_thread_self()->table[i]));
    *seen = cpi_thread_self();
    cpool_free(pool, cpool_alloc(pool));
    REQUIRE(!is_clear(table_entry(pool)));
    return NULL;
}

START_TEST(end_thread_hands_its_table_to_the_next)
{
    struct cpi_thread *first;
    struct cpi_thread *next;

    make_pool(0);
    support_in_thread(use_table, &first);
    for (int i = 0; i < 20; i++) {
        support_in_thread(use_table, &next);
        REQUIRE(next == first);
    }
    support_destroy_empty(pool);
}
END_TEST

START_TEST(destroy_pool_clears_its_entry_in_the_table)
{
    uintptr_t offset;

    for (int i = 0; i < 20; i++) {
        make_pool(0);
        REQUIRE(is_clear(table_entry(pool)));
        cpool_free(pool, cpool_alloc(pool));
        REQUIRE(table_entry(pool)->pool == pool);
        REQUIRE_EQUAL(table_entry(pool)->count, ROUNDS);
        offset = pool->slab.prefix.table_offset;
        support_destroy_empty(pool);
        REQUIRE(is_clear((cpool_cache_t *)(void *)(cpool_thread_table_abi1 + offset)));
    }
}
END_TEST

START_TEST(create_pools_gives_each_an_entry_of_its_own)
{
    cpool_t *pools[50];

    for (int i = 0; i < 50; i++) {
        pools[i] = support_create_plain(16, 10);
        REQUIRE(pools[i]->slab.prefix.table_offset != 0);
        REQUIRE_EQUAL(pools[i]->slab.prefix.table_offset % sizeof(cpool_cache_t), 0);
        for (int j = 0; j < i; j++)
            REQUIRE(pools[i]->slab.prefix.table_offset != pools[j]->slab.prefix.table_offset);
    }
    for (int i = 0; i < 50; i++)
        support_destroy_empty(pools[i]);
}
END_TEST

/*
 * ---- Caches --------------------------------------------------------------
 */

/* Entries come back: there are fewer than a process may make pools in its life. */
START_TEST(destroy_pool_gives_its_entry_back)
{
    cpool_t *first;
    cpool_t *second;
    size_t offset;

    make_pool(0);
    first = pool;
    offset = first->slab.prefix.table_offset;
    REQUIRE(offset != 0);
    make_pool(0);
    second = pool;
    for (int round = 0; round < 3; round++) {
        support_destroy_empty(first);
        make_pool(0);
        first = pool;
        REQUIRE_EQUAL(first->slab.prefix.table_offset, offset);
    }
    support_destroy_empty(first);
    support_destroy_empty(second);
}
END_TEST

START_TEST(own_cache_is_made_once)
{
    struct cpi_cache *cache;

    make_pool(0);
    REQUIRE(cpi_registry_known_cache(&pool->registry) == NULL);
    cache = cpi_registry_own_cache(&pool->registry);
    REQUIRE(cache != NULL);
    REQUIRE(cpi_registry_own_cache(&pool->registry) == cache);
    REQUIRE(cpi_registry_known_cache(&pool->registry) == cache);
    REQUIRE(cache->entry == table_entry(pool));
    REQUIRE(cache->entry->pool == pool);
    REQUIRE(cache->owner == cpi_thread_known());
    REQUIRE_EQUAL(figures().caches, 1);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(remove_cache_frees_its_place)
{
    struct cpi_cache *caches[3];

    make_pool(3);
    for (int round = 0; round < 5; round++) {
        struct cpi_cache *before = caches[2];

        for (size_t i = 0; i < 3; i++) {
            caches[i] = cpi_registry_add_cache(&pool->registry);
            REQUIRE(caches[i] != NULL);
            REQUIRE(caches[i]->owner == NULL);
            REQUIRE(caches[i]->entry->home == caches[i]);
            REQUIRE_EQUAL(figures().caches, i + 1);
        }
        REQUIRE(cpi_registry_add_cache(&pool->registry) == NULL);
        REQUIRE(cpi_registry_own_cache(&pool->registry) == NULL);
        REQUIRE(round == 0 || caches[0] == before || caches[1] == before || caches[2] == before);
        for (size_t i = 0; i < 3; i++)
            cpi_registry_remove_cache(&pool->registry, caches[i]);
        REQUIRE_EQUAL(figures().caches, 0);
    }
    support_destroy_empty(pool);
}
END_TEST

START_TEST(end_caches_ends_all)
{
    struct cpi_cache *own;

    make_pool(0);
    own = cpi_registry_own_cache(&pool->registry);
    for (int i = 0; i < 3; i++)
        REQUIRE(cpi_registry_add_cache(&pool->registry) != NULL);
    REQUIRE(cpi_cache_refill(own));
    cpi_lock();
    cpi_registry_end_caches(&pool->registry);
    cpi_unlock();
    REQUIRE_EQUAL(figures().caches, 0);
    REQUIRE_EQUAL(figures().rounds, 0);
    REQUIRE(cpi_registry_known_cache(&pool->registry) == NULL);
    REQUIRE(is_clear(table_entry(pool)));
    REQUIRE_EQUAL(cpool_reset(pool), ROUNDS);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(knows_living_pools_only)
{
    cpool_t *pools[100];

    for (int i = 0; i < 100; i++)
        pools[i] = support_create_plain(16, 10);
    for (int i = 0; i < 100; i++)
        REQUIRE(known(pools[i]));
    REQUIRE(!known(NULL));
    REQUIRE(!known((cpool_t *)(void *)pools));
    REQUIRE(!known((cpool_t *)((uintptr_t)pools[0] + 1)));
    for (int i = 0; i < 100; i++) {
        support_destroy_empty(pools[i]);
        REQUIRE(!known(pools[i]));
        REQUIRE(i == 99 || known(pools[99]));
    }
}
END_TEST

static void forbid(const cpool_t *of, int protection)
{
    const struct cpi_extent *caches = &of->registry.caches;

    REQUIRE_EQUAL(mprotect(caches->base, caches->committed, protection), 0);
}

/* Their caches may not even be read, but for those of the neighbours in the list. */
START_TEST(destroy_looks_at_no_cache_of_other_pools)
{
    enum { POOLS = 7 };
    cpool_t *pools[POOLS];

    for (int i = 0; i < POOLS; i++) {
        pools[i] = support_create_plain(16, 10);
        cpool_free(pools[i], cpool_alloc(pools[i]));
    }
    for (int i = 0; i < POOLS; i++)
        if (i < POOLS / 2 - 1 || i > POOLS / 2 + 1)
            forbid(pools[i], PROT_NONE);
    support_destroy_empty(pools[POOLS / 2]);
    for (int i = 0; i < POOLS; i++)
        if (i < POOLS / 2 - 1 || i > POOLS / 2 + 1)
            forbid(pools[i], PROT_READ | PROT_WRITE);
    for (int i = 0; i < POOLS; i++)
        if (i != POOLS / 2)
            support_destroy_empty(pools[i]);
}
END_TEST

/* As pools lie behind each other in address space, of small pages and of huge ones. */
START_TEST(pools_at_any_distance_share_out_the_buckets)
{
    enum { BUCKETS = 1024, EACH = 16 };
    static const uintptr_t starts[] = { 0, (uintptr_t)1 << 30, (uintptr_t)0x7f3a5c000000 };
    size_t counts[BUCKETS] = { 0 };
    uintptr_t distance = (uintptr_t)1 << (_i / 3 + 6);

    SKIP_IF(distance > UINTPTR_MAX / BUCKETS / EACH / 2, "there are not enough addresses");
    for (uintptr_t n = 1; n <= BUCKETS * EACH; n++) {
        const void *address = (const void *)(starts[_i % 3] + n * distance);

        REQUIRE(cpi_registry_bucket(address, BUCKETS) < BUCKETS);
        counts[cpi_registry_bucket(address, BUCKETS)]++;
    }
    for (size_t i = 0; i < BUCKETS; i++)
        REQUIRE(counts[i] <= 4 * EACH);
}
END_TEST

START_TEST(figures_count_what_is_where)
{
    void *slots[200];

    make_pool(0);
    REQUIRE_EQUAL(cpool_alloc_bulk_all(pool, slots, 200), 0);
    cpool_free_bulk(pool, slots, 150);
    REQUIRE_EQUAL((size_t)figures().stocked, cpi_depot_count_stocked(&pool->depot));
    REQUIRE_EQUAL((size_t)figures().stocked * ROUNDS + figures().rounds +
                      cpi_depot_partial_rounds(&pool->depot),
                  cpi_slab_fresh(&pool->slab) - 50);
    REQUIRE_EQUAL(figures().retries, 0);
    REQUIRE_EQUAL(support_destroy(pool), 50);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        ONCE(end_thread_hands_its_table_to_the_next),
        ONCE(destroy_pool_clears_its_entry_in_the_table),
        ONCE(create_pools_gives_each_an_entry_of_its_own),
        ONCE(destroy_pool_gives_its_entry_back),
        ONCE(own_cache_is_made_once),
        ONCE(remove_cache_frees_its_place),
        ONCE(end_caches_ends_all),
        ONCE(knows_living_pools_only),
        ONCE(destroy_looks_at_no_cache_of_other_pools),
        TIMES(pools_at_any_distance_share_out_the_buckets, 3 * 27),
        ONCE(figures_count_what_is_where),
    };

    return SUPPORT_RUN("registry", tests);
}
