/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_retire_tracked.c - tracked and checked pools know their retired slots.
 *
 * Includes the public API only.
 */
#include "retire_domain.h"

#include <cpool/track.h>

static const unsigned knows[] = {CPOOL_TRACKED, CPOOL_CHECKED};

TEST_TIMES(retired_slot_refused, 2)
{
    cpool_reader_t *by;
    cpool_reader_t *other;
    cpool_handle_t handle;
    void *slot;
    void *live;

    make(knows[_i]);
    by = reader();
    other = reader();
    cpool_read_begin(other);
    slot = cpool_alloc(pool);
    handle = cpool_handle(pool, slot);
    REQUIRE_EQUAL(cpool_retire(by, pool, slot), 0);
    REQUIRE(cpool_resolve(pool, handle) == NULL);
    REQUIRE(cpool_handle(pool, slot) == CPOOL_HANDLE_NONE);
    REQUIRE_EQUAL(support_count_live(pool), 0);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_retire(by, pool, slot), CPOOL_ERETIRED);
    REQUIRE_REPORT(CPOOL_ERETIRED);
    cpool_free(pool, slot);
    REQUIRE_REPORT(CPOOL_ERETIRED);
    retire(by, HELD - 1);
    REQUIRE_EQUAL(cpool_retire(by, pool, slot), CPOOL_ERETIRED);
    REQUIRE_REPORT(CPOOL_ERETIRED);
    live = cpool_alloc(pool);
    REQUIRE_EQUAL(cpool_retire(by, pool, live), CPOOL_EHELD);
    cpool_free(pool, live);
    REQUIRE_NO_REPORT();
    cpool_read_end(other);
    REQUIRE_EQUAL(cpool_retire_flush(by), 0);
    REQUIRE_EQUAL(cpool_retire(by, pool, slot), CPOOL_EDOUBLEFREE);
    support_release_reports();
    support_require_obtainable(pool, 0);
    end();
}

/* The first pool is plain.  One that is made in its place is not. */
TEST_TIMES(pool_in_the_place_of_another_one_is_known, 2)
{
    cpool_config_t config = support_config(32, 4);
    const cpool_t *place;
    cpool_reader_t *by;
    void *slot;

    make(0);
    place = pool;
    by = reader();
    for (unsigned i = 0; i < 3; i++)
        REQUIRE_EQUAL(cpool_retire(by, pool, cpool_alloc(pool)), 0);
    support_destroy_empty(pool);
    support_set_flags(&config, knows[_i]);
    REQUIRE_EQUAL(cpool_create(&pool, &config), 0);
    while (pool != place) { /* comes again after many others */
        support_destroy_empty(pool);
        REQUIRE_EQUAL(cpool_create(&pool, &config), 0);
    }
    slot = cpool_alloc(pool);
    REQUIRE_EQUAL(cpool_retire(by, pool, slot), 0);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_retire(by, pool, slot), CPOOL_ERETIRED);
    support_release_reports();
    end();
}
