/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_cpool.c - libcpool as most programs call it: cpool_alloc(pool), inline.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "rival_cpool.h"

#include <cpool/priority.h>
#include <cpool/retire.h>

static inline void *rival_calloc(void *handle, size_t size)
{
    (void)size;
    return cpool_calloc((cpool_t *)handle);
}

/* Workloads that only libcpool has, or not every rival (workloads.h). */

#define RIVAL_IS_CPOOL
#define RIVAL_TRIMS
#define RIVAL_WAITS
#define RIVAL_RECLAIMS
#define RIVAL_RETIRES

static size_t rival_trim(void *pool)
{
    return cpool_trim((cpool_t *)pool);
}

static void *rival_create_waitable(const struct bench_cell *cell)
{
    return rival_create(cell);
}

static inline void *rival_alloc_wait(void *handle)
{
    return cpool_alloc_wait((cpool_t *)handle, NULL);
}

static uint64_t rival_waits(void *pool)
{
    cpool_stats_t stats = CPOOL_STATS_INIT;

    if (cpool_read_stats((const cpool_t *)pool, &stats) != 0)
        bench_fail("cpool_read_stats failed");
    return stats.waits;
}

static void *rival_reclaim_create(const struct bench_cell *cell, size_t n)
{
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_objects_t *pool;

    type.object_size = cell->slot_size;
    config.type = &type;
    config.capacity = n;
    config.flags = CPOOL_OBJECT_PRIORITY;
    if (cpool_objects_create(&pool, &config) != 0)
        bench_fail("no priority pool");
    return pool;
}

static void rival_reclaim_destroy(void *pool)
{
    cpool_objects_destroy((cpool_objects_t *)pool);
}

static inline void *rival_reclaim_get(void *pool, int64_t priority)
{
    cpool_grant_t grant = CPOOL_GRANT_INIT;
    void *object;

    grant.priority = priority;
    return cpool_object_get_with((cpool_objects_t *)pool, &object, &grant) == 0 ? object : NULL;
}

/* A bag is a quarter of what a reader may hold back. */
static void *rival_domain_create(const struct bench_cell *cell, size_t bag)
{
    cpool_domain_config_t config = CPOOL_DOMAIN_CONFIG_INIT;
    cpool_domain_t *domain;
    int code;

    config.readers = cell->threads;
    config.max_held = 4 * bag;
    code = cpool_domain_create(&domain, &config);
    if (code != CPOOL_OK)
        bench_fail("cpool_domain_create: %s", cpool_strerror(code));
    return domain;
}

static void rival_domain_destroy(void *domain)
{
    if (cpool_domain_destroy((cpool_domain_t *)domain) != CPOOL_OK)
        bench_fail("a reader is inside a section");
}

static void *rival_reader_enter(void *domain)
{
    cpool_reader_t *reader;

    return cpool_reader_create(&reader, (cpool_domain_t *)domain, 0) == CPOOL_OK ? reader : NULL;
}

/* The end of the thread does that. */
static void rival_reader_leave(void *reader)
{
    (void)reader;
}

static inline void *rival_read(void *reader, void **place)
{
    cpool_read_begin((cpool_reader_t *)reader);
    return __atomic_load_n(place, __ATOMIC_ACQUIRE);
}

static inline void rival_read_end(void *reader)
{
    cpool_read_end((cpool_reader_t *)reader);
}

/* Apart, so that a retire that need not wait keeps no registers for that. */
__attribute__((noinline, cold)) static bool retire_again(void *reader, void *node)
{
    do
        bench_yield();
    while (cpool_retire((cpool_reader_t *)reader, (cpool_t *)bench_pool, node) != CPOOL_OK);
    return true;
}

static inline bool rival_retire(void *reader, void *node)
{
    int code = cpool_retire((cpool_reader_t *)reader, (cpool_t *)bench_pool, node);

    return BENCH_UNLIKELY(code != CPOOL_OK) && retire_again(reader, node);
}

static size_t rival_held(void *domain)
{
    cpool_domain_stats_t stats = CPOOL_DOMAIN_STATS_INIT;

    if (cpool_domain_read_stats((const cpool_domain_t *)domain, &stats) != CPOOL_OK)
        bench_fail("cpool_domain_read_stats");
    return stats.held;
}

#include "workloads.h"

const struct bench_rival bench_rival_cpool = {
    "cpool", "libcpool, inline, the calling thread's cache found by itself",
    BENCH_OURS | BENCH_POOL, 8, SIZE_MAX,
    NULL, rival_version, rival_create, rival_destroy, NULL, NULL, rival_workloads, rival_exchanges
};
