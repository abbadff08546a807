/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernels.c - see kernels.h.
 */
#if defined(HAVE_CONFIG_H)
#include <config.h>
#endif

#include "kernels.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cpool.h>

#include "kernel.h"

/* Jobs in the pool.  Without room a job runs in place. */
#define NODES 262144

CPOOL_DECLARE(kernel_nodes, struct kernel_job);
CPOOL_DEFINE(kernel_nodes, struct kernel_job, .name = "kernel", .capacity = NODES);

enum { TYPED, HANDLE, MALLOC, KINDS };

static const char *const kind_names[KINDS] = {"typed pool", "pool", "malloc"};

static const struct kernel *const kernels[] = {&kernel_fib, &kernel_nqueens, &kernel_quicksort,
                                               &kernel_cholesky, &kernel_message_ring};

#define KERNELS (sizeof kernels / sizeof kernels[0])

bool kernels_know(const char *name)
{
    for (size_t i = 0; i < KERNELS; i++)
        if (strcmp(kernels[i]->name, name) == 0)
            return true;
    return strcmp(name, "all") == 0;
}

/* ---- What kernels share --------------------------------------------------------- */

void kernel_add_up(struct worker *worker, struct job *job)
{
    uint64_t sum = atomic_load_explicit(&kernel_job_of(job)->sum, memory_order_relaxed);

    (void)worker;
    atomic_fetch_add_explicit(&kernel_job_of(job->parent)->sum, sum, memory_order_relaxed);
}

struct kernel_job *kernel_prepare(struct worker *worker, struct job *parent,
                                  struct kernel_job *room, job_function *body,
                                  job_function *continuation)
{
    struct kernel_job *job =
        kernel_job_of(job_prepare(worker, parent, &room->head, body, continuation));

    atomic_init(&job->sum, 0);
    return job;
}

/* Of the run under way, which is the only one. */
static uint64_t *result_of_run;

static void end(struct worker *worker, struct job *job)
{
    (void)worker;
    *result_of_run = atomic_load_explicit(&kernel_job_of(job)->sum, memory_order_relaxed);
}

void kernel_begin(struct worker *worker, uint64_t *result, job_function *body, uint32_t a,
                  int *from)
{
    struct kernel_job room;
    struct kernel_job *first = kernel_prepare(worker, NULL, &room, body, end);

    result_of_run = result;
    first->a = a;
    first->b = first->c = first->d = 0;
    first->from = from;
    job_submit(worker, &first->head);
}

/* ---- Allocators ------------------------------------------------------------------ */

static void *take_node(struct allocator *allocator)
{
    (void)allocator;
    return kernel_nodes_alloc();
}

static void give_node(struct allocator *allocator, void *node)
{
    (void)allocator;
    kernel_nodes_free(node);
}

static int open_allocator(struct allocator *allocator, int kind)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    int error = 0;

    config.name = "kernel";
    config.slot_size = sizeof(struct kernel_job);
    config.capacity = NODES;
    switch (kind) {
    case TYPED:
        error = kernel_nodes_open(NULL);
        if (error == 0)
            allocator_init_typed(allocator, sizeof(struct kernel_job), kernel_nodes_pool(),
                                 take_node, give_node);
        break;
    case HANDLE:
        error = allocator_init_config(allocator, &config);
        break;
    default:
        allocator_init_malloc(allocator, sizeof(struct kernel_job));
        break;
    }
    return error;
}

/* ---- Runs ------------------------------------------------------------------------ */

struct measured {
    double seconds;
    uint64_t jobs;
};

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static enum status run_once(const struct kernel *kernel, const struct options *options,
                            struct allocator *allocator, struct measured *measured)
{
    uint64_t result = 0;
    struct scheduler_plan plan = {.threads = options->threads, .jobs = allocator,
                                  .scratch_size = 1, .start = kernel->start,
                                  .context = &result};
    struct scheduler_figures figures;
    enum status status = STATUS_OK;
    double before;

    if (kernel->setup != NULL && !kernel->setup())
        return STATUS_MEMORY;
    before = now();
    if (scheduler_run(&plan, &figures) != 0) {
        fputs("jobs: no worker could be started\n", stderr);
        status = STATUS_MEMORY;
    } else {
        *measured = (struct measured){now() - before, figures.jobs};
        if (!kernel->is_right(result) || allocator_live(allocator) != 0) {
            fprintf(stderr, "jobs: %s: wrong result %" PRIu64 ", or %zu nodes lost\n",
                    kernel->name, result, allocator_live(allocator));
            status = STATUS_WRONG;
        }
    }
    if (kernel->clean != NULL)
        kernel->clean();
    return status;
}

static int by_time(const void *a, const void *b)
{
    const struct measured *first = a;
    const struct measured *second = b;

    return (first->seconds > second->seconds) - (first->seconds < second->seconds);
}

static void print_row(const struct kernel *kernel, struct measured *runs[KINDS], unsigned repeat)
{
    printf("%-13s %9" PRIu64, kernel->name, runs[MALLOC][0].jobs);
    for (int kind = 0; kind < KINDS; kind++) {
        qsort(runs[kind], repeat, sizeof *runs[kind], by_time);
        printf(" %11.2f", (double)runs[kind][repeat / 2].jobs /
                              runs[kind][repeat / 2].seconds * 1e-6);
    }
    printf(" %8.2f  %s\n", runs[MALLOC][repeat / 2].seconds / runs[TYPED][repeat / 2].seconds,
           kernel->what);
}

static enum status run_kernel(const struct kernel *kernel, const struct options *options,
                              struct allocator *allocators)
{
    struct measured *runs[KINDS] = {NULL};
    struct measured warm_up;
    enum status status = STATUS_OK;

    for (int kind = 0; kind < KINDS; kind++) {
        runs[kind] = calloc(options->repeat, sizeof *runs[kind]);
        if (runs[kind] == NULL)
            status = STATUS_MEMORY;
    }
    for (unsigned i = options->warm_up ? 0 : 1;
         status == STATUS_OK && i <= options->repeat; i++)
        for (int turn = 0; status == STATUS_OK && turn < KINDS; turn++) {
            int kind = (turn + (int)i) % KINDS;

            status = run_once(kernel, options, &allocators[kind],
                              i == 0 ? &warm_up : &runs[kind][i - 1]);
        }
    if (status == STATUS_OK)
        print_row(kernel, runs, options->repeat);
    for (int kind = 0; kind < KINDS; kind++)
        free(runs[kind]);
    return status;
}

enum status kernels_run(const struct options *options)
{
    struct allocator allocators[KINDS] = {{.pool = NULL}};
    enum status status = STATUS_OK;

    for (int kind = 0; kind < KINDS; kind++) {
        int error = open_allocator(&allocators[kind], kind);

        if (error != 0) {
            fprintf(stderr, "jobs: %s: %s\n", kind_names[kind], cpool_strerror(error));
            status = STATUS_MEMORY;
        }
    }
    if (status == STATUS_OK)
        printf("%u worker threads; millions of jobs a second, medians of %u runs\n\n"
               "%-13s %9s %11s %11s %11s %8s\n", options->threads, options->repeat, "kernel",
               "jobs", kind_names[TYPED], kind_names[HANDLE], kind_names[MALLOC], "ratio");
    for (size_t i = 0; status == STATUS_OK && i < KERNELS; i++)
        if (strcmp(options->kernel, "all") == 0 ||
            strcmp(options->kernel, kernels[i]->name) == 0)
            status = run_kernel(kernels[i], options, allocators);
    for (int kind = 0; kind < KINDS; kind++)
        if (allocators[kind].pool != NULL)
            allocator_fini(&allocators[kind]);
    return status;
}
