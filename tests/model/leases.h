/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * leases.h - threads obtain slots under a lease while another one ends it.
 *
 * The library's files of lib/lease/, compiled here with the files of pool.h.  The
 * registry's part is here: which thread has which cache.
 *
 * Cache 1 is the common one.  Thread 1 owns cache 2 when it has joined, thread 2 cache 3.  No
 * thread has a cache of the pool.
 */
#ifndef MODEL_LEASES_H
#define MODEL_LEASES_H

#define MODEL_LEASES
#include "pool.h"
#include "lease/lease.h"
#include "pool/pool_report.h"

/* Reports are counted, and their texts are nobody's. */
#undef memset
#define memset(at, with, size) ((void)0)

/* The common one, and one of each thread. */
#define MODEL_CACHES 3

/* The structures of threads, and their entries of the lease. */
static int model_threads[MODEL_THREADS_MAX];
static cpool_cache_t model_entries[MODEL_THREADS_MAX];
static pthread_mutex_t model_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic unsigned model_reports;
static cpool_lease_t *model_lease;
static struct cpi_lease_part model_part;

#define cpi_thread_entry(handle) ((void)(handle), &model_entries[model_self])

#if defined(__clang__)
#pragma clang attribute push(__attribute__((always_inline)), apply_to = function)
#endif

/* Names that other files here have as well. */
#define count_of lease_count_of
#include "lease/lease.c"
#include "lease/lease_close.c"
#include "lease/pool_lease.c"
#include "lease/pool_lease_end.c"

#if defined(__clang__)
#pragma clang attribute pop
#endif

static struct cpi_handles model_handles;
_Atomic(struct cpi_handles *) cpi_handles_at = &model_handles;

void cpi_lock(void)
{
    pthread_mutex_lock(&model_lock);
}

void cpi_unlock(void)
{
    pthread_mutex_unlock(&model_lock);
}

bool cpi_thread_may_ask(void)
{
    return true;
}

void cpi_thread_refused(void)
{
}

struct cpi_thread *cpi_thread_self(void)
{
    return (struct cpi_thread *)(void *)&model_threads[model_self];
}

void cpi_report(cpool_error_t *error, const char *format, ...)
{
    (void)format;
    assert(error->code == CPOOL_ELEASE);
    cpi_fetch_add(&model_reports, 1u, relaxed);
}

const char *cpool_strerror(int code)
{
    (void)code;
    return "";
}

void *cpi_os_map_at(uintptr_t wish, size_t size)
{
    static struct {
        struct cpi_leases leases;
        struct cpi_leased caches[MODEL_CACHES];
    } memory;

    assert(wish == 0 && size == sizeof memory);
    return &memory;
}

/* A figure that nobody reads here. */
void cpi_pool_note_calls(struct cpi_pool *pool, uint64_t calls)
{
    (void)pool;
    (void)calls;
}

cpool_t *cpi_handle_take(enum cpi_handle_kind kind)
{
    (void)kind;
    return &model_handles.handles[1];
}

void cpi_handle_give(cpool_t *handle, enum cpi_handle_kind kind)
{
    (void)kind;
    cpi_handle_set_lease(handle, 0);
}

/* --- The registry's part --- */

/* Used with the lock held, as the real one. */
struct cpi_cache *cpi_registry_add_other(struct cpi_registry *registry,
                                         const struct cpi_owner *kind, cpool_t *handle,
                                         struct cpi_thread *owner)
{
    struct cpi_cache *cache = model_cache(owner == NULL ? 1 : 1 + model_self);

    cache->registry = registry;
    cache->slab = &model_slab;
    cache->depot = &model_depot;
    cache->ring_size = MODEL_SPARES;
    cpi_store(&cache->kind, kind, relaxed);
    cache->owner = owner;
    cache->used = true;
    cpi_cache_open(cache, owner != NULL ? &model_entries[model_self] : &cache->own, false,
                   MODEL_SPARES, NULL);
    (void)handle;
    return cache;
}

void cpi_registry_end_other(struct cpi_registry *registry, struct cpi_cache *cache)
{
    (void)registry;
    cpi_word_store((uintptr_t *)(void *)&cache->entry->home, 0, relaxed);
    cache->entry = &cache->own;
    cache->owner = NULL;
    cache->used = false;
}

/* Executions in which it would have to wait are dropped. */
void cpi_registry_await_leaving(struct cpi_registry *registry, bool calls)
{
    (void)calls;
    __VERIFIER_assume(registry->leaving == 0);
}

/* --- What no thread of these models comes to --- */

MODEL_ABSENT(void, cpi_pool_report_handle, const char *function, const cpool_t *handle)
MODEL_ABSENT(enum cpi_slotmap_state, cpi_slotmap_state, const struct cpi_slotmap *map,
             uintptr_t index)
MODEL_ABSENT(void, cpi_os_release, void *address, size_t size)

/* --- The parts of the models --- */

/* The lease is open, and thread 1 has joined it where `joined` says so.  All slots are in the
 * depot. */
static inline void model_open_lease(bool exact, bool joined)
{
    int i;

    model_open_pool(exact, 0);
    cpi_store(&model_pool.registry.made, MODEL_CACHES, relaxed);
    model_pool.registry.max = MODEL_CACHES;
    model_pool.part[CPI_PART_LEASE] = &model_part;
    model_pool.registry.pool = &model_pool;
    for (i = 0; i < MODEL_SLOTS; i++)
        assert(cpi_depot_free_slot(&model_depot, &model_counters[0], &model_slots[i]));
    model_handles.handles[2].state = &model_pool;
    model_pool.handle = &model_handles.handles[2];
    model_lease = cpool_lease_begin(&model_handles.handles[2]);
    assert(model_lease != NULL);
    if (!joined)
        return;
    model_self = 1;
    assert(cpi_lease_join((struct cpi_lease *)cpi_handle_lease((cpool_t *)(void *)model_lease),
                          (cpool_t *)(void *)model_lease) == model_cache(2));
    model_self = 0;
}

static size_t model_ended;

/* A thread that ends the lease. */
static inline void *model_ender(void *number)
{
    model_begin(number);
    model_ended = cpool_lease_end(model_lease);
    return NULL;
}

/* Ends the lease, if an end that found it in use was refused. */
static inline void model_end_at_last(void)
{
    if (cpi_handle_lease((cpool_t *)(void *)model_lease) != 0) {
        assert(model_ended == 0 && cpi_load(&model_reports, relaxed) > 0);
        model_ended = cpool_lease_end(model_lease);
    }
}

/* All slots have been given back, by the end or one by one. */
static inline void model_audit_lease(void)
{
    assert(cpi_handle_lease((cpool_t *)(void *)model_lease) == 0);
    model_audit_depot(MODEL_SLOTS);
}

#endif /* MODEL_LEASES_H */
