/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_fault_memory.c - what the functions that draw memory beforehand, and those that give
 * it back, return when the system refuses one of their calls.
 */
#include "fault_pool.h"

#include <cpool/events.h>
#include "pool/layer.h"
#include <cpool/typed.h>

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Slots that are reserved, more than a magazine has, and that are given back. */
enum { RESERVED = 10, DRAWN = 100 };

/*
 * ---- Drawing -------------------------------------------------------------
 */

FAULT_CALL(reserve, cpool_reserve(scene->pool, RESERVED))
FAULT_CALL(reserve_all, cpool_reserve(scene->pool, FAULT_MOST))
FAULT_CALL(grow, (int)cpool_grow(scene->pool, SIZE_MAX))

/* Slots that lie in the depot, and were used. */
static void make_stocked(struct fault_scene *scene)
{
    fault_make(scene);
    scene->count = cpool_alloc_bulk(scene->pool, scene->slots, FAULT_MOST);
    for (size_t i = 0; i < scene->count; i++)
        memset(scene->slots[i], 1, FAULT_SLOT);
    cpool_free_bulk(scene->pool, scene->slots, scene->count);
    cpool_flush(scene->pool);
    scene->count = 0;
}

static const struct fault_case drawings[] = {
    { "cpool_reserve, first use", 0, fault_make, reserve, fault_end, 0,
      ROWS({ MADVISE, 1, 2, 0, CPOOL_ENOMEM },
           { MPROTECT, 1, 2, 0, CPOOL_ENOMEM },
           { MADVISE, 3, 3, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MMAP, 1, 1, 0, 0 },
           { MPROTECT, 3, 3, 0, 0 },
           { SETSPECIFIC, 1, 1, 0, 0 },
           { MPROTECT, 4, 4, 0, 0 }) },
    { "cpool_reserve, later", 0, fault_make_used, reserve, fault_end, 0,
      ROWS({ MADVISE, 1, 2, 0, CPOOL_ENOMEM },
           { MPROTECT, 1, 1, 0, CPOOL_ENOMEM },
           { MADVISE, 3, 3, CPOOL_ENOMEM, CPOOL_ENOMEM }) },
    { "cpool_reserve, all", 0, fault_make_used, reserve_all, fault_end, 0,
      ROWS({ MPROTECT, 1, 1, 0, CPOOL_ENOMEM },
           { MADVISE, 1, 1, 0, 0 },
           { MADVISE, 2, 2, 0, CPOOL_ENOMEM },
           { MADVISE, 3, 3, CPOOL_ENOMEM, CPOOL_ENOMEM }) },
    { "cpool_reserve, checked", CPOOL_CHECKED, fault_make_used, reserve, fault_end, 0,
      ROWS({ MADVISE, 1, 2, 0, CPOOL_ENOMEM },
           { MPROTECT, 1, 1, 0, CPOOL_ENOMEM },
           { MADVISE, 3, 5, CPOOL_ENOMEM, CPOOL_ENOMEM }) },
    { "cpool_grow", 0, fault_make, grow, fault_end, FAULT_MOST - FAULT_CAPACITY,
      ROWS({ MPROTECT, 1, 2, 50, 0 }) },
    { "cpool_grow, checked", CPOOL_CHECKED, fault_make, grow, fault_end,
      FAULT_MOST - FAULT_CAPACITY,
      ROWS({ MPROTECT, 1, 4, 50, 0 }) },
};

/*
 * ---- Giving back ---------------------------------------------------------
 */

/* Whether some memory went back. */
FAULT_CALL(trim, cpool_trim(scene->pool) > 0 ? SOME : NONE)
FAULT_CALL(shrink, (int)cpool_shrink(scene->pool, DRAWN))

/* All slots that were taken away can be had again. */
static void grow_and_end(struct fault_scene *scene)
{
    cpool_grow(scene->pool, SIZE_MAX);
    fault_end(scene);
}

static void make_live(struct fault_scene *scene)
{
    fault_make(scene);
    scene->count = cpool_alloc_bulk(scene->pool, scene->slots, DRAWN);
    for (size_t i = 0; i < scene->count; i++)
        memset(scene->slots[i], 1, FAULT_SLOT);
}

static int discard(struct fault_scene *scene)
{
    return cpi_layer_discard(scene->pool, cpool_at(scene->pool, 0), DRAWN) > 0 ? SOME : NONE;
}

FAULT_CALL(reset, (int)cpool_reset(scene->pool))

static void forget_and_end(struct fault_scene *scene)
{
    scene->count = 0;
    fault_end(scene);
}

static const struct fault_case returns[] = {
    { "cpool_trim", 0, make_stocked, trim, fault_end, SOME,
      ROWS({ MMAP, 1, 1, NONE, NONE },
           { MINCORE, 1, 1, SOME, NONE },
           { MADVISE, 1, 1, NONE, NONE },
           { MUNMAP, 1, 1, SOME, SOME }) },
    { "cpool_trim, checked", CPOOL_CHECKED, make_stocked, trim, fault_end, NONE,
      ROWS({ MMAP, 1, 1, NONE, NONE },
           { MUNMAP, 1, 1, NONE, NONE }) },
    { "cpool_shrink, fresh slots", 0, fault_make, shrink, grow_and_end, DRAWN, NO_ROWS },
    { "cpool_shrink, stocked", 0, make_stocked, shrink, grow_and_end, DRAWN,
      ROWS({ MMAP, 1, 1, 0, 0 },
           { MADVISE, 1, 1, DRAWN, DRAWN },
           { MUNMAP, 1, 1, DRAWN, DRAWN }) },
    { "cpi_layer_discard", 0, make_live, discard, fault_end, SOME,
      ROWS({ MINCORE, 1, 1, SOME, NONE },
           { MADVISE, 1, 1, NONE, NONE }) },
    { "cpool_reset", 0, make_live, reset, forget_and_end, DRAWN, NO_ROWS },
};

/*
 * ---- The end -------------------------------------------------------------
 */

FAULT_CALL(destroy, cpool_destroy(scene->pool))

static void start_anew(struct fault_scene *scene)
{
    fault_make(scene);
    fault_end(scene);
}

static void make_reserved(struct fault_scene *scene)
{
    cpool_config_t config = fault_config(scene);

    if (scene->memory == NULL) {
        scene->object = (void *)cpi_layer_memory_required(&config);
        scene->memory = mmap(NULL, (size_t)scene->object, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
                             -1, 0);
        REQUIRE(scene->memory != MAP_FAILED);
    }
    config.memory = scene->memory;
    config.memory_size = (size_t)scene->object;
    REQUIRE_EQUAL(cpi_layer_create(&scene->pool, &config, CPI_LAYER_RESERVED), 0);
}

static void unmap_reserved(struct fault_scene *scene)
{
    munmap(scene->memory, (size_t)scene->object);
}

static int memory_required(struct fault_scene *scene)
{
    cpool_config_t config = fault_config(scene);

    return cpool_memory_required(&config) > 0 ? SOME : NONE;
}

static const struct fault_case ends[] = {
    { "cpool_destroy", 0, fault_make_used, destroy, start_anew, 0,
      ROWS({ MUNMAP, 1, 1, 0, 0 }) },
    { "cpool_destroy, reserved", 0, make_reserved, destroy, unmap_reserved, 0, NO_ROWS },
    { "cpool_memory_required", 0, NULL, memory_required, NULL, SOME, NO_ROWS },
    { "cpool_memory_required, huge pages", CPOOL_MEMORY_HUGE_PAGES, NULL, memory_required, NULL,
      SOME,
      NO_ROWS },
};

/*
 * ---- Typed pools ---------------------------------------------------------
 */

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

static int pool_of_jobs(struct fault_scene *scene)
{
    scene->pool = jobs_pool();
    return scene->pool != NULL ? SOME : NONE;
}

static int alloc_job(struct fault_scene *scene)
{
    scene->slot = jobs_alloc();
    return scene->slot != NULL ? SOME : NONE;
}

static void open_before(struct fault_scene *scene)
{
    REQUIRE_EQUAL(open_jobs(scene), 0);
}

static void open_with_job(struct fault_scene *scene)
{
    open_before(scene);
    scene->slot = cpool_depot_alloc(jobs_pool());
}

static int free_job(struct fault_scene *scene)
{
    jobs_free(scene->slot);
    scene->slot = NULL;
    return 0;
}

static void open_and_use(struct fault_scene *scene)
{
    open_before(scene);
    jobs_free(jobs_alloc());
}

FAULT_CALL(close_jobs, jobs_close())

static void end_jobs(struct fault_scene *scene)
{
    scene->pool = jobs_pool();
    fault_require_whole(scene);
    REQUIRE_EQUAL(jobs_close(), 0);
}

static const struct fault_case typed[] = {
    { "cpool_typed_open_abi1", 0, NULL, open_jobs, end_jobs, 0,
      ROWS(FIRST_POOL(CPOOL_ESYSTEM, 0, CPOOL_ENOMEM),
           { MMAP, 1, 1, 0, CPOOL_ENOMEM },
           { MPROTECT, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MMAP, 2, 2, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MMAP, 3, 3, 0, 0 },
           { MUNMAP, 1, 1, 0, 0 }) },
    { "cpool_typed_pool_abi1", 0, NULL, pool_of_jobs, end_jobs, SOME,
      ROWS(FIRST_POOL(NONE, SOME, NONE),
           { MMAP, 1, 1, SOME, NONE },
           { MPROTECT, 1, 1, NONE, NONE },
           { MMAP, 2, 2, NONE, NONE },
           { MMAP, 3, 3, SOME, SOME },
           { MUNMAP, 1, 1, SOME, SOME }) },
    { "cpool_typed_alloc_abi1, first of all", 0, NULL, alloc_job, end_jobs, SOME,
      ROWS(FIRST_POOL(NONE, SOME, NONE),
           { MMAP, 1, 1, SOME, NONE },
           { MPROTECT, 1, 1, NONE, NONE },
           { MMAP, 2, 2, NONE, NONE },
           { MMAP, 3, 3, SOME, NONE },
           { MUNMAP, 1, 1, SOME, NONE },
           { MMAP, 4, 4, SOME, NONE },
           { MPROTECT, 2, 2, SOME, NONE },
           { SETSPECIFIC, 1, 1, SOME, NONE },
           { MPROTECT, 3, 5, SOME, NONE }) },
    { "cpool_typed_alloc_abi1, first use", 0, open_before, alloc_job, end_jobs, SOME,
      ROWS(FIRST_USE(4, SOME, NONE)) },
    { "cpool_typed_free_abi1, first use", 0, open_with_job, free_job, end_jobs, 0,
      ROWS(FIRST_USE(2, 0, 0)) },
    { "cpool_typed_close_abi1", 0, open_and_use, close_jobs, end_jobs, 0,
      ROWS({ MUNMAP, 1, 1, 0, 0 }) },
};

enum {
    DRAWINGS = sizeof drawings / sizeof drawings[0],
    RETURNS = sizeof returns / sizeof returns[0],
    ENDS = sizeof ends / sizeof ends[0],
    TYPED = sizeof typed / sizeof typed[0],
};

TEST_TIMES(refused_drawing_has_its_result, DRAWINGS)
{
    fault_run(&drawings[_i]);
}

TEST_TIMES(refused_return_of_memory_has_its_result, RETURNS)
{
    fault_run(&returns[_i]);
}

TEST_TIMES(refused_end_ends_all_the_same, ENDS)
{
    fault_run(&ends[_i]);
}

TEST_TIMES(refused_typed_pool_has_its_code, TYPED)
{
    fault_run(&typed[_i]);
}

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
    cpool_free_bulk(scene.pool, scene.slots, scene.count);
    support_destroy_empty(scene.pool);
}
