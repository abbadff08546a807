/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lines_main.c - counts the lines of a directory tree frame by frame, with one allocator,
 * and shows what that allocator is worth.
 *
 * The frames are run for a while and timed, and some more with a recorder.  Its record is
 * replayed.  The counts must be those of one thread, and every node must come back.  One
 * allocator in a process: so a malloc can be preloaded, and the peak of memory is its own.
 * examples/demo.sh runs it with each and draws the figures.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cpool.h>

#include "allocator.h"
#include "corpus.h"
#include "lines.h"
#include "options.h"
#include "replay.h"

/* Nodes in each pool.  A job without one runs in place. */
#define NODES ((size_t)1 << 16)

#define WARM_UP_FRAMES 20u
#define FRAMES_MAX 65536u
#define THREADS_MAX 64u

/* The frames that are recorded, the calls that they can make, and how often these are
 * replayed. */
#define RECORDED_FRAMES 16u
#define CALLS_OF_A_FRAME (4u * CORPUS_PIECES * (CORPUS_LINES + 1u) + 4u)
#define REPLAYS 9u

CPOOL_DECLARE(line_jobs, struct line_job);
CPOOL_DEFINE(line_jobs, struct line_job, .capacity = NODES);

CPOOL_DECLARE(line_results, struct line_result);
CPOOL_DEFINE(line_results, struct line_result, .capacity = NODES);

struct session {
    const char *allocator; /* typed, pool or malloc */
    unsigned threads;
    unsigned frames;
    double seconds;
    size_t limit; /* bytes of text */
    struct corpus corpus;
    struct allocator jobs;
    struct allocator results;
    double *milliseconds;
};

static const char usage_text[] =
    "usage: lines [option]... [DIRECTORY]\n"
    "\n"
    "Counts the lines of the files below DIRECTORY (/usr/include), frame by frame, with a\n"
    "job for each line, and prints what the allocator of the jobs and of their results\n"
    "is worth.\n"
    "\n"
    "  --allocator NAME   typed (a typed pool), pool (by its handle), or malloc (typed)\n"
    "  --threads N        worker threads, at most 64; 0, the default: one per processor\n"
    "  --seconds S        how long frames are timed (1)\n"
    "  --frames N         how many are timed at most (65536)\n"
    "  --megabytes N      how much text is read at most (16)\n"
    "  --help             this text\n"
    "\n"
    "Exit status: 0, 2 wrong usage, 3 no files, 4 counts are wrong or nodes were lost,\n"
    "5 out of memory, threads or nodes.\n";

/* ---- Allocators ------------------------------------------------------------------ */

static void *take_job(struct allocator *self)
{
    (void)self;
    return line_jobs_alloc();
}

static void give_job(struct allocator *self, void *node)
{
    (void)self;
    line_jobs_free(node);
}

static void *take_result(struct allocator *self)
{
    (void)self;
    return line_results_alloc();
}

static void give_result(struct allocator *self, void *node)
{
    (void)self;
    line_results_free(node);
}

static int init_pool(struct allocator *allocator, const char *name, size_t size)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;

    config.name = name;
    config.slot_size = size;
    config.capacity = NODES;
    return allocator_init_config(allocator, &config);
}

/* Returns 0 or a CPOOL_E... */
static int init_allocators(struct session *session)
{
    int error = 0;

    if (strcmp(session->allocator, "malloc") == 0) {
        allocator_init_malloc(&session->jobs, sizeof(struct line_job));
        allocator_init_malloc(&session->results, sizeof(struct line_result));
    } else if (strcmp(session->allocator, "pool") == 0) {
        error = init_pool(&session->jobs, "line jobs", sizeof(struct line_job));
        if (error == 0)
            error = init_pool(&session->results, "line results", sizeof(struct line_result));
    } else {
        error = line_jobs_open(NULL);
        if (error == 0)
            error = line_results_open(NULL);
        allocator_init_typed(&session->jobs, sizeof(struct line_job), line_jobs_pool(), take_job,
                             give_job);
        allocator_init_typed(&session->results, sizeof(struct line_result), line_results_pool(),
                             take_result, give_result);
    }
    return error;
}

/* ---- Runs ------------------------------------------------------------------------ */

/* Complains about what is wrong with a run. */
static enum status judge(const struct session *session, const struct lines_outcome *outcome)
{
    size_t lost = allocator_live(&session->jobs) + allocator_live(&session->results);

    if (outcome->dry) {
        fputs("lines: there was no node for a result\n", stderr);
        return STATUS_MEMORY;
    }
    if (!outcome->right || lost != 0) {
        fprintf(stderr, "lines: the counts are %s, and %zu nodes were lost\n",
                outcome->right ? "right" : "wrong", lost);
        return STATUS_WRONG;
    }
    return STATUS_OK;
}

static enum status run(struct session *session, const struct lines_plan *plan,
                       struct lines_outcome *outcome)
{
    int error;

    outcome->milliseconds = session->milliseconds;
    error = lines_run(plan, outcome);
    if (error != 0) {
        fprintf(stderr, "lines: no worker could be started: %s\n", strerror(error));
        return STATUS_MEMORY;
    }
    return judge(session, outcome);
}

/* Nanoseconds of an alloc, a write and a free, by the replay of a few frames. */
static enum status replay(struct session *session, struct lines_plan plan, double *nanoseconds)
{
    static struct recorder recorder;
    struct allocator *const allocators[REPLAY_KINDS] = {&session->jobs, &session->results};
    const size_t numbers[REPLAY_KINDS] = {offsetof(struct line_job, number),
                                          offsetof(struct line_result, number)};
    struct lines_outcome outcome;
    enum status status = STATUS_MEMORY;

    if (recorder_init(&recorder, plan.threads, (RECORDED_FRAMES + 3) * CALLS_OF_A_FRAME,
                      allocators, numbers)) {
        plan.jobs = &recorder.kinds[0].outer;
        plan.results = &recorder.kinds[1].outer;
        plan.recorder = &recorder;
        plan.warm_up = 0;
        plan.frames = RECORDED_FRAMES;
        status = run(session, &plan, &outcome);
        if (status == STATUS_OK && !recorder_replay(&recorder, REPLAYS, nanoseconds))
            status = STATUS_MEMORY;
    }
    if (status == STATUS_MEMORY)
        fputs("lines: no replay: out of memory or threads\n", stderr);
    recorder_fini(&recorder);
    return status;
}

/* The most memory that the process has had, in KiB. */
static long peak(void)
{
    struct rusage usage;

    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss : 0;
}

static int by_size(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left > right) - (left < right);
}

static void print_figures(const struct session *session, struct lines_outcome *outcome,
                          double nanoseconds, long memory)
{
    const double *sorted = outcome->milliseconds;
    unsigned count = outcome->frames;

    qsort(outcome->milliseconds, count, sizeof *outcome->milliseconds, by_size);
    printf("allocator %s\nthreads %u\nframes %u\njobs %llu\n", session->allocator,
           session->threads, count, (unsigned long long)outcome->jobs);
    printf("jobs/s %.0f\n", (double)outcome->jobs / outcome->seconds);
    printf("ns/node %.2f\n", nanoseconds);
    printf("median-ms %.4f\n", sorted[count / 2]);
    printf("p99-ms %.4f\n", sorted[count - 1 - (count - 1) / 100]);
    printf("worst-ms %.4f\n", sorted[count - 1]);
    printf("peak-KiB %ld\n", memory);
    printf("in-place %llu\n", (unsigned long long)outcome->inlined);
}

static enum status measure(struct session *session)
{
    struct lines_plan plan = {.corpus = &session->corpus,
                              .threads = session->threads,
                              .jobs = &session->jobs,
                              .results = &session->results,
                              .warm_up = WARM_UP_FRAMES,
                              .frames = session->frames,
                              .seconds = session->seconds};
    struct lines_outcome outcome;
    double nanoseconds = 0;
    long before = peak();
    long memory;
    enum status status = run(session, &plan, &outcome);

    memory = peak() - before;
    if (status == STATUS_OK) {
        double *kept = session->milliseconds;

        session->milliseconds = kept + session->frames; /* of the recorded frames */
        status = replay(session, plan, &nanoseconds);
        session->milliseconds = kept;
    }
    if (status == STATUS_OK)
        print_figures(session, &outcome, nanoseconds, memory);
    return status;
}

/* ---- The command line ------------------------------------------------------------ */

/* A number from low to high.  Complains and returns false otherwise. */
static bool parse_number(const char *option, double low, double high, double *number)
{
    char *end;

    errno = 0;
    *number = strtod(optarg, &end);
    if (errno == 0 && *end == '\0' && end != optarg && *number >= low && *number <= high)
        return true;
    fprintf(stderr, "lines: --%s takes a number from %g to %g, not '%s'\n", option, low, high,
            optarg);
    return false;
}

static bool parse_option(struct session *session, int code, const char *name)
{
    double number = 0;

    switch (code) {
    case 't':
        if (!parse_number(name, 0, THREADS_MAX, &number))
            return false;
        session->threads = (unsigned)number;
        return true;
    case 's':
        return parse_number(name, 0.001, 3600, &session->seconds);
    case 'f':
        if (!parse_number(name, 1, FRAMES_MAX, &number))
            return false;
        session->frames = (unsigned)number;
        return true;
    case 'm':
        if (!parse_number(name, 0.001, 1024, &number))
            return false;
        session->limit = (size_t)(number * 1e6);
        return true;
    case 'a':
        session->allocator = optarg;
        if (strcmp(optarg, "typed") == 0 || strcmp(optarg, "pool") == 0 ||
            strcmp(optarg, "malloc") == 0)
            return true;
        fprintf(stderr, "lines: --allocator takes typed, pool or malloc, not '%s'\n", optarg);
        return false;
    default: /* getopt_long has said what is wrong */
        fputs("lines: --help shows the options\n", stderr);
        return false;
    }
}

/* Returns false when the program is to end with *status. */
static bool parse(struct session *session, int argc, char **argv, const char **path,
                  enum status *status)
{
    static const struct option options[] = {{"allocator", required_argument, NULL, 'a'},
                                            {"threads", required_argument, NULL, 't'},
                                            {"seconds", required_argument, NULL, 's'},
                                            {"frames", required_argument, NULL, 'f'},
                                            {"megabytes", required_argument, NULL, 'm'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    int code, index = 0;

    *status = STATUS_USAGE;
    while ((code = getopt_long(argc, argv, "", options, &index)) != -1) {
        if (code == 'h') {
            fputs(usage_text, stdout);
            *status = STATUS_OK;
            return false;
        }
        if (!parse_option(session, code, options[index].name))
            return false;
    }
    if (argc - optind > 1) {
        fputs("lines: one directory at a time; --help shows the options\n", stderr);
        return false;
    }
    *path = optind < argc ? argv[optind] : "/usr/include";
    if (session->threads == 0) {
        long processors = sysconf(_SC_NPROCESSORS_ONLN);

        session->threads = processors < 1 ? 1 : (unsigned)processors;
        if (session->threads > THREADS_MAX)
            session->threads = THREADS_MAX;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct session session = {
        .allocator = "typed", .frames = FRAMES_MAX, .seconds = 1, .limit = 16000000};
    const char *path;
    enum status status;
    int error;

    if (!parse(&session, argc, argv, &path, &status))
        return (int)status;
    if (!corpus_read(&session.corpus, path, session.limit))
        return STATUS_EMPTY;
    session.milliseconds = calloc(session.frames + RECORDED_FRAMES, sizeof(double));
    error = init_allocators(&session);
    if (session.milliseconds == NULL || error != 0) {
        fprintf(stderr, "lines: no pool: %s\n", error != 0 ? cpool_strerror(error) : "no memory");
        status = STATUS_MEMORY;
    } else {
        status = measure(&session);
    }
    allocator_fini(&session.jobs);
    allocator_fini(&session.results);
    corpus_free(&session.corpus);
    free(session.milliseconds);
    return (int)status;
}
