/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * workload_frame.h - a job system's frame: spawn n jobs, finish them anywhere,
 * then the next frame.
 *
 * Included by workloads.h, once per rival.  The parameter is n, the jobs of all threads together.
 * Each thread spawns its share.  A thread that is idle takes the next batch of any thread.
 */

#define FRAME_BATCH 32u

struct frame {
    void **jobs;
    char padding0[BENCH_LINE];
    size_t cursor; /* atomic: jobs taken for finishing */
    char padding1[BENCH_LINE];
};

static size_t frame_live(const struct bench_cell *cell)
{
    return cell->parameter;
}

static void frame_prepare(struct bench_shared *shared)
{
    struct frame *frame = (struct frame *)bench_memory(1, sizeof *frame);

    frame->jobs = (void **)bench_memory(shared->cell->parameter, sizeof(void *));
    shared->state = frame;
}

static void frame_setup(struct bench_worker *self)
{
    self->state = self->shared->state;
}

/* The jobs of thread i are those from share(i) to share(i + 1). */
static inline size_t frame_share(const struct bench_cell *cell, unsigned index)
{
    return cell->parameter * index / cell->threads;
}

static void frame_finish(struct bench_worker *self, struct frame *frame)
{
    size_t n = self->cell->parameter, at, end;
    uint64_t sum = self->sum;

    /* Relaxed: the barriers order the jobs, and the cursor only divides them. */
    while ((at = __atomic_fetch_add(&frame->cursor, FRAME_BATCH, __ATOMIC_RELAXED)) < n) {
        for (end = at + FRAME_BATCH < n ? at + FRAME_BATCH : n; at < end; at++) {
            sum += bench_read(frame->jobs[at]);
            rival_free(BENCH_HANDLE(self->handle), frame->jobs[at]);
        }
    }
    self->sum = sum;
}

static uint64_t frame_chunk(struct bench_worker *self)
{
    struct frame *frame = (struct frame *)self->state;
    size_t first = frame_share(self->cell, self->index);
    size_t end = frame_share(self->cell, self->index + 1), i;
    uint64_t stamp = self->stamp;

    for (i = first; i < end; i++)
        frame->jobs[i] = bench_take(rival_alloc(BENCH_HANDLE(self->handle)), stamp++);
    self->stamp = stamp;
    bench_barrier(self->shared);
    frame_finish(self, frame);
    bench_barrier(self->shared);
    if (self->index == 0) /* relaxed: the next barrier publishes it */
        __atomic_store_n(&frame->cursor, 0, __ATOMIC_RELAXED);
    return end - first;
}

static const struct bench_workload frame_workload = {
    "frame", "spawn n jobs, finish them in any thread, next frame", "job",
    BENCH_LOCKSTEP, 1, frame_live, frame_chunk,
    frame_prepare, frame_setup, NULL, NULL, NULL
};
