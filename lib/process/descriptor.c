/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * descriptor.c - which descriptors belong to a pool, and the memory of structures that have ended.
 *
 * The `base` of a descriptor that waits to be reused points to the next one in the queue.
 *
 * ORDERING TABLE
 *   turn  | turn store         | release | again | precedes the stores of the next pool's members
 *   write | member stores      | release | read  | turn; for `slots`, the members before it
 *   read  | turn, member loads | acquire | write | turn; for `slots`, the members before it
 *   again | turn load          | relaxed | turn  | -
 *   count | handles_used and zones_end load, store | relaxed | - | -
 *   opened | opens store       | release | open  | the descriptor, and `handles_used`
 *   open  | opens load         | acquire | opened | the same: a hint of none that has this value of
 *                                                  `opens` was made after a look at them
 *   hint  | hint load, store; opens load by who holds the lock | relaxed | - | -
 *   at    | cpi_handles_at store | relaxed | - | -
 *
 * doc/CONCURRENCY.md 3.9 argues why a thread that looks up an address never mixes two pools.  All
 * other readers know that the pool is alive.
 */
#include "process/descriptor.h"

#include "base/atomic.h"
#include "base/bits.h"
#include "base/tools.h"
#include "host/os.h"
#include "process/thread.h"

_Atomic(struct cpi_handles *) cpi_handles_at = CPI_HANDLES_NOWHERE;

/* Programs built earlier rely on their layouts, too, which check-exports.sh holds. */
_Static_assert(sizeof(cpool_cache_t) == 8 * sizeof(uintptr_t), "frozen");
_Static_assert(sizeof(cpool_t) == sizeof(cpool_cache_t), "one word leads from all to all");
_Static_assert(offsetof(struct cpi_handles, handles) == 0, "they begin where the array does");

static _Atomic size_t handles_used = 1; /* descriptors ever used, including the first */

/* Descriptors of destroyed pools, in the order in which they were given up. */
static struct {
    cpool_t *first;
    cpool_t *last;
    size_t count;
} waiting;

#define CPI_WISH_ALIGN ((uintptr_t)64 * 1024) /* the coarsest granularity of any system */

/* Falls back to the address that the system chose if it, or a tool that reserves addresses, refuses
 * the wish. */
static struct cpi_handles *reserve_handles(void)
{
    struct cpi_handles *near = cpi_os_map(sizeof *near);
    uintptr_t wish = cpi_align_down(CPI_OS_FAR + (uintptr_t)near / 4, CPI_WISH_ALIGN);
    struct cpi_handles *far = near != NULL ? cpi_os_map_at(wish, sizeof *far) : NULL;
    struct cpi_handles *other = (uintptr_t)far != wish ? far : near;

    if (other != NULL)
        cpi_os_release(other, sizeof *other);
    return other == far ? near : far;
}

/* Before the first pool.  Returns false if the system refuses. */
CPI_COLD static bool make_handles(void)
{
    struct cpi_handles *reserved = reserve_handles();

    if (reserved == NULL)
        return false;
    /* A descriptor points to its pool, which may lie in a malloc block. */
    cpi_tools_add_root(reserved->handles, sizeof reserved->handles);
    cpi_store(&cpi_handles_at, reserved, relaxed); /* [at] */
    return true;
}

bool cpi_handle_is_held(void)
{
    return cpi_handle_count() - 1 > waiting.count;
}

CPI_COLD void cpi_handle_release(void)
{
    struct cpi_handles *reserved = cpi_handles();

    CPI_ASSERT(!cpi_handle_is_held());
    if (reserved == CPI_HANDLES_NOWHERE)
        return;
    cpi_tools_remove_root(reserved->handles, sizeof reserved->handles);
    cpi_os_release(reserved, sizeof *reserved);
}

size_t cpi_handle_count(void)
{
    return cpi_load(&handles_used, relaxed); /* [count] */
}

int cpi_handle_take(cpool_t **handle)
{
    size_t next = cpi_handle_count();

    if (cpi_thread_tables_gone() ||
        (cpi_handles() == CPI_HANDLES_NOWHERE && !make_handles()))
        return CPOOL_ENOMEM;
    *handle = waiting.first;
    if (waiting.count <= CPI_HANDLES_KEPT && next < CPI_HANDLES) {
        cpi_store(&handles_used, next + 1, relaxed); /* [count] */
        *handle = &cpi_handles()->handles[next];
    } else if (waiting.count > 0) {
        waiting.first = (cpool_t *)waiting.first->base;
        waiting.count--;
    }
    return *handle != NULL ? 0 : CPOOL_ELIMIT;
}

/* A hint says which descriptor was found last for the addresses of 64 KiB, or 0 if no pool had any
 * while `opens` had this value:  | address >> 26 | opens, 20 bits | number, 14 bits | */
#define CPI_HINTS ((size_t)1024)
#define CPI_HINT_NUMBER ((uint64_t)0x3fff)
#define CPI_HINT_OPENS ((uint32_t)0xfffff)

static _Atomic uint64_t hints[CPI_HINTS];
static _Atomic uint32_t opens; /* 0 before the first pool, then from 1 to CPI_HINT_OPENS */

_Static_assert(CPI_HANDLES <= CPI_HINT_NUMBER + 1, "a number has 14 bits");

/* A new round begins without hints, of which those of the last round would be valid again. */
static void count_open(void)
{
    uint32_t next = cpi_load(&opens, relaxed) + 1; /* [hint] */

    if (next > CPI_HINT_OPENS) {
        next = 1;
        for (size_t i = 0; i < CPI_HINTS; i++)
            cpi_store(&hints[i], (uint64_t)0, relaxed); /* [hint] */
    }
    cpi_store(&opens, next, release); /* [opened] */
}

void cpi_handle_open(cpool_t *handle, const cpool_t *shape)
{
    cpi_word_store(&handle->base, shape->base, release);       /* [write] */
    cpi_word_store(&handle->inverse, shape->inverse, release); /* [write] */
    cpi_word_store(&handle->shift, shape->shift, release);     /* [write] */
    cpi_word_store(&handle->stride, shape->stride, release);   /* [write] */
    handle->direct = shape->direct;
    handle->state = shape->state;
    cpi_word_store(&handle->client, shape->client, release);   /* [write] */
    cpi_word_store(&handle->slots, shape->slots, release); /* [write] */
    count_open();
}

void cpi_handle_close(cpool_t *handle)
{
    /* In this order, so that a thread that reads the new turn never reads the slots of the old
     * pool. */
    cpi_word_store(&handle->slots, 0, release);               /* [write] */
    cpi_word_store(&cpi_handle_part(handle)->turn, cpi_handle_part(handle)->turn + 1,
                   release); /* [turn] */
    handle->state = NULL;
    handle->direct = 0;
    cpi_handle_set_behind(handle, 0);
}

void cpi_handle_give(cpool_t *handle)
{
    cpi_word_store(&handle->base, 0, release); /* [write] */
    if (waiting.count++ == 0)
        waiting.first = handle;
    else
        cpi_word_store(&waiting.last->base, (uintptr_t)handle, release); /* [write] */
    waiting.last = handle;
}

/* Reads the members that describe where slots lie.  Returns false if there is no pool, or if
 * another pool has taken the descriptor. */
static bool read_shape(const cpool_t *handle, cpool_t *shape)
{
    uintptr_t turn;

    if (!cpi_handle_is_one(handle))
        return false;
    turn = cpi_word_load(&cpi_handle_part(handle)->turn, acquire); /* [read] */
    shape->slots = cpi_word_load(&handle->slots, acquire);     /* [read] */
    shape->base = cpi_word_load(&handle->base, acquire);       /* [read] */
    shape->inverse = cpi_word_load(&handle->inverse, acquire); /* [read] */
    shape->shift = cpi_word_load(&handle->shift, acquire);     /* [read] */
    shape->stride = cpi_word_load(&handle->stride, acquire);   /* [read] */
    return shape->slots != 0 &&
           cpi_word_load(&cpi_handle_part(handle)->turn, relaxed) == turn; /* [again] */
}

uintptr_t cpi_handle_slot(const cpool_t *handle, uintptr_t address)
{
    uintptr_t index;
    cpool_t shape;

    if (!read_shape(handle, &shape))
        return UINTPTR_MAX;
    CPOOL_INDEX_(&shape, address, index);
    return index < shape.slots ? index : UINTPTR_MAX;
}

/* Sets *near if the pool has slots in the same 64 KiB. */
static bool has_address(size_t number, uintptr_t address, uintptr_t *slot, bool *near)
{
    uintptr_t bytes;
    cpool_t shape;

    if (!read_shape(&cpi_handles()->handles[number], &shape))
        return false;
    bytes = shape.slots * shape.stride;
    if (shape.base >> 16 <= address >> 16 && (shape.base + bytes - 1) >> 16 >= address >> 16)
        *near = true;
    if (address - shape.base >= bytes)
        return false;
    if (slot != NULL)
        *slot = address - (address - shape.base) % shape.stride;
    return true;
}

cpool_t *cpi_handle_find(uintptr_t address, uintptr_t *slot)
{
    uintptr_t high = address >> 26;
    _Atomic uint64_t *hint = &hints[(address >> 16 ^ high ^ high >> 10) % CPI_HINTS];
    uint64_t key = (uint64_t)high << 34 | (uint64_t)cpi_load(&opens, acquire) << 14; /* [open] */
    uint64_t known = cpi_load(hint, relaxed); /* [hint] */
    size_t number = known & CPI_HINT_NUMBER;
    size_t count = cpi_handle_count();
    bool near = key >> 34 != high; /* the key does not have the whole address */

    if (cpi_handles() == CPI_HANDLES_NOWHERE || (known == key && !near))
        return NULL;
    if (number != 0 && CPI_LIKELY(has_address(number, address, slot, &near)))
        return &cpi_handles()->handles[number];
    for (number = 1; number < count && !has_address(number, address, slot, &near); number++)
        ;
    number = number < count ? number : 0;
    if (number != 0 || !near)
        cpi_store(hint, key | number, relaxed); /* [hint] */
    return number != 0 ? &cpi_handles()->handles[number] : NULL;
}

static _Atomic size_t zones_end; /* the zones that were ever listed are before this one */

struct cpi_zone *cpi_zone_list(const struct cpi_zone *zone)
{
    const uintptr_t *from = (const uintptr_t *)(const void *)zone;
    struct cpi_zone *own;
    size_t i = 0;

    if (cpi_handles() == CPI_HANDLES_NOWHERE && !make_handles())
        return NULL;
    own = cpi_handles()->zones;
    for (; i < CPI_ZONES && cpi_word_load(&own->base, relaxed) != 0; i++) /* [again] */
        own++;
    if (i == CPI_ZONES)
        return NULL;
    for (size_t k = 0; k < sizeof *zone / sizeof *from; k++)
        cpi_word_store((uintptr_t *)(void *)own + k, from[k], release); /* [write] */
    if (cpi_load(&zones_end, relaxed) <= i)    /* [count] */
        cpi_store(&zones_end, i + 1, relaxed); /* [count] */
    return own;
}

cpool_t *cpi_handle_zoned(uintptr_t address, uintptr_t *slot)
{
    size_t end = cpi_load(&zones_end, relaxed); /* [count] */

    for (size_t i = 0; cpi_handles() != CPI_HANDLES_NOWHERE && i < end; i++) {
        const struct cpi_zone *zone = &cpi_handles()->zones[i];
        uintptr_t handle = cpi_word_load(&zone->handle, acquire);         /* [read] */
        uintptr_t offset = address - cpi_word_load(&zone->base, acquire); /* [read] */
        uintptr_t step = cpi_word_load(&zone->step, acquire);             /* [read] */
        uintptr_t within;

        if (handle == 0 || offset >= cpi_word_load(&zone->size, acquire)) /* [read] */
            continue;
        within = offset % step -
                 cpi_word_load(&zone->edges[offset / step % 2], acquire); /* [read] */
        if (within >= cpi_word_load(&zone->slot_size, acquire))           /* [read] */
            within = address;
        if (slot != NULL)
            *slot = address - within;
        if (cpi_word_load(&zone->handle, relaxed) == handle) /* [again] */
            return (cpool_t *)handle;
    }
    return NULL;
}

/* --- Structures without a descriptor --- */

/* A ring, guarded by the lock. */
#define CPI_ENDED_SPACES (CPI_ENDED_KEPT + 1)

static struct kept_memory {
    void *memory;
    size_t size;
} kept_memories[CPI_ENDED_SPACES];

static size_t first_kept; /* never wraps */
static size_t kept_count;
static size_t kept_bytes;

/* Releases the first ones, until no more than this are left. */
CPI_COLD static void release_kept(size_t most, size_t most_bytes)
{
    while (kept_count > most || kept_bytes > most_bytes) {
        struct kept_memory *first = &kept_memories[first_kept++ % CPI_ENDED_SPACES];

        kept_count--;
        kept_bytes -= first->size;
        cpi_os_release(first->memory, first->size);
    }
}

/* A block that is too large to be kept is released at once, so that it does not push out the
 * others. */
CPI_COLD void cpi_ended_keep(void *memory, size_t size)
{
    if (size > CPI_ENDED_BYTES) {
        cpi_os_release(memory, size);
        return;
    }
    cpi_lock();
    kept_memories[(first_kept + kept_count++) % CPI_ENDED_SPACES] =
        (struct kept_memory){memory, size};
    kept_bytes += size;
    release_kept(CPI_ENDED_KEPT, CPI_ENDED_BYTES);
    cpi_unlock();
}

CPI_COLD void cpi_ended_release(void)
{
    release_kept(0, 0);
}
