/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sized.h - what the tests of blocks of many sizes share: small classes, and their figures.
 *
 * Includes support.h.
 */
#ifndef CPOOL_TESTS_SIZED_H
#define CPOOL_TESTS_SIZED_H

#include "support.h"

#include <cpool/pools.h>
#include <cpool/sized.h>

#define MIB ((size_t)1024 * 1024)

/* Classes of a MiB each. */
static inline cpool_sized_config_t small_config(void)
{
    cpool_sized_config_t config = CPOOL_SIZED_CONFIG_INIT;

    config.name = "blocks";
    config.class_bytes = MIB;
    config.thread_caches = 16;
    return config;
}

static inline cpool_sized_t *create(const cpool_sized_config_t *config)
{
    cpool_sized_t *blocks;

    REQUIRE_EQUAL(cpool_sized_create(&blocks, config), 0);
    return blocks;
}

static inline cpool_sized_stats_t stats_of(const cpool_sized_t *blocks)
{
    cpool_sized_stats_t stats = CPOOL_SIZED_STATS_INIT;

    REQUIRE_EQUAL(cpool_sized_read_stats(blocks, &stats), 0);
    return stats;
}

static inline cpool_sized_class_t class_for(const cpool_sized_t *blocks, size_t size)
{
    cpool_sized_class_t description = CPOOL_SIZED_CLASS_INIT;

    REQUIRE_EQUAL(cpool_sized_class_of(blocks, size, &description), 0);
    return description;
}

/* By its number, from the smallest one. */
static inline cpool_sized_class_t class_at(const cpool_sized_t *blocks, size_t number)
{
    cpool_sized_class_t description = class_for(blocks, 0);

    while (number-- > 0)
        description = class_for(blocks, description.block_size + 1);
    return description;
}

static inline bool is_in_class(const void *block)
{
    return cpool_of(block, NULL) != NULL;
}

/* Nothing may be live, in the fallback either. */
static inline void destroy_empty(cpool_sized_t *blocks)
{
    REQUIRE_EQUAL(stats_of(blocks).live, 0);
    REQUIRE_EQUAL(stats_of(blocks).fallback_live, 0);
    REQUIRE_EQUAL(stats_of(blocks).fallback_bytes, 0);
    REQUIRE_EQUAL(cpool_sized_destroy(blocks), 0);
}

/* Bytes by which a block is known again. */
static inline void fill_pattern(unsigned char *block, size_t size)
{
    for (size_t i = 0; i < size; i++)
        block[i] = (unsigned char)(i % 253);
}

static inline void require_pattern(const unsigned char *block, size_t size)
{
    for (size_t i = 0; i < size; i++)
        REQUIRE(block[i] == i % 253);
}

#endif /* CPOOL_TESTS_SIZED_H */
