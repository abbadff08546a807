/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * log.h - the last allocs and frees of a pool.
 *
 * Includes text.h.
 *
 * A ring of entries in the pool's memory.  A writer draws a number and overwrites the
 * oldest entry.  A reader skips entries that are being written.  So does a writer that finds
 * another one still there, as many events behind as there are entries: its event is left out.
 */
#ifndef CPI_LOG_H
#define CPI_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpi_log_entry {
    _Atomic uint64_t number; /* of the event, from 1; 0: none.  UINT64_MAX while it is being
                                written */
    _Atomic uint64_t when;   /* nanoseconds of the monotonic clock */
    _Atomic uintptr_t thread;
    _Atomic uintptr_t index; /* of the slot */
    _Atomic uintptr_t site;
    _Atomic uint32_t taken;  /* 1: an alloc.  0: a free */
};

struct cpi_log {
    struct cpi_log_entry *entries; /* constant: `size` of them, zero at first */
    size_t size;                   /* constant: 0 without a log */
    _Atomic uint64_t next;         /* events so far */
};

/* The contents of an entry. */
struct cpi_log_event {
    uint64_t number;
    uint64_t when;
    uintptr_t thread;
    uintptr_t index;
    uintptr_t site;
    bool taken;
};

/* `memory`, of `size` entries, is zero. */
static inline void cpi_log_init(struct cpi_log *log, void *memory, size_t size)
{
    log->entries = memory;
    log->size = size;
    atomic_init(&log->next, 0);
}

/* Notes an event, and draws its number.  Wait-free, async-signal-safe. */
void cpi_log_note(struct cpi_log *log, const struct cpi_log_event *event);

/* In the child of a fork: the writers have vanished. */
void cpi_log_forked(struct cpi_log *log);

/* The numbers of the entries that are there: from *first to before *end.  Wait-free. */
void cpi_log_span(const struct cpi_log *log, uint64_t *first, uint64_t *end);

/* Reads one event by its number.  Returns false if it is overwritten, or not complete.
 * Wait-free. */
bool cpi_log_read(const struct cpi_log *log, uint64_t number, struct cpi_log_event *event);

#endif /* CPI_LOG_H */
