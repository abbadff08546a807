/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_reserved.c - address space that a client has reserved, and that is no place for a pool.
 */
#include "support.h"

#include <sys/mman.h>

#include <cpool/client.h>

/* Address space without memory, and two pages beside it. */
static char *reserve(size_t size)
{
    void *range = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    REQUIRE(range != MAP_FAILED);
    return range;
}

static size_t required_by(const cpool_config_t *config)
{
    cpool_config_t reserved = *config;

    reserved.flags |= CPOOL_CLIENT_RESERVED;
    return cpool_memory_required(&reserved);
}

static int create(cpool_t **pool, const cpool_config_t *config)
{
    static cpool_client_t client;
    cpool_config_t reserved = *config;
    int code;

    client = (cpool_client_t){ .size = sizeof client };
    reserved.flags |= CPOOL_CLIENT_RESERVED;
    code = cpool_client_create(&client, &reserved);
    *pool = client.pool;
    return code;
}

static void require_refused(const cpool_config_t *config, int code)
{
    cpool_t *pool;

    REQUIRE_EQUAL(create(&pool, config), code);
    REQUIRE(pool == NULL);
}

TEST(create_in_wrong_range_refused)
{
    cpool_config_t config = support_config(256, 100000);
    size_t page = support_page_size();
    size_t required = required_by(&config);
    char *range = reserve(required + page);
    cpool_t *pool;

    require_refused(&config, CPOOL_EMEMORY);
    config.memory_size = required;
    require_refused(&config, CPOOL_EMEMORY);
    config.memory = range + CPOOL_MEMORY_ALIGN;
    require_refused(&config, CPOOL_EMEMORY);
    config.memory = range + page;
    config.memory_size = required - 1;
    require_refused(&config, CPOOL_EMEMSIZE);
    config.memory_size = required;
    REQUIRE_EQUAL(create(&pool, &config), 0);
    support_destroy_empty(pool);
    /* Nothing is mapped there. */
    REQUIRE_EQUAL(munmap(range, required + page), 0);
    require_refused(&config, CPOOL_ENOMEM);
}
