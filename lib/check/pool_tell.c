/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_tell.c - the details of a report.
 */
#include "check/pool_tell.h"

#include <inttypes.h>
#include <string.h>

#include "host/os.h"
#include "host/ranges.h"
#include "check/checks.h"
#include "check/site.h"
#include "track/track.h"
#include "pool/pool_report.h"

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
    cpi_site_add_age(text, visit.when, cpi_os_now());
    cpi_text_add(text, " ago by thread %" PRIuPTR " at ", visit.thread);
    cpi_site_add_place(text, &visit);
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
