/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_check.c - the life of a checked pool, where its slots change hands, looks at all of
 * them, and leaks at the end of the process.
 */
#include "check/checks.h"

#include "base/error.h"
#include "base/tools.h"
#include "host/options.h"
#include "pool/feature.h"
#include "pool/pool_alloc.h"
#include "pool/pool_info.h"
#include "pool/pool_report.h"

/* --- Where slots change hands --- */

/* Reports damage at a moment when the slot's record still tells of its last use. */
CPI_COLD static void report_damage(const struct cpi_pool *pool, const struct cpi_damage *damage,
                                   const char *function)
{
    char details[CPI_DETAILS_MAX];
    struct cpi_text text;

    cpi_text_init(&text, details, sizeof details);
    cpi_tell_damage(&text, pool, damage);
    cpi_pool_report_details(cpi_damage_code(damage), function, pool, damage->index, &text);
}

/* The details are put together before the slot changes hands, and the report is made
 * afterwards: a handler may not come back. */
CPI_COLD static bool take_damaged(struct cpi_pool *pool, uintptr_t index,
                                  const struct cpi_damage *damage, struct cpi_call call)
{
    char details[CPI_DETAILS_MAX];
    struct cpi_text text;

    cpi_text_init(&text, details, sizeof details);
    cpi_tell_damage(&text, pool, damage);
    if (!cpi_slotmap_take(cpi_track_map(pool), index))
        return false;
    cpi_site_note(&pool->slab, index, false, call.site);
    cpi_pool_report_details(cpi_damage_code(damage), call.function, pool, index, &text);
    return true;
}

/* False, after nothing has happened, if the slot is live already. */
static bool take_checked(struct cpi_pool *pool, uintptr_t index, struct cpi_call call)
{
    struct cpi_damage damage;

    if (CPI_UNLIKELY(!cpi_guard_take(&pool->slab, index, &damage) ||
                     !cpi_guard_verify(&pool->slab, index, &damage)))
        return take_damaged(pool, index, &damage, call);
    if (CPI_UNLIKELY(!cpi_slotmap_take(cpi_track_map(pool), index)))
        return false;
    cpi_site_note(&pool->slab, index, false, call.site);
    return true;
}

static bool taken(struct cpi_pool *pool, void *slot, struct cpi_call call)
{
    uintptr_t index = cpi_slab_index(&pool->slab, slot);

    if (CPI_UNLIKELY(!take_checked(pool, index, call))) {
        cpi_pool_report_slot(CPOOL_EDOUBLEFREE, call.function, pool, index);
        return false;
    }
    cpi_record_leave_frame(&pool->slab, index); /* in which a reset has found it */
    cpi_tools_taken(pool->tools, pool, slot, pool->slab.slot_size);
    return true;
}

/* The gap on the far side of a neighbour.  Damage there does not keep the slot from
 * being freed. */
static void look_beyond(const struct cpi_pool *pool, uintptr_t index, const char *function)
{
    struct cpi_damage damage;

    if (index < cpi_slab_fresh(&pool->slab) && cpi_guard_is_filled(&pool->slab, index) &&
        CPI_UNLIKELY(!cpi_guard_verify(&pool->slab, index, &damage)))
        report_damage(pool, &damage, function);
}

/* The bytes around a slot are looked at while it is live, and it stays so if they were
 * overwritten. */
static bool is_intact(const struct cpi_pool *pool, uintptr_t index, const char *function)
{
    struct cpi_damage damage;

    if (CPI_UNLIKELY(!cpi_guard_verify(&pool->slab, index, &damage))) {
        report_damage(pool, &damage, function);
        return false;
    }
    look_beyond(pool, index + 1, function);
    if (index > 0)
        look_beyond(pool, index - 1, function);
    return true;
}

static bool given(struct cpi_pool *pool, void *slot, struct cpi_call call)
{
    uintptr_t index = cpi_slab_index(&pool->slab, slot);
    bool is_live = cpi_slotmap_state(cpi_track_map(pool), index) == CPI_SLOTMAP_LIVE_ONE;

    if (CPI_UNLIKELY(is_live && cpi_record_is_framed(&pool->slab, index))) {
        cpi_pool_report_slot(CPOOL_EFRAMED, call.function, pool, index);
        return false;
    }
    if ((is_live && !is_intact(pool, index, call.function)) ||
        !cpi_track_end_life(pool, index, call.function))
        return false;
    cpi_site_note(&pool->slab, index, true, call.site);
    cpi_guard_give(&pool->slab, index, (pool->flags & CPOOL_FILL) != 0);
    cpi_tools_given(pool->tools, pool, slot, pool->slab.slot_size);
    return true;
}

static int retired(struct cpi_pool *pool, uintptr_t index, enum cpi_retiring step)
{
    if (step != CPI_RETIRING_BACK && cpi_record_is_framed(&pool->slab, index))
        return CPOOL_EFRAMED;
    return cpi_track_retired(pool, index, step);
}

static const struct cpi_gate check_gate = {taken, given, retired};

/* --- Looking for damage --- */

/* Slots that are looked at in one go: others may want the lock. */
#define CPI_VERIFY_PORTION ((uintptr_t)1024)

/* Looks at slots from *index to before `end` until one is damaged.  With the lock held,
 * which holds off forks. */
static bool find_damage(const struct cpi_pool *pool, uintptr_t *index, uintptr_t end,
                        struct cpi_damage *damage)
{
    for (; *index < end; ++*index)
        if (cpi_guard_is_filled(&pool->slab, *index) &&
            (!cpi_guard_verify(&pool->slab, *index, damage) ||
             !cpi_guard_inspect(&pool->slab, *index, damage)))
            return true;
    return false;
}

CPI_COLD int cpi_pool_verify_next(const struct cpi_pool *pool, uintptr_t *index, uintptr_t end,
                                  const char *function)
{
    struct cpi_damage damage;
    bool found;

    cpi_lock();
    found = find_damage(pool, index, end, &damage);
    cpi_unlock();
    if (!found)
        return 0;
    report_damage(pool, &damage, function);
    return cpi_damage_code(&damage);
}

CPI_COLD size_t cpi_pool_verify_all(const struct cpi_pool *pool, const char *function)
{
    uintptr_t end = cpi_slab_fresh(&pool->slab);
    uintptr_t index = 0;
    size_t count = 0;

    while (index < end) {
        uintptr_t portion = end - index > CPI_VERIFY_PORTION ? index + CPI_VERIFY_PORTION : end;

        count += cpi_pool_verify_next(pool, &index, portion, function) != 0;
    }
    return count;
}

/* --- The life of a pool --- */

CPI_COLD static void plan(struct cpi_layout *layout, const cpool_config_t *config)
{
    if ((config->flags & CPOOL_CHECKED) == 0)
        return;
    cpi_track_plan(layout);
    layout->gap = CPI_GUARD_GAP;
    layout->sides[CPI_SIDE_RECORDS] = sizeof(struct cpi_record);
}

CPI_COLD static int begin(struct cpi_pool *pool, const struct cpi_layout *layout,
                 const cpool_config_t *config)
{
    (void)layout;
    if ((config->flags & CPOOL_CHECKED) == 0)
        return 0;
    pool->checked = true;
    pool->registry.checked = true;
    pool->slab.bumped = cpi_guard_bumped;
    cpi_pool_set_gate(pool, &check_gate);
    return 0;
}

CPI_COLD static size_t look(struct cpi_pool *pool, const char *function)
{
    return pool->checked ? cpi_pool_verify_all(pool, function) : 0;
}

static void write_line(void *unused, const char *line, size_t length)
{
    (void)unused;
    cpi_write_error(line, length);
}

static void write_live(const struct cpi_pool *pool)
{
    cpi_site_list(&pool->slab, cpi_track_map(pool), write_line, NULL);
}

CPI_COLD static void leaked(struct cpi_pool *pool, size_t live)
{
    if (!pool->checked)
        return;
    cpi_tell("pool '%s' destroyed with %zu live slot%s", pool->name, live,
             CPI_PLURAL(live));
    write_live(pool);
}

CPI_COLD static size_t list(const struct cpi_pool *pool, cpi_line_sink *sink, void *context)
{
    return pool->checked ? cpi_site_list(&pool->slab, cpi_track_map(pool), sink, context) : 0;
}

CPI_COLD static const void *site(const struct cpi_pool *pool, uintptr_t index)
{
    struct cpi_visit alloc;
    struct cpi_visit free;
    bool freed;

    if (!pool->checked || index >= cpi_slab_fresh(&pool->slab))
        return NULL;
    freed = cpi_site_read(&pool->slab, index, true, &free);
    if (!cpi_site_read(&pool->slab, index, false, &alloc))
        return NULL;
    return (const void *)(freed && free.when > alloc.when ? free.site : alloc.site);
}

CPI_COLD static void tell(struct cpi_text *text, const struct cpi_pool *pool, const void *address,
                 uintptr_t index)
{
    if (address != NULL)
        cpi_tell_owner(text, pool, address);
    else
        cpi_tell_slot(text, pool, index);
}

const struct cpi_feature cpi_check_feature = {
    .flags = CPOOL_CHECKED | CPOOL_FILL,
    .plan = plan,
    .begin = begin,
    .look = look,
    .leaked = leaked,
    .list = list,
    .site = site,
    .tell = tell,
    .tell_how = cpi_tell_how,
};

/* --- Leaks at the end of the process --- */

static void write_leaks(struct cpi_pool *pool)
{
    size_t live = cpi_pool_count_live(pool);

    if (live == 0)
        return;
    cpi_tell("pool '%s' has %zu live slot%s at the end of the process", pool->name,
             live, CPI_PLURAL(live));
    if (pool->checked)
        write_live(pool);
}

/* After the program's own destructors, and before the library's last one. */
__attribute__((__destructor__(102))) static void library_unloaded(void)
{
    if (cpi_options()->leaks == 0 || !cpi_lock_at_end())
        return;
    cpi_registry_each(write_leaks);
    cpi_unlock();
}
