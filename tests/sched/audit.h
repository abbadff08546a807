/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * audit.h - where a pool's magazines are.
 */
#ifndef AUDIT_H
#define AUDIT_H

#include <stddef.h>
#include <stdint.h>

#include <cpool.h>

/* While no thread uses the pool, each magazine lies in one place, with as many rounds
 * as belong there.  All but `missing` of them lie in one at all.  NULL, or the fault. */
const char *audit_magazines(const cpool_t *pool, size_t missing);

/* How long a waiter waits before it starves, nanoseconds. */
void audit_starve_after(cpool_t *pool, uint64_t nanoseconds);

/* Operations that may have magazines in their hands at the moment. */
size_t audit_hands(const cpool_t *pool);

#endif /* AUDIT_H */
