/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_tags.c - parts of one pool: limits that hold at any moment, counts that are exact,
 * slots that the pool refuses, and the ends of tags and pools.
 *
 * Includes the public API only.
 */
#include "support.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cpool/pools.h>

enum { CAPACITY = 1000, LIMIT = 37, THREADS = 4 };

static const unsigned kinds[] = {0, CPOOL_CHECKED, CPOOL_EXACT, CPOOL_WAITABLE, CPOOL_TRACKED};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static cpool_t *create(unsigned flags)
{
    cpool_config_t config = support_config(32, CAPACITY);

    config.flags = flags;
    return support_create(&config);
}

static void open_tag(cpool_tag_t *tag, cpool_t *pool, const char *name, size_t limit)
{
    *tag = (cpool_tag_t)CPOOL_TAG_INIT;
    REQUIRE_EQUAL(cpool_tag_open(tag, pool, name, limit), 0);
}

static cpool_tag_view_t view_of(const cpool_tag_t *tag)
{
    cpool_tag_view_t view = CPOOL_TAG_VIEW_INIT;

    REQUIRE_EQUAL(cpool_tag_view(tag, &view), 0);
    REQUIRE_EQUAL(view.size, sizeof(view));
    return view;
}

START_TEST(alloc_beyond_limit_fails_and_others_go_on)
{
    cpool_t *pool = create(kinds[_i]);
    cpool_tag_t tag;
    cpool_tag_t other;
    void *slots[LIMIT];
    void *slot;

    open_tag(&tag, pool, "tag", LIMIT);
    open_tag(&other, pool, "other", CAPACITY - LIMIT);
    for (size_t i = 0; i < LIMIT; i++) {
        slots[i] = cpool_tag_alloc(&tag);
        REQUIRE(cpool_owns(pool, slots[i]));
    }
    REQUIRE(cpool_tag_alloc(&tag) == NULL);
    slot = cpool_tag_alloc(&other);
    REQUIRE(slot != NULL);
    REQUIRE_EQUAL(view_of(&tag).live, LIMIT);
    REQUIRE_EQUAL(view_of(&tag).refused, 1);
    REQUIRE_EQUAL(view_of(&other).live, 1);
    cpool_tag_free(&tag, slots[0]);
    REQUIRE_EQUAL(view_of(&tag).live, LIMIT - 1);
    slots[0] = cpool_tag_alloc(&tag);
    REQUIRE(slots[0] != NULL);
    cpool_tag_free_bulk(&tag, slots, LIMIT);
    cpool_tag_free(&other, slot);
    cpool_tag_free(&other, NULL);
    REQUIRE_EQUAL(view_of(&tag).live, 0);
    REQUIRE_EQUAL(view_of(&tag).peak, LIMIT);
    REQUIRE_EQUAL(view_of(&tag).limit, LIMIT);
    REQUIRE(strcmp(view_of(&tag).name, "tag") == 0);
    REQUIRE_EQUAL(cpool_tag_close(&tag), 0);
    REQUIRE_EQUAL(cpool_tag_close(&other), 0);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(alloc_bulk_gets_what_the_limit_or_the_pool_leaves)
{
    cpool_t *pool = create(CPOOL_EXACT);
    cpool_tag_t tag;
    cpool_tag_t large;
    void *slots[LIMIT + CAPACITY]; /* room for what is asked for */

    open_tag(&tag, pool, NULL, LIMIT);
    open_tag(&large, pool, NULL, 2 * CAPACITY);
    REQUIRE_EQUAL(cpool_tag_alloc_bulk(&tag, slots, LIMIT + 10), LIMIT);
    REQUIRE_EQUAL(view_of(&tag).refused, 10);
    REQUIRE_EQUAL(cpool_tag_alloc_bulk(&tag, slots + LIMIT, 10), 0);
    REQUIRE_EQUAL(cpool_tag_alloc_bulk(&large, slots + LIMIT, CAPACITY), CAPACITY - LIMIT);
    REQUIRE_EQUAL(view_of(&large).live, CAPACITY - LIMIT);
    REQUIRE(cpool_tag_alloc(&large) == NULL);
    REQUIRE_EQUAL(view_of(&large).live, CAPACITY - LIMIT);
    cpool_tag_free_bulk(&tag, slots, LIMIT);
    cpool_tag_free_bulk(&large, slots + LIMIT, CAPACITY - LIMIT);
    REQUIRE_EQUAL(view_of(&large).live, 0);
    REQUIRE_EQUAL(cpool_tag_close(&tag), 0);
    REQUIRE_EQUAL(cpool_tag_close(&large), 0);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(take_and_give_move_the_account_alone)
{
    cpool_t *pool = create(0);
    cpool_tag_t tag;

    open_tag(&tag, pool, "tag", LIMIT);
    REQUIRE_EQUAL(cpool_tag_take(&tag, 10), 10);
    REQUIRE_EQUAL(cpool_tag_take(&tag, LIMIT), LIMIT - 10);
    REQUIRE_EQUAL(cpool_tag_take(&tag, 1), 0);
    cpool_tag_set_limit(&tag, LIMIT + 1);
    REQUIRE_EQUAL(cpool_tag_take(&tag, SIZE_MAX), 1);
    cpool_tag_set_limit(&tag, 1);
    cpool_tag_give(&tag, LIMIT);
    REQUIRE_EQUAL(cpool_tag_take(&tag, 1), 0);
    cpool_tag_give(&tag, 1);
    REQUIRE_EQUAL(cpool_tag_take(&tag, 5), 1);
    support_capture_reports();
    cpool_tag_give(&tag, 2);
    REQUIRE_REPORT(CPOOL_EDOUBLEFREE);
    REQUIRE_EQUAL(view_of(&tag).live, 1);
    support_release_reports();
    REQUIRE_EQUAL(cpool_tag_close(&tag), CPOOL_ELIVE);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(free_refused_slot_stays_on_the_account)
{
    cpool_t *pool = create(kinds[_i]);
    cpool_tag_t tag;
    char *slot;
    int local;

    open_tag(&tag, pool, "tag", LIMIT);
    slot = cpool_tag_alloc(&tag);
    support_capture_reports();
    cpool_tag_free(&tag, &local);
    REQUIRE_REPORT(CPOOL_EFOREIGN);
    cpool_tag_free(&tag, slot + 1);
    REQUIRE_REPORT(CPOOL_EMISALIGNED);
    REQUIRE_EQUAL(view_of(&tag).live, 1);
    cpool_tag_free(&tag, slot);
    REQUIRE_EQUAL(view_of(&tag).live, 0);
    if ((kinds[_i] & (CPOOL_CHECKED | CPOOL_TRACKED)) != 0) {
        void *other = cpool_tag_alloc(&tag);

        REQUIRE(other == slot);
        cpool_free(pool, other);
        cpool_tag_free(&tag, other);
        REQUIRE_REPORT(CPOOL_EDOUBLEFREE);
        REQUIRE_EQUAL(view_of(&tag).live, 1);
        cpool_tag_give(&tag, 1);
    }
    REQUIRE_NO_REPORT();
    support_release_reports();
    REQUIRE_EQUAL(cpool_tag_close(&tag), 0);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(open_and_close_in_any_order)
{
    cpool_t *pool = create(0);
    cpool_t *other;
    cpool_tag_t tags[3];
    char *text = NULL;
    size_t length = 0;
    FILE *out;

    for (size_t i = 0; i < 3; i++)
        open_tag(&tags[i], pool, (const char *[]){"one", "two", "three"}[i], i);
    for (size_t i = 0; i < 3; i++)
        REQUIRE_EQUAL(cpool_tag_open(&tags[i], pool, "again", 9), CPOOL_EOPEN);
    REQUIRE_EQUAL(cpool_tag_close(&tags[1]), 0);
    REQUIRE_EQUAL(cpool_tag_close(&tags[1]), 0);
    out = open_memstream(&text, &length);
    cpool_print_json(pool, out);
    REQUIRE_EQUAL(fclose(out), 0);
    REQUIRE(strstr(text, "\"tags\":[{\"name\":\"one\",\"live\":0,\"live_peak\":0,\"limit\":0,"
                         "\"refused\":0},{\"name\":\"three\",\"live\":0,\"live_peak\":0,"
                         "\"limit\":2,\"refused\":0}]}") != NULL);
    free(text);
    REQUIRE_EQUAL(cpool_tag_close(&tags[0]), 0);
    support_destroy_empty(pool);
    REQUIRE_EQUAL(cpool_tag_close(&tags[2]), 0);
    other = create(0);
    tags[0].size = 5;
    REQUIRE_EQUAL(cpool_tag_open(&tags[0], other, NULL, 1), CPOOL_ESTRUCT);
    REQUIRE_EQUAL(cpool_tag_open(NULL, other, NULL, 1), CPOOL_ENULL);
    REQUIRE_EQUAL(cpool_tag_open(&tags[1], NULL, NULL, 1), CPOOL_ENULL);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_tag_open(&tags[1], pool, NULL, 1), CPOOL_EPOOL);
    REQUIRE_REPORT(CPOOL_EPOOL);
    support_release_reports();
    support_destroy_empty(other);
}
END_TEST

START_TEST(reset_clears_the_accounts)
{
    cpool_t *pool = create(0);
    cpool_tag_t tags[2];

    for (size_t i = 0; i < 2; i++) {
        open_tag(&tags[i], pool, "part", i + 1);
        REQUIRE(cpool_tag_alloc(&tags[i]) != NULL);
    }
    REQUIRE(cpool_tag_alloc(&tags[0]) == NULL);
    REQUIRE_EQUAL(cpool_reset(pool), 2);
    for (size_t i = 0; i < 2; i++) {
        void *slot = cpool_tag_alloc(&tags[i]);

        REQUIRE(slot != NULL);
        cpool_tag_free(&tags[i], slot);
        REQUIRE_EQUAL(cpool_tag_close(&tags[i]), 0);
    }
    support_destroy_empty(pool);
}
END_TEST

/*
 * ---- Several threads -----------------------------------------------------
 */

struct shared {
    cpool_t *pool;
    cpool_tag_t tag;
    _Atomic size_t live; /* counted by the test: never above the limit */
    _Atomic size_t refused;
};

static void take_and_give_back(struct shared *shared, uint64_t *random)
{
    void *slots[LIMIT];
    size_t n = random_between(random, 1, LIMIT);
    size_t got = n > 1 ? cpool_tag_alloc_bulk(&shared->tag, slots, n)
                       : (slots[0] = cpool_tag_alloc(&shared->tag)) != NULL;

    REQUIRE(atomic_fetch_add_explicit(&shared->live, got, memory_order_relaxed) + got <= LIMIT);
    shared->refused += n - got;
    for (size_t i = 0; i < got; i++)
        memset(slots[i], (int)i, 32);
    shared->live -= got;
    if (random_once_in(random, 2))
        cpool_tag_free_bulk(&shared->tag, slots, got);
    else
        for (size_t i = 0; i < got; i++)
            cpool_tag_free(&shared->tag, slots[i]);
}

static void *use(void *argument)
{
    struct shared *shared = argument;
    uint64_t random = (uintptr_t)&random;

    for (size_t i = 0; i < SUPPORT_COUNT(20000, 2000); i++)
        take_and_give_back(shared, &random);
    return NULL;
}

START_TEST(limit_holds_and_counts_are_exact_among_threads)
{
    static struct shared shared;
    pthread_t threads[THREADS];
    cpool_tag_view_t view;

    memset(&shared, 0, sizeof(shared));
    shared.pool = create(kinds[_i]);
    open_tag(&shared.tag, shared.pool, "shared", LIMIT);
    for (size_t i = 0; i < THREADS; i++)
        threads[i] = support_start(use, &shared);
    for (size_t i = 0; i < THREADS; i++)
        support_join(threads[i]);
    view = view_of(&shared.tag);
    REQUIRE_EQUAL(view.live, 0);
    REQUIRE(view.peak > 0 && view.peak <= LIMIT);
    REQUIRE_EQUAL(view.refused, shared.refused);
    REQUIRE_EQUAL(cpool_tag_close(&shared.tag), 0);
    support_destroy_empty(shared.pool);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(alloc_beyond_limit_fails_and_others_go_on, KINDS),
        ONCE(alloc_bulk_gets_what_the_limit_or_the_pool_leaves),
        ONCE(take_and_give_move_the_account_alone),
        TIMES(free_refused_slot_stays_on_the_account, KINDS),
        ONCE(open_and_close_in_any_order),
        ONCE(reset_clears_the_accounts),
        TIMES(limit_holds_and_counts_are_exact_among_threads, KINDS),
    };

    return SUPPORT_RUN("tags", tests);
}
