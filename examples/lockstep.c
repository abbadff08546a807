/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lockstep.c - two players, one simulation on each machine, and a way back.
 *
 * Machines in lockstep exchange inputs and nothing else, so each has to come to the same
 * result.  Slots are a part of that: units move in order of index.  Lanes give the
 * same slots in every run.
 *
 * The other player's inputs come LATE frames late.  Meanwhile the machine guesses them, and
 * when a guess was wrong it goes back to the state before that frame, and simulates again.  A
 * third machine joins in the middle with the state of another one.
 *
 * A player that loses units has fewer slots for new ones.  From time to time all machines deal
 * the free slots out again, in the same frame.
 *
 *     cc lockstep.c $(pkg-config --cflags --libs cpool)
 */
#include <cpool/lanes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAYERS 2
#define UNITS 40
#define FRAMES 120
#define LATE 5
#define JOIN 60
#define BALANCE 16 /* frames from one to the next */

struct unit {
    uint32_t player, place, strength;
};

/* The program's own part of a state. */
struct field {
    struct unit units[UNITS]; /* by the index of their slots */
    unsigned char alive[UNITS];
};

struct world {
    cpool_lanes_t *lanes;
    unsigned char alive[UNITS];
};

struct state {
    struct field field;
    unsigned char lanes[CPOOL_LANES_STATE_SIZE(UNITS, PLAYERS)];
};

/* The inputs that the players will give, one a frame. */
static uint32_t input_of(uint32_t player, uint32_t frame)
{
    uint32_t held = frame / (3 + player); /* keys are held for some frames */

    return (held * 2654435761u + player * 40503u) >> 28;
}

static struct unit *unit_at(const struct world *world, size_t index)
{
    return cpool_at(cpool_lanes_pool(world->lanes), index);
}

static int begin(struct world *world)
{
    cpool_config_t units = CPOOL_CONFIG_INIT;
    cpool_lanes_config_t config = CPOOL_LANES_CONFIG_INIT;

    memset(world, 0, sizeof *world);
    units.name = "units";
    units.slot_size = sizeof(struct unit);
    units.capacity = UNITS;
    config.slots = &units;
    config.lanes = PLAYERS;
    return cpool_lanes_create(&world->lanes, &config);
}

static void end(struct world *world)
{
    (void)cpool_lanes_destroy(world->lanes); /* units are alive: CPOOL_ELIVE */
}

static void spawn(struct world *world, uint32_t player, uint32_t input)
{
    struct unit *unit = cpool_lane_alloc(world->lanes, player);

    if (unit == NULL)
        return; /* the player has as many units as slots */
    *unit = (struct unit){ player, player * 1000u, 8u + input };
    world->alive[cpool_index(cpool_lanes_pool(world->lanes), unit)] = 1;
}

/* In order of index, so it matters which slot a unit has. */
static void move(struct world *world, size_t index, const uint32_t *inputs)
{
    struct unit *unit = unit_at(world, index);
    uint32_t other = PLAYERS - 1 - unit->player;

    unit->place += unit->player == 0 ? inputs[0] : 0u - inputs[1];
    unit->strength -= (inputs[other] & 1u) + 1u;
    if (unit->strength <= 2) { /* the slot goes to the player that wins */
        world->alive[index] = 0;
        cpool_lane_free(world->lanes, other, unit);
    }
}

static void step(struct world *world, uint32_t frame, const uint32_t *inputs)
{
    if (frame % BALANCE == 0)
        (void)cpool_lanes_balance(world->lanes);
    for (uint32_t player = 0; player < PLAYERS; player++)
        for (uint32_t i = inputs[player] % 4; i > 0; i--)
            spawn(world, player, inputs[player]);
    for (size_t index = 0; index < UNITS; index++)
        if (world->alive[index])
            move(world, index, inputs);
}

static uint32_t sum_of(const struct world *world)
{
    uint32_t sum = 2166136261u;

    for (uint32_t index = 0; index < UNITS; index++)
        if (world->alive[index]) {
            const struct unit *unit = unit_at(world, index);

            sum = (sum ^ index) * 16777619u;
            sum = (sum ^ unit->player) * 16777619u;
            sum = (sum ^ unit->place) * 16777619u;
            sum = (sum ^ unit->strength) * 16777619u;
        }
    return sum;
}

static int save(const struct world *world, struct state *state)
{
    memset(&state->field, 0, sizeof state->field);
    memcpy(state->field.alive, world->alive, sizeof world->alive);
    for (size_t index = 0; index < UNITS; index++)
        if (world->alive[index])
            state->field.units[index] = *unit_at(world, index);
    return cpool_lanes_save(world->lanes, state->lanes, sizeof state->lanes);
}

static int load(struct world *world, const struct state *state)
{
    int error = cpool_lanes_load(world->lanes, state->lanes, sizeof state->lanes);

    if (error != 0)
        return error;
    memcpy(world->alive, state->field.alive, sizeof world->alive);
    for (size_t index = 0; index < UNITS; index++)
        if (world->alive[index])
            *unit_at(world, index) = state->field.units[index];
    return 0;
}

static void require(int error)
{
    if (error != 0) {
        fprintf(stderr, "lockstep: %s\n", cpool_strerror(error));
        exit(1);
    }
}

/* Where both inputs are known at once.  Keeps the state before the frame JOIN. */
static void play_on_time(uint32_t *sums, struct state *joined)
{
    struct world world;

    require(begin(&world));
    for (uint32_t frame = 0; frame < FRAMES; frame++) {
        const uint32_t inputs[PLAYERS] = { input_of(0, frame), input_of(1, frame) };

        if (frame == JOIN)
            require(save(&world, joined));
        step(&world, frame, inputs);
        sums[frame] = sum_of(&world);
    }
    end(&world);
}

/* The other player's input as it is known in the frame `now`: a guess is the last known one. */
static uint32_t known_input(uint32_t frame, uint32_t now)
{
    uint32_t last = now < LATE ? 0 : now - LATE;

    return input_of(1, frame <= last ? frame : last);
}

/* Returns the number of frames that were simulated again. */
static unsigned play_late(uint32_t *sums)
{
    static struct state states[FRAMES]; /* before each frame */
    uint32_t guessed[FRAMES];
    struct world world;
    unsigned again = 0;

    require(begin(&world));
    for (uint32_t now = 0; now < FRAMES + LATE; now++) {
        uint32_t frame = now < FRAMES ? now : FRAMES;
        uint32_t from = frame;

        for (uint32_t i = frame; i-- > 0 && i + LATE >= now;)
            if (guessed[i] != known_input(i, now))
                from = i;
        if (from < frame)
            require(load(&world, &states[from]));
        again += frame - from;
        for (uint32_t i = from; i < FRAMES && i <= now; i++) {
            const uint32_t inputs[PLAYERS] = { input_of(0, i), known_input(i, now) };

            require(save(&world, &states[i]));
            guessed[i] = inputs[1];
            step(&world, i, inputs);
            sums[i] = sum_of(&world);
        }
    }
    end(&world);
    return again;
}

static void play_after_joining(uint32_t *sums, const struct state *joined)
{
    struct world world;

    require(begin(&world));
    require(load(&world, joined));
    for (uint32_t frame = JOIN; frame < FRAMES; frame++) {
        const uint32_t inputs[PLAYERS] = { input_of(0, frame), input_of(1, frame) };

        step(&world, frame, inputs);
        sums[frame] = sum_of(&world);
    }
    end(&world);
}

/* Frames from this one on that have the same units in the same slots. */
static unsigned same(const uint32_t *a, const uint32_t *b, uint32_t from)
{
    unsigned count = 0;

    for (uint32_t frame = from; frame < FRAMES; frame++)
        count += a[frame] == b[frame];
    return count;
}

int main(void)
{
    static uint32_t on_time[FRAMES], late[FRAMES], joined[FRAMES];
    struct state state;
    unsigned again, same_late, same_joined;

    play_on_time(on_time, &state);
    again = play_late(late);
    play_after_joining(joined, &state);
    same_late = same(on_time, late, 0);
    same_joined = same(on_time, joined, JOIN);
    printf("inputs on time: %d frames\n", FRAMES);
    printf("inputs late: %u frames simulated again, %u of %d the same\n", again, same_late, FRAMES);
    printf("joined in frame %d: %u of %d the same\n", JOIN, same_joined, FRAMES - JOIN);
    return same_late == FRAMES && same_joined == FRAMES - JOIN ? 0 : 1;
}
