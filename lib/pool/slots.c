/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slots.c - what is done to a slot on its way to a user and back, in pools that are checked,
 * tracked, or announced to a tool; and the alloc and free of pools that are only tracked.
 *
 * A thread that vanishes in a fork between the two stores of a tracked alloc leaves a slot that is
 * neither live nor free, but never one that is both.
 *
 * ORDERING TABLE
 *   late  | waiters' delayed load | relaxed | - | -
 *   told  | hooks load          | acquire | client.c's hooks | the table
 */
#include "pool/slots.h"

#include "base/atomic.h"
#include "base/tools.h"
#include "pool/alloc.h"

/* --- To a user --- */

/* The details are collected before the slot changes hands, and reported afterwards, because a
 * handler may not return. */
CPI_COLD static bool take_damaged(struct cpi_pool *pool, uintptr_t index,
                                  const struct cpi_damage *damage, struct cpi_call call)
{
    const void *slot = cpi_slab_slot(&pool->slab, index);
    char details[CPI_DETAILS_MAX];
    struct cpi_text text;

    cpi_text_init(&text, details, sizeof details);
    cpi_damage_tell(&text, &pool->slab, damage);
    if (!cpi_slotmap_take(&pool->map, index))
        return false;
    cpi_recorded_note(&cpi_record_of(&pool->slab, index)->calls[0], call.site);
    cpi_record_leave_frame(&pool->slab, index);
    cpi_pool_report_details(CPOOL_EGUARD, call.function, pool, slot, slot, index, &text);
    return true;
}

/* Returns false, and changes nothing, if the slot is live already. */
static bool take_checked(struct cpi_pool *pool, uintptr_t index, struct cpi_call call)
{
    struct cpi_damage damage;

    if (CPI_UNLIKELY(!cpi_guard_verify(&pool->slab, index, &damage)))
        return take_damaged(pool, index, &damage, call);
    if (CPI_UNLIKELY(!cpi_slotmap_take(&pool->map, index)))
        return false;
    cpi_recorded_note(&cpi_record_of(&pool->slab, index)->calls[0], call.site);
    cpi_record_leave_frame(&pool->slab, index); /* a reset may have left it in a frame */
    return true;
}

bool cpi_pool_taken(struct cpi_pool *pool, void *slot, struct cpi_call call)
{
    uintptr_t index = cpi_slab_index(&pool->slab, slot);
    bool obtained = true;

    if (CPI_LIKELY(pool->checked))
        obtained = take_checked(pool, index, call);
    else if (pool->map.words != NULL)
        obtained = cpi_slotmap_take(&pool->map, index);
    if (CPI_UNLIKELY(!obtained)) {
        cpi_pool_report_slot(CPOOL_EDOUBLEFREE, call.function, pool, index);
        return false;
    }
    cpi_tools_taken(pool->tools, pool, slot, pool->slab.slot_size);
    return true;
}

/* --- Back from a user --- */

/* Verifies the gaps of a slot, and reports damage. */
static bool are_gaps_intact(const struct cpi_pool *pool, uintptr_t index, const char *function)
{
    struct cpi_damage damage;

    if (CPI_LIKELY(cpi_guard_verify(&pool->slab, index, &damage)))
        return true;
    cpi_pool_report_damage(pool, &damage, function);
    return false;
}

int cpi_pool_verify_slot(const struct cpi_pool *pool, uintptr_t index, const char *function)
{
    if (CPI_LIKELY(cpi_guard_is_filled(&pool->slab, index)) &&
        CPI_UNLIKELY(!are_gaps_intact(pool, index, function)))
        return CPOOL_EGUARD;
    return 0;
}

/* Verifies the bytes around a slot while it is live.  It stays live if they were overwritten.
 * Damage on the far side of a neighbour does not prevent the free. */
static bool is_undamaged(const struct cpi_pool *pool, uintptr_t index, const char *function)
{
    if (CPI_UNLIKELY(!are_gaps_intact(pool, index, function)))
        return false;
    if (CPI_LIKELY(index + 1 < cpi_slab_fresh(&pool->slab)))
        (void)cpi_pool_verify_slot(pool, index + 1, function);
    if (CPI_LIKELY(index > 0))
        (void)cpi_pool_verify_slot(pool, index - 1, function);
    return true;
}

static bool may_give_checked(const struct cpi_pool *pool, uintptr_t index, const char *function)
{
    bool is_live = cpi_slotmap_state(&pool->map, index) == 0;

    if (CPI_UNLIKELY(is_live && cpi_record_is_framed(&pool->slab, index))) {
        cpi_pool_report_slot(CPOOL_EFRAMED, function, pool, index);
        return false;
    }
    return CPI_UNLIKELY(!is_live) || is_undamaged(pool, index, function);
}

/* Marks the slot free in its word. */
static bool end_life(const struct cpi_pool *pool, uintptr_t index, const char *function)
{
    int state = cpi_slotmap_give(&pool->map, index);

    if (CPI_LIKELY(state == 0))
        return true;
    /* Memcheck finds no such block, and reports where the last one was allocated and freed. */
    cpi_tools_given(pool->tools & CPI_TOOL_MEMCHECK, pool, cpi_slab_slot(&pool->slab, index), 0);
    cpi_pool_report_slot(state, function, pool, index);
    return false;
}

bool cpi_pool_given(struct cpi_pool *pool, void *slot, struct cpi_call call)
{
    uintptr_t index = cpi_slab_index(&pool->slab, slot);

    if ((pool->checked && !may_give_checked(pool, index, call.function)) ||
        (pool->map.words != NULL && !end_life(pool, index, call.function)))
        return false;
    if (pool->checked)
        cpi_recorded_note(&cpi_record_of(&pool->slab, index)->calls[1], call.site);
    cpi_tools_given(pool->tools, pool, slot, pool->slab.slot_size);
    return true;
}

/* --- Retired slots: hooks of a library over pools --- */

const cpool_client_hooks_t *_Atomic cpi_client_hooks;

/* The hooks that are told about the pool, or NULL if none of its slots was ever retired. */
static const cpool_client_hooks_t *hooks_of(const struct cpi_pool *pool)
{
    return cpi_load(&pool->waiters.delayed, relaxed)      /* [late] */
               ? cpi_load(&cpi_client_hooks, acquire) /* [told] */
               : NULL;
}

size_t cpi_client_give_back(struct cpi_pool *pool, bool ends)
{
    const cpool_client_hooks_t *told = hooks_of(pool);

    return told != NULL ? told->give_back(pool->handle, ends) : 0;
}

void cpi_client_figures(const struct cpi_pool *pool, cpool_stats_t *stats)
{
    const cpool_client_hooks_t *told = hooks_of(pool);

    if (told != NULL)
        told->retired(pool->handle, stats);
}

/* --- Sampled slots: some are at the edge of a page that traps (check/samples.h) --- */

/* The thread may be on a small stack for signals: the details are in memory of their own, and
 * without a `caller` stacks would not fit. */
CPI_COLD static void report_trap(uintptr_t trapped, const void *caller)
{
    const void *address = (const void *)trapped;
    const struct cpi_pool *pool = cpi_pool_at(cpi_handle_zoned(trapped, NULL));
    size_t size = (size_t)4 * CPI_DETAILS_MAX; /* for three stacks */
    char *room = pool != NULL && caller != NULL ? cpi_os_map(size) : NULL;
    struct cpi_text details;
    uintptr_t index;
    void *slot;

    if (room == NULL) {
        if (pool != NULL)
            cpi_tell("access: %s (pool '%s', address %p)", cpool_strerror(CPOOL_ETRAP),
                     pool->name, address);
        return;
    }
    cpi_text_init(&details, room, size);
    if (cpi_sample_tell(&details, pool->samples, address, &slot, &index)) {
        cpi_stack_tell(&details, caller);
        cpi_pool_report_details(CPOOL_ETRAP, "access", pool, address, slot, index, &details);
    }
    cpi_os_release(room, size);
}

/* Not where slots keep what they hold, or lie in the program's memory, or a tool watches all.  No
 * stack is walked here, with the lock: a first walk may wait for a pool created in dlopen. */
CPI_COLD struct cpi_samples *cpi_pool_begin_samples(const struct cpi_slab *slab,
                                                    const cpool_config_t *config, size_t align)
{
    const unsigned kept = CPOOL_KEEP_PAGES | CPOOL_NO_POISON | CPOOL_CLIENT_RESERVED;
    uint32_t every = config->sample < CPI_SAMPLE_MAX ? (uint32_t)config->sample
                                                     : CPI_SAMPLE_MAX;
    bool sampled = config->memory == NULL && (config->flags & kept) == 0 &&
                   (cpi_tools_found() & CPI_TOOLS_BYTES) == 0;
    struct cpi_samples *samples;
    bool locked;

    if (!sampled)
        return NULL;
    locked = cpi_lock_unless_held();
    cpi_os_catch_traps(report_trap);
    samples = cpi_samples_begin(slab, align, config->slot_offset, every);
    cpi_unlock_if(locked);
    return samples;
}

/* The next sample comes after a random number of allocs, `every` on average, so that no pattern of
 * the program hides from it.  Allocs without a cache are not counted, but sampled by chance. */
CPI_COLD void *cpi_pool_sample_now(struct cpi_pool *pool, struct cpi_cache *cache, void *slot,
                                   const void *site)
{
    uint32_t every = pool->samples->every;
    void *place;

    if (cache != NULL)
        cache->sample_in = UINT32_MAX; /* the walk may call a malloc made of this pool */
    else if (cpi_os_chance(every) != 0)
        return slot;
    place = cpi_sample_open(pool->samples, cpi_slab_index(&pool->slab, slot), site);
    cpi_pool_note_calls(pool, place != NULL);
    if (place == NULL)
        every *= CPI_SAMPLES_BUSY;
    if (cache != NULL)
        cache->sample_in = 1 + cpi_os_chance(2 * every - 1);
    return place != NULL ? place : slot;
}

CPI_COLD bool cpi_pool_close_sample(struct cpi_pool *pool, const void *slot, uintptr_t index,
                                    struct cpi_call call)
{
    bool closed = cpi_sample_close(pool->samples, slot, index, call.site);

    cpi_pool_note_calls(pool, closed);
    if (!closed)
        cpi_pool_report_address(CPOOL_EDOUBLEFREE, call.function, pool, slot, index);
    return closed;
}

int cpi_pool_place(const struct cpi_pool *pool, const void *address, uintptr_t *index)
{
    int code = cpi_slab_place(&pool->slab, address, index);

    return CPI_LIKELY(code != CPOOL_EFOREIGN) || pool->samples == NULL
               ? code
               : cpi_sample_place(pool->samples, address, index);
}

void *cpi_pool_slot(const struct cpi_pool *pool, uintptr_t index)
{
    void *place = CPI_LIKELY(pool->samples == NULL) ? NULL : cpi_sample_of(pool->samples, index);

    return CPI_LIKELY(place == NULL) ? cpi_slab_slot(&pool->slab, index) : place;
}

/* --- Alloc and free in pools that are only tracked: the inline path, hidden from programs, and a
 * change of the slot's word --- */

/* The slot was freed twice, and is live already.  It is dropped. */
CPI_COLD static void *take_another(struct cpi_pool *pool, struct cpi_cache *cache, uintptr_t index,
                                   struct cpi_call call)
{
    cpi_pool_report_slot(CPOOL_EDOUBLEFREE, call.function, pool, index);
    return cpi_pool_alloc(pool, cache, call);
}

/* Pops a slot, and marks it live in its word. */
void *cpi_track_alloc(const cpool_t *handle, struct cpi_cache *cache, struct cpi_call call)
{
    const struct cpi_slotmap map = {.words = cpi_slotmap_words(cache->slab)}; /* saves a load */
    cpool_cache_t *active = &cache->hidden;
    uintptr_t index;
    void *slot;

    CPOOL_POP_(active, slot, return cpi_pool_alloc(handle->state, cache, call));
    CPOOL_INDEX_(handle, slot, index);
    return CPI_LIKELY(cpi_slotmap_take(&map, index))
               ? slot
               : take_another(handle->state, cache, index, call);
}

/* Pushes a slot.  Marks it free in its word only when there is certainly room for it. */
void cpi_track_free(const cpool_t *handle, struct cpi_cache *cache, void *slot, uintptr_t index,
                    struct cpi_call call)
{
    struct cpi_pool *pool = handle->state;
    cpool_cache_t *active = &cache->hidden;
    uintptr_t count;

    CPOOL_ENTER_(active, count);
    if (CPI_LIKELY(count < CPOOL_COUNT_(&active->limit)) && CPI_LIKELY(index < active->bound) &&
        CPI_LIKELY(cpi_slotmap_give_live(&pool->map, index))) {
        active->rounds[count] = slot;
        CPOOL_SHOW_(&active->count, count + 1);
        return;
    }
    cpi_cache_unmark(active, count & ~CPI_BUSY);
    cpi_pool_free(pool, cache, slot, call);
}
