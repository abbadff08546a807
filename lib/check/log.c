/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * log.c - the last allocs and frees of a pool.
 *
 * ORDERING TABLE
 *   draw  | next fetch-and-add           | relaxed | - | -
 *   begin | number CAS to BUSY           | acquire | done  | that the last writer is done
 *   ask   | number load, CAS failure     | relaxed | - | -
 *   write | stores of the other members  | release | read  | that the entry is being written
 *   done  | number store                 | release | open, begin | the other members
 *   left  | number store in the child of a fork | relaxed | - | -
 *   open  | number load                  | acquire | done  | the other members
 *   read  | loads of the other members   | acquire | write | that the entry is being written
 *   close | number load                  | relaxed | - | -
 *   count | next load                    | relaxed | - | -
 *
 * A reader that finds a member of a later event has acquired [write], which follows
 * [begin].  So its [close] finds another number.  An entry has one writer at a time.
 */
#include "check/log.h"

#include "base/atomic.h"
#include "base/compiler.h"

/* The number of an entry that is being written. */
#define CPI_LOG_BUSY UINT64_MAX

/* Another thread that is as many events behind or ahead may want the same entry. */
static bool claim(struct cpi_log_entry *entry, uint64_t number)
{
    uint64_t old = cpi_load(&entry->number, relaxed); /* [ask] */

    return old < number &&
           cpi_cas_strong(&entry->number, &old, CPI_LOG_BUSY, acquire, relaxed); /* [begin] [ask] */
}

void cpi_log_note(struct cpi_log *log, const struct cpi_log_event *event)
{
    uint64_t number = cpi_fetch_add(&log->next, 1u, relaxed); /* [draw] */
    struct cpi_log_entry *entry = &log->entries[number % log->size];

    if (CPI_UNLIKELY(!claim(entry, number + 1)))
        return;
    cpi_store(&entry->when, event->when, release);               /* [write] */
    cpi_store(&entry->thread, event->thread, release);           /* [write] */
    cpi_store(&entry->index, event->index, release);             /* [write] */
    cpi_store(&entry->site, event->site, release);               /* [write] */
    cpi_store(&entry->taken, event->taken ? 1u : 0u, release);   /* [write] */
    cpi_store(&entry->number, number + 1, release);              /* [done] */
}

void cpi_log_forked(struct cpi_log *log)
{
    size_t i;

    for (i = 0; i < log->size; i++)
        if (cpi_load(&log->entries[i].number, relaxed) == CPI_LOG_BUSY) /* [ask] */
            cpi_store(&log->entries[i].number, 0u, relaxed);            /* [left] */
}

void cpi_log_span(const struct cpi_log *log, uint64_t *first, uint64_t *end)
{
    uint64_t events = log->size > 0 ? cpi_load(&log->next, relaxed) : 0; /* [count] */

    *end = events + 1;
    *first = events > log->size ? events - log->size + 1 : 1;
}

bool cpi_log_read(const struct cpi_log *log, uint64_t number, struct cpi_log_event *event)
{
    const struct cpi_log_entry *entry = &log->entries[(number - 1) % log->size];

    if (cpi_load(&entry->number, acquire) != number) /* [open] */
        return false;
    event->number = number;
    event->when = cpi_load(&entry->when, acquire);                 /* [read] */
    event->thread = cpi_load(&entry->thread, acquire);             /* [read] */
    event->index = cpi_load(&entry->index, acquire);               /* [read] */
    event->site = cpi_load(&entry->site, acquire);                 /* [read] */
    event->taken = cpi_load(&entry->taken, acquire) != 0;          /* [read] */
    return cpi_load(&entry->number, relaxed) == number;            /* [close] */
}
