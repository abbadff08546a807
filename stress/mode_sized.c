/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_sized.c - blocks of many sizes, which move, change hands and come from a fallback.
 *
 * Includes worker.h.  A block's owner fills it with bytes derived from a key, and compares them
 * whenever it uses the block again, so that a block with two owners is found.  The classes are
 * small, and run dry.  The program's own fallback counts its blocks.  At the end nothing is live,
 * the figures say so, and every block of a class can be allocated once.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "worker.h"

#include <cpool/sized.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define SIZED_HELD 64
#define SIZED_PLACES 64

/* Sizes go beyond the largest class. */
#define SIZED_LARGEST 4096
#define SIZED_BEYOND 9000

struct sized_block {
    unsigned char *bytes; /* or NULL */
    size_t size;
    uint64_t key; /* of its bytes */
};

struct sized {
    cpool_sized_t *blocks;
    unsigned flags;
    _Atomic(struct sized_block *) board[SIZED_PLACES];
    _Atomic size_t fallback_live;
    _Atomic size_t fallback_total;
};

/* ---- Bytes --------------------------------------------------------------------- */

static unsigned char sized_byte(uint64_t key, size_t at)
{
    return (unsigned char)(random_mix(key + at / 8) >> at % 8 * 8);
}

static void sized_fill(struct sized_block *block, struct worker *worker)
{
    block->key = random_next(&worker->random);
    for (size_t i = 0; i < block->size; i++)
        block->bytes[i] = sized_byte(block->key, i);
}

static void sized_compare(const struct sized_block *block, size_t size, const char *moment)
{
    for (size_t i = 0; i < size; i++)
        if (block->bytes[i] != sized_byte(block->key, i))
            stress_fail("a block of %zu bytes at %p, %s: byte %zu is not as its owner left it",
                        block->size, (void *)block->bytes, moment, i);
}

/* ---- The fallback -------------------------------------------------------------- */

static void *sized_fall_back(size_t bytes, size_t align, void *context)
{
    struct sized *sized = context;
    void *block = NULL;

    if (posix_memalign(&block, align < sizeof(void *) ? sizeof(void *) : align, bytes) != 0)
        return NULL;
    sized->fallback_live++;
    sized->fallback_total++;
    return block;
}

static void sized_fall_free(void *block, size_t bytes, size_t align, void *context)
{
    struct sized *sized = context;

    (void)bytes;
    (void)align;
    STRESS_REQUIRE(sized->fallback_live-- > 0);
    free(block);
}

/* ---- Threads ------------------------------------------------------------------- */

static size_t sized_draw(struct worker *worker)
{
    size_t most = random_once_in(&worker->random, 16) ? SIZED_BEYOND
                  : random_once_in(&worker->random, 4) ? SIZED_LARGEST
                                                       : 200;

    return random_between(&worker->random, 1, most);
}

static void *sized_obtain(struct worker *worker, const struct sized *sized, size_t size)
{
    size_t align = (size_t)1 << random_below(&worker->random, 10);
    unsigned char *bytes;

    switch (random_below(&worker->random, 8)) {
    case 0:
        bytes = cpool_sized_alloc_aligned(sized->blocks, size, align);
        STRESS_REQUIRE((uintptr_t)bytes % align == 0);
        return bytes;
    case 1:
        bytes = cpool_sized_calloc(sized->blocks, 1, size);
        for (size_t i = 0; bytes != NULL && i < size; i++)
            STRESS_REQUIRE(bytes[i] == 0);
        return bytes;
    default:
        return cpool_sized_alloc(sized->blocks, size);
    }
}

static void sized_take(struct worker *worker, struct sized *sized, struct sized_block *block)
{
    size_t size = sized_draw(worker);

    block->bytes = sized_obtain(worker, sized, size);
    if (block->bytes == NULL) {
        STRESS_REQUIRE((sized->flags & CPOOL_SIZED_BOUNDED) != 0);
        worker->dry++;
        return;
    }
    block->size = size;
    STRESS_REQUIRE(cpool_sized_usable_size(sized->blocks, block->bytes) >= size);
    worker->operations++;
    sized_fill(block, worker);
}

static void sized_give(struct worker *worker, struct sized *sized, struct sized_block *block)
{
    sized_compare(block, block->size, "freed");
    cpool_sized_free(sized->blocks, block->bytes);
    block->bytes = NULL;
    worker->operations++;
}

static void sized_resize(struct worker *worker, struct sized *sized, struct sized_block *block)
{
    size_t size = sized_draw(worker);
    unsigned char *bytes = cpool_sized_realloc(sized->blocks, block->bytes, size);

    if (bytes == NULL) {
        STRESS_REQUIRE((sized->flags & CPOOL_SIZED_BOUNDED) != 0);
        sized_compare(block, block->size, "not moved");
        return;
    }
    block->bytes = bytes;
    sized_compare(block, size < block->size ? size : block->size, "moved");
    block->size = size;
    sized_fill(block, worker);
    worker->operations += 2;
}

/* Exchanges a block for one that another thread has left. */
static void sized_swap(struct worker *worker, struct sized *sized, struct sized_block *block)
{
    struct sized_block *mine = NULL;
    struct sized_block *theirs;

    if (block->bytes != NULL) {
        mine = malloc(sizeof *mine);
        STRESS_REQUIRE(mine != NULL);
        *mine = *block;
        block->bytes = NULL;
    }
    theirs = atomic_exchange_explicit(&sized->board[random_below(&worker->random, SIZED_PLACES)],
                                      mine, memory_order_acq_rel);
    if (theirs == NULL)
        return;
    *block = *theirs;
    free(theirs);
    sized_compare(block, block->size, "handed over");
}

static void sized_body(struct worker *worker)
{
    struct sized *sized = worker->context;
    struct sized_block *held = calloc(SIZED_HELD, sizeof *held);

    STRESS_REQUIRE(held != NULL);
    while (!episode_over(worker->episode)) {
        struct sized_block *block = &held[random_below(&worker->random, SIZED_HELD)];

        if (random_once_in(&worker->random, 8))
            sized_swap(worker, sized, block);
        else if (block->bytes == NULL)
            sized_take(worker, sized, block);
        else if (random_once_in(&worker->random, 4))
            sized_resize(worker, sized, block);
        else
            sized_give(worker, sized, block);
    }
    for (size_t i = 0; i < SIZED_HELD; i++)
        if (held[i].bytes != NULL)
            sized_give(worker, sized, &held[i]);
    free(held);
}

static void sized_meanwhile(struct episode *episode, void *context)
{
    struct sized *sized = context;
    cpool_sized_stats_t stats = CPOOL_SIZED_STATS_INIT;

    if (random_once_in(&episode->random, 2))
        cpool_sized_trim(sized->blocks);
    STRESS_REQUIRE(cpool_sized_read_stats(sized->blocks, &stats) == 0);
    STRESS_REQUIRE(stats.committed_bytes <= stats.reserved_bytes);
    sched_yield();
}

/* ---- The end ------------------------------------------------------------------- */

static void sized_clear(struct sized *sized)
{
    for (size_t i = 0; i < SIZED_PLACES; i++) {
        struct sized_block *block = sized->board[i];

        if (block == NULL)
            continue;
        sized_compare(block, block->size, "left over");
        cpool_sized_free(sized->blocks, block->bytes);
        free(block);
    }
}

/* As many blocks as the class may have, each once. */
static void sized_drain(const struct sized *sized, size_t number)
{
    cpool_sized_class_t class = CPOOL_SIZED_CLASS_INIT;
    cpool_stats_t stats = CPOOL_STATS_INIT;
    unsigned char **blocks;
    size_t had = 0;

    do
        STRESS_REQUIRE(cpool_sized_class_of(sized->blocks, class.block_size + 1, &class) == 0);
    while (number-- > 0);
    cpool_sized_free(sized->blocks, cpool_sized_alloc(sized->blocks, class.block_size));
    /* Now it has a pool. */
    STRESS_REQUIRE(cpool_sized_class_of(sized->blocks, class.block_size, &class) == 0);
    STRESS_REQUIRE(cpool_read_stats(class.pool, &stats) == 0);
    STRESS_REQUIRE(stats.live == 0);
    blocks = calloc(stats.max_capacity, sizeof *blocks);
    STRESS_REQUIRE(blocks != NULL);
    while (had < stats.max_capacity &&
           (blocks[had] = cpool_sized_alloc(sized->blocks, class.block_size)) != NULL) {
        STRESS_REQUIRE(cpool_owns(class.pool, blocks[had]));
        memcpy(blocks[had], &had, sizeof had);
        had++;
    }
    if (had != stats.max_capacity)
        stress_fail("%zu of %zu blocks of %zu bytes can be had", had, stats.max_capacity,
                    class.block_size);
    while (had-- > 0) {
        STRESS_REQUIRE(memcmp(blocks[had], &had, sizeof had) == 0);
        cpool_sized_free(sized->blocks, blocks[had]);
    }
    free(blocks);
}

static void sized_audit(struct sized *sized, uint64_t *random)
{
    cpool_sized_stats_t stats = CPOOL_SIZED_STATS_INIT;

    sized_clear(sized);
    STRESS_REQUIRE(cpool_sized_read_stats(sized->blocks, &stats) == 0);
    STRESS_REQUIRE(stats.live == 0 && stats.live_bytes == 0);
    STRESS_REQUIRE(stats.fallback_live == 0 && stats.fallback_bytes == 0);
    STRESS_REQUIRE(stats.fallback_total == sized->fallback_total && sized->fallback_live == 0);
    sized_drain(sized, random_below(random, stats.class_count));
    STRESS_REQUIRE(cpool_sized_read_stats(sized->blocks, &stats) == 0);
    STRESS_REQUIRE(stats.live == 0 && stats.fallback_total == sized->fallback_total);
    STRESS_REQUIRE(cpool_sized_destroy(sized->blocks) == 0);
}

static void sized_run(struct episode *episode)
{
    static const unsigned flags[] = {0, CPOOL_SIZED_BOUNDED};
    cpool_sized_config_t config = CPOOL_SIZED_CONFIG_INIT;
    cpool_sized_fallback_t fallback = {sizeof fallback, NULL, sized_fall_back, sized_fall_free,
                                       NULL};
    struct sized sized = {.blocks = NULL};
    uint64_t *random = &episode->random;
    int code;

    sized.flags = flags[random_below(random, sizeof flags / sizeof flags[0])];
    fallback.arg = &sized;
    config.name = "sized";
    config.max_size = SIZED_LARGEST;
    config.class_bytes = (size_t)4096 << random_below(random, 5);
    config.thread_caches = episode->threads + 1;
    config.flags = sized.flags | (random_once_in(random, 4) ? CPOOL_CHECKED : 0);
    config.fallback = (sized.flags & CPOOL_SIZED_BOUNDED) == 0 ? &fallback : NULL;
    code = cpool_sized_create(&sized.blocks, &config);
    if (code != 0)
        stress_fail("cpool_sized_create: %s", cpool_strerror(code));
    crew_run(episode, sized_body, &sized, sized_meanwhile);
    sized_audit(&sized, random);
}

const struct mode mode_sized = {
    .name = "sized",
    .purpose = "blocks of many sizes, resized and handed over, with a fallback",
    .run = sized_run,
};
