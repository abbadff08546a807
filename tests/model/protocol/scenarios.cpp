// SPDX-License-Identifier: BSD-2-Clause
// scenarios.cpp - the scenarios, and the state that each begins with.
#include <cstring>
#include "state.h"

enum { NONE = NO_CACHE };

// name | threads, slots, magazines, rounds of a magazine, caches | operations | the threads'
// caches | rounds in the caches | slots held by the threads | slots in the depot
const Scenario scenarios[] = {
    // Two threads.
    {"push-pop", 2, 2, 3, 2, 1, {"FA", "A"}, {0, NONE}, {1}, {1, 0}, 0},
    {"pop-against-free", 2, 2, 3, 2, 1, {"A", "AF"}, {0, NONE}, {1}, {0, 1}, 0},
    {"small-magazines", 2, 2, 4, 1, 1, {"FAFA", "AFA"}, {0, NONE}, {1}, {1, 0}, 0},
    {"two-dry-owners", 2, 2, 4, 1, 2, {"AAF", "FAA"}, {0, 1}, {1, 0}, {0, 1}, 0},
    {"waiter-push", 2, 1, 3, 2, 1, {"F", "W"}, {0, NONE}, {0}, {1, 0}, 0},
    {"waiter", 2, 2, 4, 2, 1, {"FAF", "W"}, {0, NONE}, {0}, {2, 0}, 0},
    {"waiter-opening", 2, 2, 4, 2, 1, {"AA", "W"}, {0, NONE}, {-1}, {0, 0}, 2},
    {"waiter-twice", 2, 2, 4, 2, 1, {"FAFF", "WFW"}, {0, NONE}, {0}, {2, 0}, 0},
    {"opening", 2, 2, 4, 2, 1, {"AFA", "AA"}, {0, NONE}, {-1}, {0, 0}, 2},
    {"opening-again", 2, 2, 4, 2, 1, {"AFAF", "AFA"}, {0, NONE}, {-1}, {0, 0}, 2},
    {"new-cache-exit", 2, 2, 4, 2, 1, {"RFAX", "A"}, {0, NONE}, {-1}, {1, 0}, 1},
    {"new-cache-waiter", 2, 1, 3, 2, 1, {"RF", "W"}, {0, NONE}, {-1}, {1, 0}, 0},
    {"new-cache-dry", 2, 1, 3, 2, 1, {"RFX", "A"}, {0, NONE}, {-1}, {1, 0}, 0},
    {"new-cache-dry-owner", 2, 2, 4, 2, 2, {"AAF", "RFFX"}, {0, 1}, {0, -1}, {0, 2}, 0},

    // Three threads.
    {"two-owners", 3, 3, 4, 2, 2, {"AF", "FA", "A"}, {0, 1, NONE}, {1, 0}, {0, 1, 0}, 1},
    {"two-reclaims", 3, 2, 4, 2, 1, {"FAF", "A", "A"}, {0, NONE, NONE}, {1}, {1, 0, 0}, 0},
    {"two-reclaims-free", 3, 2, 4, 2, 1, {"FAF", "AF", "A"}, {0, NONE, NONE}, {1}, {1, 0, 0}, 0},
    {"waiter-dry", 3, 2, 4, 2, 1, {"FAF", "W", "A"}, {0, NONE, NONE}, {0}, {2, 0, 0}, 0},
    {"waiter-taker", 3, 2, 4, 2, 1, {"F", "W", "A"}, {0, NONE, NONE}, {1}, {1, 0, 0}, 0},
    {"waiter-closed-alloc", 3, 2, 5, 2, 1, {"A", "F", "W"}, {0, NONE, NONE}, {-1}, {0, 0, 0}, 2},
    {"waiter-two-owners", 3, 2, 5, 2, 2, {"FA", "F", "W"}, {0, 1, NONE}, {0, 0}, {1, 1, 0}, 0},
    {"two-waiters", 3, 2, 4, 2, 1, {"FF", "W", "W"}, {0, NONE, NONE}, {0}, {2, 0, 0}, 0},
    {"exit-reclaim", 3, 2, 5, 2, 2, {"AF", "RFX", "A"}, {0, 1, NONE}, {1, -1}, {0, 1, 0}, 0},
    {"exit-waiter", 3, 2, 5, 2, 2, {"F", "RFX", "W"}, {0, 1, NONE}, {0, -1}, {1, 1, 0}, 0},
    {},
};

const Scenario *scenario_of(const char *name)
{
    const Scenario *found = scenarios;

    while (found->name != nullptr && strcmp(found->name, name) != 0)
        found++;
    return found->name != nullptr ? found : nullptr;
}

namespace {

bool registers(const Scenario &of, int thread)
{
    return strchr(of.operations[thread], 'R') != nullptr;
}

// The deal of slots and magazines.
struct Deal {
    State &state;
    u8 slot, magazine;

    void load(int rounds)
    {
        for (int i = 0; i < rounds; i++)
            state.memory.set(round_of(magazine, i), slot++);
        state.free = (u8)(state.free + rounds);
    }
};

// A closed cache is known from the start unless its thread registers it.
void deal_cache(const Scenario &of, int cache, Deal &deal)
{
    State &state = deal.state;
    bool is_new = false;

    for (int i = 0; i < of.threads; i++)
        is_new = is_new || (of.cache[i] == cache && registers(of, i));
    if (!is_new)
        state.memory.set(MADE, (u8)(cache + 1));
    if (of.open[cache] < 0)
        return;
    state.memory.set(limit_of(cache), of.rounds);
    state.memory.set(loaded_of(cache), deal.magazine);
    state.memory.set(count_of(cache), (u8)of.open[cache]);
    for (int i = 0; i < of.threads; i++)
        if (of.cache[i] == cache)
            state.threads[i].current = deal.magazine;
    deal.load(of.open[cache]);
    deal.magazine++;
}

void deal_thread(const Scenario &of, int number, Deal &deal)
{
    Thread &thread = deal.state.threads[number];

    thread.own = of.cache[number];
    thread.cache = registers(of, number) ? (u8)NO_CACHE : of.cache[number];
    for (int i = 0; i < of.held[number]; i++) {
        deal.state.fate[deal.slot] = LIVE;
        thread.held[thread.holds++] = deal.slot++;
    }
}

} // namespace

State state_of(const Scenario &of)
{
    State state = {};
    Deal deal = {state, 1, 1};
    u8 full = 0;
    u8 empty = 0;

    for (int i = 0; i < WORDS; i++)
        state.memory.set(i, 0);
    for (int i = 0; i < of.caches; i++)
        deal_cache(of, i, deal);
    for (int i = 0; i < of.threads; i++)
        deal_thread(of, i, deal);
    for (int i = of.threads; i < THREADS; i++)
        state.threads[i].ended = 1;
    for (int left = of.depot; left > 0; left -= of.rounds) {
        int rounds = left < of.rounds ? left : of.rounds;
        deal.load(rounds);
        state.memory.set(held_of(deal.magazine), (u8)rounds);
        full |= bit_of(deal.magazine++);
    }
    if (deal.slot - 1 != of.slots)
        fail("model: %s deals out %d slots", of.name, deal.slot - 1);
    while (deal.magazine <= of.magazines)
        empty |= bit_of(deal.magazine++);
    state.memory.set(FULL, full);
    state.memory.set(EMPTY, empty);
    return state;
}
