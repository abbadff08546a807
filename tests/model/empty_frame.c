/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * empty_frame.c - an owner gives the full magazine of a frame to the depot, and takes a slot
 * through its cache, which has another.  Meanwhile a thread without a cache looks for a slot.
 *
 * Holds: the thread finds one, as a slot is free all the time, and it is another one than the
 * owner's.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 1
#define MODEL_SLOTS 2
#include "pool.h"

#include "base/tools.h"
#include "pool/report.h"

static cpool_t model_handle;
static cpool_cache_t model_entry; /* the inline path shows nothing */

#define cpi_thread_entry(handle) ((void)(handle), &model_entry)
#define cpi_registry_known_cache(registry) (model_self == 1 ? model_cache(1) : NULL)
#define cpi_registry_own_cache(registry) cpi_registry_known_cache(registry)
#define cpi_tools_ignore(ignores) ((void)(ignores))

#if defined(__clang__)
#pragma clang attribute push(__attribute__((always_inline)), apply_to = function)
#endif

#include "frame/frame.c"

#if defined(__clang__)
#pragma clang attribute pop
#endif

/* --- What no thread comes to --- */

MODEL_ABSENT(void *, cpi_os_map_at, uintptr_t wish, size_t size)
MODEL_ABSENT(void, cpi_os_release, void *address, size_t size)
MODEL_ABSENT(void, cpi_pool_note_calls, struct cpi_pool *pool, uint64_t calls)
MODEL_ABSENT(void, cpool_client_report, cpool_error_t *error, const char *format, ...)
MODEL_ABSENT(const char *, cpool_strerror, int code)
MODEL_ABSENT(void, cpi_tools_wrote, const void *address, size_t size)
MODEL_ABSENT(int, cpi_pool_retired, const struct cpi_pool *pool, uintptr_t index,
             enum cpool_client_step step)
MODEL_ABSENT(void, cpi_pool_mend_slot, const struct cpi_pool *pool, const void *slot,
             const char *function)

static struct cpi_frames model_frames;
static void *model_record[MODEL_LIMIT];

static void ender(void)
{
    exchange_magazine(&model_pool, unchain_top(&model_depot, &model_frames.frame[0]));
    model_kept = model_alloc();
}

/* Slot 0 is on record. */
static void fill_frame(void)
{
    cpool_frame_t *frame = &model_frames.frame[0];

    model_handle.state = &model_pool;
    model_pool.handle = &model_handle;
    frame->pool = &model_handle;
    frame->state = &model_frames;
    frame->first = frame->next = model_record;
    frame->end = model_record + MODEL_LIMIT;
    cpi_store(&model_frames.open, 1, relaxed);
    assert(record_slot(&model_pool, frame, &model_slots[0], 0) == 0);
    assert(stash_record(&model_pool, frame));
}

int main(void)
{
    model_open_pool(1, 0);
    model_self = 1;
    fill_frame();
    model_self = 0;
    model_free_by(model_cache(1), &model_slots[1]);
    MODEL_RUN(ender, model_looker);
    return 0;
}
