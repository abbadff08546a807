/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_objects.c - object pools that grow and shrink under load, and hooks that fail.
 *
 * Includes worker.h.  Each object keeps its own state: the hooks notice if they are called for an
 * object in the wrong state, and its holder notices if it is not the only one.  At the end as many
 * objects have been destroyed as were created.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "worker.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include <cpool/object.h>

#define OBJECTS_HELD 24
#define OBJECTS_MOST 64
#define OBJECTS_FAIL_ONCE_IN 50

enum object_state { OBJECT_RESTING = 0x6001, OBJECT_ACTIVE, OBJECT_GONE };

struct object {
    uint64_t state;  /* plain: the pool orders it */
    uint64_t holder; /* worker, or 0 */
    uint64_t resets;
    uint64_t uses;
};

CPOOL_OBJECTS_DECLARE(things, struct object);
CPOOL_OBJECTS_DEFINE(things, struct object, CPOOL_OBJECT_HOOKS(.create = NULL), .max_capacity = 1);

struct objects {
    cpool_objects_t *pool;
    bool typed; /* the pool is that of `things` */
    _Atomic uint64_t created;
    _Atomic uint64_t destroyed;
    _Atomic uint64_t chance; /* calls of hooks that may fail */
    bool failing;
    bool waits;
    bool bare; /* there are no hooks of a use */
};

static bool objects_fail_now(struct objects *objects)
{
    return objects->failing && ++objects->chance % OBJECTS_FAIL_ONCE_IN == 0;
}

static int object_create(void *object, void *arg)
{
    struct object *made = object;
    struct objects *objects = arg;

    if (objects_fail_now(objects))
        return EAGAIN;
    memset(made, 0, sizeof *made);
    made->state = OBJECT_RESTING;
    objects->created++;
    return 0;
}

static int object_activate(void *object, void *arg)
{
    struct object *active = object;

    STRESS_REQUIRE(active->state == OBJECT_RESTING && active->holder == 0);
    STRESS_REQUIRE(active->uses == active->resets);
    if (objects_fail_now(arg))
        return EAGAIN;
    active->state = OBJECT_ACTIVE;
    active->uses++;
    return 0;
}

static void object_deactivate(void *object, void *arg)
{
    struct object *active = object;

    (void)arg;
    STRESS_REQUIRE(active->state == OBJECT_ACTIVE && active->holder == 0);
    active->state = OBJECT_RESTING;
}

static void object_reset(void *object, void *arg)
{
    struct object *resting = object;

    (void)arg;
    STRESS_REQUIRE(resting->state == OBJECT_RESTING);
    resting->resets++;
}

static void object_destroy(void *object, void *arg)
{
    struct object *resting = object;
    struct objects *objects = arg;

    STRESS_REQUIRE(resting->state == OBJECT_RESTING);
    resting->state = OBJECT_GONE;
    objects->destroyed++;
}

static void objects_hold(struct worker *worker, const struct objects *objects,
                         struct object *object)
{
    STRESS_REQUIRE(object->state == (objects->bare ? OBJECT_RESTING : OBJECT_ACTIVE) &&
                   object->holder == 0);
    object->holder = worker->index + 1;
    worker->operations++;
}

static void objects_get(struct worker *worker, struct objects *objects, void **held, size_t *count)
{
    cpool_grant_t grant = CPOOL_GRANT_INIT;
    struct object *object = NULL;
    void *got = NULL;
    int code;

    grant.wait_ns = objects->waits ? 100000 : 0;
    if (!objects->typed)
        code = cpool_object_get_with(objects->pool, &got, &grant);
    else
        code = things_get_with(&object, &grant);
    STRESS_REQUIRE(code == 0 || code == CPOOL_EDRY || (code == EAGAIN && objects->failing));
    if (code != 0) {
        worker->dry++;
        return;
    }
    if (got != NULL)
        object = got;
    objects_hold(worker, objects, object);
    held[(*count)++] = object;
}

static void objects_put(struct worker *worker, struct objects *objects, void **held, size_t *count)
{
    size_t i = random_below(&worker->random, *count);
    struct object *object = held[i];

    held[i] = held[--*count];
    STRESS_REQUIRE(object->holder == worker->index + 1);
    object->holder = 0;
    if (random_once_in(&worker->random, 4))
        cpool_object_release(object);
    else if (objects->typed)
        things_put(object);
    else
        cpool_object_put(objects->pool, object);
    worker->operations++;
}

static void objects_body(struct worker *worker)
{
    struct objects *objects = worker->context;
    void *held[OBJECTS_HELD];
    size_t count = 0;

    while (!episode_over(worker->episode)) {
        if (count == 0 || (count < OBJECTS_HELD && random_once_in(&worker->random, 2)))
            objects_get(worker, objects, held, &count);
        else
            objects_put(worker, objects, held, &count);
    }
    while (count > 0)
        objects_put(worker, objects, held, &count);
}

/* Must see each active object at most once. */
static void objects_look(struct objects *objects)
{
    cpool_object_info_t info = CPOOL_OBJECT_INFO_INIT;
    bool seen[OBJECTS_MOST] = {0};

    while (cpool_objects_next(objects->pool, &info) != NULL) {
        STRESS_REQUIRE(info.index < OBJECTS_MOST && !seen[info.index]);
        seen[info.index] = true;
    }
}

static void objects_meanwhile(struct episode *episode, void *context)
{
    struct objects *objects = context;
    uint64_t *random = &episode->random;
    size_t n = 1 + random_below(random, OBJECTS_MOST);
    cpool_objects_stats_t stats = CPOOL_OBJECTS_STATS_INIT;

    switch (random_below(random, 6)) {
    case 0:
        STRESS_REQUIRE(cpool_objects_resize(objects->pool, (ptrdiff_t)n, 0) <= n);
        break;
    case 1:
        STRESS_REQUIRE(cpool_objects_resize(objects->pool, -(ptrdiff_t)n, 0) <= n);
        break;
    case 2:
        STRESS_REQUIRE(cpool_objects_populate(objects->pool, n, NULL) <= n);
        break;
    case 3:
        STRESS_REQUIRE(cpool_objects_read_stats(objects->pool, &stats) == 0);
        STRESS_REQUIRE(stats.active <= OBJECTS_MOST && stats.available <= OBJECTS_MOST);
        break;
    case 4:
        objects_look(objects);
        break;
    default:
        cpool_objects_resize(objects->pool, 0, 0);
    }
    sched_yield();
}

static void objects_open(struct objects *objects, uint64_t *random)
{
    static const unsigned flags[] = { 0, CPOOL_OBJECT_EAGER, CPOOL_OBJECT_COUNTED,
                                      CPOOL_OBJECT_TRACED, CPOOL_OBJECT_FAKE };
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    int code;

    memset(objects, 0, sizeof *objects);
    objects->failing = random_once_in(random, 2);
    objects->waits = random_once_in(random, 3);
    type.object_size = sizeof(struct object) * (1 + random_below(random, 64));
    type.create = object_create;
    objects->bare = random_once_in(random, 2);
    type.activate = objects->bare ? NULL : object_activate;
    type.deactivate = objects->bare ? NULL : object_deactivate;
    type.reset = object_reset;
    type.destroy = object_destroy;
    type.arg = objects;
    config.name = "objects";
    config.type = &type;
    config.capacity = random_below(random, OBJECTS_MOST);
    config.max_capacity = OBJECTS_MOST;
    config.growth = random_below(random, 3);
    config.max_inactive = random_once_in(random, 3) ? 1 + random_below(random, 20) : 0;
    config.flags = flags[random_below(random, sizeof flags / sizeof flags[0])];
    if (objects->waits)
        config.flags |= CPOOL_OBJECT_WAITABLE;
    objects->typed = random_once_in(random, 4);
    if (objects->typed)
        type.object_size = sizeof(struct object);
    code = objects->typed ? things_open(&config) : cpool_objects_create(&objects->pool, &config);
    STRESS_REQUIRE(code == 0);
    if (objects->typed)
        objects->pool = things_objects();
}

/* Every object that may exist can be obtained, and each one that was created is destroyed. */
static void objects_audit(struct objects *objects)
{
    cpool_objects_stats_t stats = CPOOL_OBJECTS_STATS_INIT;
    void *object;
    size_t count = 0;
    int code;

    objects->failing = false;
    STRESS_REQUIRE(cpool_objects_read_stats(objects->pool, &stats) == 0);
    STRESS_REQUIRE(stats.active == 0 && stats.peak <= OBJECTS_MOST);
    STRESS_REQUIRE(stats.objects == objects->created - objects->destroyed);
    cpool_objects_resize(objects->pool, OBJECTS_MOST, 0);
    while ((code = cpool_object_get_with(objects->pool, &object, NULL)) == 0)
        count++;
    STRESS_REQUIRE(code == CPOOL_EDRY && count == OBJECTS_MOST);
    STRESS_REQUIRE(cpool_objects_reset(objects->pool, SIZE_MAX) == OBJECTS_MOST);
    STRESS_REQUIRE((objects->typed ? things_close() : cpool_objects_destroy(objects->pool)) == 0);
    STRESS_REQUIRE(objects->created == objects->destroyed);
}

static void objects_run(struct episode *episode)
{
    struct objects objects;

    objects_open(&objects, &episode->random);
    crew_run(episode, objects_body, &objects, objects_meanwhile);
    objects_audit(&objects);
}

const struct mode mode_objects = {
    .name = "objects",
    .purpose = "object pools with failing hooks, grown and shrunk under load",
    .run = objects_run,
};
