/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * items.h - a typed pool of items for the models of the whole library: CAPACITY of them, which the
 * model sets, in memory of its own.  With PLAIN it is used by cpool_alloc and cpool_free.
 */
#ifndef WEAK_ITEMS_H
#define WEAK_ITEMS_H

#include <assert.h>
#include <pthread.h>

#include <cpool.h>
#include <cpool/typed.h>

typedef struct {
    long holder;
    long uses;
} item;

static _Alignas(64) char region[1 << 16];

CPOOL_DECLARE(items, item);
CPOOL_DEFINE(items, item, .capacity = CAPACITY, .magazine_rounds = 2, .memory = region,
                      .memory_size = sizeof region, .thread_caches = 5);

static cpool_t *pool; /* of items, once the model has opened it */

static inline item *item_alloc(void)
{
#ifdef PLAIN
    return cpool_alloc(pool);
#else
    return items_alloc();
#endif
}

static inline void item_free(item *one)
{
#ifdef PLAIN
    cpool_free(pool, one);
#else
    items_free(one);
#endif
}

#endif /* WEAK_ITEMS_H */
