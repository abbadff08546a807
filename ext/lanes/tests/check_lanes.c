/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_lanes.c - lanes hand out the same slots whatever the interleaving of their users.
 */
#include "support.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cpool/lanes.h>

#include "random.h"

enum { LANES = 3, CAPACITY = 100, SCARCE = 40, CALLS = 400, TICKS = 3, HELD = 20 };

static cpool_lanes_t *lanes;
static size_t state_size;

static int create(const cpool_config_t *slots, size_t n)
{
    cpool_lanes_config_t config = CPOOL_LANES_CONFIG_INIT;

    config.slots = slots;
    config.lanes = n;
    return cpool_lanes_create(&lanes, &config);
}

static void make(size_t capacity, size_t n)
{
    cpool_config_t slots = support_config(24, capacity);

    state_size = CPOOL_LANES_STATE_SIZE(capacity, n);
    REQUIRE_EQUAL(create(&slots, n), 0);
}

static size_t index_of(const void *slot)
{
    return cpool_index(cpool_lanes_pool(lanes), slot);
}

/*
 * ---- The promise ---------------------------------------------------------
 */

/* A lane's part of the script.  The calls depend on the lane's own random numbers. */
struct script {
    uint64_t random;
    size_t lane;
    void *held[HELD];
    size_t count;
    size_t calls;
    size_t log[TICKS * CALLS]; /* the index that each alloc got, or SIZE_MAX */
    size_t *told;              /* the end of the log */
};

static void make_call(struct script *script)
{
    if (script->count < HELD && random_below(&script->random, 5) < 3) {
        void *slot = cpool_lane_alloc(lanes, script->lane);

        *script->told++ = slot != NULL ? index_of(slot) : SIZE_MAX;
        if (slot != NULL)
            script->held[script->count++] = slot;
    } else if (script->count > 0) {
        size_t i = random_below(&script->random, script->count);

        cpool_lane_free(lanes, script->lane, script->held[i]);
        script->held[i] = script->held[--script->count];
    }
    script->calls++;
}

static void *call_all(void *argument)
{
    struct script *script = argument;

    for (size_t i = 0; i < CALLS; i++) {
        make_call(script);
        if (i % 16 == 0)
            sched_yield();
    }
    return NULL;
}

/* Between two ticks each lane hands what it holds to the next one, which will free it. */
static void end_tick(struct script *scripts)
{
    struct script first = scripts[0];

    for (size_t i = 0; i < LANES; i++) {
        const struct script *from = i + 1 < LANES ? &scripts[i + 1] : &first;

        memcpy(scripts[i].held, from->held, sizeof from->held);
        scripts[i].count = from->count;
    }
    cpool_lanes_balance(lanes);
}

enum { ONE_AFTER_THE_OTHER, LAST_ONE_FIRST, AT_RANDOM, IN_THREADS, WAYS };

/* A lane that has not made all its calls of this tick. */
static struct script *choose(struct script *scripts, int way, size_t calls, uint64_t *random)
{
    size_t i = way == ONE_AFTER_THE_OTHER ? 0
               : way == LAST_ONE_FIRST    ? LANES - 1
                                          : random_below(random, LANES);

    while (scripts[i].calls == calls)
        i = (i + 1) % LANES;
    return &scripts[i];
}

static void run_tick(struct script *scripts, int way, size_t calls, uint64_t *random)
{
    pthread_t threads[LANES];

    if (way != IN_THREADS) {
        for (size_t left = LANES * CALLS; left > 0; left--)
            make_call(choose(scripts, way, calls, random));
        return;
    }
    for (size_t i = 0; i < LANES; i++)
        threads[i] = support_start(call_all, &scripts[i]);
    for (size_t i = 0; i < LANES; i++)
        support_join(threads[i]);
}

/* Runs the script from the beginning. */
static void run(struct script *scripts, int way)
{
    uint64_t random = 7;

    make(SCARCE, LANES);
    for (size_t i = 0; i < LANES; i++) {
        scripts[i] = (struct script){ .random = i + 1, .lane = i };
        scripts[i].told = scripts[i].log;
    }
    for (size_t tick = 1; tick <= TICKS; tick++) {
        run_tick(scripts, way, tick * CALLS, &random);
        end_tick(scripts);
    }
    REQUIRE_EQUAL(cpool_lanes_destroy(lanes), CPOOL_ELIVE);
}

TEST_TIMES(lanes_get_the_same_slots_in_every_interleaving, WAYS)
{
    static struct script first[LANES], second[LANES];

    run(first, ONE_AFTER_THE_OTHER);
    run(second, _i);
    for (size_t i = 0; i < LANES; i++) {
        REQUIRE_EQUAL(first[i].told - first[i].log, second[i].told - second[i].log);
        REQUIRE(memcmp(first[i].log, second[i].log, sizeof first[i].log) == 0);
    }
}

/*
 * ---- One lane and its neighbours -----------------------------------------
 */

TEST(lane_hands_out_its_share_from_the_lowest_index)
{
    void *slots[CAPACITY];
    size_t taken = 0;

    make(CAPACITY, LANES);
    for (size_t i = 0; i < LANES; i++) {
        size_t share = i == 0 ? 34 : 33;

        for (size_t k = 0; k < share; k++, taken++) {
            slots[taken] = cpool_lane_alloc(lanes, i);
            REQUIRE_EQUAL(index_of(slots[taken]), taken);
        }
        REQUIRE(cpool_lane_alloc(lanes, i) == NULL);
    }
    REQUIRE(cpool_lane_alloc(lanes, LANES) == NULL);
    for (size_t i = 0; i < CAPACITY; i++)
        cpool_lane_free(lanes, 1, slots[i]);
    REQUIRE(cpool_lane_alloc(lanes, 0) == NULL); /* a lane takes nothing */
    REQUIRE(cpool_lane_alloc(lanes, 1) == slots[CAPACITY - 1]);
    cpool_lane_free(lanes, 2, slots[CAPACITY - 1]);
    REQUIRE_EQUAL(cpool_lanes_balance(lanes), CAPACITY);
    REQUIRE(cpool_lane_alloc(lanes, 0) == slots[0]);
    REQUIRE(cpool_lane_alloc(lanes, 2) == slots[67]);
    REQUIRE_EQUAL(cpool_lanes_balance(lanes), CAPACITY - 2);
    REQUIRE(cpool_lane_alloc(lanes, 0) == slots[1]);
    REQUIRE_EQUAL(cpool_lanes_destroy(lanes), CPOOL_ELIVE);
}

TEST(free_of_what_is_not_live_refused)
{
    void *freed[6];
    char *slot;

    make(10, 2);
    slot = cpool_lane_alloc(lanes, 0);
    support_capture_reports();
    cpool_lane_free(lanes, 1, slot + 1);
    REQUIRE_REPORT(CPOOL_EMISALIGNED);
    cpool_lane_free(lanes, 1, (char *)cpool_at(cpool_lanes_pool(lanes), 9) + 1);
    REQUIRE_REPORT(CPOOL_EMISALIGNED);
    cpool_lane_free(lanes, 1, &lanes);
    REQUIRE_REPORT(CPOOL_EFOREIGN);
    cpool_lane_free(lanes, 1, slot);
    cpool_lane_free(lanes, 0, slot);
    REQUIRE_REPORT(CPOOL_EDOUBLEFREE);
    cpool_lane_free(lanes, 0, NULL);
    REQUIRE_NO_REPORT();
    support_release_reports();
    for (size_t i = 0; i < 6; i++)
        REQUIRE((freed[i] = cpool_lane_alloc(lanes, 1)) != NULL);
    REQUIRE(cpool_lane_alloc(lanes, 1) == NULL);
    support_capture_reports();
    cpool_lane_free(lanes, 2, freed[0]);
    REQUIRE_REPORT(CPOOL_ECAPACITY);
    support_release_reports();
    for (size_t i = 0; i < 6; i++)
        cpool_lane_free(lanes, 1, freed[i]);
    REQUIRE_EQUAL(cpool_lanes_destroy(lanes), 0);
}

TEST(configuration_that_is_wrong_refused)
{
    static const unsigned refused[] = { CPOOL_TRACKED, CPOOL_CHECKED };
    cpool_config_t config = support_config(8, 4);

    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        config.flags = refused[i];
        REQUIRE_EQUAL(create(&config, 2), CPOOL_EFLAGS);
        REQUIRE(lanes == NULL);
    }
    config.flags = 0;
    REQUIRE_EQUAL(create(&config, 0), CPOOL_ECAPACITY);
    REQUIRE_EQUAL(create(&config, 5), CPOOL_ECAPACITY);
    config.max_capacity = 5;
    REQUIRE_EQUAL(create(&config, 2), CPOOL_ECAPACITY);
    REQUIRE_EQUAL(cpool_lanes_create(&lanes, NULL), CPOOL_ENULL);
    REQUIRE_EQUAL(create(NULL, 2), CPOOL_ENULL);
    REQUIRE_EQUAL(cpool_lanes_create(NULL, NULL), CPOOL_ENULL);
    config.max_capacity = 4;
    config.slot_size = 0;
    REQUIRE_EQUAL(create(&config, 2), CPOOL_ESLOTSIZE);
    REQUIRE_EQUAL(cpool_lanes_destroy(NULL), 0);
}

/*
 * ---- State ----------------------------------------------------------------
 */

/* The numbers of a state, in front of those of the lanes, and at its end. */
enum { STATE_HEAD = 4, STATE_SUM = 2 };

static unsigned char *save(size_t *size)
{
    unsigned char *state;

    *size = state_size;
    state = malloc(*size);
    REQUIRE(state != NULL);
    REQUIRE_EQUAL(cpool_lanes_save(lanes, state, *size), 0);
    return state;
}

/* Takes and gives back by random numbers from this seed, from the slots that are held. */
static void play(struct script *scripts, uint64_t seed)
{
    for (size_t i = 0; i < LANES; i++) {
        scripts[i].random = seed + i;
        scripts[i].told = scripts[i].log;
        for (size_t k = 0; k < CALLS; k++)
            make_call(&scripts[i]);
    }
    end_tick(scripts);
}

/* Where the slots lie now. */
static void find_again(struct script *scripts, cpool_t *before)
{
    for (size_t i = 0; i < LANES; i++) {
        for (size_t k = 0; k < scripts[i].count; k++)
            scripts[i].held[k] = cpool_at(cpool_lanes_pool(lanes),
                                          cpool_index(before, scripts[i].held[k]));
    }
}

/* 0: the same lanes go back.  1: others go on. */
TEST_TIMES(loaded_state_gives_the_same_slots, 2)
{
    static struct script before[LANES], first[LANES], second[LANES];
    cpool_lanes_t *old;
    unsigned char *state;
    size_t size;

    make(SCARCE, LANES);
    old = lanes;
    for (size_t i = 0; i < LANES; i++)
        before[i] = (struct script){ .lane = i };
    play(before, 3);
    for (size_t i = 0; i < LANES; i++) /* no state that a balance has just made */
        for (size_t k = 0; k < i; k++)
            cpool_lane_free(lanes, before[i].lane, before[i].held[--before[i].count]);
    state = save(&size);
    memcpy(first, before, sizeof first);
    memcpy(second, before, sizeof second);
    play(first, 5);
    play(first, 6);
    if (_i == 1)
        make(SCARCE, LANES);
    REQUIRE_EQUAL(cpool_lanes_load(lanes, state, size), 0);
    find_again(second, cpool_lanes_pool(old));
    play(second, 5);
    play(second, 6);
    for (size_t i = 0; i < LANES; i++) {
        REQUIRE_EQUAL(first[i].told - first[i].log, second[i].told - second[i].log);
        REQUIRE(memcmp(first[i].log, second[i].log, sizeof first[i].log) == 0);
        REQUIRE_EQUAL(first[i].count, second[i].count);
    }
    free(state);
    if (old != lanes)
        REQUIRE_EQUAL(cpool_lanes_destroy(old), CPOOL_ELIVE);
    REQUIRE_EQUAL(cpool_lanes_destroy(lanes), CPOOL_ELIVE);
}

/* Five slots, two lanes: 0 and 3 are live, 1 and 2 are in lane 0, 4 is in lane 1.  Machines of
 * both byte orders have these bytes. */
static const unsigned char known_state[] = {
    0x63, 0x50, 0x50, 0x4c, 2, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0,  /* what it is */
    3, 0, 0, 0, 2, 0, 0, 0, 6, 0, 0, 0, 1, 0, 0, 0,              /* lanes */
    1, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,  /* slots 0 to 4 */
    0x7f, 0x50, 0x50, 0x4c, 0xe9, 0x15, 0x14, 0xe0,              /* the sums */
};

/* A slot's word, or a lane's head. */
enum { END, LIVE, SLOT };

TEST(state_has_the_same_bytes_on_every_machine)
{
    unsigned char *state;
    size_t size;

    make(5, 2);
    REQUIRE(index_of(cpool_lane_alloc(lanes, 0)) == 0);
    REQUIRE(index_of(cpool_lane_alloc(lanes, 1)) == 3);
    state = save(&size);
    REQUIRE_EQUAL(size, sizeof known_state);
    for (size_t i = 0; i < sizeof known_state; i++)
        REQUIRE_EQUAL(state[i], known_state[i]);
    REQUIRE_EQUAL(cpool_lanes_destroy(lanes), CPOOL_ELIVE);
    make(5, 2);
    REQUIRE_EQUAL(cpool_lanes_load(lanes, known_state, sizeof known_state), 0);
    REQUIRE_EQUAL(index_of(cpool_lane_alloc(lanes, 1)), 4);
    REQUIRE(cpool_lane_alloc(lanes, 1) == NULL);
    REQUIRE_EQUAL(index_of(cpool_lane_alloc(lanes, 0)), 1);
    REQUIRE_EQUAL(index_of(cpool_lane_alloc(lanes, 0)), 2);
    cpool_lane_free(lanes, 0, cpool_at(cpool_lanes_pool(lanes), 3));
    free(state);
    REQUIRE_EQUAL(cpool_lanes_destroy(lanes), CPOOL_ELIVE);
}

static void require_unchanged(const unsigned char *before)
{
    size_t size;
    unsigned char *after = save(&size);

    REQUIRE(memcmp(before, after, size) == 0);
    free(after);
}

TEST(state_with_any_bit_changed_refused)
{
    unsigned char *state, *damaged;
    size_t size;

    make(5, 2);
    REQUIRE(cpool_lane_alloc(lanes, 1) != NULL);
    state = save(&size);
    REQUIRE_EQUAL(cpool_lanes_load(lanes, known_state, sizeof known_state), 0);
    require_unchanged(known_state);
    REQUIRE_EQUAL(cpool_lanes_load(lanes, state, size), 0);
    damaged = malloc(size);
    REQUIRE(damaged != NULL);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        memcpy(damaged, known_state, size);
        damaged[bit / 8] ^= (unsigned char)(1u << bit % 8);
        REQUIRE_EQUAL(cpool_lanes_load(lanes, damaged, size), CPOOL_ESTRUCT);
    }
    require_unchanged(state);
    free(damaged);
    free(state);
    REQUIRE_EQUAL(cpool_lanes_destroy(lanes), CPOOL_ELIVE);
}

static void set(unsigned char *state, size_t at, uint32_t number)
{
    for (size_t i = 0; i < 4; i++)
        state[4 * at + i] = (unsigned char)(number >> 8 * i);
}

/* With the sum that the library expects. */
static void seal(unsigned char *state, size_t size)
{
    size_t end = size / 4 - STATE_SUM;
    uint32_t sum = 1, way = 0;

    for (size_t i = 0; i < end; i++) {
        for (size_t k = 0; k < 4; k++)
            sum += (uint32_t)state[4 * i + k] << 8 * k;
        way += sum;
    }
    set(state, end, sum);
    set(state, end + 1, way);
}

enum { HEAD_0 = STATE_HEAD, COUNT_0, HEAD_1, COUNT_1, SLOTS };

TEST(state_that_is_whole_and_wrong_refused)
{
    /* Changes of the known state. */
    static const struct {
        size_t at;
        uint32_t number;
    } wrong[][2] = {
        { { 0, 0 }, { 0, 0 } },                           /* not a state */
        { { 1, 3 }, { 1, 3 } },                           /* a later one */
        { { 2, 6 }, { 2, 6 } },                           /* of other lanes */
        { { 3, 1 }, { 3, 1 } },
        { { HEAD_0, SLOT + 5 }, { HEAD_0, SLOT + 5 } },   /* no such slot */
        { { SLOTS + 1, SLOT + 5 }, { SLOTS + 1, SLOT + 5 } },
        { { SLOTS + 1, END }, { HEAD_0, SLOT + 1 } },     /* fewer than it says */
        { { COUNT_0, 1 }, { COUNT_0, 1 } },               /* more than it says */
        { { COUNT_0, 3 }, { COUNT_0, 3 } },
        { { COUNT_1, UINT32_MAX }, { SLOTS + 4, SLOT + 4 } }, /* a circle */
        { { HEAD_1, SLOT + 2 }, { SLOTS + 4, LIVE } },    /* one slot in two lanes */
        { { HEAD_0, SLOT + 0 }, { SLOTS + 0, SLOT + 2 } }, /* a free slot in no lane */
        { { HEAD_1, END }, { COUNT_1, 0 } },              /* the last one */
        { { HEAD_1, SLOT + 3 }, { SLOTS + 4, LIVE } },    /* a live slot in a lane */
        { { SLOTS + 2, SLOT + 3 }, { SLOTS + 2, SLOT + 3 } }, /* behind the last one */
        { { SLOTS + 2, LIVE }, { SLOTS + 2, LIVE } },
    };
    unsigned char state[sizeof known_state + 4], *before;
    size_t size;

    make(5, 2);
    before = save(&size);
    memcpy(state, known_state, size);
    set(state, SLOTS + 0, SLOT + 1); /* as a check of the changes: one that is right */
    set(state, HEAD_0, SLOT + 0);
    set(state, COUNT_0, 3);
    seal(state, size);
    REQUIRE_EQUAL(cpool_lanes_load(lanes, state, size), 0);
    REQUIRE_EQUAL(cpool_lanes_load(lanes, state, size + 4), CPOOL_ESTRUCT);
    REQUIRE_EQUAL(cpool_lanes_load(lanes, before, size), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        memcpy(state, known_state, size);
        set(state, wrong[i][0].at, wrong[i][0].number);
        set(state, wrong[i][1].at, wrong[i][1].number);
        seal(state, size);
        REQUIRE_EQUAL(cpool_lanes_load(lanes, state, size), CPOOL_ESTRUCT);
    }
    REQUIRE_EQUAL(cpool_lanes_load(lanes, known_state, sizeof known_state - 1), CPOOL_ESTRUCT);
    REQUIRE_EQUAL(cpool_lanes_load(lanes, NULL, sizeof known_state), CPOOL_ENULL);
    REQUIRE_EQUAL(cpool_lanes_save(lanes, NULL, size), CPOOL_ENULL);
    REQUIRE_EQUAL(cpool_lanes_save(lanes, state, size - 1), CPOOL_ESTRUCT);
    require_unchanged(before);
    free(before);
    REQUIRE_EQUAL(cpool_lanes_destroy(lanes), 0);
}

/* The slots that lanes have got before the system refuses memory are not told as leaks. */
static void create_without_memory(void *unused)
{
    struct rlimit limit = {(rlim_t)32 << 20, (rlim_t)32 << 20};
    cpool_config_t config = support_config(64, 1000000);

    (void)unused;
    REQUIRE_EQUAL(setenv("CPOOL_OPTIONS", "checked", 1), 0);
    REQUIRE_EQUAL(setrlimit(RLIMIT_DATA, &limit), 0);
    REQUIRE_EQUAL(create(&config, LANES), CPOOL_ENOMEM);
}

TEST(lanes_without_memory_leave_nothing)
{
    struct support_outcome outcome;

    SKIP_IF(SUPPORT_SANITIZED, "sanitizers need memory of their own");
    support_fork(create_without_memory, NULL, &outcome);
    REQUIRE_EQUAL(outcome.status, 0);
    REQUIRE(strcmp(outcome.text, "") == 0);
}
