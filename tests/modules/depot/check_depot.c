/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_depot.c - magazines and the depot that holds them (lib/depot/depot.h), alone: a magazine
 * that is given is there, once, and can be taken.
 */
#include "support.h"

#include "base/atomic.h"
#include "depot/depot.h"

enum { CAPACITY = 200, LIMIT = 7, UNCACHED = 4, FOR_CACHES = 12 };

static char slots[CAPACITY];
static struct cpi_depot *depot;
static struct cpi_counters mine; /* this thread's */
static size_t magazines;         /* that there can be */

static void make_depot(void)
{
    size_t stride = cpi_depot_stride(LIMIT);
    size_t for_slots = cpi_depot_magazines(CAPACITY, LIMIT, UNCACHED);
    char *memory;

    magazines = for_slots + FOR_CACHES;
    memory = support_lines(magazines * stride);
    depot = support_lines(sizeof(*depot));
    cpi_extent_init(&depot->for_slots, memory, for_slots * stride, 1, for_slots * stride);
    cpi_extent_init(&depot->for_caches, memory + for_slots * stride, FOR_CACHES * stride, 1,
                    FOR_CACHES * stride);
    cpi_depot_init(depot, LIMIT, UNCACHED);
    REQUIRE(cpi_depot_provide(depot, CAPACITY));
}

/* Whether the magazine lies in the depot. */
static bool holds(uint32_t wanted)
{
    const struct cpi_tagstack *stacks[] = { &depot->stocked, &depot->empty };

    for (size_t i = 0; i < 2; i++)
        for (uint32_t node = cpi_tagstack_top(stacks[i]); node != 0;
             node = cpi_tagstack_below(&depot->links, node))
            if (node == wanted)
                return true;
    return cpi_load(&depot->partial, relaxed) == wanted;
}

/* A magazine with `count` rounds, from `first` on. */
static uint32_t filled(size_t first, uint32_t count)
{
    uint32_t node = cpi_depot_take_empty(depot, &mine);
    struct cpi_magazine *magazine = cpi_depot_magazine(depot, node);

    REQUIRE_EQUAL(cpi_magazine_count(magazine), 0);
    for (uint32_t i = 0; i < count; i++)
        magazine->rounds[i] = &slots[first + i];
    cpi_magazine_set_count(magazine, count);
    return node;
}

static void give(uint32_t node)
{
    cpi_depot_give(depot, &mine, node);
}

/* Rounds in the depot, as it says itself. */
static size_t rounds(void)
{
    return cpi_depot_count_stocked(depot) * LIMIT + cpi_depot_partial_rounds(depot);
}

/* Takes all slots out, and requires them to be the first `count`, each once. */
static void require_slots(size_t count)
{
    bool seen[CAPACITY] = { false };
    char *slot;

    REQUIRE_EQUAL(rounds(), count);
    for (size_t i = 0; i < count; i++) {
        slot = cpi_depot_alloc_slot(depot, &mine);
        REQUIRE(slot >= slots && slot < slots + count);
        REQUIRE(!seen[slot - slots]);
        seen[slot - slots] = true;
        REQUIRE_EQUAL(rounds(), count - i - 1);
    }
    REQUIRE(cpi_depot_alloc_slot(depot, &mine) == NULL);
}

/* An alloc that finds nothing looks again if a magazine moved meanwhile. */
TEST(partial_magazines_left_and_taken_are_counted)
{
    uint32_t node;

    make_depot();
    node = filled(0, 1);
    give(node);
    REQUIRE_EQUAL(cpi_load(&mine.others, relaxed), 1);
    REQUIRE_EQUAL(cpi_depot_take_partial(depot, &mine), node);
    REQUIRE_EQUAL(cpi_load(&mine.others, relaxed), 2);
}

/* For any content of the two, each becomes full, empty, or the one partial
 * magazine. */
TEST(give_two_partial_merges_them)
{
    for (uint32_t a = 1; a < LIMIT; a++)
        for (uint32_t b = 1; b < LIMIT; b++) {
            uint32_t first;
            uint32_t second;

            make_depot();
            first = filled(0, a);
            second = filled(a, b);
            give(first);
            give(second);
            REQUIRE_EQUAL(cpi_depot_count_stocked(depot), (a + b) / LIMIT);
            REQUIRE_EQUAL(cpi_depot_partial_rounds(depot), (a + b) % LIMIT);
            REQUIRE(holds(first) && holds(second));
            require_slots(a + b);
            REQUIRE_EQUAL(cpi_depot_made(depot), 2);
        }
}

/* The second invariant: every uncached operation may have two magazines in its hands, neither
 * full nor empty, beside a partial magazine and all others full. */
TEST(every_visitor_gets_two_magazines)
{
    size_t full = CAPACITY / LIMIT - 1;

    make_depot();
    cpi_store(&depot->made_for_caches, FOR_CACHES, relaxed); /* the caches have theirs */
    for (size_t i = 0; i < full; i++)
        give(filled(i * LIMIT, LIMIT));
    give(filled(full * LIMIT, 1));
    for (size_t i = 0; i < 2 * UNCACHED; i++)
        REQUIRE(cpi_depot_take_empty(depot, &mine) != 0);
}

static uint32_t in_flight(void)
{
    return cpi_depot_in_flight(cpi_depot_flights(depot));
}

TEST(those_in_flight_have_left_although_others_came)
{
    struct cpi_uncached first;
    struct cpi_uncached second;
    uint64_t flights;

    make_depot();
    REQUIRE(cpi_depot_have_left(depot, cpi_depot_flights(depot)));
    cpi_depot_enter(depot, &first);
    flights = cpi_depot_flights(depot);
    REQUIRE(!cpi_depot_have_left(depot, flights));
    cpi_depot_enter(depot, &second);
    REQUIRE_EQUAL(in_flight(), 2);
    REQUIRE(!cpi_depot_have_left(depot, flights));
    cpi_depot_leave(depot, &first);
    REQUIRE(cpi_depot_have_left(depot, flights));
    flights = cpi_depot_flights(depot);
    REQUIRE(!cpi_depot_have_left(depot, flights));
    cpi_depot_leave(depot, &second);
    REQUIRE(cpi_depot_have_left(depot, flights));
    REQUIRE_EQUAL(in_flight(), 0);
}

/* As often as epochs come round. */
TEST(epochs_come_round)
{
    struct cpi_uncached uncached[2];

    make_depot();
    cpi_depot_enter(depot, &uncached[0]);
    for (size_t i = 0; i < 3u << 16; i++) {
        uint64_t flights = cpi_depot_flights(depot);

        REQUIRE(!cpi_depot_have_left(depot, flights));
        cpi_depot_enter(depot, &uncached[(i + 1) % 2]);
        cpi_depot_leave(depot, &uncached[i % 2]);
        REQUIRE(cpi_depot_have_left(depot, flights));
        REQUIRE_EQUAL(in_flight(), 1);
    }
    cpi_depot_leave(depot, &uncached[0]);
    REQUIRE_EQUAL(in_flight(), 0);
}

/* Those of the forking thread, of two epochs, leave nothing. */
TEST(forked_leaves_none_in_flight)
{
    struct cpi_uncached uncached[2];

    make_depot();
    REQUIRE(!cpi_depot_forked(depot));
    cpi_depot_enter(depot, &uncached[0]);
    REQUIRE(!cpi_depot_have_left(depot, cpi_depot_flights(depot)));
    cpi_depot_enter(depot, &uncached[1]);
    cpi_depot_give(depot, &uncached[1].counters, filled(0, LIMIT));
    REQUIRE(cpi_depot_forked(depot));
    REQUIRE_EQUAL(in_flight(), 0);
    for (int i = 0; i < 2; i++)
        cpi_depot_leave(depot, &uncached[i]);
    REQUIRE_EQUAL(in_flight(), 0);
    REQUIRE_EQUAL(cpi_load(&depot->flown.stocked_in, relaxed), 0);
    cpi_depot_enter(depot, &uncached[0]);
    REQUIRE_EQUAL(in_flight(), 1);
}

TEST(reset_forgets_all)
{
    uint32_t last = 0;

    make_depot();
    for (size_t i = 0; i < CAPACITY; i++)
        REQUIRE(cpi_depot_free_slot(depot, &mine, &slots[i]));
    while (cpi_depot_made(depot) < magazines)
        REQUIRE((last = cpi_depot_take_empty(depot, &mine)) != 0);
    give(last);
    cpi_depot_reset(depot);
    REQUIRE_EQUAL(rounds(), 0);
    REQUIRE_EQUAL(cpi_depot_made(depot), 0);
    REQUIRE(cpi_depot_alloc_slot(depot, &mine) == NULL);
    for (size_t i = 0; i < magazines; i++)
        REQUIRE(filled(0, 0) != 0);
    REQUIRE_EQUAL(cpi_depot_take_empty(depot, &mine), 0);
}
