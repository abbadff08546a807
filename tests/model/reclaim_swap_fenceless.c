/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reclaim_swap_fenceless.c - reclaim_swap.c without the kernel's barrier.
 *
 * Holds: the same.
 */
#define MODEL_FENCELESS
#include "reclaim_swap.c"
