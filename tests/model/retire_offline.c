/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * retire_offline.c - retire_sections.c with a reader that is offline at first.
 *
 * Holds: the same.
 */
#define MODEL_OFFLINE
#include "retire_sections.c"
