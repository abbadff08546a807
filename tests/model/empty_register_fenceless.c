/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * empty_register_fenceless.c - empty_register.c without the kernel's barrier.
 *
 * Holds: the same.
 */
#define MODEL_FENCELESS
#include "empty_register.c"
