/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_flags.c - a pool takes the flags of pools, and no other one.
 */
#include "support.h"

TEST(flag_of_nothing_is_refused)
{
    const unsigned flags = CPOOL_TRACKED | CPOOL_CHECKED | CPOOL_FILL;
    cpool_config_t config = support_config(64, 100);
    cpool_t *pool;

    for (config.flags = 1; config.flags != 0; config.flags <<= 1) {
        bool known = (config.flags & flags) != 0;

        REQUIRE_EQUAL(cpool_create(&pool, &config), known ? 0 : CPOOL_EFLAGS);
        REQUIRE_EQUAL(cpool_memory_required(&config) != 0, known);
        REQUIRE_EQUAL(pool != NULL, known);
        REQUIRE_EQUAL(cpool_destroy(pool), 0);
    }
}
