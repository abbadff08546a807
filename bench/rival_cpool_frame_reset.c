/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_cpool_frame_reset.c - libcpool with one frame for each thread, which is reset after each
 * burst.  A pair is an alloc and its share of the reset.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "rival_cpool.h"

#include <cpool/frame.h>

#include "workload_burst.h"

/* The frame ends with the pool. */
static void reset_setup(struct bench_worker *self)
{
    cpool_frame_t *frame;

    burst_setup(self);
    if (cpool_frame_begin(&frame, (cpool_t *)bench_pool) != CPOOL_OK)
        bench_fail("no frame");
    self->handle = frame;
}

static uint64_t reset_chunk(struct bench_worker *self)
{
    const struct burst *burst = (const struct burst *)self->state;
    cpool_frame_t *frame = (cpool_frame_t *)self->handle;
    const uint32_t *order = burst->order;
    uint64_t stamp = self->stamp, sum = self->sum;
    size_t n = self->cell->parameter, done, i;
    void **slots = burst->slots;

    for (done = 0; done < BENCH_CHUNK; done += n) {
        for (i = 0; i < n; i++)
            slots[i] = bench_take(cpool_frame_alloc(frame), stamp++);
        for (i = 0; i < n; i++)
            sum += bench_read(slots[order[i]]);
        cpool_frame_reset(frame);
    }
    self->stamp = stamp;
    self->sum = sum;
    return done;
}

static const struct bench_workload reset_workload = {
    "burst", "take n slots in a frame, and reset it", "pair",
    0, 1, burst_live, reset_chunk,
    NULL, reset_setup, NULL, NULL, NULL
};

static const struct bench_workload *const rival_workloads[] = { &reset_workload, NULL };

const struct bench_rival bench_rival_cpool_frame_reset = {
    "cpool-frame-reset", "libcpool, inline, a frame that each burst resets",
    BENCH_OURS | BENCH_MODE, 8, SIZE_MAX,
    NULL, rival_version, rival_create, rival_destroy, NULL, NULL, rival_workloads, rival_exchanges
};
