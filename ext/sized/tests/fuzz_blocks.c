/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_blocks.c - blocks of many sizes, with their bytes and their fallback against a model.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include <cpool/pools.h>
#include <cpool/sized.h>

#include "random.h"

enum { MOST = 200, SIZES = 12 };

struct block {
    unsigned char *bytes;
    size_t size; /* as asked for, at least 1 */
    uint32_t seed;
};

static struct {
    cpool_sized_t *pools; /* NULL: none */
    cpool_sized_config_t config;
    size_t sizes[SIZES];
    bool tracked;
    bool own_fallback;
    bool refuses; /* the fallback, at the next call */
    size_t foreign; /* blocks of the fallback that are live */
    size_t foreign_bytes;
    uint32_t next_seed;
    size_t n_held;
    struct block held[MOST];
} blocks;

/*
 * ---- The fallback ------------------------------------------------------------
 */

static void *fallback_alloc(size_t bytes, size_t align, void *context)
{
    FUZZ_REQUIRE(context == &blocks && align != 0 && (align & (align - 1)) == 0);
    if (blocks.refuses) {
        blocks.refuses = false;
        return NULL;
    }
    blocks.foreign++;
    blocks.foreign_bytes += bytes;
    return aligned_alloc(align, (bytes + align - 1) & ~(align - 1));
}

static void fallback_free(void *block, size_t bytes, size_t align, void *context)
{
    FUZZ_REQUIRE(context == &blocks && (uintptr_t)block % align == 0);
    FUZZ_REQUIRE(blocks.foreign > 0 && blocks.foreign_bytes >= bytes);
    blocks.foreign--;
    blocks.foreign_bytes -= bytes;
    free(block);
}

/*
 * ---- The model ---------------------------------------------------------------
 */

static void write_bytes(struct block *block, size_t from)
{
    uint64_t mixed = random_mix(block->seed);

    for (size_t i = from; i < block->size; i++)
        block->bytes[i] = (unsigned char)(mixed + i * 37);
}

static void verify_bytes(const unsigned char *bytes, uint32_t seed, size_t size)
{
    uint64_t mixed = random_mix(seed);

    for (size_t i = 0; i < size; i++)
        FUZZ_EQUAL(bytes[i], (unsigned char)(mixed + i * 37));
}

static bool bounded(void)
{
    return (blocks.config.flags & CPOOL_SIZED_BOUNDED) != 0;
}

static cpool_sized_class_t class_at(size_t number)
{
    cpool_sized_class_t class = CPOOL_SIZED_CLASS_INIT;

    do
        FUZZ_EQUAL(cpool_sized_class_of(blocks.pools, class.block_size + 1, &class), 0);
    while (number-- > 0);
    return class;
}

static bool is_in_class(const void *block)
{
    return cpool_of(block, NULL) != NULL;
}

static cpool_sized_stats_t figures(void)
{
    cpool_sized_stats_t stats = CPOOL_SIZED_STATS_INIT;

    FUZZ_EQUAL(cpool_sized_read_stats(blocks.pools, &stats), 0);
    return stats;
}

/* The class that has to serve a request, or their number if no class has to. */
static size_t must_serve(size_t size, size_t align)
{
    size_t classes = figures().class_count;
    size_t number = 0;
    cpool_stats_t stats = CPOOL_STATS_INIT;

    while (number < classes && (class_at(number).block_size < size ||
                                class_at(number).block_size % align != 0))
        number++;
    if (number == classes)
        return classes;
    if (class_at(number).pool == NULL) /* its first block makes it */
        return number;
    FUZZ_EQUAL(cpool_read_stats(class_at(number).pool, &stats), 0);
    return stats.live < stats.capacity ? number : classes;
}

static void verify(void)
{
    cpool_sized_stats_t stats = figures();
    size_t in_classes = 0;
    size_t bytes = 0;

    for (size_t i = 0; i < blocks.n_held; i++) {
        const struct block *block = &blocks.held[i];

        verify_bytes(block->bytes, block->seed, block->size);
        if (!is_in_class(block->bytes))
            continue;
        in_classes++;
        bytes += cpool_sized_usable_size(blocks.pools, block->bytes);
    }
    FUZZ_EQUAL(stats.live, in_classes);
    FUZZ_EQUAL(stats.live_bytes, bytes);
    FUZZ_EQUAL(stats.fallback_live, blocks.n_held - in_classes);
    FUZZ_REQUIRE(!bounded() || stats.fallback_total == 0);
    FUZZ_REQUIRE(stats.committed_bytes <= stats.reserved_bytes);
    if (blocks.own_fallback)
        FUZZ_EQUAL(blocks.foreign, stats.fallback_live);
    REPORTS_EQUAL(0, 0);
}

/* Alignment that every block of this size has: that of its class, or malloc's. */
static void verify_place(const struct block *block, size_t align, size_t server)
{
    size_t usable = cpool_sized_usable_size(blocks.pools, block->bytes);

    FUZZ_REQUIRE(usable >= block->size);
    FUZZ_EQUAL((uintptr_t)block->bytes % align, 0);
    FUZZ_EQUAL((uintptr_t)block->bytes % CPOOL_SIZED_GRAIN, 0);
    if (server == figures().class_count)
        return;
    FUZZ_REQUIRE(is_in_class(block->bytes));
    FUZZ_EQUAL(usable, class_at(server).block_size);
}

/*
 * ---- Calls -------------------------------------------------------------------
 */

static size_t some_size(void)
{
    return input_below(6) == 0 ? input_number(9000) : input_below(250);
}

static void alloc(void)
{
    struct block *block = &blocks.held[blocks.n_held];
    size_t form = input_below(4);
    size_t align = form == 1 ? (size_t)1 << input_below(9) : 1;
    size_t size = some_size();
    size_t server = must_serve(size, align);
    bool refuses = blocks.refuses;

    fuzz_trace("block of bytes", size);
    if (blocks.n_held == MOST)
        return;
    if (form == 0)
        block->bytes = cpool_sized_calloc(blocks.pools, size / 3, 3);
    else if (form == 1)
        block->bytes = cpool_sized_alloc_aligned(blocks.pools, size, align);
    else if (form == 2)
        block->bytes = cpool_sized_realloc(blocks.pools, NULL, size);
    else
        block->bytes = cpool_sized_alloc(blocks.pools, size);
    if (block->bytes == NULL) {
        FUZZ_REQUIRE(bounded() || (refuses && !blocks.refuses));
        FUZZ_EQUAL(server == figures().class_count || form == 0, true);
        return;
    }
    if (form == 0) {
        size = size / 3 * 3;
        server = figures().class_count;
        for (size_t i = 0; i < size; i++)
            FUZZ_EQUAL(block->bytes[i], 0);
    }
    block->size = size != 0 ? size : 1;
    block->seed = ++blocks.next_seed;
    blocks.n_held++;
    verify_place(block, align, server);
    write_bytes(block, 0);
}

static void free_block(void)
{
    struct block *block;
    unsigned char *bytes;

    if (blocks.n_held == 0)
        return;
    block = &blocks.held[input_below(blocks.n_held)];
    bytes = block->bytes;
    verify_bytes(bytes, block->seed, block->size);
    *block = blocks.held[--blocks.n_held];
    bool in_class = is_in_class(bytes);
    cpool_sized_free(blocks.pools, bytes);
    REPORTS_EQUAL(0, 0);
    if (!in_class || !blocks.tracked || input_below(4) != 0)
        return;
    cpool_sized_free(blocks.pools, bytes);
    REPORTS_EQUAL(1, CPOOL_EDOUBLEFREE);
}

static void resize(void)
{
    struct block *block;
    unsigned char *moved;
    size_t size = some_size();
    size_t wanted = size != 0 ? size : 1;
    size_t usable;
    bool stays;

    if (blocks.n_held == 0)
        return;
    block = &blocks.held[input_below(blocks.n_held)];
    usable = cpool_sized_usable_size(blocks.pools, block->bytes);
    stays = is_in_class(block->bytes) && wanted <= usable &&
            usable <= 2 * wanted;
    fuzz_trace("resize to bytes", size);
    moved = cpool_sized_realloc(blocks.pools, block->bytes, size);
    if (moved == NULL) {
        FUZZ_REQUIRE(!stays && (bounded() || blocks.own_fallback));
        return;
    }
    FUZZ_REQUIRE(moved == block->bytes || !stays);
    verify_bytes(moved, block->seed, wanted < block->size ? wanted : block->size);
    block->bytes = moved;
    block->size = wanted;
    verify_place(block, 1, figures().class_count);
    write_bytes(block, 0);
}

static void misuse(void)
{
    static union {
        max_align_t align;
        unsigned char bytes[256];
    } none;
    unsigned char *address = none.bytes + 128 + input_below(64);
    size_t most = class_at(figures().class_count - 1).block_size;

    cpool_sized_free(blocks.pools, address);
    FUZZ_EQUAL(cpool_sized_usable_size(blocks.pools, address), 0);
    FUZZ_REQUIRE(cpool_sized_realloc(blocks.pools, address, 10) == NULL);
    REPORTS_EQUAL(3, CPOOL_EFOREIGN);
    FUZZ_REQUIRE(cpool_sized_alloc_aligned(blocks.pools, 8, 3 * (1 + input_below(9))) == NULL);
    REPORTS_EQUAL(1, CPOOL_EALIGN);
    FUZZ_REQUIRE(cpool_sized_calloc(blocks.pools, SIZE_MAX / 2, 3) == NULL);
    FUZZ_EQUAL(cpool_sized_class_of(blocks.pools, most + 1 + input_below(3), &(cpool_sized_class_t)
               CPOOL_SIZED_CLASS_INIT), CPOOL_ESLOTSIZE);
    cpool_sized_free(blocks.pools, NULL);
    FUZZ_EQUAL(cpool_sized_usable_size(blocks.pools, NULL), 0);
    for (size_t i = 0; i < blocks.n_held; i++) {
        unsigned char *inside = blocks.held[i].bytes + 1;

        if (!is_in_class(blocks.held[i].bytes))
            continue;
        cpool_sized_free(blocks.pools, inside);
        REPORTS_EQUAL(1, CPOOL_EMISALIGNED);
        return;
    }
}

/*
 * ---- Their beginning and end ---------------------------------------------------
 */

static void choose(void)
{
    static const unsigned flags[] = {0, 0, CPOOL_CHECKED, CPOOL_TRACKED};
    static const cpool_sized_fallback_t fallback = {sizeof fallback, &blocks, fallback_alloc,
                                                    fallback_free, NULL};
    cpool_sized_config_t *config = &blocks.config;
    size_t size = 0;

    memset(&blocks, 0, sizeof blocks);
    *config = (cpool_sized_config_t)CPOOL_SIZED_CONFIG_INIT;
    config->flags = (unsigned)input_below(4) / 2 * CPOOL_SIZED_BOUNDED;
    config->flags |= flags[input_below(4)];
    config->class_bytes = 1 + input_number(4000);
    config->max_size = input_below(2) == 0 ? 0 : 128 + input_number(2000);
    if (input_below(2) == 0) {
        config->max_size = 0;
        config->class_count = 1 + input_below(SIZES);
        config->classes = blocks.sizes;
        for (size_t i = 0; i < config->class_count; i++)
            blocks.sizes[i] = size += CPOOL_SIZED_GRAIN * (1 + input_below(20));
    }
    blocks.own_fallback = input_below(2) == 0 && !bounded();
    if (blocks.own_fallback)
        config->fallback = &fallback;
    blocks.tracked = (config->flags & ~CPOOL_SIZED_BOUNDED) != 0;
}

static void make(void)
{
    cpool_sized_t *pools = (cpool_sized_t *)(void *)&blocks;
    int code;

    choose();
    if (input_below(8) == 0) {
        blocks.config.classes = blocks.sizes;
        blocks.config.class_count = 2;
        blocks.sizes[0] = 8 + input_below(100);
        blocks.sizes[1] = 8 + input_below(8);
        code = cpool_sized_create(&pools, &blocks.config);
        FUZZ_REQUIRE(code == CPOOL_ESLOTSIZE ||
                     (code == 0 && blocks.sizes[0] == 8 && blocks.sizes[1] % 8 == 0));
        FUZZ_EQUAL(pools != NULL, code == 0);
        FUZZ_EQUAL(cpool_sized_destroy(pools), 0);
        return;
    }
    code = cpool_sized_create(&pools, &blocks.config);
    fuzz_trace("sized pools, flags", blocks.config.flags);
    FUZZ_EQUAL(code, 0);
    blocks.pools = pools;
    verify();
}

void blocks_end(void)
{
    size_t live;

    if (blocks.pools == NULL)
        return;
    while (blocks.n_held > 3 || (blocks.n_held > 0 && !is_in_class(
                                     blocks.held[blocks.n_held - 1].bytes)))
        cpool_sized_free(blocks.pools, blocks.held[--blocks.n_held].bytes);
    for (live = 0; blocks.n_held > 0; live++)
        if (!is_in_class(blocks.held[--blocks.n_held].bytes))
            cpool_sized_free(blocks.pools, blocks.held[blocks.n_held].bytes), live--;
    FUZZ_EQUAL(figures().fallback_live, 0);
    FUZZ_EQUAL(cpool_sized_destroy(blocks.pools), live == 0 ? 0 : CPOOL_ELIVE);
    REPORTS_EQUAL(0, 0);
    blocks.pools = NULL;
}

void blocks_any(void)
{
    size_t steps = 1 + input_below(24);

    if (blocks.pools == NULL) {
        make();
        return;
    }
    for (; steps > 0 && input_left(); steps--) {
        size_t what = input_below(16);

        fuzz_trace("blocks", what);
        switch (what) {
        case 0: misuse(); break;
        case 1: cpool_sized_trim(blocks.pools); break;
        case 2: blocks.refuses = blocks.own_fallback; break;
        case 3:
        case 4: resize(); break;
        case 5:
        case 6:
        case 7:
        case 8:
        case 9: free_block(); break;
        default: alloc(); break;
        }
        verify();
    }
    if (input_below(12) == 0)
        blocks_end();
}
