// SPDX-License-Identifier: BSD-2-Clause
// words.h - the words that the threads of the model share, and what a step of the model is.
//
// The words come in two kinds.  Those before `ATOMIC_WORDS` are atomic: each access names its
// order.  The rest is plain data of a magazine, which has one owner at a time.
#pragma once
#include <cstdint>

typedef uint8_t u8;

enum Order { relaxed, acquire, release, acq_rel, seq_cst };

enum { THREADS = 3, CACHES = 2, MAGAZINES = 5, ROUNDS = 2, SLOTS = 7 };

enum Word {
    COUNTS = 0,                 // of each cache: the rounds in it, or these and BUSY
    LIMITS = COUNTS + CACHES,   // of each cache: the rounds of a magazine, or 0: closed
    LOADED = LIMITS + CACHES,   // of each cache: its magazine, or 0
    MOVES = LOADED + CACHES,    // of each thread: odd, it may hold something
    FULL = MOVES + THREADS,     // the depot, as two sets with a bit for each magazine
    EMPTY,
    CLOSED,                     // closers and waiters that are under way
    ASKS,                       // 1: a waiter wants to be called
    MADE,                       // how many caches are registered
    ATOMIC_WORDS,
    HELD = ATOMIC_WORDS,        // of each magazine: how many rounds it came into the depot with
    ROUND = HELD + MAGAZINES,   // the rounds of each magazine
    WORDS = ROUND + MAGAZINES * ROUNDS
};

// Magazines are counted from 1, because 0 is none.
inline int count_of(int cache) { return COUNTS + cache; }
inline int limit_of(int cache) { return LIMITS + cache; }
inline int loaded_of(int cache) { return LOADED + cache; }
inline int moves_of(int thread) { return MOVES + thread; }
inline int held_of(int magazine) { return HELD + magazine - 1; }
inline int round_of(int magazine, int i) { return ROUND + (magazine - 1) * ROUNDS + i; }
inline u8 bit_of(int magazine) { return (u8)(1 << magazine); }

inline u8 lowest_of(u8 set)
{
    u8 magazine = 1;

    while (!(set & bit_of(magazine)))
        magazine++;
    return magazine;
}

// The step that is being made.  At most one choice is made in a step: which store a load reads,
// where a store goes, or what the protocol leaves open.
struct Step {
    int choice;      // which of the possibilities is taken
    int choices;     // how many there are
    bool blocked;    // the step cannot be made now
    bool failed;     // a property is violated, and `error` says which
    char error[160]; // begins with the property
};
extern Step step;

inline bool step_stops() { return step.blocked || step.failed; }

// The property that `format` begins with is violated.  The first error stays.
__attribute__((format(printf, 1, 2))) void fail(const char *format, ...);

// choose - one of `n` possibilities.  Without any the step is blocked.
inline int choose(int n)
{
    if (n == 0) {
        step.blocked = true;
        return -1;
    }
    if (n == 1)
        return 0;
    if (step.choices > 1)
        fail("model: two choices in a step");
    step.choices = n;
    return step.choice;
}

// A hash of 64 bits.  That two states of some millions share one is improbable.
uint64_t hash_bytes(uint64_t hash, const void *bytes, unsigned size);
uint64_t hash_number(uint64_t hash, uint64_t number);
