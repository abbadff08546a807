/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease_layer.h - leases for layers above a pool, beside the public functions.
 */
#ifndef CPI_LEASE_LAYER_H
#define CPI_LEASE_LAYER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <cpool/lease.h>

/* As cpool_lease_alloc, but NULL where neither the calling thread's cache nor the depot has a slot,
 * though other threads' caches may.  Progress as cpool_lease_alloc. */
void *cpi_lease_near(cpool_lease_t *lease);

/* As cpool_lease_end, by this name in reports.  Returns whether the lease has ended with this
 * call.  *slots is the number of slots that went back.  *owner, if there is one, is NULL from the
 * end on, and in the child of a fork after it, where another lease may have the handle. */
bool cpi_lease_end(cpool_lease_t *lease, const char *function, size_t *slots,
                   _Atomic(cpool_lease_t *) *owner);

/* As cpool_lease_reset, by this name in reports. */
size_t cpi_lease_reset(cpool_lease_t *lease, const char *function);

#endif /* CPI_LEASE_LAYER_H */
