/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_lease_promote.c - slots that leave their lease, and the table of those that take
 * their places (lib/swaps.h).
 */
#include "lease_pool.h"

#include <stdlib.h>
#include <string.h>

#include "inside.h"
#include "swaps.h"

/* --- One thread --- */

/* Promotes every `step`-th of n slots, at once or after all were taken, and ends the
 * lease. */
static void promote_some(unsigned flags, size_t n, size_t step, bool late)
{
    cpool_t *pool = make_pool(flags);
    cpool_lease_t *lease = begin(pool);
    void *slots[CAPACITY];
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        slots[i] = cpool_lease_alloc(lease);
        memset(slots[i], 'p', 16);
        if (!late && i % step == 0)
            REQUIRE_EQUAL(cpool_lease_promote(lease, slots[i]), 0);
    }
    for (size_t i = 0; i < n; i += step, kept++)
        if (late)
            REQUIRE_EQUAL(cpool_lease_promote(lease, slots[i]), 0);
    REQUIRE_EQUAL(cpool_lease_end(lease), n - kept);
    support_require_live(pool, kept);
    support_require_obtainable(pool, kept);
    for (size_t i = 0; i < n; i += step) {
        REQUIRE(memcmp(slots[i], "pppppppppppppppp", 16) == 0);
        cpool_free(pool, slots[i]);
    }
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}

START_TEST(promoted_slots_outlive_the_lease)
{
    for (size_t step = 1; step < 2 * ROUNDS; step += 3) {
        promote_some(modes[_i], CAPACITY / 2, step, false);
        promote_some(modes[_i], CAPACITY / 2, step, true);
        promote_some(modes[_i], ROUNDS / 2, step, true);
    }
}
END_TEST

START_TEST(promoted_slot_may_be_freed_and_taken_before_the_end)
{
    cpool_t *pool = make_pool(modes[_i]);
    cpool_lease_t *lease = begin(pool);
    void *slots[CAPACITY / 2];
    size_t left = CAPACITY / 2;
    void *again;

    take(pool, lease, slots, CAPACITY / 2);
    for (size_t i = 0; i < CAPACITY / 2; i += 7, left--) {
        REQUIRE_EQUAL(cpool_lease_promote(lease, slots[i]), 0);
        cpool_free(pool, slots[i]);
    }
    again = cpool_alloc(pool);
    REQUIRE_EQUAL(cpool_lease_end(lease), left);
    support_require_live(pool, 1);
    cpool_free(pool, again);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(promoting_needs_a_free_slot)
{
    cpool_t *pool = make_pool(modes[_i]);
    cpool_lease_t *lease = begin(pool);
    void *slots[CAPACITY];

    take(pool, lease, slots, CAPACITY);
    REQUIRE_EQUAL(cpool_lease_promote(lease, slots[0]), CPOOL_EDRY);
    REQUIRE_EQUAL(cpool_lease_promote(lease, NULL), 0);
    end_all(pool, lease, CAPACITY);
}
END_TEST

struct list {
    void *slots[CAPACITY];
    size_t used;
};

static void note(void *slot, void *arg)
{
    struct list *list = arg;

    list->slots[list->used++] = slot;
}

static void require_listed(const struct list *list, const void *slot, size_t times)
{
    size_t found = 0;

    for (size_t i = 0; i < list->used; i++)
        found += list->slots[i] == slot;
    REQUIRE_EQUAL(found, times);
}

START_TEST(each_passes_promoted_slots_by)
{
    enum { TAKEN = 12 * ROUNDS + 3 };
    cpool_t *pool = make_pool(modes[_i]);
    cpool_lease_t *lease = begin(pool);
    struct list list = { .used = 0 };
    void *slots[TAKEN];
    void *again;

    take(pool, lease, slots, TAKEN);
    REQUIRE_EQUAL(cpool_lease_promote(lease, slots[2]), 0);         /* long ago */
    REQUIRE_EQUAL(cpool_lease_promote(lease, slots[TAKEN - 1]), 0); /* lately */
    REQUIRE_EQUAL(cpool_lease_promote(lease, slots[TAKEN - ROUNDS - 2]), 0);
    /* The lease has it twice now, once to be passed by. */
    cpool_free(pool, slots[2]);
    while ((again = cpool_alloc(pool)) != slots[2])
        REQUIRE(again != NULL);
    REQUIRE_EQUAL(cpool_lease_adopt(lease, again), 0);
    for (int round = 0; round < 2; round++, list.used = 0) {
        REQUIRE_EQUAL(cpool_lease_each(lease, note, &list), TAKEN - 2);
        for (size_t i = 0; i < TAKEN; i++)
            require_listed(&list, slots[i], i == TAKEN - 1 || i == TAKEN - ROUNDS - 2 ? 0 : 1);
    }
    REQUIRE_EQUAL(cpool_lease_end(lease), TAKEN - 2);
    support_destroy(pool);
}
END_TEST

/* A slot that is found at once needs no other one in its place. */
START_TEST(promoting_a_late_slot_works_in_a_dry_pool)
{
    cpool_t *pool = make_pool(modes[_i]);
    cpool_lease_t *lease = begin(pool);
    void *slots[CAPACITY];

    take(pool, lease, slots, CAPACITY);
    for (size_t i = CAPACITY - 2 * ROUNDS; i < CAPACITY; i++)
        REQUIRE_EQUAL(cpool_lease_promote(lease, slots[i]), 0);
    REQUIRE_EQUAL(cpool_lease_end(lease), CAPACITY - 2 * ROUNDS);
    support_require_obtainable(pool, 2 * ROUNDS);
    for (size_t i = CAPACITY - 2 * ROUNDS; i < CAPACITY; i++)
        cpool_free(pool, slots[i]);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}
END_TEST

/* --- Mistakes --- */

START_TEST(promoting_a_stranger_is_reported)
{
    cpool_t *pool = make_pool(modes[_i]);
    bool checked = (modes[_i] & CPOOL_CHECKED) != 0;
    cpool_lease_t *lease = begin(pool);
    void *slot = cpool_alloc(pool);
    char other[16];

    REQUIRE(cpool_lease_alloc(lease) != NULL);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_lease_promote(lease, other), CPOOL_EFOREIGN);
    REQUIRE_REPORT(CPOOL_EFOREIGN);
    REQUIRE_EQUAL(cpool_lease_promote(lease, slot), checked ? CPOOL_ELEASE : 0);
    if (!checked) {
        REQUIRE_EQUAL(cpool_lease_end(lease), 1);
        REQUIRE_REPORT(CPOOL_ELEASE);
    } else {
        REQUIRE_REPORT(CPOOL_ELEASE);
        REQUIRE_EQUAL(cpool_lease_end(lease), 1);
    }
    support_release_reports();
    support_require_live(pool, 1);
    cpool_free(pool, slot);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}
END_TEST

/* --- The table --- */

/* Entries in a row are what a search passes by. */
static size_t longest_run(const struct cpi_swaps *swaps)
{
    size_t longest = 0;
    size_t run = 0;

    for (size_t i = 0; i < swaps->room; i++) {
        run = swaps->entries[i].slot != NULL ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

START_TEST(many_pairs_of_few_slots_are_found_soon)
{
    enum { SLOTS = 16, PAIRS = 20000 };
    static char slots[SLOTS][64];
    static char others[PAIRS];
    char *taken = support_calloc(PAIRS, 1);
    struct cpi_swaps swaps;
    size_t passed = 0;
    char *other;

    cpi_swaps_init(&swaps);
    REQUIRE(cpi_swaps_take(&swaps, slots[0]) == NULL);
    REQUIRE(!cpi_swaps_pass(&swaps, slots[0]));
    for (size_t i = 0; i < PAIRS; i++)
        REQUIRE(cpi_swaps_add(&swaps, slots[i % (SLOTS - 1)], &others[i]));
    REQUIRE(longest_run(&swaps) < 200);
    cpi_swaps_rewind(&swaps);
    for (size_t i = 0; i < SLOTS; i++)
        while (cpi_swaps_pass(&swaps, slots[i]))
            passed++;
    REQUIRE_EQUAL(passed, PAIRS);
    REQUIRE(cpi_swaps_take(&swaps, slots[SLOTS - 1]) == NULL);
    for (size_t i = 0; i < PAIRS; i++) {
        other = cpi_swaps_take(&swaps, slots[i % (SLOTS - 1)]);
        REQUIRE(other != NULL && taken[other - others]++ == 0);
        REQUIRE_EQUAL((size_t)(other - others) % (SLOTS - 1), i % (SLOTS - 1));
    }
    REQUIRE(cpi_swaps_take(&swaps, slots[0]) == NULL);
    cpi_swaps_fini(&swaps);
    free(taken);
}
END_TEST

/* --- What is left of a lease --- */

/* Each adopted slot fills a magazine, which is empty again when the slot is promoted. */
START_TEST(adopting_and_promoting_again_and_again_needs_few_magazines)
{
    cpool_t *pool = make_pool(modes[_i]);
    cpool_lease_t *lease = begin(pool);
    uint32_t made = 0;

    for (int turn = 0; turn < 100; turn++) {
        void *slot = cpool_alloc(pool);

        REQUIRE_EQUAL(cpool_lease_adopt(lease, slot), 0);
        REQUIRE_EQUAL(cpool_lease_promote(lease, slot), 0);
        cpool_free(pool, slot);
        if (turn == 10)
            made = cpi_depot_made(&inside(pool)->depot);
    }
    REQUIRE_EQUAL(cpi_depot_made(&inside(pool)->depot), made);
    end_all(pool, lease, 0);
}
END_TEST

/* Leases that are open, and tables of pairs that are there. */
static void count_leases(const cpool_t *pool, size_t *open, size_t *tables)
{
    const struct cpi_leases *leases = cpi_load(&inside(pool)->leases, relaxed);

    *open = *tables = 0;
    for (size_t i = 0; i < CPOOL_LEASES_MAX; i++) {
        *open += leases->lease[i].handle != NULL;
        *tables += leases->lease[i].swaps.entries != NULL;
    }
}

START_TEST(end_gives_back_the_table_of_pairs)
{
    cpool_t *pool = make_pool(modes[_i]);
    cpool_lease_t *lease = begin(pool);
    void *slots[CAPACITY / 2];
    size_t open;
    size_t tables;

    take(pool, lease, slots, CAPACITY / 2);
    REQUIRE_EQUAL(cpool_lease_promote(lease, slots[0]), 0);
    count_leases(pool, &open, &tables);
    REQUIRE(open == 1 && tables == 1);
    REQUIRE_EQUAL(cpool_lease_end(lease), CAPACITY / 2 - 1);
    count_leases(pool, &open, &tables);
    REQUIRE(open == 0 && tables == 0);
    cpool_free(pool, slots[0]);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}
END_TEST

/* There are no more caches. */
START_TEST(refused_lease_does_not_stay_open)
{
    cpool_config_t config = support_config(16, CAPACITY);
    cpool_lease_t *leases[CPOOL_LEASES_MAX];
    size_t begun = 0;
    cpool_t *pool;
    size_t open;
    size_t tables;

    config.thread_caches = 4;
    pool = support_create(&config);
    while ((leases[begun] = cpool_lease_begin(pool)) != NULL)
        begun++;
    REQUIRE(begun > 0 && begun <= config.thread_caches);
    count_leases(pool, &open, &tables);
    REQUIRE_EQUAL(open, begun);
    while (begun > 0)
        REQUIRE_EQUAL(cpool_lease_end(leases[--begun]), 0);
    support_destroy_empty(pool);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(promoted_slots_outlive_the_lease, MODES),
        TIMES(promoted_slot_may_be_freed_and_taken_before_the_end, MODES),
        TIMES(promoting_needs_a_free_slot, MODES),
        TIMES(each_passes_promoted_slots_by, MODES),
        TIMES(promoting_a_late_slot_works_in_a_dry_pool, MODES),
        TIMES(promoting_a_stranger_is_reported, MODES),
        ONCE(many_pairs_of_few_slots_are_found_soon),
        TIMES(adopting_and_promoting_again_and_again_needs_few_magazines, MODES),
        TIMES(end_gives_back_the_table_of_pairs, MODES),
        ONCE(refused_lease_does_not_stay_open),
    };

    return SUPPORT_RUN("lease_promote", tests);
}
