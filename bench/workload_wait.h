/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * workload_wait.h - threads that sleep until there is a slot.
 *
 * Included by workloads.h, and by the rivals that have no other workload, for rivals with
 *
 *     void *rival_create_waitable(const struct bench_cell *cell)
 *     void *rival_alloc_wait(void *handle)   never NULL
 *     uint64_t rival_waits(void *pool)       allocs that went to sleep so far
 *
 *   hand-off   one slot, two threads.  One has it.  When the other sleeps it gives it
 *              back, and the time until the other has it is measured.  Then the same
 *              the other way round.
 *   pressure   half of the T threads take slots, sleeping until there is one, and hand each to
 *              one of the others, which gives it back.  The parameter is the number of slots,
 *              and the rings have room for all of them.
 *   waiters    T threads, half as many slots: take one, write, let others run, read,
 *              give it back.  How often one slept is counted.
 */

/* Hand-offs in a chunk: an even number, so that the slot returns to the first thread. */
#define WAIT_HAND_OFFS 32u

/* Nanoseconds from when a thread announces that it will sleep until it does. */
#define WAIT_SETTLE 30000u

/* Operations of `waiters` in a chunk. */
#define WAIT_CHUNK 64u

struct wait_line {
    uint64_t given;   /* relaxed: when the slot was given back, by the clock */
    void *slot;       /* of the thread that has it, published by the hand-over */
    uint64_t offered; /* hand-offs that began, the giver's, likewise */
    uint64_t taken;   /* atomic: hand-offs that came to their end */
    char padding[BENCH_LINE];
};

static size_t wait_live(const struct bench_cell *cell)
{
    return cell->threads;
}

static void wait_confine(struct bench_shared *shared, size_t capacity)
{
    struct bench_cell cell = *shared->cell;

    cell.capacity = capacity;
    rival_destroy(bench_pool);
    bench_pool = rival_create_waitable(&cell);
    if (bench_pool == NULL)
        bench_fail("no memory for the pool");
    shared->state = bench_memory(1, sizeof(struct wait_line));
}

/* ---- hand-off ----------------------------------------------------------------- */

static void hand_off_prepare(struct bench_shared *shared)
{
    wait_confine(shared, 1);
}

static void hand_off_setup(struct bench_worker *self)
{
    struct wait_line *line = (struct wait_line *)self->shared->state;

    self->state = bench_memory(1, sizeof(struct bench_histogram));
    if (self->index == 0)
        line->slot = bench_take(rival_alloc_wait(BENCH_HANDLE(self->handle)), self->stamp++);
}

/* Frees the slot once the other thread sleeps for it. */
static void hand_off_give(struct bench_worker *self, struct wait_line *line)
{
    void *slot = line->slot;
    uint64_t asleep, asked = ++line->offered;
    unsigned spins = 0;

    while (rival_waits(bench_pool) < asked)
        bench_pause(&spins);
    asleep = bench_now();
    while (bench_now() - asleep < WAIT_SETTLE)
        continue;
    self->sum += bench_read(slot);
    /* Relaxed: the hand-over of the slot publishes this as well. */
    __atomic_store_n(&line->given, bench_now(), __ATOMIC_RELAXED);
    rival_free(BENCH_HANDLE(self->handle), slot);
    /* Otherwise this thread might be faster in taking it again.  Acquire: pairs with the release in
     * hand_off_take, which publishes the line. */
    while (__atomic_load_n(&line->taken, __ATOMIC_ACQUIRE) != asked)
        bench_pause(&spins);
}

static void hand_off_take(struct bench_worker *self, struct wait_line *line)
{
    void *slot = rival_alloc_wait(BENCH_HANDLE(self->handle));
    uint64_t time = bench_now() - __atomic_load_n(&line->given, __ATOMIC_RELAXED);

    line->slot = bench_take(slot, self->stamp++);
    bench_histogram_add((struct bench_histogram *)self->state, time);
    self->timed += time;
    /* Release: see hand_off_give. */
    __atomic_store_n(&line->taken, line->offered, __ATOMIC_RELEASE);
}

static uint64_t hand_off_chunk(struct bench_worker *self)
{
    struct wait_line *line = (struct wait_line *)self->shared->state;
    unsigned i;

    for (i = 0; i < WAIT_HAND_OFFS; i++) {
        if (i % 2 == self->index)
            hand_off_give(self, line);
        else
            hand_off_take(self, line);
    }
    return WAIT_HAND_OFFS / 2;
}

static void hand_off_begin(struct bench_worker *self)
{
    bench_histogram_clear((struct bench_histogram *)self->state);
    self->timed = 0;
}

static void hand_off_teardown(struct bench_worker *self)
{
    struct wait_line *line = (struct wait_line *)self->shared->state;

    if (self->index != 0)
        return;
    if (rival_waits(bench_pool) != line->offered)
        bench_fail("some hand-offs found nobody asleep");
    self->sum += bench_read(line->slot);
    rival_free(BENCH_HANDLE(self->handle), line->slot);
}

static void hand_off_report(const struct bench_worker *all)
{
    struct bench_histogram *total =
        (struct bench_histogram *)bench_memory(1, sizeof *total);

    bench_histogram_merge(total, (const struct bench_histogram *)all[0].state);
    bench_histogram_merge(total, (const struct bench_histogram *)all[1].state);
    bench_metric("hand_off_us.p50", (double)bench_histogram_percentile(total, 0.5) / 1e3);
    bench_metric("hand_off_us.p99", (double)bench_histogram_percentile(total, 0.99) / 1e3);
    bench_metric("hand_off_us.max", (double)total->max / 1e3);
    bench_metric("hand_off_us.count", (double)total->count);
}

/* ---- waiters ------------------------------------------------------------------ */

static void waiters_prepare(struct bench_shared *shared)
{
    wait_confine(shared, (shared->cell->threads + 1) / 2);
}

static uint64_t waiters_chunk(struct bench_worker *self)
{
    unsigned i;

    for (i = 0; i < WAIT_CHUNK; i++) {
        void *slot = bench_take(rival_alloc_wait(BENCH_HANDLE(self->handle)), self->stamp++);

        bench_yield(); /* without it nobody would find the slots taken */
        self->sum += bench_read(slot);
        rival_free(BENCH_HANDLE(self->handle), slot);
    }
    return WAIT_CHUNK;
}

static void waiters_teardown(struct bench_worker *self)
{
    struct wait_line *line = (struct wait_line *)self->shared->state;

    if (self->index == 0)
        line->offered = rival_waits(bench_pool);
}

static void waiters_report(const struct bench_worker *all)
{
    const struct wait_line *line = (const struct wait_line *)all[0].shared->state;

    bench_metric("waits", (double)line->offered);
}

/* ---- pressure ----------------------------------------------------------------- */

/* Slots of a pair in a chunk, which ends for both at the same time, so that nobody is left
 * asleep. */
#define WAIT_PRESSURE 1024u

struct wait_pressure {
    struct bench_ring *rings; /* constant: one for each pair */
    uint64_t waits;           /* the first thread's, when all have stopped */
};

static size_t pressure_live(const struct bench_cell *cell)
{
    return cell->parameter;
}

static void pressure_prepare(struct bench_shared *shared)
{
    unsigned pairs = shared->cell->threads / 2, i;
    struct wait_pressure *pressure = (struct wait_pressure *)bench_memory(1, sizeof *pressure);

    wait_confine(shared, shared->cell->parameter);
    pressure->rings = (struct bench_ring *)bench_memory(pairs, sizeof *pressure->rings);
    for (i = 0; i < pairs; i++)
        bench_ring_init(&pressure->rings[i], shared->cell->parameter);
    shared->state = pressure;
}

/* Publishes each slot before the thread may sleep for the next one. */
static uint64_t pressure_produce(struct bench_worker *self, struct bench_ring *ring)
{
    unsigned i;

    for (i = 0; i < WAIT_PRESSURE; i++) {
        void *slot = bench_take(rival_alloc_wait(BENCH_HANDLE(self->handle)), self->stamp++);
        unsigned spins = 0;

        while (!bench_ring_has_room(ring))
            bench_pause(&spins);
        bench_ring_put(ring, slot);
        bench_ring_show(ring);
    }
    return 0;
}

static uint64_t pressure_consume(struct bench_worker *self, struct bench_ring *ring)
{
    unsigned i;

    for (i = 0; i < WAIT_PRESSURE; i++) {
        unsigned spins = 0;
        void *slot;

        while ((slot = bench_ring_get(ring)) == NULL)
            bench_pause(&spins);
        self->sum += bench_read(slot);
        rival_free(BENCH_HANDLE(self->handle), slot);
    }
    return WAIT_PRESSURE;
}

static uint64_t pressure_chunk(struct bench_worker *self)
{
    const struct wait_pressure *pressure = (const struct wait_pressure *)self->shared->state;
    struct bench_ring *ring = &pressure->rings[self->index / 2];

    return self->index % 2 == 0 ? pressure_produce(self, ring) : pressure_consume(self, ring);
}

static void pressure_teardown(struct bench_worker *self)
{
    if (self->index == 0)
        ((struct wait_pressure *)self->shared->state)->waits = rival_waits(bench_pool);
}

static void pressure_report(const struct bench_worker *all)
{
    bench_metric("waits", (double)((const struct wait_pressure *)all[0].shared->state)->waits);
}

static const struct bench_workload hand_off_workload = {
    "hand-off", "give the only slot back to a thread that sleeps until there is one", "slot",
    BENCH_LOCKSTEP | BENCH_SELF_TIMED | BENCH_TWO, 2, wait_live, hand_off_chunk,
    hand_off_prepare, hand_off_setup, hand_off_begin, hand_off_teardown, hand_off_report
};

static const struct bench_workload waiters_workload = {
    "waiters", "take a slot, sleeping until there is one; half as many as threads", "pair",
    0, 2, wait_live, waiters_chunk,
    waiters_prepare, NULL, NULL, waiters_teardown, waiters_report
};

static const struct bench_workload pressure_workload = {
    "pressure", "hand slots to threads that give them back, sleeping while there is none", "pair",
    BENCH_LOCKSTEP | BENCH_PAIRED, 2, pressure_live, pressure_chunk,
    pressure_prepare, NULL, NULL, pressure_teardown, pressure_report
};
