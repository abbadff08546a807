/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object.h - what the tests of object pools share: a type with hooks that keep account of
 * each object, and can be made to fail.
 *
 * Includes support.h.
 *
 * Each object says in itself what has been done to it, so a hook finds out when the pool
 * calls it for an object in the wrong state.
 */
#ifndef CPOOL_TESTS_OBJECT_H
#define CPOOL_TESTS_OBJECT_H

#include "support.h"

#include <stdatomic.h>
#include <stdint.h>

#include "granted.h"

/* The states of an object, as its hooks see them. */
enum thing_state { THING_MADE = 0x5001, THING_ACTIVE, THING_RESTING, THING_GONE };

struct thing {
    _Atomic enum thing_state state;
    _Atomic size_t serial; /* of its construction */
    _Atomic size_t uses;
    _Atomic size_t resets;      /* by the type's hook */
    _Atomic size_t pool_resets; /* by the pool's */
    _Atomic size_t holders;
};

/* The account of all hooks of one pool. */
struct account {
    _Atomic size_t created;
    _Atomic size_t activated;
    _Atomic size_t deactivated;
    _Atomic size_t reset;
    _Atomic size_t destroyed;
    _Atomic int create_fails;   /* 0, or the code */
    _Atomic int activate_fails; /* 0, or the code */
    _Atomic size_t after;       /* only after so many calls more */
};

/* The code of a call that is to fail now, or 0. */
static inline int account_failure(struct account *account, _Atomic int *fails)
{
    if (*fails == 0)
        return 0;
    if (account->after > 0) {
        account->after--;
        return 0;
    }
    return *fails;
}

static inline int thing_create(void *object, void *arg)
{
    struct thing *thing = object;
    struct account *account = arg;
    int code = account_failure(account, &account->create_fails);

    if (code != 0)
        return code;
    thing->serial = ++account->created;
    thing->uses = 0;
    thing->resets = 0;
    thing->pool_resets = 0;
    thing->holders = 0;
    thing->state = THING_MADE;
    return 0;
}

static inline int thing_activate(void *object, void *arg)
{
    struct thing *thing = object;
    struct account *account = arg;
    int code;

    REQUIRE(thing->state == THING_MADE || thing->state == THING_RESTING);
    code = account_failure(account, &account->activate_fails);
    if (code != 0)
        return code;
    account->activated++;
    thing->uses++;
    thing->state = THING_ACTIVE;
    return 0;
}

static inline void thing_deactivate(void *object, void *arg)
{
    struct thing *thing = object;
    struct account *account = arg;

    REQUIRE(thing->state == THING_ACTIVE);
    account->deactivated++;
    thing->state = THING_RESTING;
}

static inline void thing_reset(void *object, void *arg)
{
    struct thing *thing = object;
    struct account *account = arg;

    REQUIRE(thing->state == THING_RESTING);
    REQUIRE(thing->resets == thing->pool_resets); /* the type's comes first */
    account->reset++;
    thing->resets++;
}

static inline void thing_pool_reset(void *object, void *arg)
{
    struct thing *thing = object;

    (void)arg;
    REQUIRE(thing->state == THING_RESTING);
    thing->pool_resets++;
    REQUIRE(thing->resets == thing->pool_resets);
}

static inline void thing_destroy(void *object, void *arg)
{
    struct thing *thing = object;
    struct account *account = arg;

    REQUIRE(thing->state == THING_MADE || thing->state == THING_RESTING);
    account->destroyed++;
    thing->state = THING_GONE;
}

static inline cpool_object_type_t thing_type(struct account *account)
{
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;

    type.object_size = sizeof(struct thing);
    type.create = thing_create;
    type.activate = thing_activate;
    type.deactivate = thing_deactivate;
    type.reset = thing_reset;
    type.destroy = thing_destroy;
    type.arg = account;
    return type;
}

/* A pool that must come to be. */
static inline cpool_objects_t *thing_pool(cpool_objects_config_t *config,
                                          const cpool_object_type_t *type)
{
    cpool_objects_t *pool;

    config->type = type;
    REQUIRE_EQUAL(cpool_objects_create(&pool, config), 0);
    REQUIRE(pool != NULL);
    return pool;
}

static inline cpool_objects_stats_t thing_stats(const cpool_objects_t *pool)
{
    cpool_objects_stats_t stats = CPOOL_OBJECTS_STATS_INIT;

    REQUIRE_EQUAL(cpool_objects_read_stats(pool, &stats), 0);
    return stats;
}

/* Requires that hooks and figures tell the same, while no thread uses the pool. */
static inline void thing_require(const cpool_objects_t *pool, const struct account *account,
                                 size_t active)
{
    cpool_objects_stats_t stats = thing_stats(pool);

    REQUIRE_EQUAL(stats.creations, account->created);
    REQUIRE_EQUAL(stats.destructions, account->destroyed);
    REQUIRE_EQUAL(stats.objects, account->created - account->destroyed);
    REQUIRE_EQUAL(stats.active, active);
    REQUIRE_EQUAL(stats.active + stats.inactive, stats.objects);
    REQUIRE(stats.objects <= stats.capacity && stats.capacity <= stats.max_capacity);
    REQUIRE(stats.peak >= active);
}

/* Destroys a pool without active objects.  Each object made has been destroyed then. */
static inline void thing_end(cpool_objects_t *pool, const struct account *account)
{
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
    REQUIRE_EQUAL(account->created, account->destroyed);
}

/* A get that tells whether the object is new. */
static inline int object_obtain_new(cpool_objects_t *pool, void **object, bool *is_new)
{
    struct granted granted;
    int code = object_granted(pool, 0, &granted);

    *object = granted.object;
    *is_new = granted.uses == 1;
    return code;
}

#endif /* CPOOL_TESTS_OBJECT_H */
