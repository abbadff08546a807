/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * module.h - what the plug-in of check_dlopen offers.
 *
 * Includes <stddef.h>.
 */
#ifndef CPOOL_TESTS_MODULE_H
#define CPOOL_TESTS_MODULE_H

#include <stddef.h>

#if defined(__GNUC__)
#define MODULE_API __attribute__((__visibility__("default")))
#else
#define MODULE_API
#endif

/* Creates the pool; 0 or cpool_create's code. */
MODULE_API int module_open(void);

/* Takes up to `count` slots and gives them back, some into this thread's cache;
 * returns how many it got. */
MODULE_API size_t module_work(size_t count);

/* Slots in caches. */
MODULE_API size_t module_cached(void);

/* Destroys the pool; cpool_destroy's result. */
MODULE_API int module_close(void);

#endif /* CPOOL_TESTS_MODULE_H */
