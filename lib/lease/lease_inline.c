/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease_inline.c - the inline path of leases as an ordinary symbol, as in inline.c.
 */
#define CPOOL_EMIT_ 1
#include <cpool.h>
#include <cpool/lease.h>

#if !defined(CPOOL_NO_INLINE)
extern inline void *cpool_lease_alloc(cpool_lease_t *lease);
#endif
