/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * workload_occupancy.h - a pool that is nearly or completely full: every thread hunts for the last
 * slots.
 *
 * Included by workloads.h, once per rival.  The parameter is k, the number of slots that each of T
 * threads holds all the time.  The workload creates its own pool of exactly that capacity.  Rivals
 * that hand out more than their capacity are left out.
 *
 *   occupancy   T x k slots.  Give one back, take one: each thread has the right
 *               to one, so what counts as an operation always comes, if not at once.
 *   last-slot   T x k + 1 slots.  Take one more if there is one.  The thread that gets
 *               it gives another back.  With T threads T - 1 look in vain at a time.
 *
 * An operation is a slot obtained.  Failed attempts are counted separately, as are the slots of the
 * thread that got the fewest.
 */

/* Failed attempts in a chunk, each of which may take long, between two readings of the clock. */
#define OCCUPANCY_MISSES 16u

/* Nanoseconds after which a slot that must be free counts as out of reach. */
#define OCCUPANCY_PATIENCE UINT64_C(2000000000)

struct occupancy {
    void **slots;   /* k of them */
    uint64_t taken; /* since begin */
    uint64_t missed;
    char padding[BENCH_LINE];
};

static size_t occupancy_live(const struct bench_cell *cell)
{
    return cell->parameter * cell->threads;
}

/* Whether the pool hands out exactly as many slots as it was created for. */
static bool occupancy_is_bounded(const struct bench_shared *shared)
{
    size_t n = shared->cell->capacity, i;
    void **slots = (void **)bench_memory(n + 1, sizeof(void *));
    void *handle = bench_enter(shared);
    bool bounded;

    for (i = 0; i <= n; i++)
        slots[i] = rival_alloc(BENCH_HANDLE(handle));
    bounded = slots[n] == NULL;
    for (i = 0; i <= n; i++) {
        if (i < n && slots[i] == NULL)
            bench_fail("slot %zu of %zu could not be had", i + 1, n);
        if (slots[i] != NULL)
            rival_free(BENCH_HANDLE(handle), slots[i]);
    }
    bench_leave(shared, handle);
    free(slots);
    return bounded;
}

static void occupancy_make(const struct bench_cell *cell)
{
    rival_destroy(bench_pool);
    bench_pool = rival_create(cell);
    if (bench_pool == NULL)
        bench_fail("no memory for the pool");
}

/* Replaces the roomy pool by one of exactly that many slots. */
static void occupancy_confine(const struct bench_shared *shared, size_t capacity)
{
    struct bench_cell cell = *shared->cell;
    struct bench_shared trial = *shared;

    /* If the pool had only the slots that are needed, threads would wait for them forever. */
    if ((shared->rival->traits & BENCH_STRANDS) != 0)
        bench_leave_out("what one thread has cached others cannot have");
    cell.capacity = capacity;
    trial.cell = &cell;
    occupancy_make(&cell);
    if (!occupancy_is_bounded(&trial))
        bench_leave_out("hands out more slots than its capacity");
    occupancy_make(&cell); /* as new */
}

static void occupancy_prepare(struct bench_shared *shared)
{
    occupancy_confine(shared, occupancy_live(shared->cell));
}

static void last_slot_prepare(struct bench_shared *shared)
{
    occupancy_confine(shared, occupancy_live(shared->cell) + 1);
}

/* Allocates a slot to which this thread has a right: there is one, but another thread's operation
 * may be holding it. */
static inline void *occupancy_take(struct bench_worker *self, struct occupancy *occupancy)
{
    unsigned spins = 0;
    uint64_t since = 0;
    void *slot;

    while ((slot = rival_alloc(BENCH_HANDLE(self->handle))) == NULL) {
        occupancy->missed++;
        bench_pause(&spins);
        if (since == 0)
            since = bench_now();
        else if (bench_now() - since > OCCUPANCY_PATIENCE)
            bench_leave_out("free slots stay in the caches of other threads");
    }
    occupancy->taken++;
    return slot;
}

static void occupancy_setup(struct bench_worker *self)
{
    struct occupancy *occupancy = (struct occupancy *)bench_memory(1, sizeof *occupancy);
    size_t k = self->cell->parameter, i;

    occupancy->slots = (void **)bench_memory(k, sizeof(void *));
    for (i = 0; i < k; i++)
        occupancy->slots[i] = bench_take(occupancy_take(self, occupancy), self->stamp++);
    self->state = occupancy;
}

static void occupancy_begin(struct bench_worker *self)
{
    struct occupancy *occupancy = (struct occupancy *)self->state;

    occupancy->taken = 0;
    occupancy->missed = 0;
}

static uint64_t occupancy_chunk(struct bench_worker *self)
{
    struct occupancy *occupancy = (struct occupancy *)self->state;
    uint64_t enough = occupancy->missed + OCCUPANCY_MISSES;
    unsigned done = 0;

    while (done < BENCH_CHUNK && occupancy->missed < enough) {
        size_t at = random_below(&self->random, self->cell->parameter);

        self->sum += bench_read(occupancy->slots[at]);
        rival_free(BENCH_HANDLE(self->handle), occupancy->slots[at]);
        occupancy->slots[at] = bench_take(occupancy_take(self, occupancy), self->stamp++);
        done++;
    }
    return done;
}

static uint64_t last_slot_chunk(struct bench_worker *self)
{
    struct occupancy *occupancy = (struct occupancy *)self->state;
    uint64_t enough = occupancy->missed + OCCUPANCY_MISSES;
    unsigned done = 0;

    while (done < BENCH_CHUNK && occupancy->missed < enough) {
        size_t at = random_below(&self->random, self->cell->parameter);
        void *old = occupancy->slots[at], *slot = rival_alloc(BENCH_HANDLE(self->handle));

        if (slot == NULL) {
            occupancy->missed++;
            continue;
        }
        occupancy->slots[at] = bench_take(slot, self->stamp++);
        self->sum += bench_read(old);
        rival_free(BENCH_HANDLE(self->handle), old);
        occupancy->taken++;
        done++;
    }
    return done;
}

static void occupancy_teardown(struct bench_worker *self)
{
    struct occupancy *occupancy = (struct occupancy *)self->state;
    size_t i;

    for (i = 0; i < self->cell->parameter; i++) {
        self->sum += bench_read(occupancy->slots[i]);
        rival_free(BENCH_HANDLE(self->handle), occupancy->slots[i]);
    }
}

static void occupancy_report(const struct bench_worker *all)
{
    double taken = 0.0, missed = 0.0, least = 0.0;
    unsigned threads = all[0].cell->threads, i;

    for (i = 0; i < threads; i++) {
        const struct occupancy *occupancy = (const struct occupancy *)all[i].state;
        double own = (double)occupancy->taken;

        least = i == 0 || own < least ? own : least;
        taken += own;
        missed += (double)occupancy->missed;
    }
    bench_metric("taken", taken);
    bench_metric("missed", missed);
    bench_metric("missed_percent", 100.0 * missed / (taken + missed));
    bench_metric("least_percent", 100.0 * least * threads / taken);
}

static const struct bench_workload occupancy_workload = {
    "occupancy", "all slots out: give one of k back, take one", "slot",
    0, 1, occupancy_live, occupancy_chunk,
    occupancy_prepare, occupancy_setup, occupancy_begin, occupancy_teardown, occupancy_report
};

static const struct bench_workload last_slot_workload = {
    "last-slot", "all slots out but one: take it if it is there, give another back", "slot",
    0, 1, occupancy_live, last_slot_chunk,
    last_slot_prepare, occupancy_setup, occupancy_begin, occupancy_teardown, occupancy_report
};
