/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * site.c - where slots were taken and freed.
 *
 * ORDERING TABLE
 *   note | stores of a call's members | relaxed | - | -
 *   read | loads of a call's members  | relaxed | - | -
 *
 * A record passes with its slot.  A thread that reads another's takes what is there.
 */
#include "check/site.h"

#include <inttypes.h>

#include "base/atomic.h"
#include "base/error.h"
#include "host/os.h"

void cpi_site_note(const struct cpi_slab *slab, uintptr_t index, bool is_free, const void *site)
{
    struct cpi_recorded *call = &cpi_record_of(slab, index)->calls[is_free];

    cpi_store(&call->when, cpi_os_now(), relaxed);         /* [note] */
    cpi_store(&call->thread, cpi_trace_thread(), relaxed); /* [note] */
    cpi_store(&call->site, (uintptr_t)site, relaxed);      /* [note] */
}

bool cpi_site_read(const struct cpi_slab *slab, uintptr_t index, bool is_free,
                   struct cpi_visit *visit)
{
    const struct cpi_recorded *call = &cpi_record_of(slab, index)->calls[is_free];

    visit->when = cpi_load(&call->when, relaxed);     /* [read] */
    visit->thread = cpi_load(&call->thread, relaxed); /* [read] */
    visit->site = cpi_load(&call->site, relaxed);     /* [read] */
    return visit->when != 0;
}

void cpi_site_add_place(struct cpi_text *text, const struct cpi_visit *visit)
{
    if (visit->site == 0)
        return;
    cpi_trace_name(text, visit->site);
    cpi_text_add(text, " [0x%" PRIxPTR "]", visit->site);
}

void cpi_site_add_age(struct cpi_text *text, uint64_t when, uint64_t now)
{
    uint64_t age = now > when ? now - when : 0;

    cpi_text_add(text, "%" PRIu64 ".%03u s", age / 1000000000u,
                 (unsigned)(age / 1000000u % 1000u));
}

/* --- The list of live slots --- */

struct row {
    uintptr_t index; /* of an example */
    uintptr_t site;
    size_t slots;
    uint64_t oldest; /* of their allocs */
    uint64_t youngest;
};

/* The last row is for all other places. */
static void count_one(struct row *rows, size_t *used, uintptr_t index,
                      const struct cpi_visit *visit)
{
    size_t i = 0;

    while (i < *used && rows[i].site != visit->site && i < CPI_SITE_ROWS - 1)
        i++;
    if (i == *used) {
        rows[i].index = index;
        rows[i].site = visit->site;
        rows[i].slots = 0;
        rows[i].oldest = visit->when;
        rows[i].youngest = visit->when;
        ++*used;
    }
    rows[i].slots++;
    if (visit->when < rows[i].oldest) {
        rows[i].oldest = visit->when;
        rows[i].index = index;
    }
    if (visit->when > rows[i].youngest)
        rows[i].youngest = visit->when;
}

static size_t count_places(const struct cpi_slab *slab, const struct cpi_slotmap *map,
                           struct row *rows)
{
    uintptr_t fresh = cpi_slab_fresh(slab);
    uintptr_t index;
    size_t used = 0;

    for (index = 0; index < fresh; index++) {
        struct cpi_visit visit;

        if (cpi_slotmap_state(map, index) == CPI_SLOTMAP_LIVE_ONE &&
            cpi_site_read(slab, index, false, &visit))
            count_one(rows, &used, index, &visit);
    }
    return used;
}

static void swap(struct row *a, struct row *b)
{
    struct row kept = *a;

    *a = *b;
    *b = kept;
}

/* Those with most slots first. */
static void sort(struct row *rows, size_t used)
{
    size_t i;
    size_t k;

    for (i = 0; i < used; i++)
        for (k = i + 1; k < used; k++)
            if (rows[k].slots > rows[i].slots)
                swap(&rows[i], &rows[k]);
}

static void add_line(const struct cpi_slab *slab, const struct row *row, bool rest, uint64_t now,
                     struct cpi_text *text)
{
    struct cpi_visit visit;

    if (rest) {
        cpi_text_add(text, "cpool:   %zu allocated elsewhere", row->slots);
    } else {
        cpi_site_read(slab, row->index, false, &visit);
        cpi_text_add(text, "cpool:   %zu allocated at ", row->slots);
        cpi_site_add_place(text, &visit);
        cpi_text_add(text, ", thread %" PRIuPTR ", one at %p", visit.thread,
                     cpi_slab_slot(slab, row->index));
    }
    cpi_text_add(text, ", live for ");
    cpi_site_add_age(text, row->oldest, now);
    if (row->slots > 1) {
        cpi_text_add(text, " to ");
        cpi_site_add_age(text, row->youngest, now);
    }
}

size_t cpi_site_list(const struct cpi_slab *slab, const struct cpi_slotmap *map,
                     cpi_line_sink *sink, void *context)
{
    struct row rows[CPI_SITE_ROWS];
    size_t used = count_places(slab, map, rows);
    uint64_t now = cpi_os_now();
    size_t live = 0;
    size_t i;

    sort(rows, used < CPI_SITE_ROWS ? used : CPI_SITE_ROWS - 1);
    for (i = 0; i < used; i++) {
        char line[CPI_REPORT_MAX];
        struct cpi_text text;

        cpi_text_init(&text, line, sizeof line - 1); /* room for the end of the line */
        add_line(slab, &rows[i], i == CPI_SITE_ROWS - 1, now, &text);
        line[text.length] = '\n';
        sink(context, line, text.length + 1);
        live += rows[i].slots;
    }
    return live;
}
