// SPDX-License-Identifier: BSD-2-Clause
// audit.cpp - the properties that the model holds the protocol to:
//
//   P1  a slot has one holder, a magazine is in one place, and plain data is not raced for
//   P3  an alloc returns NULL only if no slot was free at some instant of its call
//   P4  no waiter sleeps beside a free slot for ever
//   P7  the child of a fork, at any instant, finds no slot and no magazine twice
//
// P3 and the races are looked for where they happen, in reclaim.cpp and memory_views.h.
#include <cstdarg>
#include <cstdio>
#include "state.h"

Step step;

void fail(const char *format, ...)
{
    va_list arguments;

    if (step.failed)
        return;
    step.failed = true;
    va_start(arguments, format);
    vsnprintf(step.error, sizeof step.error, format, arguments);
    va_end(arguments);
}

void slot_obtained(State &state, Thread &thread, u8 slot)
{
    if (slot == 0 || slot > scenario->slots || state.fate[slot] == LIVE)
        return fail("P1: slot %d is handed out twice, or none", slot);
    state.fate[slot] = LIVE;
    thread.held[thread.holds++] = slot;
}

void slot_taken(State &state)
{
    if (state.free == 0)
        return fail("P1: a slot is taken where none is free");
    state.free--;
}

void slot_freed(State &state, u8 slot)
{
    if (state.fate[slot] != RETURNING)
        return fail("P1: slot %d is given back by nobody", slot);
    state.fate[slot] = FREE;
    state.free++;
}

namespace {

// How often slots and magazines were met.
struct Count {
    int slots[256], magazines[MAGAZINES + 1];
};

void count_rounds(const State &state, int magazine, int rounds, Count &count)
{
    count.magazines[magazine]++;
    for (int i = 0; i < rounds && i < ROUNDS; i++)
        count.slots[state.memory.last(round_of(magazine, i))]++;
}

void count_depot(const State &state, Count &count)
{
    u8 full = state.memory.last(FULL);
    u8 empty = state.memory.last(EMPTY);

    for (int i = 1; i <= scenario->magazines; i++) {
        if (full & bit_of(i))
            count_rounds(state, i, state.memory.last(held_of(i)), count);
        if (empty & bit_of(i))
            count_rounds(state, i, 0, count);
    }
}

// audit_sleepers - an execution that ends before its threads do.
void audit_sleepers(const State &state)
{
    bool sleeping = false;

    for (int i = 0; i < scenario->threads; i++) {
        const Thread &thread = state.threads[i];
        if (!thread.ended && !thread.sleeping)
            return fail("deadlock: thread %d is blocked at %s", i, place_of(thread));
        sleeping = sleeping || !thread.ended;
    }
    if (sleeping && state.free > 0)
        fail("P4: a waiter sleeps, free slots: %d", state.free);
    else if (!sleeping && state.memory.last(CLOSED) != 0)
        fail("model: closed at the end");
}

} // namespace

void audit_end(const State &state)
{
    Count count = {};

    audit_sleepers(state);
    for (const Thread &thread : state.threads)
        for (int i = 0; i < thread.holds; i++)
            count.slots[thread.held[i]]++;
    for (int i = 0; i < CACHES; i++) {
        u8 rounds = state.memory.last(count_of(i));
        u8 magazine = magazine_of(state.memory.last(loaded_of(i)));
        if (rounds & BUSY)
            fail("model: an owner is inside at the end");
        if (magazine != 0)
            count_rounds(state, magazine, rounds, count);
    }
    count_depot(state, count);
    for (int i = 1; i <= scenario->slots; i++)
        if (count.slots[i] != 1)
            fail("P1: at the end slot %d is in %d places", i, count.slots[i]);
    for (int i = 1; i <= scenario->magazines; i++)
        if (count.magazines[i] != 1)
            fail("P1: at the end magazine %d is in %d places", i, count.magazines[i]);
}

// audit_child - what the child finds is memory as it is, without what waits in the threads'
// buffers.  BUSY with even moves is an inline operation, and the count holds.  BUSY with odd moves
// is a slow path: its loaded magazine is left behind.
void audit_child(const State &state)
{
    Count count = {};

    for (int i = 0; i < scenario->threads; i++) {
        u8 cache = scenario->cache[i];
        u8 magazine = cache == NO_CACHE ? 0 : magazine_of(state.memory.last(loaded_of(cache)));
        if (magazine == 0)
            continue;
        u8 rounds = state.memory.last(count_of(cache));
        if (!(rounds & BUSY) || !(state.memory.last(moves_of(i)) & 1))
            count_rounds(state, magazine, rounds & ~BUSY, count);
    }
    count_depot(state, count);
    if (count.slots[0] != 0)
        fail("P7: a child finds a round without a slot");
    for (int i = 1; i <= scenario->slots; i++)
        if (count.slots[i] > 1)
            fail("P7: a child finds slot %d %d times", i, count.slots[i]);
    for (int i = 1; i <= scenario->magazines; i++)
        if (count.magazines[i] > 1)
            fail("P7: a child finds magazine %d twice", i);
}
