/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_object_typed.c - typed object pools, and objects that find their pool.
 *
 * Includes object.h.
 */
#include "object.h"

#include <errno.h>
#include <string.h>

/* Here the type is not complete: nobody but the pool can make one. */
struct widget;

CPOOL_OBJECTS_DECLARE(widgets, struct widget);

struct widget {
    size_t serial;
    size_t resets;
};

static _Atomic size_t created, destroyed;
static _Atomic int create_fails;

static int create_widget(void *object, void *arg)
{
    struct widget *widget = object;

    REQUIRE(arg == &created);
    if (create_fails != 0)
        return create_fails;
    widget->serial = ++created;
    widget->resets = 0;
    return 0;
}

static void reset_widget(void *object, void *arg)
{
    struct widget *widget = object;

    (void)arg;
    widget->resets++;
}

static void destroy_widget(void *object, void *arg)
{
    (void)object;
    (void)arg;
    destroyed++;
}

CPOOL_OBJECTS_DEFINE(widgets, struct widget,
                     CPOOL_OBJECT_HOOKS(.create = create_widget, .reset = reset_widget,
                                        .destroy = destroy_widget, .arg = &created),
                     .capacity = 10, .populate = 4);

/*
 * ---- Typed pools ---------------------------------------------------------
 */

TEST(typed_pool_comes_to_be_on_first_use)
{
    struct widget *widget;
    cpool_grant_t grant = CPOOL_GRANT_INIT;

    REQUIRE_EQUAL(widgets_close(), 0);
    for (int round = 0; round < 3; round++) {
        created = destroyed = 0;
        widget = widgets_get();
        REQUIRE(widget != NULL && created == 4 && widget->serial <= 4);
        widgets_put(widget);
        REQUIRE_EQUAL(widgets_get_with(&widget, &grant), 0);
        REQUIRE(grant.uses > 1 && widget->resets == 1);
        widgets_put(widget);
        widgets_put(NULL);
        REQUIRE_EQUAL(thing_stats(widgets_objects()).capacity, 10);
        REQUIRE_EQUAL(widgets_open(NULL), 0);
        REQUIRE_EQUAL(widgets_close(), 0);
        REQUIRE_EQUAL(created, destroyed);
    }
}

TEST(typed_pool_opened_has_the_given_settings)
{
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_object_type_t other = CPOOL_OBJECT_TYPE_INIT;
    struct widget *widget;

    other.object_size = 1;
    config.type = &other;
    config.capacity = 1;
    REQUIRE_EQUAL(widgets_open(&config), CPOOL_ESLOTSIZE);
    config.type = NULL;
    config.flags = 0x80000000u;
    REQUIRE_EQUAL(widgets_open(&config), CPOOL_EFLAGS);
    config.flags = 0;
    REQUIRE_EQUAL(widgets_open(&config), 0);
    REQUIRE_EQUAL(widgets_open(&config), CPOOL_EOPEN);
    widget = widgets_get();
    REQUIRE(widget != NULL && widgets_get() == NULL);
    widgets_put(widget);
    create_fails = EIO;
    REQUIRE_EQUAL(cpool_objects_resize(widgets_objects(), -1, 0), 1);
    REQUIRE_EQUAL(cpool_objects_resize(widgets_objects(), 1, 0), 1);
    REQUIRE_EQUAL(widgets_get_with(&widget, NULL), EIO);
    REQUIRE(widget == NULL);
    create_fails = 0;
    REQUIRE_EQUAL(widgets_close(), 0);
}

/* Cannot be made. */
CPOOL_OBJECTS_DECLARE(wrong, struct widget);
CPOOL_OBJECTS_DEFINE(wrong, struct widget, CPOOL_OBJECT_HOOKS(.arg = NULL), .capacity = 1,
                     .flags = 0x80000000u);

TEST(typed_pool_that_cannot_be_made_says_why_once)
{
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;

    config.capacity = 1;
    support_capture_reports();
    REQUIRE_EQUAL(wrong_open(NULL), CPOOL_EFLAGS);
    REQUIRE_NO_REPORT();
    for (int i = 0; i < 2; i++) {
        REQUIRE(wrong_get() == NULL);
        REQUIRE(strcmp(REQUIRE_REPORT(CPOOL_EFLAGS).name, "wrong") == 0);
        REQUIRE(wrong_get() == NULL && wrong_objects() == NULL);
        REQUIRE_NO_REPORT();
        REQUIRE_EQUAL(wrong_open(&config), 0);
        REQUIRE_EQUAL(wrong_close(), 0);
    }
    support_release_reports();
}

TEST(typed_pool_waits_and_finds_what_is_active)
{
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    struct widget *widget, *other;
    cpool_object_info_t info = CPOOL_OBJECT_INFO_INIT;
    cpool_grant_t grant = CPOOL_GRANT_INIT;

    config.capacity = 1;
    config.flags = CPOOL_OBJECT_WAITABLE;
    REQUIRE_EQUAL(widgets_open(&config), 0);
    grant.wait_ns = UINT64_MAX;
    REQUIRE_EQUAL(widgets_get_with(&widget, &grant), 0);
    REQUIRE(widget != NULL && grant.uses == 1);
    grant.wait_ns = 1000;
    REQUIRE_EQUAL(widgets_get_with(&other, &grant), CPOOL_EDRY);
    REQUIRE(other == NULL);
    REQUIRE(widgets_next(&info) == widget && widgets_next(&info) == NULL);
    widgets_put(widget);
    info.next = 0;
    REQUIRE(widgets_next(&info) == NULL);
    REQUIRE_EQUAL(widgets_close(), 0);
}

enum { THREADS = 4 };

static pthread_barrier_t start;

static void *get_first(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&start);
    return widgets_get();
}

/* Of several pools that first uses make at once one stays, and no hook runs for others. */
TEST(typed_pool_used_first_by_several_threads_is_one)
{
    pthread_t threads[THREADS];
    void *widget;

    REQUIRE_EQUAL(pthread_barrier_init(&start, NULL, THREADS), 0);
    for (int round = 0; round < 50; round++) {
        created = destroyed = 0;
        for (size_t i = 0; i < THREADS; i++)
            threads[i] = support_start(get_first, NULL);
        for (size_t i = 0; i < THREADS; i++) {
            REQUIRE_EQUAL(pthread_join(threads[i], &widget), 0);
            REQUIRE(widget != NULL && object_active(widgets_objects(), widget));
        }
        REQUIRE(created <= 4 + THREADS && destroyed == 0);
        REQUIRE_EQUAL(cpool_objects_reset(widgets_objects(), SIZE_MAX), THREADS);
        REQUIRE_EQUAL(widgets_close(), 0);
        REQUIRE_EQUAL(created, destroyed);
    }
    pthread_barrier_destroy(&start);
}

/*
 * ---- Objects that find their pool ----------------------------------------
 */

static cpool_objects_t *plain_pool(unsigned flags)
{
    static cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;

    type.object_size = 48;
    config.growth = 1;
    config.flags = flags;
    return thing_pool(&config, &type);
}

TEST(object_released_goes_back_to_its_pool)
{
    cpool_objects_t *pools[3] = { plain_pool(0), plain_pool(CPOOL_OBJECT_FAKE),
                                  plain_pool(CPOOL_OBJECT_COUNTED) };
    void *objects[3 * 50];

    for (int i = 0; i < 3 * 50; i++) {
        objects[i] = cpool_object_get(pools[i % 3]);
        REQUIRE(objects[i] != NULL);
    }
    for (int i = 3 * 50 - 1; i >= 0; i--)
        cpool_object_release(objects[i]);
    cpool_object_release(NULL);
    for (int i = 0; i < 3; i++) {
        REQUIRE_EQUAL(thing_stats(pools[i]).active, 0);
        REQUIRE_EQUAL(cpool_objects_destroy(pools[i]), 0);
    }
}

TEST(release_of_what_is_no_object_refused)
{
    cpool_objects_t *pool = plain_pool(0);
    cpool_t *slots = support_create_plain(48, 10);
    void *object = cpool_object_get(pool);
    void *slot = cpool_alloc(slots);
    static char local[256];

    cpool_object_release(object);
    support_capture_reports();
    cpool_object_release(object);
    REQUIRE_REPORT(CPOOL_EINACTIVE);
    cpool_object_release((char *)object + 8);
    REQUIRE_REPORT(CPOOL_EMISALIGNED);
    cpool_object_release(slot); /* a slot, but no object */
    REQUIRE_REPORT(CPOOL_EFOREIGN);
    cpool_object_release(local + 64);
    REQUIRE_REPORT(CPOOL_EFOREIGN);
    support_release_reports();
    cpool_free(slots, slot);
    support_destroy_empty(slots);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
}
