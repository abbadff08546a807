/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * adopt.h - taking over caches in the child of a fork.
 *
 * Floor 5.  Includes roster.h.
 */
#ifndef CPI_ADOPT_H
#define CPI_ADOPT_H

#include <stdbool.h>

#include "roster.h"

/*
 * Gives all that a cache whose owner vanished has in its hands to the depot,
 * wherever in its steps the owner was.  Returns whether it was in the middle of
 * an exchange: then the accounts of the stacks may be off by one.
 *
 * Only in the child of a fork, before it has a second thread.
 */
bool cpi_adopt(struct cpi_roster *roster, struct cpi_cache *cache);

#endif /* CPI_ADOPT_H */
