/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sized.c - taking and giving back blocks of many sizes, also those that no class can serve.
 *
 * The fallback's block begins with a lead.  The header at the lead's end says all that has
 * to be known of the block:
 *
 *   | lead ...   | header | the caller's block ...
 *   ^ what the fallback   ^ aligned as asked
 *     has returned
 *
 * ORDERING TABLE
 *   count | dry and the fallback's counters fetch-and-add | relaxed | - | -
 *   glance | pools load | relaxed | - | -
 *
 * [glance] A thread with an entry of the pool has met it before, and so has one that frees its
 * slot.  Another one finds an empty entry, and looks again [pool].
 */
#include "sized/sized_impl.h"

#include <stdlib.h>

struct header {
    size_t bytes;   /* asked of the fallback, the lead included */
    size_t align;   /* asked of it */
    size_t lead;    /* bytes from there to the caller's block */
    uintptr_t mark; /* of a living block: mark_of */
};

/* --- Headers --- */

static uintptr_t align_up(uintptr_t address, size_t align)
{
    return (address + align - 1) & ~(uintptr_t)(align - 1);
}

static uintptr_t mark_of(const struct cpool_sized *blocks, const void *block)
{
    return (uintptr_t)block ^ ~(uintptr_t)blocks;
}

/* Whether the bytes before a block belong to it, as far as pools know.  Those before a slot
 * may not be readable.  A fallback may take its blocks from a pool.  Then the header is in
 * the same slot. */
static bool has_header(const void *block)
{
    void *slot;

    return (uintptr_t)block % CPI_SIZED_ALIGN == 0 &&
           (cpool_of(block, &slot) == NULL ||
            (uintptr_t)block - (uintptr_t)slot >= sizeof(struct header));
}

/* The header of a block that the fallback handed out, or NULL after a report. */
static struct header *header_of(const struct cpool_sized *blocks, const void *block,
                                const char *function)
{
    struct header *header = (struct header *)((uintptr_t)block - sizeof(struct header));

    if (cpi_ended_check(&blocks->ended, blocks, function))
        return NULL;
    if ((blocks->given.flags & CPOOL_SIZED_BOUNDED) == 0 && has_header(block) &&
        header->mark == mark_of(blocks, block))
        return header;
    (void)cpi_report_address(CPOOL_EFOREIGN, function, block);
    return NULL;
}

static void count_fallback(struct cpool_sized *blocks, size_t live, size_t bytes)
{
    cpi_fetch_add(&blocks->fallback_live, live, relaxed);   /* [count] */
    cpi_fetch_add(&blocks->fallback_bytes, bytes, relaxed); /* [count] */
}

/* The bytes to ask for, or false where there is no such object.  A fallback that rounds them
 * up to a multiple of the alignment does not wrap then. */
static bool whole_size(size_t size, size_t lead, size_t *bytes)
{
    *bytes = size + lead;
    return *bytes >= size && *bytes <= PTRDIFF_MAX;
}

/* --- Blocks of the fallback ---
 *
 * Each returns after a report on behalf of `function` if the address is none of these.  resize,
 * which keeps the alignment, then returns NULL. */

/* With bytes for any lead: malloc's blocks are aligned to CPI_SIZED_ALIGN alone. */
static void *fallback_take(const cpool_sized_fallback_t *fallback, size_t size,
                           struct header *header)
{
    bool is_malloc = fallback->alloc == NULL;
    size_t lead = is_malloc ? sizeof *header + header->align - CPI_SIZED_ALIGN
                            : align_up(sizeof *header, header->align);

    if (!whole_size(size, lead, &header->bytes))
        return NULL;
    return is_malloc ? malloc(header->bytes)
                     : fallback->alloc(header->bytes, header->align, fallback->arg);
}

/* Writes the header before the block that begins behind the lead, and returns the block. */
static void *write_header(const struct cpool_sized *blocks, char *start, struct header *header)
{
    char *block = start + header->lead;

    header->mark = mark_of(blocks, block);
    memcpy(block - sizeof *header, header, sizeof *header);
    return block;
}

CPI_APART static void *fallback_alloc(struct cpool_sized *blocks, size_t size, size_t align)
{
    struct header header;
    char *start;

    if (cpi_ended_check(&blocks->ended, blocks, "cpool_sized_alloc") ||
        (blocks->given.flags & CPOOL_SIZED_BOUNDED) != 0)
        return NULL;
    header.align = align < CPI_SIZED_ALIGN ? CPI_SIZED_ALIGN : align;
    start = fallback_take(&blocks->fallback, size > 0 ? size : 1, &header);
    if (start == NULL)
        return NULL;
    header.lead = align_up((uintptr_t)start + sizeof header, header.align) - (uintptr_t)start;
    count_fallback(blocks, 1, header.bytes);
    cpi_fetch_add(&blocks->fallback_total, 1u, relaxed); /* [count] */
    start = write_header(blocks, start, &header);
    (void)blocks->system->block(start, header.bytes - header.lead, true);
    return start;
}

CPI_APART static void fallback_free(struct cpool_sized *blocks, void *block, const char *function)
{
    const cpool_sized_fallback_t *fallback = &blocks->fallback;
    struct header *found = header_of(blocks, block, function);
    struct header header;

    if (found == NULL)
        return;
    found->mark = 0;
    header = *found;
    count_fallback(blocks, (size_t)-1, 0 - header.bytes);
    (void)blocks->system->block(block, header.bytes - header.lead, false);
    if (fallback->free != NULL)
        fallback->free((char *)block - header.lead, header.bytes, header.align,
                       fallback->arg);
    else
        free((char *)block - header.lead);
}

/* realloc keeps no alignment but malloc's.  Under Memcheck, which was told of the block inside the
 * fallback's, that one must not move. */
static bool can_resize(const struct cpool_sized *blocks, size_t align)
{
    const cpool_sized_fallback_t *fallback = &blocks->fallback;

    if (blocks->system->block(NULL, 0, false))
        return false;
    return fallback->alloc != NULL ? fallback->resize != NULL : align <= CPI_SIZED_ALIGN;
}

/* Copies the contents to a new block, which may be NULL, and frees the old one. */
static void *move_to(cpool_sized_t *blocks, void *moved, void *block, size_t held, size_t size)
{
    if (moved == NULL)
        return NULL;
    memcpy(moved, block, held < size ? held : size);
    cpool_sized_free(blocks, block);
    return moved;
}

static void *fallback_resize(struct cpool_sized *blocks, void *block, size_t size,
                             const char *function)
{
    const cpool_sized_fallback_t *fallback = &blocks->fallback;
    const struct header *found = header_of(blocks, block, function);
    struct header header;
    size_t bytes;
    char *start;

    if (found == NULL || !whole_size(size, found->lead, &bytes))
        return NULL;
    header = *found;
    if (!can_resize(blocks, header.align))
        return move_to(blocks, fallback_alloc(blocks, size, header.align), block,
                       header.bytes - header.lead, size);
    start = (char *)block - header.lead;
    start = fallback->resize != NULL ? fallback->resize(start, header.bytes, header.align, bytes,
                                                        fallback->arg)
                                     : realloc(start, bytes);
    if (start == NULL)
        return NULL;
    count_fallback(blocks, 0, bytes - header.bytes);
    header.bytes = bytes;
    return write_header(blocks, start, &header);
}

/* --- Blocks of classes --- */

/* Where the inline path ends.  The class may have no pool yet, and the system may refuse to make
 * one.  Once the class is dry, the block is the fallback's. */
CPI_APART static void *alloc_slowly(struct cpool_sized *blocks, size_t number, size_t size,
                                    size_t align)
{
    cpool_t *pool = cpi_sized_pool(blocks, number);
    cpool_cache_t *cache;
    void *block = NULL;

    if (CPI_UNLIKELY(pool == NULL))
        pool = cpi_sized_make_pool(blocks, number);
    if (CPI_LIKELY(pool != NULL)) {
        CPOOL_OWN_ENTRY_(cache, pool);
        block = cpool_alloc_abi1(pool, cache);
    }
    if (CPI_LIKELY(block != NULL))
        return block;
    cpi_fetch_add(&blocks->dry[number], 1u, relaxed); /* [count] */
    return fallback_alloc(blocks, size, align);
}

/* As cpool_alloc, from the pool of a class. */
static inline void *alloc_from_class(struct cpool_sized *blocks, size_t number, size_t size,
                                     size_t align)
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
        return fallback_alloc(blocks, size, CPI_SIZED_ALIGN);
    return alloc_from_class(blocks, cpi_sized_first(blocks, size), size, CPOOL_SIZED_GRAIN);
}

void *cpool_sized_alloc_aligned(cpool_sized_t *blocks, size_t size, size_t align)
{
    size_t number;

    if (align == 0 || (align & (align - 1)) != 0) {
        (void)cpi_report_address(CPOOL_EALIGN, "cpool_sized_alloc_aligned", NULL);
        return NULL;
    }
    number = size <= blocks->largest ? cpi_sized_first(blocks, size) : blocks->classes;
    while (number < blocks->classes && blocks->sizes[number] % align != 0)
        number++;
    return number < blocks->classes ? alloc_from_class(blocks, number, size, align)
                                    : fallback_alloc(blocks, size, align);
}

/* Where the inline path of a free ends.  No block of a class without a pool was handed out. */
CPI_APART static void give_slowly(cpool_t *pool, void *block)
{
    cpool_cache_t *cache;
    uintptr_t index;

    if (CPI_UNLIKELY(pool->state == NULL)) {
        (void)cpi_report_address(CPOOL_EFOREIGN, "cpool_sized_free", block);
        return;
    }
    CPOOL_INDEX_(pool, block, index);
    CPOOL_OWN_ENTRY_(cache, pool);
    cpool_free_abi1(pool, block, index, cache);
}

void cpool_sized_free(cpool_sized_t *blocks, void *block)
{
    size_t number = cpi_sized_number(blocks, block);
    cpool_cache_t *cache;
    uintptr_t index;
    cpool_t *pool;

    if (CPI_UNLIKELY(number >= blocks->classes)) {
        if (block != NULL)
            fallback_free(blocks, block, "cpool_sized_free");
        return;
    }
    pool = cpi_load(&blocks->pools[number], relaxed); /* [glance] */
    CPOOL_OWN_ENTRY_(cache, pool);
    CPOOL_INDEX_(pool, block, index);
    CPOOL_PUSH_(cache, block, index < cache->bound, give_slowly(pool, block));
}

static size_t usable_size(const cpool_sized_t *blocks, const void *block, const char *function)
{
    size_t number = cpi_sized_number(blocks, block);
    const struct header *header;
    const cpool_t *pool;

    if (CPI_UNLIKELY(number >= blocks->classes)) {
        header = block != NULL ? header_of(blocks, block, function) : NULL;
        return header != NULL ? header->bytes - header->lead : 0;
    }
    pool = cpi_sized_pool(blocks, number);
    if (CPI_LIKELY(pool != NULL && cpool_owns(pool, block)))
        return blocks->sizes[number];
    (void)cpi_report_address(CPOOL_EFOREIGN, function, block);
    return 0;
}

size_t cpool_sized_usable_size(const cpool_sized_t *blocks, const void *block)
{
    return usable_size(blocks, block, "cpool_sized_usable_size");
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
        return fallback_resize(blocks, block, size, function);
    if (in_class && size <= held &&
        (size >= held / 2 || cpi_sized_first(blocks, size) == cpi_sized_number(blocks, block)))
        return block;
    return move_to(blocks, cpool_sized_alloc(blocks, size), block, held, size);
}
