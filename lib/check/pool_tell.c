/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_tell.c - where slots were taken and freed, and the details of a report.
 *
 * ORDERING TABLE
 *   note | stores of a call's members | relaxed | - | -
 *   read | loads of a call's members  | relaxed | - | -
 *
 * A record passes with its slot.  A thread that reads another's takes what is there.
 */
#include "check/checks.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "host/os.h"
#include "host/ranges.h"
#include "pool/pool_report.h"

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

/* The name of the place's address, and the address. */
static void add_place(struct cpi_text *text, const struct cpi_visit *visit)
{
    if (visit->site == 0)
        return;
    cpi_trace_name(text, visit->site);
    cpi_text_add(text, " [0x%" PRIxPTR "]", visit->site);
}

/* A time before `now`, in seconds. */
static void add_age(struct cpi_text *text, uint64_t when, uint64_t now)
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
        add_place(text, &visit);
        cpi_text_add(text, ", thread %" PRIuPTR ", one at %p", visit.thread,
                     cpi_slab_slot(slab, row->index));
    }
    cpi_text_add(text, ", live for ");
    add_age(text, row->oldest, now);
    if (row->slots > 1) {
        cpi_text_add(text, " to ");
        add_age(text, row->youngest, now);
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

/* --- Details of a report --- */

static const char *name_of(enum cpi_slotmap_state state)
{
    if (state == CPI_SLOTMAP_LIVE_ONE)
        return "is live";
    return state == CPI_SLOTMAP_FREE ? "is free" : "was never taken";
}

static void tell_call(struct cpi_text *text, const struct cpi_pool *pool, uintptr_t index,
                      bool is_free)
{
    struct cpi_visit visit;

    if (!cpi_site_read(&pool->slab, index, is_free, &visit))
        return;
    cpi_text_add(text, "cpool:     %s ", is_free ? "freed" : "allocated");
    add_age(text, visit.when, cpi_os_now());
    cpi_text_add(text, " ago by thread %" PRIuPTR " at ", visit.thread);
    add_place(text, &visit);
    cpi_text_add(text, "\n");
}

void cpi_tell_slot(struct cpi_text *text, const struct cpi_pool *pool, uintptr_t index)
{
    enum cpi_slotmap_state state;
    bool live;

    if (!pool->checked || index >= cpi_slab_fresh(&pool->slab))
        return;
    state = cpi_slotmap_state(cpi_track_map(pool), index);
    live = state == CPI_SLOTMAP_LIVE_ONE;
    cpi_text_add(text, "cpool:   slot %" PRIuPTR " at %p, %zu bytes, %s\n", index,
                 cpi_slab_slot(&pool->slab, index), pool->slab.slot_size, name_of(state));
    tell_call(text, pool, index, !live);
    tell_call(text, pool, index, live);
}

/* The lock keeps the other pool from being destroyed meanwhile.  It is not waited for. */
void cpi_tell_owner(struct cpi_text *text, const struct cpi_pool *pool, const void *address)
{
    const cpool_t *handle = cpi_ranges_find((uintptr_t)address);
    const struct cpi_pool *owner;
    uintptr_t index;

    if (handle == NULL || handle == pool->face || cpi_lock_is_held() || !cpi_try_lock())
        return;
    owner = cpi_pool_at(handle);
    if (owner != NULL) {
        enum cpi_place place;

        place = cpi_slab_place(&owner->slab, address, &index);
        if (place != CPI_PLACE_OUTSIDE) {
            cpi_text_add(text,
                         "cpool:   the address lies in another pool, '%s' %p, %s slot %" PRIuPTR
                         "\n",
                         owner->name, (const void *)handle,
                         place == CPI_PLACE_INSIDE ? "inside or behind" : "at the start of", index);
            cpi_tell_slot(text, owner, index);
        }
    }
    cpi_unlock();
}

static void tell_bytes(struct cpi_text *text, const char *what, const unsigned char *bytes,
                       size_t n)
{
    size_t i;

    cpi_text_add(text, "cpool:     %s", what);
    for (i = 0; i < n; i++)
        cpi_text_add(text, " %02x", bytes[i]);
    cpi_text_add(text, "\n");
}

/* The place of the first damaged byte, as its user counts. */
static void tell_place(struct cpi_text *text, const struct cpi_pool *pool,
                       const struct cpi_damage *damage)
{
    uintptr_t slot = (uintptr_t)cpi_slab_slot(&pool->slab, damage->index);
    size_t size = pool->slab.slot_size;
    size_t bytes = damage->last - damage->first + 1;

    cpi_text_add(text, "cpool:   %zu bytes were overwritten, ", bytes);
    if (damage->place == CPI_DAMAGE_AFTER)
        cpi_text_add(text, "the first at offset %zu, %zu past the end of slot %" PRIuPTR,
                     size + damage->first, damage->first, damage->index);
    else if (damage->place == CPI_DAMAGE_BEFORE)
        cpi_text_add(text, "the first at offset -%zu, before the start of slot %" PRIuPTR,
                     damage->size - damage->first, damage->index);
    else
        cpi_text_add(text, "the first at offset %zu, in slot %" PRIuPTR " while it was free",
                     damage->first, damage->index);
    if (damage->place == CPI_DAMAGE_AFTER)
        slot += size;
    else if (damage->place == CPI_DAMAGE_BEFORE)
        slot -= damage->size;
    cpi_text_add(text, " (0x%" PRIxPTR ")\n", slot + damage->first);
}

/* A gap lies between two slots.  Bytes at its start were most likely written past the end
 * of the lower one, and bytes at its end before the start of the higher one. */
static void tell_culprit(struct cpi_text *text, const struct cpi_damage *damage)
{
    uintptr_t lower = damage->place == CPI_DAMAGE_AFTER ? damage->index : damage->index - 1;
    bool has_lower = damage->place == CPI_DAMAGE_AFTER || damage->index > 0;

    if (damage->first == 0 && has_lower)
        cpi_text_add(text, "cpool:   probably the user of slot %" PRIuPTR " wrote past its end\n",
                     lower);
    else if (damage->last == damage->size - 1)
        cpi_text_add(text,
                     "cpool:   probably the user of slot %" PRIuPTR " wrote before its start\n",
                     has_lower ? lower + 1 : 0);
    else
        cpi_text_add(text, "cpool:   neither neighbour touches these bytes: a stray write\n");
}

void cpi_tell_damage(struct cpi_text *text, const struct cpi_pool *pool,
                     const struct cpi_damage *damage)
{
    tell_place(text, pool, damage);
    tell_bytes(text, "expected", damage->expected, damage->shown);
    tell_bytes(text, "found   ", damage->found, damage->shown);
    if (damage->place != CPI_DAMAGE_INSIDE)
        tell_culprit(text, damage);
    cpi_tell_slot(text, pool, damage->index);
    if (damage->place == CPI_DAMAGE_AFTER)
        cpi_tell_slot(text, pool, damage->index + 1);
    else if (damage->place == CPI_DAMAGE_BEFORE && damage->index > 0)
        cpi_tell_slot(text, pool, damage->index - 1);
}

void cpi_tell_how(struct cpi_text *text, const struct cpi_pool *pool)
{
    if (strstr(text->start, "+0x") != NULL)
        cpi_text_add(text, "cpool:   'addr2line -ife FILE 0xNUMBER' names the line of "
                           "FILE+0xNUMBER\n");
    if (pool == NULL || !pool->checked)
        cpi_text_add(text, "cpool:   CPOOL_OPTIONS=checked,fill in the environment tells "
                           "more (man cpool_debug)\n");
}
