/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_many.c - many pools: one after the other, as many as there can be, and the tables of
 * threads that have used many.
 */
#include "support.h"

#include <sys/mman.h>

/* Uses up and fills again, so that the thread has slots cached at the end. */
static void use(cpool_t *pool, size_t count)
{
    void *slots[32];

    REQUIRE(count <= 32);
    for (size_t i = 0; i < count; i++) {
        slots[i] = cpool_alloc(pool);
        REQUIRE(cpool_owns(pool, slots[i]));
        memset(slots[i], 0x11, 16);
    }
    for (size_t i = 0; i < count; i++)
        cpool_free(pool, slots[i]);
}

/* But for the regions that are kept for later pools: they have the addresses of eight pools. */
TEST(create_and_destroy_often_leaves_nothing_behind)
{
    enum { KEPT = 8, REGION = 2 * 1024 * 1024 };
    size_t space = 0;
    size_t files = 0;

    for (size_t i = 0; i < SUPPORT_COUNT(10000, 1000); i++) {
        cpool_t *pool = support_create_plain(16, 100 + i % 1000);

        use(pool, 20);
        support_destroy_empty(pool);
        if (i == 100) {
            space = support_address_space();
            files = support_open_files();
        }
    }
    REQUIRE(support_address_space() <= space + (size_t)KEPT * REGION);
    REQUIRE_EQUAL(support_open_files(), files);
}

enum { CROWD = 17000 };

CPOOL_DECLARE(late, long);
CPOOL_DEFINE(late, long, .capacity = 100);

/* A typed pool finds no handle, and works as soon as there is one. */
static void require_no_handle(void)
{
    REQUIRE_EQUAL(late_open(NULL), CPOOL_ELIMIT);
    REQUIRE(late_alloc() == NULL && late_pool() == NULL);
}

static void use_late(void)
{
    long *number = late_alloc();

    REQUIRE(number != NULL);
    late_free(number);
    REQUIRE_EQUAL(late_close(), CPOOL_OK);
}

static void *use_crowd(void *crowd)
{
    cpool_t **pools_left = crowd;

    for (; *pools_left != NULL; pools_left++) {
        use(*pools_left, 3);
        REQUIRE(support_stats(*pools_left).caches > 0);
        cpool_flush(*pools_left);
    }
    return NULL;
}

static size_t create_crowd(cpool_t **crowd, cpool_config_t *config, char *memory)
{
    size_t n = 0;
    int code;

    do {
        REQUIRE(n < CROWD);
        config->memory = memory + n * config->memory_size;
        code = cpool_create(&crowd[n], config);
        n += code == CPOOL_OK;
    } while (code == CPOOL_OK);
    REQUIRE_EQUAL(code, CPOOL_ELIMIT);
    REQUIRE(crowd[n] == NULL);
    return n;
}

/* Each has caches, and when there can be no more that is an error with a name.  In
 * memory of our own, because the system maps a limited number of ranges. */
TEST(create_until_handles_are_used_up)
{
    cpool_config_t config = support_config(16, 3);
    cpool_t **crowd = support_calloc(CROWD + 1, sizeof(*crowd));
    char *memory;
    size_t n;

    config.thread_caches = 2;
    config.memory_size = (cpool_memory_required(&config) + CPOOL_MEMORY_ALIGN - 1) /
                         CPOOL_MEMORY_ALIGN * CPOOL_MEMORY_ALIGN;
    memory = mmap(NULL, config.memory_size * CROWD, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    n = create_crowd(crowd, &config, memory);
    REQUIRE(n >= 1000);
    (void)use_crowd(crowd);
    support_in_thread(use_crowd, crowd);
    require_no_handle();
    for (size_t i = 0; i < 3; i++) {
        support_destroy_empty(crowd[n / 2 + i]);
        use_late();
        config.memory = memory + (n / 2 + i) * config.memory_size;
        crowd[n / 2 + i] = support_create(&config);
        use(crowd[n / 2 + i], 3);
    }
    while (n-- > 0)
        support_destroy_empty(crowd[n]);
    REQUIRE_EQUAL(munmap(memory, config.memory_size * CROWD), 0);
    free(crowd);
}
