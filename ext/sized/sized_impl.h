/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sized_impl.h - what an allocator of blocks of many sizes is made of.
 *
 * One range of reserved addresses, and apart from it the header, which outlives the range:
 *
 *   | header, table |  ...  | class 0           | class 1           | ...
 *                           ^ base              ^ base + 2^shift
 *
 * Each class is a pool in reserved addresses (CPOOL_CLIENT_RESERVED) at the start of its part.
 * The first one is made at creation, and the others on first use, with the lock held, so that
 * no fork and no other thread meets half a pool.
 *
 * Invariants: classes ascend by size.  table[i] is the first class of at least
 * i * CPOOL_SIZED_GRAIN bytes.  A class without a pool has `none` in its place.  The entry of that
 * is both empty and full in every thread.  After the end there are no classes, and `largest` is 0,
 * so that all functions find out at the fallback.
 *
 * ORDERING TABLE
 *   pool | pools load | acquire | sized_create.c's made | the pool
 */
#ifndef CPI_SIZED_IMPL_H
#define CPI_SIZED_IMPL_H

#include <cpool/sized.h>

#include "common.h"

struct cpool_sized {
    /* Written once, with the lock held: none before.  First, because GCC computes any other
     * offset by an instruction of its own before an atomic load. */
    cpool_t *_Atomic pools[CPOOL_SIZED_CLASSES_MAX];

    /* Constant. */
    uintptr_t base;   /* address of the first class's part */
    unsigned shift;   /* log2 of the bytes of a part */
    unsigned classes; /* how many there are */
    size_t largest;   /* bytes of the last class's blocks */
    cpool_t *none;    /* a descriptor of no pool */
    const cpool_client_system_t *system;
    cpool_sized_config_t given; /* none of its pointers is used */
    size_t range;     /* bytes from base to the last class's end */
    size_t header;    /* bytes of this and the table */
    cpool_sized_fallback_t fallback; /* all NULL: malloc */
    char name[32];
    size_t sizes[CPOOL_SIZED_CLASSES_MAX];

    uintptr_t ended; /* atomic */
    cpool_client_t client;

    /* Written by any thread, when the class of a request cannot serve it. */
    _Atomic uint64_t dry[CPOOL_SIZED_CLASSES_MAX];
    _Atomic size_t fallback_live;
    _Atomic size_t fallback_bytes;
    _Atomic uint64_t fallback_total;

    uint8_t table[]; /* constant: largest / CPOOL_SIZED_GRAIN + 1 */
};

/* Alignment that any block without a class has at least. */
#define CPI_SIZED_ALIGN _Alignof(max_align_t)

/* The class with the part that holds an address, or a number not below `classes`. */
static inline size_t cpi_sized_number(const struct cpool_sized *blocks, const void *address)
{
    return ((uintptr_t)address - blocks->base) >> blocks->shift;
}

/* The first class of at least this size, which is not above `largest`. */
static inline size_t cpi_sized_first(const struct cpool_sized *blocks, size_t size)
{
    return blocks->table[(size + CPOOL_SIZED_GRAIN - 1) / CPOOL_SIZED_GRAIN];
}

/* The pool of a class, or NULL if it has none yet. */
static inline cpool_t *cpi_sized_pool(const struct cpool_sized *blocks, size_t number)
{
    cpool_t *pool = cpi_load(&blocks->pools[number], acquire); /* [pool] */

    return pool != blocks->none ? pool : NULL;
}

/* sized_create.c.  The pool of a class, made if there is none.  NULL if it cannot be made, after
 * which a later call tries again, and if the caller holds the lock.  Takes the lock. */
cpool_t *cpi_sized_make_pool(struct cpool_sized *blocks, size_t number);

#endif /* CPI_SIZED_IMPL_H */
