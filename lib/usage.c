/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * usage.c - the peak and the average of the number of live slots.
 *
 * ORDERING TABLE
 *   claim   | busy CAS to 1      | acquire | release | the figures
 *   release | busy store 0       | release | claim   | the figures
 *   other   | busy CAS failure, store in the child of a fork | relaxed | - | -
 *   due     | due load, store    | relaxed | -       | -
 */
#include "usage.h"

#include "atomic.h"
#include "os.h"

static bool claim(struct cpi_usage *usage)
{
    uint32_t idle = 0;

    return cpi_cas_strong(&usage->busy, &idle, 1u, acquire, relaxed); /* [claim] [other] */
}

static void await(struct cpi_usage *usage)
{
    unsigned times = 0;

    while (!claim(usage))
        cpi_os_back_off(times++);
}

static void release(struct cpi_usage *usage)
{
    cpi_store(&usage->busy, 0u, release); /* [release] */
}

static void begin(struct cpi_usage *usage, uint64_t live, uint64_t now)
{
    usage->since = now;
    usage->last = now;
    usage->live = live;
    usage->peak = live;
    usage->area = 0;
}

/* A thread may come late with a clock that it read before another one. */
static void sample(struct cpi_usage *usage, uint64_t live, uint64_t now)
{
    if (now > usage->last) {
        usage->area += ((double)usage->live + (double)live) / 2 * (double)(now - usage->last);
        usage->last = now;
    }
    usage->live = live;
    if (usage->peak < live)
        usage->peak = live;
}

void cpi_usage_init(struct cpi_usage *usage, uint64_t now)
{
    cpi_usage_forked(usage);
    cpi_store(&usage->due, now, relaxed); /* [due] */
    begin(usage, 0, now);
}

void cpi_usage_forked(struct cpi_usage *usage)
{
    cpi_store(&usage->busy, 0u, relaxed); /* [other] */
}

bool cpi_usage_is_due(const struct cpi_usage *usage, uint64_t now)
{
    return now >= cpi_load(&usage->due, relaxed); /* [due] */
}

void cpi_usage_note(struct cpi_usage *usage, uint64_t live, uint64_t now)
{
    if (!claim(usage))
        return;
    sample(usage, live, now);
    cpi_store(&usage->due, now + CPI_SAMPLE_PERIOD, relaxed); /* [due] */
    release(usage);
}

bool cpi_usage_try_read(struct cpi_usage *usage, uint64_t live, uint64_t now, uint64_t *peak,
                        uint64_t *average)
{
    if (!claim(usage))
        return false;
    sample(usage, live, now);
    *peak = usage->peak;
    *average = usage->live;
    if (usage->last > usage->since)
        *average = (uint64_t)(usage->area / (double)(usage->last - usage->since) + 0.5);
    release(usage);
    return true;
}

void cpi_usage_read(struct cpi_usage *usage, uint64_t live, uint64_t now, uint64_t *peak,
                    uint64_t *average)
{
    unsigned times = 0;

    while (!cpi_usage_try_read(usage, live, now, peak, average))
        cpi_os_back_off(times++);
}

void cpi_usage_restart(struct cpi_usage *usage, uint64_t live, uint64_t now)
{
    await(usage);
    begin(usage, live, now);
    release(usage);
}
