/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recall_inline.c - recall_short.c with the marked pop and push of <cpool/fast.h>, which typed
 * exact pools have inline.
 *
 * Holds: the claims of recall_loaded.c.
 */
#define MODEL_BARRIER
#define MODEL_INLINE
#include "recall_loaded.c"
