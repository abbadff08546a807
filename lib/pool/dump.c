/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dump.c - writes figures of one pool or of all, as text, JSON (doc/JSON.md) and metrics.
 *
 * Writes a copy, so that no lock is held while the program's function runs.
 */
#include "pool/report.h"
#include "pool/slots.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cpool/pools.h>

/* The flags that are written: the word in text, and the member in JSON. */
static const struct {
    unsigned flag;
    const char *word;
    const char *member;
} written_flags[] = {
    {CPOOL_CHECKED, "checked", "checked"},
    {CPOOL_HUGE_PAGES, "huge pages", "huge_pages"},
    {CPOOL_COLOUR, "coloured", "coloured"},
    {CPOOL_TRACKED, "tracked", "tracked"},
};

#define CPI_WRITTEN_FLAGS (sizeof written_flags / sizeof written_flags[0])

/* The figures, in the order in which they are written: those of cpool_stats_t, and those of the
 * mechanism.  A total is a count that only grows. */
#define FIGURE(name, end, member)                                                      \
    {#name, end, offsetof(struct cpi_figures, member), sizeof(((struct cpi_figures *)NULL)->member)}
#define STATS(name) FIGURE(name, "", stats.name)
#define STATS_TOTAL(name) FIGURE(name, "_total", stats.name)
#define OURS(name) FIGURE(name, "", name)
#define OURS_TOTAL(name) FIGURE(name, "_total", name)
static const struct {
    const char *name;
    const char *end; /* of a metric's name */
    size_t at;
    size_t size; /* of a size_t or a uint64_t */
} written_figures[] = {
    STATS(capacity), STATS(max_capacity), STATS(live), STATS(free), STATS(peak), STATS(average),
    STATS(circulating), STATS(retired), STATS(slot_size), STATS(slot_stride),
    STATS(reserved_bytes), STATS(committed_bytes), STATS_TOTAL(failures), STATS_TOTAL(stalls),
    STATS_TOTAL(waits), STATS_TOTAL(reclaims), STATS_TOTAL(system_calls), OURS(in_depot),
    OURS(in_caches), OURS(fresh), OURS(magazine_rounds), OURS(magazines), OURS(caches),
    OURS(spare_limit), OURS_TOTAL(exchanges), OURS_TOTAL(growths), OURS_TOTAL(registrations),
};
#undef OURS_TOTAL
#undef OURS
#undef STATS_TOTAL
#undef STATS
#undef FIGURE

#define CPI_WRITTEN_FIGURES (sizeof written_figures / sizeof written_figures[0])

/* Figures on one line of text. */
#define CPI_FIGURES_IN_LINE 6

static uint64_t figure_at(const cpool_view_t *view, size_t i)
{
    const struct cpi_view *whole = (const struct cpi_view *)(const void *)view;
    const void *at = (const char *)&whole->figures + written_figures[i].at;
    uint64_t figure;
    size_t narrow;

    if (written_figures[i].size == sizeof figure) {
        memcpy(&figure, at, sizeof figure);
        return figure;
    }
    memcpy(&narrow, at, sizeof narrow);
    return narrow;
}

/* The state of a walk that writes pools. */
struct dumping {
    cpool_write_t write;
    void *arg;
    enum cpool_dump_form form;
    size_t figure; /* the metric that is written now */
    size_t pools;
    size_t reserved;
    size_t committed;
};

CPI_PRINTF(2, 3) static void say(const struct dumping *dumping, const char *format, ...)
{
    char part[CPI_REPORT_MAX];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(part, sizeof part, format, arguments);
    va_end(arguments);
    dumping->write(part, strlen(part), dumping->arg);
}

/* Writes a word about the pool if `told`. */
static void say_word(const struct dumping *dumping, bool told, const char *word,
                     const char **before)
{
    if (!told)
        return;
    say(dumping, "%s%s", *before, word);
    *before = ", ";
}

static void write_text(const struct dumping *dumping, const cpool_view_t *view)
{
    const cpool_stats_t *stats = view->stats;
    const char *before = " (";

    say(dumping, "%s '%s'", cpi_client_title(view->kind), view->name);
    for (size_t i = 0; i < CPI_WRITTEN_FLAGS; i++)
        say_word(dumping, (view->flags & written_flags[i].flag) != 0, written_flags[i].word,
                 &before);
    say_word(dumping, (view->kind & CPOOL_VIEW_TYPED) != 0, "typed", &before);
    say_word(dumping, (view->kind & CPOOL_VIEW_OBJECTS) != 0 && view->pool == NULL, "fake",
             &before);
    say(dumping, "%s: %zu slot%s of ", *before == ',' ? ")" : "", stats->capacity,
        CPI_PLURAL(stats->capacity));
    if (stats->slot_size > 0)
        say(dumping, "%zu byte%s", stats->slot_size, CPI_PLURAL(stats->slot_size));
    else
        say(dumping, "many sizes");
    for (size_t i = 0; i < CPI_WRITTEN_FIGURES; i++)
        say(dumping, "%s%s %" PRIu64, i % CPI_FIGURES_IN_LINE == 0 ? "\n  " : ", ",
            written_figures[i].name, figure_at(view, i));
    say(dumping, "\n");
}

static void write_json(const struct dumping *dumping, const cpool_view_t *view)
{
    static const char *const words[] = {"false", "true"};

    say(dumping, "%s{\"name\":\"%s\"", dumping->pools > 0 ? "," : "", view->name);
    for (size_t i = 0; i < CPI_WRITTEN_FIGURES; i++)
        say(dumping, ",\"%s\":%" PRIu64, written_figures[i].name, figure_at(view, i));
    say(dumping, ",\"number\":%" PRIu64, view->number);
    for (size_t i = 0; i < CPI_WRITTEN_FLAGS; i++)
        say(dumping, ",\"%s\":%s", written_flags[i].member,
            words[(view->flags & written_flags[i].flag) != 0]);
    say(dumping, ",\"typed\":%s,\"callers_memory\":%s,\"kind\":\"%s\"}",
        words[(view->kind & CPOOL_VIEW_TYPED) != 0],
        words[(view->kind & CPOOL_VIEW_CALLERS) != 0], cpi_client_title(view->kind));
}

static void write_metric(const struct dumping *dumping, const cpool_view_t *view)
{
    say(dumping, "cpool_%s%s{pool=\"%s\",number=\"%" PRIu64 "\",kind=\"%s\"} %" PRIu64 "\n",
        written_figures[dumping->figure].name, written_figures[dumping->figure].end, view->name,
        view->number, cpi_client_title(view->kind), figure_at(view, dumping->figure));
}

static bool write_pool(const cpool_view_t *view, void *arg)
{
    struct dumping *dumping = arg;

    if (dumping->form == CPOOL_DUMP_TEXT)
        write_text(dumping, view);
    else if (dumping->form == CPOOL_DUMP_JSON)
        write_json(dumping, view);
    else
        write_metric(dumping, view);
    dumping->pools++;
    dumping->reserved += view->stats->reserved_bytes;
    dumping->committed += view->stats->committed_bytes;
    return true;
}

/* --- One pool, and all --- */

/* Writes this pool, or all pools if it is NULL. */
static void write_pools(struct dumping *dumping, const cpool_view_t *one)
{
    dumping->pools = 0;
    if (one != NULL)
        write_pool(one, dumping);
    else
        cpool_each(write_pool, dumping);
}

/* The lines of one metric follow each other, so each metric is a walk of its own. */
static void write_metrics(struct dumping *dumping, const cpool_view_t *one)
{
    for (size_t i = 0; i < CPI_WRITTEN_FIGURES; i++) {
        dumping->figure = i;
        say(dumping, "# TYPE cpool_%s%s %s\n", written_figures[i].name, written_figures[i].end,
            *written_figures[i].end == '\0' ? "gauge" : "counter");
        write_pools(dumping, one);
    }
}

static void write_form(struct dumping *dumping, const cpool_view_t *one)
{
    if (dumping->form == CPOOL_DUMP_PROMETHEUS) {
        write_metrics(dumping, one);
    } else if (dumping->form == CPOOL_DUMP_JSON) {
        if (one == NULL)
            say(dumping, "{\"version\":\"" CPOOL_VERSION "\",\"pools\":[");
        write_pools(dumping, one);
        say(dumping, one == NULL ? "]}\n" : "\n");
    } else {
        write_pools(dumping, one);
        if (one == NULL)
            say(dumping, "%zu pool%s: reserved %zu bytes, committed %zu bytes\n", dumping->pools,
                CPI_PLURAL(dumping->pools), dumping->reserved, dumping->committed);
    }
}

/* A heap profile in the text form of pprof.  Each live sample counts for as many slots as there are
 * allocs for a sample. */
static size_t write_profile(const struct dumping *dumping, const struct cpi_samples *samples)
{
    uint64_t bytes = (uint64_t)samples->every * samples->zone.slot_size;
    uintptr_t stack[CPI_SAMPLE_DEPTH + 1];
    uint64_t live = 0;

    for (size_t i = 0; i < CPI_SAMPLES; i++)
        live += cpi_sample_read(samples, i, stack);
    say(dumping, "heap profile: %" PRIu64 ": %" PRIu64 " [0: 0] @ heapprofile\n",
        live * samples->every, live * bytes);
    for (size_t i = 0; i < CPI_SAMPLES; i++) {
        if (!cpi_sample_read(samples, i, stack))
            continue;
        say(dumping, "%" PRIu32 ": %" PRIu64 " [0: 0] @", samples->every, bytes);
        for (size_t k = 0; k <= CPI_SAMPLE_DEPTH && stack[k] != 0; k++)
            say(dumping, " 0x%" PRIxPTR, stack[k]);
        say(dumping, "\n");
    }
    say(dumping, "\nMAPPED_LIBRARIES:\n");
    cpi_trace_modules(dumping->write, dumping->arg);
    return (size_t)live;
}

size_t cpool_dump(const cpool_t *handle, enum cpool_dump_form form, cpool_write_t write, void *arg)
{
    static const char function[] = "cpool_dump";
    struct dumping dumping = {write, arg, form, 0, 0, 0, 0};
    struct cpi_view view;
    bool all = handle == NULL && form != CPOOL_DUMP_LIVE && form != CPOOL_DUMP_PROFILE;
    const struct cpi_pool *pool = all ? NULL : cpi_pool_seen(handle, function);
    cpool_error_t error = {.code = CPOOL_EFLAGS, .function = function, .name = ""};

    if ((unsigned)form > CPOOL_DUMP_PROFILE) {
        cpool_client_report(&error, "%s: there is no form %u", function, (unsigned)form);
        return 0;
    }
    if (!all && pool == NULL)
        return 0;
    if (form == CPOOL_DUMP_PROFILE)
        return pool->samples != NULL ? write_profile(&dumping, pool->samples) : 0;
    if (form == CPOOL_DUMP_LIVE)
        return pool->checked ? cpi_leaks_list(&pool->slab, write, arg) : 0;
    if (all)
        write_form(&dumping, NULL);
    else if (cpi_view_read(&view, (size_t)(pool->handle - cpi_handles()->handles)))
        write_form(&dumping, &view.public);
    return dumping.pools;
}
