/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * module.c - a plug-in that uses a pool of its own.  check_dlopen loads and
 * unloads it.
 *
 * Includes the public API.  Built twice: linked with the shared library, and
 * with the library's objects inside.
 */
#include "module.h"

#include <string.h>

#include <cpool.h>

#include "figures.h"
#include "misuse.h"

enum { SLOT_SIZE = 48, CAPACITY = 1000, MEMORY = 1 << 20 };

static cpool_t *pool;

struct item {
    size_t number;
    char rest[40];
};

/* Of each plug-in its own, although the names are the same. */
CPOOL_DECLARE(items, struct item);
CPOOL_DEFINE(items, struct item, .capacity = CAPACITY);

/* The main program waits for it by its handle. */
CPOOL_DECLARE(turns, struct item);
CPOOL_DEFINE(turns, struct item, .capacity = 1);

void *module_turns(void)
{
    turns_free(turns_alloc());
    return turns_pool();
}

size_t module_typed(size_t count)
{
    struct item *held[CAPACITY];
    size_t got = 0;
    size_t sum = 0;

    while (got < count && (held[got] = items_alloc()) != NULL) {
        held[got]->number = got;
        got++;
    }
    for (size_t i = 0; i < got; i++) {
        sum += held[i]->number == i;
        items_free(held[i]);
    }
    return sum;
}

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
    struct figures figures;

    return figures_read(pool, &figures) ? figures.in_caches : 0;
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

const char *module_misuse(void *others, void *slot, void *cache)
{
    struct misuse misuse = { others, slot, cache };
    const char *wrong = misuse_out_of_line(&misuse);

    return wrong != NULL ? wrong : misuse_cache(&misuse);
}
