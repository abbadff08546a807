/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * retire_asked.c - retire_sections.c while a third thread scans the readers, and takes them
 * offline.
 *
 * Holds: the same.
 */
#define MODEL_ASKED
#include "retire_sections.c"
