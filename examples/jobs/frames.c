/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frames.c - the job system as a game uses it: frame after frame of jobs, none of
 * which may be held up by the pool its nodes come from.
 *
 *     frame --+-- group --+-- piece        A frame makes GROUPS jobs, each of
 *             +-- group   +-- piece        which makes PIECES.  When all are done
 *             ...         ...              its continuation makes the next frame.
 *
 * Every worker brackets what it does in a frame by a quiet scope: the scope ends when
 * the worker comes to a job of another frame.  After warming up, no scope may have seen
 * the pool grow, call the operating system or hand out a slot for the first time.
 * Exchanges with the depot are counted and allowed.
 *
 * Warming up is three things.  The pool is grown and reserved to all the nodes that a
 * frame and the workers' caches can hold.  Each worker gets its cache when it begins.
 * Some frames are run that are not judged.  With --cold none of it is done, and the
 * program must find out.
 *
 * usage: frames [--cold] [THREADS [FRAMES]]
 * Exit status: 0 quiet, 1 held up, 2 wrong usage, 3 jobs were lost, or no memory.
 *
 * ORDERING TABLE
 *   count   | counts and pieces fetch_add | relaxed | - | read after the workers were joined
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Rounds of a magazine: fixed, so that a cache holds two and does not widen. */
#define ROUNDS ((size_t)64)

#define WARM_UP_FRAMES 10u
#define FRAMES_MAX 100000u

#define TRAPS (CPOOL_TRAP_GROWTHS | CPOOL_TRAP_SYSTEM_CALLS | CPOOL_TRAP_FRESH_SLOTS)

struct frame_counts {
    _Atomic uint64_t growths;
    _Atomic uint64_t system_calls;
    _Atomic uint64_t fresh_slots;
    _Atomic uint64_t exchanges;
};

struct session {
    struct allocator nodes;
    bool cold;
    unsigned threads;
    unsigned warm_up;            /* the first frames, which are not judged */
    unsigned frames;             /* in all */
    struct frame_counts *counts; /* of each frame */
    _Atomic uint64_t pieces;     /* run */
};

struct frame_job {
    struct job job;
    struct session *session;
    unsigned frame; /* the frame that it belongs to */
    unsigned char work[WORK_SIZE];
};

/* Reports that traps brought about, in any thread. */
static _Atomic uint64_t trapped;

static struct frame_job *frame_job_of(struct job *job)
{
    return (struct frame_job *)(void *)job; /* its first member */
}

/* ---- Scopes --------------------------------------------------------------------- */

/* The frame that the worker's scope is open for, plus one, or 0 if it is not open. */
static _Thread_local unsigned open_frame;

static void add(_Atomic uint64_t *counter, uint64_t more)
{
    atomic_fetch_add_explicit(counter, more, memory_order_relaxed); /* [count] */
}

static uint64_t read_count(_Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed); /* [count] */
}

static void scope_close(struct session *session)
{
    struct frame_counts *counts;
    cpool_quiet_t seen = CPOOL_QUIET_INIT;

    if (open_frame == 0)
        return;
    counts = &session->counts[open_frame - 1];
    cpool_quiet_end(&seen);
    add(&counts->growths, seen.growths);
    add(&counts->system_calls, seen.system_calls);
    add(&counts->fresh_slots, seen.fresh_slots);
    add(&counts->exchanges, seen.exchanges);
    open_frame = 0;
}

/* Sees to it that this worker's scope is that of the frame. */
static void scope_of(struct session *session, unsigned frame)
{
    int error;

    if (open_frame == frame + 1)
        return;
    scope_close(session);
    error = cpool_quiet_begin(frame < session->warm_up ? 0u : TRAPS);
    if (error != 0) {
        fprintf(stderr, "frames: no quiet scope: %s\n", cpool_strerror(error));
        exit(3);
    }
    open_frame = frame + 1;
}

static void on_error(const cpool_error_t *error, void *context)
{
    (void)context;
    if (error->code != CPOOL_ENOTQUIET) {
        fprintf(stderr, "frames: %s\n", error->text);
        abort();
    }
    add(&trapped, 1);
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
    scope_of(self->session, self->frame);
    memset(self->work, (int)(self->frame & 0xffu), sizeof self->work);
    add(&self->session->pieces, 1);
}

static void group_body(struct worker *worker, struct job *job)
{
    struct frame_job *self = frame_job_of(job);

    scope_of(self->session, self->frame);
    for (unsigned i = 0; i < PIECES; i++)
        submit(worker, job, self->session, self->frame, piece_body, no_continuation);
}

static void frame_body(struct worker *worker, struct job *job)
{
    struct frame_job *self = frame_job_of(job);

    scope_of(self->session, self->frame);
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

static void start(struct worker *worker, void *context)
{
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
    cpool_quiet_t seen = CPOOL_QUIET_INIT;

    (void)worker;
    if (session->cold)
        return;
    if (cpool_cache(session->nodes.pool) == NULL || cpool_quiet_begin(0) != 0) {
        fputs("frames: a worker got no cache\n", stderr);
        exit(3);
    }
    cpool_quiet_end(&seen);
}

static void leave(struct worker *worker, void *context)
{
    (void)worker;
    scope_close(context);
}

/* ---- Verdict --------------------------------------------------------------------- */

/* Shows the frames that were held up and returns their number. */
static unsigned show_spikes(const struct session *session)
{
    unsigned spikes = 0;

    for (unsigned i = session->warm_up; i < session->frames; i++) {
        struct frame_counts *counts = &session->counts[i];
        uint64_t growths = read_count(&counts->growths);
        uint64_t system_calls = read_count(&counts->system_calls);
        uint64_t fresh_slots = read_count(&counts->fresh_slots);

        if (growths + system_calls + fresh_slots == 0)
            continue;
        spikes++;
        printf("frame %u: %" PRIu64 " growths, %" PRIu64 " system calls, %" PRIu64
               " fresh slots\n", i, growths, system_calls, fresh_slots);
    }
    return spikes;
}

static int judge(struct session *session, const struct scheduler_figures *figures)
{
    uint64_t pieces = read_count(&session->pieces), exchanges = 0;
    unsigned spikes = show_spikes(session);

    for (unsigned i = session->warm_up; i < session->frames; i++)
        exchanges += read_count(&session->counts[i].exchanges);
    printf("%u frames of %u jobs on %u threads, after %u to warm up: %u held up, %" PRIu64
           " traps, %" PRIu64 " exchanges with the depot\n", session->frames - session->warm_up,
           1 + GROUPS + GROUPS * PIECES, figures->threads, session->warm_up, spikes,
           read_count(&trapped), exchanges);
    if (pieces != (uint64_t)session->frames * GROUPS * PIECES ||
        allocator_live(&session->nodes) != 0 || (!session->cold && figures->inlined != 0)) {
        fprintf(stderr, "frames: %" PRIu64 " pieces were run, %" PRIu64 " jobs in place, and %zu "
                        "nodes are live\n", pieces, figures->inlined,
                allocator_live(&session->nodes));
        return 3;
    }
    /* Every frame that was held up was trapped in the act, and no other. */
    if ((spikes == 0) != (read_count(&trapped) == 0)) {
        fputs("frames: the traps do not agree with the counts\n", stderr);
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
                                  .enter = enter, .leave = leave, .context = &session};
    struct scheduler_figures figures;
    int status = 3;

    if (!parse(&session, argc, argv)) {
        fputs("usage: frames [--cold] [THREADS [FRAMES]]\n", stderr);
        return 2;
    }
    plan.threads = session.threads;
    session.counts = calloc(session.frames, sizeof *session.counts);
    cpool_set_error_handler(on_error, NULL);
    if (session.counts != NULL && make_pool(&session) && scheduler_run(&plan, &figures) == 0)
        status = judge(&session, &figures);
    else
        fputs("frames: out of memory or threads\n", stderr);
    allocator_fini(&session.nodes);
    free(session.counts);
    return status;
}
