/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fixture.h - what the tests of caches share: a slab, a depot and a registry, without a pool.
 */
#ifndef CPOOL_TESTS_FIXTURE_H
#define CPOOL_TESTS_FIXTURE_H

#include "support.h" /* first: it says which system interfaces are wanted */

#include "cache/reclaim.h"

/* Slots, rounds of a magazine, and places for spares in a cache. */
enum { FIXTURE_CAPACITY = 1000, FIXTURE_LIMIT = 10, FIXTURE_PLACES = 8 };

extern struct cpi_slab *fixture_slab;
extern struct cpi_depot *fixture_depot;
extern struct cpi_registry *fixture_registry;

/* Makes all three. */
void fixture_init(void);

/* A cache with this quota of spares.  fixture_begin makes all three before. */
struct cpi_cache *fixture_cache(uint32_t quota, bool inline_path);
struct cpi_cache *fixture_begin(uint32_t quota, bool inline_path);

/* Closes all entries and takes what lies in them, as a dry alloc does. */
bool fixture_reclaim(void);

/* Whether the entry is open. */
bool fixture_is_open(const struct cpi_cache *cache);

/* Free slots in the depot. */
size_t fixture_in_depot(void);

/* Takes n slots, all there.  Gives n back. */
void fixture_take(struct cpi_cache *cache, void **slots, size_t n);
void fixture_give(struct cpi_cache *cache, void **slots, size_t n);

#endif /* CPOOL_TESTS_FIXTURE_H */
