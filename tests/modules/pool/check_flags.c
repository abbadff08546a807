/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_flags.c - the flags that a build serves: the kernel's, and those of its features.  In a
 * kernel without features as well (check-kernel.sh).
 */
#include "support.h"

#include "pool/feature.h"

static bool is_served(unsigned flag)
{
    bool served = flag == CPOOL_EXACT;

    for (size_t i = 0; i < CPI_FEATURES; i++)
        served = served || (cpi_features[i] != NULL && (cpi_features[i]->flags & flag) != 0);
    return served;
}

TEST(flag_is_refused_if_nobody_serves_it)
{
    cpool_config_t config = support_config(64, 100);
    cpool_t *pool;

    for (config.flags = 1; config.flags != 0; config.flags <<= 1) {
        bool served = is_served(config.flags);

        REQUIRE_EQUAL(cpool_create(&pool, &config), served ? 0 : CPOOL_EFLAGS);
        REQUIRE_EQUAL(cpool_memory_required(&config) != 0, served);
        REQUIRE_EQUAL(pool != NULL, served);
        REQUIRE_EQUAL(cpool_destroy(pool), 0);
    }
}
