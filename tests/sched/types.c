/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * types.c - the typed pools of scenarios (types.h).
 */
#include "points.h" /* first: the inline path takes its points from here */

#define CPOOL_POINT_() points->reach(__func__)

#include "types.h"

struct word {
    uint64_t value;
};

CPOOL_DECLARE(words, struct word);
CPOOL_DEFINE(words, struct word, .capacity = 1);
CPOOL_DECLARE_WAITABLE(wanted, struct word);
CPOOL_DEFINE_WAITABLE(wanted, struct word, .capacity = 1);

static void *alloc_word(cpool_t *pool)
{
    (void)pool;
    return words_alloc();
}

static void free_word(cpool_t *pool, void *slot)
{
    (void)pool;
    words_free(slot);
}

static void *alloc_wanted(cpool_t *pool)
{
    (void)pool;
    return wanted_alloc();
}

static void free_wanted(cpool_t *pool, void *slot)
{
    (void)pool;
    wanted_free(slot);
}

const struct types *types_of(unsigned flags)
{
    static const struct types plain = {words_open, words_pool, alloc_word, free_word};
    static const struct types waitable = {wanted_open, wanted_pool, alloc_wanted, free_wanted};

    return (flags & CPOOL_WAITABLE) != 0 ? &waitable : &plain;
}
