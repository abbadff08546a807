/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * checks.h - the pieces of this folder.
 */
#ifndef CPI_CHECKS_H
#define CPI_CHECKS_H

#include "check/guard.h"
#include "track/track.h"

/* check_gate.c, and the features. */
extern const struct cpi_gate cpi_check_gate;
extern const struct cpi_feature cpi_check_feature;
extern const struct cpi_feature cpi_tools_feature;

/* check_gate.c.  Looks at the gaps of a checked pool's slots, and at those that are free and
 * filled, beside threads that use the pool.  Reports each damage, and returns how many there
 * were.  Takes the lock. */
size_t cpi_pool_verify_all(const struct cpi_pool *pool, const char *function);

/* The same from *index to before `end`, and until one slot is damaged.  *index is then that slot's.
 * Returns 0 or the code that was reported. */
int cpi_pool_verify_next(const struct cpi_pool *pool, uintptr_t *index, uintptr_t end,
                         const char *function);

#endif /* CPI_CHECKS_H */
