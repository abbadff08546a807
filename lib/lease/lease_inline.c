/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease_inline.c - the inline path of leases as an ordinary symbol, as in inline.c.
 *
 * With CPOOL_NO_INLINE the functions of <cpool.h> are inline.c's, and only that of leases is
 * defined here.
 */
#include <cpool.h>

#if defined(CPOOL_NO_INLINE)
#undef CPOOL_IS_INLINE_
#undef CPOOL_INLINE_
#define CPOOL_IS_INLINE_ 1
#define CPOOL_INLINE_ __attribute__((__noinline__))
#endif

#include <cpool/lease.h>

#if !defined(CPOOL_NO_INLINE)
extern inline void *cpool_lease_alloc(cpool_lease_t *lease);
#endif
