/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reclaim_again_fenceless.c - reclaim_again.c without the kernel's barrier.
 *
 * Holds: the same.
 */
#define MODEL_FENCELESS
#include "reclaim_again.c"
