/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool.h - a pool in which slots move while a thread looks for one.
 *
 * The library's pool_alloc.c, registry_list.c and steal.c, compiled here with the files of
 * caches.h: a thread that looks runs the shipped cpi_pool_look_again().  Nobody grows, watches,
 * waits or traps here.
 *
 * Thread 1 owns the one cache that others know of.  The others have none.
 */
#ifndef MODEL_POOL_H
#define MODEL_POOL_H

#include "barrier.h"
#include "model.h"

#include <string.h>

#include "pool/pool_impl.h"

static struct cpi_pool model_pool;
#define model_depot model_pool.depot
#define model_slab model_pool.slab

/* Inlined, the library's variables are registers: the checker mistakes one on a
 * stack for an older one that lay there. */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((always_inline)), apply_to = function)
#endif

#include "caches.h"

/* The checker gives every thread's own variable the same address. */
#define cpi_thread_token() ((uintptr_t)model_self + 1)

#define cpi_registry_known_cache(registry) (model_self == 1 ? model_cache(1) : NULL)

/* The checker does not know the functions that only figures, reports and calloc use. */
#undef CPI_CALLER
#define CPI_CALLER() NULL
#define memset(at, with, size) assert(0)

#undef CPI_PAUSE
#define CPI_PAUSE() ((void)0)
#define CPI_LOOKS 1u
#include "cache/registry_list.c"
#include "cache/steal.c"
#include "pool/pool_alloc.c"

#if defined(__clang__)
#pragma clang attribute pop
#endif

/* Operations without a cache at once. */
#ifndef MODEL_VISITORS
#define MODEL_VISITORS 1u
#endif

/* The marks are the weaker ones, those that go with a barrier, unless MODEL_SYMMETRIC is
 * defined.  It is called in exact
 * pools only, by one thread.  Executions in which it is called again are dropped. */
bool cpi_os_barrier_ready(void)
{
#ifdef MODEL_SYMMETRIC
    return false;
#else
    return true;
#endif
}

void cpi_os_barrier(void)
{
    static bool called;

    __VERIFIER_assume(!called);
    called = true;
    model_barrier();
}

/* As pool_grow.c has it, but that a draining thread must have come to its end. */
bool cpi_pool_await_drain(struct cpi_pool *pool, uint32_t seen)
{
    if (!cpi_depot_was_drained(&pool->depot, seen))
        return false;
    __VERIFIER_assume(cpi_depot_drains(&pool->depot) % 2 == 0);
    return true;
}

bool cpi_pool_grow_by_itself(struct cpi_pool *pool)
{
    (void)pool;
    return false;
}

#include "absent.h"

/* No slot of a model is retired. */
bool cpi_retire_dry(struct cpi_pool *pool)
{
    (void)pool;
    return false;
}

/* `fresh` slots have not been handed out, and the caller has the others. */
static inline void model_open_pool(bool exact, size_t fresh)
{
    uintptr_t first;

    model_open_committed_depot();
    model_depot.uncached = MODEL_VISITORS;
    model_open_slab();
    model_open_caches(1);
    cpi_mark_startup();
    model_pool.way = &cpi_plain_way;
    model_pool.registry.slab = &model_slab;
    model_pool.registry.depot = &model_depot;
    model_pool.registry.quota_max = MODEL_SPARES;
    model_pool.registry.exact = exact;
    model_pool.registry.caches.base = (char *)model_cache(1);
    assert(cpi_registry_bytes(1, MODEL_SPARES) == sizeof(union model_cache));
    cpi_store(&model_pool.registry.made, 1, relaxed);
    model_cache(1)->registry = &model_pool.registry;
    if (fresh < MODEL_SLOTS - MODEL_SLACK)
        assert(model_claim(MODEL_SLOTS - MODEL_SLACK - fresh, &first) != 0 && first == 0);
}

/* A thread that takes what there is through its cache. */
static inline void *model_owner(void *number)
{
    model_begin(number);
    cpi_pool_take(&model_pool, model_own_cache());
    model_barrier_end();
    return NULL;
}

/* A thread without a cache, for which there is a slot. */
static inline void *model_looker(void *number)
{
    model_begin(number);
    assert(take_any(&model_pool, NULL) != NULL);
    return NULL;
}

/* An owner that flushes its cache. */
static inline void *model_flusher(void *number)
{
    model_begin(number);
    cpi_mark_flush(model_own_cache());
    model_barrier_end();
    return NULL;
}

#endif /* MODEL_POOL_H */
