/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rest_uncached.c - rest_await.c where the slot goes back past the cache.
 *
 * Holds: the same.
 */
#define MODEL_UNCACHED
#include "rest_await.c"
