/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_track.c - tracked pools: frees that must not be, handles and visits.
 * (The words alone: check_slotmap.c.)
 */
#include "doors.h"

#include <cpool/track.h>

enum { CAPACITY = 500 };

/* Kinds of tracked pools: every other flag beside. */
static const unsigned kinds[] = {
    CPOOL_TRACKED,
    CPOOL_CHECKED,
    CPOOL_TRACKED | CPOOL_COLOUR | CPOOL_KEEP_PAGES,
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static cpool_t *make_tracked(unsigned flags)
{
    support_capture_reports();
    return support_create_kind(48, CAPACITY, flags);
}

/* --- Frees that must not be --- */

TEST_TIMES(free_twice_through_any_doors_reported_and_refused, KINDS)
{
    cpool_t *pool = make_tracked(kinds[_i]);

    REQUIRE_EQUAL(cpool_cache_create(&handed, pool), 0);
    for (int takes = 0; takes < DOORS; takes++)
        for (int frees = 0; frees < DOORS * DOORS; frees++) {
            void *slot = alloc_through(takes, pool);
            struct support_report report;

            free_through(frees / DOORS, pool, slot);
            REQUIRE_NO_REPORT();
            free_through(frees % DOORS, pool, slot);
            report = REQUIRE_REPORT(CPOOL_EDOUBLEFREE);
            REQUIRE(report.slot == slot && report.address == slot);
            REQUIRE_EQUAL(report.index, cpool_index(pool, slot));
        }
    cpool_cache_destroy(handed);
    support_require_obtainable(pool, 0);
    REQUIRE_NO_REPORT();
    support_destroy_empty(pool);
}

TEST_TIMES(free_of_slot_never_taken_reported_as_unused, KINDS)
{
    cpool_t *pool = make_tracked(kinds[_i]);
    void *slot = cpool_alloc(pool);

    REQUIRE_EQUAL(cpool_index(pool, slot), 0);
    cpool_free(pool, (char *)slot + 1);
    (void)REQUIRE_REPORT(CPOOL_EMISALIGNED);
    for (size_t i = 1; i < CAPACITY; i++) {
        cpool_free(pool, cpool_at(pool, i));
        REQUIRE_EQUAL(REQUIRE_REPORT(CPOOL_EUNUSED).index, i);
    }
    cpool_free(pool, slot);
    REQUIRE_NO_REPORT();
    support_destroy_empty(pool);
}

/* --- Handles --- */

TEST_TIMES(handle_resolves_until_its_slot_is_freed, KINDS)
{
    cpool_t *pool = make_tracked(kinds[_i]);
    cpool_handle_t handles[CAPACITY];
    void *slots[CAPACITY];

    REQUIRE_EQUAL(support_take_all(pool, slots), CAPACITY);
    for (int i = 0; i < CAPACITY; i++) {
        handles[i] = cpool_handle(pool, slots[i]);
        REQUIRE(handles[i] != CPOOL_HANDLE_NONE);
    }
    for (int i = 0; i < CAPACITY; i++)
        REQUIRE(cpool_resolve(pool, handles[i]) == slots[i]);
    for (int i = 0; i < CAPACITY; i += 2)
        cpool_free(pool, slots[i]);
    for (int i = 0; i < CAPACITY; i++) {
        REQUIRE(cpool_resolve(pool, handles[i]) == (i % 2 == 0 ? NULL : slots[i]));
        REQUIRE(cpool_handle(pool, slots[i]) == (i % 2 == 0 ? CPOOL_HANDLE_NONE : handles[i]));
    }
    for (int i = 0; i < CAPACITY; i += 2)
        REQUIRE((slots[i] = cpool_alloc(pool)) != NULL);
    for (int i = 0; i < CAPACITY; i++)
        REQUIRE(cpool_resolve(pool, handles[i]) == (i % 2 == 0 ? NULL : slots[i]));
    REQUIRE_EQUAL(support_destroy(pool), CAPACITY);
}

TEST_TIMES(handle_through_any_door_resolves, KINDS)
{
    cpool_t *pool = make_tracked(kinds[_i]);

    REQUIRE_EQUAL(cpool_cache_create(&handed, pool), 0);
    for (int door = 0; door < DOORS * DOORS; door++) {
        void *slot = alloc_through(door / DOORS, pool);
        cpool_handle_t handle = cpool_handle(pool, slot);

        REQUIRE(cpool_resolve(pool, handle) == slot);
        free_through(door % DOORS, pool, slot);
        REQUIRE(cpool_resolve(pool, handle) == NULL);
    }
    cpool_cache_destroy(handed);
    support_destroy_empty(pool);
}

TEST_TIMES(handle_of_what_is_no_live_slot_is_none, KINDS)
{
    cpool_t *pool = make_tracked(kinds[_i]);
    char *slot = cpool_alloc(pool);

    REQUIRE(cpool_handle(pool, NULL) == CPOOL_HANDLE_NONE);
    REQUIRE(cpool_handle(pool, &pool) == CPOOL_HANDLE_NONE);
    REQUIRE(cpool_handle(pool, slot + 1) == CPOOL_HANDLE_NONE);
    for (size_t i = 1; i < cpool_index_limit(pool); i++)
        REQUIRE(cpool_handle(pool, cpool_at(pool, i)) == CPOOL_HANDLE_NONE);
    cpool_free(pool, slot);
    REQUIRE(cpool_handle(pool, slot) == CPOOL_HANDLE_NONE);
    REQUIRE_NO_REPORT();
    support_destroy_empty(pool);
}

/* Of any number: no access outside the words that are there, and no slot that is not live. */
TEST_TIMES(resolve_any_number_finds_no_other_slot, KINDS)
{
    cpool_t *pool = support_create_kind(48, (size_t)1 << 20, kinds[_i]);
    void *slot = cpool_alloc(pool);
    cpool_handle_t handle = cpool_handle(pool, slot);
    uint64_t generator = 1;

    for (unsigned bit = 0; bit < 64; bit++)
        REQUIRE(cpool_resolve(pool, handle ^ (cpool_handle_t)1 << bit) == NULL);
    for (int i = 0; i < 10000; i++) {
        cpool_handle_t any = random_next(&generator);

        REQUIRE(any == handle || cpool_resolve(pool, any) == NULL);
    }
    REQUIRE(cpool_resolve(pool, CPOOL_HANDLE_NONE) == NULL);
    cpool_free(pool, slot);
    REQUIRE(cpool_resolve(pool, CPOOL_HANDLE_NONE) == NULL);
    support_destroy_empty(pool);
}

/* Pages go, handles stay what they were: stale ones stale, and live ones live. */
TEST_TIMES(handles_survive_trim_and_shrink, KINDS)
{
    cpool_t *pool = make_tracked(kinds[_i]);
    cpool_handle_t handles[CAPACITY];
    void *slots[CAPACITY];

    REQUIRE_EQUAL(support_take_all(pool, slots), CAPACITY);
    for (int i = 0; i < CAPACITY; i++)
        handles[cpool_index(pool, slots[i])] = cpool_handle(pool, slots[i]);
    for (size_t i = 1; i < CAPACITY; i++)
        cpool_free(pool, cpool_at(pool, i));
    (void)cpool_trim(pool);
    for (size_t i = 0; i < CAPACITY; i++)
        REQUIRE(cpool_resolve(pool, handles[i]) == (i == 0 ? cpool_at(pool, 0) : NULL));
    REQUIRE(cpool_shrink(pool, CAPACITY / 2) > 0);
    for (size_t i = 1; i < CAPACITY; i++)
        REQUIRE(cpool_resolve(pool, handles[i]) == NULL);
    for (size_t i = cpool_grow(pool, CAPACITY); i > 0; i--)
        REQUIRE(cpool_alloc(pool) != NULL);
    for (size_t i = 1; i < CAPACITY; i++)
        REQUIRE(cpool_resolve(pool, handles[i]) == NULL);
    REQUIRE(cpool_resolve(pool, handles[0]) == cpool_at(pool, 0));
    (void)support_destroy(pool);
    REQUIRE_NO_REPORT();
}

TEST_TIMES(reset_makes_all_handles_stale, KINDS)
{
    cpool_t *pool = make_tracked(kinds[_i]);
    cpool_handle_t handles[CAPACITY];
    void *slots[CAPACITY];

    REQUIRE_EQUAL(support_take_all(pool, slots), CAPACITY);
    for (int i = 0; i < CAPACITY; i++)
        handles[i] = cpool_handle(pool, slots[i]);
    cpool_free(pool, slots[7]);
    REQUIRE_EQUAL(cpool_reset(pool), CAPACITY - 1);
    REQUIRE_EQUAL(support_count_live(pool), 0);
    REQUIRE_EQUAL(support_take_all(pool, slots), CAPACITY);
    for (int i = 0; i < CAPACITY; i++)
        REQUIRE(cpool_resolve(pool, handles[i]) == NULL);
    REQUIRE_EQUAL(support_count_live(pool), CAPACITY);
    REQUIRE_EQUAL(support_destroy(pool), CAPACITY);
}

/* --- Visits --- */

/* All slots taken, and all but every n-th freed. */
static size_t leave_live(cpool_t *pool, size_t n, bool live[CAPACITY])
{
    void *slots[CAPACITY];
    size_t count = 0;

    REQUIRE_EQUAL(support_take_all(pool, slots), CAPACITY);
    for (size_t i = 0; i < CAPACITY; i++) {
        live[i] = n != 0 && i % n == n / 2;
        count += live[i];
        if (!live[i])
            cpool_free(pool, cpool_at(pool, i));
    }
    return count;
}

static const size_t every[] = { 0, 1, 2, 3, 7, 8, 9, 16, 64, 499, 500 };

#define EVERY (sizeof(every) / sizeof(every[0]))

TEST_TIMES(iter_next_of_parts_visits_each_live_slot_once, KINDS * EVERY)
{
    cpool_t *pool = make_tracked(kinds[(size_t)_i / EVERY]);
    bool live[CAPACITY];
    size_t count = leave_live(pool, every[(size_t)_i % EVERY], live);

    for (size_t part = 1; part <= CAPACITY; part = part * 3 + 1) {
        unsigned met[CAPACITY] = { 0 };
        size_t sum = 0;

        for (size_t first = 0; first < CAPACITY; first += part) {
            cpool_iter_t iter = CPOOL_ITER_INIT(pool, first, first + part);
            size_t last = first;
            void *slot;

            while ((slot = cpool_iter_next(&iter)) != NULL) {
                size_t index = cpool_index(pool, slot);

                REQUIRE(index >= first && index < first + part);
                REQUIRE(cpool_resolve(pool, iter.handle) == slot);
                REQUIRE(index >= last);
                last = index + 1;
                met[index]++;
                sum++;
            }
            REQUIRE(cpool_iter_next(&iter) == NULL);
        }
        for (size_t i = 0; i < CAPACITY; i++)
            REQUIRE_EQUAL(met[i], live[i]);
        REQUIRE_EQUAL(sum, count);
    }
    REQUIRE_EQUAL(support_destroy(pool), count);
}

TEST_TIMES(iter_next_after_its_slot_was_freed_goes_on, KINDS)
{
    cpool_t *pool = make_tracked(kinds[_i]);
    cpool_iter_t iter = CPOOL_ITER_INIT(pool, 0, SIZE_MAX);
    bool live[CAPACITY];
    size_t count = leave_live(pool, 5, live);
    void *slot;

    for (; (slot = cpool_iter_next(&iter)) != NULL; count--)
        cpool_free(pool, slot);
    REQUIRE_EQUAL(count, 0);
    REQUIRE_NO_REPORT();
    support_destroy_empty(pool);
}

TEST_TIMES(iter_next_beyond_the_end_is_null, KINDS)
{
    static const size_t ranges[][2] = { { 0, 0 }, { 5, 5 }, { 6, 5 }, { 1, SIZE_MAX },
                                        { SIZE_MAX, SIZE_MAX }, { SIZE_MAX, 0 } };
    cpool_t *pool = make_tracked(kinds[_i]);
    void *slot = cpool_alloc(pool);

    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        cpool_iter_t iter = CPOOL_ITER_INIT(pool, ranges[i][0], ranges[i][1]);

        REQUIRE(cpool_iter_next(&iter) == NULL);
    }
    cpool_free(pool, slot);
    support_destroy_empty(pool);
}

/* --- Other pools, and misuse --- */

TEST(handle_of_untracked_pool_reported)
{
    cpool_t *pool = make_tracked(0);
    cpool_iter_t iter = CPOOL_ITER_INIT(pool, 0, 1);
    void *slot = cpool_alloc(pool);

    REQUIRE(cpool_handle(pool, slot) == CPOOL_HANDLE_NONE);
    REQUIRE(strcmp(REQUIRE_REPORT(CPOOL_EKIND).function, "cpool_handle") == 0);
    REQUIRE(cpool_resolve(pool, 3) == NULL);
    REQUIRE(strcmp(REQUIRE_REPORT(CPOOL_EKIND).function, "cpool_resolve") == 0);
    REQUIRE(cpool_iter_next(&iter) == NULL);
    REQUIRE(strcmp(REQUIRE_REPORT(CPOOL_EKIND).function, "cpool_iter_next") == 0);
    REQUIRE_NO_REPORT();
    cpool_free(pool, slot);
    support_destroy_empty(pool);
}

TEST(iter_next_of_wrong_size_refused)
{
    cpool_t *pool = make_tracked(CPOOL_TRACKED);
    cpool_iter_t iter = CPOOL_ITER_INIT(pool, 0, 1);

    iter.size = sizeof(iter) - 1;
    REQUIRE(cpool_iter_next(&iter) == NULL);
    REQUIRE_REPORT(CPOOL_ESTRUCT);
    support_destroy_empty(pool);
}

/* --- Memory and threads --- */

/* Objects constructed in free slots, and the slots' addresses, after a trim. */
TEST_TIMES(trim_keeps_bytes_only_where_asked, 2)
{
    enum { MANY = 20000 };
    bool keeps = _i == 1;
    unsigned flags = CPOOL_TRACKED | CPOOL_NO_POISON | (keeps ? CPOOL_KEEP_PAGES : 0);
    cpool_t *pool = support_create_kind(64, MANY, flags);
    void **slots = support_calloc(MANY, sizeof(*slots));
    size_t zero = 0;

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
