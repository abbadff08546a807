/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_cancel.c - no function of the library is a point of cancellation, those
 * that write to a stream excepted: a thread with a cancellation pending comes
 * back from each, in every kind of pool.
 */
#include "support.h"

enum { CAPACITY = 300, RESERVED = 50 };

static const unsigned kinds[] = { 0, CPOOL_CHECKED, CPOOL_HUGE_PAGES };

struct doomed {
    unsigned flags;
    bool survived; /* every call, and then was cancelled where it asked for it */
    bool immortal; /* not even there */
};

static void use_slots(cpool_t *pool)
{
    void *slots[CAPACITY];

    for (int i = 0; i < CAPACITY; i++)
        REQUIRE((slots[i] = cpool_alloc(pool)) != NULL);
    for (int i = 0; i < CAPACITY; i++)
        cpool_free(pool, slots[i]);
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, CAPACITY, 0), CAPACITY);
    cpool_free_bulk(pool, slots, CAPACITY);
    cpool_free_uncached(pool, cpool_alloc_uncached(pool));
    cpool_free(pool, cpool_calloc(pool));
}

static void use_caches(cpool_t *pool)
{
    cpool_cache_t *cache = NULL;

    REQUIRE_EQUAL(cpool_cache_create(&cache, pool), 0);
    cpool_cache_free(cache, cpool_cache_alloc(cache));
    cpool_cache_flush(cache);
    cpool_cache_destroy(cache);
    cpool_flush(pool);
}

static void use_memory(cpool_t *pool)
{
    REQUIRE_EQUAL(cpool_grow(pool, CAPACITY), CAPACITY);
    REQUIRE(cpool_shrink(pool, CAPACITY) > 0);
    (void)cpool_trim(pool);
    REQUIRE_EQUAL(cpool_reserve(pool, RESERVED), 0);
    (void)support_stats(pool);
}

/* Sleeps until the time is up, with every slot taken. */
static void wait_in_vain(cpool_t *pool)
{
    const struct timespec timeout = { 0, 2000000 };
    void *slots[2 * CAPACITY];
    size_t count = cpool_alloc_bulk(pool, slots, 2 * CAPACITY, 0);

    REQUIRE(cpool_alloc_wait(pool, &timeout) == NULL);
    cpool_free_bulk(pool, slots, count);
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, RESERVED, 0), RESERVED);
    cpool_free_bulk(pool, slots, RESERVED);
}

/* Not inlined, for the reason that is given below. */
__attribute__((__noinline__)) static void use_all(unsigned flags)
{
    cpool_config_t config = support_config(4096, CAPACITY);
    cpool_t *pool;

    support_set_flags(&config, flags);
    config.max_capacity = 2 * CAPACITY;
    pool = support_create(&config);
    use_slots(pool);
    use_caches(pool);
    use_memory(pool);
    wait_in_vain(pool);
    REQUIRE_EQUAL(cpool_reset(pool), 0);
    REQUIRE(cpool_alloc(pool) != NULL);
    /* That one is live: a checked pool says so, to standard error. */
    REQUIRE_EQUAL(support_destroy(pool), 1);
}

/* Without variables of its own, which AddressSanitizer would watch for good. */
static void *use_all_and_end(void *argument)
{
    struct doomed *doomed = argument;

    REQUIRE_EQUAL(pthread_cancel(pthread_self()), 0);
    use_all(doomed->flags);
    doomed->survived = true;
    pthread_testcancel();
    doomed->immortal = true;
    return NULL;
}

static void use_all_in_thread(void *doomed)
{
    support_in_thread(use_all_and_end, doomed);
    REQUIRE(((struct doomed *)doomed)->survived);
    REQUIRE(!((struct doomed *)doomed)->immortal);
}

TEST_TIMES(no_function_is_a_point_of_cancellation, SUPPORT_LENGTH(kinds))
{
    struct doomed doomed = { kinds[_i], false, false };
    struct support_outcome outcome;

    /* In a child, because of what checked pools write. */
    support_fork(use_all_in_thread, &doomed, &outcome);
    if (outcome.status != 0)
        support_fail(__FILE__, __LINE__, outcome.text);
    REQUIRE((strstr(outcome.text, "1 live") != NULL) == (kinds[_i] == CPOOL_CHECKED));
}
