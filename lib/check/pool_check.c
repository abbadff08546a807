/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_check.c - the life of a checked pool, and leaks at the end of the process.
 */
#include "check/checks.h"

#include "base/error.h"
#include "check/pool_tell.h"
#include "check/site.h"
#include "host/options.h"
#include "pool/feature.h"
#include "pool/pool_alloc.h"
#include "pool/pool_info.h"
#include "track/track.h"

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
    cpi_pool_set_gate(pool, &cpi_check_gate);
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
