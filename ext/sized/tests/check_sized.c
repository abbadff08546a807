/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_sized.c - blocks of many sizes: which class serves a size and an alignment, the
 * way back by the address alone, and mistakes.
 *
 * Includes the public API only.
 */
#include "sized.h"

#include <stdlib.h>
#include <string.h>

/*
 * ---- Classes ---------------------------------------------------------------
 */

/* The class of a size, found in the plainest way. */
static size_t class_by_search(const cpool_sized_t *blocks, size_t size)
{
    size_t classes = stats_of(blocks).class_count;
    size_t number = 0;

    while (number < classes && class_at(blocks, number).block_size < size)
        number++;
    return number;
}

TEST_TIMES(class_of_any_size_is_the_smallest_that_holds_it, 2)
{
    static const size_t uneven[] = { 8, 24, 40, 1000, 4096, 4104, CPOOL_SIZED_MAX };
    cpool_sized_config_t config = small_config();
    cpool_sized_t *blocks;
    cpool_sized_class_t none = CPOOL_SIZED_CLASS_INIT;
    size_t held;
    size_t most;

    if (_i == 1) {
        config.classes = uneven;
        config.class_count = sizeof uneven / sizeof uneven[0];
    }
    blocks = create(&config);
    most = class_at(blocks, stats_of(blocks).class_count - 1).block_size;
    REQUIRE_EQUAL(most, _i == 1 ? CPOOL_SIZED_MAX : 32 * 1024);
    held = class_at(blocks, 0).block_size;
    for (size_t size = 0; size <= most; size++) {
        if (size > held)
            held = class_at(blocks, class_by_search(blocks, size)).block_size;
        REQUIRE_EQUAL(class_for(blocks, size).block_size, held);
    }
    REQUIRE_EQUAL(cpool_sized_class_of(blocks, most + 1, &none), CPOOL_ESLOTSIZE);
    REQUIRE_EQUAL(cpool_sized_class_of(blocks, SIZE_MAX, &none), CPOOL_ESLOTSIZE);
    destroy_empty(blocks);
}

/* No block is more than a quarter larger than it has to be, or by fifteen bytes. */
TEST(default_classes_waste_little)
{
    cpool_sized_config_t config = small_config();
    cpool_sized_t *blocks;

    config.max_size = 20000;
    blocks = create(&config);
    REQUIRE_EQUAL(class_at(blocks, stats_of(blocks).class_count - 1).block_size, 20480);
    for (size_t size = 1; size <= config.max_size; size++) {
        size_t held = class_for(blocks, size).block_size;

        REQUIRE(held >= size && (held - size < 16 || held - size <= size / 4));
    }
    destroy_empty(blocks);
}

TEST(alloc_every_size_goes_and_comes_back_by_address)
{
    cpool_sized_config_t config = small_config();
    enum { MOST = 40000, STEP = 37 };
    static unsigned char *held[MOST / STEP + 1];
    cpool_sized_t *blocks;

    config.class_bytes = 8 * MIB;
    blocks = create(&config);
    for (size_t i = 0; i <= MOST / STEP; i++) {
        size_t size = i * STEP;
        bool in_class = size <= 32768;

        held[i] = cpool_sized_alloc(blocks, size);
        REQUIRE(held[i] != NULL && (uintptr_t)held[i] % _Alignof(max_align_t) == 0);
        REQUIRE_EQUAL(is_in_class(held[i]), in_class);
        REQUIRE(cpool_sized_usable_size(blocks, held[i]) >= (size > 0 ? size : 1));
        memset(held[i], (int)(i % 251), cpool_sized_usable_size(blocks, held[i]));
    }
    for (size_t i = 0; i <= MOST / STEP; i++)
        for (size_t byte = 0; byte < cpool_sized_usable_size(blocks, held[i]); byte++)
            REQUIRE(held[i][byte] == i % 251);
    REQUIRE_EQUAL(stats_of(blocks).live + stats_of(blocks).fallback_live, MOST / STEP + 1);
    REQUIRE(stats_of(blocks).fallback_live > 0);
    for (size_t i = 0; i <= MOST / STEP; i++)
        cpool_sized_free(blocks, held[i]);
    cpool_sized_free(blocks, NULL);
    destroy_empty(blocks);
}

TEST(alloc_aligned_to_any_power_of_two)
{
    cpool_sized_config_t config = small_config();
    cpool_sized_t *blocks = create(&config);

    for (size_t align = 1; align <= 4 * MIB; align *= 2)
        for (size_t size = 1; size <= 100000; size = size * 3 + 1) {
            char *block = cpool_sized_alloc_aligned(blocks, size, align);

            REQUIRE(block != NULL && (uintptr_t)block % align == 0);
            REQUIRE(cpool_sized_usable_size(blocks, block) >= size);
            REQUIRE_EQUAL(is_in_class(block), size <= 32768 && align <= 32768);
            memset(block, 1, size);
            cpool_sized_free(blocks, block);
        }
    destroy_empty(blocks);
}

TEST(calloc_clears_and_refuses_overflow)
{
    cpool_sized_config_t config = small_config();
    cpool_sized_t *blocks = create(&config);

    for (size_t size = 100; size <= 100000; size *= 10) {
        char *block = cpool_sized_alloc(blocks, 3 * size);

        memset(block, 1, 3 * size);
        cpool_sized_free(blocks, block);
        block = cpool_sized_calloc(blocks, 3, size);
        for (size_t i = 0; i < 3 * size; i++)
            REQUIRE(block[i] == 0);
        cpool_sized_free(blocks, block);
    }
    REQUIRE(cpool_sized_calloc(blocks, SIZE_MAX / 2, 3) == NULL);
    REQUIRE(cpool_sized_alloc(blocks, SIZE_MAX) == NULL);
    destroy_empty(blocks);
}

/*
 * ---- Other sizes -------------------------------------------------------------
 */

TEST(realloc_keeps_contents_between_all_sizes)
{
    static const size_t sizes[] = { 1, 100, 130, 5000, 4000, 32768, 32769, 200000, 90000,
                                    300, 500000, 7, 0, 64 };
    cpool_sized_config_t config = small_config();
    cpool_sized_t *blocks = create(&config);
    unsigned char *block = NULL;
    size_t before = 0;

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        block = cpool_sized_realloc(blocks, block, sizes[i]);
        REQUIRE(block != NULL && cpool_sized_usable_size(blocks, block) >= sizes[i]);
        require_pattern(block, before < sizes[i] ? before : sizes[i]);
        fill_pattern(block, sizes[i]);
        before = sizes[i];
    }
    cpool_sized_free(blocks, block);
    destroy_empty(blocks);
}

/* Beyond the classes an aligned block is not malloc's to move. */
TEST(realloc_keeps_the_alignment_beyond_the_classes)
{
    static const size_t sizes[] = { 40000, 400000, 50000 };
    cpool_sized_config_t config = small_config();
    cpool_sized_t *blocks = create(&config);

    for (size_t align = 64; align <= MIB; align *= 4) {
        unsigned char *block = cpool_sized_alloc_aligned(blocks, sizes[0], align);

        fill_pattern(block, sizes[0]);
        for (size_t i = 1; i < sizeof sizes / sizeof sizes[0]; i++) {
            block = cpool_sized_realloc(blocks, block, sizes[i]);
            REQUIRE(block != NULL && (uintptr_t)block % align == 0);
            require_pattern(block, sizes[i - 1] < sizes[i] ? sizes[i - 1] : sizes[i]);
            fill_pattern(block, sizes[i]);
        }
        cpool_sized_free(blocks, block);
    }
    destroy_empty(blocks);
}

/* Before the block lie as many bytes as its alignment has, of which the last page is in use. */
TEST(realloc_of_an_aligned_block_touches_its_contents_alone)
{
    const size_t align = 16 * MIB;
    cpool_sized_config_t config = small_config();
    cpool_sized_t *blocks;
    char *block;

    SKIP_IF(SUPPORT_SANITIZED, "their malloc touches memory");
    blocks = create(&config);
    block = cpool_sized_alloc_aligned(blocks, 40000, align);
    REQUIRE(block != NULL);
    block = cpool_sized_realloc(blocks, block, 50000);
    REQUIRE(block != NULL && (uintptr_t)block % align == 0);
    REQUIRE(support_resident_inside(block, cpool_sized_usable_size(blocks, block)) <= align / 2);
    cpool_sized_free(blocks, block);
    destroy_empty(blocks);
}

TEST(realloc_to_no_bytes_keeps_one)
{
    cpool_sized_config_t config = small_config();
    cpool_sized_t *blocks = create(&config);
    unsigned char *none = cpool_sized_alloc(blocks, 1);
    unsigned char *block = cpool_sized_alloc(blocks, 600);

    none[0] = 1;
    block[0] = 2;
    cpool_sized_free(blocks, none);
    block = cpool_sized_realloc(blocks, block, 0);
    REQUIRE_EQUAL(block[0], 2);
    cpool_sized_free(blocks, block);
    destroy_empty(blocks);
}

TEST(realloc_within_its_class_stays)
{
    cpool_sized_config_t config = small_config();
    cpool_sized_t *blocks = create(&config);
    char *block = cpool_sized_alloc(blocks, 600);

    REQUIRE(cpool_sized_realloc(blocks, block, 640) == block);
    REQUIRE(cpool_sized_realloc(blocks, block, 320) == block);
    block = cpool_sized_realloc(blocks, block, 319);
    REQUIRE_EQUAL(cpool_sized_usable_size(blocks, block), 320);
    REQUIRE(cpool_sized_realloc(blocks, block, SIZE_MAX - 8) == NULL);
    REQUIRE_EQUAL(cpool_sized_usable_size(blocks, block), 320);
    cpool_sized_free(blocks, block);
    destroy_empty(blocks);
}

/*
 * ---- Mistakes, and the rest ---------------------------------------------------
 */

TEST_TIMES(free_of_no_block_reported, 2)
{
    static union { max_align_t aligned; char bytes[256]; } stray;
    cpool_sized_config_t config = small_config();
    cpool_sized_t *blocks;
    char *block;

    config.flags = _i == 0 ? 0 : CPOOL_SIZED_BOUNDED;
    blocks = create(&config);
    block = cpool_sized_alloc(blocks, 100);
    support_capture_reports();
    cpool_sized_free(blocks, stray.bytes + 128);
    REQUIRE_REPORT(CPOOL_EFOREIGN);
    cpool_sized_free(blocks, stray.bytes + 129);
    REQUIRE_REPORT(CPOOL_EFOREIGN);
    cpool_sized_free(blocks, block + 8);
    REQUIRE_REPORT(CPOOL_EMISALIGNED);
    REQUIRE_EQUAL(cpool_sized_usable_size(blocks, block + 8), 0);
    REQUIRE_REPORT(CPOOL_EFOREIGN);
    REQUIRE(cpool_sized_realloc(blocks, block + 8, 10) == NULL);
    REQUIRE_REPORT(CPOOL_EFOREIGN);
    REQUIRE(cpool_sized_alloc_aligned(blocks, 8, 24) == NULL);
    REQUIRE_REPORT(CPOOL_EALIGN);
    REQUIRE_EQUAL(cpool_sized_usable_size(blocks, NULL), 0);
    REQUIRE_NO_REPORT();
    support_release_reports();
    cpool_sized_free(blocks, block);
    destroy_empty(blocks);
}

/* The bytes before a page of another pool that was never used cannot be read. */
TEST(free_of_foreign_page_reported)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_sized_config_t sized_config = small_config();
    cpool_sized_t *blocks = create(&sized_config);
    cpool_t *pages;
    char *unused;

    config.slot_size = 65536;
    config.slot_align = 65536;
    config.capacity = 1000;
    REQUIRE_EQUAL(cpool_create(&pages, &config), 0);
    unused = cpool_at(pages, 999);
    REQUIRE(unused != NULL);
    support_capture_reports();
    cpool_sized_free(blocks, unused);
    REQUIRE_REPORT(CPOOL_EFOREIGN);
    REQUIRE_EQUAL(cpool_sized_usable_size(blocks, unused), 0);
    REQUIRE_REPORT(CPOOL_EFOREIGN);
    support_release_reports();
    REQUIRE_EQUAL(cpool_destroy(pages), 0);
    destroy_empty(blocks);
}

static void require_refused(const cpool_sized_config_t *config, int code)
{
    cpool_sized_t *blocks = (cpool_sized_t *)(uintptr_t)1;

    REQUIRE_EQUAL(cpool_sized_create(&blocks, config), code);
    REQUIRE(blocks == NULL);
}

TEST(create_with_mistakes_refused)
{
    static const size_t wrong[][2] = { { 16, 16 }, { 32, 16 }, { 0, 16 }, { 16, 20 },
                                       { 16, CPOOL_SIZED_MAX + 8 } };
    static const cpool_sized_fallback_t fallback = CPOOL_SIZED_FALLBACK_INIT;
    cpool_sized_config_t config = small_config();
    size_t space = support_address_space();

    REQUIRE_EQUAL(cpool_sized_create(NULL, &config), CPOOL_ENULL);
    require_refused(NULL, CPOOL_ENULL);
    config.class_count = 2;
    require_refused(&config, CPOOL_ESLOTSIZE);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        config.classes = wrong[i];
        require_refused(&config, CPOOL_ESLOTSIZE);
    }
    config = small_config();
    config.max_size = CPOOL_SIZED_MAX + 1;
    require_refused(&config, CPOOL_ESLOTSIZE);
    config = small_config();
    for (config.flags = 1; config.flags != 0; config.flags <<= 1)
        if ((config.flags & (CPOOL_SIZED_BOUNDED | CPOOL_CHECKED | CPOOL_TRACKED |
                             CPOOL_HUGE_PAGES | CPOOL_COLOUR | CPOOL_KEEP_PAGES |
                             CPOOL_NO_POISON)) == 0)
            require_refused(&config, CPOOL_EFLAGS);
    config = small_config();
    config.flags = CPOOL_SIZED_BOUNDED;
    config.fallback = &fallback;
    require_refused(&config, CPOOL_EFLAGS);
    config = small_config();
    config.class_bytes = SIZE_MAX;
    require_refused(&config, sizeof(void *) > 4 ? CPOOL_ENOMEM : CPOOL_ECAPACITY);
    config = small_config();
    config.size = sizeof(size_t) - 1;
    require_refused(&config, CPOOL_ESTRUCT);
    REQUIRE_EQUAL(support_address_space(), space);
}

TEST(figures_and_trim_of_all_classes)
{
    cpool_sized_config_t config = small_config();
    cpool_sized_t *blocks = create(&config);
    size_t resident = stats_of(blocks).committed_bytes;
    void *held[300];

    for (size_t i = 0; i < 300; i++)
        memset(held[i] = cpool_sized_alloc(blocks, 2000), 1, 2000);
    REQUIRE_EQUAL(stats_of(blocks).live, 300);
    REQUIRE_EQUAL(stats_of(blocks).live_bytes, 300 * 2048);
    REQUIRE(stats_of(blocks).committed_bytes >= resident + 300 * 2048);
    REQUIRE(stats_of(blocks).reserved_bytes > stats_of(blocks).class_count * MIB);
    for (size_t i = 0; i < 300; i++)
        cpool_sized_free(blocks, held[i]);
    REQUIRE(cpool_sized_trim(blocks) >= 200 * 2048);
    destroy_empty(blocks);
}

/* The pools' figures and the header of the range, all of which is committed. */
TEST(committed_bytes_count_the_header)
{
    cpool_sized_config_t config = small_config();
    cpool_sized_t *blocks = create(&config);
    void *block = cpool_sized_alloc(blocks, 1000);
    cpool_sized_stats_t stats = stats_of(blocks);
    size_t part = stats.reserved_bytes / stats.class_count;
    size_t sum = 0;

    while ((part & (part - 1)) != 0)
        part &= part - 1;
    for (size_t i = 0; i < stats.class_count; i++) {
        const cpool_t *pool = class_at(blocks, i).pool;

        sum += pool != NULL ? support_stats(pool).committed_bytes : 0;
    }
    REQUIRE_EQUAL(stats.committed_bytes, sum + stats.reserved_bytes - stats.class_count * part);
    REQUIRE(stats.committed_bytes > sum);
    cpool_sized_free(blocks, block);
    destroy_empty(blocks);
}

TEST(classes_larger_than_their_bytes_hold_one_block)
{
    cpool_sized_config_t config = small_config();
    cpool_sized_t *blocks;
    void *held[2];

    config.class_bytes = 1000;
    config.flags = CPOOL_SIZED_BOUNDED;
    blocks = create(&config);
    held[0] = cpool_sized_alloc(blocks, 32768);
    REQUIRE(held[0] != NULL && cpool_sized_alloc(blocks, 32768) == NULL);
    held[1] = cpool_sized_alloc(blocks, 500);
    REQUIRE(held[1] != NULL && cpool_sized_alloc(blocks, 513) != NULL);
    REQUIRE_EQUAL(cpool_sized_destroy(blocks), CPOOL_ELIVE);
}

static void use_all_classes(void *unused)
{
    cpool_sized_config_t config = small_config();
    cpool_sized_t *blocks;

    (void)unused;
    REQUIRE_EQUAL(setenv("CPOOL_OPTIONS", "64?bl*:checked,huge_pages", 1), 0);
    blocks = create(&config);
    for (size_t i = 0; i < stats_of(blocks).class_count; i++) {
        size_t size = class_at(blocks, i).block_size;

        cpool_sized_free(blocks, cpool_sized_alloc(blocks, size));
        REQUIRE_EQUAL(support_stats(class_at(blocks, i).pool).slot_stride > size, size == 64);
    }
    destroy_empty(blocks);
}

/* The range has room for it, and its pages are small. */
TEST(options_check_one_class)
{
    struct support_outcome outcome;

    SKIP_IF(SUPPORT_SANITIZED, "sanitizers lay other classes out with gaps, too");
    support_fork(use_all_classes, NULL, &outcome);
    REQUIRE(outcome.status == 0 && outcome.length == 0);
}
