/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_fault_memory.c - what the functions that draw memory beforehand, and those that give
 * it back, return when the system refuses one of their calls.
 */
#include "fault_pool.h"

#include <cpool/typed.h>

/* Slots that are reserved, more than a magazine has, and that are given back. */
enum { RESERVED = 10, DRAWN = 100 };

/* --- Drawing --- */

FAULT_CALL(reserve, cpool_reserve(scene->pool, RESERVED))
FAULT_CALL(reserve_all, cpool_reserve(scene->pool, FAULT_MOST))
FAULT_CALL(grow, (int)cpool_grow(scene->pool, SIZE_MAX))

/* Slots that lie in the depot, and were used. */
static void make_stocked(struct fault_scene *scene)
{
    fault_make(scene);
    scene->count = cpool_alloc_bulk(scene->pool, scene->slots, FAULT_MOST, 0);
    for (size_t i = 0; i < scene->count; i++)
        memset(scene->slots[i], 1, FAULT_SLOT);
    cpool_free_bulk(scene->pool, scene->slots, scene->count);
    cpool_flush(scene->pool);
    scene->count = 0;
}

static const struct fault_case drawings[] = {
    { "cpool_reserve, first use", 0, fault_make, reserve, fault_end, 0,
      ROWS({ MPROTECT, 1, 2, 0, CPOOL_ENOMEM },
           { MADVISE, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MMAP, 1, 1, 0, 0 },
           { SETSPECIFIC, 1, 1, 0, 0 },
           { MPROTECT, 3, 3, 0, 0 }) },
    { "cpool_reserve, later", 0, fault_make_used, reserve, fault_end, 0,
      ROWS({ MPROTECT, 1, 1, 0, CPOOL_ENOMEM },
           { MADVISE, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM }) },
    { "cpool_reserve, all", 0, fault_make_used, reserve_all, fault_end, 0,
      ROWS({ MPROTECT, 1, 1, 0, CPOOL_ENOMEM },
           { MADVISE, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM }) },
    { "cpool_reserve, checked", CPOOL_CHECKED, fault_make_used, reserve, fault_end, 0,
      ROWS({ MPROTECT, 1, 1, 0, CPOOL_ENOMEM },
           { MADVISE, 1, 3, CPOOL_ENOMEM, CPOOL_ENOMEM }) },
    { "cpool_grow", 0, fault_make, grow, fault_end, FAULT_MOST - FAULT_CAPACITY,
      ROWS({ MPROTECT, 1, 2, 50, 0 }) },
    { "cpool_grow, checked", CPOOL_CHECKED, fault_make, grow, fault_end,
      FAULT_MOST - FAULT_CAPACITY,
      ROWS({ MPROTECT, 1, 4, 50, 0 }) },
};

/* --- Giving back --- */

/* Whether some memory went back. */
FAULT_CALL(trim, cpool_trim(scene->pool) > 0 ? SOME : NONE)
FAULT_CALL(shrink, (int)cpool_shrink(scene->pool, DRAWN))

/* All slots that were taken away can be had again. */
static void grow_and_end(struct fault_scene *scene)
{
    cpool_grow(scene->pool, SIZE_MAX);
    fault_end(scene);
}

FAULT_CALL(destroy, cpool_destroy(scene->pool))

static void start_anew(struct fault_scene *scene)
{
    fault_make(scene);
    fault_end(scene);
}

static const struct fault_case returns[] = {
    { "cpool_trim", 0, make_stocked, trim, fault_end, SOME,
      ROWS({ MMAP, 1, 1, NONE, NONE },
           { MADVISE, 1, 1, NONE, NONE },
           { MUNMAP, 1, 1, SOME, SOME }) },
    { "cpool_trim, checked", CPOOL_CHECKED, make_stocked, trim, fault_end, NONE,
      ROWS({ MMAP, 1, 1, NONE, NONE },
           { MUNMAP, 1, 1, NONE, NONE }) },
    { "cpool_shrink, stocked", 0, make_stocked, shrink, grow_and_end, DRAWN,
      ROWS({ MMAP, 1, 1, 0, 0 },
           { MADVISE, 1, 1, DRAWN, DRAWN },
           { MUNMAP, 1, 1, DRAWN, DRAWN }) },
    { "cpool_destroy", 0, fault_make_used, destroy, start_anew, 0,
      ROWS({ MUNMAP, 1, 1, 0, 0 }) },
};

/* --- Typed pools --- */

struct job {
    char bytes[FAULT_SLOT];
};

CPOOL_DECLARE(jobs, struct job);
CPOOL_DEFINE(jobs, struct job, .capacity = FAULT_CAPACITY, .magazine_rounds = 8);

static int open_jobs(struct fault_scene *scene)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;

    (void)scene;
    config.capacity = FAULT_CAPACITY;
    return jobs_open(&config);
}

static int alloc_job(struct fault_scene *scene)
{
    scene->slot = jobs_alloc();
    return scene->slot != NULL ? SOME : NONE;
}

static void end_jobs(struct fault_scene *scene)
{
    scene->pool = jobs_pool();
    fault_require_whole(scene);
    REQUIRE_EQUAL(jobs_close(), 0);
}

static const struct fault_case typed[] = {
    { "cpool_typed_open_abi1", 0, NULL, open_jobs, end_jobs, 0,
      ROWS(FIRST_POOL(CPOOL_ENOMEM, 0, CPOOL_ENOMEM),
           { MMAP, 1, 1, 0, CPOOL_ENOMEM },
           { MPROTECT, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MMAP, 2, 2, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MMAP, 3, 3, 0, 0 },
           { MUNMAP, 1, 1, 0, 0 }) },
    { "cpool_typed_alloc_abi1, first of all", 0, NULL, alloc_job, end_jobs, SOME,
      ROWS(FIRST_POOL(NONE, SOME, NONE),
           { MMAP, 1, 1, SOME, NONE },
           { MPROTECT, 1, 1, NONE, NONE },
           { MMAP, 2, 2, NONE, NONE },
           { MMAP, 3, 3, SOME, NONE },
           { MUNMAP, 1, 1, SOME, NONE },
           { MMAP, 4, 4, SOME, NONE },
           { SETSPECIFIC, 1, 1, SOME, NONE },
           { MPROTECT, 2, 4, SOME, NONE }) },
};

TEST_FAULTS(refused_drawing_has_its_result, drawings)
TEST_FAULTS(refused_return_of_memory_has_its_result, returns)
TEST_FAULTS(refused_typed_pool_has_its_code, typed)

/* It would be another number, and no slot. */
TEST(refused_memory_makes_no_pool_grow)
{
    struct fault_scene scene = {.count = 0};

    refuse_init();
    fault_make(&scene);
    refuse_arm(REFUSE_MEMORY, 1, true);
    while ((scene.slots[scene.count] = cpool_alloc(scene.pool)) != NULL)
        scene.count++;
    refuse_disarm();
    ck_assert_uint_lt(scene.count, FAULT_CAPACITY);
    ck_assert_uint_eq(support_stats(scene.pool).capacity, FAULT_CAPACITY);
    ck_assert_uint_eq(support_stats(scene.pool).caches, 0);
    cpool_free(scene.pool, cpool_alloc(scene.pool)); /* a refused thread does not ask again soon */
    ck_assert_uint_eq(support_stats(scene.pool).caches, 0);
    cpool_free_bulk(scene.pool, scene.slots, scene.count);
    support_destroy_empty(scene.pool);
}
