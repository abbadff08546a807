/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * retire_asked.c - retire_sections.c while a third thread looks at the readers, and parks them.
 *
 * Holds: the same.
 */
#define MODEL_ASKED
#include "retire_sections.c"
