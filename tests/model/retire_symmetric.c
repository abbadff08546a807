/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * retire_symmetric.c - retire_sections.c where the system has no barrier.
 *
 * Holds: the same.
 */
#define MODEL_SYMMETRIC
#include "retire_sections.c"
