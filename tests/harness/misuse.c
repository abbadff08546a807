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

#include <cpool/print.h>

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

#define REFUSED(name, call) \
    static bool name(struct misuse *m) \
    { \
        return call; \
    }

REFUSED(alloc_zeroed, cpool_calloc(m->pool) == NULL)
REFUSED(alloc_bulk, cpool_alloc_bulk(m->pool, (void *[10]){ NULL }, 10, 0) == 0)
REFUSED(free_bulk, (cpool_free_bulk(m->pool, &m->slot, 1), true))
REFUSED(depot_alloc, cpool_alloc_uncached(m->pool) == NULL)
REFUSED(depot_free, (cpool_free_uncached(m->pool, m->slot), true))
REFUSED(flush, (cpool_flush(m->pool), true))
REFUSED(reset, cpool_reset(m->pool) == 0)
REFUSED(grow, cpool_grow(m->pool, 1) == 0)
REFUSED(shrink, cpool_shrink(m->pool, 1) == 0)
REFUSED(trim, cpool_trim(m->pool) == 0)
REFUSED(reserve, cpool_reserve(m->pool, 1) == CPOOL_EPOOL)
REFUSED(alloc_wait, cpool_alloc_wait(m->pool, NULL) == NULL)
REFUSED(alloc_or_notify, cpool_alloc_or_notify(m->pool) == NULL)
REFUSED(set_ready, cpool_set_ready(m->pool, NULL, NULL) == CPOOL_EPOOL)
REFUSED(set_pressure,
        cpool_set_pressure(m->pool, (cpool_pressure_t){ 1, NULL, NULL }).slots == 0)
REFUSED(destroy, cpool_destroy(m->pool) == CPOOL_EPOOL)

static bool cache_create(struct misuse *m)
{
    cpool_cache_t *made = m->cache;

    return cpool_cache_create(&made, m->pool) == CPOOL_EPOOL && made == NULL;
}

static bool stats(struct misuse *m)
{
    cpool_stats_t figures = CPOOL_STATS_INIT;

    return cpool_read_stats(m->pool, &figures) == CPOOL_EPOOL && figures.capacity == 0;
}

/* The inline forms of two do not look whether a pointer was ever a pool's. */
REFUSED(print, (cpool_print(m->pool, CPOOL_DUMP_TEXT, stderr), true))
REFUSED(print_json, (cpool_print(m->pool, CPOOL_DUMP_JSON, stderr), true))
REFUSED(owns, !cpool_owns(m->pool, m->slot))
REFUSED(index_of, (cpool_index)(m->pool, m->slot) == SIZE_MAX)
REFUSED(at, (cpool_at)(m->pool, 0) == NULL)
REFUSED(span, cpool_span(m->pool, &(void *){ NULL }) == 0)
REFUSED(index_limit, cpool_index_limit(m->pool) == 0)

REFUSED(alloc, cpool_alloc(m->pool) == NULL)
REFUSED(give, (cpool_free(m->pool, m->slot), true))
REFUSED(alloc_slow, cpool_alloc_abi1(m->pool, entry_of(m->pool)) == NULL)
REFUSED(free_slow, (cpool_free_abi1(m->pool, m->slot, 0, entry_of(m->pool)), true))

REFUSED(cache_alloc, cpool_cache_alloc(m->cache) == NULL)
REFUSED(cache_free, (cpool_cache_free(m->cache, m->slot), true))
REFUSED(cache_alloc_slow, cpool_alloc_abi1((cpool_t *)m->cache, m->cache) == NULL)
REFUSED(cache_free_slow, (cpool_free_abi1((cpool_t *)m->cache, m->slot, 0, m->cache), true))
REFUSED(cache_flush, (cpool_cache_flush(m->cache), true))
REFUSED(cache_destroy, (cpool_cache_destroy(m->cache), true))

struct way {
    const char *name;
    bool (*run)(struct misuse *misuse);
};

#define BY(function) { #function, function }

/* These look at the handle themselves: they take or give slots, or change how many there are, */
static const struct way takes[] = {
    BY(alloc_bulk), BY(free_bulk), BY(depot_alloc), BY(depot_free),
    BY(cache_create), BY(flush), BY(reset), BY(grow), BY(shrink), BY(trim), BY(reserve),
    BY(alloc_wait), BY(alloc_or_notify), BY(set_ready), BY(set_pressure), BY(destroy),
};

/* or ask. */
static const struct way asks[] = {
    BY(stats), BY(print), BY(print_json), BY(owns), BY(index_of), BY(at), BY(index_limit), BY(span),
};

static const struct way by_cache[] = {
    BY(cache_alloc), BY(cache_free), BY(cache_alloc_slow), BY(cache_free_slow),
    BY(cache_flush), BY(cache_destroy),
};

/* These find the thread's entry of a descriptor, which is zero. */
static const struct way inlined[] = {
    BY(alloc), BY(alloc_zeroed), BY(give), BY(alloc_slow), BY(free_slow),
};

static const char *misuse_by(struct misuse *misuse, const struct way *ways, size_t n)
{
    const char *wrong = NULL;

    cpool_set_error_handler((cpool_error_handler_t){ count_report, NULL });
    for (size_t i = 0; i < n && wrong == NULL; i++) {
        reports = 0;
        if (!ways[i].run(misuse) || reports != 1)
            wrong = ways[i].name;
    }
    cpool_set_error_handler((cpool_error_handler_t){ NULL, NULL });
    return wrong;
}

#define MISUSE_BY(misuse, ways) misuse_by(misuse, ways, sizeof(ways) / sizeof((ways)[0]))

const char *misuse_takes(struct misuse *misuse)
{
    return MISUSE_BY(misuse, takes);
}

const char *misuse_out_of_line(struct misuse *misuse)
{
    const char *wrong = misuse_takes(misuse);

    return wrong != NULL ? wrong : MISUSE_BY(misuse, asks);
}

const char *misuse_cache(struct misuse *misuse)
{
    return MISUSE_BY(misuse, by_cache);
}

const char *misuse_inline(struct misuse *misuse)
{
    return MISUSE_BY(misuse, inlined);
}
