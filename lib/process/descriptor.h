/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * descriptor.h - the descriptors of pools, which are their handles, and the memory of other
 * structures after their end, kept so that stale handles are refused.
 *
 * doc/DESIGN.md, "A pool's memory", has the geometry: a handle plus the thread's word is the
 * address of the thread's entry.
 *
 * Descriptors stay mapped until the library is unloaded without pools (thread.c).  A descriptor
 * without a pool has a `state` of NULL, and all threads' entries for it are zero.  So has the face
 * of a client's pool (cpool/client.h), which is the second of its two descriptors.  Domains of
 * retired slots have descriptors, too.
 *
 * ORDERING TABLE
 *   at    | cpi_handles_at load | relaxed | - | -
 *   face  | word of a face, load and store | relaxed | - | -
 *
 * A thread that follows a handle has learnt of it after the array's address was stored.  Any other
 * thread only compares addresses.
 */
#ifndef CPI_DESCRIPTOR_H
#define CPI_DESCRIPTOR_H

#include <cpool.h>

#include "base/atomic.h"
#include "base/compiler.h"

/* The number of descriptors, and of entries in a table.  Descriptor 0 never belongs to a pool. */
#ifndef CPI_HANDLES /* the explorer defines a small number */
#define CPI_HANDLES ((sizeof(void *) >= 8) ? 16384u : 1024u)
#endif

/* Destroyed pools' descriptors that are kept before one is reused, in the order of their pools'
 * ends, as long as there are unused ones.  A larger number would make the threads' tables grow. */
#ifndef CPI_HANDLES_KEPT /* the explorer defines a small number */
#define CPI_HANDLES_KEPT ((sizeof(void *) >= 8) ? 1023u : 255u)
#endif

/* How many pools may have sampled slots at the same time. */
#define CPI_ZONES ((size_t)256)

/* Where the sampled slots of a pool lie (check/samples.h). */
struct cpi_zone {
    uintptr_t handle; /* atomic; of the pool, or 0 */
    uintptr_t base;   /* 0: unused */
    uintptr_t size;   /* bytes */
    uintptr_t step;   /* bytes from place to place */
    uintptr_t slot_size;
    uintptr_t edges[2]; /* bytes from an even, and from an odd place to its slot */
};

/* The part of a descriptor that only the library uses. */
struct cpi_handle_part {
    uintptr_t turn;   /* advanced when the pool is destroyed */
    uintptr_t behind; /* atomic; the pool behind a face, 0 in all other descriptors */
};

/* The descriptors, followed by the entries of threads without a table. */
struct cpi_handles {
    _Alignas(CPI_LINE) cpool_t handles[CPI_HANDLES];
    cpool_cache_t zeroes[CPI_HANDLES + 1]; /* closed; only the owners' marks are ever written */
    struct cpi_handle_part parts[CPI_HANDLES];
    struct cpi_zone zones[CPI_ZONES];
};

/* The value before the first pool is created.  No descriptor lies a multiple of a descriptor's size
 * from it. */
#define CPI_HANDLES_NOWHERE ((struct cpi_handles *)(UINTPTR_MAX - sizeof(struct cpi_handles) + 2))

extern _Atomic(struct cpi_handles *) cpi_handles_at;

static inline struct cpi_handles *cpi_handles(void)
{
    return cpi_load(&cpi_handles_at, relaxed); /* [at] */
}

/* A handle without a pool.  Its entries are empty in every thread, and the inline path of a free
 * may read its words.  Valid while a descriptor is taken. */
#define CPI_HANDLE_NONE (&cpi_handles()->handles[0])

/* Whether this is the address of a descriptor, with or without a pool.  Wait-free.  One comparison
 * is enough: the rotation moves the low bits, which must be 0, to the top. */
static inline bool cpi_handle_is_one(const cpool_t *handle)
{
    const unsigned shift = sizeof(void *) >= 8 ? 6 : 5; /* log2 of a descriptor's size */
    const unsigned word = sizeof(uintptr_t) * 8u;
    uintptr_t offset = (uintptr_t)handle - (uintptr_t)cpi_handles();

    return (offset >> shift | offset << (word - shift)) < CPI_HANDLES;
}

/* `handle` must be a descriptor. */
static inline struct cpi_handle_part *cpi_handle_part(const cpool_t *handle)
{
    return &cpi_handles()->parts[handle - cpi_handles()->handles];
}

/* The pool behind a face, or 0 if this is not a face. */
static inline uintptr_t cpi_handle_behind(const cpool_t *handle)
{
    return cpi_word_load(&cpi_handle_part(handle)->behind, relaxed); /* [face] */
}

static inline void cpi_handle_set_behind(const cpool_t *handle, uintptr_t pool)
{
    cpi_word_store(&cpi_handle_part(handle)->behind, pool, relaxed); /* [face] */
}

/* Whether this is the handle of a live pool.  Wait-free. */
static inline bool cpi_handle_is_alive(const cpool_t *handle)
{
    return cpi_handle_is_one(handle) && handle->state != NULL;
}

/* Whether any descriptor is taken; and the release of the array when the library is unloaded and
 * none is.  With the lock held. */
bool cpi_handle_is_held(void);
void cpi_handle_release(void);

/* Takes a descriptor without a pool.  Returns 0, CPOOL_ELIMIT if none is left, or CPOOL_ENOMEM if
 * the system refuses the first ones, or their end has come.  With the lock held. */
int cpi_handle_take(cpool_t **handle);

/* Connects a descriptor to a pool: `shape` has the base, the inverse, the shift, the stride, the
 * number of slots, the bytes of a slot and the state.  With the lock held. */
void cpi_handle_open(cpool_t *handle, const cpool_t *shape);

/* close undoes open, and give undoes take.  All threads' entries must be zero before.  With the
 * lock held. */
void cpi_handle_close(cpool_t *handle);
void cpi_handle_give(cpool_t *handle);

/* The index of the slot that begins at the address, or UINTPTR_MAX if there is no such slot or the
 * pool has ended.  `handle` may be any address.  Any thread, even while the pool is destroyed.
 * Wait-free, async-signal-safe. */
uintptr_t cpi_handle_slot(const cpool_t *handle, uintptr_t address);

/* The handle or face of a pool with a slot around the address, or with the gap behind the slot
 * there, or NULL.  It looks at the pool that was found last in these 64 KiB, then at all pools.
 * *slot is set to the address of the slot, unless `slot` is NULL.  As cpi_handle_slot. */
cpool_t *cpi_handle_find(uintptr_t address, uintptr_t *slot);

/* Copies a zone, whose handle is 0, into the list of all, with the lock held.  NULL if there are
 * too many.  A `base` of 0 removes it. */
struct cpi_zone *cpi_zone_list(const struct cpi_zone *zone);

/* The handle of the pool whose zone has this address, or NULL.  *slot is set to the address of the
 * slot there, or 0, unless `slot` is NULL.  As cpi_handle_slot. */
cpool_t *cpi_handle_zoned(uintptr_t address, uintptr_t *slot);

/* All descriptors that have ever been used have indices below this number.  Wait-free. */
size_t cpi_handle_count(void);

/* --- Structures without a descriptor --- */

#define CPI_ENDED_KEPT 255u
#define CPI_ENDED_BYTES ((size_t)1 << 20)

/* Keeps the memory, from cpi_os_map, of a structure that has ended, until that many others or bytes
 * have.  Takes the lock. */
CPI_COLD void cpi_ended_keep(void *memory, size_t size);

/* Releases all of it, when the library is unloaded.  With the lock held. */
void cpi_ended_release(void);

#endif /* CPI_DESCRIPTOR_H */
