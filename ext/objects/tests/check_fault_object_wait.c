/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_fault_object_wait.c - what a wait for an object returns when the system refuses one of its
 * calls.
 *
 * Includes waiter.h, and pool.h to keep waiters from starving.
 */
#include "waiter.h"

#include <cpool/object.h>

#include "fault_pool.h"
#include "inside_wait.h"

enum { OBJECTS = 100 };

static void make_objects(struct fault_scene *scene)
{
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_objects_t *pool;

    type.object_size = FAULT_SLOT;
    config.type = &type;
    config.capacity = OBJECTS;
    config.max_capacity = OBJECTS;
    config.flags = CPOOL_OBJECT_WAITABLE;
    REQUIRE_EQUAL(cpool_objects_create(&pool, &config), 0);
    scene->object = pool;
}

static void take_objects(struct fault_scene *scene, size_t count)
{
    for (; scene->count < count; scene->count++)
        REQUIRE((scene->slots[scene->count] = cpool_object_get(scene->object)) != NULL);
}

static size_t committed(const struct fault_scene *scene)
{
    return support_stats(cpool_objects_pool(scene->object)).committed_bytes;
}

static int put_objects(struct fault_scene *scene)
{
    while (scene->count > 0)
        cpool_object_put(scene->object, scene->slots[--scene->count]);
    return cpool_objects_destroy(scene->object);
}

/* The next get needs memory of the system's: there was a pool in which it did. */
static void make_objects_at_the_edge(struct fault_scene *scene)
{
    size_t edge = 0;
    size_t bytes;

    make_objects(scene);
    bytes = committed(scene);
    while (committed(scene) == bytes) {
        edge = scene->count;
        scene->slots[scene->count++] = cpool_object_get(scene->object);
        REQUIRE(scene->count < OBJECTS);
    }
    REQUIRE_EQUAL(put_objects(scene), 0);
    make_objects(scene);
    take_objects(scene, edge);
}

static void make_objects_dry(struct fault_scene *scene)
{
    make_objects(scene);
    take_objects(scene, OBJECTS);
}

static void get_one(void *argument)
{
    struct fault_scene *scene = argument;

    REQUIRE((scene->slots[OBJECTS - 1] = cpool_object_get(scene->object)) != NULL);
}

static void put_when_one_sleeps(void *argument)
{
    struct fault_scene *scene = argument;

    waiter_await_sleep(cpool_objects_pool(scene->object), 1);
    cpool_object_put(scene->object, scene->slots[OBJECTS - 1]);
}

/* Another thread puts an object as soon as there is a thread that sleeps.  That one sleeps once:
 * it does not starve.  The other thread has its cache before. */
static void make_objects_dry_until_one_sleeps(struct fault_scene *scene)
{
    make_objects(scene);
    inside(cpool_objects_pool(scene->object))->waiters.starving_after = UINT64_MAX / 2;
    scene->memory = worker_start();
    worker_do(scene->memory, get_one, scene);
    take_objects(scene, OBJECTS - 1);
    worker_begin(scene->memory, put_when_one_sleeps, scene);
}

static int wait_for(struct fault_scene *scene, uint64_t wait)
{
    cpool_grant_t grant = CPOOL_GRANT_INIT;
    int code;

    grant.wait_ns = wait;
    code = cpool_object_get_with(scene->object, &scene->slot, &grant);
    REQUIRE((code == 0) == (scene->slot != NULL));
    return code;
}

static int object_wait(struct fault_scene *scene)
{
    return wait_for(scene, 1);
}

FAULT_CALL(object_wait_for_ever, wait_for(scene, UINT64_MAX))

static void end_objects(struct fault_scene *scene)
{
    size_t count = 0;

    cpool_object_put(scene->object, scene->slot);
    while (scene->count > 0)
        cpool_object_put(scene->object, scene->slots[--scene->count]);
    while (count <= OBJECTS && (scene->slots[count] = cpool_object_get(scene->object)) != NULL)
        count++;
    REQUIRE_EQUAL(count, OBJECTS);
    scene->count = count;
    REQUIRE_EQUAL(put_objects(scene), 0);
}

static void end_objects_beside_a_worker(struct fault_scene *scene)
{
    worker_await(scene->memory);
    worker_stop(scene->memory);
    end_objects(scene);
}

static const struct fault_case objects[] = {
    { "cpool_object_get_with", 0, make_objects, object_wait, end_objects, 0,
      ROWS({ MPROTECT, 1, 1, 0, 0 }) },
    { "cpool_object_get_with, more memory", 0, make_objects_at_the_edge, object_wait, end_objects,
      0, ROWS({ MPROTECT, 1, 1, 0, 0 }) },
    { "cpool_object_get_with, dry", 0, make_objects_dry, object_wait, end_objects, CPOOL_EDRY,
      ROWS({ MEMBARRIER, 1, 1, CPOOL_EDRY, CPOOL_EDRY }) },
    { "cpool_object_get_with, asleep", 0, make_objects_dry_until_one_sleeps, object_wait_for_ever,
      end_objects_beside_a_worker, 0,
      ROWS({ COND_ATTR, 1, 2, CPOOL_EDRY, CPOOL_EDRY },
           { COND_INIT, 1, 1, CPOOL_EDRY, CPOOL_EDRY },
           { MEMBARRIER, 1, 1, 0, 0 }) },
};

TEST_FAULTS(refused_wait_for_an_object_has_its_code, objects)
