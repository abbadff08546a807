/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_lease.h - what the public functions of leases share.
 *
 * Floor 6.  Includes pool_impl.h.  pool_lease.c is about the slots that join a lease and leave
 * it, pool_lease_end.c about all of them at once.
 */
#ifndef CPI_POOL_LEASE_H
#define CPI_POOL_LEASE_H

#include "pool_impl.h"

#include <cpool/lease.h>

#include "compiler.h"
#include "handle.h"
#include "lease.h"

/* Reports that the handle is none of an open lease. */
CPI_COLD void cpi_pool_report_lease(const char *function, const cpool_lease_t *handle);

/* The lease, or NULL after it was reported that there is none. */
static inline struct cpi_lease *cpi_pool_lease_of(cpool_lease_t *handle, const char *function)
{
    cpool_t *descriptor = (cpool_t *)(void *)handle;
    uintptr_t lease = cpi_handle_is_one(descriptor) ? cpi_handle_lease(descriptor) : 0;

    if (CPI_LIKELY(lease != 0))
        return (struct cpi_lease *)lease;
    cpi_pool_report_lease(function, handle);
    return NULL;
}

/* The pool's leases, or NULL if it never had one. */
struct cpi_leases *cpi_pool_leases(const struct cpi_pool *pool);

/* In pools with marks: the slot is a lease's from now on, or of none.  Returns false if it
 * was so before.  Of two threads one gets true.  True in other pools. */
bool cpi_pool_set_leased(struct cpi_pool *pool, const void *slot, bool leased);

#endif /* CPI_POOL_LEASE_H */
