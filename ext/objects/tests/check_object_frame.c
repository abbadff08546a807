/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_object_frame.c - objects that all go back at the end of a frame.
 *
 * Includes object.h.
 */
#include "object.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cpool/object_frame.h>
#include <cpool/priority.h>

enum { OBJECTS = 300, ROOM = 1000 };

/* The hooks of a pool, or none of them, and its settings.  Each end of a frame in the pools from
 * LISTED on does something for each object. */
static const struct kind {
    bool hooks;
    bool lazy; /* reset alone, and created with the pool */
    unsigned flags;
    size_t max_inactive;
} kinds[] = {
    { false, false, 0, 0 },
    { false, true, 0, 0 },
    { false, true, CPOOL_OBJECT_TRACED, 0 },
    { false, false, CPOOL_TRACKED, 0 },
    { false, true, CPOOL_CHECKED, 0 },
    { true, false, 0, 0 },
    { true, false, CPOOL_OBJECT_EAGER, 0 },
    { false, true, CPOOL_OBJECT_EAGER, 0 },
    { true, false, CPOOL_OBJECT_COUNTED | CPOOL_OBJECT_TRACED, 0 },
    { true, false, CPOOL_CHECKED, 0 },
    { true, false, CPOOL_OBJECT_WAITABLE, 0 },
    { false, false, CPOOL_OBJECT_COUNTED, 0 },
    { false, false, CPOOL_OBJECT_WAITABLE, 0 },
    { true, false, 0, OBJECTS / 2 },
    { true, false, CPOOL_OBJECT_FAKE, 0 },
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

static cpool_objects_config_t configure(int kind)
{
    const cpool_object_type_t plain = CPOOL_OBJECT_TYPE_INIT;
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;

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
    config.max_inactive = kinds[kind].max_inactive;
    return config;
}

static cpool_object_frame_t *begin(void)
{
    cpool_object_frame_t *frame;

    REQUIRE_EQUAL(cpool_object_frame_begin(&frame, pool), 0);
    return frame;
}

static void *get(cpool_object_frame_t *frame)
{
    void *object = cpool_object_frame_get(frame);

    REQUIRE(object != NULL);
    return object;
}

static void get_some(cpool_object_frame_t *frame, size_t n)
{
    for (size_t i = 0; i < n; i++)
        (void)get(frame);
}

/* A frame with so many objects, in a new pool of this kind. */
static cpool_object_frame_t *open_with(int kind, size_t objects)
{
    cpool_objects_config_t config = configure(kind);
    cpool_object_frame_t *frame;

    pool = thing_pool(&config, &type);
    frame = begin();
    get_some(frame, objects);
    return frame;
}

static void end_all(cpool_object_frame_t *frame)
{
    cpool_object_frame_end(frame);
    thing_require(pool, &account, 0);
    thing_end(pool, &account);
}

/* A frame in place of one that ends. */
static cpool_object_frame_t *anew(cpool_object_frame_t *frame)
{
    cpool_object_frame_end(frame);
    return begin();
}

static bool is_eager(int kind)
{
    return (kinds[kind].flags & CPOOL_OBJECT_EAGER) != 0;
}

/* Each object of each frame was activated and deactivated. */
TEST_TIMES(objects_go_back_constructed, KINDS)
{
    int kind = _i;
    cpool_object_frame_t *frame = open_with(kind, 0);

    for (size_t times = 1; times <= 3; times++) {
        get_some(frame, OBJECTS);
        REQUIRE_EQUAL(thing_stats(pool).active, OBJECTS);
        frame = anew(frame);
        thing_require(pool, &account, 0);
        if (kinds[kind].hooks)
            REQUIRE(account.activated == times * OBJECTS &&
                    account.deactivated == times * OBJECTS);
        if (kinds[kind].max_inactive != 0) {
            REQUIRE_EQUAL(thing_stats(pool).inactive, kinds[kind].max_inactive);
        } else if (kind != FAKE) {
            REQUIRE_EQUAL(account.created, OBJECTS);
            REQUIRE_EQUAL(thing_stats(pool).inactive, OBJECTS);
        }
        if (kinds[kind].lazy)
            REQUIRE_EQUAL(resets, (is_eager(kind) ? times : times - 1) * OBJECTS);
    }
    end_all(frame);
}

static int compare(const void *one, const void *other)
{
    uintptr_t a = (uintptr_t)*(void *const *)one;
    uintptr_t b = (uintptr_t)*(void *const *)other;

    return (a > b) - (a < b);
}

static void require_distinct(void **objects, size_t n)
{
    qsort(objects, n, sizeof(void *), compare);
    for (size_t i = 1; i < n; i++)
        REQUIRE(objects[i - 1] != objects[i]);
}

/* No object comes twice, whether it is of a frame, of another one or of neither. */
TEST_TIMES(frames_overlap_with_each_other_and_with_callers, KINDS)
{
    void *objects[3 * OBJECTS];
    cpool_object_frame_t *one = open_with(_i, 0);

    for (int round = 0; round < 3; round++) {
        cpool_object_frame_t *two = begin();
        void *own[OBJECTS];

        for (size_t i = 0; i < OBJECTS; i++) {
            objects[3 * i] = get(one);
            objects[3 * i + 1] = own[i] = cpool_object_get(pool);
            objects[3 * i + 2] = get(two);
        }
        require_distinct(objects, 3 * OBJECTS);
        one = anew(one);
        REQUIRE_EQUAL(thing_stats(pool).active, 2 * OBJECTS);
        for (size_t i = 0; i < OBJECTS; i++)
            cpool_object_put(pool, own[i]);
        cpool_object_frame_end(two);
        thing_require(pool, &account, 0);
    }
    end_all(one);
}

TEST_TIMES(frame_gets_all_objects_and_no_more, KINDS)
{
    static void *objects[ROOM];
    cpool_object_frame_t *frame = open_with(_i, 0);

    for (int round = 0; round < 2; round++) {
        get_some(frame, ROOM);
        REQUIRE(cpool_object_frame_get(frame) == NULL);
        REQUIRE(cpool_object_get(pool) == NULL);
        frame = anew(frame);
    }
    for (size_t i = 0; i < ROOM; i++)
        REQUIRE((objects[i] = cpool_object_get(pool)) != NULL);
    REQUIRE(cpool_object_frame_get(frame) == NULL);
    for (size_t i = 0; i < ROOM; i++)
        cpool_object_put(pool, objects[i]);
    end_all(frame);
}

TEST_TIMES(object_of_a_frame_is_no_callers, FAKE)
{
    cpool_object_frame_t *frame = open_with(_i, 0);
    cpool_object_info_t info;

    for (int round = 0; round < 2; round++) { /* a new one, a recycled one */
        void *object = get(frame);

        REQUIRE(!object_active(pool, object));
        EXPECT_REPORT(CPOOL_EINACTIVE, cpool_object_put(pool, object));
        REQUIRE_EQUAL(cpool_objects_reset(pool, SIZE_MAX), 0);
        REQUIRE_EQUAL(objects_count(pool, &info), 0);
        REQUIRE_EQUAL(cpool_objects_resize(pool, -ROOM, CPOOL_OBJECT_ACTIVE_TOO), ROOM - 1);
        REQUIRE_EQUAL(cpool_objects_resize(pool, ROOM, 0), ROOM - 1);
        frame = anew(frame);
    }
    end_all(frame);
}

TEST_TIMES(end_of_the_pool_ends_the_objects_of_frames, FAKE)
{
    cpool_object_frame_t *frame = open_with(_i, OBJECTS);

    REQUIRE_EQUAL(cpool_objects_destroy(pool), CPOOL_ELIVE);
    REQUIRE_EQUAL(account.created, account.destroyed);
    if (kinds[_i].hooks)
        REQUIRE_EQUAL(account.deactivated, OBJECTS);
    EXPECT_REPORT(CPOOL_EFRAME, cpool_object_frame_end(frame));
}

TEST_TIMES(frame_that_has_ended_is_refused, FAKE)
{
    cpool_object_frame_t *frame = open_with(_i, 0);
    void *object = cpool_object_get(pool);

    cpool_object_frame_end(frame);
    EXPECT_REPORT(CPOOL_EFRAME, REQUIRE(cpool_object_frame_get(frame) == NULL));
    EXPECT_REPORT(CPOOL_EFRAME, cpool_object_frame_end(frame));
    cpool_object_frame_end(NULL);
    REQUIRE_EQUAL(cpool_object_frame_begin(NULL, pool), CPOOL_ENULL);
    REQUIRE_EQUAL(cpool_object_frame_begin(&frame, NULL), CPOOL_ENULL);
    REQUIRE(frame == NULL);
    cpool_object_put(pool, object);
    end_all(begin());
}

TEST_TIMES(frame_of_a_pool_that_has_ended_is_refused, FAKE + 1)
{
    cpool_object_frame_t *frame = open_with(_i, 0);

    cpool_object_frame_end(frame);
    thing_end(pool, &account);
    EXPECT_REPORT(CPOOL_EPOOL,
                  REQUIRE_EQUAL(cpool_object_frame_begin(&frame, pool), CPOOL_EPOOL));
    REQUIRE(frame == NULL);
}

TEST_TIMES(as_many_frames_are_open_as_there_may_be, FAKE)
{
    cpool_object_frame_t *frames[CPOOL_FRAMES_MAX];
    cpool_object_frame_t *more;

    frames[0] = open_with(_i, 0);
    for (unsigned i = 1; i < CPOOL_FRAMES_MAX; i++)
        frames[i] = begin();
    REQUIRE_EQUAL(cpool_object_frame_begin(&more, pool), CPOOL_ELIMIT);
    REQUIRE(more == NULL);
    for (unsigned i = 0; i < CPOOL_FRAMES_MAX; i++) {
        get_some(frames[i], 3);
        cpool_object_frame_end(frames[i]);
    }
    end_all(begin());
}

/* --- Threads, and fork --- */

static void *get_by_thread(void *frame)
{
    get_some(frame, OBJECTS / 4);
    return NULL;
}

static void end_in_child(void *frame)
{
    cpool_object_frame_end(frame);
    thing_require(pool, &account, 0);
    get_some(begin(), OBJECTS);
}

TEST_TIMES(frame_goes_from_thread_to_thread, KINDS)
{
    cpool_object_frame_t *frame = open_with(_i, 0);

    for (size_t i = 1; i <= 4; i++) {
        support_in_thread(get_by_thread, frame);
        REQUIRE_EQUAL(thing_stats(pool).active, i * (OBJECTS / 4));
    }
    end_all(frame);
}

TEST_TIMES(child_of_a_fork_ends_the_frame, KINDS)
{
    cpool_object_frame_t *frame = open_with(_i, OBJECTS);

    support_in_child(end_in_child, frame);
    REQUIRE_EQUAL(thing_stats(pool).active, OBJECTS);
    end_all(frame);
}

/* --- Hooks that fail, or are left --- */

TEST(get_in_a_frame_replaces_an_unfit_object)
{
    cpool_object_frame_t *frame = open_with(LISTED, 2);

    frame = anew(frame);
    account.activate_fails = 5;
    REQUIRE(cpool_object_frame_get(frame) == NULL); /* the one in its place is unfit, too */
    account.activate_fails = 0;
    get_some(frame, 3);
    end_all(frame);
}

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
TEST(end_goes_on_after_a_hook_was_left)
{
    static cpool_object_frame_t *volatile frame;
    cpool_objects_config_t config = configure(0);

    type.deactivate = leave_once;
    pool = thing_pool(&config, &type);
    frame = begin();
    get_some(frame, OBJECTS);
    leaves = true;
    if (setjmp(out) == 0)
        cpool_object_frame_end(frame);
    REQUIRE(!leaves);
    cpool_object_frame_end(frame);
    REQUIRE_EQUAL(thing_stats(pool).active, 1);
    EXPECT_REPORT(CPOOL_EHOOK, REQUIRE_EQUAL(cpool_objects_destroy(pool), CPOOL_EHOOK));
}

/* By the short way and the other one alike. */
TEST_TIMES(reset_that_is_left_keeps_its_object_out_of_use, 2)
{
    static cpool_object_frame_t *volatile frame;
    cpool_objects_config_t config = configure(0);

    type.reset = leave_once;
    config.capacity = 1;
    config.flags = _i == 0 ? 0 : CPOOL_OBJECT_TRACED;
    pool = thing_pool(&config, &type);
    frame = begin();
    get_some(frame, 1);
    frame = anew(frame);
    leaves = true;
    if (setjmp(out) == 0)
        REQUIRE(cpool_object_frame_get(frame) == NULL); /* does not return */
    REQUIRE(!leaves);
    cpool_object_frame_end(frame);
    REQUIRE(cpool_object_get(pool) == NULL);
    EXPECT_REPORT(CPOOL_EHOOK, REQUIRE_EQUAL(cpool_objects_destroy(pool), CPOOL_EHOOK));
}

/* --- Getting beside the frame --- */

TEST_TIMES(object_of_a_frame_is_not_reclaimed, 2)
{
    cpool_objects_config_t config = configure(_i == 0 ? LISTED : FAKE);
    cpool_object_frame_t *frame;

    config.capacity = 2;
    config.flags |= CPOOL_OBJECT_PRIORITY;
    pool = thing_pool(&config, &type);
    frame = begin();
    for (int round = 0; round < 2; round++) {
        struct thing *framed = get(frame);
        size_t serial = framed->serial;
        void *active = cpool_object_get(pool);

        for (int i = 0; i < 3; i++) { /* the other one is reclaimed */
            active = cpool_object_get(pool);
            REQUIRE(active != NULL && active != framed);
            REQUIRE_EQUAL(framed->serial, serial);
        }
        REQUIRE(get(frame) == active || _i == 1); /* it is reclaimed for the frame */
        REQUIRE(cpool_object_frame_get(frame) == NULL);
        frame = anew(frame);
        thing_require(pool, &account, 0);
    }
    end_all(frame);
}

/* The pool grows by the frame's first object and this one. */
static int create_beside_first(void *object, void *arg)
{
    int code = create_counted(object, arg);

    if (account.created == 2) {
        REQUIRE(cpool_object_get(pool) == NULL);
        REQUIRE_EQUAL(cpool_objects_reset(pool, SIZE_MAX), 0);
    }
    return code;
}

/* Neither a get that reclaims, nor a reset of the active objects. */
TEST_TIMES(nothing_takes_an_object_on_its_way_to_the_frame, 2)
{
    cpool_objects_config_t config = configure(0);
    cpool_object_frame_t *frame;

    type.create = create_beside_first;
    config.capacity = 0;
    config.max_capacity = config.growth = 2;
    config.flags = _i == 0 ? CPOOL_OBJECT_PRIORITY : 0;
    pool = thing_pool(&config, &type);
    frame = begin();
    get_some(frame, 1);
    REQUIRE_EQUAL(account.created, 2);
    REQUIRE_EQUAL(thing_stats(pool).active, 1);
    get_some(frame, 1);
    REQUIRE(cpool_object_frame_get(frame) == NULL);
    end_all(frame);
}
