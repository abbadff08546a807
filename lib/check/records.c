/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * records.c - the last alloc and free of each slot, what reports tell of them, and the list of live
 * slots.
 *
 * ORDERING TABLE
 *   read | loads of a call's members | relaxed | - | -
 *
 * A record passes with its slot.  Another thread may read it at any time, and uses what it finds.
 */
#include "check/records.h"

#include <inttypes.h>

#include "host/os.h"

/* The contents of a struct cpi_recorded. */
struct recorded_call {
    uint64_t when;
    uintptr_t thread;
    uintptr_t caller;
};

/* Returns false if there was no such call.  While the slot changes hands, the result may mix two
 * calls. */
CPI_COLD static bool read_call(const struct cpi_recorded *call, struct recorded_call *visit)
{
    visit->when = cpi_load(&call->when, relaxed);     /* [read] */
    visit->thread = cpi_load(&call->thread, relaxed); /* [read] */
    visit->caller = cpi_load(&call->site, relaxed);   /* [read] */
    return visit->when != 0;
}

CPI_COLD const void *cpi_record_site(const struct cpi_slab *slab, uintptr_t index)
{
    struct recorded_call alloc;
    struct recorded_call free;
    bool freed;

    if (!cpi_slab_is_checked(slab) || index >= cpi_slab_fresh(slab))
        return NULL;
    freed = read_call(&cpi_record_of(slab, index)->calls[1], &free);
    if (!read_call(&cpi_record_of(slab, index)->calls[0], &alloc))
        return NULL;
    return (const void *)(freed && free.when > alloc.when ? free.caller : alloc.caller);
}

/* Adds the name and the number of the place's address. */
static void add_place(struct cpi_text *text, const struct recorded_call *visit)
{
    if (visit->caller == 0)
        return;
    cpi_trace_name(text, visit->caller);
    cpi_text_add(text, " [0x%" PRIxPTR "]", visit->caller);
}

/* Adds the time since `when`, in seconds. */
static void add_age(struct cpi_text *text, uint64_t when, uint64_t now)
{
    uint64_t age = now > when ? now - when : 0;

    cpi_text_add(text, "%" PRIu64 ".%03u s", age / 1000000000u,
                 (unsigned)(age / 1000000u % 1000u));
}

CPI_COLD bool cpi_recorded_tell(struct cpi_text *text, const struct cpi_recorded *call,
                                bool is_free)
{
    struct recorded_call visit;

    if (!read_call(call, &visit))
        return false;
    cpi_text_add(text, "cpool:     %s ", is_free ? "freed" : "allocated");
    add_age(text, visit.when, cpi_os_now());
    cpi_text_add(text, " ago by thread %" PRIuPTR " at ", visit.thread);
    add_place(text, &visit);
    cpi_text_add(text, "\n");
    return true;
}

CPI_COLD void cpi_record_tell(struct cpi_text *text, const struct cpi_slab *slab, uintptr_t index)
{
    int state;

    if (!cpi_slab_is_checked(slab) || index >= cpi_slab_fresh(slab))
        return;
    state = cpi_slotmap_slab_state(slab, index);
    cpi_text_add(text, "cpool:   slot %" PRIuPTR " at %p, %zu bytes, %s\n", index,
                 cpi_slab_slot(slab, index), slab->slot_size,
                 state == 0                   ? "is live"
                 : state == CPOOL_EDOUBLEFREE ? "is free"
                 : state == CPOOL_ERETIRED    ? "is retired"
                                              : "was never taken");
    cpi_recorded_tell(text, &cpi_record_of(slab, index)->calls[state != 0], state != 0);
    cpi_recorded_tell(text, &cpi_record_of(slab, index)->calls[state == 0], state == 0);
}

/* --- Live slots --- */

/* Further places are counted together. */
#define CPI_SITE_ROWS 64

struct site_row {
    uintptr_t index;             /* of the slot that has been live for longest */
    struct recorded_call oldest; /* its alloc */
    uint64_t youngest;           /* time of the latest alloc */
    size_t slots;
};

/* The last row counts all other places. */
static void count_slot(struct site_row *rows, size_t *used, uintptr_t index,
                       const struct recorded_call *visit)
{
    size_t i = 0;

    while (i < *used && rows[i].oldest.caller != visit->caller && i < CPI_SITE_ROWS - 1)
        i++;
    if (i == *used) {
        rows[i] = (struct site_row){index, *visit, visit->when, 0};
        ++*used;
    }
    rows[i].slots++;
    if (visit->when < rows[i].oldest.when) {
        rows[i].oldest = *visit;
        rows[i].index = index;
    }
    if (visit->when > rows[i].youngest)
        rows[i].youngest = visit->when;
}

static size_t count_places(const struct cpi_slab *slab, struct site_row *rows)
{
    uintptr_t fresh = cpi_slab_fresh(slab);
    size_t used = 0;

    for (uintptr_t index = 0; index < fresh; index++) {
        struct recorded_call visit;

        if (cpi_slotmap_slab_state(slab, index) == 0 &&
            read_call(&cpi_record_of(slab, index)->calls[0], &visit))
            count_slot(rows, &used, index, &visit);
    }
    return used;
}

/* Sorts by the number of slots, largest first. */
static void sort_rows(struct site_row *rows, size_t used)
{
    for (size_t i = 0; i < used; i++)
        for (size_t k = i + 1; k < used; k++)
            if (rows[k].slots > rows[i].slots) {
                struct site_row kept = rows[i];

                rows[i] = rows[k];
                rows[k] = kept;
            }
}

static void add_row(struct cpi_text *text, const struct cpi_slab *slab,
                    const struct site_row *row, bool rest, uint64_t now)
{
    if (rest) {
        cpi_text_add(text, "cpool:   %zu allocated elsewhere", row->slots);
    } else {
        cpi_text_add(text, "cpool:   %zu allocated at ", row->slots);
        add_place(text, &row->oldest);
        cpi_text_add(text, ", thread %" PRIuPTR ", one at %p", row->oldest.thread,
                     cpi_slab_slot(slab, row->index));
    }
    cpi_text_add(text, ", live for ");
    add_age(text, row->oldest.when, now);
    if (row->slots > 1) {
        cpi_text_add(text, " to ");
        add_age(text, row->youngest, now);
    }
}

CPI_COLD size_t cpi_leaks_list(const struct cpi_slab *slab, cpool_write_t write, void *arg)
{
    struct site_row rows[CPI_SITE_ROWS];
    size_t used = count_places(slab, rows);
    uint64_t now = cpi_os_now();
    size_t live = 0;

    sort_rows(rows, used < CPI_SITE_ROWS ? used : CPI_SITE_ROWS - 1);
    for (size_t i = 0; i < used; i++) {
        char line[CPI_REPORT_MAX];
        struct cpi_text text;

        cpi_text_init(&text, line, sizeof line - 1); /* room for the newline */
        add_row(&text, slab, &rows[i], i == CPI_SITE_ROWS - 1, now);
        line[text.length] = '\n';
        write(line, text.length + 1, arg);
        live += rows[i].slots;
    }
    return live;
}
