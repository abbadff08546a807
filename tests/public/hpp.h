// SPDX-License-Identifier: BSD-2-Clause
/*
 * hpp.h - what the parts of check_hpp share: failures, and what is live in a pool.
 */
#ifndef CPOOL_TESTS_HPP_H
#define CPOOL_TESTS_HPP_H

#include <cpool/cpool.hpp>

#include <cstdio>
#include <cstdlib>

#define REQUIRE(condition) ((condition) ? (void)0 : fail(__FILE__, __LINE__, #condition))

#if defined(__cpp_exceptions)
#define THROWS 1
#else
#define THROWS 0
#endif

inline void fail(const char *file, int line, const char *what)
{
    std::fprintf(stderr, "%s:%d: %s\n", file, line, what);
    std::abort();
}

inline std::size_t live(cpool_t *pool)
{
    cpool_stats_t stats = CPOOL_STATS_INIT;

    REQUIRE(cpool_read_stats(pool, &stats) == 0);
    return stats.live;
}

inline std::size_t live(const cpool_sized_t *blocks)
{
    cpool_sized_stats_t stats = CPOOL_SIZED_STATS_INIT;

    REQUIRE(cpool_sized_read_stats(blocks, &stats) == 0);
    return stats.live + stats.fallback_live;
}

inline cpool_sized_config_t small_blocks()
{
    cpool_sized_config_t config = CPOOL_SIZED_CONFIG_INIT;

    config.class_bytes = 4 * 1024 * 1024;
    config.thread_caches = 16;
    return config;
}

#endif // CPOOL_TESTS_HPP_H
