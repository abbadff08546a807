/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_fault_wait.c - what the functions that wait for a slot return when the system refuses one
 * of their calls.
 */
#include "waiter.h"

#include "fault_pool.h"
#include "inside_wait.h"

/* A wait that is over before it sleeps. */
static const struct timespec shortest = { 0, 1 };

FAULT_CALL(alloc_wait, fault_keep(scene, cpool_alloc_wait(scene->pool, &shortest)))
FAULT_CALL(alloc_wait_for_ever, fault_keep(scene, cpool_alloc_wait(scene->pool, NULL)))
FAULT_CALL(alloc_or_notify, fault_keep(scene, cpool_alloc_or_notify(scene->pool)))

static void free_when_one_sleeps(void *argument)
{
    struct fault_scene *scene = argument;

    waiter_await_sleep(scene->pool, 1);
    cpool_free_uncached(scene->pool, scene->slots[scene->count]);
}

/* Another thread frees a slot as soon as there is a thread that sleeps.  That one sleeps once:
 * it does not starve. */
static void make_dry_until_one_sleeps(struct fault_scene *scene)
{
    fault_make_dry(scene);
    inside(scene->pool)->waiters.starving_after = UINT64_MAX / 2;
    scene->count--;
    scene->object = worker_start();
    worker_begin(scene->object, free_when_one_sleeps, scene);
}

static void end_beside_a_worker(struct fault_scene *scene)
{
    worker_await(scene->object);
    worker_stop(scene->object);
    fault_end(scene);
}

static void ignore(cpool_t *pool, void *nothing)
{
    (void)pool;
    (void)nothing;
}

FAULT_CALL(set_ready, cpool_set_ready(scene->pool, ignore, NULL))
FAULT_CALL(wait_close, (int)cpool_wait_close(scene->pool))

static const struct fault_case slots[] = {
    { "cpool_alloc_wait", 0, fault_make, alloc_wait, fault_end, SOME,
      ROWS(FIRST_USE(4, SOME, NONE)) },
    { "cpool_alloc_wait, dry", 0, fault_make_dry, alloc_wait, fault_end, NONE,
      ROWS({ COND_ATTR, 1, 2, NONE, NONE },
           { COND_INIT, 1, 1, NONE, NONE },
           { MEMBARRIER, 1, 1, NONE, NONE }) },
    { "cpool_alloc_wait, beside a cache", 0, fault_make_dry_beside_a_cache, alloc_wait,
      fault_end_beside_a_cache, SOME,
      ROWS({ COND_ATTR, 1, 2, SOME, SOME },
           { COND_INIT, 1, 1, SOME, SOME },
           { MEMBARRIER, 1, 2, SOME, NONE }) },
    { "cpool_alloc_wait, asleep", 0, make_dry_until_one_sleeps, alloc_wait_for_ever,
      end_beside_a_worker, SOME,
      ROWS({ COND_ATTR, 1, 2, NONE, NONE },
           { COND_INIT, 1, 1, NONE, NONE },
           { MEMBARRIER, 1, 1, SOME, SOME }) },
    { "cpool_alloc_wait, more memory", 0, fault_make_at_the_edge, alloc_wait,
      fault_end, SOME,
      ROWS(FIRST_USE(2, SOME, SOME)) },
    { "cpool_alloc_or_notify, dry", 0, fault_make_dry, alloc_or_notify, fault_end,
      NONE,
      ROWS({ MEMBARRIER, 1, 1, NONE, NONE }) },
    { "cpool_alloc_or_notify", 0, fault_make, alloc_or_notify, fault_end, SOME,
      ROWS(FIRST_USE(4, SOME, NONE)) },
    { "cpool_set_ready", 0, fault_make, set_ready, fault_end, 0, NO_ROWS },
    { "cpool_wait_close", 0, fault_make, wait_close, fault_end, 0, NO_ROWS },
};

TEST_FAULTS(refused_wait_for_a_slot_has_its_result, slots)
