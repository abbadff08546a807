/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_tell.h - the details of a report: the states and the users of the slots concerned.
 *
 * Includes pool_impl.h, text.h.
 *
 * All of these read what other threads may be writing, and say what they find.  They
 * allocate nothing, take no lock, and follow no pointer into the pool's lists, so that
 * they work in a pool that is corrupted.
 */
#ifndef CPI_POOL_TELL_H
#define CPI_POOL_TELL_H

#include "base/text.h"
#include "pool/pool_report.h"
#include "check/guard.h"

/* Appends the state of a slot, and its last alloc and free, in lines of their own. */
void cpi_tell_slot(struct cpi_text *text, const struct cpi_pool *pool, uintptr_t index);

/* Appends which other pool this address lies in, if any, and that slot's lines. */
void cpi_tell_owner(struct cpi_text *text, const struct cpi_pool *pool, const void *address);

/* Appends what was overwritten, which slot's user probably did it, and both slots. */
void cpi_tell_damage(struct cpi_text *text, const struct cpi_pool *pool,
                     const struct cpi_damage *damage);

/* Appends how to learn more about a pool, which may be NULL. */
void cpi_tell_how(struct cpi_text *text, const struct cpi_pool *pool);

#endif /* CPI_POOL_TELL_H */
