/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inline.c - the inline path as ordinary symbols, for callers that cannot
 * inline: foreign-function users, dlsym, programs built with CPOOL_NO_INLINE.
 *
 * In C99 a declaration with `extern` makes the compiler emit the definition that the header gives.
 * With CPOOL_NO_INLINE the header's definitions are ordinary functions in this file.
 */
#define CPOOL_EMIT_ 1
#include <cpool.h>

#if !defined(CPOOL_NO_INLINE)
extern inline void *cpool_alloc(cpool_t *pool);
extern inline void cpool_free(cpool_t *pool, void *slot);
extern inline void *cpool_cache_alloc(cpool_cache_t *cache);
extern inline void cpool_cache_free(cpool_cache_t *cache, void *slot);
#endif
