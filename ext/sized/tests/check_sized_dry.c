/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_sized_dry.c - blocks of many sizes while their class is dry: the fallback, and the figures
 * that tell so.
 *
 * Includes the public API only.
 */
#include "sized.h"

#include <stdlib.h>
#include <string.h>

#include <cpool/pools.h>

/* A fallback that counts, and fails or keeps what is freed when told to. */
struct counting {
    size_t live;
    size_t bytes;
    size_t largest; /* bytes asked for at once */
    bool fails;
    bool keeps;
    void *last; /* that it handed out */
};

static void *counting_alloc(size_t bytes, size_t align, void *context)
{
    struct counting *counting = context;
    void *block;

    if (bytes > counting->largest)
        counting->largest = bytes;
    if (counting->fails || posix_memalign(&block, align, bytes) != 0)
        return NULL;
    counting->live++;
    counting->bytes += bytes;
    counting->last = block;
    return block;
}

static void counting_free(void *block, size_t bytes, size_t align, void *context)
{
    struct counting *counting = context;

    REQUIRE(align >= _Alignof(max_align_t) && (uintptr_t)block % align == 0);
    counting->live--;
    counting->bytes -= bytes;
    if (!counting->keeps)
        free(block);
}

static cpool_sized_t *create_counting(struct counting *counting, unsigned flags)
{
    static const size_t sizes[] = { 64, 128, 192, 256 };
    cpool_sized_fallback_t fallback = { sizeof fallback, counting, counting_alloc,
                                        counting_free, NULL };
    cpool_sized_config_t config = small_config();

    memset(counting, 0, sizeof *counting);
    config.classes = sizes;
    config.class_count = 4;
    config.class_bytes = 6400;
    config.flags = flags;
    if ((flags & CPOOL_SIZED_BOUNDED) == 0)
        config.fallback = &fallback;
    return create(&config);
}

/* Takes all blocks that can be had, up to `most`. */
static size_t take(cpool_sized_t *blocks, size_t size, void **held, size_t most)
{
    size_t count = 0;

    while (count < most && (held[count] = cpool_sized_alloc(blocks, size)) != NULL)
        count++;
    return count;
}

enum { FIRST = 6400 / 64, SECOND = 6400 / 128 };

TEST_TIMES(alloc_from_dry_class_goes_where_creation_said, 2)
{
    bool bounded = _i != 0;
    struct counting counting;
    cpool_sized_t *blocks = create_counting(&counting, bounded ? CPOOL_SIZED_BOUNDED : 0);
    void *held[1000];
    size_t count = take(blocks, 60, held, 1000);

    REQUIRE_EQUAL(count, bounded ? FIRST : 1000);
    REQUIRE_EQUAL(stats_of(blocks).live, FIRST);
    REQUIRE_EQUAL(counting.live, count - FIRST);
    REQUIRE_EQUAL(stats_of(blocks).fallback_live, counting.live);
    REQUIRE_EQUAL(stats_of(blocks).fallback_bytes, counting.bytes);
    REQUIRE_EQUAL(class_at(blocks, 0).dry, count - FIRST + (bounded ? 1 : 0));
    REQUIRE_EQUAL(class_at(blocks, 1).dry, 0);
    for (size_t i = 0; i < count; i++)
        cpool_sized_free(blocks, held[i]);
    REQUIRE_EQUAL(counting.live, 0);
    REQUIRE_EQUAL(counting.bytes, 0);
    destroy_empty(blocks);
}

TEST(alloc_aligned_from_dry_class_stays_aligned)
{
    struct counting counting;
    cpool_sized_t *blocks = create_counting(&counting, 0);
    void *held[SECOND + 1];

    for (size_t i = 0; i <= SECOND; i++) {
        held[i] = cpool_sized_alloc_aligned(blocks, 100, 128);
        REQUIRE((uintptr_t)held[i] % 128 == 0);
    }
    REQUIRE_EQUAL(counting.live, 1);
    for (size_t i = 0; i <= SECOND; i++)
        cpool_sized_free(blocks, held[i]);
    destroy_empty(blocks);
}

TEST(fallback_that_fails_changes_nothing)
{
    struct counting counting;
    cpool_sized_t *blocks = create_counting(&counting, 0);
    unsigned char *block = cpool_sized_alloc(blocks, 1000);

    fill_pattern(block, 1000);
    counting.fails = true;
    REQUIRE(cpool_sized_alloc(blocks, 1000) == NULL);
    REQUIRE(cpool_sized_realloc(blocks, block, 2000) == NULL);
    require_pattern(block, 1000);
    counting.fails = false;
    block = cpool_sized_realloc(blocks, block, 2000);
    require_pattern(block, 1000);
    REQUIRE_EQUAL(counting.live, 1);
    REQUIRE_EQUAL(stats_of(blocks).fallback_total, 2);
    REQUIRE_EQUAL(cpool_sized_destroy(blocks), CPOOL_ELIVE);
    free(counting.last);
}

/* Rounded up to a multiple of the alignment, such a size is 0. */
TEST(fallback_is_not_asked_for_what_no_object_has)
{
    volatile size_t most = SIZE_MAX - 64; /* so that compilers say nothing about it */
    struct counting counting;
    cpool_sized_t *blocks = create_counting(&counting, 0);
    void *block = cpool_sized_alloc(blocks, 1000);

    counting.fails = true;
    counting.largest = 0;
    for (size_t align = 8; align <= SIZE_MAX / 2 + 1 && align != 0; align *= 2)
        for (size_t less = 0; less <= 4096; less += 64) {
            REQUIRE(cpool_sized_alloc_aligned(blocks, SIZE_MAX - less, align) == NULL);
            REQUIRE(cpool_sized_alloc_aligned(blocks, PTRDIFF_MAX - less, align) == NULL);
        }
    REQUIRE(cpool_sized_alloc(blocks, SIZE_MAX - 64) == NULL);
    REQUIRE(cpool_sized_calloc(blocks, most, 1) == NULL);
    REQUIRE(cpool_sized_realloc(blocks, block, SIZE_MAX - 64) == NULL);
    REQUIRE(counting.largest > 0 && counting.largest <= PTRDIFF_MAX);
    cpool_sized_free(blocks, block);
    destroy_empty(blocks);
}

TEST(double_free_of_a_kept_block_reported)
{
    struct counting counting;
    cpool_sized_t *blocks = create_counting(&counting, 0);
    void *block = cpool_sized_alloc(blocks, 1000);

    counting.keeps = true;
    cpool_sized_free(blocks, block);
    support_capture_reports();
    cpool_sized_free(blocks, block);
    REQUIRE_REPORT(CPOOL_EFOREIGN);
    REQUIRE_EQUAL(cpool_sized_usable_size(blocks, block), 0);
    REQUIRE_REPORT(CPOOL_EFOREIGN);
    support_release_reports();
    REQUIRE_EQUAL(counting.live, 0);
    free(counting.last);
    destroy_empty(blocks);
}

TEST(realloc_leaves_the_fallback_and_comes_back)
{
    struct counting counting;
    cpool_sized_t *blocks = create_counting(&counting, 0);
    unsigned char *block = cpool_sized_alloc(blocks, 1000);

    fill_pattern(block, 1000);
    block = cpool_sized_realloc(blocks, block, 100);
    require_pattern(block, 100);
    REQUIRE(is_in_class(block));
    REQUIRE_EQUAL(counting.live, 0);
    REQUIRE_EQUAL(class_at(blocks, 1).dry, 0);
    block = cpool_sized_realloc(blocks, block, 257);
    require_pattern(block, 100);
    REQUIRE(!is_in_class(block));
    REQUIRE_EQUAL(stats_of(blocks).live, 0);
    cpool_sized_free(blocks, block);
    REQUIRE_EQUAL(counting.bytes, 0);
    destroy_empty(blocks);
}

/* With an alignment that no class has, too. */
TEST(alloc_of_no_bytes_has_one)
{
    struct counting counting;
    cpool_sized_t *blocks = create_counting(&counting, 0);

    for (size_t align = 1; align <= MIB; align *= 2) {
        char *block = cpool_sized_alloc_aligned(blocks, 0, align);

        REQUIRE(block != NULL && (uintptr_t)block % align == 0);
        REQUIRE(cpool_sized_usable_size(blocks, block) > 0);
        REQUIRE_EQUAL(is_in_class(block), align <= 256);
        block[0] = 1;
        cpool_sized_free(blocks, block);
    }
    destroy_empty(blocks);
}

static void *pooled_alloc(size_t bytes, size_t align, void *context)
{
    return bytes <= 2048 && align <= 2048 ? cpool_alloc(context) : NULL;
}

static void pooled_free(void *block, size_t bytes, size_t align, void *context)
{
    (void)bytes;
    (void)align;
    cpool_free(context, block);
}

TEST(fallback_may_be_a_pool)
{
    cpool_sized_fallback_t fallback = { sizeof fallback, NULL, pooled_alloc, pooled_free, NULL };
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_sized_config_t sized_config = small_config();
    cpool_sized_t *blocks;
    cpool_t *pool;
    void *block;

    config.slot_size = 2048;
    config.capacity = 10;
    REQUIRE_EQUAL(cpool_create(&pool, &config), 0);
    fallback.arg = pool;
    sized_config.max_size = 1024;
    sized_config.fallback = &fallback;
    blocks = create(&sized_config);
    block = cpool_sized_alloc(blocks, 1500);
    REQUIRE(block != NULL && cpool_of(block, NULL) == pool);
    REQUIRE_EQUAL(cpool_sized_usable_size(blocks, block), 1500);
    cpool_sized_free(blocks, block);
    destroy_empty(blocks);
    REQUIRE_EQUAL(cpool_destroy(pool), 0);
}

/* Exhausts the class of 64 bytes, takes one block more, and one that no class has. */
static void take_all_kinds(cpool_sized_t *blocks, void *taken[102])
{
    for (size_t i = 0; i < 101; i++) {
        taken[i] = cpool_sized_alloc(blocks, 64);
        REQUIRE(taken[i] != NULL);
    }
    taken[101] = cpool_sized_alloc(blocks, 1000);
    REQUIRE(taken[101] != NULL);
}

TEST(figures_tell_what_is_live_and_fallen_back)
{
    cpool_sized_class_t next = CPOOL_SIZED_CLASS_INIT;
    cpool_sized_class_t dry = CPOOL_SIZED_CLASS_INIT;
    struct counting counting;
    cpool_sized_t *blocks = create_counting(&counting, 0);
    void *taken[102];
    cpool_sized_stats_t stats;

    take_all_kinds(blocks, taken);
    stats = stats_of(blocks);
    REQUIRE_EQUAL(stats.class_count, 4);
    REQUIRE_EQUAL(stats.live, 100);
    REQUIRE_EQUAL(stats.live_bytes, 100 * 64);
    REQUIRE(stats.committed_bytes > 0 && stats.committed_bytes <= stats.reserved_bytes);
    REQUIRE_EQUAL(stats.dry, 1);
    REQUIRE_EQUAL(stats.fallback_live, 2);
    REQUIRE_EQUAL(stats.fallback_bytes, counting.bytes);
    REQUIRE_EQUAL(stats.fallback_total, 2);
    REQUIRE_EQUAL(cpool_sized_class_of(blocks, 0, &dry), 0);
    REQUIRE(dry.block_size == 64 && dry.dry == 1);
    REQUIRE_EQUAL(cpool_sized_class_of(blocks, 65, &next), 0);
    REQUIRE(next.block_size == 128 && next.dry == 0);
    REQUIRE_EQUAL(cpool_sized_class_of(blocks, 257, &dry), CPOOL_ESLOTSIZE);
    REQUIRE_EQUAL(cpool_sized_class_of(blocks, 0, NULL), CPOOL_ENULL);
    REQUIRE_EQUAL(cpool_sized_read_stats(blocks, NULL), CPOOL_ENULL);
    stats.size = 1;
    REQUIRE_EQUAL(cpool_sized_read_stats(blocks, &stats), CPOOL_ESTRUCT);
    dry.size = 1;
    REQUIRE_EQUAL(cpool_sized_class_of(blocks, 0, &dry), CPOOL_ESTRUCT);
    for (size_t i = 0; i < 102; i++)
        cpool_sized_free(blocks, taken[i]);
    REQUIRE_EQUAL(stats_of(blocks).live, 0);
    REQUIRE_EQUAL(stats_of(blocks).fallback_total, 2);
    destroy_empty(blocks);
}

/* The rest of a limited address space is the program's. */
static void use_default_blocks(void *space)
{
    cpool_sized_config_t config = CPOOL_SIZED_CONFIG_INIT;
    cpool_sized_t *blocks;
    void *held[100];

    support_limit_address_space(*(size_t *)space);
    blocks = create(&config);
    REQUIRE(stats_of(blocks).reserved_bytes <= *(size_t *)space * 5 / 8);
    for (size_t i = 0; i < 100; i++) {
        held[i] = cpool_sized_alloc(blocks, 1000);
        REQUIRE(held[i] != NULL && is_in_class(held[i]));
    }
    for (size_t i = 0; i < 100; i++)
        cpool_sized_free(blocks, held[i]);
    destroy_empty(blocks);
    config.class_bytes = (size_t)1 << 30;
    REQUIRE_EQUAL(cpool_sized_create(&blocks, &config), CPOOL_ENOMEM);
}

TEST(default_classes_fit_into_a_limited_address_space)
{
    SKIP_IF(SUPPORT_SANITIZED || sizeof(size_t) < 8, "addresses cannot be limited");
    for (size_t space = 128 * MIB; space <= 8192 * MIB; space *= 2)
        support_in_child(use_default_blocks, &space);
}
