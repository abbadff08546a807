// SPDX-License-Identifier: BSD-2-Clause
// owner.cpp - the inline path, and what an owner does out of line.
#include "actor.h"

// next_loaded - the value of loaded for a magazine.
u8 Actor::next_loaded(u8 magazine)
{
    return is(TAGGED) ? (u8)(++self.tag << 3 | magazine) : magazine;
}

// take - takes the magazine of a cache, if it is still the one that was read.
bool Actor::take(int cache, u8 from)
{
    u8 empty = is(TAGGED) ? (u8)(((from >> 3) + 1) << 3) : 0;
    u8 found = from;
    bool taken = memory.swap(me, loaded_of(cache), found, empty, acq_rel, acquire);

    if (is(TAGGED) && cache == self.own)
        self.tag = (taken ? empty : found) >> 3;
    if (!taken && cache == self.own && magazine_of(found) != 0)
        fail("P1: an owner meets another magazine in its entry");
    return taken;
}

// take_back - what is still the owner's of a closed entry?
void Actor::take_back()
{
    if (!take(self.own, my.loaded))
        return;
    my.mine = magazine_of(my.loaded);
    my.moved = 1;
}

// put - a magazine into the depot.
void Actor::put(u8 magazine, u8 rounds)
{
    memory.write(me, held_of(magazine), rounds);
    push(rounds ? FULL : EMPTY, magazine);
}

void Actor::push(int set, u8 magazine)
{
    u8 old = memory.update(me, set, seq_cst,
        [magazine](u8 value) { return (u8)(value | bit_of(magazine)); });

    if (!step_stops() && (old & bit_of(magazine)))
        fail("P1: magazine %d is twice in the depot", magazine);
}

// open_magazine - a slot of a magazine that came from the depot.
void Actor::open_magazine(u8 magazine)
{
    slot_taken(state);
    my.moved = 1;
    my.rounds = memory.read(me, held_of(magazine));
    if (my.rounds == 0 || my.rounds > ROUNDS)
        return fail("P1: a full magazine has %d rounds", my.rounds);
    my.slot = memory.read(me, round_of(magazine, my.rounds - 1));
    my.rounds--;
}

// Whoever puts rounds into the depot asks afterwards, whatever its operation.
void Actor::call_after_put()
{
    if (my.rounds > 0)
        my.ask = !(is(QUIET_ALLOC) && my.operation == 'A');
}

// ---- an operation's beginning ----

void Actor::begin()
{
    ROUTINE
        my = Locals();
        my.operation = (u8)scenario->operations[me][self.next];
        if (my.operation == 0) {
            STEP(memory.fence(me));
            self.was_dry = 0;
            self.ended = 1;
            return;
        }
        self.next++;
        switch (my.operation) {
        case 'A':
            self.was_dry = state.free == 0;
            return go(self.cache == NO_CACHE ? DEPOT_ALLOC : INLINE);
        case 'F': return begin_free();
        case 'X': return go(LEAVE);
        default: break;
        }
        if (my.operation == 'W') {
            self.was_dry = state.free == 0;
            my.waits = 1;
            STEP();
            return go(DRY);
        }
        self.cache = self.own;
        STEP(store(count(), 0, relaxed));
        STEP(store(MADE, (u8)(self.own + 1), release));
        go(BEGIN);
    END
}

void Actor::begin_free()
{
    if (self.holds == 0)
        return go(BEGIN);
    self.holds--;
    my.slot = self.held[self.holds];
    self.held[self.holds] = 0;
    state.fate[my.slot] = RETURNING;
    go(self.cache == NO_CACHE ? DEPOT_FREE : INLINE);
}

// ---- the inline path ----

void Actor::pop_or_push()
{
    ROUTINE
        STEP(my.count = load(count(), relaxed);
             if (!is(NO_BUSY)) store(count(), my.count | BUSY, inline_order()));
        STEP(my.limit = load(limit(), inline_order()));
        if (my.operation == 'A') {
            if ((u8)(my.count - 1) >= my.limit)
                return go(OWNER);
            slot_taken(state);
            STEP(my.slot = memory.read(me, round_of(self.current, my.count - 1)));
            STEP(store(count(), (u8)(my.count - 1), is(POP_RELAXED) ? relaxed : release));
            slot_obtained(state, self, my.slot);
        } else {
            if (my.count >= my.limit)
                return go(OWNER);
            STEP(memory.write(me, round_of(self.current, my.count), my.slot));
            STEP(store(count(), (u8)(my.count + 1), release));
            slot_freed(state, my.slot);
        }
        go(BEGIN);
    END
}

// ---- the owner out of line: it is BUSY ----

void Actor::owner()
{
    ROUTINE
        STEP(moves_odd());
        STEP(my.limit = load(limit(), look_order()));
        if (my.limit == 0)
            return go(CLOSED_OWNER);
        // Open: nobody takes from an owner that is seen BUSY.
        go(my.operation == 'A' ? SWAP_FULL : SWAP_EMPTY);
    END
}

// An open and empty entry gets a full magazine.  limit is not stored: a closer's 0 stays.
void Actor::swap_full()
{
    ROUTINE
        STEP(my.other = memory.pop(me, FULL));
        if (my.other == 0)
            return go(OWNER_DRY);
        open_magazine(my.other);
        STEP(put(self.current, 0));
        if (is(LIMIT_AGAIN))
            STEP(store(limit(), scenario->rounds, release));
        STEP(store(loaded(), next_loaded(my.other), release));
        self.current = my.other;
        go(FINISH);
    END
}

// An open and full entry gets an empty magazine.
void Actor::swap_empty()
{
    ROUTINE
        STEP(my.other = memory.pop(me, EMPTY));
        if (my.other == 0)
            return fail("model: no empty magazine");
        memory.write(me, held_of(self.current), my.count);
        STEP(push(FULL, self.current));
        my.moved = my.ask = 1;
        if (is(LIMIT_AGAIN))
            STEP(store(limit(), scenario->rounds, release));
        STEP(store(loaded(), next_loaded(my.other), release));
        self.current = my.other;
        STEP(memory.write(me, round_of(my.other, 0), my.slot));
        my.rounds = 1;
        go(FINISH);
    END
}

void Actor::closed_owner()
{
    ROUTINE
        STEP(my.loaded = load(loaded(), relaxed));
        if (is(TAGGED))
            self.tag = my.loaded >> 3;
        if (magazine_of(my.loaded) != 0)
            STEP(take_back());
        if (my.mine == 0)
            my.count = 0;
        if (!is(NO_LOOK))
            STEP(my.closed = load(CLOSED, look_order()));
        if (my.closed == 0)
            STEP(my.closed = (u8)choose(2)); // an owner may stay closed
        go(my.operation == 'A' ? CLOSED_ALLOC : CLOSED_FREE);
    END
}

void Actor::closed_alloc()
{
    ROUTINE
        if (my.mine != 0 && my.count > 0) {
            my.magazine = my.mine;
            slot_taken(state);
            my.rounds = (u8)(my.count - 1);
            my.slot = memory.read(me, round_of(my.magazine, my.rounds));
        } else {
            if (my.mine != 0) {
                STEP(put(my.mine, 0));
                my.mine = 0;
            }
            STEP(my.magazine = memory.pop(me, FULL));
            if (my.magazine == 0)
                return go(OWNER_DRY);
            open_magazine(my.magazine);
        }
        go(my.closed != 0 ? TO_DEPOT : OPEN);
    END
}

void Actor::closed_free()
{
    ROUTINE
        if (my.mine != 0 && my.count < scenario->rounds) {
            my.magazine = my.mine;
            my.rounds = my.count;
        } else {
            if (my.mine != 0) {
                STEP(put(my.mine, my.count));
                my.ask = 1;
            }
            STEP(my.magazine = memory.pop(me, EMPTY));
            if (my.magazine == 0)
                return fail("model: no empty magazine");
        }
        my.moved = 1;
        STEP(memory.write(me, round_of(my.magazine, my.rounds), my.slot));
        my.rounds++;
        go(my.closed != 0 ? TO_DEPOT : OPEN);
    END
}

// Opens, and looks at closed once more: a closer that began before is seen here, and one that
// begins later sees all of the opening, because both change one word.
void Actor::open()
{
    ROUTINE
        STEP(store(loaded(), next_loaded(my.magazine), release));
        self.current = my.magazine;
        STEP(store(limit(), scenario->rounds, seq_cst));
        if (is(NO_CHECK))
            return go(FINISH);
        STEP(my.closed = is(CHECK_LOADS) ? load(CLOSED, seq_cst) : add(CLOSED, 0, acq_rel));
        if (my.closed == 0)
            return go(FINISH);
        STEP(store(limit(), 0, release));
        STEP(retract());
        go(my.closed == 0 ? FINISH : TO_DEPOT);
    END
}

// retract - takes the own magazine, which nobody else can while the owner is BUSY.
void Actor::retract()
{
    bool taken = take(self.own, is(TAGGED) ? (u8)(self.tag << 3 | my.magazine) : my.magazine);

    if (step_stops() || taken)
        return;
    if (!is(NO_LOOK))
        fail("P1: the magazine of an owner that is inside was taken");
    my.rounds = my.closed = 0;
}

void Actor::to_depot()
{
    ROUTINE
        STEP(put(my.magazine, my.rounds));
        if (my.operation == 'F') {
            slot_freed(state, my.slot);
            my.slot = 0;
        }
        call_after_put();
        my.rounds = 0;
        go(FINISH);
    END
}

// finish - the last step: count first, then moves.  The child of a fork that finds BUSY and moves
// even relies on count.
void Actor::finish()
{
    ROUTINE
        if (!is(LATE_RELAXED_ASK) && my.ask) {
            STEP(my.ask = load(ASKS, seq_cst));
            my.ask = my.ask ? 2 : 0;
        }
        if (is(MOVES_FIRST))
            STEP(moves_even(my.moved));
        STEP(store(count(), my.rounds, release));
        if (my.operation == 'F' && my.slot) {
            slot_freed(state, my.slot);
            my.slot = 0;
        }
        if (!is(MOVES_FIRST))
            STEP(moves_even(my.moved));
        if (my.operation == 'A')
            slot_obtained(state, self, my.slot);
        go(ASK);
    END
}

// leave - the thread's end.  A closer may win the magazine, and nobody waits for it.
void Actor::leave()
{
    ROUTINE
        STEP(my.count = load(count(), relaxed);
             store(count(), my.count | BUSY, is(SYMMETRIC) ? seq_cst : release));
        STEP(moves_odd());
        STEP(my.limit = load(limit(), look_order()));
        self.cache = NO_CACHE;
        if (my.limit != 0)
            STEP(store(limit(), 0, release));
        STEP(my.loaded = load(loaded(), relaxed));
        if (magazine_of(my.loaded) != 0) {
            STEP(if (take(self.own, my.loaded)) my.mine = magazine_of(my.loaded));
            if (my.mine) {
                my.moved = 1;
                STEP(put(my.mine, my.count));
                my.ask = my.count > 0;
            }
        }
        go(FINISH);
    END
}

// ---- without a cache ----

void Actor::depot_alloc()
{
    ROUTINE
        STEP(moves_odd());
        STEP(my.magazine = memory.pop(me, FULL));
        if (my.magazine != 0) {
            open_magazine(my.magazine);
            STEP(put(my.magazine, my.rounds));
            my.ask = my.rounds > 0;
        }
        STEP(moves_even(my.moved));
        if (my.slot == 0)
            return go(DRY);
        slot_obtained(state, self, my.slot);
        go(ASK);
    END
}

void Actor::depot_free()
{
    ROUTINE
        STEP(moves_odd());
        STEP(my.magazine = memory.pop(me, EMPTY));
        if (my.magazine == 0)
            return fail("model: no empty magazine");
        memory.write(me, round_of(my.magazine, 0), my.slot);
        STEP(memory.write(me, held_of(my.magazine), 1));
        STEP(push(FULL, my.magazine));
        my.ask = 1;
        slot_freed(state, my.slot);
        STEP(moves_even(true));
        go(ASK);
    END
}
