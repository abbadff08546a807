/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_object_fork.c - a process forks while a thread stands still at any step of a put, and
 * the child destroys the pool.
 *
 * Includes steps.h.
 */
#include "steps.h" /* first: it says which system interfaces are wanted */

#include <cpool/object.h>

enum { OBJECTS = 4 };

static cpool_objects_t *pool;
static void *held;

static void get(void *unused)
{
    (void)unused;
    held = cpool_object_get(pool);
    REQUIRE(held != NULL);
}

static void put(void *unused)
{
    (void)unused;
    cpool_object_put(pool, held);
}

/* An object that the thread took along counts as active. */
static void destroy_in_child(void *unused)
{
    size_t objects;

    (void)unused;
    steps_allow(0);
    while (cpool_object_get(pool) != NULL)
        ;
    objects = cpool_objects_reset(pool, SIZE_MAX);
    REQUIRE(objects <= OBJECTS);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), objects < OBJECTS ? CPOOL_ELIVE : 0);
}

static bool fork_beside_put(unsigned flags, struct worker *worker, size_t nth)
{
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    struct steps_stop stop;
    bool stopped;

    type.object_size = 64;
    config.type = &type;
    config.capacity = OBJECTS;
    config.populate = OBJECTS;
    config.flags = flags;
    REQUIRE_EQUAL(cpool_objects_create(&pool, &config), 0);
    worker_do(worker, get, NULL);
    stopped = steps_run(&stop, worker, NULL, nth, put, NULL);
    support_in_child(destroy_in_child, NULL);
    steps_go_on(&stop);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
    return stopped;
}

TEST_TIMES(object_of_a_put_that_vanished_counts_as_active, 2)
{
    const unsigned flags[] = {0, CPOOL_OBJECT_COUNTED};
    STEPS_SWEEP(fork_beside_put(flags[_i], worker, nth), 1, 2);
}
