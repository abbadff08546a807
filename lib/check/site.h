/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * site.h - where, when and by which thread the slots of checked pools were taken and
 * freed, and the list of those that are live.
 *
 * Includes record.h, slotmap.h, text.h.
 */
#ifndef CPI_SITE_H
#define CPI_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "check/record.h"
#include "track/slotmap.h"
#include "base/text.h"

/* The contents of a struct cpi_recorded. */
struct cpi_visit {
    uint64_t when;
    uintptr_t thread;
    uintptr_t site;
};

/* Notes that a slot is taken or freed by a call from `site`.  Only for the slot's owner.
 * Wait-free. */
void cpi_site_note(const struct cpi_slab *slab, uintptr_t index, bool is_free, const void *site);

/* Reads the last alloc or free of a slot.  Returns false if there was none.  Any thread,
 * wait-free.  Two calls may be mixed up while the slot changes hands. */
bool cpi_site_read(const struct cpi_slab *slab, uintptr_t index, bool is_free,
                   struct cpi_visit *visit);

/* Appends a place: the name of its address, and the address. */
void cpi_site_add_place(struct cpi_text *text, const struct cpi_visit *visit);

/* Appends a time before `now`, in seconds. */
void cpi_site_add_age(struct cpi_text *text, uint64_t when, uint64_t now);

/*
 * Lists the live slots by the place that took them, those with most slots first: the
 * number, the place, an example, the ages of the oldest and the youngest.  Beyond
 * CPI_SITE_ROWS places they are counted together.  Any thread, at any time, allocates
 * nothing.  Returns the number of live slots that it met.
 */
#define CPI_SITE_ROWS 64
size_t cpi_site_list(const struct cpi_slab *slab, const struct cpi_slotmap *map,
                     cpi_line_sink *sink, void *context);

#endif /* CPI_SITE_H */
