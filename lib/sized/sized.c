/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sized.c - taking and giving back blocks of many sizes.
 *
 * ORDERING TABLE
 *   count | dry and lent fetch-and-add | relaxed | - | -
 *   glance | pools load | relaxed | - | -
 *
 * [glance] A thread with an entry of the pool has met it before, and so has one that frees its
 * slot.  Another one finds an empty entry, and looks again [pool].
 */
#include "sized/sized_impl.h"

#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/compiler.h"

static bool is_aligned(const struct cpool_sized *blocks, size_t number, size_t align)
{
    return blocks->sizes[number] % align == 0;
}

/* Where the inline path ends.  The class may have no pool yet, or it cannot be made. */
static inline void *take_slowly(struct cpool_sized *blocks, size_t number)
{
    cpool_t *pool = cpi_sized_pool(blocks, number);
    cpool_cache_t *cache;

    if (CPI_UNLIKELY(pool == NULL))
        pool = cpi_sized_make_pool(blocks, number);
    if (pool == NULL)
        return NULL;
    CPOOL_OWN_ENTRY_(cache, pool);
    return cpool_alloc_abi3(pool, cache);
}

/* Of a larger class, or of the fallback, where the class `number` is dry. */
CPI_APART static void *alloc_slowly(struct cpool_sized *blocks, size_t number, size_t size,
                                    size_t align)
{
    void *block = take_slowly(blocks, number);
    size_t next = number + 1;

    if (CPI_LIKELY(block != NULL))
        return block;
    cpi_fetch_add(&blocks->dry[number], 1u, relaxed); /* [count] */
    if ((blocks->given.flags & CPOOL_SIZED_LARGER) == 0)
        next = blocks->classes;
    for (; next < blocks->classes; next++) {
        block = is_aligned(blocks, next, align) ? take_slowly(blocks, next) : NULL;
        if (block != NULL) {
            cpi_fetch_add(&blocks->lent[next], 1u, relaxed); /* [count] */
            return block;
        }
    }
    return cpi_sized_fallback_alloc(blocks, size, align);
}

/* As cpool_alloc, from the pool of a class. */
static inline void *alloc(struct cpool_sized *blocks, size_t number, size_t size, size_t align)
{
    const cpool_t *pool = cpi_load(&blocks->pools[number], relaxed); /* [glance] */
    cpool_cache_t *cache;
    void *block;

    CPOOL_OWN_ENTRY_(cache, pool);
    CPOOL_POP_(cache, block, block = alloc_slowly(blocks, number, size, align));
    return block;
}

void *cpool_sized_alloc(cpool_sized_t *blocks, size_t size)
{
    if (CPI_UNLIKELY(size > blocks->largest))
        return cpi_sized_fallback_alloc(blocks, size, CPI_SIZED_ALIGN);
    return alloc(blocks, cpi_sized_first(blocks, size), size, CPOOL_SIZED_GRAIN);
}

void *cpool_sized_alloc_aligned(cpool_sized_t *blocks, size_t size, size_t align)
{
    size_t number;

    if (!cpi_is_power_of_two(align)) {
        cpi_sized_report(CPOOL_EALIGN, "cpool_sized_alloc_aligned", NULL);
        return NULL;
    }
    number = size <= blocks->largest ? cpi_sized_first(blocks, size) : blocks->classes;
    while (number < blocks->classes && !is_aligned(blocks, number, align))
        number++;
    return number < blocks->classes ? alloc(blocks, number, size, align)
                                    : cpi_sized_fallback_alloc(blocks, size, align);
}

/* Where it ends, too.  No block of a class without a pool was ever handed out. */
CPI_APART static void give_slowly(cpool_t *pool, void *block)
{
    cpool_cache_t *cache;
    uintptr_t index;

    if (CPI_UNLIKELY(pool == CPI_HANDLE_NONE)) {
        cpi_sized_report(CPOOL_EFOREIGN, "cpool_sized_free", block);
        return;
    }
    CPOOL_INDEX_(pool, block, index);
    CPOOL_OWN_ENTRY_(cache, pool);
    cpool_free_abi3(pool, block, index, cache);
}

void cpool_sized_free(cpool_sized_t *blocks, void *block)
{
    size_t number = cpi_sized_number(blocks, block);
    cpool_cache_t *cache;
    uintptr_t index;
    cpool_t *pool;

    if (CPI_UNLIKELY(number >= blocks->classes)) {
        if (block != NULL)
            cpi_sized_fallback_free(blocks, block, "cpool_sized_free");
        return;
    }
    pool = cpi_load(&blocks->pools[number], relaxed); /* [glance] */
    CPOOL_OWN_ENTRY_(cache, pool);
    CPOOL_INDEX_(pool, block, index);
    CPOOL_PUSH_(cache, block, index < cache->bound, give_slowly(pool, block));
}

static inline bool owns(const cpool_sized_t *blocks, size_t number, const void *block)
{
    const cpool_t *pool = cpi_sized_pool(blocks, number);

    return pool != NULL && cpool_owns(pool, block);
}

static size_t usable_size(const cpool_sized_t *blocks, const void *block, const char *function)
{
    size_t number = cpi_sized_number(blocks, block);

    if (CPI_UNLIKELY(number >= blocks->classes))
        return block != NULL ? cpi_sized_fallback_size(blocks, block, function) : 0;
    if (CPI_LIKELY(owns(blocks, number, block)))
        return blocks->sizes[number];
    cpi_sized_report(CPOOL_EFOREIGN, function, block);
    return 0;
}

size_t cpool_sized_usable_size(const cpool_sized_t *blocks, const void *block)
{
    return usable_size(blocks, block, "cpool_sized_usable_size");
}

bool cpool_sized_owns(const cpool_sized_t *blocks, const void *block)
{
    size_t number = cpi_sized_number(blocks, block);

    if (CPI_HAS_ENDED(blocks))
        return false;
    return number < blocks->classes && owns(blocks, number, block);
}

/* To another class, or between a class and the fallback. */
static void *move(cpool_sized_t *blocks, void *block, size_t held, size_t size)
{
    void *moved = cpool_sized_alloc(blocks, size);

    if (moved == NULL)
        return NULL;
    memcpy(moved, block, held < size ? held : size);
    cpool_sized_free(blocks, block);
    return moved;
}

void *cpool_sized_realloc(cpool_sized_t *blocks, void *block, size_t size)
{
    static const char function[] = "cpool_sized_realloc";
    bool in_class = cpi_sized_number(blocks, block) < blocks->classes;
    size_t held;

    if (block == NULL)
        return cpool_sized_alloc(blocks, size);
    held = usable_size(blocks, block, function);
    if (held == 0) /* reported */
        return NULL;
    if (size == 0)
        size = 1;
    if (size > blocks->largest && !in_class)
        return cpi_sized_fallback_resize(blocks, block, size, function);
    if (in_class && size <= held &&
        (size >= held / 2 || cpi_sized_first(blocks, size) == cpi_sized_number(blocks, block)))
        return block;
    return move(blocks, block, held, size);
}
