/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reclaim_two_fenceless.c - reclaim_two.c without the kernel's barrier.
 *
 * Holds: the same.
 */
#define MODEL_FENCELESS
#include "reclaim_two.c"
