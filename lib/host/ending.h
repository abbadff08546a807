/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ending.h - structures that are refused when they are used after their end.
 *
 * A pool has a descriptor that stays mapped (handle.h).  An object pool, lanes, an allocator of
 * many sizes and a domain have none.  Their own memory stays instead, until CPI_ENDED_KEPT others
 * have ended, or CPI_ENDED_BYTES of them.  What it leads to is gone, and each function that is
 * given it asks CPI_HAS_ENDED first, or comes there by values that the end has left.
 *
 * ORDERING TABLE
 *   ended | ended load | relaxed | - | -
 *
 * Whoever uses a structure after its end has learnt of the end, or has made a mistake that nothing
 * finds.
 */
#ifndef CPI_ENDING_H
#define CPI_ENDING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/atomic.h"
#include "base/compiler.h"

#define CPI_ENDED_KEPT 255u
#define CPI_ENDED_BYTES ((size_t)1 << 20)

/* A member of the structure. */
struct cpi_ending {
    _Atomic bool ended;
};

/* Ends a structure that lies at the beginning of this memory, and keeps the memory, which is of
 * cpi_os_map or else of cpi_os_block.  Takes the lock. */
void cpi_ending_keep(struct cpi_ending *ending, void *memory, size_t size, bool mapped);

/* Gives back the memory of all structures that have ended, when the library is unloaded.  With the
 * lock held. */
void cpi_ending_release(void);

/* Reports the use of a handle after its end, as CPOOL_EPOOL.  Returns true. */
CPI_COLD bool cpi_ending_refuse(const void *handle, const char *function);

static inline bool cpi_ending_check(const struct cpi_ending *ending, const void *handle,
                                    const char *function)
{
    return CPI_UNLIKELY(cpi_load(&ending->ended, relaxed)) && /* [ended] */
           cpi_ending_refuse(handle, function);
}

/* Whether the structure has ended, which is reported on behalf of the calling function. */
#define CPI_HAS_ENDED(structure) cpi_ending_check(&(structure)->ending, structure, __func__)

#endif /* CPI_ENDING_H */
