/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * print.c - figures for a person, and as JSON, of one pool or of all.
 *
 * A copy is printed: the lock is not held while a stream is written to.
 */
#include "pool/stats.h"
#include "pool/report.h"
#include "pool/slots.h"

#include <inttypes.h>

#include <cpool/pools.h>

#include "pool/layer.h"

/* --- For a person --- */

/* The flags that are told, in the order of the words, and their members in JSON. */
static const struct {
    unsigned flag;
    const char *word;
    const char *member;
} kinds[] = {
    {CPOOL_CHECKED, "checked", "checked"},
    {CPOOL_FILL, "filled", "filled"},
    {CPOOL_MEMORY_HUGE_PAGES, "huge pages", "huge_pages"},
    {CPOOL_MEMORY_COLOUR, "coloured", "coloured"},
    {CPOOL_TRACKED, "tracked", "tracked"},
};

#define CPI_KINDS (sizeof kinds / sizeof kinds[0])

static void print_kind(const cpool_view_t *view, FILE *out)
{
    const char *before = " (";
    size_t i;

    for (i = 0; i < CPI_KINDS; i++) {
        if ((view->flags & kinds[i].flag) == 0)
            continue;
        fprintf(out, "%s%s", before, kinds[i].word);
        before = ", ";
    }
    if ((view->kind & CPOOL_VIEW_TYPED) != 0) {
        fprintf(out, "%styped", before);
        before = ", ";
    }
    if ((view->kind & CPOOL_VIEW_OBJECTS) != 0 && view->pool == NULL) {
        fprintf(out, "%sfake", before);
        before = ", ";
    }
    fputs(*before == ',' ? ")" : "", out);
}

static void print_view(const cpool_view_t *view, FILE *out)
{
    const cpool_stats_t *stats = view->stats;

    fprintf(out, "%s '%s'", cpi_layer_title(view->kind), view->name);
    print_kind(view, out);
    if (stats->slot_size > 0)
        fprintf(out, ": %zu slot%s of %zu byte%s, one every %zu\n", stats->capacity,
                CPI_PLURAL(stats->capacity), stats->slot_size, CPI_PLURAL(stats->slot_size),
                stats->slot_stride);
    else
        fprintf(out, ": %zu slot%s of many sizes\n", stats->capacity,
                CPI_PLURAL(stats->capacity));
    fprintf(out, "  slots      live %zu, in depot %zu, in caches %zu, fresh %zu, circulating %zu\n",
            stats->live, stats->in_depot, stats->in_caches, stats->fresh, stats->circulating);
    if (stats->slot_size > 0)
        fprintf(out, "  live       at most %zu, on average %zu, at exchanges\n", stats->peak,
                stats->average);
    fprintf(out, "  magazines  %zu of %zu round%s; %zu thread cache%s with up to %zu spare%s\n",
            stats->magazines, stats->magazine_rounds, CPI_PLURAL(stats->magazine_rounds),
            stats->thread_caches, CPI_PLURAL(stats->thread_caches), stats->spares,
            CPI_PLURAL(stats->spares));
    fprintf(out, "  depot      exchanges %" PRIu64 ", retries %" PRIu64 ", recalls %" PRIu64 "\n",
            stats->exchanges, stats->cas_retries, stats->recalls);
    fprintf(out, "  size       at most %zu slot%s, growths %" PRIu64 ", trims %" PRIu64
            ", waits %" PRIu64 "\n",
            stats->max_capacity, CPI_PLURAL(stats->max_capacity), stats->growths, stats->trims,
            stats->waits);
    fprintf(out, "  memory     reserved %zu bytes, committed %zu bytes\n", stats->reserved_bytes,
            stats->committed_bytes);
}

/* --- JSON: doc/JSON.md says what each member means --- */

static const char *word_of(bool value)
{
    return value ? "true" : "false";
}

/* In the order in which they are printed. */
#define FIGURE(member)                                                                 \
    {#member, offsetof(cpool_stats_t, member), sizeof(((cpool_stats_t *)NULL)->member)}
static const struct {
    const char *name;
    size_t at;
    size_t size; /* that of a size_t or a uint64_t */
} printed_figures[] = {
    FIGURE(capacity), FIGURE(live), FIGURE(in_depot), FIGURE(in_caches), FIGURE(fresh),
    FIGURE(circulating), FIGURE(slot_size), FIGURE(slot_stride), FIGURE(magazine_rounds),
    FIGURE(magazines), FIGURE(thread_caches), FIGURE(exchanges), FIGURE(cas_retries),
    FIGURE(recalls), FIGURE(spares), FIGURE(max_capacity), FIGURE(growths),
    FIGURE(trims), FIGURE(waits), FIGURE(peak), FIGURE(average), FIGURE(system_calls),
    FIGURE(registrations), FIGURE(reserved_bytes), FIGURE(committed_bytes), FIGURE(stalls),
};
#undef FIGURE

static void print_json_view(const cpool_view_t *view, FILE *out)
{
    size_t i;

    fprintf(out, "{\"name\":\"%s\"", view->name);
    for (i = 0; i < sizeof printed_figures / sizeof printed_figures[0]; i++) {
        const void *at = (const char *)view->stats + printed_figures[i].at;
        uint64_t figure = printed_figures[i].size == sizeof(size_t) ? *(const size_t *)at
                                                                    : *(const uint64_t *)at;

        fprintf(out, ",\"%s\":%" PRIu64, printed_figures[i].name, figure);
    }
    fprintf(out, ",\"number\":%" PRIu64, view->number);
    for (i = 0; i < CPI_KINDS; i++)
        fprintf(out, ",\"%s\":%s", kinds[i].member, word_of((view->flags & kinds[i].flag) != 0));
    fprintf(out, ",\"typed\":%s", word_of((view->kind & CPOOL_VIEW_TYPED) != 0));
    fprintf(out, ",\"callers_memory\":%s", word_of((view->kind & CPOOL_VIEW_CALLERS) != 0));
    fprintf(out, ",\"kind\":\"%s\"}", cpi_layer_title(view->kind));
}

/* --- One pool, and all --- */

/* Carried along by a walk for printing. */
struct printing {
    FILE *out;
    size_t pools;
    size_t reserved;
    size_t committed;
};

static bool print_one(const cpool_view_t *view, void *printing)
{
    struct printing *all = printing;

    print_view(view, all->out);
    all->pools++;
    all->reserved += view->stats->reserved_bytes;
    all->committed += view->stats->committed_bytes;
    return true;
}

static size_t print_all(FILE *out)
{
    struct printing all = {out, 0, 0, 0};

    cpool_each(print_one, &all);
    fprintf(out, "%zu pool%s: reserved %zu bytes, committed %zu bytes\n", all.pools,
            CPI_PLURAL(all.pools), all.reserved, all.committed);
    return all.pools;
}

static bool print_json_one(const cpool_view_t *view, void *printing)
{
    struct printing *all = printing;

    if (all->pools++ > 0)
        fputc(',', all->out);
    print_json_view(view, all->out);
    return true;
}

static size_t print_json_all(FILE *out)
{
    struct printing all = {out, 0, 0, 0};

    fputs("{\"version\":\"" CPOOL_VERSION "\",\"pools\":[", out);
    cpool_each(print_json_one, &all);
    fputs("]}\n", out);
    return all.pools;
}

/* One pool's figures. */
static size_t print_pool(const struct cpi_pool *pool, enum cpool_print_what what, FILE *out)
{
    struct cpi_view view;

    if (!cpi_view_read(&view, (size_t)(pool->handle - cpi_handles()->handles)))
        return 0;
    (what == CPOOL_PRINT_FIGURES ? print_view : print_json_view)(&view.public, out);
    if (what == CPOOL_PRINT_JSON)
        fputc('\n', out);
    return 1;
}

static void print_line(void *out, const char *line, size_t length)
{
    fwrite(line, 1, length, out);
}

static size_t print_of(const cpool_t *handle, enum cpool_print_what what, FILE *out)
{
    const struct cpi_pool *pool = cpi_pool_seen(handle, "cpool_print");

    if (pool == NULL)
        return 0;
    if (out == NULL || (unsigned)what > CPOOL_PRINT_LIVE) {
        cpi_pool_report(out == NULL ? CPOOL_ENULL : CPOOL_EFLAGS, "cpool_print", pool);
        return 0;
    }
    if (what == CPOOL_PRINT_FIGURES || what == CPOOL_PRINT_JSON)
        return print_pool(pool, what, out);
    return pool->checked ? cpi_leaks_list(&pool->slab, print_line, out) : 0;
}

size_t cpool_print(const cpool_t *handle, enum cpool_print_what what, FILE *out)
{
    if (what != CPOOL_PRINT_ALL && what != CPOOL_PRINT_ALL_JSON)
        return print_of(handle, what, out);
    if (out == NULL)
        return 0;
    return what == CPOOL_PRINT_ALL ? print_all(out) : print_json_all(out);
}
