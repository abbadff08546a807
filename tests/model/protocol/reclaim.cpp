// SPDX-License-Identifier: BSD-2-Clause
// reclaim.cpp - dry allocs and waiters, who close the entries of others and take what is in them.
#include <cstdio>
#include "actor.h"

static bool is_outside(u8 count) { return !(count & BUSY); }

// owner_dry - an owner goes outside first: two of them would wait for each other.
void Actor::owner_dry()
{
    ROUTINE
        my.rounds = 0;
        if (!is(BUSY_DRY))
            STEP(store(count(), 0, release));
        STEP(moves_even(my.moved));
        go(DRY);
    END
}

void Actor::dry()
{
    ROUTINE
        my.moved = my.ask = 0;
        STEP(add(CLOSED, 1, closed_order()));
        go(LOOK);
    END
}

// look - a waiter announces before it closes and looks.  A dry alloc notes what moves.
void Actor::look()
{
    ROUTINE
        my.need = my.skipped = my.nap = my.moved = 0;
        if (my.waits && !is(LATE_ANNOUNCE))
            STEP(replace(ASKS, 1, seq_cst));
        STEP(my.caches = load(MADE, made_order()));
        if (!my.waits)
            for (my.at = 0; my.at < scenario->threads; my.at++)
                STEP(my.moves[my.at] = load(moves_of(my.at), acquire) & ~1);
        if (is(BARRIER_FIRST)) {
            STEP(send_barrier());
            STEP(step.blocked = self.unfenced != 0);
            memory.fence(me);
        }
        go(CLOSE);
    END
}

void Actor::close()
{
    ROUTINE
        for (my.at = 0; my.at < my.caches; my.at++) {
            if (is(BLIND_CLOSE)) {
                STEP(store(limit_of(my.at), 0, relaxed));
                my.need = 1;
                continue;
            }
            STEP(my.limit = load(limit_of(my.at), seq_cst));
            if (my.limit != 0) {
                my.need = 1;
                STEP(replace(limit_of(my.at), 0, seq_cst));
            } else {
                STEP(if (magazine_of(load(loaded_of(my.at), acquire)) != 0) my.need = 1);
            }
        }
        go(BARRIER);
    END
}

// The barrier reaches each other thread at a moment of its own.
void Actor::send_barrier()
{
    memory.fence(me);
    for (int i = 0; i < scenario->threads; i++)
        if (i != me && !state.threads[i].ended)
            self.unfenced = (u8)(self.unfenced | 1 << i);
}

// barrier - a pool that is closed and has nothing loaded needs none.
void Actor::barrier()
{
    ROUTINE
        if (!my.need)
            return go(SEEK);
        my.at = 0;
        if (is(NO_BARRIER | SYMMETRIC | BARRIER_FIRST))
            return go(TAKE);
        if (is(EARLY_COUNT)) {
            STEP(my.loaded = load(loaded_of(0), acquire));
            STEP(my.seen = load(count_of(0), acquire));
            my.early = 1;
        }
        STEP(send_barrier());
        STEP(step.blocked = self.unfenced != 0);
        memory.fence(me);
        go(TAKE);
    END
}

// take_all - the magazine of each owner that is outside.  An owner with nothing loaded is not
// waited for.
void Actor::take_all()
{
    ROUTINE
        for (; my.at < my.caches; my.at++) {
        again:
            if (is(COUNT_FIRST)) {
                STEP(my.seen = load(count_of(my.at), look_order()));
                STEP(my.loaded = load(loaded_of(my.at), acquire));
            } else if (!my.early) {
                STEP(my.loaded = load(loaded_of(my.at), acquire));
                STEP(my.seen = load(count_of(my.at), look_order()));
            }
            my.early = 0;
            if (magazine_of(my.loaded) == 0)
                continue;
            if (!(my.seen & BUSY))
                return go(TAKE_LOADED);
            if (is(SKIPPING)) {
                STEP(if (choose(2) == 1) my.nap = (u8)(my.at + 1));
                if (my.nap == my.at + 1) {
                    my.skipped = 1;
                    continue;
                }
            }
            STEP(memory.load_until(me, count_of(my.at), acquire, is_outside));
            goto again;
        }
        go(SEEK);
    END
}

// take_loaded - moves are odd from the taking to the put.
void Actor::take_loaded()
{
    ROUTINE
        STEP(moves_odd());
        STEP(my.magazine = take(my.at, my.loaded) ? magazine_of(my.loaded) : 0);
        if (my.magazine == 0) {
            STEP(moves_even(false));
            return go(TAKE);
        }
        my.moved = 1;
        STEP(put(my.magazine, my.seen));
        STEP(moves_even(true));
        if (my.seen)
            my.rest++;
        my.at++;
        go(TAKE);
    END
}

// seek - a look into the depot.
void Actor::seek()
{
    ROUTINE
        STEP(moves_odd());
        STEP(my.magazine = memory.pop(me, FULL));
        if (my.magazine != 0) {
            open_magazine(my.magazine);
            STEP(put(my.magazine, my.rounds));
            my.ask = 1;
        }
        STEP(moves_even(my.magazine != 0));
        if (my.slot != 0)
            return go(DRY_END);
        go(my.waits ? SLEEP : SETTLE);
    END
}

// settle - a dry alloc that found nothing awaits what was in flight, and looks again if anything
// moved.
void Actor::settle()
{
    ROUTINE
        for (my.at = 0; !my.skipped && !is(NO_SETTLE) && my.at < scenario->threads; my.at++) {
            if (my.at == me) {
                if (my.moved)
                    return go(LOOK);
                continue;
            }
            STEP(my.seen = memory.load_until(me, moves_of(my.at), acquire, [this](u8 value) {
                     return is(NO_COMPARE) || !(value & 1) || value != (my.moves[my.at] | 1);
                 }));
            if ((my.seen & ~1) != my.moves[my.at] && !is(NO_COMPARE))
                return go(LOOK);
        }
        if (!my.skipped && !self.was_dry)
            return fail("P3: NULL by thread %d though a slot was free all the time", me);
        my.ask = my.rest > 0;
        go(DRY_END);
    END
}

// sleep - a waiter that passed by an owner naps until that owner has left.
void Actor::sleep()
{
    ROUTINE
        if (is(LATE_ANNOUNCE))
            STEP(replace(ASKS, 1, seq_cst));
        self.sleeping = 1;
        if (my.nap && !is(SKIPPED_SLEEP))
            STEP(memory.load_until(me, count_of(my.nap - 1), acquire, is_outside));
        else
            STEP(memory.load_until(me, ASKS, acquire, [](u8 value) { return value == 0; }));
        self.sleeping = 0;
        go(LOOK);
    END
}

void Actor::dry_end()
{
    ROUTINE
        if (my.waits)
            STEP(replace(ASKS, 0, seq_cst));
        STEP(add(CLOSED, -1, release));
        if (my.slot != 0)
            slot_obtained(state, self, my.slot);
        if (self.cache != NO_CACHE && is(BUSY_DRY))
            STEP(store(count(), 0, release));
        go(ASK);
    END
}

// ask - calls whoever waits, after a put.
void Actor::ask()
{
    ROUTINE
        if (my.ask == 1) {
            STEP(my.seen = load(ASKS, is(LATE_RELAXED_ASK) ? relaxed : seq_cst));
            my.ask = my.seen ? 2 : 0;
        }
        if (my.ask == 2)
            STEP(replace(ASKS, 0, seq_cst));
        go(BEGIN);
    END
}

void Actor::run()
{
    do {
        jumped = false;
        switch (self.routine) {
        case BEGIN: begin(); break;
        case INLINE: pop_or_push(); break;
        case OWNER: owner(); break;
        case SWAP_FULL: swap_full(); break;
        case SWAP_EMPTY: swap_empty(); break;
        case CLOSED_OWNER: closed_owner(); break;
        case CLOSED_ALLOC: closed_alloc(); break;
        case CLOSED_FREE: closed_free(); break;
        case OPEN: open(); break;
        case TO_DEPOT: to_depot(); break;
        case FINISH: finish(); break;
        case LEAVE: leave(); break;
        case DEPOT_ALLOC: depot_alloc(); break;
        case DEPOT_FREE: depot_free(); break;
        case OWNER_DRY: owner_dry(); break;
        case DRY: dry(); break;
        case LOOK: look(); break;
        case CLOSE: close(); break;
        case BARRIER: barrier(); break;
        case TAKE: take_all(); break;
        case TAKE_LOADED: take_loaded(); break;
        case SEEK: seek(); break;
        case SETTLE: settle(); break;
        case SLEEP: sleep(); break;
        case DRY_END: dry_end(); break;
        case ASK: ask(); break;
        default: fail("model: no such routine");
        }
    } while (jumped && !step_stops());
}

void make_step(State &state, int thread)
{
    Actor(state, thread).run();

    // A dry alloc may return NULL if no slot was free at some instant of its call.
    if (state.free == 0)
        for (int i = 0; i < scenario->threads; i++)
            state.threads[i].was_dry = 1;
}

// place_of - where a thread goes on, for traces.
const char *place_of(const Thread &thread)
{
    static char text[40];

    snprintf(text, sizeof text, "%s:%d", thread.routine < OWNER_DRY ? "owner.cpp" : "reclaim.cpp",
        thread.line[0] | thread.line[1] << 8);
    return text;
}
