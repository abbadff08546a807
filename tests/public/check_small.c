/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_small.c - the bytes that a small pool takes.
 *
 * Includes the public API only.
 */
#include "support.h"

#define KIB ((size_t)1024)

enum { SLOT_SIZE = 32, CAPACITY = 256 };

TEST(pool_of_ten_slots_commits_little)
{
    cpool_t *pool;
    size_t writable;

    SKIP_IF(SUPPORT_SANITIZED, "sanitizers commit what they watch");
    pool = support_create_plain(64, 100); /* the thread's table */
    cpool_free(pool, cpool_alloc(pool));
    writable = support_writable();
    support_destroy_empty(pool);
    pool = support_create_plain(24, 10);
    support_require_obtainable(pool, 0);
    REQUIRE(support_stats(pool).committed_bytes <= 32 * KIB);
    REQUIRE(support_writable() <= writable + 32 * KIB);
    support_destroy_empty(pool);
}

/* 8,192 are slots, 2,048 at least the addresses of free ones.  The system's lock and condition
 * take a line more on Windows. */
#if defined(_WIN32)
#define MOST_BYTES (15 * KIB)
#else
#define MOST_BYTES (14 * KIB)
#endif

TEST(pool_in_callers_memory_takes_whole_lines)
{
    cpool_config_t config = support_config(SLOT_SIZE, CAPACITY);

    SKIP_IF(SUPPORT_SANITIZED || sizeof(void *) < 8, "structures have other sizes");
    config.thread_caches = 2;
    REQUIRE(cpool_memory_required(&config) <= MOST_BYTES);
}

/* The size is a constant: an array may have it. */
typedef char static_memory_t[CPOOL_MEMORY_BYTES(SLOT_SIZE, CAPACITY, 2)];

/* By more than a sixth nowhere. */
static void require_bounded(size_t size, size_t slots, size_t caches)
{
    cpool_config_t config = support_config(size, slots);
    size_t bytes = CPOOL_MEMORY_BYTES(size, slots, caches);
    size_t required;

    config.thread_caches = caches;
    required = cpool_memory_required(&config);
    REQUIRE(required > 0 && required <= bytes);
    REQUIRE(sizeof(void *) < 8 || bytes - required <= required / 6);
}

TEST(bytes_known_to_the_compiler_suffice)
{
    const size_t most = (size_t)64 << 20;

    for (size_t size = 1; size < 4096; size += size < 65 ? 1 : size / 3)
        for (size_t slots = 1; size * slots < most; slots += slots < 300 ? 1 : slots / 3)
            for (size_t caches = 1; caches < 5000; caches += 1 + caches / 2)
                require_bounded(size, slots, caches);
    REQUIRE(sizeof(static_memory_t) <= 15 * KIB);
}
