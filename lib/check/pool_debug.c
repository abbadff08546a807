/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_debug.c - the lists that are printed after a report and at the end of the process.
 */
#include "pool/pool_info.h"
#include "pool/pool_report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "host/options.h"
#include "host/os.h"
#include "check/checks.h"
#include "check/site.h"
#include "track/track.h"

/* --- The log and live slots --- */

static void add_event(struct cpi_text *text, const struct cpi_pool *pool,
                      const struct cpi_log_event *event, uint64_t now)
{
    cpi_text_add(text, "cpool:   log %" PRIu64 ": ", event->number);
    cpi_site_add_age(text, event->when, now);
    cpi_text_add(text, " ago thread %" PRIuPTR " %s slot %" PRIuPTR " at %p from ", event->thread,
                 event->taken ? "took" : "freed", event->index,
                 cpi_slab_slot(&pool->slab, event->index));
    cpi_trace_name(text, event->site);
    cpi_text_add(text, "\n");
}

static size_t list_log(const struct cpi_pool *pool, cpi_line_sink *sink, void *context)
{
    const struct cpi_log *log = &cpi_checks_of(pool)->log;
    uint64_t now = cpi_os_now();
    uint64_t number;
    uint64_t end;
    size_t lines = 0;

    for (cpi_log_span(log, &number, &end); number < end; number++) {
        char line[CPI_REPORT_MAX];
        struct cpi_log_event event;
        struct cpi_text text;

        if (!cpi_log_read(log, number, &event))
            continue;
        cpi_text_init(&text, line, sizeof line);
        add_event(&text, pool, &event, now);
        sink(context, line, text.length);
        lines++;
    }
    return lines;
}

size_t cpi_pool_list(const struct cpi_pool *pool, enum cpool_print_what what, cpi_line_sink *sink,
                     void *context)
{
    if (!pool->checked)
        return 0;
    return what == CPOOL_PRINT_LIVE ? cpi_site_list(&pool->slab, cpi_track_map(pool), sink, context)
                                    : list_log(pool, sink, context);
}

static void write_line(void *unused, const char *line, size_t length)
{
    (void)unused;
    cpi_write_error(line, length);
}

void cpi_pool_write_live(const struct cpi_pool *pool)
{
    cpi_site_list(&pool->slab, cpi_track_map(pool), write_line, NULL);
}

/* --- The ends of the default handler and of the process --- */

static void report_ends(const cpool_error_t *error)
{
    const struct cpi_pool *pool = cpi_pool_at(error->pool); /* of a face, too */

    if (pool != NULL && pool->checked)
        list_log(pool, write_line, NULL);
    if (cpi_options()->goes_on == 0)
        abort();
}

static void write_leaks(struct cpi_pool *pool)
{
    size_t live = cpi_pool_count_live(pool);

    if (live == 0)
        return;
    cpi_tell("pool '%s' has %zu live slot%s at the end of the process", CPI_SHOWN(pool->name),
             live, CPI_PLURAL(live));
    if (pool->checked)
        cpi_pool_write_live(pool);
}

__attribute__((__constructor__)) static void library_loaded(void)
{
    cpi_report_ends = report_ends;
}

/* After the program's own destructors, and before the library's last one. */
__attribute__((__destructor__(102))) static void library_unloaded(void)
{
    if (cpi_options()->leaks == 0 || !cpi_lock_at_end())
        return;
    cpi_registry_each(write_leaks);
    cpi_unlock();
}
