/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_typed_forms.c - typed forms of the functions with a slot of no type: waits, bulk, the
 * depot, explicit caches, indices, handles and notices.
 *
 * Each is compared with the function that it stands for.  Includes the public API only.
 */
/* Counts the accesses of the inline path. */
extern unsigned long points;
#define CPOOL_POINT_() ((void)points++)

#include "support.h"

#include <cpool/events.h>
#include <cpool/object.h>
#include <cpool/track.h>

enum { CAPACITY = 20 };

struct body {
    size_t number;
};

CPOOL_DECLARE(bodies, struct body);
CPOOL_DECLARE_HANDLES(bodies, struct body);
CPOOL_DECLARE_NOTICES(bodies, struct body);
CPOOL_DEFINE(bodies, struct body, .capacity = CAPACITY, .flags = CPOOL_TRACKED);

/* Cannot be created. */
CPOOL_DECLARE(none, struct body);
CPOOL_DECLARE_HANDLES(none, struct body);
CPOOL_DECLARE_NOTICES(none, struct body);
CPOOL_DEFINE(none, struct body, .capacity = 1, .thread_caches = CPOOL_THREAD_CACHES_MAX + 1);

CPOOL_OBJECTS_DECLARE(nothing, struct body);
CPOOL_OBJECTS_DEFINE(nothing, struct body, CPOOL_OBJECT_HOOKS(.arg = NULL), .capacity = 0);

unsigned long points;

#define SIZES(name, bytes)                                                             \
    struct name {                                                                      \
        char slot[bytes];                                                              \
    };                                                                                 \
    CPOOL_DECLARE(name, struct name);                                                  \
    CPOOL_DEFINE(name, struct name, .capacity = CAPACITY, .magazine_rounds = 4);       \
    static unsigned long points_of_##name(void)                                        \
    {                                                                                  \
        struct name *one = name##_alloc();                                             \
                                                                                       \
        name##_free(one); /* the thread has a magazine */                              \
        points = 0;                                                                    \
        one = name##_alloc();                                                          \
        name##_free(one);                                                              \
        REQUIRE_EQUAL(name##_close(), CPOOL_OK);                                       \
        return points;                                                                 \
    }

SIZES(slots64, 64)
SIZES(slots24, 24)
SIZES(slots48, 48)

/* A system without the kernel's barrier opens no entry. */
static bool opens_entries(void)
{
    bool opens;

    slots64_free(slots64_alloc());
    opens = cpool_cache(slots64_pool())->limit != 0;
    REQUIRE_EQUAL(slots64_close(), CPOOL_OK);
    return opens;
}

TEST(any_size_stays_on_the_inline_path)
{
    SKIP_IF(!CPOOL_IS_INLINE_ || !opens_entries(), "there is no inline path");
    /* An alloc and a free read the count, mark it, read the limit, and write the count. */
    REQUIRE_EQUAL(points_of_slots64(), 8);
    REQUIRE_EQUAL(points_of_slots24(), 8);
    REQUIRE_EQUAL(points_of_slots48(), 8);
}

static void close_empty(void)
{
    support_require_live(bodies_pool(), 0);
    REQUIRE_EQUAL(bodies_close(), CPOOL_OK);
}

TEST(wait_ends_with_a_slot_or_the_time)
{
    const struct timespec moment = { 0, 1000000 };
    struct body *held[CAPACITY];

    REQUIRE_EQUAL(bodies_alloc_bulk(held, CAPACITY), CAPACITY);
    REQUIRE(bodies_alloc_wait(&moment) == NULL);
    bodies_free(held[3]);
    REQUIRE(bodies_alloc_wait(NULL) == held[3]);
    bodies_free_bulk(held, CAPACITY);
    close_empty();
}

TEST(depot_and_caches_pass_slots_on)
{
    struct body *deep = bodies_depot_alloc();
    cpool_cache_t *cache;
    struct body *mine;

    REQUIRE(deep != NULL && bodies_at(cpool_index(bodies_pool(), deep)) == deep);
    REQUIRE_EQUAL(bodies_index(deep), cpool_index(bodies_pool(), deep));
    REQUIRE_EQUAL(cpool_cache_create(&cache, bodies_pool()), CPOOL_OK);
    mine = bodies_cache_alloc(cache);
    REQUIRE(mine != NULL && mine != deep);
    support_require_live(bodies_pool(), 2);
    bodies_depot_free(deep);
    bodies_depot_free(NULL);
    bodies_cache_free(cache, mine);
    REQUIRE(bodies_at(SIZE_MAX) == NULL && bodies_index(bodies_at(0) - 1) == SIZE_MAX);
    cpool_cache_destroy(cache);
    close_empty();
}

TEST(handle_is_of_a_live_slot)
{
    struct body *one = bodies_alloc();
    cpool_handle_t handle = bodies_handle(one);
    cpool_iter_t iter = CPOOL_ITER_INIT(bodies_pool(), 0, SIZE_MAX);

    REQUIRE(handle != CPOOL_HANDLE_NONE && bodies_resolve(handle) == one);
    REQUIRE(bodies_iter_next(&iter) == one && iter.handle == handle);
    REQUIRE(bodies_iter_next(&iter) == NULL);
    bodies_free(one);
    REQUIRE(bodies_resolve(handle) == NULL);
    REQUIRE_EQUAL(bodies_handle(one), CPOOL_HANDLE_NONE);
    close_empty();
}

static void count_notice(cpool_t *pool, void *notices)
{
    REQUIRE(pool == bodies_pool());
    ++*(int *)notices;
}

TEST(notice_follows_a_free)
{
    struct body *held[CAPACITY];
    int notices = 0;

    REQUIRE_EQUAL(cpool_set_ready(bodies_pool(), count_notice, &notices), CPOOL_OK);
    held[0] = bodies_alloc_or_notify();
    REQUIRE_EQUAL(bodies_alloc_bulk(held + 1, CAPACITY - 1), CAPACITY - 1);
    REQUIRE(bodies_alloc_or_notify() == NULL);
    REQUIRE_EQUAL(notices, 0);
    bodies_free(held[0]);
    REQUIRE_EQUAL(notices, 1);
    bodies_free_bulk(held + 1, CAPACITY - 1);
    close_empty();
}

/* Nothing, and a report the first time. */
TEST(pool_that_cannot_be_created_gives_nothing)
{
    struct body *held[1];
    struct body *volatile other = (struct body *)(void *)held;

    support_capture_reports();
    REQUIRE(none_alloc_wait(NULL) == NULL);
    REQUIRE_REPORT(CPOOL_ECACHES);
    REQUIRE_EQUAL(none_alloc_bulk(held, 1), 0);
    REQUIRE(none_depot_alloc() == NULL);
    REQUIRE(none_at(0) == NULL && none_index(other) == SIZE_MAX && none_resolve(1) == NULL);
    REQUIRE_EQUAL(none_handle(other), CPOOL_HANDLE_NONE);
    REQUIRE(none_alloc_or_notify() == NULL);
    none_depot_free(NULL);
    REQUIRE(!nothing_is_active(other));
    REQUIRE_REPORT(CPOOL_ECAPACITY);
    support_release_reports();
}
