/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_fault_use.c - what the functions that take and give slots return when the system
 * refuses one of their calls.
 */
#include "fault_pool.h"

#include <cpool/debug.h>
#include <cpool/frame.h>
#include <cpool/client.h>
#include <cpool/pools.h>

/* Slots that are taken at once: more than what the first step of memory has room for. */
enum { BULK = 100 };

/* --- Taking --- */

FAULT_CALL(alloc, fault_keep(scene, cpool_alloc(scene->pool)))
FAULT_CALL(calloc_slot, fault_keep(scene, cpool_calloc(scene->pool)))
FAULT_CALL(depot_alloc, fault_keep(scene, cpool_alloc_uncached(scene->pool)))

static int alloc_fresh(struct fault_scene *scene)
{
    size_t n = 1;

    return fault_keep(scene, cpool_client_take(scene->pool, CPOOL_CLIENT_FRESH, &n));
}

static int alloc_bulk(struct fault_scene *scene)
{
    if (scene->count > 0)
        cpool_free_bulk(scene->pool, scene->slots, scene->count);
    scene->count = cpool_alloc_bulk(scene->pool, scene->slots, BULK, 0);
    return (int)scene->count;
}

static const struct fault_case takings[] = {
    { "cpool_alloc, first use", 0, fault_make, alloc, fault_end, SOME,
      ROWS(FIRST_USE(4, SOME, NONE)) },
    { "cpool_alloc, first use, tracked", CPOOL_TRACKED, fault_make, alloc, fault_end, SOME,
      ROWS(FIRST_USE(5, SOME, NONE)) },
    { "cpool_alloc, first use, checked", CPOOL_CHECKED, fault_make, alloc, fault_end, SOME,
      ROWS(FIRST_USE(6, SOME, NONE)) },
    { "cpool_alloc, later", 0, fault_make_used, alloc, fault_end, SOME, NO_ROWS },
    { "cpool_alloc, more memory", 0, fault_make_at_the_edge, alloc, fault_end, SOME,
      ROWS(FIRST_USE(2, SOME, SOME)) },
    { "cpool_calloc", 0, fault_make, calloc_slot, fault_end, SOME,
      ROWS(FIRST_USE(4, SOME, NONE)) },
    { "cpool_alloc_uncached", 0, fault_make, depot_alloc, fault_end, SOME,
      ROWS({ MPROTECT, 1, 2, SOME, NONE }) },
    { "cpool_client_take, fresh", 0, fault_make, alloc_fresh, fault_end, SOME,
      ROWS({ MPROTECT, 1, 2, SOME, NONE }) },
    { "cpool_alloc, dry", 0, fault_make_dry, alloc, fault_end, NONE,
      ROWS({ MEMBARRIER, 1, 1, NONE, NONE }) },
    { "cpool_alloc, dry, beside a cache", 0, fault_make_dry_beside_a_cache, alloc,
      fault_end_beside_a_cache, SOME,
      ROWS({ MEMBARRIER, 1, 1, SOME, NONE }) },
    { "cpool_alloc_bulk", 0, fault_make_used, alloc_bulk, fault_end, BULK,
      ROWS({ MPROTECT, 1, 1, BULK, 16 },
           { MPROTECT, 2, 2, BULK, 32 },
           { MPROTECT, 3, 3, BULK, 64 }) },
};

/* --- Giving back --- */

/* A slot in hand, of a thread that has no cache. */
static void make_with_slot(struct fault_scene *scene)
{
    fault_make(scene);
    scene->object = cpool_alloc_uncached(scene->pool);
}

FAULT_CALL(free_slot, (cpool_free(scene->pool, scene->object), 0))
FAULT_CALL(free_to_depot, (cpool_free_uncached(scene->pool, scene->object), 0))
FAULT_CALL(free_bulk, (cpool_free_bulk(scene->pool, &scene->object, 1), 0))

static void make_with_cached_slots(struct fault_scene *scene)
{
    fault_make(scene);
    scene->count = cpool_alloc_bulk(scene->pool, scene->slots, BULK, 0);
    while (scene->count > 0)
        cpool_free(scene->pool, scene->slots[--scene->count]);
}

FAULT_CALL(flush, (cpool_flush(scene->pool), 0))
FAULT_CALL(release, (cpool_release(scene->object), 0))

static const struct fault_case returns[] = {
    { "cpool_free, first use", 0, make_with_slot, free_slot, fault_end, 0,
      ROWS(FIRST_USE(2, 0, 0)) },
    { "cpool_free_uncached", 0, make_with_slot, free_to_depot, fault_end, 0, NO_ROWS },
    { "cpool_free_bulk", 0, make_with_slot, free_bulk, fault_end, 0,
      ROWS(FIRST_USE(2, 0, 0)) },
    { "cpool_flush", 0, make_with_cached_slots, flush, fault_end, 0, NO_ROWS },
    { "cpool_release", 0, make_with_slot, release, fault_end, 0,
      ROWS(FIRST_USE(2, 0, 0)) },
};

/* --- Caches and frames --- */

static int cache_create(struct fault_scene *scene)
{
    cpool_cache_t *cache;
    int code = cpool_cache_create(&cache, scene->pool);

    REQUIRE((code == 0) == (cache != NULL));
    cpool_cache_destroy(cache);
    return code;
}

static void make_cache(struct fault_scene *scene)
{
    cpool_cache_t *cache;

    fault_make(scene);
    REQUIRE_EQUAL(cpool_cache_create(&cache, scene->pool), 0);
    scene->object = cache;
}

FAULT_CALL(cache_alloc, fault_keep(scene, cpool_cache_alloc(scene->object)))

static void make_cache_and_slots(struct fault_scene *scene)
{
    make_cache(scene);
    while (scene->count < BULK)
        scene->slots[scene->count++] = cpool_alloc_uncached(scene->pool);
}

static int cache_free(struct fault_scene *scene)
{
    while (scene->count > 0)
        cpool_cache_free(scene->object, scene->slots[--scene->count]);
    return 0;
}

static void make_full_cache(struct fault_scene *scene)
{
    make_cache_and_slots(scene);
    (void)cache_free(scene);
}

FAULT_CALL(cache_destroy, (cpool_cache_destroy(scene->object), 0))

static void end_cache(struct fault_scene *scene)
{
    cpool_cache_destroy(scene->object);
    fault_end(scene);
}

static int frame_begin(struct fault_scene *scene)
{
    cpool_frame_t *frame;
    int code = cpool_frame_begin(&frame, scene->pool);

    REQUIRE((code == 0) == (frame != NULL));
    cpool_frame_end(frame);
    return code;
}

static void make_frame(struct fault_scene *scene)
{
    cpool_frame_t *frame;

    fault_make(scene);
    REQUIRE_EQUAL(cpool_frame_begin(&frame, scene->pool), 0);
    scene->object = frame;
}

FAULT_CALL(frame_alloc, cpool_frame_alloc(scene->object) != NULL ? SOME : NONE)

static void end_frame(struct fault_scene *scene)
{
    cpool_frame_end(scene->object);
    fault_end(scene);
}

static void make_frame_and_slot(struct fault_scene *scene)
{
    make_frame(scene);
    scene->memory = cpool_alloc_uncached(scene->pool);
    REQUIRE(scene->memory != NULL);
}

FAULT_CALL(frame_adopt, cpool_frame_adopt(scene->object, scene->memory))

static void make_full_frame(struct fault_scene *scene)
{
    make_frame(scene);
    for (int i = 0; i < BULK; i++)
        REQUIRE_EQUAL(cpool_frame_adopt(scene->object, cpool_alloc_uncached(scene->pool)), 0);
}

static int frame_reset(struct fault_scene *scene)
{
    cpool_frame_reset(scene->object);
    return (int)support_stats(scene->pool).live;
}

static const struct fault_case caches[] = {
    { "cpool_frame_begin", 0, fault_make, frame_begin, fault_end, 0,
      ROWS({ MMAP, 1, 2, CPOOL_ENOMEM, CPOOL_ENOMEM }) },
    { "cpool_frame_alloc", 0, make_frame, frame_alloc, end_frame, SOME,
      ROWS(FIRST_USE(4, SOME, NONE)) },
    { "cpool_frame_adopt", 0, make_frame_and_slot, frame_adopt, end_frame, 0, NO_ROWS },
    { "cpool_frame_reset", 0, make_full_frame, frame_reset, end_frame, 0, NO_ROWS },
    { "cpool_cache_create", 0, fault_make, cache_create, fault_end, 0,
      ROWS({ MPROTECT, 1, 1, 0, CPOOL_ENOMEM }) },
    { "cpool_cache_alloc", 0, make_cache, cache_alloc, end_cache, SOME,
      ROWS({ MPROTECT, 1, 2, SOME, NONE }) },
    { "cpool_cache_free", 0, make_cache_and_slots, cache_free, end_cache, 0, NO_ROWS },
    { "cpool_cache_destroy", 0, make_full_cache, cache_destroy, fault_end, 0, NO_ROWS },
};

TEST_FAULTS(refused_taking_has_its_result, takings)
TEST_FAULTS(refused_return_loses_nothing, returns)
TEST_FAULTS(refused_cache_or_frame_has_its_result, caches)
