/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * workload_pipe.h - slots allocated by producers are freed by consumers.
 *
 * Included by workloads.h, once per rival.  Four shapes, with one ring for every arrow.  The
 * parameter is the room in each ring:
 *
 *   pipe       p -> c  p -> c      pairs, each on its own
 *   fan-out    p -> c, p -> c      one producer, all others consume
 *   fan-in     p -> c, p -> c      all others produce for one consumer
 *   mesh       every p -> every c  half of the threads each
 *
 * An operation is one slot allocated here and freed there.  Consumers count.  A thread that serves
 * several rings waits only when it can proceed with none of them.
 */

struct pipe_map {
    struct bench_ring *rings; /* producers x consumers, or one per pair */
    unsigned producers, consumers;
    bool paired; /* producer i feeds consumer i alone */
};

struct pipe_end {
    struct bench_ring **rings; /* those that end at this thread */
    unsigned count;
    unsigned next; /* the next ring */
    bool produces;
};

static void pipe_make(struct bench_shared *shared, unsigned producers, unsigned consumers,
                      bool paired)
{
    struct pipe_map *map = (struct pipe_map *)bench_memory(1, sizeof *map);
    unsigned rings = paired ? producers : producers * consumers, i;

    map->rings = (struct bench_ring *)bench_memory(rings, sizeof *map->rings);
    map->producers = producers;
    map->consumers = consumers;
    map->paired = paired;
    for (i = 0; i < rings; i++)
        bench_ring_init(&map->rings[i], shared->cell->parameter);
    shared->state = map;
}

static void pipe_prepare(struct bench_shared *shared)
{
    pipe_make(shared, shared->cell->threads / 2, shared->cell->threads / 2, true);
}

static void fan_out_prepare(struct bench_shared *shared)
{
    pipe_make(shared, 1, shared->cell->threads - 1, false);
}

static void fan_in_prepare(struct bench_shared *shared)
{
    pipe_make(shared, shared->cell->threads - 1, 1, false);
}

static void mesh_prepare(struct bench_shared *shared)
{
    pipe_make(shared, shared->cell->threads / 2, shared->cell->threads / 2, false);
}

/* As many as all rings can hold, and one held by every thread.  There are at most as many rings as
 * threads, but in a mesh half as many, squared. */
static size_t pipe_live(const struct bench_cell *cell)
{
    return (cell->parameter + 1) * cell->threads;
}

static size_t mesh_live(const struct bench_cell *cell)
{
    size_t half = cell->threads / 2;

    return cell->parameter * half * half + cell->threads;
}

/* Neighbouring threads are a pair, so that they share processors evenly. */
static void pipe_setup(struct bench_worker *self)
{
    const struct pipe_map *map = (const struct pipe_map *)self->shared->state;
    struct pipe_end *end = (struct pipe_end *)bench_memory(1, sizeof *end);
    bool alternate = map->producers == map->consumers;
    unsigned number = alternate ? self->index / 2 : self->index, i;

    end->produces = alternate ? self->index % 2 == 0 : self->index < map->producers;
    if (!alternate && !end->produces)
        number -= map->producers;
    end->count = map->paired ? 1 : end->produces ? map->consumers : map->producers;
    end->rings = (struct bench_ring **)bench_memory(end->count, sizeof *end->rings);
    for (i = 0; i < end->count; i++) {
        unsigned ring = map->paired     ? number
                        : end->produces ? number * map->consumers + i
                                        : i * map->consumers + number;
        end->rings[i] = &map->rings[ring];
    }
    self->state = end;
}

static inline struct bench_ring *pipe_next(struct pipe_end *end)
{
    struct bench_ring *ring = end->rings[end->next];

    end->next = end->next + 1 == end->count ? 0 : end->next + 1;
    return ring;
}

static uint64_t pipe_produce(struct bench_worker *self, struct pipe_end *end)
{
    void *handle = self->handle;
    uint64_t stamp = self->stamp;
    unsigned done = 0, misses = 0, spins = 0;

    while (done < BENCH_CHUNK && !bench_stopped(self->shared)) {
        struct bench_ring *ring = pipe_next(end);

        if (!bench_ring_has_room(ring)) {
            if (++misses >= end->count)
                bench_pause(&spins);
            continue;
        }
        bench_ring_put(ring, bench_take(rival_alloc(BENCH_HANDLE(handle)), stamp++));
        done++;
        misses = spins = 0;
    }
    self->stamp = stamp;
    return 0;
}

static uint64_t pipe_consume(struct bench_worker *self, struct pipe_end *end)
{
    void *handle = self->handle;
    uint64_t sum = self->sum;
    unsigned done = 0, misses = 0, spins = 0;

    while (done < BENCH_CHUNK && !bench_stopped(self->shared)) {
        void *slot = bench_ring_get(pipe_next(end));

        if (slot == NULL) {
            if (++misses >= end->count)
                bench_pause(&spins);
            continue;
        }
        sum += bench_read(slot);
        rival_free(BENCH_HANDLE(handle), slot);
        done++;
        misses = spins = 0;
    }
    self->sum = sum;
    return done;
}

static uint64_t pipe_chunk(struct bench_worker *self)
{
    struct pipe_end *end = (struct pipe_end *)self->state;

    return end->produces ? pipe_produce(self, end) : pipe_consume(self, end);
}

/* All threads have stopped.  The slots in the rings belong to their consumers. */
static void pipe_teardown(struct bench_worker *self)
{
    struct pipe_end *end = (struct pipe_end *)self->state;
    unsigned i;
    void *slot;

    for (i = 0; !end->produces && i < end->count; i++) {
        bench_ring_show(end->rings[i]);
        while ((slot = bench_ring_get(end->rings[i])) != NULL) {
            self->sum += bench_read(slot);
            rival_free(BENCH_HANDLE(self->handle), slot);
        }
    }
}

static const struct bench_workload pipe_workload = {
    "pipe", "producers hand slots to consumers, in pairs", "pair",
    BENCH_PAIRED, 2, pipe_live, pipe_chunk,
    pipe_prepare, pipe_setup, NULL, pipe_teardown, NULL
};

static const struct bench_workload fan_out_workload = {
    "fan-out", "one producer, all others consume", "pair",
    BENCH_PAIRED, 2, pipe_live, pipe_chunk,
    fan_out_prepare, pipe_setup, NULL, pipe_teardown, NULL
};

static const struct bench_workload fan_in_workload = {
    "fan-in", "all others produce for one consumer", "pair",
    BENCH_PAIRED, 2, pipe_live, pipe_chunk,
    fan_in_prepare, pipe_setup, NULL, pipe_teardown, NULL
};

static const struct bench_workload mesh_workload = {
    "mesh", "every producer hands slots to every consumer", "pair",
    BENCH_PAIRED, 2, mesh_live, pipe_chunk,
    mesh_prepare, pipe_setup, NULL, pipe_teardown, NULL
};
