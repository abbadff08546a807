/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * domains.h - a domain and its figures in one call each, for tests.
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
    config.held = held;
    config.stall_limit_ms = stall_limit_ms;
    return cpool_domain_create(domain, &config);
}

static inline cpool_domain_stats_t domain_stats(const cpool_domain_t *domain)
{
    cpool_domain_stats_t stats = CPOOL_DOMAIN_STATS_INIT;

    (void)cpool_domain_read_stats(domain, &stats);
    return stats;
}

#endif /* CPOOL_TESTS_DOMAINS_H */
