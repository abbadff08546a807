/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recall_barrier_reopen.c - recall_reopen.c where the kernel has membarrier: the owner's
 * mark and its look at the claim are relaxed and acquire, in the order that the
 * compiler keeps, and the stealing thread makes the owner pass a full barrier at any point.
 *
 * Holds: the claims of recall_reopen.c.
 */
#define MODEL_BARRIER
#include "recall_reopen.c"
