/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_double.c - slots freed twice in pools that are not checked: which of them are
 * found, when, and the state of the pool afterwards.
 *
 * Includes the public API only.
 */
#include "support.h"

#include <string.h>

enum { CAPACITY = 1000 };

/* Volatile, because compilers see a slot that is freed twice. */
static void give(cpool_t *pool, void *slot, bool to_depot)
{
    void *volatile given = slot;

    if (to_depot)
        cpool_depot_free(pool, given);
    else
        cpool_free(pool, given);
}

static void require_surplus(const char *function, const char *count)
{
    struct support_report report = REQUIRE_REPORT(CPOOL_EDOUBLEFREE);

    REQUIRE(strcmp(report.function, function) == 0);
    REQUIRE(strstr(report.text, count) != NULL);
    REQUIRE(strcmp(report.name, "tested") == 0);
    REQUIRE(report.slot == NULL);
    REQUIRE(strstr(report.details, "CPOOL_OPTIONS=checked") != NULL);
}

/* Through a cache or past it: three in one pool, and the pool is the same one to
 * the end. */
TEST_TIMES(free_twice_is_found_by_destroy, 2)
{
    cpool_t *pool = support_create_plain(64, CAPACITY);
    bool to_depot = _i != 0;
    void *slots[3];

    support_capture_reports();
    for (int i = 0; i < 3; i++)
        slots[i] = cpool_alloc(pool);
    for (int i = 0; i < 3; i++)
        give(pool, slots[i], to_depot);
    for (int i = 0; i < 3; i++)
        give(pool, slots[i], to_depot);
    REQUIRE_NO_REPORT();
    REQUIRE_EQUAL(support_stats(pool).live, 0);
    REQUIRE_EQUAL(cpool_destroy(pool), CPOOL_EDOUBLEFREE);
    require_surplus("cpool_destroy", " 3 slots ");
}

TEST_TIMES(free_twice_is_found_by_reset_and_gone_then, 2)
{
    cpool_t *pool = support_create_plain(64, CAPACITY);
    void *slot = cpool_alloc(pool);

    support_capture_reports();
    give(pool, slot, _i != 0);
    give(pool, slot, _i != 0);
    REQUIRE_EQUAL(cpool_reset(pool), 0);
    require_surplus("cpool_reset", " 1 slot ");
    support_require_obtainable(pool, 0);
    REQUIRE_EQUAL(cpool_destroy(pool), 0);
    REQUIRE_NO_REPORT();
}

/* As the header says, no check sees it, and two callers have the slot. */
TEST(free_twice_with_a_slot_lost_is_not_found)
{
    cpool_t *pool = support_create_plain(64, CAPACITY);
    void *lost = cpool_alloc(pool);
    void *slot = cpool_alloc(pool);

    support_capture_reports();
    cpool_free(pool, slot);
    cpool_free(pool, slot);
    REQUIRE(cpool_alloc(pool) == slot && cpool_alloc(pool) == slot);
    cpool_free(pool, slot);
    cpool_free(pool, slot);
    REQUIRE(lost != NULL);
    REQUIRE_EQUAL(cpool_destroy(pool), 0);
    REQUIRE_NO_REPORT();
}
