/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guard.c - sites, gaps, and the report of what was left live.
 *
 * ORDERING TABLE
 *   born   | site store | release | filled | the gap after the slot is filled
 *   filled | site load of a neighbour  | acquire | born | the gap before the slot is filled
 *   site   | site load | relaxed | - | -
 *
 * A slot passes from one owner to the next through the depot or through the
 * caller's own synchronisation, which order its site along with it.
 */
#include "guard.h"

#include <stdio.h>

#include "atomic.h"
#include "error.h"
#include "tools.h"

/* Call sites told apart in a report of live slots. */
#define CPI_SITES 16

static struct cpi_guard *guard_of(const struct cpi_slab *slab, uintptr_t index)
{
    return (struct cpi_guard *)(void *)slab->sides[CPI_SIDE_GUARDS].extent.base + index;
}

static unsigned char pattern(const unsigned char *at)
{
    return (unsigned char)(0xB5u ^ ((uintptr_t)at * 29u));
}

/* Tools take the bytes between slots for nobody's. */
CPI_UNINSTRUMENTED static void fill(unsigned char *from, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++)
        from[i] = pattern(from + i);
}

/* False, after filling it again, if the range was changed. */
CPI_UNINSTRUMENTED static bool intact(unsigned char *from, size_t n)
{
    size_t i;

    for (i = 0; i < n && from[i] == pattern(from + i); i++)
        ;
    if (i == n)
        return true;
    fill(from, n);
    return false;
}

/* Bytes looked at on each side of a slot. */
static size_t reach(size_t gap)
{
    return gap < CPI_GUARD_REACH ? gap : CPI_GUARD_REACH;
}

/* The gap after a slot.  Before slot 0 lies the lead's part of one. */
static unsigned char *gap_after(const struct cpi_slab *slab, uintptr_t index, size_t *size)
{
    *size = slab->stride - slab->slot_size;
    return (unsigned char *)cpi_slab_slot(slab, index) + slab->slot_size;
}

static unsigned char *gap_before(const struct cpi_slab *slab, uintptr_t index, size_t *size)
{
    if (index > 0)
        return gap_after(slab, index - 1, size);
    *size = CPI_GUARD_GAP;
    return (unsigned char *)cpi_slab_slot(slab, 0) - CPI_GUARD_GAP;
}

static void fill_gap(unsigned char *gap, size_t size)
{
    cpi_tools_pause();
    fill(gap, reach(size));
    fill(gap + size - reach(size), reach(size));
    cpi_tools_resume();
}

static bool gap_intact(unsigned char *gap, size_t size)
{
    bool start;
    bool end;

    cpi_tools_pause();
    start = intact(gap, reach(size));
    end = intact(gap + size - reach(size), reach(size));
    cpi_tools_resume();
    return start && end;
}

bool cpi_guard_is_filled(const struct cpi_slab *slab, uintptr_t index)
{
    return cpi_load(&guard_of(slab, index)->site, acquire) != 0; /* [filled] */
}

void cpi_guard_bumped(const struct cpi_slab *slab, uintptr_t first, uintptr_t n)
{
    unsigned char *gap;
    uintptr_t i;
    size_t size;

    for (i = first; i < first + n; i++) {
        /* After a reset the gaps are filled already, and others look at them. */
        if (cpi_guard_is_filled(slab, i))
            continue;
        if (i == 0) {
            gap = gap_before(slab, 0, &size);
            fill_gap(gap, size);
        }
        gap = gap_after(slab, i, &size);
        fill_gap(gap, size);
        cpi_store(&guard_of(slab, i)->site, CPI_GUARD_FILLED, release); /* [born] */
    }
}

enum cpi_guard_finding cpi_guard_verify(const struct cpi_slab *slab, uintptr_t index)
{
    size_t size;
    unsigned char *gap = gap_after(slab, index, &size);

    if (!gap_intact(gap, size))
        return CPI_GUARD_DAMAGE_AFTER;
    /* The preceding slot may have been handed to a thread that is about to
     * fill its gap. */
    if (index > 0 && !cpi_guard_is_filled(slab, index - 1))
        return CPI_GUARD_GOOD;
    gap = gap_before(slab, index, &size);
    return gap_intact(gap, size) ? CPI_GUARD_GOOD : CPI_GUARD_DAMAGE_BEFORE;
}

void cpi_guard_set_site(const struct cpi_slab *slab, uintptr_t index, const void *site)
{
    cpi_store(&guard_of(slab, index)->site, (uintptr_t)site, release); /* [born] */
}

const void *cpi_guard_site(const struct cpi_slab *slab, uintptr_t index)
{
    uintptr_t site = cpi_load(&guard_of(slab, index)->site, relaxed); /* [site] */

    return site != CPI_GUARD_FILLED ? (const void *)site : NULL;
}

struct site_count {
    const void *site;
    const void *example;
    size_t slots;
};

/* Sorts the live slots by call site.  Sites beyond the table share its last
 * row, with NULL as its site. */
static size_t count_sites(const struct cpi_slab *slab, const struct cpi_slotmap *map,
                          struct site_count *sites)
{
    uintptr_t index;
    size_t used = 0;

    for (index = 0; index < cpi_slab_fresh(slab); index++) {
        const void *site = cpi_guard_site(slab, index);
        size_t i = 0;

        if (cpi_slotmap_state(map, index) != CPI_SLOTMAP_LIVE_ONE)
            continue;
        while (i < used && i < CPI_SITES - 1 && sites[i].site != site)
            i++;
        if (i == used) {
            sites[i].site = i == CPI_SITES - 1 ? NULL : site;
            sites[i].example = cpi_slab_slot(slab, index);
            sites[i].slots = 0;
            used++;
        }
        sites[i].slots++;
    }
    return used;
}

void cpi_guard_print_live(const struct cpi_slab *slab, const struct cpi_slotmap *map,
                          const char *name, size_t live)
{
    struct site_count sites[CPI_SITES];
    size_t used = count_sites(slab, map, sites);
    char line[CPI_REPORT_MAX];
    int length;
    size_t i;

    length = snprintf(line, sizeof line, "cpool: pool '%s' destroyed with %zu live slots\n",
                      name, live);
    cpi_write_error(line, (size_t)length);
    for (i = 0; i < used; i++) {
        if (sites[i].site != NULL)
            length = snprintf(line, sizeof line, "cpool:   %zu allocated at %p, one at %p\n",
                              sites[i].slots, sites[i].site, sites[i].example);
        else
            length = snprintf(line, sizeof line, "cpool:   %zu allocated elsewhere\n",
                              sites[i].slots);
        cpi_write_error(line, (size_t)length);
    }
}
