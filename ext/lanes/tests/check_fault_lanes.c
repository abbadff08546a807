/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_fault_lanes.c - what the functions of lanes return when the system refuses one of their
 * calls.
 */
#include "fault_pool.h"

#include <cpool/lanes.h>

enum { LANES = 4 };

static int lanes_create(struct fault_scene *scene)
{
    cpool_config_t slots = fault_config(scene);
    cpool_lanes_config_t config = CPOOL_LANES_CONFIG_INIT;
    cpool_lanes_t *lanes;
    int code;

    config.slots = &slots;
    config.lanes = LANES;
    code = cpool_lanes_create(&lanes, &config);
    REQUIRE((code == 0) == (lanes != NULL));
    scene->object = lanes;
    return code;
}

static void make_lanes(struct fault_scene *scene)
{
    REQUIRE_EQUAL(lanes_create(scene), 0);
}

static void end_lanes(struct fault_scene *scene)
{
    size_t count = 0;

    for (size_t i = 0; i < LANES; i++)
        while (cpool_lane_alloc(scene->object, i) != NULL)
            count++;
    REQUIRE_EQUAL(count, FAULT_CAPACITY);
    REQUIRE_EQUAL(cpool_lanes_destroy(scene->object), CPOOL_ELIVE);
}

FAULT_CALL(lanes_destroy, cpool_lanes_destroy(scene->object))
FAULT_CALL(lane_alloc, cpool_lane_alloc(scene->object, 0) != NULL ? SOME : NONE)

static void make_lanes_and_slot(struct fault_scene *scene)
{
    make_lanes(scene);
    scene->memory = cpool_lane_alloc(scene->object, 0);
}

/* Into a lane that the slot was not taken from. */
FAULT_CALL(lane_free, (cpool_lane_free(scene->object, 1, scene->memory), 0))
FAULT_CALL(lanes_balance, (int)cpool_lanes_balance(scene->object))

static void end_lanes_empty(struct fault_scene *scene)
{
    REQUIRE_EQUAL(cpool_lanes_destroy(scene->object), CPOOL_ELIVE);
}

static const struct fault_case lanes[] = {
    { "cpool_lanes_create", 0, fault_start, lanes_create, end_lanes, 0,
      ROWS({ MMAP, 1, 2, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MMAP, 3, 3, 0, CPOOL_ENOMEM },
           { MPROTECT, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MPROTECT, 2, 3, 0, CPOOL_ENOMEM }) },
    { "cpool_lane_alloc", 0, make_lanes, lane_alloc, end_lanes_empty, SOME, NO_ROWS },
    { "cpool_lane_free", 0, make_lanes_and_slot, lane_free, end_lanes, 0, NO_ROWS },
    { "cpool_lanes_balance", 0, make_lanes, lanes_balance, end_lanes, FAULT_CAPACITY, NO_ROWS },
    { "cpool_lanes_destroy", 0, make_lanes, lanes_destroy, NULL, 0,
      ROWS({ MUNMAP, 1, 2, 0, 0 }) },
};

TEST_FAULTS(refused_lanes_have_their_code, lanes)
