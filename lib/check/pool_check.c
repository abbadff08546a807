/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_check.c - the life of a checked pool, where its slots change hands, looks at all of
 * them, what reports tell of them, and leaks at the end of the process.
 *
 * ORDERING TABLE
 *   note | stores of a call's members | relaxed | - | -
 *   read | loads of a call's members  | relaxed | - | -
 *
 * A record passes with its slot.  A thread that reads another's takes what is there.
 */
#include "check/checks.h"

#include <cpool/debug.h>

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/tools.h"
#include "host/options.h"
#include "host/os.h"
#include "process/addresses.h"
#include "pool/feature.h"
#include "pool/pool_alloc.h"
#include "pool/pool_info.h"
#include "pool/pool_report.h"

/* --- The last alloc and free of a slot --- */

/* The contents of a struct cpi_recorded. */
struct cpi_visit {
    uint64_t when;
    uintptr_t thread;
    uintptr_t caller;
};

/* A slot is taken or freed by a call from `site`.  Only for the slot's owner. */
static void note_call(const struct cpi_slab *slab, uintptr_t index, bool is_free, const void *site)
{
    struct cpi_recorded *call = &cpi_record_of(slab, index)->calls[is_free];

    cpi_store(&call->when, cpi_os_now(), relaxed);         /* [note] */
    cpi_store(&call->thread, cpi_trace_thread(), relaxed); /* [note] */
    cpi_store(&call->site, (uintptr_t)site, relaxed);      /* [note] */
}

/* Returns false if there was none.  Any thread.  Two calls may be mixed up while the slot changes
 * hands. */
static bool read_call(const struct cpi_slab *slab, uintptr_t index, bool is_free,
                      struct cpi_visit *visit)
{
    const struct cpi_recorded *call = &cpi_record_of(slab, index)->calls[is_free];

    visit->when = cpi_load(&call->when, relaxed);     /* [read] */
    visit->thread = cpi_load(&call->thread, relaxed); /* [read] */
    visit->caller = cpi_load(&call->site, relaxed);     /* [read] */
    return visit->when != 0;
}

/* The name of the place's address, and the address. */
static void add_place(struct cpi_text *text, const struct cpi_visit *visit)
{
    if (visit->caller == 0)
        return;
    cpi_trace_name(text, visit->caller);
    cpi_text_add(text, " [0x%" PRIxPTR "]", visit->caller);
}

/* A time before `now`, in seconds. */
static void add_age(struct cpi_text *text, uint64_t when, uint64_t now)
{
    uint64_t age = now > when ? now - when : 0;

    cpi_text_add(text, "%" PRIu64 ".%03u s", age / 1000000000u,
                 (unsigned)(age / 1000000u % 1000u));
}

/* --- The list of live slots --- */

/* Places beyond so many are counted together. */
#define CPI_SITE_ROWS 64

struct row {
    uintptr_t index; /* of an example */
    uintptr_t caller;
    size_t slots;
    uint64_t oldest; /* of their allocs */
    uint64_t youngest;
};

/* The last row is for all other places. */
static void count_one(struct row *rows, size_t *used, uintptr_t index,
                      const struct cpi_visit *visit)
{
    size_t i = 0;

    while (i < *used && rows[i].caller != visit->caller && i < CPI_SITE_ROWS - 1)
        i++;
    if (i == *used) {
        rows[i] = (struct row){index, visit->caller, 0, visit->when, visit->when};
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

static size_t count_places(const struct cpi_pool *pool, struct row *rows)
{
    uintptr_t fresh = cpi_slab_fresh(&pool->slab);
    size_t used = 0;

    for (uintptr_t index = 0; index < fresh; index++) {
        struct cpi_visit visit;

        if (cpi_slotmap_state(cpi_track_map(pool), index) == CPI_SLOTMAP_LIVE_ONE &&
            read_call(&pool->slab, index, false, &visit))
            count_one(rows, &used, index, &visit);
    }
    return used;
}

/* Those with most slots first. */
static void sort(struct row *rows, size_t used)
{
    for (size_t i = 0; i < used; i++)
        for (size_t k = i + 1; k < used; k++)
            if (rows[k].slots > rows[i].slots) {
                struct row kept = rows[i];

                rows[i] = rows[k];
                rows[k] = kept;
            }
}

static void add_line(const struct cpi_slab *slab, const struct row *row, bool rest, uint64_t now,
                     struct cpi_text *text)
{
    struct cpi_visit visit;

    if (rest) {
        cpi_text_add(text, "cpool:   %zu allocated elsewhere", row->slots);
    } else {
        read_call(slab, row->index, false, &visit);
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

/* Lists the live slots by the place that took them, those with most slots first: the number, the
 * place, an example, the ages of the oldest and the youngest.  Any thread, at any time, allocates
 * nothing.  Returns the number of live slots that it met. */
static size_t list_live(const struct cpi_pool *pool, cpi_line_sink *sink, void *context)
{
    struct row rows[CPI_SITE_ROWS];
    size_t used = count_places(pool, rows);
    uint64_t now = cpi_os_now();
    size_t live = 0;

    sort(rows, used < CPI_SITE_ROWS ? used : CPI_SITE_ROWS - 1);
    for (size_t i = 0; i < used; i++) {
        char line[CPI_REPORT_MAX];
        struct cpi_text text;

        cpi_text_init(&text, line, sizeof line - 1); /* room for the end of the line */
        add_line(&pool->slab, &rows[i], i == CPI_SITE_ROWS - 1, now, &text);
        line[text.length] = '\n';
        sink(context, line, text.length + 1);
        live += rows[i].slots;
    }
    return live;
}

/* --- Details of a report ---
 *
 * All of these read what other threads may be writing, and say what they find.  They
 * allocate nothing, take no lock, and follow no pointer into the pool's lists, so that
 * they work in a pool that is corrupted. */

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

    if (!read_call(&pool->slab, index, is_free, &visit))
        return;
    cpi_text_add(text, "cpool:     %s ", is_free ? "freed" : "allocated");
    add_age(text, visit.when, cpi_os_now());
    cpi_text_add(text, " ago by thread %" PRIuPTR " at ", visit.thread);
    add_place(text, &visit);
    cpi_text_add(text, "\n");
}

/* The state of a slot, and its last alloc and free, in lines of their own. */
static void tell_slot(struct cpi_text *text, const struct cpi_pool *pool, uintptr_t index)
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

/* Which other pool the address lies in, if any, and that slot's lines.  The lock keeps that pool
 * from being destroyed meanwhile.  It is not waited for. */
static void tell_owner(struct cpi_text *text, const struct cpi_pool *pool, const void *address)
{
    const cpool_t *handle = cpi_ranges_find((uintptr_t)address);
    const struct cpi_pool *owner;
    enum cpi_place place;
    uintptr_t index;

    if (handle == NULL || handle == pool->face || cpi_lock_is_held() || !cpi_try_lock())
        return;
    owner = cpi_pool_at(handle);
    place = owner != NULL ? cpi_slab_place(&owner->slab, address, &index) : CPI_PLACE_OUTSIDE;
    if (place != CPI_PLACE_OUTSIDE) {
        cpi_text_add(text,
                     "cpool:   the address lies in another pool, '%s' %p, %s slot %" PRIuPTR "\n",
                     owner->name, (const void *)handle,
                     place == CPI_PLACE_INSIDE ? "inside or behind" : "at the start of", index);
        tell_slot(text, owner, index);
    }
    cpi_unlock();
}

static void tell_bytes(struct cpi_text *text, const char *what, const unsigned char *bytes,
                       size_t n)
{
    cpi_text_add(text, "cpool:     %s", what);
    for (size_t i = 0; i < n; i++)
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

/* What was overwritten, which slot's user probably did it, and both slots. */
static void tell_damage(struct cpi_text *text, const struct cpi_pool *pool,
                        const struct cpi_damage *damage)
{
    tell_place(text, pool, damage);
    tell_bytes(text, "expected", damage->expected, damage->shown);
    tell_bytes(text, "found   ", damage->found, damage->shown);
    if (damage->place != CPI_DAMAGE_INSIDE)
        tell_culprit(text, damage);
    tell_slot(text, pool, damage->index);
    if (damage->place == CPI_DAMAGE_AFTER)
        tell_slot(text, pool, damage->index + 1);
    else if (damage->place == CPI_DAMAGE_BEFORE && damage->index > 0)
        tell_slot(text, pool, damage->index - 1);
}

/* How to learn more about a pool, which may be NULL. */
void cpi_check_tell_how(struct cpi_text *text, const struct cpi_pool *pool)
{
    if (strstr(text->start, "+0x") != NULL)
        cpi_text_add(text, "cpool:   'addr2line -ife FILE 0xNUMBER' names the line of "
                           "FILE+0xNUMBER\n");
    if (pool == NULL || !pool->checked)
        cpi_text_add(text, "cpool:   CPOOL_OPTIONS=checked,fill in the environment tells "
                           "more (man cpool_debug)\n");
}

/* --- Where slots change hands --- */

/* Reports damage at a moment when the slot's record still tells of its last use. */
CPI_COLD static void report_damage(const struct cpi_pool *pool, const struct cpi_damage *damage,
                                   const char *function)
{
    char details[CPI_DETAILS_MAX];
    struct cpi_text text;

    cpi_text_init(&text, details, sizeof details);
    tell_damage(&text, pool, damage);
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
    tell_damage(&text, pool, damage);
    if (!cpi_slotmap_take(cpi_track_map(pool), index))
        return false;
    note_call(&pool->slab, index, false, call.site);
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
    note_call(&pool->slab, index, false, call.site);
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
    note_call(&pool->slab, index, true, call.site);
    cpi_guard_give(&pool->slab, index, (pool->flags & CPOOL_FILL) != 0);
    cpi_tools_given(pool->tools, pool, slot, pool->slab.slot_size);
    return true;
}

static int retired(struct cpi_pool *pool, uintptr_t index, enum cpi_retiring step)
{
    int code;

    if (step == CPI_RETIRING_BACK || !cpi_record_is_framed(&pool->slab, index))
        return cpi_track_retired(pool, index, step);
    code = cpi_track_retired(pool, index, CPI_RETIRING_ASKED); /* a reset leaves the mark */
    return code != 0 ? code : CPOOL_EFRAMED;
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

CPI_COLD static size_t verify_all(const struct cpi_pool *pool, const char *function)
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

/* --- <cpool/debug.h> --- */

size_t cpool_audit(cpool_t *handle)
{
    static const char function[] = "cpool_audit";
    const struct cpi_pool *pool = cpi_pool_seen(handle, function);

    return pool != NULL && pool->checked ? verify_all(pool, function) : 0;
}

int cpool_verify(cpool_t *handle, const void *slot)
{
    static const char function[] = "cpool_verify";
    struct cpi_pool *pool = cpi_pool_seen(handle, function);
    uintptr_t index;
    int code;

    if (pool == NULL)
        return CPOOL_EPOOL;
    code = cpi_pool_judge(pool, slot, function, &index);
    if (code != 0 || !pool->checked)
        return code;
    return cpi_pool_verify_next(pool, &index, index + 1, function);
}

/* --- The life of a pool --- */

CPI_COLD void cpi_check_plan(struct cpi_layout *layout)
{
    cpi_track_plan(layout);
    layout->gap = CPI_GUARD_GAP;
    layout->sides[CPI_SIDE_RECORDS] = sizeof(struct cpi_record);
}

CPI_COLD void cpi_check_begin(struct cpi_pool *pool)
{
    if ((pool->flags & CPOOL_CHECKED) == 0)
        return;
    pool->checked = true;
    pool->registry.checked = true;
    pool->slab.bumped = cpi_guard_bumped;
    cpi_pool_set_gate(pool, &check_gate);
}

CPI_COLD size_t cpi_check_look(struct cpi_pool *pool, const char *function)
{
    return pool->checked ? verify_all(pool, function) : 0;
}

static void write_line(void *unused, const char *line, size_t length)
{
    (void)unused;
    cpi_write_error(line, length);
}

CPI_COLD void cpi_check_leaked(struct cpi_pool *pool, size_t live)
{
    if (!pool->checked)
        return;
    cpi_tell("pool '%s' destroyed with %zu live slot%s", pool->name, live,
             CPI_PLURAL(live));
    list_live(pool, write_line, NULL);
}

CPI_COLD size_t cpi_check_list(const struct cpi_pool *pool, cpi_line_sink *sink, void *context)
{
    return pool->checked ? list_live(pool, sink, context) : 0;
}

CPI_COLD const void *cpi_check_site(const struct cpi_pool *pool, uintptr_t index)
{
    struct cpi_visit alloc;
    struct cpi_visit free;
    bool freed;

    if (!pool->checked || index >= cpi_slab_fresh(&pool->slab))
        return NULL;
    freed = read_call(&pool->slab, index, true, &free);
    if (!read_call(&pool->slab, index, false, &alloc))
        return NULL;
    return (const void *)(freed && free.when > alloc.when ? free.caller : alloc.caller);
}

CPI_COLD void cpi_check_tell(struct cpi_text *text, const struct cpi_pool *pool,
                             const void *address, uintptr_t index)
{
    if (address != NULL)
        tell_owner(text, pool, address);
    else
        tell_slot(text, pool, index);
}

/* --- Leaks at the end of the process --- */

static void write_leaks(struct cpi_pool *pool)
{
    size_t live = cpi_pool_count_live(pool);

    if (live == 0)
        return;
    cpi_tell("pool '%s' has %zu live slot%s at the end of the process", pool->name,
             live, CPI_PLURAL(live));
    if (pool->checked)
        list_live(pool, write_line, NULL);
}

/* After the program's own destructors, and before the library's last one. */
__attribute__((__destructor__(102))) static void library_unloaded(void)
{
    if (cpi_options()->leaks == 0 || !cpi_lock_at_end())
        return;
    cpi_registry_each(write_leaks);
    cpi_unlock();
}
