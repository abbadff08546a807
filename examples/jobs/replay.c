/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay.c - see replay.h.
 *
 * A thread that comes to the free of a node that another one has not allocated yet waits
 * for it, and that time is not counted.  It cannot wait forever: the order in which the
 * run made its calls is one in which the replay can make them.
 *
 * Time is the threads' processor time, so that it does not matter whether other programs
 * run beside.
 *
 * ORDERING TABLE
 *   number | nodes and joined fetch_add, overflow | relaxed | -    | read after the join of
 *                                                                    the threads
 *   made   | a node's address stored by its alloc | release | look | what the allocator
 *                                                                    wrote to it
 *   look   | the address loaded by its free       | acquire | made | -
 *   again  | the address cleared by its free      | relaxed | -    | the barrier publishes
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "replay.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Recording ------------------------------------------------------------------- */

static _Thread_local struct record *own_record;

static void write_down(struct recorder *recorder, uint32_t event)
{
    if (own_record == NULL || own_record->count == recorder->room)
        atomic_store_explicit(&recorder->overflow, true, memory_order_relaxed); /* [number] */
    else
        own_record->events[own_record->count++] = event;
}

static uint32_t *number_of(const struct recorded *self, void *node)
{
    return (uint32_t *)(void *)((char *)node + self->number);
}

static void *recorded_alloc(struct allocator *allocator)
{
    struct recorded *self = (struct recorded *)(void *)allocator;
    void *node = self->inner->alloc(self->inner);
    uint32_t number;

    if (node == NULL)
        return NULL;
    number = atomic_fetch_add_explicit(&self->recorder->nodes, 1, /* [number] */
                                       memory_order_relaxed);
    *number_of(self, node) = number;
    write_down(self->recorder, number << 2 | self->kind << 1);
    return node;
}

static void recorded_free(struct allocator *allocator, void *node)
{
    struct recorded *self = (struct recorded *)(void *)allocator;

    write_down(self->recorder, *number_of(self, node) << 2 | self->kind << 1 | 1);
    self->inner->free(self->inner, node);
}

bool recorder_init(struct recorder *recorder, unsigned threads, size_t events,
                   struct allocator *const allocators[REPLAY_KINDS],
                   const size_t numbers[REPLAY_KINDS])
{
    memset(recorder, 0, sizeof *recorder);
    recorder->threads = threads;
    recorder->room = events;
    recorder->records = calloc(threads, sizeof *recorder->records);
    for (uint32_t kind = 0; kind < REPLAY_KINDS; kind++)
        recorder->kinds[kind] = (struct recorded){
            .outer = {.alloc = recorded_alloc,
                      .free = recorded_free,
                      .node_size = allocators[kind]->node_size},
            .inner = allocators[kind],
            .recorder = recorder,
            .number = numbers[kind],
            .kind = kind};
    for (unsigned i = 0; recorder->records != NULL && i < threads; i++) {
        recorder->records[i].events = malloc(events * sizeof *recorder->records[i].events);
        if (recorder->records[i].events == NULL)
            return false;
    }
    return recorder->records != NULL;
}

void recorder_fini(struct recorder *recorder)
{
    for (unsigned i = 0; recorder->records != NULL && i < recorder->threads; i++)
        free(recorder->records[i].events);
    free(recorder->records);
}

void recorder_join(struct recorder *recorder)
{
    unsigned own = atomic_fetch_add_explicit(&recorder->joined, 1, /* [number] */
                                             memory_order_relaxed);

    own_record = own < recorder->threads ? &recorder->records[own] : NULL;
}

/* ---- Replay ---------------------------------------------------------------------- */

struct replay {
    const struct recorder *recorder;
    struct allocator *allocators[REPLAY_KINDS];
    _Atomic(void *) *nodes; /* by number, NULL where not allocated */
    unsigned repeat;
    pthread_barrier_t barrier;
    double *seconds; /* of each repetition and thread */
};

struct player {
    struct replay *replay;
    unsigned index;
    pthread_t thread;
};

static double processor_time(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The node with this number, and in *waited the time until another thread had it. */
static void *await(_Atomic(void *) *place, double *waited)
{
    void *node = atomic_load_explicit(place, memory_order_acquire); /* [look] */
    double begin;

    if (node != NULL)
        return node;
    begin = processor_time();
    while ((node = atomic_load_explicit(place, memory_order_acquire)) == NULL) /* [look] */
        sched_yield();
    *waited += processor_time() - begin;
    return node;
}

static double play(struct replay *replay, const struct record *record)
{
    double waited = 0;
    double begin = processor_time();

    for (size_t i = 0; i < record->count; i++) {
        uint32_t event = record->events[i];
        struct allocator *allocator = replay->allocators[event >> 1 & 1];
        _Atomic(void *) *place = &replay->nodes[event >> 2];

        if ((event & 1) == 0) {
            void *node = allocator->alloc(allocator);

            if (node == NULL) /* less than the run had: the allocator is at fault */
                abort();
            *(volatile uint32_t *)node = event;
            atomic_store_explicit(place, node, memory_order_release); /* [made] */
        } else {
            void *node = await(place, &waited);

            atomic_store_explicit(place, NULL, memory_order_relaxed); /* [again] */
            allocator->free(allocator, node);
        }
    }
    return processor_time() - begin - waited;
}

static void *player_main(void *argument)
{
    const struct player *self = argument;
    struct replay *replay = self->replay;
    unsigned threads = replay->recorder->threads;

    for (unsigned i = 0; i < replay->repeat; i++) {
        pthread_barrier_wait(&replay->barrier);
        replay->seconds[(size_t)i * threads + self->index] =
            play(replay, &replay->recorder->records[self->index]);
    }
    return NULL;
}

/* Seconds of the fastest repetition, all threads' together, or a negative number. */
static double run_players(struct replay *replay)
{
    unsigned threads = replay->recorder->threads;
    struct player *players = calloc(threads, sizeof *players);
    double best = -1;

    replay->seconds = calloc((size_t)replay->repeat * threads, sizeof *replay->seconds);
    if (players == NULL || replay->seconds == NULL ||
        pthread_barrier_init(&replay->barrier, NULL, threads) != 0) {
        free(players);
        free(replay->seconds);
        return -1;
    }
    for (unsigned i = 0; i < threads; i++) {
        players[i] = (struct player){.replay = replay, .index = i};
        if (pthread_create(&players[i].thread, NULL, player_main, &players[i]) != 0)
            abort(); /* the run had as many, and these wait for each other */
    }
    for (unsigned i = 0; i < threads; i++)
        pthread_join(players[i].thread, NULL);
    for (unsigned i = 0; i < replay->repeat; i++) {
        double sum = 0;

        for (unsigned j = 0; j < threads; j++)
            sum += replay->seconds[(size_t)i * threads + j];
        if (best < 0 || sum < best)
            best = sum;
    }
    pthread_barrier_destroy(&replay->barrier);
    free(replay->seconds);
    free(players);
    return best;
}

static void *take_nothing(struct allocator *self)
{
    static _Thread_local uint64_t nothing;

    (void)self;
    return &nothing;
}

static void give_nothing(struct allocator *self, void *node)
{
    (void)self;
    (void)node;
}

bool recorder_replay(struct recorder *recorder, unsigned repeat, double *nanoseconds)
{
    struct allocator nothing = {.alloc = take_nothing, .free = give_nothing};
    uint32_t count = atomic_load_explicit(&recorder->nodes, memory_order_relaxed); /* [number] */
    struct replay replay = {.recorder = recorder, .repeat = repeat};
    double with, without;

    if (count == 0 ||
        atomic_load_explicit(&recorder->overflow, memory_order_relaxed)) /* [number] */
        return false;
    replay.nodes = calloc(count, sizeof *replay.nodes);
    if (replay.nodes == NULL)
        return false;
    for (unsigned kind = 0; kind < REPLAY_KINDS; kind++)
        replay.allocators[kind] = recorder->kinds[kind].inner;
    with = run_players(&replay);
    for (unsigned kind = 0; kind < REPLAY_KINDS; kind++)
        replay.allocators[kind] = &nothing;
    without = run_players(&replay);
    free(replay.nodes);
    *nanoseconds = (with - without) * 1e9 / count;
    return with >= 0 && without >= 0;
}
