/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_assert.c - an invariant that is broken is caught where it is next relied on.
 *
 * Includes the modules with the structures that it breaks.  Each claim that fails
 * leaves by a jump, so that the test goes on.
 */
#include "support.h"

#include <setjmp.h>
#include <string.h>

#include "pool/pool_impl.h"
#include "cache/mark.h"
#include "wait/queue.h"

enum { ROUNDS = 8, CAPACITY = 256 };

static jmp_buf broken;
static char claimed[256];

static void catch(const char *claim)
{
    snprintf(claimed, sizeof claimed, "%s", claim);
    longjmp(broken, 1);
}

/* Whether the statement fails a claim that has these words in it. */
#define IS_CAUGHT(words, statement)                                              \
    (cpi_assert_catch = catch, claimed[0] = '\0',                                \
     setjmp(broken) == 0 ? ((statement), cpi_assert_catch = NULL, false)          \
                         : (cpi_assert_catch = NULL, strstr(claimed, words) != NULL))

/* A pool with a cache that has a full magazine loaded.  Its first slots are live. */
static struct cpi_pool *make_pool(cpool_cache_t **handle)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    void *slots[3 * ROUNDS];
    cpool_t *pool;
    size_t i;

    config.slot_size = 64;
    config.capacity = CAPACITY;
    config.magazine_rounds = ROUNDS;
    REQUIRE_EQUAL(cpool_create(&pool, &config), CPOOL_OK);
    REQUIRE_EQUAL(cpool_cache_create(handle, pool), CPOOL_OK);
    for (i = 0; i < 3 * ROUNDS; i++)
        slots[i] = cpool_cache_alloc(*handle);
    for (i = 0; i < 3 * ROUNDS; i++)
        cpool_cache_free(*handle, slots[i]);
    return pool->state;
}

/* A pool that is broken is left as it is. */
TEST(magazine_with_too_many_rounds_caught)
{
    cpool_cache_t *handle;
    struct cpi_pool *pool = make_pool(&handle);
    struct cpi_cache *cache = handle->home;
    uint32_t node = cpi_cache_detach(cache);

    cpi_magazine_set_count(cpi_depot_magazine(cache->depot, node), ROUNDS + 1);
    REQUIRE(IS_CAUGHT("count <= depot->limit",
                      cpi_depot_give(&pool->depot, &cache->counters, node)));
}

TEST(stocked_magazine_that_is_not_full_caught)
{
    cpool_cache_t *handle;
    struct cpi_pool *pool = make_pool(&handle);
    struct cpi_cache *cache = handle->home;

    cpool_cache_destroy(handle);
    cpi_magazine_set_count(
        cpi_depot_magazine(&pool->depot, cpi_tagstack_top(&pool->depot.stocked)), ROUNDS - 1);
    REQUIRE(IS_CAUGHT("== depot->limit",
                      cpi_depot_take_stocked(&pool->depot, &cache->counters)));
}

TEST(magazine_given_twice_caught)
{
    cpool_cache_t *handle;
    struct cpi_pool *pool = make_pool(&handle);
    struct cpi_cache *cache = handle->home;

    cpool_cache_destroy(handle);
    REQUIRE(IS_CAUGHT("!= node", cpi_depot_give(&pool->depot, &cache->counters,
                                                cpi_tagstack_top(&pool->depot.stocked))));
}

TEST(magazine_in_two_places_caught_at_the_end)
{
    cpool_cache_t *handle;
    struct cpi_pool *pool = make_pool(&handle);
    struct cpi_cache *cache = handle->home;

    cpi_store(&cache->spare[cache->quota_max - 1], cpi_cache_loaded(cache), relaxed);
    REQUIRE(!cpi_pool_audit(pool));
}

TEST(more_spares_than_places_caught)
{
    cpool_cache_t *handle;
    struct cpi_cache *cache;

    (void)make_pool(&handle);
    cache = handle->home;
    while (cpi_cache_pop(cache) != NULL)
        ;
    cache->quota = cache->quota_max + 1;
    REQUIRE(IS_CAUGHT("cpi_cache_is_valid", cpi_cache_refill(cache)));
}

TEST(loaded_magazine_that_counts_itself_caught)
{
    cpool_cache_t *handle;
    struct cpi_cache *cache;

    (void)make_pool(&handle);
    cache = handle->home;
    cpi_magazine_set_count(cpi_depot_magazine(cache->depot, cpi_cache_loaded(cache)), 1);
    REQUIRE(IS_CAUGHT("== 0", cpi_cache_flush(cache)));
}

TEST(owner_that_is_inside_twice_caught)
{
    cpool_cache_t *handle;

    (void)make_pool(&handle);
    cpi_mark_enter(handle->home);
    REQUIRE(IS_CAUGHT("busy % 2 == 0", cpi_mark_enter(handle->home)));
}

TEST(watermark_above_the_slots_caught)
{
    cpool_cache_t *handle;
    struct cpi_pool *pool = make_pool(&handle);

    REQUIRE(IS_CAUGHT("<= slab->slots",
                      cpi_slab_bump(&pool->slab, cpi_slab_bounds(&pool->slab),
                                    pool->slab.slots)));
}

TEST(figures_without_the_lock_caught)
{
    cpool_cache_t *handle;
    struct cpi_pool *pool = make_pool(&handle);
    struct cpi_registry_figures figures;

    REQUIRE(IS_CAUGHT("cpi_lock_is_held", cpi_registry_figures(&pool->registry, &figures)));
    cpi_lock();
    REQUIRE(!IS_CAUGHT("", cpi_registry_figures(&pool->registry, &figures)));
    cpi_unlock();
    REQUIRE(IS_CAUGHT("cpi_lock_is_held", cpi_unlock()));
}

TEST(drain_that_begins_twice_caught)
{
    cpool_cache_t *handle;
    struct cpi_pool *pool = make_pool(&handle);

    cpi_depot_begin_drain(&pool->depot);
    REQUIRE(IS_CAUGHT("% 2 == 0", cpi_depot_begin_drain(&pool->depot)));
}

TEST(call_in_an_empty_queue_caught)
{
    struct cpi_queue queue;
    struct cpi_waiter waiter;

    cpi_queue_init(&queue);
    cpi_queue_join(&queue, &waiter, 0);
    (void)cpi_queue_announce(&queue, &waiter);
    queue.first = NULL;
    REQUIRE(IS_CAUGHT("queue->first != NULL", cpi_queue_call(&queue)));
}
