/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * module.c - a plug-in that uses a pool of its own.  check_dlopen loads and
 * unloads it.
 *
 * Includes the public API.  Built twice: linked with the shared library, and
 * with the library's objects inside.
 */
#include "module.h"

#include <stdio.h>
#include <string.h>

#include <cpool.h>

enum { SLOT_SIZE = 48, CAPACITY = 1000, MEMORY = 1 << 20 };

static cpool_t *pool;

int module_open_kind(unsigned flags, bool own)
{
    static _Alignas(CPOOL_MEMORY_ALIGN) char memory[MEMORY];
    cpool_config_t config = CPOOL_CONFIG_INIT;

    config.name = "module";
    config.slot_size = SLOT_SIZE;
    config.capacity = CAPACITY;
    config.flags = flags;
    config.memory = own ? memory : NULL;
    config.memory_size = own ? sizeof(memory) : 0;
    return cpool_create(&pool, &config);
}

int module_open(void)
{
    return module_open_kind(0, false);
}

size_t module_work(size_t count)
{
    void *slots[CAPACITY];
    size_t got = 0;

    while (got < count && got < CAPACITY && (slots[got] = cpool_alloc(pool)) != NULL) {
        memset(slots[got], (int)got, SLOT_SIZE);
        got++;
    }
    for (size_t i = 0; i < got; i++)
        cpool_free(pool, slots[i]);
    return got;
}

size_t module_cached(void)
{
    cpool_stats_t stats = CPOOL_STATS_INIT;

    return cpool_stats(pool, &stats) == 0 ? stats.in_caches : 0;
}

int module_close(void)
{
    return cpool_destroy(pool);
}

void *module_pool(void)
{
    return pool;
}

void *module_slot(void)
{
    return cpool_alloc(pool);
}

void *module_cache(void)
{
    cpool_cache_t *cache = NULL;

    return cpool_cache_create(&cache, pool) == 0 ? cache : NULL;
}

void module_end(void *slot, void *cache)
{
    cpool_cache_destroy(cache);
    cpool_free(pool, slot);
}

/*
 * ---- Misuse --------------------------------------------------------------
 */

static size_t reports;

static void count_report(const cpool_error_t *error, void *context)
{
    (void)context;
    reports += error->code == CPOOL_EPOOL;
}

struct misuse {
    cpool_t *pool;
    void *slot;
    cpool_cache_t *cache;
};

static bool no_help(void *unused)
{
    (void)unused;
    return false;
}

/* Each is true if the result tells of a refusal. */

static bool alloc(struct misuse *m)
{
    return cpool_alloc(m->pool) == NULL;
}

static bool give(struct misuse *m)
{
    cpool_free(m->pool, m->slot);
    return true;
}

static bool alloc_slow(struct misuse *m)
{
    return cpool_alloc_slow(m->pool) == NULL;
}

static bool free_slow(struct misuse *m)
{
    cpool_free_slow(m->pool, m->slot);
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

static bool alloc_bulk_all(struct misuse *m)
{
    void *slots[10];

    return cpool_alloc_bulk_all(m->pool, slots, 10) == CPOOL_EPOOL;
}

static bool free_bulk(struct misuse *m)
{
    cpool_free_bulk(m->pool, &m->slot, 1);
    return true;
}

static bool draw(struct misuse *m)
{
    cpool_ticket_t ticket = CPOOL_TICKET_INIT;
    void *slots[10];

    return cpool_ticket_draw(&ticket, m->pool, slots, 10) == CPOOL_EPOOL && ticket.left == 0;
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

static bool cache_alloc(struct misuse *m)
{
    return cpool_cache_alloc_slow(m->cache) == NULL;
}

static bool cache_free(struct misuse *m)
{
    cpool_cache_free_slow(m->cache, m->slot);
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

static bool alloc_or_help(struct misuse *m)
{
    return cpool_alloc_or_help(m->pool, no_help, NULL) == NULL;
}

static bool stats(struct misuse *m)
{
    cpool_stats_t figures = CPOOL_STATS_INIT;

    return cpool_stats(m->pool, &figures) == CPOOL_EPOOL && figures.capacity == 0;
}

static bool print(struct misuse *m)
{
    cpool_print(m->pool, stderr);
    return true;
}

static bool print_json(struct misuse *m)
{
    cpool_print_json(m->pool, stderr);
    return true;
}

static bool destroy(struct misuse *m)
{
    return cpool_destroy(m->pool) == CPOOL_EPOOL;
}

#define BY(function) { #function, function }

static const struct {
    const char *name;
    bool (*run)(struct misuse *misuse);
} misuses[] = {
    /* Both inline, and the first two to be called. */
    BY(alloc), BY(give),
    BY(alloc_slow), BY(free_slow), BY(alloc_zeroed), BY(alloc_bulk), BY(alloc_bulk_all),
    BY(free_bulk), BY(draw), BY(depot_alloc), BY(depot_free), BY(cache), BY(cache_create),
    BY(cache_alloc), BY(cache_free), BY(cache_destroy), BY(flush), BY(reset), BY(grow),
    BY(shrink), BY(trim), BY(reserve), BY(alloc_wait), BY(alloc_or_help), BY(stats), BY(print),
    BY(print_json), BY(destroy),
};

static size_t offset_of(const void *any)
{
    return ((const struct cpool_prefix *)any)->table_offset;
}

const char *module_misuse(void *others, void *slot, void *others_cache)
{
    struct misuse misuse = { others, slot, others_cache };
    const char *wrong = NULL;

    cpool_set_error_handler(count_report, NULL);
    /* By chance the two pools may have the same entry, which only the inline path
     * does not notice. */
    for (size_t i = offset_of(others) == offset_of(pool) ? 2 : 0;
         i < sizeof(misuses) / sizeof(misuses[0]) && wrong == NULL; i++) {
        reports = 0;
        if (!misuses[i].run(&misuse) || reports != 1)
            wrong = misuses[i].name;
    }
    cpool_set_error_handler(NULL, NULL);
    return wrong;
}
