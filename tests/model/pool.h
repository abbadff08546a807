/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool.h - a pool in which slots move while a thread looks for one.
 *
 * The library's alloc.c, compiled here with the files of caches.h: a thread that looks runs
 * the shipped look_again(), as an alloc does that has found nothing at its first look.  Nobody
 * grows, watches or traps here, and nobody waits unless the model includes waiters.h.
 */
#ifndef MODEL_POOL_H
#define MODEL_POOL_H

#include "barrier.h"
#include "model.h"

#define CPI_HANDLES 2u
#define CPI_HANDLES_KEPT 1u
#include "pool/pool.h"

static struct cpi_pool model_pool;
#define model_depot model_pool.depot
#define model_slab model_pool.slab
#define model_registry model_pool.registry

#include "caches.h"

/* The checker does not know the functions that only figures, reports and calloc use. */
#undef CPI_CALLER
#define CPI_CALLER() NULL

/* As slots.h has it, but that a draining thread must have come to its end. */
#define cpi_drain_await model_await_without_end
#include "pool/slots.h"
#undef cpi_drain_await

static inline void cpi_drain_await(const struct cpi_depot *depot)
{
    __VERIFIER_assume(cpi_depot_drains(depot) % 2 == 0);
}

#if defined(__clang__)
#pragma clang attribute push(__attribute__((always_inline)), apply_to = function)
#endif

#include "pool/alloc.c"

#if defined(__clang__)
#pragma clang attribute pop
#endif

MODEL_ABSENT(void, cpi_pool_report_address, int code, const char *function,
             const struct cpi_pool *pool, const void *address, uintptr_t index)
MODEL_ABSENT(void, cpi_pool_report_slot, int code, const char *function,
             const struct cpi_pool *pool, uintptr_t index)
MODEL_ABSENT(void, cpi_pool_report_handle, const char *function, const cpool_t *handle)
MODEL_ABSENT(void *, cpi_track_alloc, const cpool_t *handle, struct cpi_cache *cache,
             struct cpi_call call)
MODEL_ABSENT(void, cpi_track_free, const cpool_t *handle, struct cpi_cache *cache, void *slot,
             uintptr_t index, struct cpi_call call)

MODEL_ABSENT(void *, cpi_pool_sample_now, struct cpi_pool *pool, struct cpi_cache *cache,
             void *slot, const void *site)
MODEL_ABSENT(bool, cpi_pool_close_sample, struct cpi_pool *pool, const void *slot,
             uintptr_t index, struct cpi_call call)
MODEL_ABSENT(bool, cpi_sample_close, struct cpi_samples *samples, const void *slot,
             uintptr_t index, const void *site)

/* Of a pool that is not sampled. */
int cpi_pool_place(const struct cpi_pool *pool, const void *address, uintptr_t *index)
{
    return cpi_slab_place(&pool->slab, address, index);
}

MODEL_ABSENT(bool, cpi_pool_taken, struct cpi_pool *pool, void *slot, struct cpi_call call)
MODEL_ABSENT(bool, cpi_pool_given, struct cpi_pool *pool, void *slot, struct cpi_call call)

#ifndef MODEL_WAITERS
/* Nobody waits. */
void cpi_waiters_came(struct cpi_waiters *waiters)
{
    (void)waiters;
}

MODEL_ABSENT(bool, cpi_waiters_serve, struct cpi_waiters *waiters, void *slot,
             const struct cpi_waiter *finder)
#endif

/* No slot of a model is retired. */
size_t cpi_client_give_back(struct cpi_pool *pool, bool ends)
{
    (void)pool, (void)ends;
    return 0;
}

/* So many owners.  `fresh` slots have not been handed out, and the caller has the others. */
static inline void model_open_pool(int owners, size_t fresh)
{
    model_open_some(owners, MODEL_SLOTS - fresh);
    model_pool.registry.pool = &model_pool;
}

/* A slot for a thread that looks everywhere. */
static inline int *model_find(void)
{
    int *slot = look_again(&model_pool);

    if (slot != NULL)
        model_use_slot(slot);
    return slot;
}

/* One for which there is a slot. */
static inline void model_looker(void)
{
    model_reclaimed[model_self] = model_find();
    assert(model_reclaimed[model_self] != NULL);
}

/* A slot that the owner has goes back as out of line, and it may call. */
static inline void model_give(int *slot)
{
    model_use_slot(slot);
    if (!cpi_cache_push(model_own_cache(), cpi_cache_active(model_own_cache()), slot))
        assert(cpi_pool_give(&model_pool, model_own_cache(), slot));
}

/* A thread that takes a slot through its cache, if there is one for it. */
static int *model_kept;

static inline void model_owner(void)
{
    model_kept = model_alloc();
}

/* An owner that flushes its cache. */
static inline void model_flusher(void)
{
    cpi_cache_flush(model_own_cache());
}

#endif /* MODEL_POOL_H */
