/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doors.h - every way to take a slot, and every way to free one, by a number.
 */
#ifndef CPOOL_TESTS_DOORS_H
#define CPOOL_TESTS_DOORS_H

#include "support.h"

enum { DOORS = 5 };

/* A cache that no thread owns, made anew by each test that goes through it. */
static cpool_cache_t *handed;

/* Through one of the doors. */
static inline void *alloc_through(int door, cpool_t *pool)
{
    void *slot = NULL;

    switch (door) {
    case 0:
        return cpool_alloc(pool);
    case 1:
        return cpool_alloc_bulk(pool, &slot, 1, 0) == 1 ? slot : NULL;
    case 2:
        return cpool_alloc_uncached(pool);
    case 3:
        return cpool_calloc(pool);
    default:
        return cpool_cache_alloc(handed);
    }
}

static inline void free_through(int door, cpool_t *pool, void *slot)
{
    switch (door) {
    case 1:
        cpool_free_bulk(pool, &slot, 1);
        break;
    case 2:
        cpool_free_uncached(pool, slot);
        break;
    case 4:
        cpool_cache_free(handed, slot);
        break;
    default:
        cpool_free(pool, slot);
        break;
    }
}

#endif /* CPOOL_TESTS_DOORS_H */
