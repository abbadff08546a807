/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * samples.c - the zone of a pool's sampled slots, and their stacks.
 *
 * ORDERING TABLE
 *   turn   | turn fetch-and-add  | relaxed | - | -
 *   take   | state CAS from CLOSED to BUSY | acquire | shut | the last use of the room
 *   open   | state store OPEN    | release | claim  | the index and the alloc
 *   claim  | state CAS from OPEN to BUSY | acquire | open | the same
 *   shut   | state store CLOSED  | release | take   | the free
 *   unlist | base store of the zone | release | descriptor.c's again | the end of its use
 *   seen   | state load, CAS failure | relaxed | - | -
 *   hide   | live store of 0 | release | of     | the end of the slot's word, in a tracked pool
 *   of     | live load       | acquire | hide   | the same, for who then reads the word
 *   note   | live and a place's members, loads and stores | relaxed | - | -
 *
 * Who reads a place without a claim uses what it finds.  The owner of a slab's slot finds its
 * place, or none: the owner before has cleared `live` before it gave the slot back.
 */
#include "check/samples.h"

#include <inttypes.h>

#include "base/bits.h"

/* --- The zone --- */

CPI_COLD struct cpi_samples *cpi_samples_begin(const struct cpi_slab *slab, size_t align,
                                               size_t offset, uint32_t every)
{
    bool exact = offset == 0 && slab->slot_size % align == 0;
    size_t page = cpi_os_page_size();
    size_t head = cpi_align_up(sizeof(struct cpi_samples), page);
    size_t step = cpi_align_up(slab->slot_size + (exact ? 0 : align - 1), page) + page;
    size_t size = CPI_SAMPLES * step + page;
    bool fits = align <= page && step < SIZE_MAX / 2 / CPI_SAMPLES;
    struct cpi_samples *samples = fits ? cpi_os_reserve(head + size, page) : NULL;

    if (samples == NULL)
        return NULL;
    if (!cpi_os_commit(samples, head)) {
        cpi_os_release(samples, head + size);
        return NULL;
    }
    samples->zone = (struct cpi_zone){
        0, (uintptr_t)samples + head, size, step, slab->slot_size,
        {cpi_align_up(page + offset, align) - offset,
         cpi_align_down(step - slab->slot_size + offset, align) - offset}};
    samples->head = head;
    samples->page = page;
    samples->every = every;
    samples->listed = cpi_zone_list(&samples->zone);
    if (samples->listed != NULL)
        return samples;
    cpi_os_release(samples, head + size);
    return NULL;
}

CPI_COLD void cpi_samples_end(struct cpi_samples *samples)
{
    cpi_word_store(&samples->listed->base, 0, release); /* [unlist] */
    cpi_os_release(samples, samples->head + samples->zone.size);
}

static void *room_of(const struct cpi_samples *samples, uintptr_t number)
{
    return (void *)(samples->zone.base + number * samples->zone.step + samples->page);
}

static void *slot_of_place(const struct cpi_samples *samples, uintptr_t number)
{
    const struct cpi_zone *zone = &samples->zone;

    return (void *)(zone->base + number * zone->step + zone->edges[number % 2]);
}

/* The place whose room has this address, or begins after its page; CPI_SAMPLES or more: none. */
static uintptr_t number_of(const struct cpi_samples *samples, const void *address)
{
    return ((uintptr_t)address - samples->zone.base) / samples->zone.step;
}

/* --- Opening and closing --- */

static bool is_open(const struct cpi_samples *samples, uintptr_t number)
{
    return cpi_load(&samples->live[number], relaxed) != 0; /* [note] */
}

/* Walks the calling thread's stack, which ends with 0.  Returns the part beyond this address, or
 * nothing if that is not on it. */
static const uintptr_t *walk_stack(uintptr_t stack[CPI_STACK_MAX + 1], const void *from)
{
    size_t found = cpi_trace_stack(stack, CPI_STACK_MAX);
    size_t i = 0;

    stack[found] = 0;
    while (i < found && stack[i] != (uintptr_t)from)
        i++;
    return &stack[i < found ? i + 1 : found];
}

static void note_sampled(struct cpi_sampled_call *call, const void *site)
{
    uintptr_t stack[CPI_STACK_MAX + 1];
    const uintptr_t *beyond = walk_stack(stack, site);
    size_t i = 0;

    do
        cpi_store(&call->stack[i], beyond[i], relaxed); /* [note] */
    while (beyond[i] != 0 && ++i < CPI_SAMPLE_DEPTH);
    cpi_recorded_note(&call->call, site);
}

static void copy_stack(uintptr_t *stack, const struct cpi_sampled_call *call)
{
    for (size_t i = 0; i < CPI_SAMPLE_DEPTH; i++)
        stack[i] = cpi_load(&call->stack[i], relaxed); /* [note] */
}

CPI_COLD void *cpi_sample_open(struct cpi_samples *samples, uintptr_t index, const void *site)
{
    uint32_t number = cpi_fetch_add(&samples->turn, 1u, relaxed) % CPI_SAMPLES; /* [turn] */
    struct cpi_place *place = &samples->place[number];
    uint32_t state = cpi_load(&place->state, relaxed); /* [seen] */
    uint32_t busy = (state | CPI_PLACE_STATE) + 1 + CPI_PLACE_BUSY;
    uint64_t rest = cpi_os_now() - cpi_load(&place->calls[1].call.when, relaxed); /* [note] */

    if ((state & CPI_PLACE_STATE) != CPI_PLACE_CLOSED || rest < CPI_SAMPLE_REST ||
        !cpi_cas_strong(&place->state, &state, busy, acquire, relaxed)) /* [take] [seen] */
        return NULL;
    if (!cpi_os_commit(room_of(samples, number), samples->zone.step - samples->page)) {
        cpi_store(&place->state, state, release); /* [shut] */
        return NULL;
    }
    cpi_store(&place->index, index, relaxed);                    /* [note] */
    cpi_store(&place->calls[1].call.when, (uint64_t)0, relaxed); /* [note] */
    note_sampled(&place->calls[0], site);
    cpi_store(&samples->live[number], index + 1, relaxed);                     /* [note] */
    cpi_store(&place->state, busy - CPI_PLACE_BUSY + CPI_PLACE_OPEN, release); /* [open] */
    return slot_of_place(samples, number);
}

/* A room that the system does not close only detects less. */
CPI_COLD bool cpi_sample_close(struct cpi_samples *samples, const void *slot, uintptr_t index,
                               const void *site)
{
    uintptr_t number = number_of(samples, slot);
    struct cpi_place *place = &samples->place[number];
    uint32_t state = cpi_load(&place->state, acquire); /* [claim] */

    if ((state & CPI_PLACE_STATE) != CPI_PLACE_OPEN ||
        cpi_load(&place->index, relaxed) != index || /* [note] */
        !cpi_cas_strong(&place->state, &state, state + 1, acquire, relaxed)) /* [claim] [seen] */
        return false;
    cpi_store(&samples->live[number], (uintptr_t)0, release); /* [hide] */
    note_sampled(&place->calls[1], site);
    (void)cpi_os_close(room_of(samples, number), samples->zone.step - samples->page);
    cpi_store(&place->state, state - CPI_PLACE_OPEN + CPI_PLACE_CLOSED, release); /* [shut] */
    return true;
}

CPI_COLD void cpi_samples_reset(struct cpi_samples *samples, const void *site)
{
    for (uint32_t i = 0; i < CPI_SAMPLES; i++)
        (void)cpi_sample_close(samples, room_of(samples, i),
                               cpi_load(&samples->place[i].index, relaxed), site); /* [note] */
}

/* --- Addresses --- */

CPI_COLD int cpi_sample_place(const struct cpi_samples *samples, const void *address,
                              uintptr_t *index)
{
    uintptr_t number = number_of(samples, address);
    uintptr_t offset = (uintptr_t)address - (uintptr_t)slot_of_place(samples, number);

    if (number >= CPI_SAMPLES || offset >= samples->zone.slot_size ||
        cpi_load(&samples->place[number].state, relaxed) == 0) /* [seen] */
        return CPOOL_EFOREIGN;
    *index = cpi_load(&samples->place[number].index, relaxed); /* [note] */
    if (offset != 0)
        return CPOOL_EMISALIGNED;
    return is_open(samples, number) ? 0 : CPOOL_EDOUBLEFREE;
}

void *cpi_sample_of(const struct cpi_samples *samples, uintptr_t index)
{
    for (uintptr_t i = 0; i < CPI_SAMPLES; i++)
        if (cpi_load(&samples->live[i], acquire) == index + 1) /* [of] */
            return slot_of_place(samples, i);
    return NULL;
}

CPI_COLD bool cpi_sample_read(const struct cpi_samples *samples, size_t number,
                              uintptr_t stack[CPI_SAMPLE_DEPTH + 1])
{
    const struct cpi_sampled_call *call = &samples->place[number].calls[0];

    if (!is_open(samples, number))
        return false;
    stack[0] = cpi_load(&call->call.site, relaxed); /* [note] */
    copy_stack(stack + 1, call);
    return true;
}

/* --- What a report tells --- */

static void tell_frames(struct cpi_text *text, const uintptr_t *frames)
{
    for (size_t i = 0; i < CPI_SAMPLE_DEPTH && frames[i] != 0; i++) {
        cpi_text_add(text, "cpool:       ");
        cpi_trace_name(text, frames[i]);
        cpi_text_add(text, "\n");
    }
}

static void tell_sampled(struct cpi_text *text, const struct cpi_place *place, bool is_free)
{
    uintptr_t stack[CPI_SAMPLE_DEPTH];

    copy_stack(stack, &place->calls[is_free]);
    if (cpi_recorded_tell(text, &place->calls[is_free].call, is_free))
        tell_frames(text, stack);
}

CPI_COLD void cpi_stack_tell(struct cpi_text *text, const void *caller)
{
    uintptr_t stack[CPI_STACK_MAX + 1];

    cpi_text_add(text, "cpool:     now thread %" PRIuPTR " at\n", cpi_trace_thread());
    tell_frames(text, walk_stack(stack, caller));
}

/* The number of the place whose slot is nearest to an address.  A page that traps lies between two
 * rooms. */
static uintptr_t nearest_place(const struct cpi_samples *samples, const void *address)
{
    uintptr_t offset = (uintptr_t)address - samples->zone.base;
    uintptr_t number = offset / samples->zone.step;
    bool lower = number == CPI_SAMPLES || offset % samples->zone.step < samples->page / 2 ||
                 cpi_load(&samples->place[number].state, relaxed) == 0; /* [seen] */

    return offset % samples->zone.step < samples->page && number > 0 && lower ? number - 1
                                                                              : number;
}

CPI_COLD bool cpi_sample_tell(struct cpi_text *text, const struct cpi_samples *samples,
                              const void *address, void **slot, uintptr_t *index)
{
    uintptr_t number = nearest_place(samples, address);
    const struct cpi_place *place = &samples->place[number];
    uintptr_t from = (uintptr_t)slot_of_place(samples, number);
    uintptr_t at = (uintptr_t)address;
    uintptr_t bytes = at - from;
    const char *where = "into";

    if (cpi_load(&place->state, relaxed) == 0) /* [seen] */
        return false;
    *slot = (void *)from;
    *index = cpi_load(&place->index, relaxed); /* [note] */
    if (at < from) {
        where = "before the start of";
        bytes = from - at;
    } else if (bytes >= samples->zone.slot_size) {
        where = "past the end of";
        bytes -= samples->zone.slot_size;
    }
    cpi_text_add(text, "cpool:   0x%" PRIxPTR " is %" PRIuPTR " byte%s %s slot %" PRIuPTR
                 " at 0x%" PRIxPTR ", %" PRIuPTR " bytes, which %s\n", at, bytes,
                 CPI_PLURAL(bytes), where, *index, from, samples->zone.slot_size,
                 is_open(samples, number) ? "is live" : "has been freed");
    tell_sampled(text, place, false);
    tell_sampled(text, place, true);
    return true;
}
