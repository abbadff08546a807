/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * extent.c - committing memory in growing steps.
 *
 * ORDERING TABLE
 *   reach   | committed load       | acquire | publish | that the memory is usable
 *   seen    | committed CAS failure | relaxed | - | -
 *   publish | committed CAS        | release | reach   | that the memory is usable
 *   count   | calls fetch-and-add  | relaxed | - | -
 */
#include "depot/extent.h"

#include "base/atomic.h"
#include "base/bits.h"
#include "base/compiler.h"
#include "host/os.h"

/* The first step in bytes: this part of the extent, at most CPI_STEP_MIN.  And the longest step. */
#define CPI_STEP_PART ((size_t)16)
#define CPI_STEP_MIN ((size_t)64 * 1024)
#define CPI_STEP_MAX ((size_t)64 * 1024 * 1024)

void cpi_extent_init(struct cpi_extent *extent, void *base, size_t size, size_t page,
                     size_t committed)
{
    extent->base = base;
    extent->size = size;
    extent->page = page;
    atomic_init(&extent->committed, committed);
    atomic_init(&extent->calls, 0);
}

/* Where to commit to when `bytes` are needed: doubles what is committed, within the longest step
 * and the extent. */
static size_t generous_end(const struct cpi_extent *extent, size_t committed, size_t bytes)
{
    size_t least = cpi_lower(extent->size / CPI_STEP_PART, CPI_STEP_MIN);
    size_t step = cpi_within(committed, least, CPI_STEP_MAX);

    return cpi_within(committed + step, bytes, extent->size);
}

static bool commit_range(struct cpi_extent *extent, size_t from, size_t to)
{
    cpi_fetch_add(&extent->calls, (uint64_t)1, relaxed); /* [count] */
    return cpi_os_commit(extent->base + from, to - from);
}

/* Committed memory ends at a page boundary. */
CPI_COLD static bool grow_extent(struct cpi_extent *extent, size_t committed, size_t bytes)
{
    size_t exact = committed + cpi_align_up(bytes - committed, extent->page);
    size_t end = generous_end(extent, committed, bytes);

    end = committed + cpi_align_up(end - committed, extent->page);

    if (!commit_range(extent, committed, end)) {
        end = exact;
        if (!commit_range(extent, committed, end))
            return false;
    }
    end = cpi_lower(end, extent->size);
    while (committed < end)
        /* [publish] [seen] */
        if (cpi_cas_weak(&extent->committed, &committed, end, release, relaxed))
            break;
    return true;
}

bool cpi_extent_reach(struct cpi_extent *extent, size_t bytes)
{
    size_t committed = cpi_load(&extent->committed, acquire); /* [reach] */

    return CPI_LIKELY(bytes <= committed) || grow_extent(extent, committed, bytes);
}
