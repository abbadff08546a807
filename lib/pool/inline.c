/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inline.c - the inline path as ordinary symbols, for callers that cannot inline: foreign function
 * interfaces, dlsym, programs built with CPOOL_NO_INLINE.
 *
 * In C99 an `extern` declaration makes the compiler emit the inline definition from the header.
 * With CPOOL_NO_INLINE the header's definitions are ordinary functions in this file.
 */
#include <stdint.h>

#include "base/atomic.h"

struct cpool_pool;
struct cpool_cache;

/* alloc.c.  Like cpool_alloc_abi1 and cpool_free_abi1, for callers of the functions here. */
void *cpi_alloc_out(struct cpool_pool *handle, struct cpool_cache *entry, const void *site);
void cpi_free_out(struct cpool_pool *handle, void *slot, uintptr_t index,
                  struct cpool_cache *entry, const void *site);

#define CPOOL_EMIT_ 1
#if !defined(CPOOL_H) /* the amalgamation has them already */
#define CPOOL_ALLOC_OUT_(pool, cache) cpi_alloc_out(pool, cache, __builtin_return_address(0))
#define CPOOL_FREE_OUT_(pool, slot, index, cache) \
    cpi_free_out(pool, slot, index, cache, __builtin_return_address(0))
#endif
#include <cpool.h>

#if !defined(CPOOL_NO_INLINE)
extern inline void *cpool_alloc(cpool_t *pool);
extern inline void cpool_free(cpool_t *pool, void *slot);
extern inline void *cpool_cache_alloc(cpool_cache_t *cache);
extern inline void cpool_cache_free(cpool_cache_t *cache, void *slot);
#endif
