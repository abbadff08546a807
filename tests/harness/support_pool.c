/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_pool.c - shared by the check programs, with the library (support.h).
 */
#include "support.h"

#include <cpool/pools.h>
#include <cpool/track.h>

/* --- Pools --- */

cpool_config_t support_config(size_t slot_size, size_t capacity)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;

    config.name = "tested";
    config.slot_size = slot_size;
    config.capacity = capacity;
    return config;
}

cpool_t *support_create(const cpool_config_t *config)
{
    cpool_t *pool = NULL;

    REQUIRE_EQUAL(cpool_create(&pool, config), 0);
    REQUIRE(pool != NULL);
    return pool;
}

cpool_t *support_create_plain(size_t slot_size, size_t capacity)
{
    return support_create_kind(slot_size, capacity, 0);
}

cpool_t *support_create_kind(size_t slot_size, size_t capacity, unsigned flags)
{
    return support_create_named("tested", slot_size, capacity, flags);
}

cpool_t *support_create_named(const char *name, size_t slot_size, size_t capacity, unsigned flags)
{
    cpool_config_t config = support_config(slot_size, capacity);

    config.name = name;
    support_set_flags(&config, flags);
    return support_create(&config);
}

void support_destroy_empty(cpool_t *pool)
{
    REQUIRE_EQUAL(cpool_destroy(pool), 0);
}

void support_destroy_whole(cpool_t *pool)
{
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}

struct wanted {
    const char *name;
    void *found;
    uint64_t number;
    unsigned kind;
};

static bool compare_view(const cpool_view_t *view, void *arg)
{
    const unsigned kinds = CPOOL_VIEW_OBJECTS | CPOOL_VIEW_SIZED | CPOOL_VIEW_LANES;
    struct wanted *wanted = arg;

    if ((view->kind & kinds) == wanted->kind && strcmp(view->name, wanted->name) == 0 &&
        (wanted->found == NULL || view->number < wanted->number)) {
        wanted->found = wanted->kind == 0 ? view->pool : view->owner;
        wanted->number = view->number;
    }
    return true;
}

void *support_find(unsigned kind, const char *name)
{
    struct wanted wanted = {name, NULL, 0, kind};

    cpool_each(compare_view, &wanted);
    return wanted.found;
}

size_t support_destroy(cpool_t *pool)
{
    size_t live = support_stats(pool).live;

    REQUIRE_EQUAL(cpool_destroy(pool), live > 0 ? CPOOL_ELIVE : 0);
    return live;
}

struct figures support_stats(const cpool_t *pool)
{
    struct figures figures;

    REQUIRE(figures_read(pool, &figures));
    return figures;
}

size_t support_count_live(const cpool_t *pool)
{
    cpool_iter_t iter = CPOOL_ITER_INIT(pool, 0, SIZE_MAX);
    size_t count = 0;

    while (cpool_iter_next(&iter) != NULL)
        count++;
    return count;
}

void support_require_live(const cpool_t *pool, size_t live)
{
    struct figures stats = support_stats(pool);

    REQUIRE_EQUAL(stats.live, live);
    REQUIRE_EQUAL(stats.live + stats.in_depot + stats.in_caches + stats.fresh, stats.capacity);
    REQUIRE_EQUAL(stats.circulating, stats.capacity - stats.fresh);
}

size_t support_take_all(cpool_t *pool, void **slots)
{
    struct figures stats = support_stats(pool);
    size_t limit = cpool_index_limit(pool);
    unsigned char *taken = support_calloc(limit, 1);
    size_t count = 0;
    void *slot;

    while (count < stats.capacity && (slot = cpool_alloc(pool)) != NULL) {
        size_t index = cpool_index(pool, slot);

        REQUIRE(index < limit);
        REQUIRE(!taken[index]);
        taken[index] = 1;
        slots[count++] = slot;
    }
    REQUIRE(cpool_alloc(pool) == NULL);
    free(taken);
    return count;
}

void support_require_obtainable(cpool_t *pool, size_t live)
{
    struct figures stats = support_stats(pool);
    void **slots = support_calloc(stats.capacity, sizeof(*slots));
    size_t count = support_take_all(pool, slots);

    REQUIRE_EQUAL(count + live, stats.capacity);
    for (size_t i = 0; i < count; i++)
        cpool_free(pool, slots[i]);
    free(slots);
}

/* --- Error reports --- */

static pthread_mutex_t capture_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct support_report captured; /* the last report */
static size_t captured_count;          /* reports since the last look */

static void copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from != NULL ? from : "(null)");
}

static void capture(const cpool_error_t *error, void *context)
{
    REQUIRE(context == &captured);
    pthread_mutex_lock(&capture_mutex);
    captured_count++;
    captured.size = error->size;
    captured.code = error->code;
    copy_text(captured.text, sizeof(captured.text), error->text);
    copy_text(captured.function, sizeof(captured.function), error->function);
    copy_text(captured.name, sizeof(captured.name), error->name);
    captured.pool = error->pool;
    captured.address = error->address;
    captured.slot = error->slot;
    captured.index = error->index;
    captured.site = error->site;
    copy_text(captured.details, sizeof(captured.details), error->details);
    pthread_mutex_unlock(&capture_mutex);
}

void support_capture_reports(void)
{
    cpool_set_error_handler((cpool_error_handler_t){ capture, &captured });
    (void)support_take_reports(NULL);
}

void support_release_reports(void)
{
    cpool_set_error_handler((cpool_error_handler_t){ NULL, NULL });
}

size_t support_take_reports(struct support_report *last)
{
    size_t count;

    pthread_mutex_lock(&capture_mutex);
    count = captured_count;
    captured_count = 0;
    if (last != NULL)
        *last = captured;
    pthread_mutex_unlock(&capture_mutex);
    return count;
}

struct support_report support_require_report(int code, const char *file, int line)
{
    struct support_report report;
    size_t count = support_take_reports(&report);

    support_require_equal((long long)count, 1, file, line, "number of reports");
    support_require_equal(report.code, code, file, line, "code of the report");
    return report;
}
