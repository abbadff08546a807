/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * retire_domain.h - a pool, and the domain that its slots are retired in.
 *
 * Includes the public API only.
 */
#ifndef RETIRE_DOMAIN_H
#define RETIRE_DOMAIN_H

#include "support.h"

#include "domains.h"

enum { CAPACITY = 2000, HELD = 64, READERS = 4 };

static cpool_domain_t *domain;
static cpool_t *pool;

static inline void make(unsigned flags)
{
    cpool_config_t config = support_config(32, CAPACITY);

    support_set_flags(&config, flags);
    REQUIRE_EQUAL(cpool_create(&pool, &config), 0);
    REQUIRE_EQUAL(domain_create(&domain, READERS, HELD, 0), 0);
}

static inline void end(void)
{
    REQUIRE_EQUAL(cpool_domain_destroy(domain), 0);
    support_destroy_empty(pool);
}

static inline cpool_reader_t *reader(void)
{
    cpool_reader_t *made = reader_in(domain, CPOOL_READER_UNOWNED);

    REQUIRE(made != NULL);
    return made;
}

/* --- What tests of slots that go back share --- */

static const unsigned modes[] = {0, CPOOL_TRACKED, CPOOL_CHECKED};

#define MODES (sizeof modes / sizeof modes[0])

static inline void retire(cpool_reader_t *by, size_t n)
{
    while (n-- > 0)
        REQUIRE_EQUAL(cpool_retire(by, pool, cpool_alloc(pool)), 0);
}

static inline void pass_through(cpool_reader_t *by)
{
    cpool_read_begin(by);
    cpool_read_end(by);
}

#endif /* RETIRE_DOMAIN_H */
