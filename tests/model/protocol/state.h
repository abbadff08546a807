// SPDX-License-Identifier: BSD-2-Clause
// state.h - a state of the model: memory, threads, and what only the audits know.
//
// States are compared by a hash of their bytes, so nothing here has padding, and a variable is 0
// when it has no meaning.
#pragma once
#include <type_traits>
#include "words.h"
#include MEMORY

enum { BUSY = 0x80, NO_CACHE = 0xff };

// What differs from the protocol: `PROTOCOL` has all of it and nothing else.
enum Variant : unsigned {
    PROTOCOL = 0,
    // Right as well.
    SYMMETRIC = 1u << 0, // without the kernel's barrier: the inline path is seq_cst
    SKIPPING = 1u << 1,  // a closer may pass by an owner that is inside, as after the stall limit
    // Planted bugs.
    NO_BARRIER = 1u << 2,
    NO_BUSY = 1u << 3,             // the inline path does not set BUSY
    NO_CHECK = 1u << 4,            // closed is not looked at again after opening
    NO_LOOK = 1u << 5,             // an owner opens without a look at closed before
    LATE_ANNOUNCE = 1u << 6,       // a waiter announces after closing and looking
    COUNT_FIRST = 1u << 7,         // a closer reads count before loaded
    TAGGED = 1u << 8,              // loaded carries a tag that counts its changes: no bug alone
    EARLY_COUNT = 1u << 9,         // a closer reads loaded and count before the barrier
    SKIPPED_SLEEP = 1u << 10,      // a waiter that passed by an owner sleeps until it is called
    QUIET_ALLOC = 1u << 11,        // who puts rounds back in an alloc does not ask
    BUSY_DRY = 1u << 12,           // an owner stays BUSY while it reclaims
    CHECK_LOADS = 1u << 13,        // closed is looked at again by a seq_cst load
    BLIND_CLOSE = 1u << 14,        // a closer stores a relaxed 0 into limit, without a look
    NO_SETTLE = 1u << 15,          // a dry alloc does not wait for what is in flight
    NO_COMPARE = 1u << 16,         // it waits, and does not compare moves
    MOVES_FIRST = 1u << 17,        // the slow path ends with moves before count
    POP_RELAXED = 1u << 18,        // the pop's last store is relaxed
    LIMIT_AGAIN = 1u << 19,        // the slow path of an open entry stores limit
    BARRIER_FIRST = 1u << 20,      // the barrier comes before the closing
    LATE_RELAXED_ASK = 1u << 21    // asks is loaded at the end, relaxed
};

enum Routine : u8 {
    BEGIN, INLINE, OWNER, SWAP_FULL, SWAP_EMPTY, CLOSED_OWNER, CLOSED_ALLOC, CLOSED_FREE, OPEN,
    TO_DEPOT, FINISH, LEAVE, DEPOT_ALLOC, DEPOT_FREE, OWNER_DRY, DRY, LOOK, CLOSE, BARRIER, TAKE,
    TAKE_LOADED, SEEK, SETTLE, SLEEP, DRY_END, ASK
};

// The variables of one operation.
struct Locals {
    u8 operation;            // its letter
    u8 count, limit, loaded; // as they were read
    u8 slot;                 // what is obtained or given back
    u8 magazine, rounds;     // what an owner has in its hands, and the rounds in it
    u8 other;                // the magazine that comes in place of the loaded one
    u8 mine;                 // the magazine that an owner has taken back
    u8 moved;                // moves will advance
    u8 ask;                  // 1: ask whether somebody waits; 2: somebody does
    u8 closed;               // as it was read, or the owner's choice to stay closed
    u8 waits;                // a waiter, not a dry alloc
    u8 caches, at;           // how many caches are known, and which is looked at
    u8 need;                 // the barrier is needed, and there is something to take
    u8 seen;                 // a word of somebody else's
    u8 early;                // EARLY_COUNT: loaded and seen were read before the barrier
    u8 rest;                 // rounds were put into the depot for others
    u8 skipped, nap;         // an owner was passed by, and the number after its cache's
    u8 moves[THREADS];       // as they were before the look
};

struct Thread {
    u8 line[2];   // of the step where the routine goes on, 0 at its beginning
    u8 routine;
    u8 next;      // which operation comes
    u8 ended;
    u8 own;       // the cache of its own,
    u8 cache;     // and the same, or NO_CACHE while it is not registered
    u8 current;   // its loaded magazine, as long as it is open
    u8 tag;       // TAGGED
    u8 held[4], holds; // the slots that it has obtained
    u8 unfenced;  // threads that its barrier has still to reach
    u8 sleeping;
    u8 was_dry;   // no slot was free at some instant since the alloc began
    Locals local;
};

// What becomes of a slot.
enum Fate : u8 { FREE, LIVE, RETURNING };

struct State {
    Memory memory;
    Thread threads[THREADS];
    u8 fate[SLOTS + 1];
    u8 free; // free slots.  A pop takes its slot where it passes its comparison
};
static_assert(std::has_unique_object_representations_v<State>, "a state has padding");

// Two or three threads and what they do, as letters:
//   A  alloc      F  free of the slot obtained last      W  wait for a slot
//   R  register the cache      X  the thread's end
// Slots are dealt out in order: to the open caches, to the threads, the rest to the depot.
struct Scenario {
    const char *name;
    u8 threads, slots, magazines, rounds, caches;
    const char *operations[THREADS];
    u8 cache[THREADS];
    int open[CACHES]; // the rounds in each cache, or -1: closed
    int held[THREADS];
    int depot;
};
extern const Scenario scenarios[];
const Scenario *scenario_of(const char *name);
State state_of(const Scenario &scenario);

extern const Scenario *scenario;
extern unsigned variant;

inline u8 magazine_of(u8 loaded) { return loaded & 7; }

// make_step - a step of a thread, in owner.cpp and reclaim.cpp.
void make_step(State &state, int thread);
const char *place_of(const Thread &thread);

// What must hold, in audit.cpp: when a slot is obtained and given back, at the end of an
// execution, and in the child of a fork at any instant.
void slot_obtained(State &state, Thread &thread, u8 slot);
void slot_taken(State &state);
void slot_freed(State &state, u8 slot);
void audit_end(const State &state);
void audit_child(const State &state);
