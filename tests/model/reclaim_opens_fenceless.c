/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reclaim_opens_fenceless.c - reclaim_opens.c without the kernel's barrier.
 *
 * Holds: the same.
 */
#define MODEL_FENCELESS
#include "reclaim_opens.c"
