/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_object_lease.c - objects that all go back at the end of a lease.
 *
 * Includes object.h.
 */
#include "object.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cpool/object_lease.h>
#include <cpool/priority.h>

enum { OBJECTS = 300, ROOM = 1000, THREADS = 4 };

/* The hooks of a pool, or none of them, and its settings.  Each end of a lease in the pools from
 * LISTED on does something for each object. */
static const struct kind {
    bool hooks;
    bool lazy; /* reset alone, and created with the pool */
    unsigned flags;
    unsigned pool_flags;
    size_t max_inactive;
} kinds[] = {
    { false, false, 0, 0, 0 },
    { false, true, 0, 0, 0 },
    { false, true, CPOOL_OBJECT_TRACED, 0, 0 },
    { false, false, 0, CPOOL_TRACKED, 0 },
    { false, true, 0, CPOOL_CHECKED, 0 },
    { true, false, 0, 0, 0 },
    { true, false, CPOOL_OBJECT_EAGER, 0, 0 },
    { false, true, CPOOL_OBJECT_EAGER, 0, 0 },
    { true, false, CPOOL_OBJECT_COUNTED | CPOOL_OBJECT_TRACED, 0, 0 },
    { true, false, 0, CPOOL_CHECKED, 0 },
    { true, false, 0, CPOOL_WAITABLE, 0 },
    { false, false, CPOOL_OBJECT_COUNTED, 0, 0 },
    { false, false, 0, CPOOL_WAITABLE, 0 },
    { true, false, 0, 0, OBJECTS / 2 },
    { true, false, CPOOL_OBJECT_FAKE, 0, 0 },
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), LISTED = 5, FAKE = 14 };

/* Does something that is reported with this code. */
#define EXPECT_REPORT(code, action)                                                    \
    do {                                                                               \
        support_capture_reports();                                                     \
        action;                                                                        \
        REQUIRE_REPORT(code);                                                          \
        support_release_reports();                                                     \
    } while (0)

static struct account account;
static cpool_object_type_t type;
static size_t resets;
static cpool_objects_t *pool;

static void reset_lazily(void *object, void *arg)
{
    (void)object;
    (void)arg;
    resets++;
}

static int create_counted(void *object, void *arg)
{
    (void)object;
    ((struct account *)arg)->created++;
    return 0;
}

static void destroy_counted(void *object, void *arg)
{
    (void)object;
    ((struct account *)arg)->destroyed++;
}

static cpool_object_config_t configure(int kind)
{
    const cpool_object_type_t plain = CPOOL_OBJECT_TYPE_INIT;
    cpool_object_config_t config = CPOOL_OBJECT_CONFIG_INIT;

    memset(&account, 0, sizeof account);
    resets = 0;
    type = plain;
    type.object_size = sizeof(struct thing);
    type.create = create_counted;
    type.destroy = destroy_counted;
    type.arg = &account;
    if (kinds[kind].lazy) {
        type.reset = reset_lazily;
        config.populate = OBJECTS;
    }
    if (kinds[kind].hooks) {
        type = thing_type(&account);
        config.reset = thing_pool_reset;
    }
    config.capacity = ROOM;
    config.flags = kinds[kind].flags;
    config.pool_flags = kinds[kind].pool_flags;
    config.max_inactive = kinds[kind].max_inactive;
    return config;
}

static void open_pool(int kind)
{
    cpool_object_config_t config = configure(kind);

    pool = thing_pool(&config, &type);
}

static cpool_object_lease_t *begin(void)
{
    cpool_object_lease_t *lease = cpool_object_lease_begin(pool);

    REQUIRE(lease != NULL);
    return lease;
}

static void *get(cpool_object_lease_t *lease)
{
    void *object = cpool_object_lease_get(lease);

    REQUIRE(object != NULL);
    return object;
}

static void get_some(cpool_object_lease_t *lease, size_t n)
{
    for (size_t i = 0; i < n; i++)
        (void)get(lease);
}

static cpool_object_lease_t *begin_with(size_t objects)
{
    cpool_object_lease_t *lease = begin();

    get_some(lease, objects);
    return lease;
}

/* A lease with so many objects, in a new pool of this kind. */
static cpool_object_lease_t *open_with(int kind, size_t objects)
{
    open_pool(kind);
    return begin_with(objects);
}

/* Each object of each frame was activated and deactivated. */
static void require_hooks(int kind, size_t frames)
{
    if (!kinds[kind].hooks)
        return;
    REQUIRE_EQUAL(account.activated, frames * OBJECTS);
    REQUIRE_EQUAL(account.deactivated, frames * OBJECTS);
}

static bool is_eager(int kind)
{
    return (kinds[kind].flags & CPOOL_OBJECT_EAGER) != 0;
}

START_TEST(objects_of_a_lease_go_back_constructed)
{
    cpool_object_lease_t *lease;

    open_pool(_i);
    for (size_t frame = 1; frame <= 3; frame++) {
        lease = begin_with(OBJECTS);
        REQUIRE_EQUAL(thing_stats(pool).active, OBJECTS);
        REQUIRE_EQUAL(cpool_object_lease_end(lease), OBJECTS);
        require_hooks(_i, frame);
        thing_require(pool, &account, 0);
        if (kinds[_i].max_inactive != 0) {
            REQUIRE_EQUAL(thing_stats(pool).inactive, kinds[_i].max_inactive);
        } else if (_i != FAKE) {
            REQUIRE_EQUAL(account.created, OBJECTS);
            REQUIRE_EQUAL(thing_stats(pool).inactive, OBJECTS);
        }
        if (kinds[_i].lazy)
            REQUIRE_EQUAL(resets, (is_eager(_i) ? frame : frame - 1) * OBJECTS);
    }
    thing_end(pool, &account);
}
END_TEST

static int compare(const void *one, const void *other)
{
    uintptr_t a = (uintptr_t)*(void *const *)one;
    uintptr_t b = (uintptr_t)*(void *const *)other;

    return (a > b) - (a < b);
}

static void require_distinct(void *const *objects, size_t n)
{
    void *sorted[3 * OBJECTS];

    memcpy(sorted, objects, n * sizeof(void *));
    qsort(sorted, n, sizeof(void *), compare);
    for (size_t i = 1; i < n; i++)
        REQUIRE(sorted[i - 1] != sorted[i]);
}

/* No object comes twice, whether it is of a lease, of another one or of neither. */
/* Frames of one lease that stays open. */
START_TEST(objects_go_back_constructed_at_a_reset)
{
    cpool_object_lease_t *lease;

    open_pool(_i);
    lease = begin();
    for (size_t frame = 1; frame <= 3; frame++) {
        get_some(lease, OBJECTS);
        REQUIRE_EQUAL(thing_stats(pool).active, OBJECTS);
        REQUIRE_EQUAL(cpool_object_lease_reset(lease), OBJECTS);
        require_hooks(_i, frame);
        thing_require(pool, &account, 0);
        if (kinds[_i].max_inactive == 0 && _i != FAKE)
            REQUIRE_EQUAL(account.created, OBJECTS);
        if (kinds[_i].lazy)
            REQUIRE_EQUAL(resets, (is_eager(_i) ? frame : frame - 1) * OBJECTS);
    }
    (void)get(lease);
    REQUIRE_EQUAL(cpool_object_lease_end(lease), 1);
    EXPECT_REPORT(CPOOL_ELEASE, REQUIRE_EQUAL(cpool_object_lease_reset(lease), 0));
    EXPECT_REPORT(CPOOL_ELEASE, REQUIRE_EQUAL(cpool_object_lease_reset(NULL), 0));
    thing_end(pool, &account);
}
END_TEST

/* After frames of one thread others can have its objects. */
START_TEST(objects_are_to_be_had_after_a_reset)
{
    static void *objects[ROOM];
    cpool_object_lease_t *lease;

    open_pool(_i);
    lease = begin();
    get_some(lease, ROOM);
    REQUIRE_EQUAL(cpool_object_lease_reset(lease), ROOM);
    for (size_t i = 0; i < ROOM; i++) {
        objects[i] = cpool_object_get(pool);
        REQUIRE(objects[i] != NULL);
    }
    REQUIRE(cpool_object_lease_get(lease) == NULL);
    for (size_t i = 0; i < ROOM; i++)
        REQUIRE_EQUAL(cpool_object_put(pool, objects[i]), 0);
    get_some(lease, 3);
    REQUIRE_EQUAL(cpool_object_lease_end(lease), 3);
    thing_end(pool, &account);
}
END_TEST

START_TEST(leases_overlap_with_each_other_and_with_callers)
{
    static void *objects[3 * OBJECTS];
    cpool_object_lease_t *one, *two;

    open_pool(_i);
    for (int round = 0; round < 3; round++) {
        one = begin();
        two = begin();
        for (size_t i = 0; i < 3 * OBJECTS; i += 3) {
            objects[i] = get(one);
            objects[i + 1] = cpool_object_get(pool);
            objects[i + 2] = get(two);
        }
        require_distinct(objects, 3 * OBJECTS);
        REQUIRE_EQUAL(cpool_object_lease_end(one), OBJECTS);
        REQUIRE_EQUAL(thing_stats(pool).active, 2 * OBJECTS);
        for (size_t i = 0; i < 3 * OBJECTS; i += 3)
            REQUIRE_EQUAL(cpool_object_put(pool, objects[i + 1]), 0);
        REQUIRE_EQUAL(cpool_object_lease_end(two), OBJECTS);
        thing_require(pool, &account, 0);
    }
    thing_end(pool, &account);
}
END_TEST

static size_t visits;

static bool count_visit(const cpool_object_info_t *info, void *arg)
{
    (void)info;
    (void)arg;
    visits++;
    return true;
}

START_TEST(object_of_a_lease_is_no_callers)
{
    cpool_object_lease_t *lease = open_with(_i, 0);
    void *object;

    for (int round = 0; round < 2; round++) { /* a new one, and one that is used again */
        object = get(lease);
        REQUIRE(!cpool_object_is_active(pool, object));
        EXPECT_REPORT(CPOOL_EINACTIVE, REQUIRE_EQUAL(cpool_object_put(pool, object),
                                                     CPOOL_EINACTIVE));
        EXPECT_REPORT(CPOOL_EINACTIVE,
                      REQUIRE_EQUAL(cpool_object_lease_adopt(lease, object), CPOOL_EINACTIVE));
        REQUIRE_EQUAL(cpool_objects_put_all(pool), 0);
        visits = 0;
        REQUIRE_EQUAL(cpool_object_each(pool, count_visit, NULL), 0);
        REQUIRE_EQUAL(visits, 0);
        REQUIRE_EQUAL(cpool_object_shrink(pool, ROOM, CPOOL_OBJECT_ACTIVE_TOO), ROOM - 1);
        REQUIRE_EQUAL(cpool_object_grow(pool, ROOM), ROOM - 1);
        REQUIRE_EQUAL(cpool_object_lease_end(lease), 1);
        lease = begin();
    }
    REQUIRE_EQUAL(cpool_object_lease_end(lease), 0);
    thing_end(pool, &account);
}
END_TEST

START_TEST(active_object_is_adopted)
{
    cpool_object_lease_t *lease = open_with(_i, 0);
    void *object;

    object = cpool_object_get(pool);
    REQUIRE(cpool_object_is_active(pool, object));
    REQUIRE_EQUAL(cpool_object_lease_adopt(lease, object), 0);
    REQUIRE(!cpool_object_is_active(pool, object));
    REQUIRE_EQUAL(cpool_object_lease_adopt(lease, NULL), 0);
    EXPECT_REPORT(CPOOL_EFOREIGN,
                  REQUIRE_EQUAL(cpool_object_lease_adopt(lease, &lease), CPOOL_EFOREIGN));
    REQUIRE_EQUAL(cpool_object_lease_end(lease), 1);
    thing_require(pool, &account, 0);
    thing_end(pool, &account);
}
END_TEST

START_TEST(end_of_the_pool_ends_the_objects_of_leases)
{
    open_pool(_i);
    (void)begin_with(OBJECTS);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), CPOOL_ELIVE);
    REQUIRE_EQUAL(account.created, account.destroyed);
    if (kinds[_i].hooks)
        REQUIRE_EQUAL(account.deactivated, OBJECTS);
}
END_TEST

START_TEST(lease_that_has_ended_is_refused)
{
    cpool_object_lease_t *lease = open_with(_i, 0);
    void *object;

    object = cpool_object_get(pool);
    REQUIRE_EQUAL(cpool_object_lease_end(lease), 0);
    EXPECT_REPORT(CPOOL_ELEASE, REQUIRE(cpool_object_lease_get(lease) == NULL));
    EXPECT_REPORT(CPOOL_ELEASE,
                  REQUIRE_EQUAL(cpool_object_lease_adopt(lease, object), CPOOL_ELEASE));
    EXPECT_REPORT(CPOOL_ELEASE, REQUIRE_EQUAL(cpool_object_lease_end(lease), 0));
    EXPECT_REPORT(CPOOL_ELEASE, REQUIRE_EQUAL(cpool_object_lease_end(NULL), 0));
    REQUIRE_EQUAL(cpool_object_put(pool, object), 0);
    thing_end(pool, &account);
}
END_TEST

START_TEST(as_many_leases_are_open_as_there_may_be)
{
    cpool_object_lease_t *leases[CPOOL_LEASES_MAX];

    open_pool(_i);
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < CPOOL_LEASES_MAX; i++)
            leases[i] = begin_with(3);
        REQUIRE(cpool_object_lease_begin(pool) == NULL);
        for (unsigned i = 0; i < CPOOL_LEASES_MAX; i++)
            REQUIRE_EQUAL(cpool_object_lease_end(leases[i]), 3);
    }
    thing_end(pool, &account);
}
END_TEST

START_TEST(lease_gets_all_objects_and_no_more)
{
    cpool_object_lease_t *lease;

    open_pool(_i);
    for (int round = 0; round < 2; round++) {
        lease = begin_with(ROOM);
        REQUIRE(cpool_object_lease_get(lease) == NULL);
        REQUIRE(cpool_object_get(pool) == NULL);
        REQUIRE_EQUAL(cpool_object_lease_end(lease), ROOM);
    }
    thing_require(pool, &account, 0);
    thing_end(pool, &account);
}
END_TEST

/* --- Threads --- */

static void *get_by_thread(void *argument)
{
    get_some(argument, OBJECTS / 2);
    return NULL;
}

START_TEST(objects_of_threads_that_have_ended_go_back)
{
    cpool_object_lease_t *lease;
    pthread_t threads[THREADS];

    open_pool(_i);
    for (int round = 0; round < 3; round++) {
        lease = begin();
        for (int i = 0; i < THREADS; i++)
            REQUIRE_EQUAL(pthread_create(&threads[i], NULL, get_by_thread, lease), 0);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        REQUIRE_EQUAL(cpool_object_lease_end(lease), THREADS * OBJECTS / 2);
        thing_require(pool, &account, 0);
    }
    thing_end(pool, &account);
}
END_TEST

static void end_in_child(void *argument)
{
    REQUIRE_EQUAL(cpool_object_lease_end(argument), OBJECTS);
    thing_require(pool, &account, 0);
    (void)begin_with(OBJECTS);
}

START_TEST(lease_is_open_in_a_child)
{
    cpool_object_lease_t *lease = open_with(_i, OBJECTS);
    support_in_child(end_in_child, lease);
    REQUIRE_EQUAL(cpool_object_lease_end(lease), OBJECTS);
    thing_end(pool, &account);
}
END_TEST

/* --- Hooks that fail, or are left --- */

START_TEST(get_under_a_lease_replaces_an_unfit_object)
{
    cpool_object_lease_t *lease = open_with(LISTED, 2);
    REQUIRE_EQUAL(cpool_object_lease_end(lease), 2);
    account.activate_fails = 5;
    lease = begin();
    REQUIRE(cpool_object_lease_get(lease) == NULL); /* the one in its place is unfit, too */
    account.activate_fails = 0;
    get_some(lease, 3);
    REQUIRE_EQUAL(cpool_object_lease_end(lease), 3);
    thing_require(pool, &account, 0);
    thing_end(pool, &account);
}
END_TEST

static jmp_buf out;
static bool leaves;

static void leave_once(void *object, void *arg)
{
    (void)arg;
    if (leaves) {
        leaves = false;
        longjmp(out, 1);
    }
    memset(object, 0, sizeof(struct thing));
}

/* The next end goes on with the others. */
START_TEST(end_goes_on_after_a_hook_was_left)
{
    static cpool_object_lease_t *volatile lease;
    cpool_object_config_t config = configure(0);

    type.deactivate = leave_once;
    pool = thing_pool(&config, &type);
    lease = begin_with(OBJECTS);
    leaves = true;
    if (setjmp(out) == 0)
        (void)cpool_object_lease_end(lease);
    REQUIRE(!leaves);
    REQUIRE_EQUAL(cpool_object_lease_end(lease), OBJECTS - 1);
    EXPECT_REPORT(CPOOL_EHOOK, REQUIRE_EQUAL(cpool_objects_destroy(pool), CPOOL_EHOOK));
}
END_TEST

/* A reset that is left leaves its object to the lease, and the next get resets it again. */
START_TEST(reset_that_is_left_leaves_the_object_to_the_lease)
{
    static cpool_object_lease_t *volatile lease;
    cpool_object_config_t config = configure(0);

    type.reset = leave_once;
    config.capacity = 1;
    pool = thing_pool(&config, &type);
    lease = begin_with(1);
    REQUIRE_EQUAL(cpool_object_lease_end(lease), 1);
    lease = begin();
    leaves = true;
    if (setjmp(out) == 0)
        REQUIRE(cpool_object_lease_get(lease) == NULL); /* does not return */
    REQUIRE(!leaves);
    REQUIRE_EQUAL(cpool_object_lease_end(lease), 1);
    REQUIRE(cpool_object_get(pool) != NULL);
    REQUIRE_EQUAL(cpool_objects_put_all(pool), 1);
    thing_end(pool, &account);
}
END_TEST

/* --- Priority pools --- */

START_TEST(object_of_a_lease_is_not_reclaimed)
{
    cpool_object_config_t config = configure(_i == 0 ? 0 : FAKE);
    cpool_object_lease_t *lease;
    void *leased, *active;

    config.capacity = 2;
    pool = thing_pool(&config, &type);
    REQUIRE_EQUAL(cpool_priority_attach(pool, 0), 0);
    for (int round = 0; round < 2; round++) {
        lease = begin();
        leased = get(lease);
        active = cpool_object_get(pool);
        for (int i = 0; i < 3; i++) { /* the other one is reclaimed */
            active = cpool_object_get(pool);
            REQUIRE(active != NULL && active != leased);
        }
        REQUIRE_EQUAL(cpool_object_lease_adopt(lease, active), 0);
        REQUIRE(cpool_object_lease_get(lease) == NULL);
        REQUIRE_EQUAL(cpool_object_lease_end(lease), 2);
        thing_require(pool, &account, 0);
    }
    thing_end(pool, &account);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(objects_of_a_lease_go_back_constructed, KINDS),
        TIMES(objects_go_back_constructed_at_a_reset, KINDS),
        TIMES(objects_are_to_be_had_after_a_reset, KINDS),
        TIMES(leases_overlap_with_each_other_and_with_callers, KINDS),
        TIMES(object_of_a_lease_is_no_callers, KINDS),
        TIMES(active_object_is_adopted, KINDS - 1), /* a fake pool reads before it */
        TIMES(end_of_the_pool_ends_the_objects_of_leases, KINDS),
        TIMES(lease_that_has_ended_is_refused, KINDS),
        TIMES(as_many_leases_are_open_as_there_may_be, KINDS),
        TIMES(lease_gets_all_objects_and_no_more, KINDS),
        TIMES(objects_of_threads_that_have_ended_go_back, KINDS),
        TIMES(lease_is_open_in_a_child, KINDS),
        ONCE(get_under_a_lease_replaces_an_unfit_object),
        ONCE(end_goes_on_after_a_hook_was_left),
        ONCE(reset_that_is_left_leaves_the_object_to_the_lease),
        TIMES(object_of_a_lease_is_not_reclaimed, 2),
    };

    return SUPPORT_RUN("object_lease", tests);
}
