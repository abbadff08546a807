/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_fault_objects.c - what the functions of object pools return when the system refuses one
 * of their calls.
 */
#include "fault_pool.h"

#include <cpool/object.h>
#include <cpool/priority.h>

#include <string.h>

/*
 * ---- Objects -------------------------------------------------------------
 */

enum { OBJECTS = 100, POPULATED = 10 };

/* Objects that the first step of memory has room for. */
enum { EDGE = 65536 / FAULT_SLOT };

struct thing {
    char bytes[FAULT_SLOT];
};

static int create_object(void *object, void *created)
{
    memset(object, 1, FAULT_SLOT);
    ++*(size_t *)created;
    return 0;
}

static void destroy_object(void *object, void *created)
{
    REQUIRE_EQUAL(((const unsigned char *)object)[FAULT_SLOT - 1], 1);
    --*(size_t *)created;
}

static size_t created;

static int create_with(struct fault_scene *scene, size_t populate)
{
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_objects_t *pool;
    int code;

    type.object_size = FAULT_SLOT;
    type.create = create_object;
    type.destroy = destroy_object;
    type.arg = &created;
    config.type = &type;
    config.capacity = OBJECTS;
    config.max_capacity = OBJECTS;
    config.populate = populate;
    config.flags = scene->flags;
    code = cpool_objects_create(&pool, &config);
    REQUIRE((code == 0) == (pool != NULL));
    REQUIRE(code == 0 || created == 0);
    scene->object = pool;
    return code;
}

FAULT_CALL(objects_create, create_with(scene, 0))
FAULT_CALL(objects_create_populated, create_with(scene, POPULATED))

static void make_objects(struct fault_scene *scene)
{
    REQUIRE_EQUAL(objects_create(scene), 0);
}

static void make_populated(struct fault_scene *scene)
{
    REQUIRE_EQUAL(objects_create_populated(scene), 0);
}

static int object_get(struct fault_scene *scene)
{
    scene->slot = cpool_object_get(scene->object);
    return scene->slot != NULL ? SOME : NONE;
}

static int object_obtain(struct fault_scene *scene)
{
    int code = cpool_object_get_with(scene->object, &scene->slot, NULL);

    REQUIRE((code == 0) == (scene->slot != NULL));
    return code;
}

static int object_populate_one(struct fault_scene *scene)
{
    int code;
    size_t count = cpool_objects_populate(scene->object, 1, &code);

    REQUIRE_EQUAL(count, code == 0);
    return code;
}

/* Until all that were wanted are there. */
static int object_populate(struct fault_scene *scene)
{
    cpool_objects_stats_t stats = CPOOL_OBJECTS_STATS_INIT;
    int code;

    REQUIRE_EQUAL(cpool_objects_read_stats(scene->object, &stats), 0);
    (void)cpool_objects_populate(scene->object, POPULATED - stats.objects, &code);
    return code;
}

static void make_shrunk(struct fault_scene *scene)
{
    make_populated(scene);
    REQUIRE_EQUAL(cpool_objects_resize(scene->object, -OBJECTS, 0), OBJECTS);
    REQUIRE_EQUAL(created, 0);
}

FAULT_CALL(object_shrink, (int)cpool_objects_resize(scene->object, -OBJECTS, 0))

static void make_with_object(struct fault_scene *scene)
{
    make_objects(scene);
    REQUIRE_EQUAL(object_get(scene), SOME);
}

static int object_put(struct fault_scene *scene)
{
    void *object = scene->slot;

    scene->slot = NULL;
    cpool_object_put(scene->object, object);
    return 0;
}

static int object_release(struct fault_scene *scene)
{
    void *object = scene->slot;

    scene->slot = NULL;
    cpool_object_release(object);
    return 0;
}

static int objects_put_all(struct fault_scene *scene)
{
    scene->slot = NULL;
    return (int)cpool_objects_reset(scene->object, SIZE_MAX);
}

FAULT_CALL(object_grow, (int)cpool_objects_resize(scene->object, OBJECTS, 0))
FAULT_CALL(objects_destroy, cpool_objects_destroy(scene->object))

/* Every object can be had, and each that was created is destroyed. */
static void end_objects(struct fault_scene *scene)
{
    size_t count = 0;

    if (scene->slot != NULL)
        cpool_object_put(scene->object, scene->slot);
    cpool_objects_resize(scene->object, OBJECTS, 0);
    while (count <= OBJECTS && (scene->slots[count] = cpool_object_get(scene->object)) != NULL)
        count++;
    REQUIRE_EQUAL(count, OBJECTS);
    while (count-- > 0)
        cpool_object_put(scene->object, scene->slots[count]);
    REQUIRE_EQUAL(cpool_objects_destroy(scene->object), 0);
    REQUIRE_EQUAL(created, 0);
}

static void nothing_left(struct fault_scene *scene)
{
    (void)scene;
    REQUIRE_EQUAL(created, 0);
}

/* The next object needs memory of the system's. */
static void make_at_the_edge(struct fault_scene *scene)
{
    make_objects(scene);
    for (; scene->count < EDGE; scene->count++)
        REQUIRE((scene->slots[scene->count] = cpool_object_get(scene->object)) != NULL);
}

static void end_from_the_edge(struct fault_scene *scene)
{
    while (scene->count-- > 0)
        cpool_object_put(scene->object, scene->slots[scene->count]);
    end_objects(scene);
}

CPOOL_OBJECTS_DECLARE(things, struct thing);
CPOOL_OBJECTS_DEFINE(things, struct thing,
                     CPOOL_OBJECT_HOOKS(.create = create_object, .destroy = destroy_object,
                                        .arg = &created),
                     .capacity = OBJECTS);

static int typed_open(struct fault_scene *scene)
{
    int code = things_open(NULL);

    scene->object = code == 0 ? things_objects() : NULL;
    return code;
}

static int typed_pool(struct fault_scene *scene)
{
    scene->object = things_objects();
    return scene->object != NULL ? SOME : NONE;
}

static void open_typed(struct fault_scene *scene)
{
    fault_start(scene);
    REQUIRE_EQUAL(typed_open(scene), 0);
}

FAULT_CALL(typed_close, things_close())

static void end_typed(struct fault_scene *scene)
{
    (void)scene;
    REQUIRE_EQUAL(things_close(), 0);
}

static const struct fault_case objects[] = {
    { "cpool_objects_create", 0, NULL, objects_create, end_objects, 0,
      ROWS({ MMAP, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { CALLOC, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { CALLOC, 2, 2, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { ATEXIT, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { KEY_CREATE, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MEMBARRIER, 1, 1, 0, CPOOL_ENOMEM },
           { MEMBARRIER, 2, 2, 0, CPOOL_ENOMEM },
           { MMAP, 2, 2, 0, CPOOL_ENOMEM },
           { MPROTECT, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MMAP, 3, 3, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MMAP, 4, 4, 0, CPOOL_ENOMEM },
           { MUNMAP, 1, 1, 0, CPOOL_ENOMEM },
           { MPROTECT, 2, 2, 0, CPOOL_ENOMEM },
           { MPROTECT, 3, 3, 0, CPOOL_ENOMEM }) },
    { "cpool_objects_create, populated", 0, fault_start, objects_create_populated, end_objects, 0,
      ROWS({ MMAP, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { CALLOC, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { CALLOC, 2, 2, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MMAP, 2, 2, 0, CPOOL_ENOMEM },
           { MPROTECT, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MPROTECT, 2, 2, 0, CPOOL_ENOMEM },
           { MPROTECT, 3, 3, 0, CPOOL_ENOMEM },
           { MMAP, 3, 3, 0, 0 },
           { SETSPECIFIC, 1, 1, 0, 0 },
           { MPROTECT, 4, 4, 0, 0 }) },
    { "cpool_objects_create, traced", CPOOL_OBJECT_TRACED, fault_start, objects_create, end_objects,
      0,
      ROWS({ MMAP, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { CALLOC, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { CALLOC, 2, 2, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { CALLOC, 3, 3, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MMAP, 2, 2, 0, CPOOL_ENOMEM },
           { MPROTECT, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MPROTECT, 2, 2, 0, CPOOL_ENOMEM },
           { MPROTECT, 3, 3, 0, CPOOL_ENOMEM }) },
    { "cpool_objects_create, fake", CPOOL_OBJECT_FAKE, NULL, objects_create, end_objects, 0,
      ROWS({ MMAP, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { CALLOC, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { CALLOC, 2, 2, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { CALLOC, 3, 3, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { ATEXIT, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { KEY_CREATE, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MEMBARRIER, 1, 1, 0, CPOOL_ENOMEM },
           { MEMBARRIER, 2, 2, 0, CPOOL_ENOMEM },
           { MMAP, 2, 2, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MMAP, 3, 3, 0, 0 },
           { MUNMAP, 1, 1, 0, 0 }) },
    { "cpool_object_get", 0, make_objects, object_get, end_objects, SOME,
      ROWS(FIRST_USE(2, SOME, SOME)) },
    { "cpool_object_get, fake", CPOOL_OBJECT_FAKE, make_objects, object_get, end_objects, SOME,
      ROWS({ MALLOC, 1, 1, NONE, NONE }) },
    { "cpool_object_get, more memory", 0, make_at_the_edge, object_get, end_from_the_edge, SOME,
      ROWS({ MPROTECT, 1, 1, SOME, NONE }) },
    { "cpool_object_get_with, more memory", 0, make_at_the_edge, object_obtain, end_from_the_edge,
      0, ROWS({ MPROTECT, 1, 1, 0, CPOOL_ENOMEM }) },
    { "cpool_objects_populate, more memory", 0, make_at_the_edge, object_populate_one,
      end_from_the_edge,
      0,
      ROWS({ MPROTECT, 1, 1, 0, CPOOL_ENOMEM }) },
    { "cpool_typed_objects_open_abi1", 0, fault_start, typed_open, end_typed, 0,
      ROWS({ MMAP, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { CALLOC, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { CALLOC, 2, 2, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MMAP, 2, 2, 0, CPOOL_ENOMEM },
           { MPROTECT, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MPROTECT, 2, 2, 0, CPOOL_ENOMEM },
           { MPROTECT, 3, 3, 0, CPOOL_ENOMEM }) },
    { "cpool_typed_objects_open_abi1, first use", 0, fault_start, typed_pool, end_typed, SOME,
      ROWS({ MMAP, 1, 1, NONE, NONE },
           { CALLOC, 1, 1, NONE, NONE },
           { CALLOC, 2, 2, NONE, NONE },
           { MMAP, 2, 2, SOME, NONE },
           { MPROTECT, 1, 1, NONE, NONE },
           { MPROTECT, 2, 2, SOME, NONE },
           { MPROTECT, 3, 3, SOME, NONE }) },
    { "cpool_typed_objects_close_abi1", 0, open_typed, typed_close, nothing_left, 0,
      ROWS({ MUNMAP, 1, 1, 0, 0 }) },
    { "cpool_object_get_with", 0, make_objects, object_obtain, end_objects, 0,
      ROWS(FIRST_USE(2, 0, 0)) },
    { "cpool_object_get_with, fake", CPOOL_OBJECT_FAKE, make_objects, object_obtain, end_objects, 0,
      ROWS({ MALLOC, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM }) },
    { "cpool_objects_populate", 0, make_objects, object_populate, end_objects, 0,
      ROWS(FIRST_USE(2, 0, 0)) },
    { "cpool_object_put", 0, make_with_object, object_put, end_objects, 0, NO_ROWS },
    { "cpool_object_put, fake", CPOOL_OBJECT_FAKE, make_with_object, object_put, end_objects, 0,
      NO_ROWS },
    { "cpool_object_release", 0, make_with_object, object_release, end_objects, 0, NO_ROWS },
    { "cpool_objects_reset", 0, make_with_object, objects_put_all, end_objects, 1, NO_ROWS },
    { "cpool_objects_resize, more", 0, make_shrunk, object_grow, end_objects, OBJECTS, NO_ROWS },
    { "cpool_objects_resize, fewer", 0, make_populated, object_shrink, end_objects, OBJECTS,
      ROWS({ MADVISE, 1, 1, OBJECTS, OBJECTS }) },
    { "cpool_objects_destroy", 0, make_with_object, objects_destroy, nothing_left, CPOOL_ELIVE,
      ROWS({ MUNMAP, 1, 1, CPOOL_ELIVE, CPOOL_ELIVE }) },
};

/*
 * ---- Priorities ----------------------------------------------------------
 */

static cpool_claim_t claimed;

static int priority_obtain(struct fault_scene *scene)
{
    cpool_grant_t grant = CPOOL_GRANT_INIT;
    int code = cpool_object_get_with(scene->object, &scene->slot, &grant);

    claimed = grant.claim;
    REQUIRE((code == 0) == (scene->slot != NULL));
    return code;
}

static void make_claimed(struct fault_scene *scene)
{
    make_objects(scene);
    REQUIRE_EQUAL(priority_obtain(scene), 0);
}

FAULT_CALL(priority_set, cpool_priority_set(scene->object, claimed, 2))

FAULT_CALL(priority_put, cpool_priority_put(scene->object, claimed))
FAULT_CALL(priority_reclaim, (int)cpool_objects_reset(scene->object, 1))

/* Here a pool is never dry. */
static void end_priorities(struct fault_scene *scene)
{
    for (int i = 0; i < OBJECTS; i++)
        REQUIRE(cpool_object_get(scene->object) != NULL);
    REQUIRE(cpool_object_get(scene->object) != NULL);
    REQUIRE_EQUAL(cpool_objects_reset(scene->object, SIZE_MAX), OBJECTS);
    REQUIRE_EQUAL(cpool_objects_destroy(scene->object), 0);
    REQUIRE_EQUAL(created, 0);
}

static const struct fault_case priorities[] = {
    { "cpool_objects_create", CPOOL_OBJECT_PRIORITY, fault_start, objects_create, end_priorities, 0,
      ROWS({ MMAP, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { CALLOC, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { CALLOC, 2, 2, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { CALLOC, 3, 3, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { CALLOC, 4, 4, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { CALLOC, 5, 5, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { CALLOC, 6, 6, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MMAP, 2, 2, 0, CPOOL_ENOMEM },
           { MPROTECT, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MPROTECT, 2, 2, 0, CPOOL_ENOMEM },
           { MPROTECT, 3, 3, 0, CPOOL_ENOMEM }) },
    { "cpool_object_get_with", CPOOL_OBJECT_PRIORITY, make_objects, priority_obtain, end_priorities,
      0, ROWS(FIRST_USE(2, 0, 0)) },
    { "cpool_priority_set", CPOOL_OBJECT_PRIORITY, make_claimed, priority_set, end_priorities, 0,
      NO_ROWS },
    { "cpool_priority_put", CPOOL_OBJECT_PRIORITY, make_claimed, priority_put, end_priorities, 0,
      NO_ROWS },
    { "cpool_objects_reset", CPOOL_OBJECT_PRIORITY, make_claimed, priority_reclaim, end_priorities,
      1, NO_ROWS },
};

TEST_FAULTS(refused_object_has_its_code, objects)
TEST_FAULTS(refused_priorities_have_their_code, priorities)
