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

/* A ring, guarded by the lock.  Not a list through the memory: tools that look for leaks follow
 * pointers to the beginning of a block, and none that lie in mapped memory. */
#define CPI_ENDED_SPACES (CPI_ENDED_KEPT + 1)

static struct kept_memory {
    void *memory;
    size_t size;
    bool mapped;
} kept_memories[CPI_ENDED_SPACES];

static size_t first_kept; /* counts on without end */
static size_t kept_count;
static size_t kept_bytes;

static struct kept_memory take_first(void)
{
    struct kept_memory *space = &kept_memories[first_kept++ % CPI_ENDED_SPACES];
    struct kept_memory first = *space;

    space->memory = NULL;
    kept_count--;
    kept_bytes -= first.size;
    return first;
}

static void free_memory(struct kept_memory kept)
{
    if (kept.mapped)
        cpi_os_release(kept.memory, kept.size);
    else
        cpi_os_free_block(kept.memory);
}

/* malloc may be made of pools, so the lock is not held while a block goes back.  Another thread
 * finds a space then, because the lock is left with CPI_ENDED_KEPT at most. */
void cpi_ending_keep(struct cpi_ending *ending, void *memory, size_t size, bool mapped)
{
    struct kept_memory kept = {memory, size, mapped};

    cpi_store(&ending->ended, true, relaxed); /* [ended] */
    cpi_lock();
    kept_memories[(first_kept + kept_count++) % CPI_ENDED_SPACES] = kept;
    kept_bytes += size;
    while (kept_count > CPI_ENDED_KEPT || kept_bytes > CPI_ENDED_BYTES) {
        kept = take_first();
        cpi_unlock();
        free_memory(kept);
        cpi_lock();
    }
    cpi_unlock();
}

void cpi_ending_release(void)
{
    while (kept_count != 0)
        free_memory(take_first());
}

CPI_COLD bool cpi_ending_refuse(const void *handle, const char *function)
{
    cpool_error_t error = {
        .code = CPOOL_EPOOL, .function = function, .name = "", .address = handle};

    cpi_report(&error, "%s: it has been destroyed (%p)", function, handle);
    return true;
}
