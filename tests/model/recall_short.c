/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recall_short.c - recall_barrier.c with the short operations of pool_alloc.h: a push and a pop
 * of the loaded magazine, with the mark in a register.  Where they find it locked, or empty,
 * the marked ones follow.
 *
 * Holds: the claims of recall_loaded.c.
 */
#define MODEL_BARRIER
#define MODEL_SHORT
#include "recall_loaded.c"
