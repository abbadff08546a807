/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * retire_dry.c - retire_sections.c's domain while a thread retires and a dry pool takes its bags.
 *
 * Holds: each slot goes back once.
 */
#define MODEL_DRY
#include "retire_sections.c"
