/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_object_retain.c - inactive objects that are destroyed by choice.
 *
 * Includes object.h.
 */
#include "object.h"

#include <setjmp.h>
#include <string.h>
#include <time.h>

#include <cpool/pools.h>

enum { OBJECTS = 150 };

static const struct {
    unsigned flags;
    unsigned pool_flags;
    size_t max_inactive;
} kinds[] = {
    { 0, 0, 0 },
    { CPOOL_OBJECT_EAGER | CPOOL_OBJECT_COUNTED, 0, 0 },
    { CPOOL_OBJECT_TRACED, CPOOL_CHECKED, 0 },
    { CPOOL_OBJECT_WAITABLE, 0, 0 },
    { 0, 0, OBJECTS },
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static struct account account;
static cpool_object_type_t type;
static cpool_objects_t *pool;

static void open_pool(int kind, size_t populate)
{
    cpool_object_config_t config = CPOOL_OBJECT_CONFIG_INIT;

    memset(&account, 0, sizeof account);
    type = thing_type(&account);
    config.reset = thing_pool_reset;
    config.capacity = OBJECTS;
    config.populate = populate;
    config.flags = kinds[kind].flags;
    config.pool_flags = kinds[kind].pool_flags;
    config.max_inactive = kinds[kind].max_inactive;
    pool = thing_pool(&config, &type);
}

/* The visits of a retain. */
struct visits {
    size_t count;
    size_t refused; /* are to be */
    size_t live;    /* slots before it */
    unsigned char seen[OBJECTS];
    cpool_object_idle_t last;
};

static bool see_live(const cpool_view_t *view, void *arg)
{
    *(size_t *)arg = view->stats->live;
    return true;
}

static bool keep(const cpool_object_idle_t *idle, void *arg)
{
    struct visits *visits = arg;
    const struct thing *thing = idle->object;
    cpool_object_stats_t stats = thing_stats(pool);
    size_t live = 0;

    REQUIRE_EQUAL(cpool_each(see_live, &live), 1);
    REQUIRE(live <= visits->live + 1); /* and the one that is here */
    REQUIRE(stats.active + stats.inactive == stats.objects && stats.active <= visits->live + 1);
    REQUIRE(idle->size == sizeof *idle && idle->index < OBJECTS);
    REQUIRE(visits->seen[idle->index]++ == 0);
    REQUIRE(thing->state == THING_MADE || thing->state == THING_RESTING);
    REQUIRE(thing->uses == idle->uses && idle->idle <= idle->age);
    REQUIRE(!cpool_object_claim(pool, idle->object));
    visits->last = *idle;
    return visits->count++ >= visits->refused;
}

static struct visits retain(size_t minimum, size_t refused, size_t destroyed)
{
    struct visits visits;

    memset(&visits, 0, sizeof visits);
    visits.refused = refused;
    REQUIRE_EQUAL(cpool_each(see_live, &visits.live), 1);
    REQUIRE_EQUAL(cpool_object_retain(pool, minimum, keep, &visits), destroyed);
    return visits;
}

/* Each object can be had, and put back. */
static void end_pool(void)
{
    for (int i = 0; i < OBJECTS; i++)
        REQUIRE(cpool_object_get(pool) != NULL);
    REQUIRE(cpool_object_get(pool) == NULL);
    REQUIRE_EQUAL(cpool_objects_reset(pool, SIZE_MAX), OBJECTS);
    REQUIRE_EQUAL(thing_stats(pool).inactive, OBJECTS);
    thing_require(pool, &account, 0);
    thing_end(pool, &account);
}

TEST_TIMES(each_inactive_object_is_visited_once, KINDS)
{
    void *active[OBJECTS / 3];

    open_pool(_i, OBJECTS / 2);
    for (int round = 0; round < 3; round++) {
        size_t inactive;

        for (int i = 0; i < OBJECTS / 3; i++)
            REQUIRE((active[i] = cpool_object_get(pool)) != NULL);
        inactive = thing_stats(pool).inactive;
        REQUIRE_EQUAL(retain(0, 0, 0).count, inactive);
        thing_require(pool, &account, OBJECTS / 3);
        for (int i = 0; i < OBJECTS / 3; i++)
            REQUIRE_EQUAL(cpool_object_put(pool, active[i]), 0);
    }
    end_pool();
}

/* These count for the minimum. */
static bool keep_some(const cpool_object_idle_t *idle, void *arg)
{
    size_t *left = arg;

    (void)idle;
    return *left > 0 && (*left)-- > 0;
}

TEST_TIMES(objects_refused_are_destroyed_down_to_a_minimum, KINDS)
{
    size_t objects, some = 20;

    open_pool(_i, OBJECTS / 2);
    objects = thing_stats(pool).objects;
    (void)retain(0, 10, 10);
    REQUIRE_EQUAL(thing_stats(pool).inactive, objects - 10);
    REQUIRE_EQUAL(cpool_object_retain(pool, 25, keep_some, &some), objects - 35);
    (void)retain(7, OBJECTS, 18);
    REQUIRE_EQUAL(thing_stats(pool).inactive, 7);
    (void)retain(8, OBJECTS, 0);
    (void)retain(0, OBJECTS, 7);
    thing_require(pool, &account, 0);
    REQUIRE_EQUAL(thing_stats(pool).capacity, OBJECTS);
    end_pool();
}

static void sleep_a_little(void)
{
    const struct timespec moment = { 0, 3000000 };

    nanosleep(&moment, NULL);
}

static uint64_t read_clock(void)
{
    struct timespec now;

    REQUIRE_EQUAL(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

TEST_TIMES(times_count_from_the_last_use_and_from_the_creation, KINDS)
{
    const uint64_t moment = 3000000;
    struct visits first, second;
    uint64_t before;
    void *object;

    open_pool(_i, 0);
    (void)retain(0, 0, 0);
    REQUIRE((object = cpool_object_get(pool)) != NULL);
    REQUIRE_EQUAL(cpool_object_put(pool, object), 0);
    first = retain(0, 0, 0);
    REQUIRE(first.last.object == object && first.last.uses == 1 && first.last.idle == 0);
    sleep_a_little();
    second = retain(0, 0, 0);
    REQUIRE(second.last.idle >= moment && second.last.age >= second.last.idle);
    REQUIRE(cpool_object_get(pool) == object);
    REQUIRE_EQUAL(cpool_object_put(pool, object), 0);
    first = retain(0, 0, 0);
    REQUIRE(first.last.uses == 2 && first.last.idle == 0 && first.last.age >= second.last.age);
    (void)retain(0, 1, 1);
    sleep_a_little();
    before = read_clock();
    REQUIRE((object = cpool_object_get(pool)) != NULL); /* in the same slot */
    REQUIRE_EQUAL(cpool_object_put(pool, object), 0);
    second = retain(0, 0, 0);
    REQUIRE(second.last.index == first.last.index);
    REQUIRE(second.last.uses == 1 && second.last.idle == 0);
    REQUIRE(second.last.age <= read_clock() - before); /* not as old as the slot's first */
    thing_end(pool, &account);
}

/* The others are to be had, by gets of the same thread and of another one. */
static bool get_all_others(const cpool_object_idle_t *idle, void *arg)
{
    size_t *visits = arg;
    void *object;
    size_t count = 0;

    if ((*visits)++ > 0)
        return true;
    REQUIRE(thing_stats(pool).inactive >= OBJECTS - 1);
    while ((object = cpool_object_get(pool)) != NULL) {
        REQUIRE(object != idle->object);
        count++;
    }
    REQUIRE_EQUAL(count, OBJECTS - 1);
    REQUIRE_EQUAL(cpool_objects_reset(pool, SIZE_MAX), OBJECTS - 1);
    return true;
}

TEST_TIMES(all_objects_but_one_can_be_had_meanwhile, KINDS)
{
    size_t visits = 0;

    open_pool(_i, 0);
    for (int i = 0; i < OBJECTS; i++)
        REQUIRE(cpool_object_get(pool) != NULL);
    REQUIRE_EQUAL(cpool_objects_reset(pool, SIZE_MAX), OBJECTS);
    REQUIRE_EQUAL(cpool_object_retain(pool, 0, get_all_others, &visits), 0);
    REQUIRE_EQUAL(visits, 1); /* the others were put back, and are no longer held */
    thing_require(pool, &account, 0);
    thing_end(pool, &account);
}

static jmp_buf out;

static bool leave(const cpool_object_idle_t *idle, void *arg)
{
    (void)idle;
    (void)arg;
    longjmp(out, 1);
}

TEST_TIMES(objects_are_there_after_keep_was_left, KINDS)
{
    size_t inactive;

    open_pool(_i, OBJECTS / 2);
    inactive = thing_stats(pool).inactive;
    if (setjmp(out) == 0)
        (void)cpool_object_retain(pool, 0, leave, NULL);
    REQUIRE_EQUAL(retain(0, 0, 0).count, inactive - 1);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_objects_destroy(pool), CPOOL_EHOOK);
    REQUIRE_REPORT(CPOOL_EHOOK);
    support_release_reports();
}

static bool refuse(const cpool_object_idle_t *idle, void *arg)
{
    (void)idle;
    (void)arg;
    REQUIRE(false);
    return false;
}

TEST(fake_pool_has_no_objects_to_visit)
{
    cpool_object_config_t config = CPOOL_OBJECT_CONFIG_INIT;

    type = thing_type(&account);
    config.capacity = 1;
    config.flags = CPOOL_OBJECT_FAKE;
    pool = thing_pool(&config, &type);
    REQUIRE_EQUAL(cpool_object_retain(pool, 0, refuse, NULL), 0);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
}
