/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_reserved.c - pools in address space that a layer has reserved: the memory that
 * they commit, and that a trim gives back.
 *
 * Includes layer.h.
 */
#include "support.h"

#include <string.h>
#include <sys/mman.h>

#include "pool/layer.h"

#define KIB ((size_t)1024)
#define MIB (KIB * KIB)

enum { SLOT = 256, CAPACITY = 100000 };

/* Address space without memory, and two pages beside it. */
static char *reserve(size_t size)
{
    void *range = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    REQUIRE(range != MAP_FAILED);
    return range;
}

static cpool_config_t reserved_config(void)
{
    return support_config(SLOT, CAPACITY);
}

static int create(cpool_t **pool, const cpool_config_t *config)
{
    return cpi_layer_create(pool, config, CPI_LAYER_RESERVED);
}

static cpool_t *create_there(const cpool_config_t *config)
{
    cpool_t *pool;

    REQUIRE_EQUAL(create(&pool, config), 0);
    return pool;
}

/* A pool in a range of exactly the size that it requires. */
static cpool_t *create_in_range(cpool_config_t *config)
{
    config->memory_size = cpi_layer_memory_required(config);
    REQUIRE(config->memory_size > 0);
    config->memory = reserve(config->memory_size);
    return create_there(config);
}

static void unmap(const cpool_config_t *config)
{
    REQUIRE_EQUAL(munmap(config->memory, config->memory_size), 0);
}

TEST(create_commits_as_slots_are_used)
{
    cpool_config_t config = reserved_config();
    cpool_t *pool = create_in_range(&config);
    const char *start = config.memory;
    char *slot;

    REQUIRE_EQUAL(support_stats(pool).reserved_bytes, config.memory_size);
    REQUIRE(support_stats(pool).committed_bytes < 64 * KIB);
    REQUIRE(SUPPORT_SANITIZED || support_resident_inside(start, config.memory_size) < 64 * KIB);
    slot = cpool_alloc(pool);
    REQUIRE(slot > start && slot + SLOT <= start + config.memory_size);
    for (int i = 0; i < SLOT; i++)
        REQUIRE_EQUAL(slot[i], 0);
    memset(slot, 1, SLOT);
    REQUIRE(support_stats(pool).committed_bytes < MIB);
    cpool_free(pool, slot);
    support_destroy_empty(pool);
    unmap(&config);
}

TEST(trim_gives_memory_back)
{
    cpool_config_t config = reserved_config();
    cpool_t *pool = create_in_range(&config);
    void *slots[4000];

    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, 4000), 4000);
    for (size_t i = 0; i < 4000; i++)
        memset(slots[i], 1, SLOT);
    cpool_free_bulk(pool, slots, 4000);
    REQUIRE(cpool_trim(pool) >= 4000 * SLOT / 2);
    support_destroy_empty(pool);
    unmap(&config);
}

static void require_refused(const cpool_config_t *config, int code)
{
    cpool_t *pool;

    REQUIRE_EQUAL(create(&pool, config), code);
    REQUIRE(pool == NULL);
}

TEST(create_in_wrong_range_refused)
{
    cpool_config_t config = reserved_config();
    size_t page = support_page_size();
    size_t required = cpi_layer_memory_required(&config);
    char *range = reserve(required + page);

    require_refused(&config, CPOOL_EMEMORY);
    config.memory_size = required;
    require_refused(&config, CPOOL_EMEMORY);
    config.memory = range + CPOOL_MEMORY_ALIGN;
    require_refused(&config, CPOOL_EMEMALIGN);
    config.memory = range + page;
    config.memory_size = required - 1;
    require_refused(&config, CPOOL_EMEMSIZE);
    config.memory_size = required;
    support_destroy_empty(create_there(&config));
    /* Nothing is mapped there. */
    REQUIRE_EQUAL(munmap(range, required + page), 0);
    require_refused(&config, CPOOL_ENOMEM);
}
