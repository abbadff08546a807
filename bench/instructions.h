/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * instructions.h - the functions that are counted.
 *
 * Each does one thing and nothing else, once or in a loop.  instructions.sh counts the
 * instructions executed between their first instruction and their return, and looks at
 * their code.  A loop's own instructions are those of the loop around nothing.
 */
#ifndef BENCH_INSTRUCTIONS_H
#define BENCH_INSTRUCTIONS_H

#include <cpool.h>

/* Inline, the calling thread's cache. */
void *measured_inline_alloc(cpool_t *pool);
void measured_inline_free(cpool_t *pool, void *slot);
void measured_inline_loop_alloc(cpool_t *pool, void **slots, size_t n);
void measured_inline_loop_free(cpool_t *pool, void **slots, size_t n);
void measured_inline_loop_pair(cpool_t *pool, void **slots, size_t n);

/* Inline, an explicit cache. */
void *measured_cache_alloc(cpool_cache_t *cache);
void measured_cache_free(cpool_cache_t *cache, void *slot);
void measured_cache_loop_alloc(cpool_cache_t *cache, void **slots, size_t n);
void measured_cache_loop_free(cpool_cache_t *cache, void **slots, size_t n);
void measured_cache_loop_pair(cpool_cache_t *cache, void **slots, size_t n);

/* Inline, typed pools: 64 bytes, and 48. */
void *measured_typed_alloc(void);
void measured_typed_free(void *slot);
void *measured_uneven_alloc(void);
void measured_uneven_free(void *slot);
void measured_typed_loop_alloc(cpool_t *pool, void **slots, size_t n);
void measured_typed_loop_free(cpool_t *pool, void **slots, size_t n);
void measured_typed_loop_pair(cpool_t *pool, void **slots, size_t n);

/* The same loops around nothing. */
void measured_empty_loop_alloc(cpool_t *pool, void **slots, size_t n);
void measured_empty_loop_free(cpool_t *pool, void **slots, size_t n);
void measured_empty_loop_pair(cpool_t *pool, void **slots, size_t n);

/* The symbols of the library: instructions_outline.c. */
void *measured_outline_alloc(cpool_t *pool);
void measured_outline_free(cpool_t *pool, void *slot);

/* Makes a pointer unknown to the compiler, and keeps a call from becoming a jump. */
#define INSTRUCTIONS_HIDE(p) __asm__ __volatile__("" : "+r"(p) : : "memory")

#endif /* BENCH_INSTRUCTIONS_H */
