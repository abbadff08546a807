/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * print.c - prints figures of one pool or of all, as text and as JSON (doc/JSON.md).
 *
 * Prints a copy, so that the lock is not held while it writes to a stream.
 */
#include "pool/report.h"
#include "pool/slots.h"

#include <inttypes.h>

#include <cpool/pools.h>

/* The flags that are printed: the word in text, and the member in JSON. */
static const struct {
    unsigned flag;
    const char *word;
    const char *member;
} printed_flags[] = {
    {CPOOL_CHECKED, "checked", "checked"},
    {CPOOL_FILL, "filled", "filled"},
    {CPOOL_HUGE_PAGES, "huge pages", "huge_pages"},
    {CPOOL_COLOUR, "coloured", "coloured"},
    {CPOOL_TRACKED, "tracked", "tracked"},
};

#define CPI_PRINTED_FLAGS (sizeof printed_flags / sizeof printed_flags[0])

/* The figures, in the order in which they are printed. */
#define FIGURE(member)                                                                 \
    {#member, offsetof(cpool_stats_t, member), sizeof(((cpool_stats_t *)NULL)->member)}
static const struct {
    const char *name;
    size_t at;
    size_t size; /* of a size_t or a uint64_t */
} printed_figures[] = {
    FIGURE(capacity), FIGURE(live), FIGURE(in_depot), FIGURE(in_caches), FIGURE(fresh),
    FIGURE(circulating), FIGURE(slot_size), FIGURE(slot_stride), FIGURE(magazine_rounds),
    FIGURE(magazines), FIGURE(thread_caches), FIGURE(exchanges),
    FIGURE(recalls), FIGURE(spares), FIGURE(max_capacity), FIGURE(growths),
    FIGURE(waits), FIGURE(peak), FIGURE(average), FIGURE(system_calls),
    FIGURE(registrations), FIGURE(reserved_bytes), FIGURE(committed_bytes), FIGURE(stalls),
};
#undef FIGURE

#define CPI_PRINTED_FIGURES (sizeof printed_figures / sizeof printed_figures[0])

/* Figures on one line of text. */
#define CPI_FIGURES_IN_LINE 6

static uint64_t figure_at(const cpool_stats_t *stats, size_t i)
{
    const void *at = (const char *)stats + printed_figures[i].at;

    return printed_figures[i].size == sizeof(size_t) ? *(const size_t *)at : *(const uint64_t *)at;
}

/* Prints a word about the pool if `told`. */
static void print_word(FILE *out, bool told, const char *word, const char **before)
{
    if (!told)
        return;
    fprintf(out, "%s%s", *before, word);
    *before = ", ";
}

static void print_text(const cpool_view_t *view, FILE *out)
{
    const cpool_stats_t *stats = view->stats;
    const char *before = " (";

    fprintf(out, "%s '%s'", cpi_client_title(view->kind), view->name);
    for (size_t i = 0; i < CPI_PRINTED_FLAGS; i++)
        print_word(out, (view->flags & printed_flags[i].flag) != 0, printed_flags[i].word, &before);
    print_word(out, (view->kind & CPOOL_VIEW_TYPED) != 0, "typed", &before);
    print_word(out, (view->kind & CPOOL_VIEW_OBJECTS) != 0 && view->pool == NULL, "fake", &before);
    fprintf(out, "%s: %zu slot%s of ", *before == ',' ? ")" : "", stats->capacity,
            CPI_PLURAL(stats->capacity));
    if (stats->slot_size > 0)
        fprintf(out, "%zu byte%s", stats->slot_size, CPI_PLURAL(stats->slot_size));
    else
        fputs("many sizes", out);
    for (size_t i = 0; i < CPI_PRINTED_FIGURES; i++)
        fprintf(out, "%s%s %" PRIu64, i % CPI_FIGURES_IN_LINE == 0 ? "\n  " : ", ",
                printed_figures[i].name, figure_at(stats, i));
    fputc('\n', out);
}

static void print_json(const cpool_view_t *view, FILE *out)
{
    static const char *const words[] = {"false", "true"};

    fprintf(out, "{\"name\":\"%s\"", view->name);
    for (size_t i = 0; i < CPI_PRINTED_FIGURES; i++)
        fprintf(out, ",\"%s\":%" PRIu64, printed_figures[i].name, figure_at(view->stats, i));
    fprintf(out, ",\"number\":%" PRIu64, view->number);
    for (size_t i = 0; i < CPI_PRINTED_FLAGS; i++)
        fprintf(out, ",\"%s\":%s", printed_flags[i].member,
                words[(view->flags & printed_flags[i].flag) != 0]);
    fprintf(out, ",\"typed\":%s,\"callers_memory\":%s,\"kind\":\"%s\"}",
            words[(view->kind & CPOOL_VIEW_TYPED) != 0],
            words[(view->kind & CPOOL_VIEW_CALLERS) != 0], cpi_client_title(view->kind));
}

/* --- One pool, and all --- */

/* The state of a walk that prints pools. */
struct printing {
    FILE *out;
    bool json;
    size_t pools;
    size_t reserved;
    size_t committed;
};

static bool print_one(const cpool_view_t *view, void *printing)
{
    struct printing *all = printing;

    if (all->json && all->pools > 0)
        fputc(',', all->out);
    (all->json ? print_json : print_text)(view, all->out);
    all->pools++;
    all->reserved += view->stats->reserved_bytes;
    all->committed += view->stats->committed_bytes;
    return true;
}

static size_t print_all(FILE *out, bool json)
{
    struct printing all = {out, json, 0, 0, 0};

    fputs(json ? "{\"version\":\"" CPOOL_VERSION "\",\"pools\":[" : "", out);
    cpool_each(print_one, &all);
    if (json)
        fputs("]}\n", out);
    else
        fprintf(out, "%zu pool%s: reserved %zu bytes, committed %zu bytes\n", all.pools,
                CPI_PLURAL(all.pools), all.reserved, all.committed);
    return all.pools;
}

/* Prints the figures of one pool. */
static size_t print_pool(const struct cpi_pool *pool, bool json, FILE *out)
{
    struct printing one = {out, json, 0, 0, 0};
    struct cpi_view view;

    if (!cpi_view_read(&view, (size_t)(pool->handle - cpi_handles()->handles)))
        return 0;
    print_one(&view.public, &one);
    fputs(json ? "\n" : "", out);
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
        return print_pool(pool, what == CPOOL_PRINT_JSON, out);
    return pool->checked ? cpi_leaks_list(&pool->slab, print_line, out) : 0;
}

size_t cpool_print(const cpool_t *handle, enum cpool_print_what what, FILE *out)
{
    if (what != CPOOL_PRINT_ALL && what != CPOOL_PRINT_ALL_JSON)
        return print_of(handle, what, out);
    return out != NULL ? print_all(out, what == CPOOL_PRINT_ALL_JSON) : 0;
}
