/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mistakes.c - a user's program that makes one mistake, named by its argument, with a
 * plain pool, or after "typed" or "tracked" with such a one.  It knows nothing of checks.
 * Used by tests/scripts/check-mistakes.sh, which looks for the lines marked "mark".
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <cpool.h>
#include <cpool/sized.h>

struct job {
    char bytes[24];
};

CPOOL_DECLARE(jobs, struct job);
CPOOL_DEFINE(jobs, struct job, .capacity = 100);

static cpool_t *pool;
static void *volatile sink;

#define APART __attribute__((__noinline__)) static

APART char *take(void)
{
    sink = cpool_alloc(pool); /* mark: take */
    return sink;
}

APART void give(void *slot)
{
    cpool_free(pool, slot); /* mark: give */
    sink = slot;
}

APART void double_free(void)
{
    char *slot = take();

    give(slot);
    give(slot);
}

APART void overflow(void)
{
    char *slot = take();

    memset(slot, 'A', 26);
    give(slot);
}

APART void underflow(void)
{
    char *slot = take();

    slot[-1] = 'A';
    give(slot);
}

APART void write_after_free(void)
{
    char *volatile slot = take();

    give(slot);
    slot[5] = 'A';
    give(take());
}

APART void foreign(void)
{
    static char elsewhere[100];

    give(elsewhere);
}

APART void another_pools(void)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_t *other;

    config.name = "other";
    config.slot_size = 40;
    config.capacity = 10;
    if (cpool_create(&other, &config) == 0)
        give(cpool_alloc(other));
}

APART void inside(void)
{
    give(take() + 4);
}

APART void unused(void)
{
    give(take() + 50 * (cpool_index(pool, cpool_at(pool, 1)) == 1
                            ? (char *)cpool_at(pool, 1) - (char *)cpool_at(pool, 0)
                            : 0));
}

APART void leak(void)
{
    void *slots[3];

    if (cpool_alloc_bulk(pool, slots, 3, 0) != 3) /* mark: bulk */
        return;
    sink = cpool_alloc_uncached(pool); /* mark: depot */
    for (int i = 0; i < 7; i++)
        take();
}

APART void leak_and_destroy(void)
{
    leak();
    cpool_destroy(pool);
}

APART void stale_cache(void)
{
    cpool_cache_t *caches[2];

    if (cpool_cache_create(&caches[0], pool) != 0)
        return;
    cpool_cache_destroy(caches[0]);
    if (cpool_cache_create(&caches[1], pool) == 0)
        sink = cpool_cache_alloc(caches[0]);
}

APART void destroyed(void)
{
    take();
    cpool_destroy(pool);
    take();
}

APART void sized_double_free(void)
{
    cpool_sized_config_t config = CPOOL_SIZED_CONFIG_INIT;
    cpool_sized_t *blocks;
    void *block;

    if (cpool_sized_create(&blocks, &config) != 0)
        return;
    block = cpool_sized_alloc(blocks, 64);
    cpool_sized_free(blocks, block);
    cpool_sized_free(blocks, block);
}

APART void no_pool(void)
{
    pool = NULL;
    sink = cpool_alloc_uncached(pool);
}

static const struct {
    const char *name;
    void (*make)(void);
} mistakes[] = {
    { "double_free", double_free }, { "overflow", overflow },
    { "underflow", underflow },     { "write_after_free", write_after_free },
    { "foreign", foreign },         { "another_pools", another_pools },
    { "inside", inside },           { "unused", unused },
    { "leak", leak },               { "leak_and_destroy", leak_and_destroy },
    { "stale_cache", stale_cache },
    { "destroyed", destroyed },     { "no_pool", no_pool },
    { "sized_double_free", sized_double_free },
};

int main(int argc, char **argv)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;

    if (argc > 2 && strcmp(argv[2], "typed") == 0) {
        pool = jobs_pool();
    } else {
        config.name = "jobs";
        config.slot_size = sizeof(struct job);
        config.capacity = 100;
        if (argc > 2 && strcmp(argv[2], "tracked") == 0)
            config.flags = CPOOL_TRACKED;
        if (cpool_create(&pool, &config) != 0)
            return 1;
    }
    for (size_t i = 0; argc > 1 && i < sizeof mistakes / sizeof mistakes[0]; i++)
        if (strcmp(argv[1], mistakes[i].name) == 0)
            mistakes[i].make();
    puts("end");
    return 0;
}
