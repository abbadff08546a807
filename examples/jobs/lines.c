/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lines.c - see lines.h.
 *
 * Frames follow each other, so what a frame's first job and its continuation use needs no
 * atomics: the scheduler's join orders it.  The sums of a piece belong to the job of that
 * piece, of which one runs at a time.
 *
 * ORDERING TABLE
 *   hand  | a result put in its list by compare-and-swap | release | take | the counts
 *   take  | the list's exchange by the next frame        | acquire | hand | -
 *   retry | the list's load, and a failed swap           | relaxed | -    | -
 *   dry   | dry store and load                           | relaxed | -    | a hint
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "lines.h"

#include <string.h>
#include <time.h>

/* A cache line of its own for each list and sum. */
#define APART 128

struct place {
    _Alignas(APART) _Atomic(struct line_result *) results[2]; /* of even and of odd frames */
    struct text_counts sum;                                   /* of the lists that were read */
};

struct lines {
    const struct lines_plan *plan;
    struct lines_outcome *outcome;
    unsigned frame; /* under way */
    bool last;      /* it has no lines, and only reads what the one before left */
    double begun;   /* when the first timed frame began */
    double stamp;   /* when the last one ended */
    struct text_counts expected;
    atomic_bool dry;
    struct place places[CORPUS_PIECES];
};

static struct line_job *line_job_of(struct job *job)
{
    return (struct line_job *)(void *)job;
}

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static size_t slice_of(const struct lines *lines)
{
    return lines->frame % lines->plan->corpus->slice_count;
}

static void no_continuation(struct worker *worker, struct job *job)
{
    (void)worker;
    (void)job;
}

/* ---- Lines ----------------------------------------------------------------------- */

static void hand_over(_Atomic(struct line_result *) *list, struct line_result *result)
{
    result->next = atomic_load_explicit(list, memory_order_relaxed); /* [retry] */
    while (!atomic_compare_exchange_weak_explicit(list, &result->next, result,
                                                  memory_order_release,  /* [hand] */
                                                  memory_order_relaxed)) /* [retry] */
        ;
}

static void line_body(struct worker *worker, struct job *job)
{
    struct line_job *self = line_job_of(job);
    struct lines *lines = self->lines;
    struct line_result *result = lines->plan->results->alloc(lines->plan->results);

    (void)worker;
    if (result == NULL) {
        atomic_store_explicit(&lines->dry, true, memory_order_relaxed); /* [dry] */
        return;
    }
    text_count(&result->counts, self->text, self->length);
    hand_over(&lines->places[self->piece].results[lines->frame & 1], result);
}

/* ---- Pieces ---------------------------------------------------------------------- */

/* Sums up and frees what this piece left in the frame before. */
static void read_results(const struct lines *lines, struct place *place)
{
    struct allocator *results = lines->plan->results;
    struct line_result *result = atomic_exchange_explicit(
        &place->results[(lines->frame & 1) ^ 1], NULL, memory_order_acquire); /* [take] */

    while (result != NULL) {
        struct line_result *next = result->next;

        text_add(&place->sum, &result->counts);
        results->free(results, result);
        result = next;
    }
}

static void submit_line(struct worker *worker, struct line_job *piece,
                        const unsigned char *text, size_t length)
{
    struct line_job spare;
    struct line_job *line = line_job_of(
        job_prepare(worker, &piece->job, &spare.job, line_body, no_continuation));

    line->lines = piece->lines;
    line->text = text;
    line->length = (uint32_t)length;
    line->piece = piece->piece;
    job_submit(worker, &line->job);
}

static void piece_body(struct worker *worker, struct job *job)
{
    struct line_job *self = line_job_of(job);
    struct lines *lines = self->lines;
    const struct corpus *corpus = lines->plan->corpus;
    size_t number = slice_of(lines) * CORPUS_PIECES + self->piece;
    const unsigned char *text, *end;

    read_results(lines, &lines->places[self->piece]);
    if (lines->last || number >= corpus->piece_count)
        return;
    text = corpus->text + corpus->pieces[number];
    end = corpus->text + corpus->pieces[number + 1];
    while (text < end) {
        const unsigned char *stop = memchr(text, '\n', (size_t)(end - text));

        submit_line(worker, self, text, (size_t)(stop - text) + 1);
        text = stop + 1;
    }
}

/* ---- Frames ---------------------------------------------------------------------- */

static void frame_body(struct worker *worker, struct job *job)
{
    struct line_job *self = line_job_of(job);

    for (uint32_t i = 0; i < CORPUS_PIECES; i++) {
        struct line_job spare;
        struct line_job *piece =
            line_job_of(job_prepare(worker, job, &spare.job, piece_body, no_continuation));

        piece->lines = self->lines;
        piece->piece = i;
        job_submit(worker, &piece->job);
    }
}

static void frame_continuation(struct worker *worker, struct job *job);

static void submit_frame(struct worker *worker, struct job *parent, struct lines *lines)
{
    struct line_job spare;
    struct line_job *frame =
        line_job_of(job_prepare(worker, parent, &spare.job, frame_body, frame_continuation));

    frame->lines = lines;
    job_submit(worker, &frame->job);
}

/* Notes the time of a frame that is over, and whether it was one too many. */
static void end_frame(struct lines *lines)
{
    const struct lines_plan *plan = lines->plan;
    struct lines_outcome *outcome = lines->outcome;
    double now = seconds_now();

    text_add(&lines->expected, &plan->corpus->counts[slice_of(lines)]);
    if (lines->frame >= plan->warm_up) {
        outcome->milliseconds[outcome->frames++] = (now - lines->stamp) * 1e3;
        outcome->jobs += 1 + CORPUS_PIECES + corpus_lines(plan->corpus, slice_of(lines));
        outcome->seconds += now - lines->stamp;
        if (outcome->frames == 1)
            lines->begun = lines->stamp;
        lines->last = outcome->frames == plan->frames || now - lines->begun > plan->seconds;
    }
    lines->stamp = now;
    lines->frame++;
}

/* The run's job is the parent, and outlives making the next frame. */
static void frame_continuation(struct worker *worker, struct job *job)
{
    struct lines *lines = line_job_of(job)->lines;

    if (lines->last)
        return;
    end_frame(lines);
    submit_frame(worker, job->parent, lines);
}

static void run_body(struct worker *worker, struct job *job)
{
    struct lines *lines = line_job_of(job)->lines;

    lines->stamp = seconds_now();
    submit_frame(worker, job, lines);
}

static void start(struct worker *worker, void *context)
{
    struct line_job spare;
    struct line_job *run =
        line_job_of(job_prepare(worker, NULL, &spare.job, run_body, no_continuation));

    run->lines = context;
    job_submit(worker, &run->job);
}

static void enter(struct worker *worker, void *context)
{
    const struct lines *lines = context;

    (void)worker;
    if (lines->plan->recorder != NULL)
        recorder_join(lines->plan->recorder);
}

static bool is_right(const struct lines *lines)
{
    struct text_counts sum = {0};

    for (unsigned i = 0; i < CORPUS_PIECES; i++)
        text_add(&sum, &lines->places[i].sum);
    return sum.lines == lines->expected.lines && sum.bytes == lines->expected.bytes &&
           memcmp(sum.words, lines->expected.words, sizeof sum.words) == 0;
}

int lines_run(const struct lines_plan *plan, struct lines_outcome *outcome)
{
    double *milliseconds = outcome->milliseconds;
    struct lines lines = {.plan = plan, .outcome = outcome};
    struct scheduler_plan work = {.threads = plan->threads,
                                  .jobs = plan->jobs,
                                  .scratch_size = 1,
                                  .start = start,
                                  .enter = enter,
                                  .context = &lines};
    struct scheduler_figures figures = {0};
    int error;

    *outcome = (struct lines_outcome){.milliseconds = milliseconds};
    error = scheduler_run(&work, &figures);
    outcome->inlined = figures.inlined;
    outcome->right = error == 0 && is_right(&lines);
    outcome->dry = atomic_load_explicit(&lines.dry, memory_order_relaxed); /* [dry] */
    return error;
}
