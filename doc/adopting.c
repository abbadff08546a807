/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * adopting.c - each call that the tables of ADOPTING.md name, section by section.
 *
 *     cc adopting.c $(pkg-config --cflags --libs cpool)
 */
#include <cpool/debug.h>
#include <cpool/object.h>
#include <cpool/pools.h>
#include <cpool/print.h>
#include <cpool/retire.h>
#include <cpool/sized.h>
#include <cpool/track.h>
#include <stdlib.h>

#define CHECK(condition) ((condition) ? (void)0 : abort())

struct job { int number; };

CPOOL_DECLARE(jobs, struct job);
CPOOL_DEFINE(jobs, struct job, .capacity = 100000);

static void from_malloc(cpool_t *pool)
{
    struct job *job = jobs_alloc();
    void *p = cpool_alloc(pool);

    if (p == NULL)
        p = malloc(sizeof(struct job));
    cpool_owns(pool, p) ? cpool_free(pool, p) : free(p);
    jobs_free(job);
    jobs_free(jobs_calloc());
    cpool_release(cpool_calloc(pool));
    cpool_free(pool, cpool_alloc_wait(pool, NULL));
    cpool_free(pool, cpool_alloc_or_notify(pool));
    cpool_trim(pool);
    cpool_print(pool, CPOOL_DUMP_TEXT, stdout);
}

static bool is_messages(const cpool_view_t *view, void *arg)
{
    if (strcmp(view->name, "messages") == 0)
        *(cpool_t **)arg = view->pool;
    return true;
}

static void from_mempool(cpool_t *pool)
{
    cpool_stats_t stats = CPOOL_STATS_INIT;
    cpool_iter_t iter = CPOOL_ITER_INIT(pool, 0, cpool_index_limit(pool));
    cpool_t *found = NULL;
    cpool_cache_t *cache;
    void *slots[32];
    void *slot;

    CHECK(cpool_cache_create(&cache, pool) == 0);
    cpool_cache_free(cache, cpool_cache_alloc(cache));
    cpool_cache_destroy(cache);
    CHECK(cpool_alloc_bulk(pool, slots, 32, 32) == 32);
    CHECK(cpool_at(pool, cpool_index(pool, slots[0])) == slots[0]);
    CHECK(cpool_of(slots[0], NULL) == pool && cpool_verify(pool, NULL) == 0);
    CHECK(cpool_read_stats(pool, &stats) == 0 && stats.live == 32 && stats.free == 968);
    while ((slot = cpool_iter_next(&iter)) != NULL)
        stats.live--;
    CHECK(stats.live == 0 && cpool_each(is_messages, &found) >= 1 && found == pool);
    cpool_free_bulk(pool, slots, 32);
    CHECK(cpool_alloc(pool) != NULL && cpool_reset(pool) == 1);
}

static void of_many_sizes(void)
{
    cpool_sized_config_t config = CPOOL_SIZED_CONFIG_INIT;
    cpool_sized_t *blocks;
    void *block;

    CHECK(cpool_sized_create(&blocks, &config) == 0);
    block = cpool_sized_realloc(blocks, cpool_sized_alloc(blocks, 100), 200);
    CHECK(cpool_sized_usable_size(blocks, block) >= 200);
    cpool_sized_free(blocks, block);
    CHECK(cpool_sized_destroy(blocks) == 0);
}

static void from_liburcu(cpool_t *pool)
{
    cpool_domain_config_t config = CPOOL_DOMAIN_CONFIG_INIT;
    cpool_domain_t *domain;
    cpool_reader_t *reader;

    config.readers = 4;
    config.max_held = 64;
    CHECK(cpool_domain_create(&domain, &config) == 0);
    CHECK(cpool_reader_create(&reader, domain, 0) == 0);
    cpool_read_begin(reader);
    CHECK(cpool_retire(reader, pool, cpool_alloc(pool)) == 0);
    cpool_read_end(reader);
    cpool_read_quiescent(reader);
    CHECK(cpool_retire_flush(reader, CPOOL_FLUSH_WAIT) == 0);
    CHECK(cpool_domain_destroy(domain) == 0);
}

static void from_commons_pool(void)
{
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_object_info_t info = CPOOL_OBJECT_INFO_INIT;
    cpool_grant_t grant = CPOOL_GRANT_INIT;
    cpool_objects_t *objects;
    void *object;

    type.object_size = sizeof(struct job);
    config.type = &type;
    config.capacity = config.max_capacity = 10;
    config.flags = CPOOL_OBJECT_TRACED | CPOOL_OBJECT_WAITABLE;
    CHECK(cpool_objects_create(&objects, &config) == 0);
    CHECK(cpool_objects_populate(objects, 2, NULL) == 2);
    grant.wait_ns = 1000000;
    CHECK(cpool_object_get_with(objects, &object, &grant) == 0);
    CHECK(cpool_objects_next(objects, &info) == object);
    cpool_object_put(objects, object);
    cpool_object_put(objects, cpool_object_get(objects));
    CHECK(cpool_objects_destroy(objects) == 0);
}

int main(void)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_t *pool;

    config.name = "messages";
    config.slot_size = sizeof(struct job);
    config.capacity = 1000;
    config.flags = CPOOL_TRACKED;
    CHECK(cpool_create(&pool, &config) == 0);
    from_malloc(pool);
    from_mempool(pool);
    of_many_sizes();
    from_liburcu(pool);
    from_commons_pool();
    return cpool_destroy(pool) == 0 && jobs_close() == 0 ? 0 : 1;
}
