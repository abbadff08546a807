/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * main.c - counts a directory tree with a job system.  Its nodes come from
 * libcpool, and then from malloc, and both results are shown.
 *
 *   options   what to do            tree, file   the jobs that count
 *   tally     what was counted      scheduler    workers that run jobs
 *   report    what is shown         deque        where jobs wait to be run
 *   recount   the simple count      allocator    where all nodes come from
 *   kernels   tiny jobs instead     kernel_...   of task systems
 *
 * A warm-up run with each allocator fills the page cache and gives the totals.
 * The measured runs follow, in turns.  The totals of all must be equal, and
 * after each run every node must have been given back.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cpool.h>
#include <cpool/print.h>

#include "allocator.h"
#include "kernels.h"
#include "options.h"
#include "pools.h"
#include "recount.h"
#include "report.h"
#include "summary.h"
#include "tree.h"

/* The whole program's state. */
struct session {
    struct options options;
    struct allocator jobs[ALLOCATOR_KINDS];
    struct allocator results[ALLOCATOR_KINDS];
    struct run_table table;
    struct summary first; /* of the first run, which all others must equal */
    bool counted;         /* there has been one */
    bool unreadable;      /* something could not be read */
    char label[64];       /* of the run in progress */
};

static bool takes_part(const struct session *session, int kind)
{
    return (session->options.allocators >> kind & 1u) != 0;
}

/* ---- Before and after ----------------------------------------------------------- */

/* Returns true if the path is a directory that can be read, and complains if not. */
static bool check_directory(const char *path)
{
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (descriptor >= 0) {
        close(descriptor);
        return true;
    }
    if (errno == ENOENT)
        fprintf(stderr, "jobs: %s: there is no such directory\n", path);
    else if (errno == ENOTDIR)
        fprintf(stderr, "jobs: %s: this is not a directory\n", path);
    else if (errno == ELOOP)
        fprintf(stderr, "jobs: %s: symbolic links that form a loop\n", path);
    else
        fprintf(stderr, "jobs: %s: cannot read this directory: %s\n", path, strerror(errno));
    return false;
}

static bool opened(const char *name, size_t capacity, int error)
{
    if (error != 0)
        fprintf(stderr, "jobs: no pool for %zu %s: %s\n", capacity, name, cpool_strerror(error));
    return error == 0;
}

static bool session_init(struct session *session)
{
    const struct options *options = &session->options;

    session->table.repeat = options->repeat;
    for (int kind = 0; kind < ALLOCATOR_KINDS; kind++) {
        allocator_init_malloc(&session->jobs[kind], tree_job_size());
        allocator_init_malloc(&session->results[kind], sizeof(union tally_node));
        if (takes_part(session, kind)) {
            session->table.runs[kind] = calloc(options->repeat, sizeof(struct run));
            if (session->table.runs[kind] == NULL) {
                fputs("jobs: out of memory\n", stderr);
                return false;
            }
        }
    }
    return !takes_part(session, WITH_CPOOL) ||
           (opened("jobs", options->job_nodes,
                   pools_open_jobs(&session->jobs[WITH_CPOOL], options->job_nodes)) &&
            opened("results", options->result_nodes,
                   pools_open_results(&session->results[WITH_CPOOL], options->result_nodes)));
}

static void session_fini(struct session *session)
{
    for (int kind = 0; kind < ALLOCATOR_KINDS; kind++) {
        allocator_fini(&session->jobs[kind]);
        allocator_fini(&session->results[kind]);
        free(session->table.runs[kind]);
    }
}

/* ---- Runs -------------------------------------------------------------------------- */

static void show_progress(const struct scheduler_figures *figures, uint64_t bytes, void *context)
{
    const struct session *session = context;

    report_progress(session->label, figures, bytes);
}

/* However short the run was, there is one line of progress with its total. */
static void end_progress(const struct session *session, const struct tree_outcome *outcome)
{
    report_progress(session->label, &outcome->figures,
                    outcome->total != NULL ? outcome->total->counts.bytes : 0);
    report_progress_end();
}

/* The fault of a run that came to an end, if any. */
static enum status judge(const struct session *session, int kind,
                         const struct tree_outcome *outcome)
{
    if (outcome->dry && kind == WITH_CPOOL) {
        fprintf(stderr, "jobs: the %zu nodes of the pool of results are not enough; "
                        "see --results\n", session->options.result_nodes);
        return STATUS_MEMORY;
    }
    if (outcome->dry) {
        fputs("jobs: malloc found no more memory for results\n", stderr);
        return STATUS_MEMORY;
    }
    return STATUS_OK;
}

/* Compares a summary with the first, which is kept. */
static enum status compare(struct session *session, const struct summary *summary)
{
    if (!session->counted) {
        session->first = *summary;
        session->counted = true;
    } else if (!summary_equal(summary, &session->first)) {
        fprintf(stderr, "jobs: %s: the totals are not those of the first run; "
                        "did the files change meanwhile?\n", session->label);
        return STATUS_WRONG;
    }
    return STATUS_OK;
}

/* Returns true if every node is back at its origin, and complains if not. */
static enum status check_live(const struct session *session, int kind)
{
    size_t jobs = allocator_live(&session->jobs[kind]);
    size_t results = allocator_live(&session->results[kind]);

    if (jobs == 0 && results == 0)
        return STATUS_OK;
    fprintf(stderr, "jobs: %s: %zu job nodes and %zu result nodes were not given back\n",
            session->label, jobs, results);
    return STATUS_WRONG;
}

/* Prints the totals of the first run, and decides whether to go on. */
static enum status show_first(struct session *session, const struct tree_outcome *outcome)
{
    session->unreadable = skipped_unreadable(&outcome->skipped) > 0;
    report_totals(stdout, session->options.path, &session->first, &outcome->skipped);
    if (session->first.files > 0)
        return STATUS_OK;
    fprintf(stderr, "jobs: %s: there is no file to count\n", session->options.path);
    return session->unreadable ? STATUS_UNREADABLE : STATUS_EMPTY;
}

/* Makes one run.  *run gets the measurements, unless run is NULL. */
static enum status run_once(struct session *session, int kind, struct run *run)
{
    struct tree_plan plan = {.path = session->options.path,
                             .threads = session->options.threads,
                             .jobs = &session->jobs[kind],
                             .results = &session->results[kind],
                             .watch = session->options.progress ? show_progress : NULL,
                             .context = session};
    struct tree_outcome outcome;
    struct summary summary;
    bool first = !session->counted;
    enum status status = STATUS_MEMORY;
    int error = tree_count(&plan, &outcome);

    if (session->options.progress)
        end_progress(session, &outcome);
    if (error != 0)
        fprintf(stderr, "jobs: no worker could be started: %s\n", strerror(error));
    else
        status = judge(session, kind, &outcome);
    summary_of_tally(&summary, session->options.top, outcome.total);
    if (status == STATUS_OK)
        status = compare(session, &summary);
    if (status == STATUS_OK && first)
        status = show_first(session, &outcome);
    if (run != NULL)
        *run = (struct run){outcome.seconds, outcome.result_nodes, outcome.figures};
    tree_outcome_fini(&outcome, &session->results[kind]);
    if (status == STATUS_OK)
        status = check_live(session, kind);
    return status;
}

/* The warm-up, and then the measured runs, the allocators in turns. */
static enum status run_all(struct session *session)
{
    enum status status = STATUS_OK;

    for (unsigned i = session->options.warm_up ? 0 : 1;
         status == STATUS_OK && i <= session->options.repeat; i++) {
        for (int turn = 0; status == STATUS_OK && turn < ALLOCATOR_KINDS; turn++) {
            /* The allocator that goes first changes from run to run. */
            int kind = (turn + (int)i) % ALLOCATOR_KINDS;

            if (!takes_part(session, kind))
                continue;
            if (i == 0)
                snprintf(session->label, sizeof session->label, "%s, warm-up",
                         allocator_names[kind]);
            else
                snprintf(session->label, sizeof session->label, "%s, run %u of %u",
                         allocator_names[kind], i, session->options.repeat);
            status = run_once(session, kind, i > 0 ? &session->table.runs[kind][i - 1] : NULL);
        }
    }
    return status;
}

/* Verifies the totals by the simple count. */
static enum status verify(struct session *session)
{
    struct summary simple;

    snprintf(session->label, sizeof session->label, "recount");
    if (!recount(session->options.path, session->options.top, &simple)) {
        fputs("jobs: out of memory in the recount\n", stderr);
        return STATUS_MEMORY;
    }
    if (!summary_equal(&simple, &session->first)) {
        fputs("jobs: a simple recount gives other totals:\n", stderr);
        report_totals(stderr, session->options.path, &simple, &(struct skipped){0});
        return STATUS_WRONG;
    }
    puts("  a simple recount gives the same totals\n");
    return STATUS_OK;
}

static void show_runs(const struct session *session)
{
    unsigned started = 0;

    for (int kind = 0; kind < ALLOCATOR_KINDS; kind++)
        if (session->table.runs[kind] != NULL)
            started = session->table.runs[kind][session->options.repeat - 1].figures.threads;
    printf("%u worker threads%s; the totals of all runs are equal\n", started,
           started < session->options.threads ? ", for there could be no more" : "");
    report_runs(stdout, &session->table);
    if (takes_part(session, WITH_CPOOL)) {
        puts("\nthe pools after the last run");
        cpool_print(session->jobs[WITH_CPOOL].pool, CPOOL_DUMP_TEXT, stdout);
        cpool_print(session->results[WITH_CPOOL].pool, CPOOL_DUMP_TEXT, stdout);
    }
}

int main(int argc, char **argv)
{
    static struct session session; /* too large for comfort on the stack */
    enum status status;

    if (!options_parse(&session.options, argc, argv, &status))
        return (int)status;
    if (session.options.kernel != NULL)
        return (int)kernels_run(&session.options);
    if (!check_directory(session.options.path))
        return STATUS_USAGE;
    tree_set_descriptor_limit();
    status = session_init(&session) ? run_all(&session) : STATUS_MEMORY;
    if (status == STATUS_OK && session.options.check)
        status = verify(&session);
    if (status == STATUS_OK)
        show_runs(&session);
    session_fini(&session);
    if (status == STATUS_OK && session.unreadable)
        status = STATUS_UNREADABLE;
    return (int)status;
}
