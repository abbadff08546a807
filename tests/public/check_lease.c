/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_lease.c - slots that go back with their lease.
 *
 * Includes the public API only.
 */
#include "lease_pool.h"

#include <string.h>
#include <time.h>

enum { THREADS = 4 };

/* --- One thread --- */

START_TEST(end_gives_back_what_was_taken)
{
    static const size_t counts[] = {0, 1, ROUNDS - 1, ROUNDS, ROUNDS + 1, 5 * ROUNDS + 3,
                                    CAPACITY};
    cpool_t *pool = make_pool(modes[_i]);
    void *slots[CAPACITY];

    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            cpool_lease_t *lease = begin(pool);

            take(pool, lease, slots, counts[i]);
            support_require_live(pool, counts[i]);
            REQUIRE_EQUAL(cpool_lease_end(lease), counts[i]);
            support_require_live(pool, 0);
        }
        support_require_obtainable(pool, 0);
    }
    support_destroy_empty(pool);
}
END_TEST

START_TEST(dry_pool_is_dry_under_lease_and_outside)
{
    cpool_t *pool = make_pool(modes[_i]);
    cpool_lease_t *lease = begin(pool);
    void *slots[CAPACITY];

    take(pool, lease, slots, CAPACITY);
    REQUIRE(cpool_lease_alloc(lease) == NULL);
    REQUIRE(cpool_alloc(pool) == NULL);
    end_all(pool, lease, CAPACITY);
}
END_TEST

START_TEST(slots_keep_their_bytes)
{
    cpool_t *pool = make_pool(modes[_i]);
    cpool_lease_t *lease = begin(pool);
    void *slots[CAPACITY];

    take(pool, lease, slots, CAPACITY);
    for (size_t i = 0; i < CAPACITY; i++)
        memset(slots[i], (int)cpool_index(pool, slots[i]), 16);
    REQUIRE_EQUAL(cpool_lease_end(lease), CAPACITY);
    lease = begin(pool);
    take(pool, lease, slots, CAPACITY);
    for (size_t i = 0; i < CAPACITY; i++)
        for (size_t byte = 0; byte < 16; byte++)
            REQUIRE_EQUAL(((unsigned char *)slots[i])[byte],
                          cpool_index(pool, slots[i]) & 0xff);
    REQUIRE_EQUAL(cpool_lease_end(lease), CAPACITY);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(others_use_the_pool_meanwhile)
{
    cpool_t *pool = make_pool(modes[_i]);
    cpool_lease_t *lease = begin(pool);
    void *own[CAPACITY / 4];
    void *slots[CAPACITY / 4];

    for (size_t i = 0; i < CAPACITY / 4; i++) {
        own[i] = cpool_alloc(pool);
        slots[i] = cpool_lease_alloc(lease);
        if (i % 3 == 0) {
            cpool_free(pool, own[i]);
            own[i] = cpool_alloc(pool);
        }
        memset(own[i], 'o', 16);
        memset(slots[i], 's', 16);
    }
    REQUIRE_EQUAL(cpool_lease_end(lease), CAPACITY / 4);
    support_require_live(pool, CAPACITY / 4);
    support_require_obtainable(pool, CAPACITY / 4);
    for (size_t i = 0; i < CAPACITY / 4; i++) {
        REQUIRE(memcmp(own[i], "oooooooooooooooo", 16) == 0);
        cpool_free(pool, own[i]);
    }
    support_destroy_empty(pool);
}
END_TEST

START_TEST(leases_overlap)
{
    enum { FRAMES = 50, IN_FRAME = 70 };
    cpool_t *pool = make_pool(modes[_i]);
    cpool_lease_t *last = begin(pool);
    void *slots[2][IN_FRAME];

    take(pool, last, slots[0], IN_FRAME);
    for (size_t frame = 1; frame < FRAMES; frame++) {
        cpool_lease_t *lease = begin(pool);

        take(pool, lease, slots[frame % 2], IN_FRAME);
        for (size_t i = 0; i < IN_FRAME; i++)
            for (size_t k = 0; k < IN_FRAME; k++)
                REQUIRE(slots[0][i] != slots[1][k]);
        REQUIRE_EQUAL(cpool_lease_end(last), IN_FRAME);
        support_require_live(pool, IN_FRAME);
        last = lease;
    }
    end_all(pool, last, IN_FRAME);
}
END_TEST

START_TEST(no_more_leases_than_the_limit)
{
    cpool_t *pool = make_pool(modes[_i]);
    cpool_lease_t *leases[CPOOL_LEASES_MAX];

    for (size_t i = 0; i < CPOOL_LEASES_MAX; i++) {
        leases[i] = begin(pool);
        REQUIRE(cpool_lease_alloc(leases[i]) != NULL);
    }
    REQUIRE(cpool_lease_begin(pool) == NULL);
    for (size_t i = 0; i < CPOOL_LEASES_MAX; i++)
        REQUIRE_EQUAL(cpool_lease_end(leases[i]), 1);
    REQUIRE_EQUAL(cpool_lease_end(begin(pool)), 0);
    support_destroy_empty(pool);
}
END_TEST

/* --- Adopting --- */

START_TEST(adopted_slots_go_back_with_the_lease)
{
    cpool_t *pool = make_pool(modes[_i]);
    cpool_lease_t *lease = begin(pool);
    void *slots[5 * ROUNDS];

    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, 5 * ROUNDS), 5 * ROUNDS);
    for (size_t i = 0; i < 5 * ROUNDS; i++)
        REQUIRE_EQUAL(cpool_lease_adopt(lease, slots[i]), 0);
    REQUIRE_EQUAL(cpool_lease_adopt(lease, NULL), 0);
    REQUIRE(cpool_lease_alloc(lease) != NULL);
    support_require_live(pool, 5 * ROUNDS + 1);
    end_all(pool, lease, 5 * ROUNDS + 1);
}
END_TEST

START_TEST(slots_of_a_lease_go_through_the_quarantine)
{
    enum { PLACES = 64 };
    cpool_config_t config = support_config(16, CAPACITY);
    cpool_debug_t debug = CPOOL_DEBUG_INIT;
    cpool_lease_t *lease;
    cpool_t *pool;
    void *slots[PLACES];
    void *other;

    debug.quarantine = PLACES;
    config.debug = &debug;
    config.magazine_rounds = ROUNDS;
    pool = support_create(&config);
    lease = begin(pool);
    take(pool, lease, slots, PLACES);
    REQUIRE_EQUAL(cpool_lease_end(lease), PLACES);
    for (size_t i = 0; i < PLACES / 4; i++) {
        other = cpool_alloc(pool);
        for (size_t k = 0; k < PLACES; k++)
            REQUIRE(other != slots[k]);
    }
    support_require_live(pool, PLACES / 4);
    support_require_obtainable(pool, PLACES / 4);
    support_destroy(pool);
}
END_TEST

/* --- Mistakes --- */

START_TEST(ended_lease_is_refused)
{
    cpool_t *pool = make_pool(modes[_i]);
    cpool_lease_t *lease = begin(pool);
    void *slot = cpool_alloc(pool);

    REQUIRE(cpool_lease_alloc(lease) != NULL);
    REQUIRE_EQUAL(cpool_lease_end(lease), 1);
    support_capture_reports();
    for (size_t others = 0; others < 63; others++) {
        cpool_lease_t *other = begin(pool);

        REQUIRE(cpool_lease_alloc(lease) == NULL);
        REQUIRE_REPORT(CPOOL_ELEASE);
        REQUIRE_EQUAL(cpool_lease_end(lease), 0);
        REQUIRE_REPORT(CPOOL_ELEASE);
        REQUIRE_EQUAL(cpool_lease_adopt(lease, slot), CPOOL_ELEASE);
        REQUIRE_REPORT(CPOOL_ELEASE);
        REQUIRE_EQUAL(cpool_lease_end(other), 0);
    }
    REQUIRE_EQUAL(cpool_lease_end(NULL), 0);
    REQUIRE_REPORT(CPOOL_ELEASE);
    REQUIRE_EQUAL(cpool_lease_end((cpool_lease_t *)(void *)pool), 0);
    REQUIRE_REPORT(CPOOL_ELEASE);
    cpool_free((cpool_t *)(void *)lease, slot);
    REQUIRE_REPORT(CPOOL_EPOOL);
    support_release_reports();
    cpool_free(pool, slot);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(pools_functions_refuse_a_lease)
{
    cpool_t *pool = make_pool(modes[_i]);
    cpool_lease_t *lease = begin(pool);
    cpool_t *wrong = (cpool_t *)(void *)lease;
    void *slot = cpool_lease_alloc(lease);

    support_capture_reports();
    cpool_free(wrong, slot);
    REQUIRE_REPORT(CPOOL_EPOOL);
    REQUIRE_EQUAL(cpool_destroy(wrong), CPOOL_EPOOL);
    REQUIRE_REPORT(CPOOL_EPOOL);
    support_release_reports();
    REQUIRE_EQUAL(cpool_lease_end(lease), 1);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(leased_slot_is_not_freed)
{
    static const unsigned flags[] = { CPOOL_CHECKED, CPOOL_CHECKED | CPOOL_WAITABLE,
                                      CPOOL_TRACKED };
    cpool_t *pool = make_pool(flags[_i]);
    void *slots[3 * ROUNDS];
    cpool_lease_t *lease;
    void *held;

    /* Slots that were used before, and room for one in the thread's magazine. */
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, 3 * ROUNDS), 3 * ROUNDS);
    cpool_free_bulk(pool, slots, 3 * ROUNDS);
    held = cpool_alloc(pool);
    lease = begin(pool);
    take(pool, lease, slots, ROUNDS + 2);
    support_capture_reports();
    for (size_t i = 0; i < ROUNDS + 2; i++) {
        cpool_free(pool, slots[i]);
        REQUIRE_REPORT(CPOOL_ELEASED);
        REQUIRE_EQUAL(cpool_lease_adopt(lease, slots[i]), CPOOL_ELEASED);
        REQUIRE_REPORT(CPOOL_ELEASED);
    }
    REQUIRE_EQUAL(cpool_lease_end(lease), ROUNDS + 2);
    cpool_free(pool, slots[1]);
    REQUIRE_REPORT(CPOOL_EDOUBLEFREE);
    cpool_free(pool, held);
    REQUIRE_NO_REPORT();
    support_release_reports();
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}
END_TEST

/* As cpool_free does, and the slot is as before. */
START_TEST(what_cannot_be_freed_is_not_adopted)
{
    cpool_t *pool = make_pool(modes[_i]);
    cpool_lease_t *lease = begin(pool);
    char *slot = cpool_alloc(pool);
    void *free_one = cpool_alloc(pool);
    void *unused = cpool_at(pool, CAPACITY - 1);
    char other[16];

    cpool_free(pool, free_one);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_lease_adopt(lease, other), CPOOL_EFOREIGN);
    REQUIRE_REPORT(CPOOL_EFOREIGN);
    REQUIRE_EQUAL(cpool_lease_adopt(lease, slot + 1), CPOOL_EMISALIGNED);
    REQUIRE_REPORT(CPOOL_EMISALIGNED);
    REQUIRE_EQUAL(cpool_lease_adopt(lease, unused), CPOOL_EUNUSED);
    REQUIRE_REPORT(CPOOL_EUNUSED);
    if ((modes[_i] & CPOOL_CHECKED) != 0) {
        REQUIRE_EQUAL(cpool_lease_adopt(lease, free_one), CPOOL_EDOUBLEFREE);
        REQUIRE_REPORT(CPOOL_EDOUBLEFREE);
    }
    REQUIRE_EQUAL(cpool_lease_end(lease), 0);
    cpool_free(pool, slot);
    REQUIRE_NO_REPORT();
    support_release_reports();
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}
END_TEST

/* Its neighbours are of no lease: the end of one would find the damage first. */
START_TEST(slot_with_damage_on_both_sides_goes_back)
{
    cpool_t *pool = make_pool(CPOOL_CHECKED);
    cpool_lease_t *lease = begin(pool);
    void *slots[3];
    char *slot;

    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, 3), 3);
    slot = cpool_at(pool, 1);
    REQUIRE_EQUAL(cpool_lease_adopt(lease, slot), 0);
    memset(slot - 1, 0, 1 + 16 + 1);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_lease_end(lease), 1);
    REQUIRE_EQUAL(support_take_reports(NULL), 2);
    support_require_live(pool, 2);
    cpool_free(pool, cpool_at(pool, 0));
    cpool_free(pool, cpool_at(pool, 2));
    REQUIRE_NO_REPORT();
    support_release_reports();
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(damage_is_reported_at_the_end)
{
    cpool_t *pool = make_pool(CPOOL_CHECKED);
    cpool_lease_t *lease = begin(pool);
    void *slots[2 * ROUNDS];

    take(pool, lease, slots, 2 * ROUNDS);
    memset(slots[5], 0, 17);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_lease_end(lease), 2 * ROUNDS);
    REQUIRE_REPORT(CPOOL_EGUARD);
    support_release_reports();
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}
END_TEST

/* --- The end of the pool --- */

START_TEST(reset_ends_leases)
{
    cpool_t *pool = make_pool(modes[_i]);

    for (size_t round = 0; round < 3; round++) {
        cpool_lease_t *lease = begin(pool);
        void *slots[100];

        take(pool, lease, slots, 100);
        REQUIRE_EQUAL(cpool_reset(pool), 100);
        support_capture_reports();
        REQUIRE(cpool_lease_alloc(lease) == NULL);
        REQUIRE_REPORT(CPOOL_ELEASE);
        support_release_reports();
        support_require_obtainable(pool, 0);
    }
    support_destroy_empty(pool);
}
END_TEST

START_TEST(destroy_ends_leases)
{
    cpool_t *pool = make_pool(modes[_i]);
    cpool_lease_t *lease = begin(pool);

    REQUIRE(cpool_lease_alloc(lease) != NULL);
    REQUIRE_EQUAL(cpool_lease_end(begin(pool)), 0);
    REQUIRE_EQUAL(support_destroy(pool), 1);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_lease_end(lease), 0);
    REQUIRE_REPORT(CPOOL_ELEASE);
    support_release_reports();
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(end_gives_back_what_was_taken, MODES),
        TIMES(dry_pool_is_dry_under_lease_and_outside, MODES),
        TIMES(slots_keep_their_bytes, MODES),
        TIMES(others_use_the_pool_meanwhile, MODES),
        TIMES(leases_overlap, MODES),
        TIMES(no_more_leases_than_the_limit, MODES),
        TIMES(adopted_slots_go_back_with_the_lease, MODES),
        TIMES(ended_lease_is_refused, MODES),
        TIMES(pools_functions_refuse_a_lease, MODES),
        TIMES(leased_slot_is_not_freed, 3),
        ONCE(slots_of_a_lease_go_through_the_quarantine),
        TIMES(what_cannot_be_freed_is_not_adopted, MODES),
        ONCE(slot_with_damage_on_both_sides_goes_back),
        ONCE(damage_is_reported_at_the_end),
        TIMES(reset_ends_leases, MODES),
        TIMES(destroy_ends_leases, MODES),
    };

    return SUPPORT_RUN("lease", tests);
}
