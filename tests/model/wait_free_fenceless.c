/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait_free_fenceless.c - wait_free.c without the kernel's barrier.
 *
 * Holds: the same.
 */
#define MODEL_FENCELESS
#include "wait_free.c"
