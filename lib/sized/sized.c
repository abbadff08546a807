/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sized.c - taking and giving back blocks of many sizes.
 *
 * ORDERING TABLE
 *   count | dry and lent fetch-and-add | relaxed | - | -
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

/* The class `number` is dry: a larger one, or the fallback. */
CPI_COLD static void *alloc_beside(struct cpool_sized *blocks, size_t number, size_t size,
                                   size_t align)
{
    size_t next = number + 1;

    cpi_fetch_add(&blocks->dry[number], 1u, relaxed); /* [count] */
    if ((blocks->flags & CPOOL_SIZED_LARGER) == 0)
        next = blocks->classes;
    for (; next < blocks->classes; next++) {
        void *block = is_aligned(blocks, next, align) ? cpool_alloc(blocks->pools[next]) : NULL;

        if (block != NULL) {
            cpi_fetch_add(&blocks->lent[next], 1u, relaxed); /* [count] */
            return block;
        }
    }
    return cpi_sized_fallback_alloc(blocks, size, align);
}

void *cpool_sized_alloc(cpool_sized_t *blocks, size_t size)
{
    size_t number;
    void *block;

    if (CPI_UNLIKELY(size > blocks->largest))
        return cpi_sized_fallback_alloc(blocks, size, CPI_SIZED_ALIGN);
    number = cpi_sized_first(blocks, size);
    block = cpool_alloc(blocks->pools[number]);
    if (CPI_LIKELY(block != NULL))
        return block;
    return alloc_beside(blocks, number, size, CPOOL_SIZED_GRAIN);
}

void *cpool_sized_alloc_aligned(cpool_sized_t *blocks, size_t size, size_t align)
{
    size_t number;
    void *block;

    if (!cpi_is_power_of_two(align)) {
        cpi_sized_report(CPOOL_EALIGN, "cpool_sized_alloc_aligned", NULL);
        return NULL;
    }
    number = size <= blocks->largest ? cpi_sized_first(blocks, size) : blocks->classes;
    while (number < blocks->classes && !is_aligned(blocks, number, align))
        number++;
    if (number == blocks->classes)
        return cpi_sized_fallback_alloc(blocks, size, align);
    block = cpool_alloc(blocks->pools[number]);
    return block != NULL ? block : alloc_beside(blocks, number, size, align);
}

void *cpool_sized_calloc(cpool_sized_t *blocks, size_t count, size_t size)
{
    size_t bytes;
    void *block;

    if (!cpi_multiply(count, size, &bytes))
        return NULL;
    block = cpool_sized_alloc(blocks, bytes);
    if (block != NULL)
        memset(block, 0, bytes);
    return block;
}

void cpool_sized_free(cpool_sized_t *blocks, void *block)
{
    size_t number = cpi_sized_number(blocks, block);

    if (CPI_LIKELY(number < blocks->classes))
        cpool_free(blocks->pools[number], block);
    else if (block != NULL)
        cpi_sized_fallback_free(blocks, block, "cpool_sized_free");
}

static size_t usable_size(const cpool_sized_t *blocks, const void *block, const char *function)
{
    size_t number = cpi_sized_number(blocks, block);

    if (CPI_UNLIKELY(number >= blocks->classes))
        return block != NULL ? cpi_sized_fallback_size(blocks, block, function) : 0;
    if (CPI_LIKELY(cpool_owns(blocks->pools[number], block)))
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

    return number < blocks->classes && cpool_owns(blocks->pools[number], block);
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
