/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fallback.c - blocks of malloc that a pool hands out when it is dry.
 *
 * ORDERING TABLE
 *   place | place load, CAS | relaxed | - | -
 *   reach | reach load, CAS | relaxed | - | -
 *   count | live load, store, CAS failure; all of placed and peak | relaxed | - | -
 *   in    | live CAS           | acquire | out | that threads which gave blocks back before hold
 *                                                 their uncached operations' places
 *   out   | live fetch-and-add | release | in  | likewise
 *
 * A thread that frees a block has learnt of it by synchronisation.  Places lead to no other
 * memory of the library's, and malloc orders the bytes of blocks.
 *
 * [in] and [out] are for a thread that has obtained everything and destroys the pool: it waits
 * for the places that it sees taken.
 */
#include "base/compiler.h"

#include "fallback/fallback.h"

#include "base/atomic.h"
#include "base/bits.h"
#include "host/os.h"

#define CPI_FREED ((uintptr_t)1) /* marks the address of a block that was freed */

struct cpi_fallback *cpi_fallback_create(size_t limit, size_t size, size_t align, size_t offset)
{
    struct cpi_fallback *fallback = NULL;
    uint64_t places = 16;
    uint64_t bytes;

    while (places < 2 * (uint64_t)limit)
        places *= 2;
    bytes = sizeof *fallback + places * sizeof(uintptr_t);
    if (bytes < SIZE_MAX / 2)
        fallback = cpi_os_map((size_t)bytes);
    if (fallback == NULL)
        return NULL;
    fallback->bytes = (size_t)bytes;
    fallback->limit = limit;
    fallback->size = size;
    fallback->align = align;
    fallback->lead = (align - offset % align) % align;
    fallback->mask = (size_t)places - 1;
    return fallback;
}

void cpi_fallback_destroy(struct cpi_fallback *fallback)
{
    (void)cpi_fallback_clear(fallback);
    if (fallback != NULL)
        cpi_os_release(fallback, fallback->bytes);
}

static size_t start_of(uintptr_t memory)
{
    return (size_t)(((uint64_t)memory * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

static uintptr_t look(const struct cpi_fallback *fallback, size_t place)
{
    return cpi_load(&fallback->places[place & fallback->mask], relaxed); /* [place] */
}

static bool change(struct cpi_fallback *fallback, size_t place, uintptr_t from, uintptr_t to)
{
    return cpi_cas_strong(&fallback->places[place & fallback->mask], &from, to, /* [place] */
                          relaxed, relaxed);
}

/* *place is where the address is, if it is anywhere.  No other address is malloc's. */
CPI_COLD static enum cpi_block search(const struct cpi_fallback *fallback, uintptr_t memory,
                                      size_t *place)
{
    size_t reach = cpi_load(&fallback->reach, relaxed); /* [reach] */
    enum cpi_block found = CPI_BLOCK_NONE;
    size_t at = start_of(memory);

    if (memory == 0 || memory % sizeof(void *) != 0)
        return CPI_BLOCK_NONE;
    for (; found != CPI_BLOCK_LIVE; at++, reach--) {
        uintptr_t held = look(fallback, at);

        if ((held & ~CPI_FREED) == memory) {
            found = held == memory ? CPI_BLOCK_LIVE : CPI_BLOCK_FREED;
            *place = at;
        }
        if (reach == 0)
            break;
    }
    return found;
}

/* At the place that knows this very address, or else the first one without a live block, of
 * which there are always some. */
CPI_COLD static void insert(struct cpi_fallback *fallback, uintptr_t memory)
{
    size_t start = start_of(memory);
    size_t at = start;

    if (search(fallback, memory, &at) == CPI_BLOCK_FREED &&
        change(fallback, at, memory | CPI_FREED, memory))
        return;
    for (at = start;; at++) {
        uintptr_t held = look(fallback, at);

        if ((held == 0 || (held & CPI_FREED) != 0) && change(fallback, at, held, memory))
            break;
    }
    cpi_raise(&fallback->reach, at - start, relaxed); /* [reach] */
}

/* Exactly as many bytes as are needed, so that a tool sees the first one beyond. */
static void *allocate(const struct cpi_fallback *fallback)
{
    size_t align = fallback->align > sizeof(void *) ? fallback->align : sizeof(void *);
    size_t size;

    return cpi_add(fallback->lead, fallback->size, &size) ? cpi_os_block(align, size) : NULL;
}

bool cpi_fallback_has_room(const struct cpi_fallback *fallback)
{
    return cpi_load(&fallback->placed, relaxed) < fallback->limit; /* [count] */
}

static bool count(struct cpi_fallback *fallback)
{
    size_t live = cpi_load(&fallback->live, relaxed); /* [count] */

    do {
        if (live >= fallback->limit)
            return false;
    } while (!cpi_cas_weak(&fallback->live, &live, live + 1, acquire, relaxed)); /* [in] [count] */
    return true;
}

static void uncount(struct cpi_fallback *fallback)
{
    cpi_fetch_add(&fallback->live, SIZE_MAX, release); /* [out] */
}

void *cpi_fallback_take(struct cpi_fallback *fallback)
{
    char *memory;
    size_t placed;

    if (!count(fallback))
        return NULL;
    memory = allocate(fallback);
    if (memory == NULL) {
        uncount(fallback);
        return NULL;
    }
    placed = cpi_fetch_add(&fallback->placed, (size_t)1, relaxed) + 1; /* [count] */
    cpi_raise(&fallback->peak, placed, relaxed);                       /* [count] */
    insert(fallback, (uintptr_t)memory);
    return memory + fallback->lead;
}

enum cpi_block cpi_fallback_find(const struct cpi_fallback *fallback, const void *block)
{
    size_t place = 0;

    return search(fallback, (uintptr_t)block - fallback->lead, &place);
}

enum cpi_block cpi_fallback_claim(struct cpi_fallback *fallback, const void *block)
{
    uintptr_t memory = (uintptr_t)block - fallback->lead;
    size_t place = 0;
    enum cpi_block found = search(fallback, memory, &place);

    if (found != CPI_BLOCK_LIVE)
        return found;
    return change(fallback, place, memory, memory | CPI_FREED) ? CPI_BLOCK_LIVE : CPI_BLOCK_FREED;
}

void cpi_fallback_restore(struct cpi_fallback *fallback, const void *block)
{
    insert(fallback, (uintptr_t)block - fallback->lead);
}

/* It is counted out last, so that there are never more blocks than places. */
void cpi_fallback_retire(struct cpi_fallback *fallback)
{
    cpi_fetch_add(&fallback->placed, SIZE_MAX, relaxed); /* [count] */
    uncount(fallback);
}

size_t cpi_fallback_clear(struct cpi_fallback *fallback)
{
    size_t placed;
    size_t cleared = 0;
    size_t at;

    if (fallback == NULL)
        return 0;
    placed = cpi_load(&fallback->placed, relaxed); /* [count] */
    for (at = 0; cleared < placed && at <= fallback->mask; at++) {
        uintptr_t held = look(fallback, at);

        if (held == 0 || (held & CPI_FREED) != 0 || !change(fallback, at, held, held | CPI_FREED))
            continue;
        cpi_os_free_block((void *)held);
        cleared++;
    }
    cpi_store(&fallback->live, (size_t)0, relaxed);   /* [count] */
    cpi_store(&fallback->placed, (size_t)0, relaxed); /* [count] */
    return cleared;
}
