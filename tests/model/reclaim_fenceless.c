/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reclaim_fenceless.c - reclaim_loaded.c with the marks that go without the kernel's barrier.
 *
 * Holds: the same.
 */
#define MODEL_FENCELESS
#include "reclaim_loaded.c"
