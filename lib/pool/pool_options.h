/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_options.h - what CPOOL_OPTIONS asks of pools.
 *
 * Includes pool_impl.h.
 */
#ifndef CPI_POOL_OPTIONS_H
#define CPI_POOL_OPTIONS_H

#include "pool/pool_impl.h"

/*
 * add_options adds the requests of CPOOL_OPTIONS, and returns true if that is more than there
 * was.  tell_unchecked says on standard error that a pool has none of them, because of this code.
 */
bool cpi_pool_add_options(cpool_config_t *config);
void cpi_pool_tell_unchecked(const cpool_config_t *config, int code);

#endif /* CPI_POOL_OPTIONS_H */
