/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_print.c - figures for a person, and as JSON, of one pool or of all.
 *
 * Floor 6.
 *
 * A copy is printed: the lock is not held while a stream is written to.
 */
#include "pool_impl.h"

#include <inttypes.h>

#include <cpool/pools.h>

/* --- For a person --- */

/* The flags that are told, in the order of the words, and their members in JSON. */
static const struct {
    unsigned flag;
    const char *word;
    const char *member;
} kinds[] = {
    {CPOOL_CHECKED, "checked", "checked"},
    {CPOOL_EXACT, "exact", "exact"},
    {CPOOL_WAITABLE, "waitable", "waitable"},
    {CPOOL_HUGE_PAGES, "huge pages", "huge_pages"},
    {CPOOL_COLOUR, "coloured", "coloured"},
    {CPOOL_TRACKED, "tracked", "tracked"},
    {CPOOL_RESERVED, "reserved", "reserved"},
    {CPOOL_FAKE, "fake", "fake"},
    {CPOOL_CHAOS, "chaos", "chaos"},
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
    fputs(*before == ',' ? ")" : "", out);
}

static void print_tags(const cpool_t *handle, FILE *out)
{
    cpool_tag_view_t tag;
    size_t i;

    for (i = 0; cpi_tag_read(handle, i, &tag); i++)
        fprintf(out, "  tag        '%s' live %zu, at most %zu, limit %zu, refused %zu\n", tag.name,
                tag.live, tag.peak, tag.limit, tag.refused);
}

static void print_view(const cpool_view_t *view, FILE *out)
{
    const cpool_stats_t *stats = view->stats;

    fprintf(out, "pool '%s'", view->name);
    print_kind(view, out);
    fprintf(out, ": %zu slots of %zu bytes, one every %zu\n", stats->capacity, stats->slot_size,
            stats->slot_stride);
    fprintf(out, "  slots      live %zu, in depot %zu, in caches %zu, fresh %zu, high water %zu, "
            "slack %zu\n",
            stats->live, stats->in_depot, stats->in_caches, stats->fresh, stats->high_water,
            stats->slack);
    fprintf(out, "  usage      live at most %zu, on average %zu\n", stats->live_peak,
            stats->live_average);
    fprintf(out, "  magazines  %zu of %zu rounds; %zu thread caches with up to %zu spares\n",
            stats->magazines, stats->magazine_rounds, stats->thread_caches, stats->spares);
    fprintf(out, "  depot      exchanges %" PRIu64 ", retries %" PRIu64 ", recalls %" PRIu64 "\n",
            stats->exchanges, stats->cas_retries, stats->recalls);
    fprintf(out, "  size       at most %zu slots, growths %" PRIu64 ", trims %" PRIu64
            ", waits %" PRIu64 "\n",
            stats->max_capacity, stats->growths, stats->trims, stats->waits);
    fprintf(out, "  memory     reserved %zu bytes, committed %zu bytes\n", stats->reserved_bytes,
            stats->committed_bytes);
    print_tags(view->pool, out);
}

/* --- JSON: doc/JSON.md says what each member means --- */

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

static const char *word_of(bool value)
{
    return value ? "true" : "false";
}

static void print_json_flags(const cpool_view_t *view, FILE *out)
{
    size_t i;

    fprintf(out, ",\"stalls\":%" PRIu64 ",\"number\":%" PRIu64, view->stats->stalls, view->number);
    for (i = 0; i < CPI_KINDS; i++)
        fprintf(out, ",\"%s\":%s", kinds[i].member, word_of((view->flags & kinds[i].flag) != 0));
    fprintf(out, ",\"typed\":%s", word_of((view->kind & CPOOL_VIEW_TYPED) != 0));
    fprintf(out, ",\"callers_memory\":%s", word_of((view->kind & CPOOL_VIEW_CALLERS) != 0));
}

static void print_json_tags(const cpool_t *handle, FILE *out)
{
    cpool_tag_view_t tag;
    size_t i;

    fputs(",\"tags\":[", out);
    for (i = 0; cpi_tag_read(handle, i, &tag); i++) {
        fputs(i > 0 ? ",{\"name\":" : "{\"name\":", out);
        print_json_name(tag.name, out);
        fprintf(out, ",\"live\":%zu,\"live_peak\":%zu,\"limit\":%zu,\"refused\":%zu}", tag.live,
                tag.peak, tag.limit, tag.refused);
    }
    fputs("]", out);
}

static void print_json_view(const cpool_view_t *view, FILE *out)
{
    const cpool_stats_t *stats = view->stats;

    fputs("{\"name\":", out);
    print_json_name(view->name, out);
    fprintf(out, ",\"capacity\":%zu,\"live\":%zu,\"in_depot\":%zu", stats->capacity, stats->live,
            stats->in_depot);
    fprintf(out, ",\"in_caches\":%zu,\"fresh\":%zu,\"high_water\":%zu", stats->in_caches,
            stats->fresh, stats->high_water);
    fprintf(out, ",\"slot_size\":%zu,\"slot_stride\":%zu,\"magazine_rounds\":%zu",
            stats->slot_size, stats->slot_stride, stats->magazine_rounds);
    fprintf(out, ",\"magazines\":%zu,\"thread_caches\":%zu,\"exchanges\":%" PRIu64,
            stats->magazines, stats->thread_caches, stats->exchanges);
    fprintf(out, ",\"cas_retries\":%" PRIu64 ",\"recalls\":%" PRIu64 ",\"spares\":%zu",
            stats->cas_retries, stats->recalls, stats->spares);
    fprintf(out, ",\"max_capacity\":%zu,\"slack\":%zu,\"growths\":%" PRIu64, stats->max_capacity,
            stats->slack, stats->growths);
    fprintf(out, ",\"trims\":%" PRIu64 ",\"waits\":%" PRIu64, stats->trims, stats->waits);
    fprintf(out, ",\"live_peak\":%zu,\"live_average\":%zu", stats->live_peak,
            stats->live_average);
    fprintf(out, ",\"reserved_bytes\":%zu,\"committed_bytes\":%zu", stats->reserved_bytes,
            stats->committed_bytes);
    print_json_flags(view, out);
    print_json_tags(view->pool, out);
    fputc('}', out);
}

/* --- One pool, and all --- */

/* Reads a pool for printing.  Returns false after what is wrong has been reported. */
static bool read_printed(const cpool_t *handle, FILE *out, struct cpi_view *view,
                         const char *function)
{
    const struct cpi_pool *pool = cpi_pool_of(handle, function);

    if (pool != NULL && out == NULL)
        cpi_pool_report(CPOOL_ENULL, function, pool);
    return pool != NULL && out != NULL &&
           cpi_view_read(view, (size_t)(handle - cpi_handles.handles));
}

void cpool_print(const cpool_t *handle, FILE *out)
{
    struct cpi_view view;

    if (read_printed(handle, out, &view, "cpool_print"))
        print_view(&view.public, out);
}

void cpool_print_json(const cpool_t *handle, FILE *out)
{
    struct cpi_view view;

    if (!read_printed(handle, out, &view, "cpool_print_json"))
        return;
    print_json_view(&view.public, out);
    fputc('\n', out);
}

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

void cpool_print_all(FILE *out)
{
    struct printing all = {out, 0, 0, 0};

    if (out == NULL)
        return;
    cpool_each(print_one, &all);
    fprintf(out, "%zu pools: reserved %zu bytes, committed %zu bytes\n", all.pools, all.reserved,
            all.committed);
}

static bool print_json_one(const cpool_view_t *view, void *printing)
{
    struct printing *all = printing;

    if (all->pools++ > 0)
        fputc(',', all->out);
    print_json_view(view, all->out);
    return true;
}

void cpool_print_json_all(FILE *out)
{
    struct printing all = {out, 0, 0, 0};

    if (out == NULL)
        return;
    fprintf(out, "{\"version\":\"%s\",\"pools\":[", cpool_version());
    cpool_each(print_json_one, &all);
    fputs("]}\n", out);
}
