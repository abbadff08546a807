/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * retire_domain.h - a pool, and the domain that its slots are retired in.
 *
 * Includes the public API only.
 */
#ifndef RETIRE_DOMAIN_H
#define RETIRE_DOMAIN_H

#include "support.h"

#include <cpool/retire.h>

enum { CAPACITY = 2000, HELD = 64, READERS = 4 };

static cpool_domain_t *domain;
static cpool_t *pool;

static inline void make(unsigned flags)
{
    cpool_config_t config = support_config(32, CAPACITY);

    support_set_flags(&config, flags);
    REQUIRE_EQUAL(cpool_create(&pool, &config), 0);
    REQUIRE_EQUAL(cpool_domain_create(&domain, READERS, HELD, 0), 0);
}

static inline void end(void)
{
    REQUIRE_EQUAL(cpool_domain_destroy(domain), 0);
    support_destroy_empty(pool);
}

static inline cpool_reader_t *reader(void)
{
    cpool_reader_t *made = cpool_reader_create(domain);

    REQUIRE(made != NULL);
    return made;
}

#endif /* RETIRE_DOMAIN_H */
