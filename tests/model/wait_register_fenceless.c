/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait_register_fenceless.c - wait_register.c without the kernel's barrier.
 *
 * Holds: the same.
 */
#define MODEL_FENCELESS
#include "wait_register.c"
