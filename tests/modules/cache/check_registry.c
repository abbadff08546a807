/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_registry.c - which caches a pool has, and the threads' tables
 * (lib/cache/registry.h, lib/process/descriptor.h, lib/process/thread.h), seen inside real pools.
 */
#include "support.h"

#include "cache/reclaim.h"
#include "inside.h"

enum { CAPACITY = 2000, ROUNDS = 20 };

static cpool_t *pool;

static void make_pool(size_t thread_caches)
{
    pool = SUPPORT_CREATE(16, CAPACITY, .thread_caches = thread_caches,
                          .magazine_rounds = ROUNDS);
}

/* --- Threads --- */

CPOOL_DECLARE(words, uint64_t);
CPOOL_DEFINE(words, uint64_t, .capacity = 2);

/* Also where the pool's other functions have made the cache. */
TEST(variable_of_a_type_leads_to_the_cache)
{
    cpool_free(words_pool(), cpool_alloc(words_pool()));
    words_free(words_alloc());
    REQUIRE(!cpi_has_barrier() || words_typed_.none == NULL || /* no inline path */
            cpi_registry_known_cache(&inside(words_pool())->registry)->pointer != NULL);
    REQUIRE_EQUAL(words_close(), CPOOL_OK);
}

/* Makes and destroys a pool.  Returns true if it had this handle. */
static bool comes_back(const cpool_t *handle)
{
    bool same;

    make_pool(0);
    same = pool == handle;
    support_destroy_empty(pool);
    return same;
}

/* Handles come back in the order in which their pools were destroyed, but not before
 * CPI_HANDLES_KEPT others. */
TEST(destroy_pool_gives_its_handle_back_late)
{
    cpool_t *first;
    cpool_t *second;
    size_t others = 1;

    make_pool(0);
    first = pool;
    make_pool(0);
    second = pool;
    support_destroy_empty(first);
    support_destroy_empty(second);
    while (!comes_back(first)) {
        others++;
        REQUIRE(others < CPI_HANDLES);
    }
    REQUIRE(others >= CPI_HANDLES_KEPT);
    REQUIRE(comes_back(second));
}

/* --- Caches --- */

TEST(remove_cache_frees_its_place)
{
    struct cpi_cache *caches[3], *none;

    make_pool(3);
    for (int round = 0; round < 5; round++) {
        struct cpi_cache *before = caches[2];

        for (size_t i = 0; i < 3; i++) {
            REQUIRE_EQUAL(cpi_registry_add_cache(&inside(pool)->registry, &caches[i]), 0);
            REQUIRE(caches[i]->owner == NULL);
            REQUIRE(caches[i]->entry->home == caches[i]);
            REQUIRE_EQUAL(inside_figures(pool).caches, i + 1);
        }
        REQUIRE_EQUAL(cpi_registry_add_cache(&inside(pool)->registry, &none), CPOOL_ELIMIT);
        REQUIRE(none == NULL);
        REQUIRE(cpi_registry_own_cache(&inside(pool)->registry) == NULL);
        REQUIRE(round == 0 || caches[0] == before || caches[1] == before || caches[2] == before);
        for (size_t i = 0; i < 3; i++)
            cpi_registry_remove_cache(&inside(pool)->registry, caches[i]);
        REQUIRE_EQUAL(inside_figures(pool).caches, 0);
    }
    support_destroy_empty(pool);
}

/* Registers explicit caches until the quotas are out, and beyond.  Returns the number
 * of spares they have beyond the first of each. */
static size_t register_caches(cpool_cache_t **caches, size_t n)
{
    size_t more = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t quota;

        REQUIRE_EQUAL(cpool_cache_create(&caches[i], pool), 0);
        quota = ((struct cpi_cache *)caches[i]->home)->quota;
        REQUIRE(quota >= CPI_QUOTA_MIN && quota <= inside(pool)->registry.quota_max);
        more += quota - CPI_QUOTA_MIN;
    }
    return more;
}

/* The memory of the spares that a cache may have is there before the cache. */
TEST(register_provides_the_magazines_of_the_quota)
{
    cpool_cache_t *cache, *none;

    pool = SUPPORT_CREATE(16, (size_t)1 << 20, .magazine_rounds = 1000, .cache_slots = 100 * 1000,
                          .thread_caches = 1);
    REQUIRE_EQUAL(cpool_cache_create(&cache, pool), 0);
    REQUIRE_EQUAL(cpool_cache_create(&none, pool), CPOOL_ELIMIT);
    REQUIRE(((struct cpi_cache *)cache->home)->quota > CPI_QUOTA_MIN);
    REQUIRE(cpi_load(&inside(pool)->depot.for_caches.committed, relaxed) >=
            cpi_registry_magazines(1, inside(pool)->registry.spares_out) *
                inside(pool)->depot.links.stride);
    cpool_cache_destroy(cache);
    support_destroy_empty(pool);
}

TEST(register_shares_out_no_more_than_there_is)
{
    enum { QUOTA = 9, EXTRA = 5 };
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_cache_t *caches[200];
    size_t whole;
    size_t n;

    config.slot_size = 16;
    config.capacity = 1000;
    config.magazine_rounds = 10;
    config.cache_slots = (QUOTA + 1) * 10;
    config.thread_caches = 200;
    REQUIRE_EQUAL(cpool_create(&pool, &config), 0);
    REQUIRE_EQUAL(inside(pool)->registry.quota_max, QUOTA);
    whole = inside(pool)->registry.spares / (QUOTA - CPI_QUOTA_MIN);
    n = whole + EXTRA;
    REQUIRE(whole > 1 && n <= 200);
    for (int round = 0; round < 2; round++) {
        REQUIRE_EQUAL(register_caches(caches, n), inside(pool)->registry.spares);
        REQUIRE_EQUAL(inside(pool)->registry.spares_out, inside(pool)->registry.spares);
        REQUIRE_EQUAL(((struct cpi_cache *)caches[0]->home)->quota, QUOTA);
        REQUIRE_EQUAL(((struct cpi_cache *)caches[n - 1]->home)->quota, CPI_QUOTA_MIN);
        REQUIRE_EQUAL(inside_figures(pool).spare_limit,
                      n * CPI_QUOTA_MIN + inside(pool)->registry.spares);
        for (size_t i = 0; i < n; i++)
            cpool_cache_destroy(caches[i]);
        REQUIRE_EQUAL(inside(pool)->registry.spares_out, 0);
        REQUIRE_EQUAL(inside_figures(pool).spare_limit, 0);
    }
    support_destroy_empty(pool);
}
