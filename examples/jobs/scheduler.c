/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scheduler.c - see scheduler.h.
 *
 * ORDERING TABLE
 *   fork     | pending fetch_add by job_prepare  | relaxed | join  | -
 *   join     | pending fetch_sub                 | acq_rel | join  | all that a part of the
 *                                                            job did, to the continuation
 *   asleep   | sleeping fetch_add                | seq_cst | awake | that somebody may sleep
 *   awake    | sleeping load after a push        | seq_cst | asleep | -
 *   leave    | sleeping fetch_sub                | relaxed | -     | -
 *   figure   | a worker's counters, written by it alone | relaxed | - | -
 *
 * [fork] can be relaxed: the parent's body is running and holds one part of
 * its own, so the count cannot reach zero before the body's own [join].
 *
 * Going to sleep without missing a push.  The pusher stores the deque's bottom
 * and then loads `sleeping` [awake].  The sleeper adds to `sleeping` [asleep]
 * and then loads every deque's bottom.  All four are seq_cst, hence in one
 * order: whichever store comes second in it, the load after it sees the other
 * store.  So the sleeper finds the job, or the pusher finds the sleeper, and
 * then hands it a permit under the mutex, which the sleeper holds from [asleep]
 * until it waits.  Permits are counted, so a wake-up before the wait is kept.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "scheduler.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Times that a worker looks through all deques before it goes to sleep. */
#define STEAL_SWEEPS 4

/* Bytes of stack a worker has, for any default of the system.  Jobs on the
 * stack nest as deep as the caller's tree of jobs. */
#define WORKER_STACK ((size_t)8 << 20)

struct scheduler;

struct worker {
    struct deque deque;

    struct scheduler *scheduler;
    void *scratch;
    uint32_t random; /* state of the generator that picks victims; never 0 */
    pthread_t thread;

    /* Written by this worker, read by the watcher. */
    _Alignas(DEQUE_LINE) _Atomic uint64_t jobs;
    _Atomic uint64_t inlined;
    _Atomic uint64_t stolen;
    _Atomic uint64_t sleeps;
};

struct scheduler {
    const struct scheduler_plan *plan;
    struct worker *workers; /* plan->threads of them */
    unsigned started;       /* threads that run; written before any is joined */

    pthread_mutex_t mutex;
    pthread_cond_t permitted; /* permits > 0, or over */
    pthread_cond_t ended;     /* over */
    unsigned permits;         /* sleepers that may go on; under the mutex */
    bool over;                /* the first job is done; under the mutex */

    /* Sleepers without a permit, changed under the mutex and read without it. */
    _Alignas(DEQUE_LINE) atomic_uint sleeping;
};

/* ---- Figures ---------------------------------------------------------------- */

static uint64_t read_figure(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed); /* [figure] */
}

static void count_one(_Atomic uint64_t *counter)
{
    atomic_store_explicit(counter, read_figure(counter) + 1, memory_order_relaxed); /* [figure] */
}

static void sum_figures(const struct scheduler *scheduler, struct scheduler_figures *figures)
{
    memset(figures, 0, sizeof *figures);
    figures->threads = scheduler->started;
    for (unsigned i = 0; i < scheduler->plan->threads; i++) {
        const struct worker *worker = &scheduler->workers[i];

        figures->jobs += read_figure(&worker->jobs);
        figures->inlined += read_figure(&worker->inlined);
        figures->stolen += read_figure(&worker->stolen);
        figures->sleeps += read_figure(&worker->sleeps);
    }
}

/* ---- Sleeping and waking ------------------------------------------------------ */

static bool any_deque_has_items(const struct scheduler *scheduler)
{
    for (unsigned i = 0; i < scheduler->plan->threads; i++)
        if (deque_has_items(&scheduler->workers[i].deque))
            return true;
    return false;
}

/* Sleeps until there may be work.  Returns false when all work is done. */
static bool worker_sleep(struct worker *worker)
{
    struct scheduler *scheduler = worker->scheduler;
    bool go_on;

    pthread_mutex_lock(&scheduler->mutex);
    atomic_fetch_add_explicit(&scheduler->sleeping, 1, memory_order_seq_cst); /* [asleep] */
    if (!scheduler->over && any_deque_has_items(scheduler)) {
        atomic_fetch_sub_explicit(&scheduler->sleeping, 1, memory_order_relaxed); /* [leave] */
    } else {
        count_one(&worker->sleeps);
        while (scheduler->permits == 0 && !scheduler->over)
            pthread_cond_wait(&scheduler->permitted, &scheduler->mutex);
        if (scheduler->permits > 0)
            scheduler->permits--; /* the thread that gave it has left for us */
    }
    go_on = !scheduler->over;
    pthread_mutex_unlock(&scheduler->mutex);
    return go_on;
}

/* After a push: wakes one sleeper, if there are any. */
static void wake_one(struct scheduler *scheduler)
{
    if (atomic_load_explicit(&scheduler->sleeping, memory_order_seq_cst) == 0) /* [awake] */
        return;
    pthread_mutex_lock(&scheduler->mutex);
    if (atomic_load_explicit(&scheduler->sleeping, memory_order_relaxed) > 0) { /* [leave] */
        atomic_fetch_sub_explicit(&scheduler->sleeping, 1, memory_order_relaxed); /* [leave] */
        scheduler->permits++;
        pthread_cond_signal(&scheduler->permitted);
    }
    pthread_mutex_unlock(&scheduler->mutex);
}

/* The first job is done, and with it every other. */
static void announce_end(struct scheduler *scheduler)
{
    pthread_mutex_lock(&scheduler->mutex);
    scheduler->over = true;
    pthread_cond_broadcast(&scheduler->permitted);
    pthread_cond_signal(&scheduler->ended);
    pthread_mutex_unlock(&scheduler->mutex);
}

/* ---- Jobs ----------------------------------------------------------------------- */

/* One part of the job is done: its body, or a child.  The last part brings the
 * continuation, and then the same for the parent. */
static void job_part_done(struct worker *worker, struct job *job)
{
    while (atomic_fetch_sub_explicit(&job->pending, 1, memory_order_acq_rel) == 1) { /* [join] */
        struct job *parent = job->parent;

        job->continuation(worker, job);
        if (!job->on_stack)
            worker->scheduler->plan->jobs->free(worker->scheduler->plan->jobs, job);
        if (parent == NULL) {
            announce_end(worker->scheduler);
            return;
        }
        job = parent;
    }
}

static void job_execute(struct worker *worker, struct job *job)
{
    count_one(&worker->jobs);
    job->body(worker, job);
    job_part_done(worker, job);
}

struct job *job_prepare(struct worker *worker, struct job *parent, struct job *spare,
                        job_function *body, job_function *continuation)
{
    struct allocator *jobs = worker->scheduler->plan->jobs;
    struct job *node = NULL;
    struct job *job;

    /* A parent on the stack cannot wait for children in other hands. */
    if (parent == NULL || !parent->on_stack)
        node = jobs->alloc(jobs);
    if (parent != NULL)
        atomic_fetch_add_explicit(&parent->pending, 1, memory_order_relaxed); /* [fork] */
    job = node != NULL ? node : spare;
    job->on_stack = node == NULL;
    job->body = body;
    job->continuation = continuation;
    job->parent = parent;
    atomic_init(&job->pending, 1);
    return job;
}

void job_submit(struct worker *worker, struct job *job)
{
    if (!job->on_stack && deque_push(&worker->deque, job)) {
        wake_one(worker->scheduler);
    } else {
        count_one(&worker->inlined);
        job_execute(worker, job);
    }
}

void *worker_scratch(struct worker *worker)
{
    return worker->scratch;
}

/* ---- Workers ---------------------------------------------------------------------- */

/* The next of a sequence without pattern that matters (G. Marsaglia, "Xorshift
 * RNGs", Journal of Statistical Software 8(14), 2003). */
static uint32_t worker_random(struct worker *worker)
{
    worker->random ^= worker->random << 13;
    worker->random ^= worker->random >> 17;
    worker->random ^= worker->random << 5;
    return worker->random;
}

/* Looks through all other deques once, from a random one on. */
static struct job *steal_in_one_sweep(struct worker *worker, bool *lost)
{
    const struct scheduler *scheduler = worker->scheduler;
    unsigned count = scheduler->plan->threads;
    unsigned first = worker_random(worker) % count;

    for (unsigned i = 0; i < count; i++) {
        struct worker *victim = &scheduler->workers[(first + i) % count];
        void *item = NULL;
        enum deque_theft theft = DEQUE_EMPTY;

        if (victim != worker)
            theft = deque_steal(&victim->deque, &item);
        if (theft == DEQUE_STOLEN) {
            count_one(&worker->stolen);
            return item;
        }
        *lost = *lost || theft == DEQUE_LOST;
    }
    return NULL;
}

static struct job *steal(struct worker *worker)
{
    struct job *job = NULL;

    for (int sweep = 0; sweep < STEAL_SWEEPS && job == NULL; sweep++) {
        bool lost;

        do { /* a lost race means that some other worker got on */
            lost = false;
            job = steal_in_one_sweep(worker, &lost);
        } while (job == NULL && lost);
    }
    return job;
}

static void *worker_main(void *argument)
{
    struct worker *worker = argument;
    struct scheduler *scheduler = worker->scheduler;

    if (scheduler->plan->enter != NULL)
        scheduler->plan->enter(worker, scheduler->plan->context);
    if (worker == scheduler->workers)
        scheduler->plan->start(worker, scheduler->plan->context);
    do {
        struct job *job;

        while ((job = deque_take(&worker->deque)) != NULL || (job = steal(worker)) != NULL)
            job_execute(worker, job);
    } while (worker_sleep(worker));
    if (scheduler->plan->leave != NULL)
        scheduler->plan->leave(worker, scheduler->plan->context);
    return NULL;
}

/* ---- Beginning and end -------------------------------------------------------------- */

static bool worker_init(struct worker *worker, struct scheduler *scheduler, unsigned index)
{
    worker->scheduler = scheduler;
    worker->random = (index + 1) * 2654435761u; /* odd multiplier: never 0 here */
    worker->scratch = malloc(scheduler->plan->scratch_size);
    atomic_init(&worker->jobs, 0);
    atomic_init(&worker->inlined, 0);
    atomic_init(&worker->stolen, 0);
    atomic_init(&worker->sleeps, 0);
    return deque_init(&worker->deque) && worker->scratch != NULL;
}

static void scheduler_fini(struct scheduler *scheduler, unsigned workers)
{
    for (unsigned i = 0; i < workers; i++) {
        deque_fini(&scheduler->workers[i].deque);
        free(scheduler->workers[i].scratch);
    }
    free(scheduler->workers);
    pthread_cond_destroy(&scheduler->ended);
    pthread_cond_destroy(&scheduler->permitted);
    pthread_mutex_destroy(&scheduler->mutex);
}

/* Returns 0 or ENOMEM.  Nothing is left behind then. */
static int scheduler_init(struct scheduler *scheduler, const struct scheduler_plan *plan)
{
    scheduler->plan = plan;
    scheduler->started = 0;
    scheduler->permits = 0;
    scheduler->over = false;
    atomic_init(&scheduler->sleeping, 0);
    pthread_mutex_init(&scheduler->mutex, NULL);
    pthread_cond_init(&scheduler->permitted, NULL);
    pthread_cond_init(&scheduler->ended, NULL);
    scheduler->workers =
        aligned_alloc(_Alignof(struct worker), plan->threads * sizeof *scheduler->workers);
    for (unsigned i = 0; scheduler->workers != NULL && i < plan->threads; i++) {
        if (!worker_init(&scheduler->workers[i], scheduler, i)) {
            scheduler_fini(scheduler, i + 1);
            return ENOMEM;
        }
    }
    if (scheduler->workers == NULL) {
        scheduler_fini(scheduler, 0);
        return ENOMEM;
    }
    return 0;
}

/* Starts as many threads as possible.  Returns 0 if there is at least one. */
static int start_workers(struct scheduler *scheduler)
{
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);

    if (error != 0)
        return error;
    error = pthread_attr_setstacksize(&attributes, WORKER_STACK);
    while (error == 0 && scheduler->started < scheduler->plan->threads) {
        struct worker *worker = &scheduler->workers[scheduler->started];

        error = pthread_create(&worker->thread, &attributes, worker_main, worker);
        if (error == 0)
            scheduler->started++;
    }
    pthread_attr_destroy(&attributes);
    return scheduler->started > 0 ? 0 : error;
}

/* When the watcher has to be called next. */
static struct timespec next_watch(void)
{
    struct timespec when;

    clock_gettime(CLOCK_REALTIME, &when); /* the clock of pthread_cond_timedwait */
    when.tv_nsec += WATCH_MILLISECONDS * 1000000L;
    when.tv_sec += when.tv_nsec / 1000000000L;
    when.tv_nsec %= 1000000000L;
    return when;
}

/* Waits for the end, and calls the watcher meanwhile. */
static void watch_until_end(struct scheduler *scheduler)
{
    struct scheduler_figures figures;

    pthread_mutex_lock(&scheduler->mutex);
    while (!scheduler->over) {
        struct timespec when = next_watch();
        int error = pthread_cond_timedwait(&scheduler->ended, &scheduler->mutex, &when);

        if (error == ETIMEDOUT && !scheduler->over && scheduler->plan->watch != NULL) {
            pthread_mutex_unlock(&scheduler->mutex);
            sum_figures(scheduler, &figures);
            scheduler->plan->watch(&figures, scheduler->plan->context);
            pthread_mutex_lock(&scheduler->mutex);
        }
    }
    pthread_mutex_unlock(&scheduler->mutex);
}

int scheduler_run(const struct scheduler_plan *plan, struct scheduler_figures *figures)
{
    struct scheduler scheduler;
    int error = scheduler_init(&scheduler, plan);

    if (error != 0)
        return error;
    error = start_workers(&scheduler);
    if (error == 0)
        watch_until_end(&scheduler);
    for (unsigned i = 0; i < scheduler.started; i++)
        pthread_join(scheduler.workers[i].thread, NULL);
    sum_figures(&scheduler, figures);
    scheduler_fini(&scheduler, plan->threads);
    return error;
}
