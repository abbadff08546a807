/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_object.c - a trim of an object pool stops at each of its steps, and another
 * thread gets an object meanwhile, or forks and gets one in the child.
 *
 * Includes steps.h.
 */
#include "steps.h" /* first: it says which system interfaces are wanted */

#include <cpool/object.h>

enum { OBJECTS = 4 };

static cpool_objects_t *make_pool(void)
{
    cpool_object_config_t config = CPOOL_OBJECT_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_objects_t *pool;
    void *objects[OBJECTS];

    type.object_size = 64;
    config.type = &type;
    config.capacity = OBJECTS;
    REQUIRE_EQUAL(cpool_objects_create(&pool, &config), 0);
    for (int i = 0; i < OBJECTS; i++) {
        objects[i] = cpool_object_get(pool);
        REQUIRE(objects[i] != NULL);
    }
    for (int i = 0; i < OBJECTS; i++)
        REQUIRE_EQUAL(cpool_object_put(pool, objects[i]), 0);
    REQUIRE_EQUAL(cpool_object_shrink(pool, OBJECTS, 0), OBJECTS);
    REQUIRE_EQUAL(cpool_object_grow(pool, OBJECTS), OBJECTS);
    return pool;
}

static void trim(void *pool)
{
    (void)cpool_objects_trim(pool);
}

static void get_all(void *pool)
{
    void *object;

    for (int i = 0; i < OBJECTS; i++)
        REQUIRE_EQUAL(cpool_object_obtain(pool, &object, NULL), 0);
    REQUIRE_EQUAL(cpool_object_obtain(pool, &object, NULL), CPOOL_EDRY);
}

static bool get_beside_trim(struct worker *worker, bool forks, size_t nth)
{
    cpool_objects_t *pool = make_pool();
    struct steps_stop stop;
    bool stopped = steps_run(&stop, worker, NULL, nth, trim, pool);

    if (forks)
        support_in_child(get_all, pool);
    else
        get_all(pool);
    steps_go_on(&stop);
    if (!forks)
        REQUIRE_EQUAL(cpool_objects_put_all(pool), OBJECTS);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
    return stopped;
}

START_TEST(every_object_can_be_had_beside_a_trim)
{
    struct worker *worker = worker_start();
    size_t nth = 1;

    while (get_beside_trim(worker, _i == 1, nth))
        nth++;
    REQUIRE(nth > 1);
    worker_stop(worker);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(every_object_can_be_had_beside_a_trim, 2),
    };

    return SUPPORT_RUN("steps_object", tests);
}
