/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * types.c - the typed pool of scenarios (types.h).
 */
#include "points.h" /* first: the inline path takes its points from here */

#define CPOOL_POINT_() points->reach(__func__)

#include "types.h"

struct word {
    uint64_t value;
};

CPOOL_DECLARE(words, struct word);
CPOOL_DEFINE(words, struct word, .capacity = 1);

int types_open(const cpool_config_t *config)
{
    return words_open(config);
}

cpool_t *types_pool(void)
{
    return words_pool();
}

void *types_alloc(cpool_t *pool)
{
    (void)pool;
    return words_alloc();
}

void types_free(cpool_t *pool, void *slot)
{
    (void)pool;
    words_free(slot);
}
