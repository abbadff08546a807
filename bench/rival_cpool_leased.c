/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_cpool_leased.c - libcpool under a lease for each burst, whose end gives all slots
 * back.  A pair is an alloc and its share of the beginning and the end.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "rival_cpool.h"

#include <cpool/lease.h>

#include "workload_burst.h"

static uint64_t leased_chunk(struct bench_worker *self)
{
    const struct burst *burst = (const struct burst *)self->state;
    const uint32_t *order = burst->order;
    uint64_t stamp = self->stamp, sum = self->sum;
    size_t n = self->cell->parameter, done, i;
    void **slots = burst->slots;

    for (done = 0; done < BENCH_CHUNK; done += n) {
        cpool_lease_t *lease = cpool_lease_begin((cpool_t *)bench_pool);

        if (lease == NULL)
            bench_fail("no lease");
        for (i = 0; i < n; i++)
            slots[i] = bench_take(cpool_lease_alloc(lease), stamp++);
        for (i = 0; i < n; i++)
            sum += bench_read(slots[order[i]]);
        if (cpool_lease_end(lease) != n)
            bench_fail("the lease gave back another number of slots");
    }
    self->stamp = stamp;
    self->sum = sum;
    return done;
}

static const struct bench_workload leased_workload = {
    "burst", "take n slots under a lease, and end it", "pair",
    0, 1, burst_live, leased_chunk,
    NULL, burst_setup, NULL, NULL, NULL
};

static const struct bench_workload *const rival_workloads[] = { &leased_workload, NULL };

const struct bench_rival bench_rival_cpool_leased = {
    "cpool-leased", "libcpool, inline, a lease for each burst",
    BENCH_OURS | BENCH_MODE, 8, SIZE_MAX,
    NULL, rival_version, rival_create, rival_destroy, NULL, NULL, rival_workloads, rival_exchanges
};
