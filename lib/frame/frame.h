/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frame.h - frames, for the pools of objects that have them.
 *
 * Includes public headers.
 */
#ifndef CPI_FRAME_H
#define CPI_FRAME_H

#include <cpool/frame.h>

/* Takes the slot that was recorded last off the record, or returns NULL.  The owner. */
void *cpi_frame_take_back(cpool_frame_t *frame);

/* Calls the function with each open frame of a pool, while nobody uses the pool. */
void cpi_frame_each(const cpool_t *pool, void (*visit)(cpool_frame_t *frame, void *arg), void *arg);

#endif /* CPI_FRAME_H */
