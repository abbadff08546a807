/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * empty_inline_fenceless.c - empty_inline.c without the kernel's barrier.
 *
 * Holds: the same.
 */
#define MODEL_FENCELESS
#include "empty_inline.c"
