/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * retire_open.c - retire_dry.c with a bag that has room: the thread adds to it while the dry pool
 * closes and empties it.  A section may find the first slot that it adds.  The readers are offline,
 * so that no barrier orders that.
 *
 * Holds: each slot goes back once, and none that the section reads.  Bags that are empty have given
 * their slots back.
 */
#define MODEL_DRY
#define MODEL_OPEN
#include "retire_sections.c"
