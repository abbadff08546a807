/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_sized_first.c - the first use of each class of blocks of many sizes, which makes its
 * pool: queries before and after, beside other threads, and beside forks.
 *
 * Includes the public API only.  Children of a process with several threads
 * start none themselves, because ThreadSanitizer does not let them.
 */
#include "sized.h"

#include <cpool/pools.h>

#include <stdatomic.h>
#include <string.h>

enum { CLASSES = 8, THREADS = 4, SIZE = 64 };

/* Classes of 64 to 512 bytes, without a fallback. */
static cpool_sized_config_t bounded_config(void)
{
    static const size_t sizes[CLASSES] = { 64, 128, 192, 256, 320, 384, 448, 512 };
    cpool_sized_config_t config = small_config();

    config.classes = sizes;
    config.class_count = CLASSES;
    config.flags = CPOOL_SIZED_BOUNDED;
    return config;
}

/* The classes that have a pool, as bits. */
static unsigned made(const cpool_sized_t *blocks)
{
    unsigned bits = 0;

    for (unsigned i = 0; i < CLASSES; i++)
        bits |= class_at(blocks, i).pool != NULL ? 1u << i : 0;
    return bits;
}

static bool see(const cpool_view_t *view, void *seen)
{
    REQUIRE(view->kind == CPOOL_VIEW_SIZED && view->pool == NULL);
    *(cpool_stats_t *)seen = *view->stats;
    return true;
}

/* The figures that a visit shows. */
static cpool_stats_t visited(void)
{
    cpool_stats_t stats = CPOOL_STATS_INIT;

    REQUIRE_EQUAL(cpool_each(see, &stats), 1);
    return stats;
}

TEST(queries_make_no_class)
{
    cpool_sized_config_t config = bounded_config();
    cpool_sized_t *blocks = create(&config);
    size_t committed = stats_of(blocks).committed_bytes;

    REQUIRE_EQUAL(made(blocks), 1);
    REQUIRE(class_at(blocks, 1).source == NULL);
    REQUIRE_EQUAL(class_at(blocks, 7).block_size, 512);
    REQUIRE_EQUAL(stats_of(blocks).class_count, CLASSES);
    REQUIRE_EQUAL(class_for(blocks, 500).block_size, 512);
    REQUIRE_EQUAL(cpool_sized_trim(blocks), 0);
    REQUIRE(support_find(CPOOL_VIEW_SIZED, "blocks") == blocks);
    REQUIRE_EQUAL(visited().capacity, MIB / SIZE);
    REQUIRE_EQUAL(visited().committed_bytes, committed);
    REQUIRE_EQUAL(made(blocks), 1);
    REQUIRE_EQUAL(stats_of(blocks).committed_bytes, committed);
    destroy_empty(blocks);
    REQUIRE_EQUAL(cpool_each(see, NULL), 0);
}

/* By each of the functions that hand out blocks. */
static void *obtain(cpool_sized_t *blocks, int how, size_t size)
{
    switch (how) {
    case 0: return cpool_sized_alloc(blocks, size);
    case 1: return cpool_sized_alloc_aligned(blocks, size, 64);
    case 2: return cpool_sized_calloc(blocks, 1, size);
    default: return cpool_sized_realloc(blocks, cpool_sized_alloc(blocks, 1), size);
    }
}

TEST_TIMES(first_block_makes_its_class_alone, 12)
{
    static const unsigned flags[] = { 0, CPOOL_TRACKED, CPOOL_CHECKED };
    cpool_sized_config_t config = bounded_config();
    cpool_sized_t *blocks;
    void *block;

    config.flags |= flags[_i / 4];
    blocks = create(&config);
    block = obtain(blocks, _i % 4, 300);
    REQUIRE(block != NULL && is_in_class(block));
    memset(block, 1, 320);
    REQUIRE_EQUAL(made(blocks), 1 | 1u << 4);
    REQUIRE_EQUAL(cpool_sized_usable_size(blocks, block), 320);
    REQUIRE(cpool_of(block, NULL) == class_at(blocks, 4).pool);
    REQUIRE_EQUAL(support_stats(class_at(blocks, 4).pool).live, 1);
    REQUIRE_EQUAL(stats_of(blocks).live_bytes, 320);
    REQUIRE_EQUAL(stats_of(blocks).dry, 0);
    REQUIRE_EQUAL(visited().capacity, MIB / SIZE + MIB / 320);
    REQUIRE_EQUAL(visited().live, 1);
    cpool_sized_free(blocks, block);
    support_capture_reports();
    if (_i / 4 > 0) {
        struct support_report report;

        cpool_sized_free(blocks, block);
        report = REQUIRE_REPORT(CPOOL_EDOUBLEFREE);
        REQUIRE_EQUAL(strcmp(report.name, "320 blocks"), 0);
    }
    support_release_reports();
    destroy_empty(blocks);
}

TEST(address_in_a_class_without_a_pool_reported)
{
    cpool_sized_config_t config = bounded_config();
    cpool_sized_t *blocks = create(&config);
    char *first = cpool_sized_alloc(blocks, SIZE);
    char *fourth = cpool_sized_alloc(blocks, 256);
    char *stray = first + (fourth - first) / 3 * 2; /* in the third */

    support_capture_reports();
    cpool_sized_free(blocks, stray);
    REQUIRE_REPORT(CPOOL_EFOREIGN);
    REQUIRE(cpool_sized_realloc(blocks, stray, 10) == NULL);
    REQUIRE_REPORT(CPOOL_EFOREIGN);
    REQUIRE_EQUAL(cpool_sized_usable_size(blocks, stray), 0);
    REQUIRE_REPORT(CPOOL_EFOREIGN);
    REQUIRE_NO_REPORT();
    support_release_reports();
    REQUIRE_EQUAL(made(blocks), 1 | 1u << 3);
    cpool_sized_free(blocks, first);
    cpool_sized_free(blocks, fourth);
    destroy_empty(blocks);
}

/*
 * ---- Beside other threads, and forks -----------------------------------------
 */

struct crowd {
    cpool_sized_t *blocks;
    struct support_door door;
    void *held[THREADS][CLASSES];
    _Atomic unsigned number;
};

/* The first block of every class, each thread in another order. */
static void *take_first(void *argument)
{
    struct crowd *crowd = argument;
    unsigned self = crowd->number++;

    support_door_wait(&crowd->door);
    for (unsigned i = 0; i < CLASSES; i++) {
        unsigned number = (i + self / 2) % CLASSES;
        size_t size = (size_t)SIZE * (number + 1);

        crowd->held[self][number] = cpool_sized_alloc(crowd->blocks, size);
        REQUIRE(crowd->held[self][number] != NULL);
        memset(crowd->held[self][number], (int)self, size);
    }
    return NULL;
}

/* Every class has one pool, and every block is where it belongs, as its owner left it. */
static void require_whole(const struct crowd *crowd)
{
    for (unsigned i = 0; i < CLASSES; i++)
        for (unsigned t = 0; t < THREADS; t++) {
            const unsigned char *bytes = crowd->held[t][i];

            REQUIRE(cpool_of(bytes, NULL) == class_at(crowd->blocks, i).pool);
            REQUIRE(bytes[0] == t && bytes[(size_t)SIZE * (i + 1) - 1] == t);
        }
    REQUIRE_EQUAL(stats_of(crowd->blocks).live, THREADS * CLASSES);
}

/* At any point of the other threads, classes with a pool go on, and the others get one. */
static void use_in_child(void *argument)
{
    struct crowd *crowd = argument;

    for (unsigned i = 0; i < CLASSES; i++) {
        size_t size = (size_t)SIZE * (i + 1);
        void *block = cpool_sized_alloc(crowd->blocks, size);

        REQUIRE(block != NULL && cpool_of(block, NULL) == class_at(crowd->blocks, i).pool);
        REQUIRE_EQUAL(cpool_sized_usable_size(crowd->blocks, block), size);
        cpool_sized_free(crowd->blocks, block);
    }
    REQUIRE(visited().capacity > 0);
    (void)cpool_sized_destroy(crowd->blocks); /* with what the threads had */
    REQUIRE_EQUAL(cpool_each(see, NULL), 0);
}

static void run_crowd(bool forks)
{
    cpool_sized_config_t config = bounded_config();
    struct crowd crowd = { .blocks = create(&config) };
    pthread_t threads[THREADS];

    support_door_init(&crowd.door);
    for (unsigned i = 0; i < THREADS; i++)
        threads[i] = support_start(take_first, &crowd);
    support_door_await(&crowd.door, THREADS);
    support_door_open(&crowd.door);
    if (forks)
        support_in_child(use_in_child, &crowd);
    for (unsigned i = 0; i < THREADS; i++)
        support_join(threads[i]);
    require_whole(&crowd);
    for (unsigned i = 0; i < CLASSES; i++)
        for (unsigned t = 0; t < THREADS; t++)
            cpool_sized_free(crowd.blocks, crowd.held[t][i]);
    destroy_empty(crowd.blocks);
}

TEST(threads_that_come_first_share_one_pool)
{
    for (unsigned i = 0; i < SUPPORT_COUNT(300u, 30u); i++)
        run_crowd(false);
}

TEST(fork_beside_first_uses_finds_whole_classes)
{
    for (unsigned i = 0; i < SUPPORT_COUNT(60u, 8u); i++)
        run_crowd(true);
}
