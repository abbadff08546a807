/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_cpool_framed.c - libcpool with a frame for each burst, whose end gives all slots
 * back.  A pair is an alloc and its share of the beginning and the end.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "rival_cpool.h"

#include <cpool/frame.h>

#include "workload_burst.h"

static uint64_t framed_chunk(struct bench_worker *self)
{
    const struct burst *burst = (const struct burst *)self->state;
    const uint32_t *order = burst->order;
    uint64_t stamp = self->stamp, sum = self->sum;
    size_t n = self->cell->parameter, done, i;
    void **slots = burst->slots;

    for (done = 0; done < BENCH_CHUNK; done += n) {
        cpool_frame_t *frame;

        if (cpool_frame_begin(&frame, (cpool_t *)bench_pool) != CPOOL_OK)
            bench_fail("no frame");
        for (i = 0; i < n; i++)
            slots[i] = bench_take(cpool_frame_alloc(frame), stamp++);
        for (i = 0; i < n; i++)
            sum += bench_read(slots[order[i]]);
        cpool_frame_end(frame);
    }
    self->stamp = stamp;
    self->sum = sum;
    return done;
}

static const struct bench_workload framed_workload = {
    "burst", "take n slots in a frame, and end it", "pair",
    0, 1, burst_live, framed_chunk,
    NULL, burst_setup, NULL, NULL, NULL
};

static const struct bench_workload *const rival_workloads[] = { &framed_workload, NULL };

const struct bench_rival bench_rival_cpool_framed = {
    "cpool-framed", "libcpool, inline, a frame for each burst",
    BENCH_OURS | BENCH_MODE, 8, SIZE_MAX,
    NULL, rival_version, rival_create, rival_destroy, NULL, NULL, rival_workloads, rival_exchanges
};
