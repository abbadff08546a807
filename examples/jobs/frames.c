/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frames.c - the job system as a game uses it: frame after frame of jobs, none of
 * which may be held up by the pool its nodes come from.
 *
 *     frame --+-- group --+-- piece        A frame makes GROUPS jobs, each of
 *             +-- group   +-- piece        which makes PIECES.  When all are done
 *             ...         ...              its continuation makes the next frame.
 *
 * Each frame begins with a reading of the pool's figures.  After warming up, no frame may
 * have made the pool grow or call the operating system.
 *
 * Warming up is three things.  The pool is grown and reserved to all the nodes that a
 * frame and the workers' caches can hold.  Each worker gets its cache when it begins.
 * Some frames are run that are not judged.  With --cold none of it is done, and the
 * program must find out.
 *
 * usage: frames [--cold] [THREADS [FRAMES]]
 * Exit status: 0 steady, 1 held up, 2 wrong usage, 3 jobs were lost, or no memory.
 *
 * ORDERING TABLE
 *   count   | pieces and entered fetch_add, load | relaxed | - | pieces are read after the
 *                                                      workers were joined
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cpool.h>

#include "allocator.h"
#include "scheduler.h"

/* More groups than two magazines have rounds, so that a frame meets the depot. */
#define GROUPS 256u
#define PIECES 16u

/* Bytes of a job's own, so that nodes are as large as those of a game. */
#define WORK_SIZE 960

/* Nodes that are live at most: the run, two frames at their border, groups, pieces. */
#define LIVE ((size_t)3 + GROUPS + GROUPS * PIECES)

/* Rounds of a magazine: fixed, so that a cache holds two. */
#define ROUNDS ((size_t)64)

#define WARM_UP_FRAMES 10u
#define WORKERS_PATIENCE 60000u /* milliseconds */
#define FRAMES_MAX 100000u

struct session {
    struct allocator nodes;
    bool cold;
    unsigned threads;
    unsigned warm_up;            /* the first frames, which are not judged */
    unsigned frames;             /* in all */
    cpool_stats_t *readings;     /* at the beginning of each frame, and at the end */
    _Atomic uint64_t pieces;     /* run */
    _Atomic unsigned entered;    /* workers that have their caches */
};

struct frame_job {
    struct job job;
    struct session *session;
    unsigned frame; /* the frame that it belongs to */
    unsigned char work[WORK_SIZE];
};

static struct frame_job *frame_job_of(struct job *job)
{
    return (struct frame_job *)(void *)job; /* its first member */
}

static void read_counters(struct session *session, unsigned frame)
{
    session->readings[frame] = (cpool_stats_t)CPOOL_STATS_INIT;
    cpool_read_stats(session->nodes.pool, &session->readings[frame]);
}

/* ---- Jobs ----------------------------------------------------------------------- */

static void submit(struct worker *worker, struct job *parent, struct session *session,
                   unsigned frame, job_function *body, job_function *continuation)
{
    struct frame_job spare;
    struct frame_job *job =
        frame_job_of(job_prepare(worker, parent, &spare.job, body, continuation));

    job->session = session;
    job->frame = frame;
    job_submit(worker, &job->job);
}

static void no_continuation(struct worker *worker, struct job *job)
{
    (void)worker;
    (void)job;
}

static void piece_body(struct worker *worker, struct job *job)
{
    struct frame_job *self = frame_job_of(job);

    (void)worker;
    memset(self->work, (int)(self->frame & 0xffu), sizeof self->work);
    atomic_fetch_add_explicit(&self->session->pieces, 1, memory_order_relaxed); /* [count] */
}

static void group_body(struct worker *worker, struct job *job)
{
    struct frame_job *self = frame_job_of(job);

    for (unsigned i = 0; i < PIECES; i++)
        submit(worker, job, self->session, self->frame, piece_body, no_continuation);
}

static void frame_body(struct worker *worker, struct job *job)
{
    struct frame_job *self = frame_job_of(job);

    if (self->frame > 0) /* the first reading is main's */
        read_counters(self->session, self->frame);
    for (unsigned i = 0; i < GROUPS; i++)
        submit(worker, job, self->session, self->frame, group_body, no_continuation);
}

/* The frame still holds a part of the run, which so outlives making the next. */
static void frame_continuation(struct worker *worker, struct job *job)
{
    struct frame_job *self = frame_job_of(job);

    if (self->frame + 1 < self->session->frames)
        submit(worker, job->parent, self->session, self->frame + 1, frame_body,
               frame_continuation);
}

static void run_body(struct worker *worker, struct job *job)
{
    submit(worker, job, frame_job_of(job)->session, 0, frame_body, frame_continuation);
}

/* Threads that begin late have their caches before the first frame, unless the system has
 * refused the thread. */
static void await_workers(struct session *session)
{
    const struct timespec pause = {0, 1000000};

    for (unsigned i = 0; i < WORKERS_PATIENCE; i++) {
        if (atomic_load_explicit(&session->entered, memory_order_relaxed) == /* [count] */
            session->threads)
            break;
        nanosleep(&pause, NULL);
    }
}

static void start(struct worker *worker, void *context)
{
    struct session *session = context;

    if (!session->cold)
        await_workers(session);
    submit(worker, NULL, context, 0, run_body, no_continuation);
}

/* ---- Warming up ------------------------------------------------------------------ */

static size_t nodes_needed(const struct session *session)
{
    return LIVE + ((size_t)session->threads + 1) * 2 * ROUNDS;
}

static bool make_pool(struct session *session)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_t *pool;

    config.name = "frames";
    config.slot_size = sizeof(struct frame_job);
    config.capacity = ROUNDS;
    config.max_capacity = nodes_needed(session);
    config.magazine_rounds = ROUNDS;
    if (allocator_init_config(&session->nodes, &config) != 0)
        return false;
    pool = session->nodes.pool;
    if (session->cold)
        return true;
    if (cpool_grow(pool, config.max_capacity - config.capacity) == 0 ||
        cpool_reserve(pool, config.max_capacity) != 0)
        return false;
    cpool_flush(pool); /* this thread has no use for them */
    return true;
}

static void enter(struct worker *worker, void *context)
{
    struct session *session = context;

    (void)worker;
    if (!session->cold) /* makes this thread's cache */
        cpool_free(session->nodes.pool, cpool_alloc(session->nodes.pool));
    atomic_fetch_add_explicit(&session->entered, 1, memory_order_relaxed); /* [count] */
}

/* ---- Verdict --------------------------------------------------------------------- */

/* Shows the frames that were held up and returns their number. */
static unsigned show_spikes(const struct session *session)
{
    unsigned spikes = 0;

    for (unsigned i = session->warm_up; i < session->frames; i++) {
        const cpool_stats_t *before = &session->readings[i], *after = before + 1;
        size_t slots = after->capacity - before->capacity;
        uint64_t system_calls = after->system_calls - before->system_calls;

        if (slots + system_calls == 0)
            continue;
        spikes++;
        printf("frame %u: %zu slots more, %" PRIu64 " system calls\n", i, slots, system_calls);
    }
    return spikes;
}

static int judge(struct session *session, const struct scheduler_figures *figures)
{
    uint64_t pieces = atomic_load_explicit(&session->pieces, memory_order_relaxed); /* [count] */
    unsigned spikes = show_spikes(session);

    printf("%u frames of %u jobs on %u threads, after %u to warm up: %u held up\n",
           session->frames - session->warm_up, 1 + GROUPS + GROUPS * PIECES, figures->threads,
           session->warm_up, spikes);
    if (pieces != (uint64_t)session->frames * GROUPS * PIECES ||
        allocator_live(&session->nodes) != 0 || (!session->cold && figures->inlined != 0)) {
        fprintf(stderr, "frames: %" PRIu64 " pieces were run, %" PRIu64 " jobs in place, and %zu "
                        "nodes are live\n", pieces, figures->inlined,
                allocator_live(&session->nodes));
        return 3;
    }
    return spikes == 0 ? 0 : 1;
}

/* A number from 1 to `high`, or 0. */
static unsigned parse_number(const char *text, unsigned high)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);

    return *text == '-' || *end != '\0' || number > high ? 0 : (unsigned)number;
}

static bool parse(struct session *session, int argc, char **argv)
{
    int i = 1;

    session->cold = argc > 1 && strcmp(argv[1], "--cold") == 0;
    i += session->cold ? 1 : 0;
    session->threads = i < argc ? parse_number(argv[i], SCHEDULER_THREADS_MAX) : 2;
    session->frames = i + 1 < argc ? parse_number(argv[i + 1], FRAMES_MAX) : 100;
    session->warm_up = session->cold ? 0 : WARM_UP_FRAMES;
    if (session->threads == 0 || session->frames == 0 || argc > i + 2)
        return false;
    session->frames += session->warm_up;
    return true;
}

int main(int argc, char **argv)
{
    struct session session = {.pieces = 0};
    struct scheduler_plan plan = {.jobs = &session.nodes, .scratch_size = 1, .start = start,
                                  .enter = enter, .context = &session};
    struct scheduler_figures figures;
    int status = 3;

    if (!parse(&session, argc, argv)) {
        fputs("usage: frames [--cold] [THREADS [FRAMES]]\n", stderr);
        return 2;
    }
    plan.threads = session.threads;
    session.readings = calloc((size_t)session.frames + 1, sizeof *session.readings);
    if (session.readings != NULL && make_pool(&session)) {
        read_counters(&session, 0);
        if (scheduler_run(&plan, &figures) == 0) {
            read_counters(&session, session.frames);
            status = judge(&session, &figures);
        }
    }
    if (status == 3)
        fputs("frames: out of memory or threads, or jobs were lost\n", stderr);
    allocator_fini(&session.nodes);
    free(session.readings);
    return status;
}
