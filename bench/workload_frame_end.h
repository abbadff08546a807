/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * workload_frame_end.h - freeing n slots: by the end of a frame, and one by one.
 *
 * Included by workloads.h and by others for pools of libcpool only.  The parameter is n.  A chunk
 * allocates n slots in a frame and ends it, then allocates n slots and frees each, in the order of
 * allocation.  The allocs are timed, too, because a cost that has only moved there is not saved.
 */

#include <cpool/frame.h>

/* Slots that the pool has in addition, so that it never runs dry. */
#define FRAME_END_ROOM ((size_t)65536)

struct frame_end {
    cpool_t *pool;
    void **slots;
    uint64_t framed, ended, taken, freed; /* nanoseconds since begin */
    uint64_t chunks;
};

static size_t frame_end_live(const struct bench_cell *cell)
{
    (void)cell;
    return 1;
}

static void frame_end_setup(struct bench_worker *self)
{
    struct frame_end *work = (struct frame_end *)bench_memory(1, sizeof *work);
    struct bench_cell cell = *self->cell;

    cell.capacity = cell.parameter + FRAME_END_ROOM;
    work->pool = (cpool_t *)rival_create(&cell);
    work->slots = (void **)bench_memory(cell.parameter, sizeof(void *));
    self->state = work;
}

static void frame_end_begin(struct bench_worker *self)
{
    struct frame_end *work = (struct frame_end *)self->state;

    work->framed = work->ended = work->taken = work->freed = work->chunks = 0;
    self->timed = 0;
}

static void frame_end_by_end(struct bench_worker *self, struct frame_end *work)
{
    size_t n = self->cell->parameter, i;
    cpool_frame_t *frame;
    uint64_t start, end;

    if (cpool_frame_begin(&frame, work->pool) != CPOOL_OK)
        bench_fail("no frame");
    start = bench_now();
    for (i = 0; i < n; i++)
        (void)bench_take(cpool_frame_alloc(frame), i);
    end = bench_now();
    work->framed += end - start;
    cpool_frame_end(frame);
    start = bench_now();
    work->ended += start - end;
    self->timed += start - end;
}

static void frame_end_one_by_one(struct bench_worker *self, struct frame_end *work)
{
    size_t n = self->cell->parameter, i;
    uint64_t start = bench_now(), end;

    for (i = 0; i < n; i++)
        work->slots[i] = bench_take(cpool_alloc(work->pool), i);
    end = bench_now();
    work->taken += end - start;
    for (i = 0; i < n; i++)
        cpool_free(work->pool, work->slots[i]);
    work->freed += bench_now() - end;
}

static uint64_t frame_end_chunk(struct bench_worker *self)
{
    struct frame_end *work = (struct frame_end *)self->state;

    frame_end_by_end(self, work);
    frame_end_one_by_one(self, work);
    work->chunks++;
    return self->cell->parameter;
}

static void frame_end_report(const struct bench_worker *all)
{
    const struct frame_end *work = (const struct frame_end *)all[0].state;
    double chunks = (double)work->chunks, slots = chunks * (double)all[0].cell->parameter;

    bench_metric("end_us", (double)work->ended / chunks / 1e3);
    bench_metric("end_ns", (double)work->ended / slots);
    bench_metric("free_us", (double)work->freed / chunks / 1e3);
    bench_metric("free_ns", (double)work->freed / slots);
    bench_metric("frame_alloc_ns", (double)work->framed / slots);
    bench_metric("alloc_ns", (double)work->taken / slots);
    cpool_destroy(work->pool);
}

static const struct bench_workload frame_end_workload = {
    "frame-end", "give n slots back by the end of a frame, and one by one", "slot",
    BENCH_SELF_TIMED, 1, frame_end_live, frame_end_chunk,
    NULL, frame_end_setup, frame_end_begin, NULL, frame_end_report
};
