/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_object_end.c - active objects that the pool itself ends are deactivated before or, with
 * CPOOL_OBJECT_NO_DEACTIVATE, are not.
 *
 * Includes object.h.
 */
#include "object.h"

#include <string.h>

#include <cpool/priority.h>

enum { CAPACITY = 8, SHRUNK = 3 };

static const struct {
    unsigned flags;
    unsigned pool_flags;
} kinds[] = {
    { 0, 0 },
    { CPOOL_OBJECT_EAGER | CPOOL_OBJECT_COUNTED, 0 },
    { CPOOL_OBJECT_TRACED, CPOOL_CHECKED },
    { CPOOL_OBJECT_WAITABLE, 0 },
    { CPOOL_OBJECT_FAKE, 0 },
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static struct account account;
static cpool_object_type_t type;

/* An object is destroyed in whatever state it is. */
static void destroy_abruptly(void *object, void *arg)
{
    struct account *given = arg;

    (void)object;
    given->destroyed++;
}

static cpool_object_config_t configure(int kind, unsigned more_flags)
{
    cpool_object_config_t config = CPOOL_OBJECT_CONFIG_INIT;

    memset(&account, 0, sizeof account);
    type = thing_type(&account);
    type.destroy = destroy_abruptly;
    config.reset = thing_pool_reset;
    config.capacity = CAPACITY;
    config.flags = kinds[kind].flags | more_flags;
    config.pool_flags = kinds[kind].pool_flags;
    return config;
}

static void end_active(int kind, unsigned more_flags, size_t deactivated)
{
    cpool_object_config_t config = configure(kind, more_flags);
    cpool_objects_t *pool = thing_pool(&config, &type);
    int i;

    for (i = 0; i < CAPACITY; i++)
        REQUIRE(cpool_object_get(pool) != NULL);
    REQUIRE_EQUAL(cpool_object_shrink(pool, SHRUNK, CPOOL_OBJECT_ACTIVE_TOO), SHRUNK);
    REQUIRE_EQUAL(account.destroyed, SHRUNK);
    REQUIRE_EQUAL(account.deactivated, deactivated != 0 ? SHRUNK : 0);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), CPOOL_ELIVE);
    REQUIRE_EQUAL(account.destroyed, CAPACITY);
    REQUIRE_EQUAL(account.deactivated, deactivated);
}

TEST_TIMES(object_that_the_pool_ends_is_deactivated, KINDS)
{
    end_active(_i, 0, CAPACITY);
}

TEST_TIMES(object_that_the_pool_ends_is_not_deactivated_by_choice, KINDS)
{
    end_active(_i, CPOOL_OBJECT_NO_DEACTIVATE, 0);
}

/* An object that a caller gives back is deactivated in any pool, and so is one that is put back for
 * its caller. */
TEST_TIMES(object_that_is_put_back_is_always_deactivated, KINDS)
{
    cpool_object_config_t config = configure(_i, CPOOL_OBJECT_NO_DEACTIVATE);
    cpool_objects_t *pool;
    void *object;
    int i;

    type.destroy = thing_destroy;
    pool = thing_pool(&config, &type);
    object = cpool_object_get(pool);
    REQUIRE(object != NULL);
    REQUIRE_EQUAL(cpool_object_put(pool, object), 0);
    REQUIRE_EQUAL(account.deactivated, 1);
    for (i = 0; i < 3; i++)
        REQUIRE(cpool_object_get(pool) != NULL);
    REQUIRE_EQUAL(cpool_objects_put_all(pool), 3);
    REQUIRE_EQUAL(account.deactivated, 4);
    REQUIRE_EQUAL(cpool_objects_put_all(pool), 0);
    thing_end(pool, &account);
}

/* A use that another one ends goes to a caller, as it would after a put. */
TEST_TIMES(object_that_is_reclaimed_is_always_deactivated, KINDS)
{
    cpool_object_config_t config = configure(_i, CPOOL_OBJECT_NO_DEACTIVATE);
    cpool_objects_t *pool;
    int i;

    config.capacity = 1;
    config.flags &= ~CPOOL_OBJECT_WAITABLE;
    pool = thing_pool(&config, &type);
    REQUIRE_EQUAL(cpool_priority_attach(pool, 0), 0);
    for (i = 0; i < 3; i++)
        REQUIRE(cpool_object_get(pool) != NULL);
    REQUIRE(account.activated == 3 && account.deactivated == 2);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), CPOOL_ELIVE);
    REQUIRE_EQUAL(account.deactivated, 2);
    REQUIRE_EQUAL(account.created, account.destroyed);
}
