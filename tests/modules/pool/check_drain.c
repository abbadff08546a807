/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_drain.c - a trim or shrink where the system does not tell which pages are
 * resident, how much it asks, and the mistakes of its caller that it finds.
 *
 * Includes growth.h and the system's.  mincore is defined here, in place of the C
 * library's.
 */
#include "growth.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/syscall.h>
#endif

enum { SLOT_SIZE = 64, COUNT = 2000 };

/*
 * ---- What the system tells -----------------------------------------------
 */

/* Sanitizers have their own mincore in that place already. */
#if defined(SYS_mincore) && !SUPPORT_SANITIZED
#define CAN_TELL 1
#else
#define CAN_TELL 0
#endif

static enum { TELLS_TRUTH, TELLS_NOTHING, TELLS_SWAPPED } telling;

static size_t asked; /* bytes, since it was last set to 0 */

#if CAN_TELL

int mincore(void *address, size_t size, unsigned char *states)
{
    asked += size;
    if (telling == TELLS_NOTHING) {
        errno = ENOSYS;
        return -1;
    }
    if (telling == TELLS_TRUTH)
        return (int)syscall(SYS_mincore, address, size, states);
    /* Pages that are swapped out are not resident, and yet there. */
    memset(states, 0, (size + support_page_size() - 1) / support_page_size());
    return 0;
}

#endif

/* Writes to all slots and frees them.  None of them is left in the cache. */
static void write_and_free_all(cpool_t *pool)
{
    struct hold hold;

    hold_init(&hold, pool);
    REQUIRE_EQUAL(hold_take(&hold, SIZE_MAX), support_stats(pool).capacity);
    hold_free_all(&hold);
    hold_fini(&hold);
    cpool_flush(pool);
}

/* Pages that were given back read as zero.  All the others were written to. */
static size_t count_given_back(const cpool_t *pool)
{
    size_t page = support_page_size();
    size_t bytes = support_stats(pool).slot_stride * COUNT;
    char *base = cpool_at(pool, 0);
    size_t given = 0;

    for (size_t at = page - (uintptr_t)base % page; at + page <= bytes; at += page)
        given += *(uint64_t *)(void *)(base + at) == 0;
    return given;
}

TEST_TIMES(trim_gives_back_what_the_system_tells_nothing_about, CAN_TELL ? 2 : 0)
{
    cpool_t *pool = growth_pool(SLOT_SIZE, 0, COUNT, 0);
    size_t most = COUNT * SLOT_SIZE / support_page_size();

    write_and_free_all(pool);
    telling = _i == 0 ? TELLS_NOTHING : TELLS_SWAPPED;
    if (_i == 0)
        REQUIRE(cpool_trim(pool) >= (most - 1) * support_page_size());
    else
        (void)cpool_trim(pool);
    telling = TELLS_TRUTH;
    REQUIRE(count_given_back(pool) >= most - 1);
    support_destroy_empty(pool);
}

TEST_TIMES(shrink_gives_back_what_the_system_tells_nothing_about, CAN_TELL ? 2 : 0)
{
    cpool_t *pool = growth_pool(SLOT_SIZE, 0, COUNT, 0);

    write_and_free_all(pool);
    telling = _i == 0 ? TELLS_NOTHING : TELLS_SWAPPED;
    REQUIRE_EQUAL(cpool_shrink(pool, COUNT / 2), COUNT / 2);
    telling = TELLS_TRUTH;
    REQUIRE(count_given_back(pool) >= COUNT / 2 * SLOT_SIZE / support_page_size() - 1);
    support_destroy_empty(pool);
}

/* The lock is held while the system is asked. */
TEST_TIMES(trim_of_one_enormous_slot_asks_little, CAN_TELL ? 1 : 0)
{
    cpool_config_t config = support_config((size_t)1 << (sizeof(size_t) > 4 ? 42 : 30), 1);
    cpool_t *pool = NULL;
    char *slot;

    SKIP_IF(cpool_create(&pool, &config) != 0, "so much address space is not to be had");
    slot = cpool_alloc(pool);
    SKIP_IF(slot == NULL, "so much memory is not to be had");
    slot[config.slot_size / 2] = 1;
    cpool_free(pool, slot);
    asked = 0;
    REQUIRE(cpool_trim(pool) >= support_page_size());
    REQUIRE(asked <= config.slot_size / 4);
    REQUIRE(slot[config.slot_size / 2] == 0);
    support_destroy_empty(pool);
}

/*
 * ---- What it finds wrong -------------------------------------------------
 */

static void require_reports(size_t count, int code, const char *function)
{
    struct support_report last;

    REQUIRE_EQUAL(support_take_reports(&last), count);
    REQUIRE_EQUAL(last.code, code);
    REQUIRE(strcmp(last.function, function) == 0);
}

/* A plain pool cannot see it when it happens.  Each slot is told of once, and is
 * one slot again. */
TEST_TIMES(collecting_finds_slots_that_were_freed_twice, 2)
{
    cpool_t *pool = growth_pool(SLOT_SIZE, 0, COUNT, 0);
    void *slots[3] = { cpool_alloc(pool), cpool_alloc(pool), cpool_alloc(pool) };
    size_t addresses;

    support_capture_reports();
    for (int i = 0; i < 3; i++) {
        cpool_free(pool, slots[i]);
        for (int again = 0; again < i; again++)
            cpool_free(pool, slots[i]);
    }
    REQUIRE_NO_REPORT();
    addresses = support_address_space();
    if (_i == 0) {
        cpool_trim(pool);
        require_reports(2, CPOOL_EDOUBLEFREE, "cpool_trim");
        REQUIRE(SUPPORT_SANITIZED || support_address_space() <= addresses);
    } else {
        REQUIRE_EQUAL(cpool_shrink(pool, COUNT - 1), COUNT - 1);
        require_reports(2, CPOOL_EDOUBLEFREE, "cpool_shrink");
    }
    support_require_live(pool, 0);
    support_require_obtainable(pool, 0);
    cpool_trim(pool);
    REQUIRE_NO_REPORT();
    support_destroy_empty(pool);
}

/* A thread that last saw the pool when it was larger. */
struct stale {
    cpool_t *pool;
    void *live; /* so that it has a magazine with room */
    void *removed;
};

static void see_bound(void *argument)
{
    struct stale *stale = argument;

    stale->live = cpool_alloc(stale->pool);
    REQUIRE(stale->live != NULL);
}

static void free_removed(void *argument)
{
    struct stale *stale = argument;

    cpool_free(stale->pool, stale->removed);
    cpool_free(stale->pool, stale->live);
    cpool_flush(stale->pool);
}

TEST_TIMES(collecting_finds_slots_that_a_shrink_had_removed, 2)
{
    cpool_t *pool = growth_pool(SLOT_SIZE, 0, COUNT, 0);
    struct worker *worker = worker_start();
    struct stale stale = { pool, NULL, cpool_at(pool, COUNT - 1) };

    write_and_free_all(pool);
    cpool_trim(pool); /* so that the worker gets low ones */
    worker_do(worker, see_bound, &stale);
    REQUIRE_EQUAL(cpool_shrink(pool, COUNT / 2), COUNT / 2);
    support_capture_reports();
    worker_do(worker, free_removed, &stale);
    if (_i == 0)
        cpool_trim(pool);
    else
        (void)cpool_shrink(pool, 1);
    REQUIRE_REPORT(CPOOL_EUNUSED);
    support_require_live(pool, 0);
    support_require_obtainable(pool, 0);
    worker_stop(worker);
    support_destroy_empty(pool);
}
