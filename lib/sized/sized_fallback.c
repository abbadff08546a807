/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sized_fallback.c - blocks that no class can serve.
 *
 * The fallback's block begins with a lead.  The header at the lead's end says all that has
 * to be known of the block:
 *
 *   | lead ...   | header | the caller's block ...
 *   ^ what the fallback   ^ aligned as asked
 *     has returned
 *
 * ORDERING TABLE
 *   count | counters of the fallback | relaxed | - | -
 */
#include "sized/sized_impl.h"

#include <stdlib.h>
#include <string.h>

#include <cpool/pools.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "host/os.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/tools.h"

struct header {
    size_t bytes;   /* asked of the fallback, the lead included */
    size_t align;   /* likewise */
    size_t lead;    /* bytes from there to the caller's block */
    uintptr_t mark; /* of a living block: mark_of */
};

/* --- malloc --- */

static void *malloc_alloc(size_t bytes, size_t align, void *context)
{
    (void)context;
    if (align <= CPI_SIZED_ALIGN)
        return malloc(bytes);
    return cpi_os_block(align, bytes);
}

static void malloc_free(void *block, size_t bytes, size_t align, void *context)
{
    (void)bytes;
    (void)context;
    if (align <= CPI_SIZED_ALIGN)
        free(block);
    else
        cpi_os_free_block(block);
}

static void *malloc_resize(void *block, size_t bytes, size_t align, size_t wanted, void *context)
{
    (void)bytes;
    (void)align;
    (void)context;
    return realloc(block, wanted);
}

const cpool_sized_fallback_t cpi_sized_malloc = {
    sizeof(cpool_sized_fallback_t), NULL, malloc_alloc, malloc_free, malloc_resize,
};

/* --- Headers --- */

void cpi_sized_report(int code, const char *function, const void *address)
{
    cpool_error_t error = {
        .code = code, .function = function, .name = "", .address = address};

    cpi_report(&error, "%s: %s (address %p)", function, cpool_strerror(code), address);
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

    if (cpi_ending_check(&blocks->ending, blocks, function))
        return NULL;
    if ((blocks->given.flags & CPOOL_SIZED_BOUNDED) == 0 && has_header(block) &&
        header->mark == mark_of(blocks, block))
        return header;
    cpi_sized_report(CPOOL_EFOREIGN, function, block);
    return NULL;
}

static void count(struct cpool_sized *blocks, size_t live, size_t bytes)
{
    cpi_fetch_add(&blocks->fallback_live, live, relaxed);   /* [count] */
    cpi_fetch_add(&blocks->fallback_bytes, bytes, relaxed); /* [count] */
}

/* The bytes to ask for, or false where there is no such object.  A fallback that rounds them
 * up to a multiple of the alignment does not wrap then. */
static bool whole_size(size_t size, size_t lead, size_t *bytes)
{
    return cpi_add(size, lead, bytes) && *bytes <= PTRDIFF_MAX;
}

/* --- Blocks --- */

void *cpi_sized_fallback_alloc(struct cpool_sized *blocks, size_t size, size_t align)
{
    struct header header;
    char *start;

    if (cpi_ending_check(&blocks->ending, blocks, "cpool_sized_alloc") ||
        (blocks->given.flags & CPOOL_SIZED_BOUNDED) != 0)
        return NULL;
    header.align = align < CPI_SIZED_ALIGN ? CPI_SIZED_ALIGN : align;
    header.lead = cpi_align_up(sizeof header, header.align);
    if (!whole_size(size > 0 ? size : 1, header.lead, &header.bytes))
        return NULL;
    start = blocks->fallback.alloc(header.bytes, header.align, blocks->fallback.context);
    if (start == NULL)
        return NULL;
    header.mark = mark_of(blocks, start + header.lead);
    memcpy(start + header.lead - sizeof header, &header, sizeof header);
    count(blocks, 1, header.bytes);
    cpi_fetch_add(&blocks->fallback_total, 1u, relaxed); /* [count] */
    cpi_tools_block_taken(start + header.lead, header.bytes - header.lead);
    return start + header.lead;
}

void cpi_sized_fallback_free(struct cpool_sized *blocks, void *block, const char *function)
{
    struct header *found = header_of(blocks, block, function);
    struct header header;

    if (found == NULL)
        return;
    found->mark = 0;
    header = *found;
    count(blocks, (size_t)-1, 0 - header.bytes);
    cpi_tools_block_given(block, header.bytes - header.lead);
    blocks->fallback.free((char *)block - header.lead, header.bytes, header.align,
                          blocks->fallback.context);
}

size_t cpi_sized_fallback_size(const struct cpool_sized *blocks, const void *block,
                               const char *function)
{
    const struct header *header = header_of(blocks, block, function);

    return header != NULL ? header->bytes - header->lead : 0;
}

/* realloc keeps no alignment but malloc's.  Memcheck was told of the block inside. */
static bool can_resize(const cpool_sized_fallback_t *fallback, size_t align)
{
    return fallback->resize != NULL && (cpi_tools_found() & CPI_TOOL_MEMCHECK) == 0 &&
           (fallback->resize != malloc_resize || align <= CPI_SIZED_ALIGN);
}

/* The contents alone: the lead of a block of large alignment is long, and untouched. */
static void *copy(struct cpool_sized *blocks, void *block, const struct header *header,
                  size_t size)
{
    size_t held = header->bytes - header->lead;
    void *moved = cpi_sized_fallback_alloc(blocks, size, header->align);

    if (moved == NULL)
        return NULL;
    memcpy(moved, block, held < size ? held : size);
    cpi_sized_fallback_free(blocks, block, "cpool_sized_realloc");
    return moved;
}

void *cpi_sized_fallback_resize(struct cpool_sized *blocks, void *block, size_t size,
                                const char *function)
{
    const struct header *found = header_of(blocks, block, function);
    struct header header;
    size_t bytes;
    char *start;

    if (found == NULL || !whole_size(size, found->lead, &bytes))
        return NULL;
    if (!can_resize(&blocks->fallback, found->align))
        return copy(blocks, block, found, size);
    header = *found;
    start = blocks->fallback.resize((char *)block - header.lead, header.bytes, header.align,
                                    bytes, blocks->fallback.context);
    if (start == NULL)
        return NULL;
    count(blocks, 0, bytes - header.bytes);
    header.bytes = bytes;
    header.mark = mark_of(blocks, start + header.lead);
    memcpy(start + header.lead - sizeof header, &header, sizeof header);
    return start + header.lead;
}
