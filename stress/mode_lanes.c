/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_lanes.c - a simulation in lockstep with a lane for each logical thread, which one thread
 * then repeats alone.
 *
 * Includes worker.h.  Threads go through ticks together.  In each tick they divide the lanes among
 * themselves in a different way.  The calls on a lane depend only on the seed, the lane and the
 * tick: allocs, and frees of the lane's own slots and of slots that another lane had at the end of
 * the last tick.  After some ticks the lanes are balanced.  Each lane keeps a hash of the indices
 * that it got.  The main thread takes a second pool through the same ticks, and every hash must be
 * the same.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "worker.h"

#include <cpool/lanes.h>
#include <stdlib.h>
#include <string.h>

#define LANES_MAX 24
#define LANES_HELD 200
#define LANES_CALLS 2000

/* Slots that all threads free at once at the end. */
#define LANES_CONTESTED 64

/* A lane's part of the simulation. */
struct lanes_part {
    size_t lane;
    struct stamp_owner owner;
    void *held[2][LANES_HELD]; /* in even and odd ticks; one half is passed on */
    size_t count[2];
    uint64_t hash; /* of the indices handed out, in order */
    uint64_t operations;
};

struct lanes {
    cpool_lanes_t *lanes;
    struct stamp_book book;
    uint64_t seed;
    size_t capacity;
    size_t count;
    size_t tick;
    bool over;           /* changed between the steps, as the tick is */
    struct barrier step; /* of the crew */
    struct lanes_part parts[LANES_MAX];
    void *contested[LANES_CONTESTED];
    size_t contested_count;
    _Atomic size_t freed;   /* of them, successfully */
    _Atomic size_t refused; /* of them */
};

static void lanes_take(struct lanes *lanes, struct lanes_part *part, unsigned now)
{
    void *slot = cpool_lane_alloc(lanes->lanes, part->lane);
    size_t index = SIZE_MAX;

    if (slot != NULL) {
        stamp_take(&lanes->book, &part->owner, slot);
        index = cpool_index(lanes->book.pool, slot);
        part->held[now][part->count[now]++] = slot;
        part->operations++;
    }
    part->hash = random_mix(part->hash + index);
}

static void lanes_give(struct lanes *lanes, struct lanes_part *part, void *slot)
{
    part->operations++;
    stamp_give(&lanes->book, &part->owner, slot);
    cpool_lane_free(lanes->lanes, part->lane, slot);
}

/* The slots that the neighbour had in the last tick now belong to this lane. */
static void lanes_inherit(struct lanes *lanes, size_t number, uint64_t *random, unsigned now)
{
    struct lanes_part *part = &lanes->parts[number];
    struct lanes_part *from = &lanes->parts[(number + 1) % lanes->count];

    while (from->count[1 - now] > 0) {
        void *slot = from->held[1 - now][--from->count[1 - now]];

        stamp_adopt(&lanes->book, &part->owner, slot);
        if (part->count[now] < LANES_HELD / 2 && random_once_in(random, 2))
            part->held[now][part->count[now]++] = slot;
        else
            lanes_give(lanes, part, slot);
    }
}

/* One lane's part of one tick.  Any thread. */
static void lanes_work(struct lanes *lanes, size_t number)
{
    struct lanes_part *part = &lanes->parts[number];
    unsigned now = lanes->tick % 2;
    uint64_t random = random_derive(lanes->seed + lanes->tick, number);
    size_t calls = random_below(&random, LANES_CALLS);

    lanes_inherit(lanes, number, &random, now);
    while (calls-- > 0) {
        size_t *count = &part->count[now];

        if (*count < LANES_HELD && (*count == 0 || random_below(&random, 5) < 3)) {
            lanes_take(lanes, part, now);
        } else {
            size_t i = random_below(&random, *count);
            void *slot = part->held[now][i];

            part->held[now][i] = part->held[now][--*count];
            lanes_give(lanes, part, slot);
        }
    }
}

/* Called between two ticks by one thread.  Each slot must be live or free. */
static void lanes_turn(struct lanes *lanes, bool over)
{
    uint64_t random = random_derive(lanes->seed, lanes->tick);

    if (random_once_in(&random, 3))
        STRESS_REQUIRE(cpool_lanes_balance(lanes->lanes) + stamp_count_live(&lanes->book) ==
                       lanes->capacity);
    lanes->tick++;
    lanes->over = over;
}

/* ---- A slot that several lanes free at once ------------------------------------ */

static void lanes_prepare_contest(struct lanes *lanes)
{
    struct lanes_part *part = &lanes->parts[0];
    void *slot;

    while (lanes->contested_count < LANES_CONTESTED &&
           (slot = cpool_lane_alloc(lanes->lanes, part->lane)) != NULL)
        lanes->contested[lanes->contested_count++] = slot;
}

/* Of the lanes that free one slot, one succeeds.  The others are refused with a report. */
static void lanes_contest(struct lanes *lanes, size_t number)
{
    for (size_t i = 0; i < lanes->contested_count; i++) {
        bool refused;

        report_expect(CPOOL_EDOUBLEFREE);
        cpool_lane_free(lanes->lanes, number, lanes->contested[i]);
        refused = report_expected_came();
        lanes->freed += !refused;
        lanes->refused += refused;
    }
}

static void lanes_body(struct worker *worker)
{
    struct lanes *lanes = worker->context;
    struct barrier_seat seat = {0};
    unsigned threads = worker->episode->threads;

    while (!lanes->over) {
        size_t first = (worker->index + lanes->tick) % threads;

        for (size_t i = first; i < lanes->count; i += threads)
            lanes_work(lanes, i);
        barrier_wait(&lanes->step, &seat);
        if (worker->index == 0)
            lanes_turn(lanes, episode_over(worker->episode));
        barrier_wait(&lanes->step, &seat);
    }
    if (worker->index == 0)
        lanes_prepare_contest(lanes);
    barrier_wait(&lanes->step, &seat);
    if (worker->index < lanes->count)
        lanes_contest(lanes, worker->index);
}

/* ---- The episode --------------------------------------------------------------- */

static void lanes_open(struct lanes *lanes, const cpool_config_t *slots, size_t count,
                       uint64_t seed)
{
    cpool_lanes_config_t config = CPOOL_LANES_CONFIG_INIT;
    cpool_t *pool;
    int code;

    config.slots = slots;
    config.lanes = count;
    code = cpool_lanes_create(&lanes->lanes, &config);
    if (code != 0)
        stress_fail("cpool_lanes_create: %s", cpool_strerror(code));
    pool = cpool_lanes_pool(lanes->lanes);
    stamp_book_init(&lanes->book, pool, cpool_index_limit(pool), slots->slot_size);
    lanes->seed = seed;
    lanes->capacity = slots->capacity;
    lanes->count = count;
    for (size_t i = 0; i < count; i++) {
        lanes->parts[i].lane = i;
        lanes->parts[i].owner.number = (unsigned)i + 1;
    }
    STRESS_REQUIRE(cpool_lane_alloc(lanes->lanes, count) == NULL);
}

static void lanes_close(struct lanes *lanes)
{
    size_t live = stamp_count_live(&lanes->book);

    stamp_book_fini(&lanes->book);
    STRESS_REQUIRE(cpool_lanes_destroy(lanes->lanes) == (live > 0 ? CPOOL_ELIVE : 0));
}

/* Repeats the ticks, one lane after the other. */
static void lanes_replay(const struct lanes *lanes, const cpool_config_t *config)
{
    struct lanes *again = calloc(1, sizeof *again);

    STRESS_REQUIRE(again != NULL);
    lanes_open(again, config, lanes->count, lanes->seed);
    while (again->tick < lanes->tick) {
        for (size_t i = again->count; i-- > 0;)
            lanes_work(again, i);
        lanes_turn(again, false);
    }
    for (size_t i = 0; i < lanes->count; i++)
        if (lanes->parts[i].hash != again->parts[i].hash)
            stress_fail("lane %zu of %zu got other slots in the replay of %zu ticks", i,
                        lanes->count, lanes->tick);
    lanes_close(again);
    free(again);
}

static void lanes_run(struct episode *episode)
{
    uint64_t *random = &episode->random;
    cpool_config_t config = arena_draw(random, random_once_in(random, 2) ? ARENA_ROOMY
                                                                         : ARENA_TIGHT);
    size_t most = config.capacity < LANES_MAX ? config.capacity : LANES_MAX;
    struct lanes *lanes = calloc(1, sizeof *lanes);
    size_t counted;

    STRESS_REQUIRE(lanes != NULL);
    config.magazine_rounds = 0;
    lanes_open(lanes, &config, random_between(random, 1, most), random_next(random));
    STRESS_REQUIRE(barrier_init(&lanes->step, episode->threads));
    crew_run(episode, lanes_body, lanes, NULL);
    barrier_fini(&lanes->step);
    counted = lanes->count < episode->threads ? lanes->count : episode->threads;
    STRESS_REQUIRE(lanes->freed == lanes->contested_count);
    STRESS_REQUIRE(lanes->refused == (counted - 1) * lanes->contested_count);
    STRESS_REQUIRE(cpool_lanes_balance(lanes->lanes) + stamp_count_live(&lanes->book) ==
                   lanes->capacity);
    lanes_replay(lanes, &config);
    for (size_t i = 0; i < lanes->count; i++)
        episode->tally->operations += lanes->parts[i].operations;
    lanes_close(lanes);
    free(lanes);
}

const struct mode mode_lanes = {
    .name = "lanes",
    .purpose = "lanes in lockstep, and the same slots once more by one thread",
    .run = lanes_run,
};
