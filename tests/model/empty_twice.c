/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * empty_twice.c - empty_closed.c where the owner is inside once more afterwards.
 *
 * Holds: the thread finds the slot, also if it sees that the first operation has left by the number
 * of the second one alone.
 */
#define MODEL_TWICE
#include "empty_closed.c"
