/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * descriptor.h - the descriptors of pools, which are their handles, and structures without one
 * that are refused when they are used after their end.
 *
 *   descriptors   | none | pool A | pool B | ...      one array of the library, reserved
 *                                                     for the first pool
 *                 :             :
 *   table         | zero | entry  | entry  | ...      one of each thread
 *
 * A descriptor and a thread's entry of the same pool lie at the same distance from
 * the starts of their arrays.  So the thread's word, which is the distance between
 * the two arrays, leads from any handle to the thread's entry.
 *
 * Descriptors stay mapped until an unload without pools (thread.c).  Without a pool its `state` is
 * NULL, and the entries of all threads are zero.  They are used again in the order in which they
 * were given up, and late: a handle of a destroyed pool is recognised until CPI_HANDLES_KEPT other
 * pools have been destroyed.  Domains of retired slots have descriptors, too.
 *
 * A pool with slots that belong to a client (cpool/client.h) has two.  The client takes and gives
 * slots by the first one, which nobody else obtains.  The second one is the pool's face, which
 * tells everybody else where the slots lie.  It has neither `state` nor entries, so no slot is
 * taken or given by it.
 *
 * The array is far away from all other memory.  So the handle NULL, which leads to an entry as
 * far below a thread's table as the descriptors' address says, leads to none, and traps.
 *
 * An object pool, lanes, an allocator of many sizes and a domain have no descriptor that stays.
 * Their own memory stays instead, until CPI_ENDED_KEPT others have ended, or CPI_ENDED_BYTES of
 * them, with a mark that each function that is given it asks for first (cpool_client_release).
 *
 * ORDERING TABLE
 *   at    | cpi_handles_at load | relaxed | - | -
 *   face  | word of a face, load and store | relaxed | - | -
 *
 * A thread that follows a handle has learnt of it after the array's address was stored.  Any other
 * thread compares addresses alone.
 */
#ifndef CPI_DESCRIPTOR_H
#define CPI_DESCRIPTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cpool.h>

#include "base/atomic.h"
#include "base/compiler.h"

/* Descriptors, and entries in a table.  The first ones belong to no pool. */
#ifndef CPI_HANDLES /* an explorer wants few */
#define CPI_HANDLES ((sizeof(void *) >= 8) ? 16384u : 1024u)
#endif

/* Descriptors of destroyed pools that are kept before one of them is used again,
 * while others have never been used.  More would make threads' tables grow. */
#ifndef CPI_HANDLES_KEPT /* an explorer wants few */
#define CPI_HANDLES_KEPT ((sizeof(void *) >= 8) ? 1023u : 255u)
#endif

/* Of a descriptor, to the library alone. */
struct cpi_handle_part {
    uintptr_t turn;   /* advanced when a pool is destroyed */
    uintptr_t behind; /* atomic: of a face, its pool.  0: it is none */
};

/* The array of descriptors, and beside it the entries of threads without a table. */
struct cpi_handles {
    _Alignas(CPI_LINE) cpool_t handles[CPI_HANDLES];
    cpool_cache_t zeroes[CPI_HANDLES + 1]; /* closed.  Only the owners' marks are written there */
    struct cpi_handle_part parts[CPI_HANDLES];
};

/* The address before the first pool: no descriptor's address is at a multiple of a
 * descriptor's size from it. */
#define CPI_HANDLES_NOWHERE ((struct cpi_handles *)(UINTPTR_MAX - sizeof(struct cpi_handles) + 2))

extern _Atomic(struct cpi_handles *) cpi_handles_at;

static inline struct cpi_handles *cpi_handles(void)
{
    return cpi_load(&cpi_handles_at, relaxed); /* [at] */
}

/* A handle of no pool, with an empty entry in every thread, and the words that the inline path of
 * a free may read on its behalf.  While a pool is alive, or the descriptors are held. */
#define CPI_HANDLE_NONE (&cpi_handles()->handles[0])

/* Whether there is a descriptor at this address, of a pool or of none.  Wait-free.  One
 * comparison does: the rotation moves the bits of an address inside a descriptor to the top. */
static inline bool cpi_handle_is_one(const cpool_t *handle)
{
    const unsigned shift = sizeof(void *) >= 8 ? 6 : 5; /* log2 of a descriptor's size */
    const unsigned word = sizeof(uintptr_t) * 8u;
    uintptr_t offset = (uintptr_t)handle - (uintptr_t)cpi_handles();

    return (offset >> shift | offset << (word - shift)) < CPI_HANDLES;
}

/* Of a descriptor, which it is. */
static inline struct cpi_handle_part *cpi_handle_part(const cpool_t *handle)
{
    return &cpi_handles()->parts[handle - cpi_handles()->handles];
}

/* A face leads to its pool.  0: it is none. */
static inline uintptr_t cpi_handle_behind(const cpool_t *handle)
{
    return cpi_word_load(&cpi_handle_part(handle)->behind, relaxed); /* [face] */
}

static inline void cpi_handle_set_behind(const cpool_t *handle, uintptr_t pool)
{
    cpi_word_store(&cpi_handle_part(handle)->behind, pool, relaxed); /* [face] */
}

/* Whether it is the handle of a pool.  Wait-free. */
static inline bool cpi_handle_is_alive(const cpool_t *handle)
{
    return cpi_handle_is_one(handle) && handle->state != NULL;
}

/*
 * Between these two there are descriptors.  Each pool holds them from before it has its own until
 * after that.  Hold reserves them if need be, and returns false if the system refuses.  With the
 * lock held.
 */
bool cpi_handle_hold(void);
void cpi_handle_drop(void);

/* Whether anybody holds them, and the end of their reservation while nobody does, when the library
 * is unloaded.  With the lock held. */
bool cpi_handle_is_held(void);
void cpi_handle_release(void);

/* A descriptor without a pool, or NULL if none is left.  They are held.  With the lock held. */
cpool_t *cpi_handle_take(void);

/* Makes it a pool's: `shape` has the base, the inverse, the shift, the stride, the number of slots
 * and the state.  With the lock held. */
void cpi_handle_open(cpool_t *handle, const cpool_t *shape);

/* The reverse of these two, after the entries of all threads have become zero.  With the
 * lock held. */
void cpi_handle_close(cpool_t *handle);
void cpi_handle_give(cpool_t *handle);

/*
 * A slot of a handle's pool: the one that begins at the address, or the one that the
 * address lies in, or in the gap behind.  Both return the slot's index, or UINTPTR_MAX if
 * there is none, or no pool any more.  `handle` is any address at all.
 * Any thread, also while the pool is destroyed.  Wait-free, async-signal-safe.
 */
uintptr_t cpi_handle_slot(const cpool_t *handle, uintptr_t address);
uintptr_t cpi_handle_slot_around(const cpool_t *handle, uintptr_t address, uintptr_t *slot);

/* The descriptors that have ever been used are those below this number.  Wait-free. */
size_t cpi_handle_count(void);

/* --- Structures without a descriptor --- */

#define CPI_ENDED_KEPT 255u
#define CPI_ENDED_BYTES ((size_t)1 << 20)

/* Keeps the memory of a structure that has ended, which is of cpi_os_map.  Takes the lock. */
CPI_COLD void cpi_ended_keep(void *memory, size_t size);

/* Gives all of it back, when the library is unloaded.  With the lock held. */
void cpi_ended_release(void);

#endif /* CPI_DESCRIPTOR_H */
