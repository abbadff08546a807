/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * misuse.c - every public function, with a handle that leads to no pool of this copy
 * of the library.
 *
 * Includes the public API only.  Without Check, as plug-ins have it inside.
 */
#include "misuse.h"

#include <stdbool.h>
#include <stdio.h>

static size_t reports;

static void count_report(const cpool_error_t *error, void *context)
{
    (void)context;
    reports += error->code == CPOOL_EPOOL;
}

/* As the inline path finds it, or where there is none, an entry of no pool. */
static cpool_cache_t *entry_of(cpool_t *pool)
{
#if CPOOL_IS_INLINE_
    cpool_cache_t *entry;

    CPOOL_OWN_ENTRY_(entry, pool);
    return entry;
#else
    static cpool_cache_t none;

    (void)pool;
    return &none;
#endif
}

/* Each is true if the result tells of a refusal. */

static bool alloc_slow(struct misuse *m)
{
    return cpool_alloc_abi1(m->pool, entry_of(m->pool)) == NULL;
}

static bool free_slow(struct misuse *m)
{
    cpool_free_abi1(m->pool, m->slot, 0, entry_of(m->pool));
    return true;
}

static bool alloc_zeroed(struct misuse *m)
{
    return cpool_calloc(m->pool) == NULL;
}

static bool alloc_bulk(struct misuse *m)
{
    void *slots[10];

    return cpool_alloc_bulk(m->pool, slots, 10) == 0;
}

static bool free_bulk(struct misuse *m)
{
    cpool_free_bulk(m->pool, &m->slot, 1);
    return true;
}

static bool depot_alloc(struct misuse *m)
{
    return cpool_depot_alloc(m->pool) == NULL;
}

static bool depot_free(struct misuse *m)
{
    cpool_depot_free(m->pool, m->slot);
    return true;
}

static bool cache(struct misuse *m)
{
    return cpool_cache(m->pool) == NULL;
}

static bool cache_create(struct misuse *m)
{
    cpool_cache_t *made = m->cache;

    return cpool_cache_create(&made, m->pool) == CPOOL_EPOOL && made == NULL;
}

static bool cache_alloc_slow(struct misuse *m)
{
    return cpool_alloc_abi1((cpool_t *)m->cache, m->cache) == NULL;
}

static bool cache_free_slow(struct misuse *m)
{
    cpool_free_abi1((cpool_t *)m->cache, m->slot, 0, m->cache);
    return true;
}

static bool cache_destroy(struct misuse *m)
{
    cpool_cache_destroy(m->cache);
    return true;
}

static bool flush(struct misuse *m)
{
    cpool_flush(m->pool);
    return true;
}

static bool reset(struct misuse *m)
{
    return cpool_reset(m->pool) == 0;
}

static bool grow(struct misuse *m)
{
    return cpool_grow(m->pool, 1) == 0;
}

static bool shrink(struct misuse *m)
{
    return cpool_shrink(m->pool, 1) == 0;
}

static bool trim(struct misuse *m)
{
    return cpool_trim(m->pool) == 0;
}

static bool reserve(struct misuse *m)
{
    return cpool_reserve(m->pool, 1) == CPOOL_EPOOL;
}

static bool alloc_wait(struct misuse *m)
{
    return cpool_alloc_wait(m->pool, NULL) == NULL;
}

static bool stats(struct misuse *m)
{
    cpool_stats_t figures = CPOOL_STATS_INIT;

    return cpool_stats(m->pool, &figures) == CPOOL_EPOOL && figures.capacity == 0;
}

static bool print(struct misuse *m)
{
    cpool_print(m->pool, CPOOL_PRINT_FIGURES, stderr);
    return true;
}

static bool print_json(struct misuse *m)
{
    cpool_print(m->pool, CPOOL_PRINT_JSON, stderr);
    return true;
}

static bool owns(struct misuse *m)
{
    return !cpool_owns(m->pool, m->slot);
}

/* The inline forms do not look whether a pointer was ever a pool's. */
static bool index_of(struct misuse *m)
{
    return (cpool_index)(m->pool, m->slot) == SIZE_MAX;
}

static bool at(struct misuse *m)
{
    return (cpool_at)(m->pool, 0) == NULL;
}

static bool index_limit(struct misuse *m)
{
    return cpool_index_limit(m->pool) == 0;
}

static bool destroy(struct misuse *m)
{
    return cpool_destroy(m->pool) == CPOOL_EPOOL;
}

static bool alloc(struct misuse *m)
{
    return cpool_alloc(m->pool) == NULL;
}

static bool give(struct misuse *m)
{
    cpool_free(m->pool, m->slot);
    return true;
}

static bool cache_alloc(struct misuse *m)
{
    return cpool_cache_alloc(m->cache) == NULL;
}

static bool cache_free(struct misuse *m)
{
    cpool_cache_free(m->cache, m->slot);
    return true;
}

struct way {
    const char *name;
    bool (*run)(struct misuse *misuse);
};

#define BY(function) { #function, function }

/* These look at the handle themselves. */
static const struct way out_of_line[] = {
    BY(alloc_zeroed), BY(alloc_bulk), BY(free_bulk), BY(depot_alloc),
    BY(depot_free), BY(cache), BY(cache_create), BY(flush), BY(reset), BY(grow), BY(shrink),
    BY(trim), BY(reserve), BY(alloc_wait), BY(stats), BY(print),
    BY(print_json), BY(owns), BY(index_of), BY(at), BY(index_limit), BY(destroy),
};

static const struct way by_cache[] = {
    BY(cache_alloc), BY(cache_free), BY(cache_alloc_slow), BY(cache_free_slow),
    BY(cache_destroy),
};

/* These find the thread's entry of a descriptor, which is zero. */
static const struct way inlined[] = { BY(alloc), BY(give), BY(alloc_slow), BY(free_slow) };

static const char *misuse_by(struct misuse *misuse, const struct way *ways, size_t n)
{
    const char *wrong = NULL;

    cpool_set_error_handler(count_report, NULL);
    for (size_t i = 0; i < n && wrong == NULL; i++) {
        reports = 0;
        if (!ways[i].run(misuse) || reports != 1)
            wrong = ways[i].name;
    }
    cpool_set_error_handler(NULL, NULL);
    return wrong;
}

#define MISUSE_BY(misuse, ways) misuse_by(misuse, ways, sizeof(ways) / sizeof((ways)[0]))

const char *misuse_out_of_line(struct misuse *misuse)
{
    return MISUSE_BY(misuse, out_of_line);
}

const char *misuse_cache(struct misuse *misuse)
{
    return MISUSE_BY(misuse, by_cache);
}

const char *misuse_inline(struct misuse *misuse)
{
    return MISUSE_BY(misuse, inlined);
}
