/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * empty_refill_fenceless.c - empty_refill.c without the kernel's barrier.
 *
 * Holds: the same.
 */
#define MODEL_FENCELESS
#include "empty_refill.c"
