/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * measure.c - the measuring process: threads, barrier, clock, and the answer.
 *
 * Includes bench.h, counters.h and machine.h.  Runs one cell and prints its results to standard
 * output, one per line, for cell.c to read:
 *
 *     version TEXT          what really ran
 *     metric NAME NUMBER    ns, throughput, operations, waited, steal, cycles, ...
 *     bucket WHAT INDEX COUNT  of a histogram of alloc or free
 *     absent TEXT           this rival cannot do this; no more lines
 *     failed TEXT           it went wrong; no more lines
 *     done                  the last line when all went well
 *
 * Each thread: enter the rival, set up, warm up for a fifth of the time, wait for the others,
 * measure, wait, tear down.  Setting up and warming up touch all memory that the workload will use.
 * A thread's rate is its operations divided by its own time, without the time that other programs
 * took from it.  The rates are added up.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "counters.h"
#include "machine.h"

/* Warm-up is the measured time divided by this. */
#define WARM_UP_SHARE 5u

/* Processor time of other programs that may be just rounding, milliseconds. */
#define OTHERS_UNCERTAIN 20.0

/*
 * The slots that a pool has for each thread beyond twice the live ones, and the most bytes they may
 * take: nobody creates a pool that is just large enough, and its threads could not keep anything in
 * their caches.
 */
#define ROOM_SLOTS ((size_t)65536)
#define ROOM_BYTES ((size_t)16 << 20)

/* A thread and its results, which are read after it was joined. */
struct runner {
    struct bench_worker worker;
    const struct bench_workload *workload;
    pthread_t thread;
    uint64_t operations;
    uint64_t start, end;  /* of the measurement, by the clock */
    uint64_t elapsed;     /* between them, nanoseconds, without those waited */
    uint64_t waited;      /* nanoseconds, for a processor that others had */
    bool waiting_known;   /* whether the system said so */
    uint64_t switches;    /* times the processor was taken away meanwhile */
    struct counters_reading spent; /* cycles and instructions meanwhile */
    bool counted;         /* whether the machine counts them */
    struct bench_exchanges exchanged; /* by all meanwhile, or thread 0's alone */
    uint64_t first_stamp; /* of the words written to slots */
};

void bench_fail(const char *format, ...)
{
    va_list arguments;

    printf("failed ");
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    fflush(stdout);
    _exit(EXIT_FAILURE);
}

void bench_leave_out(const char *reason)
{
    printf("absent %s\n", reason);
    fflush(stdout);
    _exit(EXIT_SUCCESS);
}

void bench_metric(const char *name, double value)
{
    printf("metric %s %.9g\n", name, value);
}

void bench_bucket(const char *what, size_t index, uint64_t count)
{
    printf("bucket %s %zu %llu\n", what, index, (unsigned long long)count);
}

/* A deadline has passed: stops all threads. */
static void stop(struct bench_shared *shared)
{
    __atomic_store_n(&shared->stop, true, __ATOMIC_RELAXED); /* see bench_stopped */
}

/* In lockstep all threads must do the same number of chunks, so thread 0 decides. */
static bool agree(struct bench_worker *self)
{
    bench_barrier(self->shared);
    if (self->index == 0)
        self->shared->agreed = bench_stopped(self->shared);
    bench_barrier(self->shared);
    return self->shared->agreed;
}

/* Runs chunks until some thread's time is up.  Returns the number of operations. */
static uint64_t run_chunks(struct runner *runner, uint64_t nanoseconds)
{
    struct bench_worker *self = &runner->worker;
    unsigned traits = runner->workload->traits;
    uint64_t deadline = bench_now() + nanoseconds, operations = 0;
    bool ended;

    do {
        operations += runner->workload->chunk(self);
        if ((traits & BENCH_ONCE) != 0)
            break;
        if (bench_now() >= deadline)
            stop(self->shared);
        ended = (traits & BENCH_LOCKSTEP) != 0 ? agree(self) : bench_stopped(self->shared);
    } while (!ended);
    return operations;
}

/* Adds the exchanges of the pool so far: `sign` is -1 before and 1 after.  One thread does this
 * while the others wait at a barrier. */
static void add_exchanges(struct runner *runner, double sign)
{
    const struct bench_rival *rival = runner->worker.shared->rival;
    struct bench_exchanges so_far;

    if (runner->worker.index != 0 || rival->exchanges == NULL)
        return;
    rival->exchanges(bench_pool, &so_far);
    runner->exchanged.exchanges += sign * so_far.exchanges;
}

static void warm_up(struct runner *runner, uint64_t nanoseconds)
{
    struct bench_worker *self = &runner->worker;

    if (nanoseconds != 0 && (runner->workload->traits & BENCH_ONCE) == 0)
        (void)run_chunks(runner, nanoseconds / WARM_UP_SHARE);
    if (runner->workload->begin != NULL)
        runner->workload->begin(self);
    bench_barrier(self->shared);
    if (self->index == 0)
        __atomic_store_n(&self->shared->stop, false, __ATOMIC_RELAXED);
    add_exchanges(runner, -1.0);
    bench_barrier(self->shared); /* publishes that */
}

/*
 * Time in which other programs had the processor does not count for the rival.  With more threads
 * than processors, the others are its own threads, and it counts.
 */
static void count_waiting(struct runner *runner, uint64_t before, uint64_t after)
{
    runner->waiting_known = before != MACHINE_UNKNOWN && after != MACHINE_UNKNOWN;
    if (!runner->waiting_known || runner->worker.cell->threads > machine_processors() ||
        after - before >= runner->elapsed)
        return;
    runner->waited = after - before;
    runner->elapsed -= runner->waited;
}

/* Runs the chunks that are measured. */
static void run_measured(struct runner *runner, uint64_t nanoseconds)
{
    uint64_t waited = machine_waited(), switches = machine_switches();
    struct counters_reading before, after;
    struct counters counters;
    bool counted;

    counters_open(&counters);
    counted = counters_read(&counters, &before);
    runner->start = bench_now();
    runner->operations = run_chunks(runner, nanoseconds);
    runner->end = bench_now();
    runner->counted = counted && counters_read(&counters, &after);
    counters_close(&counters);
    if (runner->counted) {
        runner->spent.cycles = after.cycles - before.cycles;
        runner->spent.instructions = after.instructions - before.instructions;
    }
    runner->elapsed = runner->end - runner->start;
    runner->switches = machine_switches() - switches;
    if ((runner->workload->traits & BENCH_SELF_TIMED) != 0)
        runner->elapsed = runner->worker.timed;
    else
        count_waiting(runner, waited, machine_waited());
}

static void *run_thread(void *argument)
{
    struct runner *runner = argument;
    struct bench_worker *self = &runner->worker;
    const struct bench_workload *workload = runner->workload;
    uint64_t nanoseconds = (uint64_t)self->cell->milliseconds * 1000000u;

    machine_pin(self->index, self->cell->threads);
    self->handle = bench_enter(self->shared);
    if (workload->setup != NULL)
        workload->setup(self);
    bench_barrier(self->shared);
    warm_up(runner, nanoseconds);

    run_measured(runner, nanoseconds);
    bench_barrier(self->shared);
    add_exchanges(runner, 1.0);
    bench_barrier(self->shared);
    if (workload->teardown != NULL)
        workload->teardown(self);
    bench_barrier(self->shared);
    bench_leave(self->shared, self->handle);
    return NULL;
}

/* first + (first + 1) + ... up to, not including, end, modulo 2^64. */
static uint64_t sum_of_stamps(uint64_t first, uint64_t end)
{
    uint64_t n = end - first, half = n / 2;

    return n * first + (n % 2 == 0 ? half * (n - 1) : n * half);
}

/* Every word read back must be one that was written. */
static void check_sums(const struct runner *runners, unsigned threads)
{
    uint64_t written = 0, read = 0;
    unsigned i;

    for (i = 0; i < threads; i++) {
        written += sum_of_stamps(runners[i].first_stamp, runners[i].worker.stamp);
        read += runners[i].worker.sum;
    }
    if (written != read)
        bench_fail("slots did not hold what was written to them");
}

/*
 * Operations a second.  If there is a processor for each thread, the threads' rates are added up.
 * Otherwise threads take turns, and start and end at different times, so the rate is all operations
 * divided by the time from the first start to the last end.
 */
static double total_rate(const struct runner *runners, unsigned threads, bool taking_turns)
{
    uint64_t first = UINT64_MAX, last = 0;
    double rate = 0.0, operations = 0.0;
    unsigned i;

    for (i = 0; i < threads; i++) {
        if (runners[i].elapsed != 0)
            rate += (double)runners[i].operations * 1e9 / (double)runners[i].elapsed;
        operations += (double)runners[i].operations;
        first = runners[i].start < first ? runners[i].start : first;
        last = runners[i].end > last ? runners[i].end : last;
    }
    if (taking_turns)
        rate = operations * 1e9 / (double)(last - first);
    if (operations <= 0.0 || rate <= 0.0)
        bench_fail("no operation was completed");
    bench_metric("operations", operations);
    return rate;
}

/* The share of the threads' time in which other programs had their processors. */
static double waited_share(const struct runner *runners, unsigned threads)
{
    double elapsed = 0.0, waited = 0.0;
    unsigned i;

    for (i = 0; i < threads; i++) {
        elapsed += (double)runners[i].elapsed;
        waited += (double)runners[i].waited;
    }
    return waited / (elapsed + waited);
}

/*
 * Returns operations a second.  Nanoseconds per operation are for one processor: with as many
 * threads as processors, all of them busy, an operation costs that much on each.
 */
static double report_rates(const struct runner *runners, const struct bench_workload *workload,
                           unsigned threads, unsigned processors)
{
    bool taking_turns = threads > processors && (workload->traits & BENCH_SELF_TIMED) == 0;
    double rate = total_rate(runners, threads, taking_turns), switches = 0.0;
    unsigned lanes = threads < processors ? threads : processors, i;

    if ((workload->traits & BENCH_PAIRED) != 0)
        lanes = lanes < 2 ? 1 : lanes / 2;
    bench_metric("ns", (double)lanes * 1e9 / rate);
    bench_metric("throughput", rate);
    for (i = 0; i < threads; i++)
        switches += (double)runners[i].switches;
    bench_metric("switches", switches);
    if (threads <= processors && runners[0].waiting_known)
        bench_metric("waited", waited_share(runners, threads));
    return rate;
}

/*
 * With more threads than processors no figure tells why a thread waited.  Then the processor time
 * of other programs shows disturbances.
 */
static void report_others(double others, uint64_t elapsed, unsigned threads, unsigned processors)
{
    double available = (double)processors * (double)elapsed / 1e6;
    double share = (others - OTHERS_UNCERTAIN) / available;

    if (threads > processors)
        bench_metric("waited", share < 0.0 ? 0.0 : share < 1.0 ? share : 1.0);
}

/* Cycles and instructions per operation, of all threads together.  Threads that time themselves are
 * left out. */
static void report_counters(const struct runner *runners, const struct bench_workload *workload,
                            unsigned threads)
{
    struct counters_reading spent = { 0.0, 0.0 };
    double operations = 0.0;
    unsigned i;

    if ((workload->traits & BENCH_SELF_TIMED) != 0)
        return;
    for (i = 0; i < threads; i++) {
        if (!runners[i].counted)
            return;
        operations += (double)runners[i].operations;
        spent.cycles += runners[i].spent.cycles;
        spent.instructions += runners[i].spent.instructions;
    }
    bench_metric("cycles", spent.cycles / operations);
    bench_metric("instructions", spent.instructions / operations);
}

/* Exchanges a second, for the same time as the operations a second. */
static void report_exchanges(const struct runner *runners, const struct bench_rival *rival,
                             unsigned threads, double rate)
{
    double operations = 0.0;
    unsigned i;

    if (rival->exchanges == NULL)
        return;
    for (i = 0; i < threads; i++)
        operations += (double)runners[i].operations;
    bench_metric("exchanges_per_s", runners[0].exchanged.exchanges / operations * rate);
}

static void start_threads(struct runner *runners, unsigned threads)
{
    unsigned i;

    for (i = 0; i < threads; i++)
        if (pthread_create(&runners[i].thread, NULL, run_thread, &runners[i]) != 0)
            bench_fail("no more threads");
    for (i = 0; i < threads; i++)
        pthread_join(runners[i].thread, NULL);
}

static struct runner *make_runners(struct bench_shared *shared,
                                   const struct bench_workload *workload)
{
    struct runner *runners = bench_memory(shared->cell->threads, sizeof *runners);
    unsigned i;

    for (i = 0; i < shared->cell->threads; i++) {
        struct bench_worker *worker = &runners[i].worker;

        worker->cell = shared->cell;
        worker->shared = shared;
        worker->index = i;
        worker->random = random_derive(shared->cell->seed, i);
        worker->stamp = (uint64_t)i << 40;
        runners[i].first_stamp = worker->stamp;
        runners[i].workload = workload;
    }
    return runners;
}

static size_t room(const struct bench_cell *cell)
{
    size_t slots = ROOM_BYTES / cell->slot_size;

    return slots < ROOM_SLOTS ? slots : ROOM_SLOTS;
}

void bench_measure(const struct bench_rival *rival, const struct bench_workload *workload,
                   struct bench_cell *cell)
{
    struct bench_shared *shared = bench_memory(1, sizeof *shared);
    struct bench_worker *workers = bench_memory(cell->threads, sizeof *workers);
    unsigned processors = machine_processors(), i;
    struct runner *runners;
    double steal, others, rate;
    uint64_t start;

    shared->cell = cell;
    shared->rival = rival;
    /* In a run of one chunk nothing is freed, so no thread's cache holds slots that another
     * needs. */
    cell->capacity = ((workload->traits & BENCH_ONCE) != 0 ? 1 : 2) * workload->live(cell) +
                     cell->threads * room(cell);
    bench_pool = rival->create(cell);
    if (bench_pool == NULL)
        bench_fail("no memory for the pool");
    if (workload->prepare != NULL)
        workload->prepare(shared);
    runners = make_runners(shared, workload);

    steal = machine_steal();
    others = machine_others();
    start = bench_now();
    start_threads(runners, cell->threads);
    report_others(machine_others() - others, bench_now() - start, cell->threads, processors);
    bench_metric("steal", machine_steal() - steal);

    check_sums(runners, cell->threads);
    rate = report_rates(runners, workload, cell->threads, processors);
    report_counters(runners, workload, cell->threads);
    report_exchanges(runners, rival, cell->threads, rate);
    for (i = 0; i < cell->threads; i++)
        workers[i] = runners[i].worker;
    if (workload->report != NULL)
        workload->report(workers);
    rival->destroy(bench_pool);
    printf("version %s\ndone\n", rival->version != NULL ? rival->version() : "");
}
