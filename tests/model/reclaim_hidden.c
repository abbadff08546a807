/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reclaim_hidden.c - reclaim_loaded.c with the entry of a tracked pool, which is hidden from the
 * inline path.
 *
 * Holds: the same.
 */
#define MODEL_HIDDEN
#include "reclaim_loaded.c"
