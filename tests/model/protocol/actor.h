// SPDX-License-Identifier: BSD-2-Clause
// actor.h - the protocol of closable entries, as threads that make one access a step.
//
// An owner pops and pushes inline as long as its entry is open: limit is not 0.  It marks its
// count BUSY meanwhile.  Who finds no slot (a dry alloc, a waiter) closes all entries, passes a
// barrier in all other threads, waits for owners that are inside, and takes their magazines.
//
// A routine is a switch that goes on at the line where it stopped.  STEP ends a step and begins
// the next, so an access is seen by the others before the next one is made.  After an access that
// is blocked or fails the routine returns at once, and the state is thrown away.  Routines have no
// variables of their own: those are in Locals.
#pragma once
#include "state.h"

#define STEP(...)                               \
    do {                                        \
        self.line[0] = (u8)(__LINE__ & 0xff);   \
        self.line[1] = (u8)(__LINE__ >> 8);     \
        return;                                 \
    case __LINE__:                              \
        __VA_ARGS__;                            \
        if (step_stops())                       \
            return;                             \
    } while (0)
#define ROUTINE switch (self.line[0] | self.line[1] << 8) { case 0:
#define END }

inline bool is(unsigned bit) { return (variant & bit) != 0; }

// Where the symmetric form differs.
inline Order inline_order() { return is(SYMMETRIC) ? seq_cst : relaxed; }
inline Order look_order() { return is(SYMMETRIC) ? seq_cst : acquire; }
inline Order closed_order() { return is(SYMMETRIC | CHECK_LOADS) ? seq_cst : acq_rel; }
inline Order made_order() { return is(SYMMETRIC | CHECK_LOADS) ? seq_cst : acquire; }

// A thread while it makes a step.
class Actor {
public:
    Actor(State &of, int thread) :
        state(of), memory(of.memory), self(of.threads[thread]), my(self.local), me(thread)
    {
    }
    void run();

private:
    State &state;
    Memory &memory;
    Thread &self;
    Locals &my;
    const int me;
    bool jumped = false;

    // go - the step goes on in another routine.
    void go(Routine routine)
    {
        self.routine = routine;
        self.line[0] = self.line[1] = 0;
        jumped = true;
    }

    u8 load(int where, Order order) { return memory.load(me, where, order); }
    void store(int where, u8 value, Order order) { memory.store(me, where, value, order); }
    u8 replace(int where, u8 value, Order order)
    {
        return memory.update(me, where, order, [value](u8) { return value; });
    }
    u8 add(int where, int number, Order order)
    {
        return memory.update(me, where, order, [number](u8 old) { return (u8)(old + number); });
    }

    // Words of the own cache and thread.
    int count() const { return count_of(self.own); }
    int limit() const { return limit_of(self.own); }
    int loaded() const { return loaded_of(self.own); }
    void moves_odd() { store(moves_of(me), load(moves_of(me), relaxed) | 1, relaxed); }
    void moves_even(bool advance)
    {
        u8 even = (u8)(load(moves_of(me), relaxed) & ~1);

        store(moves_of(me), (u8)(advance ? even + 2 : even), release);
    }

    u8 next_loaded(u8 magazine);
    bool take(int cache, u8 from);
    void take_back();
    void retract();
    void put(u8 magazine, u8 rounds);
    void push(int set, u8 magazine);
    void open_magazine(u8 magazine);
    void call_after_put();

    void begin();
    void begin_free();
    void pop_or_push();
    void owner();
    void swap_full();
    void swap_empty();
    void closed_owner();
    void closed_alloc();
    void closed_free();
    void open();
    void to_depot();
    void finish();
    void leave();
    void depot_alloc();
    void depot_free();
    void owner_dry();
    void dry();
    void look();
    void close();
    void barrier();
    void send_barrier();
    void take_all();
    void take_loaded();
    void seek();
    void settle();
    void sleep();
    void dry_end();
    void ask();
};
