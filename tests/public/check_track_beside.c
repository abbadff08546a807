/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_track_beside.c - tracked pools beside what else there is: trim, a caller's memory,
 * typed pools, other threads, and fork.
 *
 * Includes the public API only.
 */
#include "support.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cpool/track.h>

enum { CAPACITY = 500 };

/*
 * ---- Tables, pages, memory --------------------------------------------------
 */

/* Objects constructed in free slots, and the slots' addresses, after a trim. */
TEST_TIMES(trim_keeps_bytes_only_where_asked, 2)
{
    enum { MANY = 20000 };
    cpool_config_t config = support_config(64, MANY);
    bool keeps = _i == 1;
    void **slots = support_calloc(MANY, sizeof(*slots));
    size_t zero = 0;
    cpool_t *pool;

    config.flags = CPOOL_TRACKED;
    config.memory_flags = CPOOL_MEMORY_NO_POISON | (keeps ? CPOOL_MEMORY_KEEP_PAGES : 0);
    pool = support_create(&config);
    REQUIRE_EQUAL(support_take_all(pool, slots), MANY);
    for (int i = 0; i < MANY; i++)
        memset(slots[i], 7, 64);
    cpool_free_bulk(pool, slots, MANY);
    REQUIRE((cpool_trim(pool) == 0) == keeps);
    REQUIRE(cpool_shrink(pool, MANY / 2) > 0);
    for (int i = 0; i < MANY; i++) {
        const char *byte = slots[i];

        REQUIRE(*byte == 7 || (!keeps && *byte == 0));
        zero += *byte == 0;
    }
    REQUIRE((zero == 0) == keeps);
    support_destroy_empty(pool);
    free(slots);
}

TEST(callers_memory_of_any_content_serves)
{
    cpool_config_t config = support_config(48, CAPACITY);
    size_t size;
    void *memory;
    cpool_t *pool;
    void *slot;

    config.flags = CPOOL_TRACKED;
    size = cpool_memory_required(&config);
    memory = support_lines(size);
    memset(memory, 0xA5, size);
    config.memory = memory;
    config.memory_size = size;
    support_capture_reports();
    pool = support_create(&config);
    REQUIRE_EQUAL(cpool_index_limit(pool), CAPACITY);
    slot = cpool_alloc(pool);
    REQUIRE(cpool_resolve(pool, cpool_handle(pool, slot)) == slot);
    REQUIRE_EQUAL(support_count_live(pool), 1);
    cpool_free(pool, slot);
    cpool_free(pool, slot);
    (void)REQUIRE_REPORT(CPOOL_EDOUBLEFREE);
    support_destroy_empty(pool);
}

/*
 * ---- Typed pools ------------------------------------------------------------
 */

struct thing {
    long value[5];
};

CPOOL_DECLARE(things, struct thing);
CPOOL_DEFINE(things, struct thing, .capacity = CAPACITY, .flags = CPOOL_TRACKED);

TEST(typed_pool_is_tracked)
{
    struct thing *thing;
    cpool_handle_t handle;

    support_capture_reports();
    for (int round = 0; round < 3; round++) {
        thing = things_alloc();
        handle = cpool_handle(things_pool(), thing);
        REQUIRE(cpool_resolve(things_pool(), handle) == thing);
        REQUIRE_EQUAL(support_count_live(things_pool()), 1);
        things_free(thing);
        REQUIRE(cpool_resolve(things_pool(), handle) == NULL);
        things_free(thing);
        (void)REQUIRE_REPORT(CPOOL_EDOUBLEFREE);
    }
    REQUIRE_EQUAL(things_close(), 0);
}

/*
 * ---- Threads ----------------------------------------------------------------
 */

enum { KEPT = 200,
       CHURNED = 20,
       THREADS = 3 };

struct crowd {
    cpool_t *pool;
    atomic_bool stop;
};

/* Takes and frees slots, and resolves the handles of its own. */
static void *churn(void *argument)
{
    struct crowd *crowd = argument;
    void *slots[CHURNED];
    cpool_handle_t handles[CHURNED];

    while (!atomic_load(&crowd->stop)) {
        for (int i = 0; i < CHURNED; i++) {
            REQUIRE((slots[i] = cpool_alloc(crowd->pool)) != NULL);
            handles[i] = cpool_handle(crowd->pool, slots[i]);
            REQUIRE(cpool_resolve(crowd->pool, handles[i]) == slots[i]);
        }
        for (int i = 0; i < CHURNED; i++) {
            cpool_free(crowd->pool, slots[i]);
            REQUIRE(cpool_resolve(crowd->pool, handles[i]) == NULL);
        }
    }
    return NULL;
}

static cpool_t *make_crowded(unsigned flags)
{
    cpool_config_t config = support_config(48, CAPACITY);

    config.flags = flags;
    config.thread_caches = THREADS + 1;
    support_capture_reports();
    return support_create(&config);
}

static const unsigned crowded[] = {CPOOL_TRACKED, CPOOL_CHECKED};

#define CROWDED (sizeof(crowded) / sizeof(crowded[0]))

static void audit_child(cpool_t *pool, void *const *slots, const cpool_handle_t *handles)
{
    for (int i = 0; i < KEPT; i++)
        REQUIRE(cpool_resolve(pool, handles[i]) == slots[i]);
    REQUIRE(support_count_live(pool) <= KEPT + THREADS * CHURNED);
    for (int i = 0; i < KEPT; i++)
        cpool_free(pool, slots[i]);
    for (int i = 0; i < KEPT; i++)
        REQUIRE((cpool_alloc(pool)) != NULL);
    for (int i = 0; i < KEPT; i++)
        REQUIRE(cpool_resolve(pool, handles[i]) == NULL);
    REQUIRE_NO_REPORT();
}

/* The doings of other threads at that instant are never reported in the child. */
TEST_TIMES(handles_stay_good_in_the_child_of_a_fork, CROWDED)
{
    struct crowd crowd = {.pool = make_crowded(crowded[_i])};
    pthread_t threads[THREADS];
    cpool_handle_t handles[KEPT];
    void *slots[KEPT];

    for (int i = 0; i < KEPT; i++) {
        REQUIRE((slots[i] = cpool_alloc(crowd.pool)) != NULL);
        handles[i] = cpool_handle(crowd.pool, slots[i]);
    }
    for (int i = 0; i < THREADS; i++)
        threads[i] = support_start(churn, &crowd);
    for (int round = SUPPORT_COUNT(40, 5); round > 0; round--) {
        pid_t child = fork();
        int status;

        REQUIRE(child >= 0);
        if (child == 0) {
            audit_child(crowd.pool, slots, handles);
            _exit(0);
        }
        REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    }
    atomic_store(&crowd.stop, true);
    for (int i = 0; i < THREADS; i++)
        support_join(threads[i]);
    REQUIRE_EQUAL(support_destroy(crowd.pool), KEPT);
}
