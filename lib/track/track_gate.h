/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * track_gate.h - the gate of pools with a word for each slot.
 *
 * Includes pool_impl.h.
 */
#ifndef CPI_TRACK_GATE_H
#define CPI_TRACK_GATE_H

#include "pool/pool_impl.h"

/* The slot's word becomes that of a free one.  Returns false after it has reported why this slot
 * cannot be freed. */
bool cpi_track_end_life(struct cpi_pool *pool, uintptr_t index, const char *function);

#endif /* CPI_TRACK_GATE_H */
