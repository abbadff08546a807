/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait_dry_fenceless.c - wait_dry.c without the kernel's barrier.
 *
 * Holds: the same.
 */
#define MODEL_FENCELESS
#include "wait_dry.c"
