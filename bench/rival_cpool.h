/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_cpool.h - what the ways of calling libcpool share: making the pool.
 *
 * Included by rival_cpool.c, rival_cpool_cache.c and their like, which may define
 * RIVAL_FLAGS, flags that its pools have in any case, RIVAL_HAS_HANDLES, if it does not
 * go by the pool itself, and RIVAL_MAKES_POOLS, if it makes them in its own way.  How a
 * pool is made can be said on the command line, for experiments: KEY=VALUE,... where
 * a key is a member of cpool_config_t or `flags`, and its value is a number, or names
 * joined by plus signs.
 */
#ifndef BENCH_RIVAL_CPOOL_H
#define BENCH_RIVAL_CPOOL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cpool.h>

#include "../tests/harness/figures.h"
#include "bench.h"

static unsigned parse_flags(const char *text)
{
    static const struct {
        const char *name;
        unsigned flag;
    } names[] = { { "checked", CPOOL_CHECKED },
                  { "tracked", CPOOL_TRACKED },
                  { "huge_pages", CPOOL_HUGE_PAGES },
                  { "colour", CPOOL_COLOUR } };
    unsigned flags = 0;
    size_t length, i;

    for (; *text != '\0'; text += length + (text[length] == '+' ? 1 : 0)) {
        length = strcspn(text, "+");
        for (i = 0; i < sizeof names / sizeof names[0]; i++)
            if (strlen(names[i].name) == length && strncmp(text, names[i].name, length) == 0)
                break;
        flags |= i < sizeof names / sizeof names[0] ? names[i].flag
                                                    : (unsigned)strtoul(text, NULL, 0);
    }
    return flags;
}

static void set_member(cpool_config_t *config, const char *key, const char *value)
{
    static const struct {
        const char *name;
        size_t offset;
    } members[] = { { "slot_size", offsetof(cpool_config_t, slot_size) },
                    { "slot_align", offsetof(cpool_config_t, slot_align) },
                    { "slot_offset", offsetof(cpool_config_t, slot_offset) },
                    { "capacity", offsetof(cpool_config_t, capacity) },
                    { "max_capacity", offsetof(cpool_config_t, max_capacity) },
                    { "magazine_rounds", offsetof(cpool_config_t, magazine_rounds) },
                    { "cache_slots", offsetof(cpool_config_t, cache_slots) },
                    { "thread_caches", offsetof(cpool_config_t, thread_caches) } };
    size_t number = (size_t)strtoull(value, NULL, 0), i;

    if (strcmp(key, "flags") == 0) {
        config->flags = parse_flags(value);
        return;
    }
    for (i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (strcmp(key, members[i].name) == 0) {
            memcpy((char *)config + members[i].offset, &number, sizeof number);
            return;
        }
    }
    bench_fail("cpool_config_t has no member %s that could be set", key);
}

static inline void configure(cpool_config_t *config, const char *text)
{
    char key[32], value[64];
    size_t length;

    for (; *text != '\0'; text += length + (text[length] == ',' ? 1 : 0)) {
        length = strcspn(text, ",");
        if (sscanf(text, "%31[^=,]=%63[^,]", key, value) != 2)
            bench_fail("not KEY=VALUE: %s", text);
        set_member(config, key, value);
    }
}

#ifndef RIVAL_MAKES_POOLS

#ifndef RIVAL_FLAGS
#define RIVAL_FLAGS 0u
#endif

/* A pool with these flags, which grows up to max_capacity, or does not grow if that is
 * 0. */
static void *rival_create_with(const struct bench_cell *cell, unsigned flags,
                               size_t max_capacity)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_t *pool;
    int code;

    config.name = "bench";
    config.slot_size = cell->slot_size;
    config.capacity = cell->capacity;
    configure(&config, cell->config);
    config.flags |= flags;
    if (max_capacity != 0)
        config.max_capacity = max_capacity;
    code = cpool_create(&pool, &config);
    if (code != CPOOL_OK)
        bench_fail("cpool_create: %s", cpool_strerror(code));
    return pool;
}

static void *rival_create(const struct bench_cell *cell)
{
    return rival_create_with(cell, RIVAL_FLAGS, 0);
}

static void rival_destroy(void *pool)
{
    cpool_destroy((cpool_t *)pool);
}

#endif

static inline void rival_exchanges(void *pool, struct bench_exchanges *so_far)
{
    struct figures figures;

    if (!figures_read((const cpool_t *)pool, &figures))
        bench_fail("a figure is missing");
    so_far->exchanges = (double)figures.exchanges;
}

static inline const char *rival_version(void)
{
    return "libcpool " CPOOL_VERSION;
}

#ifndef RIVAL_HAS_HANDLES

static inline void *rival_alloc(void *handle)
{
    return cpool_alloc((cpool_t *)handle);
}

static inline void rival_free(void *handle, void *slot)
{
    cpool_free((cpool_t *)handle, slot);
}

#endif

#endif /* BENCH_RIVAL_CPOOL_H */
