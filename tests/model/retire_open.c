/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * retire_dry_symmetric.c - retire_dry.c where the system has no barrier.
 *
 * Holds: the same.
 */
#define MODEL_DRY
#define MODEL_SYMMETRIC
#include "retire_sections.c"
