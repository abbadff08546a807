/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * domains.h - a domain, a reader and figures in one call each, for tests.
 *
 * Includes the public API only.
 */
#ifndef CPOOL_TESTS_DOMAINS_H
#define CPOOL_TESTS_DOMAINS_H

#include <cpool/retire.h>

static inline int domain_create(cpool_domain_t **domain, size_t readers, size_t held,
                                size_t stall_limit_ms)
{
    cpool_domain_config_t config = CPOOL_DOMAIN_CONFIG_INIT;

    config.readers = readers;
    config.max_held = held;
    config.stall_limit_ms = stall_limit_ms;
    return cpool_domain_create(domain, &config);
}

/* NULL where there is none. */
static inline cpool_reader_t *reader_in(cpool_domain_t *domain, unsigned flags)
{
    cpool_reader_t *reader;

    return cpool_reader_create(&reader, domain, flags) == 0 ? reader : NULL;
}

static inline cpool_domain_stats_t domain_stats(const cpool_domain_t *domain)
{
    cpool_domain_stats_t stats = CPOOL_DOMAIN_STATS_INIT;

    (void)cpool_domain_read_stats(domain, &stats);
    return stats;
}

#endif /* CPOOL_TESTS_DOMAINS_H */
