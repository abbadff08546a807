/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_fault_sized.c - what the functions of blocks of many sizes return when the system
 * refuses one of their calls.
 */
#include "fault_pool.h"

#include <cpool/client.h>
#include <cpool/pools.h>
#include <cpool/sized.h>

#include <string.h>

/* The classes' sizes, and one that none serves. */
enum { SMALL = 64, MEDIUM = 256, LARGE = 1024, LARGER = 2000 };

/* Blocks that each class has at least. */
enum { BLOCKS = 100 };

static int sized_create(struct fault_scene *scene)
{
    static const size_t sizes[] = { SMALL, MEDIUM, LARGE };
    cpool_sized_config_t config = CPOOL_SIZED_CONFIG_INIT;
    cpool_sized_t *blocks;
    int code;

    config.classes = sizes;
    config.class_count = sizeof sizes / sizeof sizes[0];
    config.class_bytes = LARGE * BLOCKS;
    code = cpool_sized_create(&blocks, &config);
    REQUIRE((code == 0) == (blocks != NULL));
    scene->object = blocks;
    return code;
}

static void make_sized(struct fault_scene *scene)
{
    REQUIRE_EQUAL(sized_create(scene), 0);
}

/* Writes all of the block, which is freed at the end. */
static int keep_block(struct fault_scene *scene, void *block, size_t size)
{
    if (block == NULL)
        return NONE;
    memset(block, 1, size);
    scene->slot = block;
    return SOME;
}

FAULT_CALL(sized_alloc, keep_block(scene, cpool_sized_alloc(scene->object, LARGE), LARGE))

static int sized_alloc_larger(struct fault_scene *scene)
{
    return keep_block(scene, cpool_sized_alloc(scene->object, LARGER), LARGER);
}

static int sized_alloc_aligned(struct fault_scene *scene)
{
    return keep_block(scene, cpool_sized_alloc_aligned(scene->object, LARGER, 4096), LARGER);
}

static int sized_calloc(struct fault_scene *scene)
{
    return keep_block(scene, cpool_sized_calloc(scene->object, 2, LARGER), LARGER);
}

static void make_block(struct fault_scene *scene)
{
    make_sized(scene);
    REQUIRE_EQUAL(sized_alloc(scene), SOME);
}

static void make_larger_block(struct fault_scene *scene)
{
    make_sized(scene);
    REQUIRE_EQUAL(sized_alloc_larger(scene), SOME);
}

/* The block is as it was where it cannot be made larger. */
static int sized_realloc(struct fault_scene *scene)
{
    unsigned char *block = cpool_sized_realloc(scene->object, scene->slot, (size_t)2 * LARGER);
    const unsigned char *bytes = block != NULL ? block : scene->slot;

    for (size_t i = 0; i < LARGE; i++)
        REQUIRE_EQUAL(bytes[i], 1);
    return keep_block(scene, block, (size_t)2 * LARGER);
}

static void free_in_class(struct fault_scene *scene)
{
    make_sized(scene);
    for (int i = 0; i < BLOCKS; i++)
        REQUIRE((scene->slots[i] = cpool_sized_alloc(scene->object, LARGE)) != NULL);
    for (int i = 0; i < BLOCKS; i++)
        cpool_sized_free(scene->object, memset(scene->slots[i], 1, LARGE));
}

static int sized_free(struct fault_scene *scene)
{
    cpool_sized_free(scene->object, scene->slot);
    scene->slot = NULL;
    return 0;
}

FAULT_CALL(sized_trim, cpool_sized_trim(scene->object) > 0 ? SOME : NONE)
FAULT_CALL(sized_destroy, cpool_sized_destroy(scene->object))

static void end_sized(struct fault_scene *scene)
{
    cpool_sized_stats_t stats = CPOOL_SIZED_STATS_INIT;
    int count = 0;

    cpool_sized_free(scene->object, scene->slot);
    for (; count < BLOCKS; count++)
        REQUIRE((scene->slots[count] = cpool_sized_alloc(scene->object, LARGE)) != NULL);
    REQUIRE_EQUAL(cpool_sized_read_stats(scene->object, &stats), 0);
    REQUIRE_EQUAL(stats.fallback_live, 0);
    REQUIRE_EQUAL(stats.live, BLOCKS);
    while (count-- > 0)
        cpool_sized_free(scene->object, scene->slots[count]);
    REQUIRE_EQUAL(cpool_sized_destroy(scene->object), 0);
}

static const struct fault_case blocks[] = {
    { "cpool_sized_create", 0, fault_start, sized_create, end_sized, 0,
      ROWS({ MMAP, 1, 2, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MPROTECT, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM }) },
    { "cpool_sized_alloc", 0, make_sized, sized_alloc, end_sized, SOME,
      ROWS({ MPROTECT, 1, 1, SOME, NONE },
           { MMAP, 1, 1, SOME, NONE },
           { SETSPECIFIC, 1, 1, SOME, NONE },
           { MPROTECT, 2, 4, SOME, NONE }) },
    { "cpool_sized_alloc, by the fallback", 0, make_sized, sized_alloc_larger, end_sized, SOME,
      ROWS({ MALLOC, 1, 1, NONE, NONE }) },
    { "cpool_sized_alloc_aligned", 0, make_sized, sized_alloc_aligned, end_sized, SOME,
      ROWS({ MALLOC, 1, 1, NONE, NONE }) },
    { "cpool_sized_calloc", 0, make_sized, sized_calloc, end_sized, SOME,
      ROWS({ MALLOC, 1, 1, NONE, NONE }) },
    { "cpool_sized_realloc", 0, make_block, sized_realloc, end_sized, SOME,
      ROWS({ MALLOC, 1, 1, NONE, NONE }) },
    { "cpool_sized_realloc, by the fallback", 0, make_larger_block, sized_realloc, end_sized, SOME,
      ROWS({ REALLOC, 1, 1, NONE, NONE }) },
    { "cpool_sized_free", 0, make_block, sized_free, end_sized, 0, NO_ROWS },
    { "cpool_sized_free, by the fallback", 0, make_larger_block, sized_free, end_sized, 0,
      NO_ROWS },
    { "cpool_sized_trim", 0, free_in_class, sized_trim, end_sized, SOME,
      ROWS({ MMAP, 1, 1, SOME, NONE },
           { MUNMAP, 1, 1, SOME, NONE },
           { MMAP, 2, 2, NONE, NONE },
           { MADVISE, 1, 1, NONE, NONE },
           { MUNMAP, 2, 2, SOME, SOME }) },
    { "cpool_sized_destroy", 0, make_sized, sized_destroy, NULL, 0,
      ROWS({ MUNMAP, 1, 1, 0, 0 }) },
};

/* As for malloc that is made of blocks, in a handler of fork. */
TEST(alloc_with_the_lock_held_makes_no_class)
{
    struct fault_scene scene = { .flags = 0 };
    cpool_sized_class_t class = CPOOL_SIZED_CLASS_INIT;

    make_sized(&scene);
    REQUIRE(cpool_client_lock());
    scene.slot = cpool_sized_alloc(scene.object, LARGE);
    cpool_client_unlock();
    REQUIRE(scene.slot != NULL && cpool_of(scene.slot, NULL) == NULL);
    REQUIRE_EQUAL(cpool_sized_class_of(scene.object, LARGE, &class), 0);
    REQUIRE(class.pool == NULL && class.dry == 1);
    end_sized(&scene);
}

TEST_FAULTS(refused_blocks_have_their_result, blocks)
