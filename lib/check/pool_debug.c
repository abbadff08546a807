/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_debug.c - lists of live slots on standard error, and leaks at the end of the process.
 */
#include "pool/pool_info.h"
#include "pool/pool_report.h"

#include "base/error.h"
#include "host/options.h"
#include "check/checks.h"
#include "check/site.h"
#include "track/track.h"

static void write_line(void *unused, const char *line, size_t length)
{
    (void)unused;
    cpi_write_error(line, length);
}

void cpi_pool_write_live(const struct cpi_pool *pool)
{
    cpi_site_list(&pool->slab, cpi_track_map(pool), write_line, NULL);
}

static void write_leaks(struct cpi_pool *pool)
{
    size_t live = cpi_pool_count_live(pool);

    if (live == 0)
        return;
    cpi_tell("pool '%s' has %zu live slot%s at the end of the process", pool->name,
             live, CPI_PLURAL(live));
    if (pool->checked)
        cpi_pool_write_live(pool);
}

/* After the program's own destructors, and before the library's last one. */
__attribute__((__destructor__(102))) static void library_unloaded(void)
{
    if (cpi_options()->leaks == 0 || !cpi_lock_at_end())
        return;
    cpi_registry_each(write_leaks);
    cpi_unlock();
}
