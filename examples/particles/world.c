/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * world.c - see world.h and particles.c.
 *
 * ORDERING TABLE
 *   put  | a list's compare-and-swap | release | take | the events of a job
 *   take | a list's exchange         | acquire | put  | -
 *   sum  | counts fetch_add, and a list's load before the swap | relaxed | - | read after
 *                                                                             the join
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "world.h"

#include <stdio.h>
#include <string.h>

#include <cpool/pools.h>
#include <cpool/track.h>

#define GRAVITY 0.12f     /* pixels, per frame and frame */
#define SPARKS 400u       /* of a rocket */
#define ROCKET_FRAMES 4u  /* from one rocket to the next */
#define RANGE ((size_t)1024) /* slots that one job visits */

CPOOL_DEFINE(rockets, struct rocket, .name = "rockets", .capacity = 4096, .flags = CPOOL_TRACKED);
CPOOL_DEFINE(sparks, struct spark, .name = "sparks", .capacity = 1 << 18, .flags = CPOOL_TRACKED);

static struct particle_job *particle_job_of(struct job *job)
{
    return (struct particle_job *)(void *)job;
}

static void add(_Atomic uint64_t *sum, uint64_t more)
{
    atomic_fetch_add_explicit(sum, more, memory_order_relaxed); /* [sum] */
}

uint64_t world_sum(_Atomic uint64_t *sum)
{
    return atomic_load_explicit(sum, memory_order_relaxed); /* [sum] */
}

static void fail(struct world *world, const char *text)
{
    if (atomic_fetch_add_explicit(&world->failed, 1, memory_order_relaxed) == 0) /* [sum] */
        fprintf(stderr, "particles: %s\n", text);
}

static struct particle_job *prepare(struct worker *worker, struct job *parent,
                                    struct particle_job *room, struct world *world,
                                    job_function *body, job_function *continuation)
{
    struct particle_job *job =
        particle_job_of(job_prepare(worker, parent, &room->job, body, continuation));

    job->world = world;
    return job;
}

static void no_continuation(struct worker *worker, struct job *job)
{
    (void)worker;
    (void)job;
}

/* ---- Particles ------------------------------------------------------------------- */

/* The next number of a sequence, from 0 up to 1 (G. Marsaglia, "Xorshift RNGs", 2003). */
static float draw_number(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return (float)(*seed >> 8) * (1.0f / 16777216.0f);
}

static void launch(struct world *world)
{
    struct rocket *rocket = rockets_alloc();
    uint32_t seed = (world->launched + 1) * 2654435761u;

    if (rocket == NULL) {
        fail(world, "no slot for a rocket");
        return;
    }
    rocket->number = world->launched++;
    rocket->body = (struct body){.x = PICTURE_WIDTH * (0.15f + 0.7f * draw_number(&seed)),
                                 .y = PICTURE_HEIGHT - 1,
                                 .vx = draw_number(&seed) - 0.5f,
                                 .vy = -5.5f - 2 * draw_number(&seed),
                                 .colour = {255, 220, 160}};
    rocket->body.life = rocket->body.full = (int)(-rocket->body.vy / GRAVITY * 0.9f);
    rocket->body.seed = seed;
    add(&world->born, 1);
}

/* One spark of a burst.  Its colour is that of all. */
static void ignite(struct world *world, const struct event *burst, uint32_t *seed)
{
    struct spark *spark = sparks_alloc();
    float dx, dy;

    if (spark == NULL) {
        fail(world, "no slot for a spark");
        return;
    }
    do {
        dx = 2 * draw_number(seed) - 1;
        dy = 2 * draw_number(seed) - 1;
    } while (dx * dx + dy * dy > 1);
    spark->body = (struct body){.x = burst->x, .y = burst->y, .vx = 3 * dx, .vy = 3 * dy - 0.5f};
    spark->body.life = spark->body.full = 25 + (int)(45 * draw_number(seed));
    memcpy(spark->body.colour, burst->colour, sizeof spark->body.colour);
    add(&world->born, 1);
}

/* Light of a body, never 0 as long as it lives. */
static void light_of(const struct body *body, uint8_t colour[3])
{
    for (int i = 0; i < 3; i++)
        colour[i] = (uint8_t)(1 + (body->colour[i] - 1) * body->life / body->full);
}

/* A dot has five pixels. */
static void light(struct picture *picture, float x, float y, const uint8_t colour[3])
{
    static const int places[5][2] = {{0, 0}, {1, 0}, {-1, 0}, {0, 1}, {0, -1}};

    for (int i = 0; i < 5; i++)
        picture_light(picture, (int)x + places[i][0], (int)y + places[i][1], colour);
}

/* ---- Events of a frame ------------------------------------------------------------ */

static struct event *make_event(struct world *world, const struct body *body)
{
    struct event *event = cpool_alloc(world->events);

    if (event == NULL) {
        fail(world, "no slot for an event");
        return NULL;
    }
    *event = (struct event){.x = body->x, .y = body->y, .seed = body->seed};
    return event;
}

/* Puts a chain of events, from first to last, into a list. */
static void put(event_list *list, struct event *first, struct event *last)
{
    last->next = atomic_load_explicit(list, memory_order_relaxed); /* [sum] */
    while (!atomic_compare_exchange_weak_explicit(list, &last->next, first,
                                                  memory_order_release,  /* [put] */
                                                  memory_order_relaxed)) /* [sum] */
        ;
}

static struct event *take(event_list *list)
{
    return atomic_exchange_explicit(list, NULL, memory_order_acquire); /* [take] */
}

/* ---- Update: a range of live slots -------------------------------------------------- */

static void burst(struct world *world, const struct body *body)
{
    struct event *event = make_event(world, body);
    uint32_t seed = body->seed;

    if (event == NULL)
        return;
    for (int i = 0; i < 3; i++)
        event->colour[i] = (uint8_t)(60 + 195 * draw_number(&seed));
    event->seed = seed;
    put(&world->bursts, event, event);
}

/* Moves a body, and returns its dot, or NULL when it has burnt out.  It gives itself back
 * then, to its own pool, whichever that is. */
static struct event *step(struct world *world, struct body *body)
{
    struct event *dot;

    body->x += body->vx;
    body->y += body->vy;
    body->vy += GRAVITY;
    if (--body->life == 0) {
        if (body->seed != 0)
            burst(world, body);
        cpool_release(body);
        add(&world->gone, 1);
        return NULL;
    }
    dot = make_event(world, body);
    if (dot != NULL)
        light_of(body, dot->colour);
    return dot;
}

static void update_body(struct worker *worker, struct job *job)
{
    struct particle_job *self = particle_job_of(job);
    struct event *first = NULL, *last = NULL;
    cpool_iter_t iter = CPOOL_ITER_INIT(self->pool, self->first, self->end);
    struct body *body;

    (void)worker;
    while ((body = cpool_iter_next(&iter)) != NULL) {
        struct event *dot = step(self->world, body);

        if (dot == NULL)
            continue;
        dot->next = first;
        first = dot;
        if (last == NULL)
            last = dot;
    }
    if (first != NULL)
        put(&self->world->dots, first, last);
}

/* A job for each range of the slots that were ever handed out. */
static void submit_ranges(struct worker *worker, struct job *parent, struct world *world,
                          cpool_t *pool)
{
    cpool_stats_t stats = CPOOL_STATS_INIT;

    if (cpool_read_stats(pool, &stats) != 0)
        return;
    for (size_t first = 0; first < stats.circulating; first += RANGE) {
        struct particle_job room;
        struct particle_job *job =
            prepare(worker, parent, &room, world, update_body, no_continuation);

        job->pool = pool;
        job->first = first;
        job->end = first + RANGE;
        job_submit(worker, &job->job);
    }
}

/* ---- Drawing ------------------------------------------------------------------------ */

static void write_picture(struct world *world, const struct particle_job *self)
{
    char path[4096];

    picture_clear(&world->picture);
    for (const struct event *dot = self->events; dot != NULL; dot = dot->next)
        light(&world->picture, dot->x, dot->y, dot->colour);
    if (picture_lit(&world->picture) != self->lit)
        fail(world, "the dots light other pixels than the particles");
    if (world->output == NULL)
        return;
    if (snprintf(path, sizeof path, "%s/frame-%04u.png", world->output, self->frame) >=
            (int)sizeof path || !picture_write(&world->picture, path))
        fail(world, "no picture");
    else
        world->pictures++;
}

static void free_dots(struct world *world, struct event *dots)
{
    void *slots[256];
    size_t n = 0;

    while (dots != NULL) {
        slots[n++] = dots;
        dots = dots->next;
        if (n == sizeof slots / sizeof slots[0] || dots == NULL) {
            cpool_free_bulk(world->events, slots, n);
            add(&world->returned, n);
            n = 0;
        }
    }
}

/* Draws a frame that is over. */
static void draw_body(struct worker *worker, struct job *job)
{
    struct particle_job *self = particle_job_of(job);

    (void)worker;
    if (self->frame % self->world->every == 0)
        write_picture(self->world, self);
    free_dots(self->world, self->events);
}

/* ---- Frames ------------------------------------------------------------------------- */

/* Notes the pixels of a particle: not by the functions that draw, which are held to it. */
static void see(struct world *world, const struct body *body)
{
    for (int y = (int)body->y - 1; y <= (int)body->y + 1; y++)
        for (int x = (int)body->x - 1; x <= (int)body->x + 1; x++)
            if (y >= 0 && y < PICTURE_HEIGHT && x >= 0 && x < PICTURE_WIDTH &&
                (x == (int)body->x || y == (int)body->y) && !world->covered[y][x]) {
                world->covered[y][x] = true;
                world->lit++;
            }
}

/* Counts the particles of a pool, and sees them where `sees`. */
static size_t count_particles(struct world *world, cpool_t *pool, bool sees)
{
    cpool_iter_t iter = CPOOL_ITER_INIT(pool, 0, SIZE_MAX);
    const struct body *body;
    size_t count = 0;

    for (; (body = cpool_iter_next(&iter)) != NULL; count++)
        if (sees)
            see(world, body);
    return count;
}

/* Holds the frame's dots against the live slots, and looks at these if it is drawn. */
static void judge_frame(struct world *world, const struct event *dots)
{
    bool sees = world->frame % world->every == 0;
    size_t flying, glowing;
    size_t count = 0;

    if (sees)
        memset(world->covered, 0, sizeof world->covered);
    world->lit = 0;
    flying = count_particles(world, rockets_pool(), sees);
    glowing = count_particles(world, sparks_pool(), sees);
    for (const struct event *dot = dots; dot != NULL; dot = dot->next)
        count++;
    add(&world->drawn, count);
    if (count != flying + glowing)
        fail(world, "other dots than particles");
    if (sees)
        printf("frame %u: %zu rockets, %zu sparks, %zu pixels lit\n", world->frame, flying,
               glowing, world->lit);
}

static void frame_body(struct worker *worker, struct job *job)
{
    struct particle_job *self = particle_job_of(job);
    struct world *world = self->world;

    if (self->frame > 0) {
        struct particle_job room;
        struct particle_job *draw =
            prepare(worker, job, &room, world, draw_body, no_continuation);

        draw->events = self->events;
        draw->lit = self->lit;
        draw->frame = self->frame - 1;
        job_submit(worker, &draw->job);
    }
    if (self->frame == world->frames)
        return;
    submit_ranges(worker, job, world, rockets_pool());
    submit_ranges(worker, job, world, sparks_pool());
}

static void burst_body(struct worker *worker, struct job *job)
{
    struct particle_job *self = particle_job_of(job);
    uint32_t seed = self->events->seed;

    (void)worker;
    for (unsigned i = 0; i < SPARKS; i++)
        ignite(self->world, self->events, &seed);
    cpool_free(self->world->events, self->events);
    add(&self->world->returned, 1);
}

static void births_body(struct worker *worker, struct job *job)
{
    struct world *world = particle_job_of(job)->world;
    struct event *next;

    for (struct event *event = take(&world->bursts); event != NULL; event = next) {
        struct particle_job room;
        struct particle_job *birth =
            prepare(worker, job, &room, world, burst_body, no_continuation);

        next = event->next;
        birth->events = event;
        job_submit(worker, &birth->job);
    }
    if (world->frame % ROCKET_FRAMES == 0)
        launch(world);
}

static void frame_continuation(struct worker *worker, struct job *job);

/* Begins a frame, while the frame before is drawn. */
static void submit_frame(struct worker *worker, struct job *parent, struct world *world,
                         struct event *dots)
{
    struct particle_job room;
    struct particle_job *frame =
        prepare(worker, parent, &room, world, frame_body, frame_continuation);

    frame->frame = world->frame;
    frame->events = dots;
    frame->lit = world->lit;
    job_submit(worker, &frame->job);
}

static void births_continuation(struct worker *worker, struct job *job)
{
    struct particle_job *self = particle_job_of(job);

    self->world->frame++;
    submit_frame(worker, job->parent, self->world, self->events);
}

/* All of the frame has been visited: now others may be born. */
static void frame_continuation(struct worker *worker, struct job *job)
{
    struct world *world = particle_job_of(job)->world;
    struct particle_job room;
    struct particle_job *births;

    if (world->frame == world->frames)
        return;
    births = prepare(worker, job->parent, &room, world, births_body, births_continuation);
    births->events = take(&world->dots);
    judge_frame(world, births->events);
    job_submit(worker, &births->job);
}

static void run_body(struct worker *worker, struct job *job)
{
    submit_frame(worker, job, particle_job_of(job)->world, NULL);
}

void world_start(struct worker *worker, void *context)
{
    struct particle_job room;

    job_submit(worker, &prepare(worker, NULL, &room, context, run_body, no_continuation)->job);
}
