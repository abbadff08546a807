/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ending.c - the memory of structures that have ended.
 *
 * ORDERING TABLE
 *   ended | ended store | relaxed | - | -
 */
#include "host/ending.h"

#include "base/error.h"
#include "host/os.h"
#include "host/thread.h"

/* In the order of their ends, guarded by the lock. */
static struct cpi_ending *first_ended;
static struct cpi_ending **last_ended = &first_ended;
static size_t kept_count;
static size_t kept_bytes;

static struct cpi_ending *take_first(void)
{
    struct cpi_ending *ending = first_ended;

    first_ended = ending->next;
    if (first_ended == NULL)
        last_ended = &first_ended;
    kept_count--;
    kept_bytes -= ending->size;
    return ending;
}

static void free_memory(const struct cpi_ending *ending)
{
    if (ending->mapped)
        cpi_os_release(ending->memory, ending->size);
    else
        cpi_os_free_block(ending->memory);
}

/* The first one, if there are too many.  malloc may be made of pools, so the lock is not held
 * while its block goes back. */
static bool drop_first(void)
{
    struct cpi_ending *ending = NULL;

    cpi_lock();
    if (kept_count > CPI_ENDED_KEPT || kept_bytes > CPI_ENDED_BYTES)
        ending = take_first();
    cpi_unlock();
    if (ending != NULL)
        free_memory(ending);
    return ending != NULL;
}

void cpi_ending_keep(struct cpi_ending *ending, void *memory, size_t size, bool mapped)
{
    cpi_store(&ending->ended, true, relaxed); /* [ended] */
    ending->mapped = mapped;
    ending->memory = memory;
    ending->size = size;
    ending->next = NULL;
    cpi_lock();
    *last_ended = ending;
    last_ended = &ending->next;
    kept_count++;
    kept_bytes += size;
    cpi_unlock();
    while (drop_first())
        ;
}

void cpi_ending_release(void)
{
    while (first_ended != NULL)
        free_memory(take_first());
}

CPI_COLD bool cpi_ending_refuse(const void *handle, const char *function)
{
    cpool_error_t error = {
        .code = CPOOL_EPOOL, .function = function, .name = "", .address = handle};

    cpi_report(&error, "%s: it has been destroyed (%p)", function, handle);
    return true;
}
