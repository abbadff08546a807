/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_structs.c - programs built against a header of the past with structures shorter
 * than the library's, and of the future with longer ones.
 */
#include "support.h"

#include <cpool/object.h>

/* The bytes beyond a structure, which must be neither read nor written. */
#define BEYOND 0xa5

/* The last member reaches to the structure's end: a member that is added later does
 * not fall into padding that an old program never set. */
#define REACHES_END(type, last) \
    _Static_assert(offsetof(type, last) + sizeof(((type *)0)->last) == sizeof(type), #type)

REACHES_END(cpool_config_t, sample);
REACHES_END(cpool_stats_t, system_calls);
REACHES_END(cpool_object_type_t, arg);
REACHES_END(cpool_objects_config_t, thread_caches);
REACHES_END(cpool_objects_stats_t, hook_failures);
REACHES_END(cpool_object_info_t, age_ns);
REACHES_END(cpool_error_t, details);

#define SIZE_FIRST(type) \
    _Static_assert(offsetof(type, size) == 0 && sizeof(((type *)0)->size) == sizeof(size_t), #type)

SIZE_FIRST(cpool_config_t);
SIZE_FIRST(cpool_stats_t);
SIZE_FIRST(cpool_object_type_t);
SIZE_FIRST(cpool_objects_config_t);
SIZE_FIRST(cpool_objects_stats_t);
SIZE_FIRST(cpool_object_info_t);
SIZE_FIRST(cpool_error_t);

/* The configuration as it may have been, and as it may become. */
struct past_config {
    size_t size;
    const char *name;
    size_t slot_size;
    size_t slot_align;
    size_t slot_offset;
    size_t capacity;
};

struct future_config {
    cpool_config_t now;
    void (*hook)(void *slot);
    unsigned char more[24];
};

struct past_stats {
    size_t size;
    size_t capacity;
    size_t max_capacity;
    size_t live;
};

struct future_stats {
    cpool_stats_t now;
    uint64_t more[5];
};

#define CAPACITY 100

/* --- What the program passes --- */

TEST(create_from_header_of_the_past_uses_defaults)
{
    struct past_config past = { sizeof(past), "past", 24, 0, 0, CAPACITY };
    unsigned char room[sizeof(cpool_config_t)];
    cpool_t *pool = NULL;

    memset(room, BEYOND, sizeof(room));
    memcpy(room, &past, sizeof(past));
    REQUIRE(cpool_memory_required((const cpool_config_t *)(const void *)room) > 0);
    REQUIRE_EQUAL(cpool_create(&pool, (const cpool_config_t *)(const void *)room), 0);
    REQUIRE_EQUAL(support_stats(pool).capacity, CAPACITY);
    REQUIRE_EQUAL(support_stats(pool).max_capacity, CAPACITY);
    support_destroy_empty(pool);
}

/* For every end of the structure, the bytes beyond are not looked at. */
TEST(create_from_any_prefix_uses_defaults)
{
    cpool_config_t whole = support_config(24, CAPACITY);

    for (size_t size = sizeof(struct past_config); size <= sizeof(whole);
         size += sizeof(size_t)) {
        cpool_config_t config;
        cpool_t *pool;

        memset(&config, BEYOND, sizeof(config));
        memcpy(&config, &whole, size);
        config.size = size;
        pool = support_create(&config);
        REQUIRE_EQUAL(cpool_memory_required(&config), cpool_memory_required(&whole));
        support_destroy_empty(pool);
    }
}

TEST(create_from_header_of_the_future_needs_unknown_members_zero)
{
    struct future_config future;
    unsigned char *tail = (unsigned char *)&future + sizeof(future.now);

    memset(&future, 0, sizeof(future));
    future.now = support_config(24, CAPACITY);
    future.now.size = sizeof(future);
    support_destroy_empty(support_create(&future.now));
    for (size_t i = 0; i < sizeof(future) - sizeof(future.now); i++) {
        cpool_t *pool;

        tail[i] = 1;
        REQUIRE_EQUAL(cpool_create(&pool, &future.now), CPOOL_ESTRUCT);
        REQUIRE(pool == NULL);
        REQUIRE_EQUAL(cpool_memory_required(&future.now), 0);
        tail[i] = 0;
    }
}

TEST(create_from_largest_structure_serves)
{
    static union {
        cpool_config_t config;
        unsigned char bytes[4096];
    } largest;

    largest.config = support_config(24, CAPACITY);
    largest.config.size = sizeof(largest);
    support_destroy_empty(support_create(&largest.config));
}

/* --- What the library fills in --- */

static void require_bytes(const unsigned char *bytes, size_t count, unsigned char value)
{
    for (size_t i = 0; i < count; i++)
        REQUIRE_EQUAL(bytes[i], value);
}

TEST(stats_for_header_of_the_past_end_where_it_ends)
{
    union {
        struct past_stats past;
        cpool_stats_t stats;
        unsigned char bytes[sizeof(cpool_stats_t)];
    } given;
    cpool_t *pool = support_create_plain(24, CAPACITY);
    void *slot = cpool_alloc(pool);

    memset(given.bytes, BEYOND, sizeof(given));
    given.past.size = sizeof(given.past);
    REQUIRE_EQUAL(cpool_read_stats(pool, &given.stats), 0);
    REQUIRE_EQUAL(given.past.size, sizeof(given.past));
    REQUIRE_EQUAL(given.past.capacity, CAPACITY);
    REQUIRE_EQUAL(given.past.live, 1);
    require_bytes(given.bytes + sizeof(given.past), sizeof(given) - sizeof(given.past), BEYOND);
    cpool_free(pool, slot);
    support_destroy_empty(pool);
}

TEST(stats_for_header_of_the_future_end_with_zeros)
{
    struct future_stats future;
    cpool_t *pool = support_create_plain(24, CAPACITY);

    memset(&future, BEYOND, sizeof(future));
    future.now.size = sizeof(future);
    REQUIRE_EQUAL(cpool_read_stats(pool, &future.now), 0);
    REQUIRE_EQUAL(future.now.size, sizeof(future));
    REQUIRE_EQUAL(future.now.capacity, CAPACITY);
    REQUIRE_EQUAL(future.now.stalls, 0);
    require_bytes((const unsigned char *)future.more, sizeof(future.more), 0);
    support_destroy_empty(pool);
}
