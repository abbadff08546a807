/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait_closed_fenceless.c - wait_closed.c without the kernel's barrier.
 *
 * Holds: the same.
 */
#define MODEL_FENCELESS
#include "wait_closed.c"
