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
#include <string.h>

#include "base/atomic.h"
#include "base/error.h"
#include "host/os.h"

void cpi_site_note(const struct cpi_slab *slab, uintptr_t index, bool is_free, const void *site)
{
    struct cpi_recorded *call = cpi_record_call(slab, index, is_free);
    uintptr_t frames[CPI_TRACE_MAX];
    size_t count = cpi_record_frames(slab);
    size_t i;

    cpi_trace_take(frames, count, site);
    cpi_store(&call->when, cpi_os_now(), relaxed);         /* [note] */
    cpi_store(&call->thread, cpi_trace_thread(), relaxed); /* [note] */
    for (i = 0; i < count; i++)
        cpi_store(&call->frames[i], frames[i], relaxed); /* [note] */
}

bool cpi_site_read(const struct cpi_slab *slab, uintptr_t index, bool is_free,
                   struct cpi_visit *visit)
{
    const struct cpi_recorded *call = cpi_record_call(slab, index, is_free);
    size_t frames = cpi_record_frames(slab);
    size_t i;

    visit->when = cpi_load(&call->when, relaxed);     /* [read] */
    visit->thread = cpi_load(&call->thread, relaxed); /* [read] */
    visit->count = 0;
    for (i = 0; i < frames; i++) {
        visit->frames[i] = cpi_load(&call->frames[i], relaxed); /* [read] */
        if (visit->frames[i] != 0)
            visit->count = i + 1;
    }
    return visit->when != 0;
}

void cpi_site_add_place(struct cpi_text *text, const struct cpi_visit *visit)
{
    if (visit->count == 0)
        return;
    cpi_trace_name(text, visit->frames[0]);
    cpi_text_add(text, " [0x%" PRIxPTR "]", visit->frames[0]);
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
    uint64_t key;    /* of the place; 0: all other places */
    size_t slots;
    uint64_t oldest; /* of their allocs */
    uint64_t youngest;
};

/* A number for the place with all of its frames: never 0. */
static uint64_t key_of(const struct cpi_visit *visit)
{
    uint64_t key = 0;
    size_t i;

    for (i = 0; i < visit->count; i++)
        key = (key ^ visit->frames[i]) * UINT64_C(0x9E3779B97F4A7C15) + (key >> 29);
    return key | 1u;
}

static void count_one(struct row *rows, size_t *used, uintptr_t index,
                      const struct cpi_visit *visit)
{
    uint64_t key = key_of(visit);
    size_t i = 0;

    while (i < *used && rows[i].key != key && i < CPI_SITE_ROWS - 1)
        i++;
    if (i == *used) {
        rows[i].index = index;
        rows[i].key = i < CPI_SITE_ROWS - 1 ? key : 0;
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

/* Those with most slots first, and the rest at the end. */
static void sort(struct row *rows, size_t used)
{
    size_t i;
    size_t k;

    for (i = 0; i < used; i++)
        for (k = i + 1; k < used; k++)
            if (rows[k].key != 0 && (rows[i].key == 0 || rows[k].slots > rows[i].slots))
                swap(&rows[i], &rows[k]);
}

static void add_line(const struct cpi_slab *slab, const struct row *row, uint64_t now,
                     struct cpi_text *text)
{
    struct cpi_visit visit;
    size_t i;

    if (row->key == 0) {
        cpi_text_add(text, "cpool:   %zu allocated elsewhere", row->slots);
    } else {
        cpi_site_read(slab, row->index, false, &visit);
        cpi_text_add(text, "cpool:   %zu allocated at ", row->slots);
        cpi_site_add_place(text, &visit);
        for (i = 1; i < visit.count; i++) {
            cpi_text_add(text, " < ");
            cpi_trace_name(text, visit.frames[i]);
        }
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

    sort(rows, used);
    for (i = 0; i < used; i++) {
        char line[4 * CPI_REPORT_MAX];
        struct cpi_text text;

        cpi_text_init(&text, line, sizeof line - 1); /* room for the end of the line */
        add_line(slab, &rows[i], now, &text);
        line[text.length] = '\n';
        sink(context, line, text.length + 1);
        live += rows[i].slots;
    }
    return live;
}
