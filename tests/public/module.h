/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * module.h - what the plug-in of check_dlopen offers.
 */
#ifndef CPOOL_TESTS_MODULE_H
#define CPOOL_TESTS_MODULE_H

#include <stdbool.h>
#include <stddef.h>

#if defined(__GNUC__)
#define MODULE_API __attribute__((__visibility__("default")))
#else
#define MODULE_API
#endif

/* Creates the pool.  Returns 0 or cpool_create's code. */
MODULE_API int module_open(void);

/* The same, with flags, in memory of the plug-in's if `own` is true. */
MODULE_API int module_open_kind(unsigned flags, bool own);

/* The pool, a live slot of it, and a cache of it that no thread owns. */
MODULE_API void *module_pool(void);
MODULE_API void *module_slot(void);
MODULE_API void *module_cache(void);
MODULE_API void module_end(void *slot, void *cache);

/* Uses another plug-in's pool, slot and cache by every function there is.  Returns
 * NULL if each was refused and reported as CPOOL_EPOOL, or else the name of the
 * first that was not. */
MODULE_API const char *module_misuse(void *pool, void *slot, void *cache);

/* Takes up to `count` slots and gives them back, some into this thread's cache.
 * Returns how many it got. */
MODULE_API size_t module_work(size_t count);

/* The same with a typed pool, which nobody closes. */
MODULE_API size_t module_typed(size_t count);

/* A typed pool with one slot, which nobody closes either. */
MODULE_API void *module_turns(void);

/* Slots in caches. */
MODULE_API size_t module_cached(void);

/* Destroys the pool.  Returns cpool_destroy's result. */
MODULE_API int module_close(void);

#endif /* CPOOL_TESTS_MODULE_H */
