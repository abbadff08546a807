/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lease_barrier.c - lease_late.c with membarrier.
 *
 * Holds: the same, although the owner's mark and its look at the lock are kept in order by
 * the compiler alone.
 */
#define MODEL_SHARE 16
#define MODEL_BARRIER
#include "lease_late.c"
