/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_info.c - questions about addresses, and figures.
 *
 * Floor 6.
 *
 * ORDERING TABLE
 *   figure | committed and counter loads | relaxed | - | -
 */
#include "pool_impl.h"

#include <inttypes.h>
#include <string.h>

#include "atomic.h"
#include "os.h"
#include "recall.h"
#include "structs.h"

bool cpool_owns(const cpool_t *handle, const void *p)
{
    const struct cpi_pool *pool = cpi_pool_of(handle, "cpool_owns");

    return pool != NULL && cpi_slab_index(&pool->slab, p) < pool->slab.slots;
}

size_t cpool_index(const cpool_t *handle, const void *slot)
{
    const struct cpi_pool *pool = cpi_pool_of(handle, "cpool_index");
    uintptr_t index;

    if (pool == NULL)
        return SIZE_MAX;
    index = cpi_slab_index(&pool->slab, slot);
    return index < pool->slab.slots ? (size_t)index : SIZE_MAX;
}

void *cpool_at(const cpool_t *handle, size_t index)
{
    const struct cpi_pool *pool = cpi_pool_of(handle, "cpool_at");

    if (pool == NULL || index >= pool->slab.slots)
        return NULL;
    return cpi_slab_slot(&pool->slab, index);
}

size_t cpool_index_limit(const cpool_t *handle)
{
    const struct cpi_pool *pool = cpi_pool_of(handle, "cpool_index_limit");

    return pool != NULL ? pool->slab.slots : 0;
}

static size_t stocked_rounds(const struct cpi_pool *pool,
                             const struct cpi_registry_figures *figures)
{
    /* While others work the account may lag behind and go below zero. */
    return figures->stocked > 0 ? (size_t)figures->stocked * pool->depot.limit : 0;
}

int64_t cpi_pool_live(const struct cpi_pool *pool, const struct cpi_registry_figures *figures)
{
    size_t out = cpi_slab_fresh(&pool->slab);
    size_t idle = stocked_rounds(pool, figures) + cpi_depot_partial_rounds(&pool->depot) +
                  figures->rounds;

    return (int64_t)out - (int64_t)idle;
}

static int64_t stocked_by(const struct cpi_counters *counters)
{
    uint64_t in = cpi_load(&counters->stocked_in, relaxed);   /* [figure] */
    uint64_t out = cpi_load(&counters->stocked_out, relaxed); /* [figure] */

    return (int64_t)(in - out);
}

/* As cpi_pool_live, without the lock: caches may come and go meanwhile. */
static uint64_t estimate_live(const struct cpi_pool *pool)
{
    const struct cpi_registry *registry = &pool->registry;
    struct cpi_registry_figures figures = {.stocked = registry->stocked_correction};
    int64_t live;
    size_t i;

    for (i = 0; i < cpi_registry_uncached_used(registry); i++)
        figures.stocked += stocked_by(&registry->uncached[i].counters);
    for (i = 0; i < cpi_registry_made(registry); i++) {
        const struct cpi_cache *cache = cpi_registry_cache(registry, i);

        figures.stocked += stocked_by(&cache->counters);
        figures.rounds += cpi_cache_estimate(cache);
    }
    live = cpi_pool_live(pool, &figures);
    return live > 0 ? (uint64_t)live : 0;
}

/* A mark, because other threads' caches are looked at. */
CPI_COLD void cpi_pool_sample_by_clock(struct cpi_pool *pool, struct cpi_cache *cache)
{
    uint64_t now = cpi_os_now();

    cache->looks = 0;
    if (!cpi_usage_is_due(&pool->usage, now) || !cpi_recall_enter(cache))
        return;
    cpi_usage_note(&pool->usage, estimate_live(pool), now);
    cpi_recall_leave(cache);
}

static size_t committed(const struct cpi_extent *extent)
{
    return cpi_load(&extent->committed, relaxed); /* [figure] */
}

static size_t committed_bytes(const struct cpi_pool *pool)
{
    size_t bytes = pool->fixed_bytes + committed(&pool->registry.caches) +
                   committed(&pool->depot.for_slots) + committed(&pool->depot.for_caches) +
                   committed(&pool->slab.extent);
    unsigned i;

    for (i = 0; i < CPI_SIDES; i++)
        bytes += pool->slab.sides[i].size != 0 ? committed(&pool->slab.sides[i].extent) : 0;
    return pool->region_owned ? bytes : pool->region_size;
}

static void read_usage(struct cpi_pool *pool, cpool_stats_t *stats)
{
    uint64_t peak;
    uint64_t average;

    cpi_usage_read(&pool->usage, stats->live, cpi_os_now(), &peak, &average);
    stats->live_peak = (size_t)peak;
    stats->live_average = (size_t)average;
}

static void read_figures(struct cpi_pool *pool, cpool_stats_t *stats)
{
    struct cpi_registry_figures figures;
    int64_t live;

    cpi_lock();
    cpi_registry_figures(&pool->registry, &figures);
    stats->high_water = cpi_slab_fresh(&pool->slab);
    live = cpi_pool_live(pool, &figures);
    stats->live = live > 0 ? (size_t)live : 0;
    stats->in_depot = stocked_rounds(pool, &figures) + cpi_depot_partial_rounds(&pool->depot);
    cpi_unlock();
    stats->capacity = cpi_slab_capacity(&pool->slab);
    stats->max_capacity = pool->slab.most;
    stats->in_caches = figures.rounds;
    stats->fresh = stats->capacity > stats->high_water ? stats->capacity - stats->high_water : 0;
    stats->slack = stats->capacity < stats->high_water ? stats->high_water - stats->capacity : 0;
    stats->slot_size = pool->slab.slot_size;
    stats->slot_stride = pool->slab.stride;
    stats->magazine_rounds = pool->depot.limit;
    stats->magazines = cpi_depot_made(&pool->depot);
    stats->thread_caches = figures.caches;
    stats->exchanges = figures.exchanges;
    stats->cas_retries = figures.retries;
    stats->recalls = figures.recalls;
    stats->growths = cpi_load(&pool->maintenance.growths, relaxed); /* [figure] */
    stats->trims = cpi_load(&pool->maintenance.trims, relaxed);     /* [figure] */
    stats->waits = cpi_load(&pool->waiters.waits, relaxed);    /* [figure] */
    stats->spares = figures.spares;
    stats->stalls = cpi_load(&pool->stalls, relaxed); /* [figure] */
    stats->reserved_bytes = pool->region_size;
    stats->committed_bytes = committed_bytes(pool);
    read_usage(pool, stats);
}

int cpool_stats(const cpool_t *handle, cpool_stats_t *stats)
{
    struct cpi_pool *pool;
    cpool_stats_t known;

    if (handle == NULL || stats == NULL)
        return CPOOL_ENULL;
    if (cpi_struct_check(stats) != 0)
        return CPOOL_ESTRUCT;
    pool = cpi_pool_of(handle, "cpool_stats");
    if (pool == NULL)
        return CPOOL_EPOOL;
    read_figures(pool, &known);
    cpi_struct_write(stats, &known, sizeof known);
    return 0;
}

void cpool_stats_restart(cpool_t *handle)
{
    struct cpi_pool *pool = cpi_pool_of(handle, "cpool_stats_restart");
    cpool_stats_t stats;

    if (pool == NULL)
        return;
    read_figures(pool, &stats);
    cpi_usage_restart(&pool->usage, stats.live, cpi_os_now());
}

/* The pool, or NULL after what is wrong has been reported. */
static struct cpi_pool *printed_pool(const cpool_t *handle, FILE *out, const char *function)
{
    struct cpi_pool *pool = cpi_pool_of(handle, function);

    if (pool == NULL || out != NULL)
        return pool;
    cpi_pool_report(CPOOL_ENULL, function, pool);
    return NULL;
}

void cpool_print(const cpool_t *handle, FILE *out)
{
    struct cpi_pool *pool = printed_pool(handle, out, "cpool_print");
    cpool_stats_t stats = CPOOL_STATS_INIT;

    if (pool == NULL)
        return;
    read_figures(pool, &stats);
    fprintf(out, "pool '%s'%s: %zu slots of %zu bytes, one every %zu\n", pool->name,
            pool->checked ? " (checked)" : "", stats.capacity, stats.slot_size,
            stats.slot_stride);
    fprintf(out, "  slots      live %zu, in depot %zu, in caches %zu, fresh %zu, high water %zu, "
            "slack %zu\n",
            stats.live, stats.in_depot, stats.in_caches, stats.fresh, stats.high_water,
            stats.slack);
    fprintf(out, "  usage      live at most %zu, on average %zu\n", stats.live_peak,
            stats.live_average);
    fprintf(out, "  magazines  %zu of %zu rounds; %zu thread caches with up to %zu spares\n",
            stats.magazines, stats.magazine_rounds, stats.thread_caches, stats.spares);
    fprintf(out, "  depot      exchanges %" PRIu64 ", retries %" PRIu64 ", recalls %" PRIu64 "\n",
            stats.exchanges, stats.cas_retries, stats.recalls);
    fprintf(out, "  size       at most %zu slots, growths %" PRIu64 ", trims %" PRIu64
            ", waits %" PRIu64 "\n",
            stats.max_capacity, stats.growths, stats.trims, stats.waits);
    fprintf(out, "  memory     reserved %zu bytes, committed %zu bytes\n", stats.reserved_bytes,
            stats.committed_bytes);
}

/*
 * Bytes of the UTF-8 character that begins here, or 0 if none does.  The second byte
 * tells characters from overlong forms, surrogates, and values beyond the last one
 * (Unicode, table 3-7).
 */
static size_t utf8_length(const unsigned char *c)
{
    unsigned char low = c[0] == 0xe0 ? 0xa0 : c[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char high = c[0] == 0xed ? 0x9f : c[0] == 0xf4 ? 0x8f : 0xbf;
    size_t length = c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
    size_t i;

    if (c[0] < 0x80)
        return 1;
    if (c[0] < 0xc2 || c[0] > 0xf4 || c[1] < low || c[1] > high)
        return 0;
    for (i = 2; i < length; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

/* The name as a JSON string: quotes, backslashes and controls escaped, bytes that
 * are no UTF-8 replaced. */
static void print_json_name(const char *name, FILE *out)
{
    const unsigned char *c = (const unsigned char *)name;

    fputc('"', out);
    while (*c != '\0') {
        size_t length = utf8_length(c);

        if (length == 0)
            fputs("\\ufffd", out);
        else if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (*c < 0x20)
            fprintf(out, "\\u%04x", *c);
        else
            fwrite(c, 1, length, out);
        c += length > 0 ? length : 1;
    }
    fputc('"', out);
}

void cpool_print_json(const cpool_t *handle, FILE *out)
{
    struct cpi_pool *pool = printed_pool(handle, out, "cpool_print_json");
    cpool_stats_t stats = CPOOL_STATS_INIT;

    if (pool == NULL)
        return;
    read_figures(pool, &stats);
    fputs("{\"name\":", out);
    print_json_name(pool->name, out);
    fprintf(out, ",\"checked\":%s,\"capacity\":%zu,\"live\":%zu,\"in_depot\":%zu",
            pool->checked ? "true" : "false", stats.capacity, stats.live, stats.in_depot);
    fprintf(out, ",\"in_caches\":%zu,\"fresh\":%zu,\"high_water\":%zu", stats.in_caches,
            stats.fresh, stats.high_water);
    fprintf(out, ",\"slot_size\":%zu,\"slot_stride\":%zu,\"magazine_rounds\":%zu",
            stats.slot_size, stats.slot_stride, stats.magazine_rounds);
    fprintf(out, ",\"magazines\":%zu,\"thread_caches\":%zu,\"exchanges\":%" PRIu64,
            stats.magazines, stats.thread_caches, stats.exchanges);
    fprintf(out, ",\"cas_retries\":%" PRIu64 ",\"recalls\":%" PRIu64 ",\"spares\":%zu",
            stats.cas_retries, stats.recalls, stats.spares);
    fprintf(out, ",\"max_capacity\":%zu,\"slack\":%zu,\"growths\":%" PRIu64, stats.max_capacity,
            stats.slack, stats.growths);
    fprintf(out, ",\"trims\":%" PRIu64 ",\"waits\":%" PRIu64, stats.trims, stats.waits);
    fprintf(out, ",\"live_peak\":%zu,\"live_average\":%zu", stats.live_peak,
            stats.live_average);
    fprintf(out, ",\"reserved_bytes\":%zu,\"committed_bytes\":%zu}\n",
            stats.reserved_bytes, stats.committed_bytes);
}
