/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * steps_objects.h - object pools without hooks.
 *
 * Includes steps.h.
 */
#ifndef STEPS_OBJECTS_H
#define STEPS_OBJECTS_H

#include "steps.h" /* first: it says which system interfaces are wanted */

#include <cpool/object.h>

static inline cpool_objects_t *steps_objects(size_t capacity)
{
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_objects_t *pool;

    type.object_size = 64;
    config.type = &type;
    config.capacity = capacity;
    REQUIRE_EQUAL(cpool_objects_create(&pool, &config), 0);
    return pool;
}

#endif /* STEPS_OBJECTS_H */
