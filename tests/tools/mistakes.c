/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mistakes.c - a wrong program, for a tool to complain of.
 *
 *   mistakes WAY MISTAKE...
 *
 * Each mistake is made with a slot that was obtained in one of several ways.  "none" is
 * no mistake.  check-tools.sh compiles it as a user would, and reads what
 * the tool says.
 */
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cpool.h>

/* A size that is no multiple of anything, so that the end of a slot counts. */
enum { SIZE = 45, CAPACITY = 64, FEW = 3 };

struct item {
    char bytes[SIZE];
};

CPOOL_DECLARE(items, struct item);
CPOOL_DEFINE(items, struct item, .capacity = CAPACITY);

static _Alignas(CPOOL_MEMORY_ALIGN) unsigned char memory[1 << 16];
static cpool_t *pool;
static cpool_cache_t *cache;
static const char *way;

static bool is(const char *name)
{
    return strcmp(way, name) == 0;
}

static void create(void)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;

    if (is("typed")) {
        pool = items_pool();
        return;
    }
    config.name = "mistaken";
    config.slot_size = SIZE;
    config.capacity = CAPACITY;
    if (is("checked"))
        config.flags = CPOOL_CHECKED;
    else if (is("unpoisoned"))
        config.flags = CPOOL_NO_POISON;
    if (is("memory")) {
        config.slot_size = SIZE + 3;
        config.thread_caches = 2;
        config.memory = memory;
        config.memory_size = sizeof memory;
    }
    if (cpool_create(&pool, &config) != CPOOL_OK ||
        (is("cache") && cpool_cache_create(&cache, pool) != CPOOL_OK))
        abort();
}

static char *take(void)
{
    void *slots[FEW];

    if (is("typed"))
        return (char *)items_alloc();
    if (is("cache"))
        return cpool_cache_alloc(cache);
    if (is("depot"))
        return cpool_alloc_uncached(pool);
    if (is("bulk")) {
        if (cpool_alloc_bulk(pool, slots, FEW, 0) != FEW)
            abort();
        cpool_free_bulk(pool, slots + 1, FEW - 1);
        return slots[0];
    }
    return cpool_alloc(pool);
}

static void give(char *slot)
{
    void *slots[1];

    slots[0] = slot;
    if (is("typed"))
        items_free((struct item *)slot);
    else if (is("cache"))
        cpool_cache_free(cache, slot);
    else if (is("depot"))
        cpool_free_uncached(pool, slot);
    else if (is("bulk"))
        cpool_free_bulk(pool, slots, 1);
    else
        cpool_free(pool, slot);
}

/* A decision that depends on the byte. */
static void decided_here(const volatile char *byte)
{
    if (*byte == 7)
        puts("seven");
}

static void (*volatile decide_by)(const volatile char *byte) = decided_here;

static void use(char *slot)
{
    memset(slot, 1, SIZE);
    decide_by(slot + SIZE - 1);
}

/* Frames of their own, for the reports. */
static char *took_here(void)
{
    return take();
}

static void gave_here(char *slot)
{
    give(slot);
}

static void wrote_here(volatile char *byte)
{
    *byte = 1;
}

static char *(*volatile made_here)(void) = took_here;
static void (*volatile freed_here)(char *slot) = gave_here;
static void (*volatile used_here)(volatile char *byte) = wrote_here;

static void make(const char *mistake, char *slot)
{
    if (strcmp(mistake, "none") == 0) {
        use(slot);
        freed_here(slot);
    } else if (strcmp(mistake, "after") == 0) {
        use(slot);
        freed_here(slot);
        used_here(slot + SIZE / 2);
    } else if (strcmp(mistake, "seen") == 0) {
        use(slot);
        freed_here(slot);
        decide_by(slot + SIZE / 2);
    } else if (strcmp(mistake, "twice") == 0) {
        use(slot);
        freed_here(slot);
        freed_here(slot);
    } else if (strcmp(mistake, "beyond") == 0) {
        used_here(slot + SIZE);
        freed_here(slot);
    } else if (strcmp(mistake, "before") == 0) {
        used_here(slot - 1);
        freed_here(slot);
    } else if (strcmp(mistake, "fresh") == 0) {
        used_here((char *)cpool_at(pool, CAPACITY - 1));
        freed_here(slot);
    } else if (strcmp(mistake, "unset") == 0) {
        decide_by(slot + SIZE / 2);
        freed_here(slot);
    } else if (strcmp(mistake, "stale") == 0) {
        use(slot);
        freed_here(slot);
        slot = made_here();
        decide_by(slot + SIZE / 2);
        freed_here(slot);
    } else {
        abort();
    }
}

static void make_it(const char *mistake)
{
    make(mistake, made_here());
}

static void (*volatile act)(const char *mistake) = make_it;

int main(int argc, char **argv)
{
    way = argc > 1 ? argv[1] : "plain";
    create();
    for (int i = 2; i < argc; i++)
        act(argv[i]);
    (void)cpool_destroy(pool);
    puts("done");
    return 0;
}
