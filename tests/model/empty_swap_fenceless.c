/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * empty_swap_fenceless.c - empty_swap.c without the kernel's barrier.
 *
 * Holds: the same.
 */
#define MODEL_FENCELESS
#include "empty_swap.c"
