/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_lease.h - what the public functions of leases share.
 *
 * Includes lease.h, mark.h.
 *
 * ORDERING TABLE
 *   leased | word of the bitmap, load | relaxed | - | -
 *   see    | leases load              | acquire | pool_lease.c's made | the leases, all unused
 *   home   | entry home load          | relaxed | - | -
 *
 * A bit of the bitmap changes hands along with its slot, which orders it.
 */
#ifndef CPI_POOL_LEASE_H
#define CPI_POOL_LEASE_H

#include "base/atomic.h"
#include "cache/mark.h"
#include "host/os.h"
#include "lease/lease.h"
#include "pool/pool_alloc.h"

#define CPI_LEASED_BITS 64u

/* Reports that the handle is none of an open lease, or that the lease is in use. */
void cpi_lease_report(const char *function, const cpool_lease_t *handle);

/* The lease, or NULL after it was reported that there is none. */
struct cpi_lease *cpi_lease_of(cpool_lease_t *handle, const char *function);

static inline struct cpi_pool *cpi_lease_pool(const struct cpi_lease *lease)
{
    return lease->registry->pool;
}

/* --- Which slots are leased, in pools with a gate --- */

static inline struct cpi_leases *cpi_leases_of(const struct cpi_pool *pool)
{
    return cpi_load(&cpi_lease_part(pool->part)->leases, acquire); /* [see] */
}

static inline _Atomic uint64_t *cpi_lease_word(const struct cpi_pool *pool, uintptr_t index,
                                               uint64_t *bit)
{
    *bit = (uint64_t)1 << index % CPI_LEASED_BITS;
    return &cpi_leases_of(pool)->leased[index / CPI_LEASED_BITS];
}

/* Whether a slot goes back with a lease.  Wait-free. */
static inline bool cpi_lease_has_slot(const struct cpi_pool *pool, uintptr_t index)
{
    uint64_t bit;

    return (cpi_load(cpi_lease_word(pool, index, &bit), relaxed) & bit) != 0; /* [leased] */
}

/* The slot is a lease's from now on, or of none.  Returns false if it was so before.  Of two
 * threads one gets true.  True in pools without a gate. */
bool cpi_lease_set_slot(struct cpi_pool *pool, const void *slot, bool leased);

/* Where a slot has a word, it is not live. */
bool cpi_lease_is_free(const struct cpi_pool *pool, uintptr_t index);

/* --- The calling thread's cache --- */

/* As its entry has it.  An end in another thread clears the entry. */
static inline struct cpi_cache *cpi_lease_home(const cpool_lease_t *handle)
{
    cpool_cache_t *entry = cpi_thread_entry((const cpool_t *)(const void *)handle);
    uintptr_t *home = (uintptr_t *)(void *)&entry->home;

    return (struct cpi_cache *)cpi_word_load(home, relaxed); /* [home] */
}

/* Goes inside it, after a thread that steals from it has left.  Returns false if the lease has
 * ended meanwhile.  The end clears the thread's entry, and another lease may have the structures of
 * both by now. */
static inline bool cpi_lease_enter(const struct cpi_lease *lease, const cpool_lease_t *handle,
                                   struct cpi_cache *cache)
{
    unsigned times = 0;

    for (;;) {
        if (CPI_UNLIKELY(cpi_lease_home(handle) != cache)) /* the mark would be another owner's */
            return false;
        if (CPI_LIKELY(cpi_mark_try_enter(cache)))
            break;
        cpi_os_back_off(times++);
    }
    if (CPI_LIKELY(cpi_lease_home(handle) == cache && cpi_lease_has(lease, cache)))
        return true;
    cpi_mark_leave(cache);
    return false;
}

#endif /* CPI_POOL_LEASE_H */
