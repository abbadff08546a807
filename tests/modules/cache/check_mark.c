/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_mark.c - the mark of an owner and the lock of a stealing thread (lib/cache/mark.h), on
 * a cache of a real pool.
 */
#include "support.h"

#include "inside.h"
#include "cache/mark.h"

static cpool_t *pool;
static struct cpi_cache *cache;

static void set_up(void)
{
    cpool_config_t config = support_config(16, 100);

    config.flags = CPOOL_EXACT;
    pool = support_create(&config);
    cache = cpi_registry_own_cache(&inside(pool)->registry);
    REQUIRE(cache != NULL);
}

static void tear_down(void)
{
    support_destroy_empty(pool);
}

TEST_TIMES(mark_is_odd_from_enter_to_leave, 2)
{
    uint32_t mark;

    set_up();
    mark = cpi_mark_seen(cache);
    REQUIRE(mark % 2 == 0 && !cpi_mark_is_inside(cache));
    if (_i == 0)
        REQUIRE(cpi_mark_try_enter(cache));
    else
        cpi_mark_enter(cache);
    REQUIRE(cpi_mark_seen(cache) == mark + 1 && cpi_mark_is_inside(cache));
    cpi_mark_leave(cache);
    REQUIRE(cpi_mark_seen(cache) == mark + 2 && !cpi_mark_is_inside(cache));
    tear_down();
}

/* And the mark that it left counts as an operation. */
TEST(try_enter_of_a_locked_cache_returns_false)
{
    uint32_t mark;

    set_up();
    mark = cpi_mark_seen(cache);
    REQUIRE(cpi_mark_lock(cache));
    REQUIRE(!cpi_mark_try_enter(cache));
    REQUIRE(cpi_mark_seen(cache) == mark + 2);
    cpi_mark_unlock(cache);
    REQUIRE(cpi_mark_try_enter(cache));
    cpi_mark_leave(cache);
    tear_down();
}

TEST(lock_of_a_locked_cache_returns_false)
{
    set_up();
    REQUIRE(cpi_mark_lock(cache));
    REQUIRE(!cpi_mark_lock(cache));
    cpi_mark_unlock(cache);
    REQUIRE(cpi_mark_lock(cache));
    cpi_mark_unlock(cache);
    tear_down();
}
