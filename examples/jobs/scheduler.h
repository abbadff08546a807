/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scheduler.h - fork-join jobs on worker threads that steal from each other.
 *
 * A job has a body, a continuation and a parent.  The body may make further
 * jobs, its children.  When the body has returned and all children are done,
 * the continuation runs, once, on the worker that finished last.  Then the job
 * is done, its node is given back, and its parent has one less to wait for.
 *
 *        parent   pending = 1 (its own body) + number of children not yet done
 *        ^   ^
 *     child child ...       each keeps its parent alive
 *
 * No worker ever waits for a job: it takes another one.  A worker that finds
 * none sleeps until there is one.
 *
 * Nodes come from the allocator of the plan.  The maker of a job declares room
 * for one on the stack, too.  When the allocator is dry the job is laid out
 * there and runs at once inside job_submit, with everything below it likewise.
 * So there is always progress.
 *
 * Includes allocator.h and deque.h.
 */
#ifndef JOBS_SCHEDULER_H
#define JOBS_SCHEDULER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocator.h"
#include "deque.h"

#define SCHEDULER_THREADS_MAX 1024u

struct job;
struct worker;

typedef void job_function(struct worker *worker, struct job *job);

/* The head of every job.  The user's part comes after it. */
struct job {
    job_function *body;
    job_function *continuation;
    struct job *parent;  /* NULL for the first job of all */
    atomic_uint pending; /* parts not yet done: the body and the children */
    bool on_stack;       /* runs inside job_submit, and its children do */
};

/* Counts of the workers' actions.  While they run, the counts lag a little. */
struct scheduler_figures {
    unsigned threads;  /* workers that were started */
    uint64_t jobs;     /* bodies run */
    uint64_t inlined;  /* of them, run inside job_submit because nodes were out */
    uint64_t stolen;   /* of them, taken from another worker */
    uint64_t sleeps;   /* times a worker went to sleep */
};

struct scheduler_plan {
    unsigned threads;       /* workers wanted, 1 to SCHEDULER_THREADS_MAX */
    struct allocator *jobs; /* its node_size holds the largest job */
    size_t scratch_size;    /* bytes of scratch for each worker, see worker_scratch */

    /* Called by one worker, once: makes and submits the first job. */
    void (*start)(struct worker *worker, void *context);

    /* Every worker calls it when it begins and when it ends.  It may be NULL. */
    void (*enter)(struct worker *worker, void *context);
    void (*leave)(struct worker *worker, void *context);

    /* Called by the thread in scheduler_run, every WATCH_MILLISECONDS. */
    void (*watch)(const struct scheduler_figures *figures, void *context);

    void *context;
};

#define WATCH_MILLISECONDS 200

/*
 * Runs the first job and all that come from it, and returns when the last is
 * done.  Returns 0, or an errno value when no worker could be started.  With
 * fewer workers than wanted it carries on.
 */
int scheduler_run(const struct scheduler_plan *plan, struct scheduler_figures *figures);

/*
 * Begins a job.  The caller then fills in the user part.
 *
 * parent   NULL for the first job, else the job that has its body running, or that job's
 *          parent, which waits for the new one as well
 * spare    plan->jobs->node_size bytes on the caller's stack that live until
 *          job_submit returns
 *
 * Returns a node from the allocator, or `spare`.
 */
struct job *job_prepare(struct worker *worker, struct job *parent, struct job *spare,
                        job_function *body, job_function *continuation);

/* Lets a prepared job run.  It may be over when this returns. */
void job_submit(struct worker *worker, struct job *job);

/*
 * This worker's scratch memory, scratch_size bytes.  A body may use it between
 * two calls of job_submit.  Its content does not survive one.
 */
void *worker_scratch(struct worker *worker);

#endif /* JOBS_SCHEDULER_H */
