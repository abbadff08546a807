/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * leaks.c - the list of live slots.
 */
#include "check/records.h"

#include <inttypes.h>

#include "host/os.h"

/* Further places are counted together. */
#define CPI_SITE_ROWS 64

struct site_row {
    uintptr_t index;         /* of the slot that has been live for longest */
    struct cpi_visit oldest; /* its alloc */
    uint64_t youngest;       /* time of the latest alloc */
    size_t slots;
};

/* The last row counts all other places. */
static void count_slot(struct site_row *rows, size_t *used, uintptr_t index,
                       const struct cpi_visit *visit)
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
        struct cpi_visit visit;

        if (cpi_slotmap_slab_state(slab, index) == 0 &&
            cpi_record_read(slab, index, false, &visit))
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
        cpi_record_add_place(text, &row->oldest);
        cpi_text_add(text, ", thread %" PRIuPTR ", one at %p", row->oldest.thread,
                     cpi_slab_slot(slab, row->index));
    }
    cpi_text_add(text, ", live for ");
    cpi_record_add_age(text, row->oldest.when, now);
    if (row->slots > 1) {
        cpi_text_add(text, " to ");
        cpi_record_add_age(text, row->youngest, now);
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
