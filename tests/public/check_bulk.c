/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_bulk.c - taking and giving back many slots at once.
 */
#include "support.h"

#include <cpool/client.h>

enum { CAPACITY = 1000 };

static cpool_t *pool;
static void *slots[CAPACITY + 100];

static void make_pool(size_t rounds)
{
    pool = SUPPORT_CREATE(16, CAPACITY, .magazine_rounds = rounds);
}

/* The first n entries are slots of the pool, and all are different. */
static void require_distinct(size_t n)
{
    bool taken[CAPACITY] = { false };

    for (size_t i = 0; i < n; i++) {
        size_t index = cpool_index(pool, slots[i]);

        REQUIRE(index < CAPACITY);
        REQUIRE(!taken[index]);
        taken[index] = true;
    }
}

TEST_TIMES(alloc_bulk_of_every_number_gives_that_many, 4)
{
    static const size_t rounds[] = { 0, 1, 7, 64 };

    make_pool(rounds[_i]);
    for (size_t n = 0; n <= 300; n++) {
        REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, n, 0), n);
        require_distinct(n);
        support_require_live(pool, n);
        cpool_free_bulk(pool, slots, n);
        support_require_live(pool, 0);
    }
    support_destroy_whole(pool);
}

/* Of the last slots: of least, of more, and all or none. */
TEST_TIMES(alloc_bulk_gives_no_fewer_than_the_least, 3)
{
    static const size_t rounds[] = { 0, 1, 64 };

    make_pool(rounds[_i]);
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, CAPACITY + 1, CAPACITY + 1), 0);
    support_require_live(pool, 0);
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, CAPACITY - 10, CAPACITY - 10), CAPACITY - 10);
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots + CAPACITY - 10, 20, 11), 0);
    support_require_live(pool, CAPACITY - 10);
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots + CAPACITY - 10, 20, 10), 10);
    require_distinct(CAPACITY);
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots + CAPACITY, 1, 1), 0);
    cpool_free_bulk(pool, slots, CAPACITY);
    support_destroy_whole(pool);
}

/* The slot that is taken before the damaged one. */
static unsigned char *victim;

static void overrun_victim(const cpool_error_t *error, void *unused)
{
    (void)unused;
    (void)error;
    if (victim != NULL)
        memset(victim - 1, 0, 26);
    victim = NULL;
}

/* What is overwritten around a slot while others are looked for keeps none of them. */
TEST(alloc_bulk_gives_back_what_was_overrun)
{
    const cpool_error_handler_t handler = { overrun_victim, NULL };
    unsigned char *kept[3];
    cpool_stats_t stats = CPOOL_STATS_INIT;

    pool = support_create_kind(24, 3, CPOOL_CHECKED);
    for (size_t i = 0; i < 3; i++)
        kept[i] = cpool_alloc(pool);
    for (size_t i = 0; i < 3; i++)
        cpool_free(pool, kept[i]);
    victim = kept[2]; /* the first that is taken */
    kept[1][-1] ^= 1;
    (void)cpool_set_error_handler(handler);
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, 4, 4), 0);
    (void)cpool_set_error_handler((cpool_error_handler_t){ NULL, NULL });
    REQUIRE(victim == NULL);
    REQUIRE_EQUAL(cpool_read_stats(pool, &stats), 0);
    REQUIRE_EQUAL(stats.live, 0);
    REQUIRE_EQUAL(stats.failures, 1);
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, 3, 4), 0); /* which there cannot be */
    REQUIRE_EQUAL(cpool_read_stats(pool, &stats), 0);
    REQUIRE_EQUAL(stats.failures, 2);
    support_destroy_empty(pool);
}

/* As in a handler of fork that runs between those of the library. */
TEST(alloc_bulk_with_the_lock_held_gives_back)
{
    pool = support_create_kind(24, 3, CPOOL_CHECKED);
    cpool_free(pool, cpool_alloc(pool));
    REQUIRE(cpool_client_lock());
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, 4, 4), 0);
    cpool_client_unlock();
    support_destroy_empty(pool);
}

TEST(alloc_bulk_into_null_reported)
{
    struct support_report report;

    make_pool(0);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, NULL, 3, 0), 0);
    report = REQUIRE_REPORT(CPOOL_ENULL);
    REQUIRE(strcmp(report.function, "cpool_alloc_bulk") == 0);
    REQUIRE(strcmp(report.name, "tested") == 0);
    support_require_live(pool, 0);
    support_destroy_empty(pool);
}

TEST(free_bulk_with_null_entries_skips_them)
{
    make_pool(0);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, 100, 0), 100);
    for (size_t i = 0; i < 100; i += 3) {
        cpool_free(pool, slots[i]);
        slots[i] = NULL;
    }
    cpool_free_bulk(pool, slots, 100);
    REQUIRE_NO_REPORT();
    support_require_live(pool, 0);
    support_destroy_empty(pool);
}

TEST(free_bulk_with_wrong_entries_refuses_those_alone)
{
    char foreign;

    make_pool(0);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, 100, 0), 100);
    slots[100] = slots[0];
    slots[101] = slots[50];
    slots[0] = &foreign;
    slots[50] = (char *)slots[50] + 1;
    slots[99] = cpool_at(pool, CAPACITY - 1);
    slots[102] = cpool_alloc(pool);
    slots[103] = cpool_alloc(pool);
    slots[104] = cpool_alloc(pool);
    cpool_free_bulk(pool, slots, 105);
    REQUIRE_EQUAL(support_take_reports(NULL), 3);
    support_require_live(pool, 1); /* the slot that stood at 99 */
    REQUIRE_EQUAL(support_destroy(pool), 1);
}

TEST_TIMES(alloc_bulk_mixed_with_single_never_gives_a_live_slot, 9)
{
    unsigned owner[CAPACITY] = { 0 };
    uint64_t state = 362436069u;
    size_t live = 0;

    make_pool((size_t)_i);
    for (size_t step = 0; step < SUPPORT_COUNT(20000, 2000); step++) {
        size_t n = random_below(&state, 100);
        size_t got = n == 1 ? 0 : cpool_alloc_bulk(pool, slots, n, 0);

        if (n == 1 && (slots[0] = cpool_alloc(pool)) != NULL)
            got = 1;
        REQUIRE_EQUAL(got, n < CAPACITY - live ? n : CAPACITY - live);
        for (size_t i = 0; i < got; i++)
            REQUIRE(owner[cpool_index(pool, slots[i])]++ == 0);
        live += got;
        /* Gives back some of the live ones, from a random place on. */
        n = random_below(&state, 100);
        got = 0;
        for (size_t i = random_below(&state, CAPACITY); got < n && i < CAPACITY; i++)
            if (owner[i] != 0) {
                owner[i] = 0;
                slots[got++] = cpool_at(pool, i);
            }
        cpool_free_bulk(pool, slots, got);
        live -= got;
    }
    support_require_live(pool, live);
    REQUIRE_EQUAL(support_destroy(pool), live);
}

static void *trim(void *unused)
{
    (void)cpool_trim(pool);
    return unused;
}

/* What the thread had loaded is another one's, though the entry counts it still. */
TEST(bulk_after_the_cache_was_closed_uses_nothing_of_it)
{
    make_pool(10);
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, CAPACITY, 0), CAPACITY);
    cpool_free_bulk(pool, slots + 495, 505);
    support_in_thread(trim, NULL);
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots + 495, 305, 0), 305);
    require_distinct(800);
    support_in_thread(trim, NULL);
    cpool_free_bulk(pool, slots, 800);
    support_destroy_whole(pool);
}
