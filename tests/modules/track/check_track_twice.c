/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_track_twice.c - a slot that is in a tracked pool twice, because its word was
 * overwritten: the alloc that would hand it out twice reports it.
 */
#include "support.h"

#include <cpool/track.h>

#include "pool/pool.h"

enum { CAPACITY = 64 };

static cpool_t *make_pool(void)
{
    support_capture_reports();
    return support_create_kind(48, CAPACITY, CPOOL_TRACKED);
}

static void give(cpool_t *pool, cpool_cache_t *cache, void *slot)
{
    if (cache != NULL)
        cpool_cache_free(cache, slot);
    else
        cpool_free(pool, slot);
}

/* Frees a slot twice, and makes it live before the second time. */
static void free_twice_unnoticed(cpool_t *pool, cpool_cache_t *cache, void *slot)
{
    const struct cpi_pool *state = pool->state;
    _Atomic uint64_t *word = &state->map.words[cpool_index(pool, slot)];
    uint64_t live = atomic_load_explicit(word, memory_order_relaxed);

    give(pool, cache, slot);
    atomic_store_explicit(word, live, memory_order_relaxed);
    give(pool, cache, slot);
    REQUIRE_NO_REPORT();
}

TEST(slot_in_the_pool_twice_is_handed_out_once)
{
    cpool_t *pool = make_pool();
    void *slot = cpool_alloc(pool);
    void *others[2];

    free_twice_unnoticed(pool, NULL, slot);
    REQUIRE(cpool_alloc(pool) == slot);
    REQUIRE_NO_REPORT();
    others[0] = cpool_alloc(pool);
    REQUIRE(others[0] != NULL && others[0] != slot);
    REQUIRE(REQUIRE_REPORT(CPOOL_EDOUBLEFREE).slot == slot);
    others[1] = cpool_alloc(pool);
    REQUIRE(others[1] != NULL && others[1] != slot && others[1] != others[0]);
    REQUIRE_NO_REPORT();
    cpool_free(pool, slot);
    cpool_free(pool, others[0]);
    cpool_free(pool, others[1]);
    REQUIRE_NO_REPORT();
    support_destroy_whole(pool);
}

/* The same through an explicit cache. */
TEST(slot_in_a_cache_twice_is_handed_out_once)
{
    cpool_t *pool = make_pool();
    cpool_cache_t *cache;
    void *slot;

    REQUIRE_EQUAL(cpool_cache_create(&cache, pool), 0);
    slot = cpool_cache_alloc(cache);
    free_twice_unnoticed(pool, cache, slot);
    REQUIRE(cpool_cache_alloc(cache) == slot);
    REQUIRE(cpool_cache_alloc(cache) != slot);
    REQUIRE(REQUIRE_REPORT(CPOOL_EDOUBLEFREE).slot == slot);
    REQUIRE_EQUAL(support_count_live(pool), 2);
    REQUIRE_EQUAL(support_destroy(pool), 2);
}
