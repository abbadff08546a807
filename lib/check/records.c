/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * records.c - the last alloc and free of each slot, and what reports tell of them.
 *
 * ORDERING TABLE
 *   read | loads of a call's members | relaxed | - | -
 *
 * A record passes with its slot.  Another thread may read it at any time, and uses what it finds.
 */
#include "check/records.h"

#include <inttypes.h>

#include "host/os.h"

CPI_COLD bool cpi_record_read(const struct cpi_slab *slab, uintptr_t index, bool is_free,
                              struct cpi_visit *visit)
{
    const struct cpi_recorded *call = &cpi_record_of(slab, index)->calls[is_free];

    visit->when = cpi_load(&call->when, relaxed);     /* [read] */
    visit->thread = cpi_load(&call->thread, relaxed); /* [read] */
    visit->caller = cpi_load(&call->site, relaxed);   /* [read] */
    return visit->when != 0;
}

CPI_COLD const void *cpi_record_site(const struct cpi_slab *slab, uintptr_t index)
{
    struct cpi_visit alloc;
    struct cpi_visit free;
    bool freed;

    if (!cpi_slab_is_checked(slab) || index >= cpi_slab_fresh(slab))
        return NULL;
    freed = cpi_record_read(slab, index, true, &free);
    if (!cpi_record_read(slab, index, false, &alloc))
        return NULL;
    return (const void *)(freed && free.when > alloc.when ? free.caller : alloc.caller);
}

CPI_COLD void cpi_record_add_place(struct cpi_text *text, const struct cpi_visit *visit)
{
    if (visit->caller == 0)
        return;
    cpi_trace_name(text, visit->caller);
    cpi_text_add(text, " [0x%" PRIxPTR "]", visit->caller);
}

CPI_COLD void cpi_record_add_age(struct cpi_text *text, uint64_t when, uint64_t now)
{
    uint64_t age = now > when ? now - when : 0;

    cpi_text_add(text, "%" PRIu64 ".%03u s", age / 1000000000u,
                 (unsigned)(age / 1000000u % 1000u));
}

static void tell_call(struct cpi_text *text, const struct cpi_slab *slab, uintptr_t index,
                      bool is_free)
{
    struct cpi_visit visit;

    if (!cpi_record_read(slab, index, is_free, &visit))
        return;
    cpi_text_add(text, "cpool:     %s ", is_free ? "freed" : "allocated");
    cpi_record_add_age(text, visit.when, cpi_os_now());
    cpi_text_add(text, " ago by thread %" PRIuPTR " at ", visit.thread);
    cpi_record_add_place(text, &visit);
    cpi_text_add(text, "\n");
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
    tell_call(text, slab, index, state != 0);
    tell_call(text, slab, index, state == 0);
}
