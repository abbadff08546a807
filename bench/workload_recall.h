/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * workload_recall.h - one thread needs the slots that all others have cached but do not use.
 *
 * Included by workloads.h for pools of libcpool only.  The parameter is n, the number of other
 * threads.  Each has filled its cache completely, with two magazines, and sleeps.  The depot is
 * empty, and no slot is fresh.  Then the measured thread allocates the whole capacity:
 *
 *     n x 1 magazine   spare ones, by an atomic exchange    spare
 *     n x 1 magazine   loaded ones, all by one barrier      loaded
 *
 * One round times every alloc individually, and finds out the origin of the slot from the pool's
 * statistics.  The next round times all allocs together.  If slots came from elsewhere, the cell
 * fails.
 */

#include <semaphore.h>
#include <stdio.h>

/* Rounds of a magazine: fixed, so that a cache holds exactly two magazines. */
#define RECALL_ROUNDS ((size_t)64)
#define RECALL_CONFIG "magazine_rounds=64"
#define RECALL_CACHE (2 * RECALL_ROUNDS)

/* Pairs of rounds in a chunk. */
#define RECALL_REPEATS 4u

enum recall_source { RECALL_CACHED, RECALL_SPARE, RECALL_LOADED, RECALL_SOURCES };

struct recall;

struct recall_idle {
    struct recall *recall;
    pthread_t thread;
    sem_t fill; /* posted for each round, and at the end */
    void *slots[RECALL_CACHE];
};

struct recall {
    cpool_t *pool;
    size_t capacity, idle_count;
    struct recall_idle *idle;
    sem_t filled;
    bool over; /* published by `fill` */
    void **slots;
    struct bench_histogram sources[RECALL_SOURCES]; /* ticks */
    struct bench_histogram all;                     /* ticks, for the whole capacity */
};

static size_t recall_live(const struct bench_cell *cell)
{
    (void)cell;
    return 1;
}

static void recall_wait(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0) /* interrupted */
        continue;
}

/* The life of a thread that fills its cache and sleeps. */
static void *recall_sleeper(void *argument)
{
    struct recall_idle *self = (struct recall_idle *)argument;
    size_t i;

    for (;;) {
        recall_wait(&self->fill);
        if (self->recall->over)
            return NULL;
        for (i = 0; i < RECALL_CACHE; i++)
            self->slots[i] = rival_alloc(self->recall->pool);
        for (i = 0; i < RECALL_CACHE; i++)
            rival_free(self->recall->pool, self->slots[i]);
        sem_post(&self->recall->filled);
    }
}

static void recall_setup(struct bench_worker *self)
{
    struct recall *recall = (struct recall *)bench_memory(1, sizeof *recall);
    struct bench_cell cell = *self->cell;
    char config[256];
    size_t i;

    recall->idle_count = cell.parameter;
    recall->capacity = cell.parameter * RECALL_CACHE;
    cell.capacity = recall->capacity;
    snprintf(config, sizeof config, "%s%s" RECALL_CONFIG, cell.config,
             cell.config[0] != '\0' ? "," : "");
    cell.config = config;
    recall->pool = (cpool_t *)rival_create(&cell);
    recall->slots = (void **)bench_memory(recall->capacity, sizeof(void *));
    recall->idle = (struct recall_idle *)bench_memory(recall->idle_count, sizeof *recall->idle);
    sem_init(&recall->filled, 0, 0);
    for (i = 0; i < recall->idle_count; i++) {
        recall->idle[i].recall = recall;
        sem_init(&recall->idle[i].fill, 0, 0);
        if (pthread_create(&recall->idle[i].thread, NULL, recall_sleeper, &recall->idle[i]) != 0)
            bench_fail("no more threads");
    }
    self->state = recall;
}

static void recall_figures(const struct recall *recall, struct figures *stats)
{
    if (!figures_read(recall->pool, stats))
        bench_fail("a figure is missing");
}

/* Puts all slots into the depot, in full magazines: fresh ones come in smaller runs. */
static void recall_stock(struct recall *recall)
{
    size_t i;

    cpool_reset(recall->pool);
    for (i = 0; i < recall->capacity; i++)
        recall->slots[i] = rival_alloc(recall->pool);
    for (i = 0; i < recall->capacity; i++)
        rival_free(recall->pool, recall->slots[i]);
    cpool_flush(recall->pool);
}

/* Puts all slots into the caches of the others, one after the other. */
static void recall_hoard(struct recall *recall)
{
    struct figures stats;
    size_t i;

    recall_stock(recall);
    for (i = 0; i < recall->idle_count; i++) {
        sem_post(&recall->idle[i].fill);
        recall_wait(&recall->filled);
    }
    recall_figures(recall, &stats);
    if (stats.in_caches != recall->capacity || stats.live != 0 || stats.in_depot != 0 ||
        stats.fresh != 0)
        bench_fail("of %zu slots %zu are in caches, %zu in the depot, %zu fresh",
                   recall->capacity, stats.in_caches, stats.in_depot, stats.fresh);
}

static enum recall_source recall_source(const struct recall *recall, size_t taken,
                                        const struct figures *before, const struct figures *after)
{
    if (after->reclaims == before->reclaims)
        return RECALL_CACHED;
    return taken < recall->idle_count * RECALL_ROUNDS ? RECALL_SPARE : RECALL_LOADED;
}

/* Every cache must have given one spare, and the loaded magazines must have come all at once. */
static void recall_check(const struct recall *recall, const size_t counts[RECALL_SOURCES])
{
    if (counts[RECALL_SPARE] != recall->idle_count || counts[RECALL_LOADED] != 1)
        bench_fail("%zu reclaims of spares by %zu threads, %zu of loaded ones",
                   counts[RECALL_SPARE], recall->idle_count, counts[RECALL_LOADED]);
}

static void *recall_must(void *slot, size_t taken)
{
    if (slot == NULL)
        bench_fail("dry after %zu slots", taken);
    return slot;
}

/* Frees all slots, and reads what was written. */
static void recall_return(struct bench_worker *self, const struct recall *recall)
{
    size_t i;

    for (i = 0; i < recall->capacity; i++) {
        self->sum += bench_read(recall->slots[i]);
        rival_free(recall->pool, recall->slots[i]);
    }
}

static void recall_one_by_one(struct bench_worker *self, struct recall *recall)
{
    size_t counts[RECALL_SOURCES] = { 0 }, i;
    struct figures before, after;

    recall_hoard(recall);
    recall_figures(recall, &before);
    after = before;
    for (i = 0; i < recall->capacity; i++) {
        uint64_t start = bench_ticks_start(), ticks;
        enum recall_source source;

        recall->slots[i] = rival_alloc(recall->pool);
        ticks = bench_ticks_stop() - start;
        recall_figures(recall, &after);
        source = recall_source(recall, i, &before, &after);
        counts[source]++;
        bench_histogram_add(&recall->sources[source], ticks);
        recall->slots[i] = bench_take(recall_must(recall->slots[i], i), self->stamp++);
        before = after;
    }
    recall_check(recall, counts);
    recall_return(self, recall);
}

static void recall_all_at_once(struct bench_worker *self, struct recall *recall)
{
    uint64_t start, clock;
    size_t i;

    recall_hoard(recall);
    clock = bench_now();
    start = bench_ticks_start();
    for (i = 0; i < recall->capacity; i++)
        recall->slots[i] = rival_alloc(recall->pool);
    bench_histogram_add(&recall->all, bench_ticks_stop() - start);
    self->timed += bench_now() - clock;
    for (i = 0; i < recall->capacity; i++)
        recall->slots[i] = bench_take(recall_must(recall->slots[i], i), self->stamp++);
    recall_return(self, recall);
}

static uint64_t recall_chunk(struct bench_worker *self)
{
    struct recall *recall = (struct recall *)self->state;
    unsigned i;

    for (i = 0; i < RECALL_REPEATS; i++) {
        recall_one_by_one(self, recall);
        recall_all_at_once(self, recall);
    }
    return RECALL_REPEATS * recall->capacity;
}

static void recall_begin(struct bench_worker *self)
{
    struct recall *recall = (struct recall *)self->state;
    unsigned i;

    for (i = 0; i < RECALL_SOURCES; i++)
        bench_histogram_clear(&recall->sources[i]);
    bench_histogram_clear(&recall->all);
    self->timed = 0;
}

static void recall_teardown(struct bench_worker *self)
{
    struct recall *recall = (struct recall *)self->state;
    size_t i;

    recall->over = true;
    for (i = 0; i < recall->idle_count; i++) {
        sem_post(&recall->idle[i].fill);
        pthread_join(recall->idle[i].thread, NULL);
    }
    if (cpool_destroy(recall->pool) != 0)
        bench_fail("slots are still live");
}

static void recall_report(const struct bench_worker *all)
{
    static const char *const names[RECALL_SOURCES] = { "cached_us", "spare_us", "loaded_us" };
    const struct recall *recall = (const struct recall *)all[0].state;
    unsigned i;

    for (i = 0; i < RECALL_SOURCES; i++)
        bench_histogram_microseconds(names[i], &recall->sources[i]);
    bench_histogram_microseconds("all_us", &recall->all);
}

static const struct bench_workload recall_workload = {
    "recall", "take the whole capacity, all of it cached by n threads that sleep", "alloc",
    BENCH_SELF_TIMED, 1, recall_live, recall_chunk,
    NULL, recall_setup, recall_begin, recall_teardown, recall_report
};
