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

static void make(size_t capacity, size_t n)
{
    cpool_config_t config = support_config(24, capacity);

    REQUIRE_EQUAL(cpool_lanes_create(&lanes, &config, n), 0);
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
    cpool_lane_t *lane;
    void *held[HELD];
    size_t count;
    size_t calls;
    size_t log[TICKS * CALLS]; /* the index that each alloc got, or SIZE_MAX */
    size_t *told;              /* the end of the log */
};

static void call_once(struct script *script)
{
    if (script->count < HELD && random_below(&script->random, 5) < 3) {
        void *slot = cpool_lane_alloc(script->lane);

        *script->told++ = slot != NULL ? index_of(slot) : SIZE_MAX;
        if (slot != NULL)
            script->held[script->count++] = slot;
    } else if (script->count > 0) {
        size_t i = random_below(&script->random, script->count);

        REQUIRE_EQUAL(cpool_lane_free(script->lane, script->held[i]), 0);
        script->held[i] = script->held[--script->count];
    }
    script->calls++;
}

static void *call_all(void *argument)
{
    struct script *script = argument;

    for (size_t i = 0; i < CALLS; i++) {
        call_once(script);
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
            call_once(choose(scripts, way, calls, random));
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
        scripts[i] = (struct script){ .random = i + 1, .lane = cpool_lane(lanes, i) };
        scripts[i].told = scripts[i].log;
    }
    for (size_t tick = 1; tick <= TICKS; tick++) {
        run_tick(scripts, way, tick * CALLS, &random);
        end_tick(scripts);
    }
    REQUIRE_EQUAL(cpool_lanes_destroy(lanes), CPOOL_ELIVE);
}

START_TEST(lanes_get_the_same_slots_in_every_interleaving)
{
    static struct script first[LANES], second[LANES];

    run(first, ONE_AFTER_THE_OTHER);
    run(second, _i);
    for (size_t i = 0; i < LANES; i++) {
        REQUIRE_EQUAL(first[i].told - first[i].log, second[i].told - second[i].log);
        REQUIRE(memcmp(first[i].log, second[i].log, sizeof first[i].log) == 0);
    }
}
END_TEST

/*
 * ---- One lane and its neighbours -----------------------------------------
 */

START_TEST(lane_hands_out_its_share_from_the_lowest_index)
{
    void *slots[CAPACITY];
    size_t taken = 0;

    make(CAPACITY, LANES);
    for (size_t i = 0; i < LANES; i++) {
        cpool_lane_t *lane = cpool_lane(lanes, i);
        size_t share = i == 0 ? 34 : 33;

        REQUIRE_EQUAL(cpool_lane_count(lane), share);
        for (size_t k = 0; k < share; k++, taken++) {
            slots[taken] = cpool_lane_alloc(lane);
            REQUIRE_EQUAL(index_of(slots[taken]), taken);
        }
        REQUIRE(cpool_lane_alloc(lane) == NULL);
    }
    REQUIRE(cpool_lane(lanes, LANES) == NULL);
    for (size_t i = 0; i < CAPACITY; i++)
        REQUIRE_EQUAL(cpool_lane_free(cpool_lane(lanes, 1), slots[i]), 0);
    REQUIRE(cpool_lane_alloc(cpool_lane(lanes, 0)) == NULL); /* a lane takes nothing */
    REQUIRE(cpool_lane_alloc(cpool_lane(lanes, 1)) == slots[CAPACITY - 1]);
    REQUIRE_EQUAL(cpool_lane_free(cpool_lane(lanes, 2), slots[CAPACITY - 1]), 0);
    REQUIRE_EQUAL(cpool_lanes_balance(lanes), CAPACITY);
    REQUIRE(cpool_lane_alloc(cpool_lane(lanes, 0)) == slots[0]);
    REQUIRE(cpool_lane_alloc(cpool_lane(lanes, 2)) == slots[67]);
    REQUIRE_EQUAL(cpool_lanes_balance(lanes), CAPACITY - 2);
    REQUIRE(cpool_lane_alloc(cpool_lane(lanes, 0)) == slots[1]);
    REQUIRE_EQUAL(cpool_lanes_destroy(lanes), CPOOL_ELIVE);
}
END_TEST

START_TEST(free_of_what_is_not_live_refused)
{
    char *slot;

    make(10, 2);
    slot = cpool_lane_alloc(cpool_lane(lanes, 0));
    support_capture_reports();
    REQUIRE_EQUAL(cpool_lane_free(cpool_lane(lanes, 1), slot + 1), CPOOL_EMISALIGNED);
    REQUIRE_REPORT(CPOOL_EMISALIGNED);
    REQUIRE_EQUAL(cpool_lane_free(cpool_lane(lanes, 1),
                                  (char *)cpool_at(cpool_lanes_pool(lanes), 9) + 1),
                  CPOOL_EMISALIGNED);
    REQUIRE_REPORT(CPOOL_EMISALIGNED);
    REQUIRE_EQUAL(cpool_lane_free(cpool_lane(lanes, 1), &lanes), CPOOL_EFOREIGN);
    REQUIRE_REPORT(CPOOL_EFOREIGN);
    REQUIRE_EQUAL(cpool_lane_free(cpool_lane(lanes, 1), slot), 0);
    REQUIRE_EQUAL(cpool_lane_free(cpool_lane(lanes, 0), slot), CPOOL_EDOUBLEFREE);
    REQUIRE_REPORT(CPOOL_EDOUBLEFREE);
    REQUIRE_EQUAL(cpool_lane_free(cpool_lane(lanes, 0), NULL), 0);
    REQUIRE_NO_REPORT();
    support_release_reports();
    REQUIRE_EQUAL(cpool_lane_count(cpool_lane(lanes, 1)), 6);
    REQUIRE_EQUAL(cpool_lanes_destroy(lanes), 0);
}
END_TEST

START_TEST(configuration_that_is_wrong_refused)
{
    static const unsigned refused[] = { CPOOL_TRACKED, CPOOL_CHECKED, CPOOL_WAITABLE };
    const cpool_debug_t debug = CPOOL_DEBUG_INIT;
    cpool_config_t config = support_config(8, 4);

    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        config.flags = refused[i];
        REQUIRE_EQUAL(cpool_lanes_create(&lanes, &config, 2), CPOOL_EFLAGS);
        REQUIRE(lanes == NULL);
    }
    config.flags = 0;
    config.debug = &debug;
    REQUIRE_EQUAL(cpool_lanes_create(&lanes, &config, 2), CPOOL_EFLAGS);
    config.debug = NULL;
    REQUIRE_EQUAL(cpool_lanes_create(&lanes, &config, 0), CPOOL_ECAPACITY);
    REQUIRE_EQUAL(cpool_lanes_create(&lanes, &config, 5), CPOOL_ECAPACITY);
    config.max_capacity = 5;
    REQUIRE_EQUAL(cpool_lanes_create(&lanes, &config, 2), CPOOL_EMAXCAPACITY);
    REQUIRE_EQUAL(cpool_lanes_create(&lanes, NULL, 2), CPOOL_ENULL);
    REQUIRE_EQUAL(cpool_lanes_create(NULL, &config, 2), CPOOL_ENULL);
    config.max_capacity = 4;
    config.slot_size = 0;
    REQUIRE_EQUAL(cpool_lanes_create(&lanes, &config, 2), CPOOL_ESLOTSIZE);
    REQUIRE_EQUAL(cpool_lanes_destroy(NULL), 0);
}
END_TEST

/* The slots that lanes have got before the system refuses memory are not told as leaks. */
static void create_without_memory(void *unused)
{
    struct rlimit limit = {(rlim_t)32 << 20, (rlim_t)32 << 20};
    cpool_config_t config = support_config(64, 1000000);

    (void)unused;
    REQUIRE_EQUAL(setenv("CPOOL_OPTIONS", "checked", 1), 0);
    REQUIRE_EQUAL(setrlimit(RLIMIT_DATA, &limit), 0);
    REQUIRE_EQUAL(cpool_lanes_create(&lanes, &config, LANES), CPOOL_ENOMEM);
}

START_TEST(lanes_without_memory_leave_nothing)
{
    struct support_outcome outcome;

    SKIP_IF(SUPPORT_SANITIZED, "sanitizers need memory of their own");
    support_fork(create_without_memory, NULL, &outcome);
    REQUIRE_EQUAL(outcome.status, 0);
    REQUIRE(strcmp(outcome.text, "") == 0);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        ONCE(lanes_without_memory_leave_nothing),
        TIMES(lanes_get_the_same_slots_in_every_interleaving, WAYS),
        ONCE(lane_hands_out_its_share_from_the_lowest_index),
        ONCE(free_of_what_is_not_live_refused),
        ONCE(configuration_that_is_wrong_refused),
    };

    return SUPPORT_RUN("lanes", tests);
}
