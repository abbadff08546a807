/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * workload_object_frame.h - putting n objects back: by the end of a frame, all active ones at once,
 * and one by one.
 *
 * Included by workloads.h for pools of libcpool only.  The parameter is n.  A chunk is three rounds
 * of n gets, one for each way.  All n objects exist before.  The gets are timed, too, because a
 * cost that has only moved there is not saved.
 */

#include <cpool/object_frame.h>

struct object_frame {
    cpool_objects_t *pool;
    void **objects;
    uint64_t framed, ended, taken, all, each; /* nanoseconds since begin */
    uint64_t chunks;
};

static size_t object_frame_live(const struct bench_cell *cell)
{
    (void)cell;
    return 1;
}

/* Returns the nanoseconds that it took. */
static uint64_t object_frame_get(struct object_frame *frame, size_t n)
{
    uint64_t start = bench_now();
    size_t i;

    for (i = 0; i < n; i++)
        frame->objects[i] = bench_take(cpool_object_get(frame->pool), i);
    return bench_now() - start;
}

static void object_frame_setup(struct bench_worker *self)
{
    struct object_frame *frame = (struct object_frame *)bench_memory(1, sizeof *frame);
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    size_t n = self->cell->parameter;

    type.object_size = self->cell->slot_size;
    config.type = &type;
    config.capacity = n;
    if (cpool_objects_create(&frame->pool, &config) != CPOOL_OK)
        bench_fail("no object pool");
    frame->objects = (void **)bench_memory(n, sizeof(void *));
    (void)object_frame_get(frame, n);
    if (cpool_objects_reset(frame->pool, SIZE_MAX) != n)
        bench_fail("another number of objects was put back");
    self->state = frame;
}

static void object_frame_begin(struct bench_worker *self)
{
    struct object_frame *frame = (struct object_frame *)self->state;

    frame->framed = frame->ended = frame->taken = frame->all = frame->each = frame->chunks = 0;
    self->timed = 0;
}

static void object_frame_by_end(struct bench_worker *self, struct object_frame *work)
{
    size_t n = self->cell->parameter, i;
    cpool_object_frame_t *frame;
    uint64_t start, end;

    if (cpool_object_frame_begin(&frame, work->pool) != CPOOL_OK)
        bench_fail("no frame");
    start = bench_now();
    for (i = 0; i < n; i++)
        (void)bench_take(cpool_object_frame_get(frame), i);
    end = bench_now();
    work->framed += end - start;
    cpool_object_frame_end(frame);
    work->ended += bench_now() - end;
}

static uint64_t object_frame_chunk(struct bench_worker *self)
{
    struct object_frame *frame = (struct object_frame *)self->state;
    size_t n = self->cell->parameter, i;
    uint64_t start, all;

    object_frame_by_end(self, frame);
    frame->taken += object_frame_get(frame, n);
    start = bench_now();
    if (cpool_objects_reset(frame->pool, SIZE_MAX) != n)
        bench_fail("another number of objects was put back");
    all = bench_now() - start;
    frame->all += all;
    self->timed += all;
    frame->taken += object_frame_get(frame, n);
    start = bench_now();
    for (i = 0; i < n; i++)
        cpool_object_put(frame->pool, frame->objects[i]);
    frame->each += bench_now() - start;
    frame->chunks++;
    return n;
}

static void object_frame_report(const struct bench_worker *all)
{
    const struct object_frame *frame = (const struct object_frame *)all[0].state;
    double chunks = (double)frame->chunks, objects = chunks * (double)all[0].cell->parameter;

    bench_metric("end_us", (double)frame->ended / chunks / 1e3);
    bench_metric("frame_get_ns", (double)frame->framed / objects);
    bench_metric("all_us", (double)frame->all / chunks / 1e3);
    bench_metric("put_us", (double)frame->each / chunks / 1e3);
    bench_metric("get_ns", (double)frame->taken / objects / 2.0);
    cpool_objects_destroy(frame->pool);
}

static const struct bench_workload object_frame_workload = {
    "object-frame", "put n objects back by the end of a frame, all at once, and one by one",
    "object", BENCH_SELF_TIMED, 1, object_frame_live, object_frame_chunk,
    NULL, object_frame_setup, object_frame_begin, NULL, object_frame_report
};
