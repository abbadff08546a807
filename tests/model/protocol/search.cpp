// SPDX-License-Identifier: BSD-2-Clause
// search.cpp - a depth-first search over states that have not been met, and random walks.
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <deque>
#include <vector>
#include "search.h"
#include "state.h"

const Scenario *scenario;
unsigned variant;

static uint64_t mix(uint64_t hash, uint64_t value)
{
    uint64_t mixed = (hash ^ value ^ 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;

    mixed = (mixed ^ (mixed >> 32)) * 0xd6e8feb86659fd93u;
    return mixed ^ (mixed >> 29);
}

uint64_t hash_number(uint64_t hash, uint64_t number) { return mix(hash, number); }

uint64_t hash_bytes(uint64_t hash, const void *bytes, unsigned size)
{
    const u8 *from = (const u8 *)bytes;
    uint64_t value;

    for (; size >= sizeof value; size -= (unsigned)sizeof value, from += sizeof value) {
        memcpy(&value, from, sizeof value);
        hash = mix(hash, value);
    }
    value = (uint64_t)size << 56;
    memcpy(&value, from, size);
    return mix(hash, value);
}

namespace {

// What happens next: a thread makes a step, a store leaves a thread's buffer, or the barrier of
// `from` reaches a thread.
enum Kind : u8 { RUN, DRAIN, FENCE };
struct Move {
    Kind kind;
    u8 thread, from, choice;
};

// next_move - in the order in which they are tried.  False after the last.
bool next_move(Move &move)
{
    const int threads = scenario->threads;

    move.choice = 0;
    if (move.kind == FENCE && ++move.from < threads)
        return true;
    move.from = 0;
    if (++move.thread < threads)
        return true;
    move.thread = 0;
    if (move.kind == FENCE)
        return false;
    move.kind = move.kind == RUN ? DRAIN : FENCE;
    return true;
}

// is_there - whether there is something to be done.  What is done may be blocked all the same.
bool is_there(const State &state, const Move &move)
{
    switch (move.kind) {
    case RUN: return !state.threads[move.thread].ended;
    case DRAIN: return state.memory.has_stored(move.thread);
    default: return (state.threads[move.from].unfenced & 1u << move.thread) != 0;
    }
}

// apply - makes a move from `state` to `next`.  False: it is not possible now, and `next` is of no
// use.
bool apply(const State &state, const Move &move, State &next)
{
    unsigned ended = 0;

    if (!is_there(state, move))
        return false;
    next = state;
    step.choice = move.choice;
    step.choices = 1;
    step.blocked = false;
    switch (move.kind) {
    case RUN:
        make_step(next, move.thread);
        if (step.blocked && !step.failed)
            return false;
        break;
    case DRAIN:
        next.memory.drain(move.thread);
        break;
    default:
        next.threads[move.from].unfenced &= (u8)~(1u << move.thread);
        next.memory.fence(move.thread);
    }
    for (unsigned i = 0; i < THREADS; i++)
        ended |= next.threads[i].ended ? 1u << i : 0;
    if (!step.failed)
        next.memory.tidy(scenario->threads, ended);
    return true;
}

// A set of hashes.  0 is a free place.
class Hashes {
public:
    Hashes() : places(1 << 16) {}

    bool insert(uint64_t hash)
    {
        hash += hash == 0;
        if (count * 2 > places.size())
            grow();
        uint64_t &place = find(hash);
        if (place == hash)
            return false;
        place = hash;
        count++;
        return true;
    }

private:
    std::vector<uint64_t> places;
    size_t count = 0;

    uint64_t &find(uint64_t hash)
    {
        size_t i = hash & (places.size() - 1);

        while (places[i] != 0 && places[i] != hash)
            i = (i + 1) & (places.size() - 1);
        return places[i];
    }

    void grow()
    {
        std::vector<uint64_t> old(places.size() * 2);

        old.swap(places);
        for (uint64_t hash : old)
            if (hash != 0)
                find(hash) = hash;
    }
};

// A state on the way from the first one, the move that led to it, and the one that is tried now.
struct Frame {
    State state;
    Move by, move;
    int choices;  // of the step that is tried
    bool moved;   // some move was possible
    bool over;    // all have been tried
    int last;     // the thread that made the last step, or -1
    int budget;   // preemptions left
};

class Search {
public:
    Search(const Effort &what) : effort(what) {}
    Outcome run();
    void show() const;

private:
    const Effort effort;
    Outcome outcome = {false, true, 0, 0, ""};
    Hashes met;
    std::deque<Frame> frames; // never moved, and used again
    size_t depth = 0;
    std::vector<Move> walked;
    uint64_t seed = 0;

    Frame &enter();
    void visit(const Frame &frame);
    bool preempts(const Frame &frame, const Move &move);
    bool is_new(const Frame &frame);
    void try_move();
    void run_complete();
    unsigned random(unsigned n);
    bool random_move(State &state, int &current, unsigned steady);
    bool any_move(State &state);
    void walk();
};

Frame &Search::enter()
{
    if (depth == frames.size())
        frames.emplace_back();
    return frames[depth];
}

void Search::visit(const Frame &frame)
{
    outcome.states++;
    if (effort.forks)
        audit_child(frame.state);
}

// preempts - whether the thread that made the last step could go on.
bool Search::preempts(const Frame &frame, const Move &move)
{
    if (move.kind != RUN || frame.last < 0 || frame.last == move.thread)
        return false;
    Step kept = step;
    State next;
    bool possible = apply(frame.state, {RUN, (u8)frame.last, 0, 0}, next);

    step = kept;
    return possible;
}

bool Search::is_new(const Frame &frame)
{
    const State &state = frame.state;
    uint64_t hash = state.memory.hash(1);

    hash = hash_bytes(hash, state.threads, (unsigned)(sizeof state - offsetof(State, threads)));
    if (effort.preemptions >= 0)
        hash = hash_number(hash, (uint64_t)(frame.budget * 8 + frame.last + 1));
    return met.insert(hash);
}

// try_move - the next move of the last frame, which becomes a frame if its state is new.
void Search::try_move()
{
    Frame &from = frames[depth - 1];
    Frame &to = enter();
    Move move = from.move;

    bool possible = apply(from.state, move, to.state);
    from.choices = possible && move.choice == 0 ? step.choices : from.choices;
    if (!possible || ++from.move.choice >= from.choices) {
        from.choices = 1;
        from.over = !next_move(from.move);
    }
    if (!possible)
        return;
    from.moved = true;
    to.last = from.last;
    to.budget = from.budget;
    if (effort.preemptions >= 0 && move.kind == RUN) {
        if (!step.failed && preempts(from, move) && to.budget-- == 0)
            return;
        to.last = move.thread;
    }
    if (!step.failed && !is_new(to))
        return;
    to.by = move;
    to.move = {RUN, 0, 0, 0};
    to.choices = 1;
    to.moved = to.over = false;
    depth++;
    if (!step.failed)
        visit(to);
}

void Search::run_complete()
{
    Frame &first = enter();

    first = Frame{state_of(*scenario), {}, {RUN, 0, 0, 0}, 1, false, false, -1, effort.preemptions};
    depth = 1;
    is_new(first);
    visit(first);
    while (depth > 0 && !step.failed) {
        Frame &frame = frames[depth - 1];
        if (outcome.states >= effort.states) {
            outcome.complete = false;
            return;
        }
        if (!frame.over) {
            try_move();
            continue;
        }
        if (!frame.moved) {
            outcome.ends++;
            audit_end(frame.state);
        }
        depth -= !step.failed;
    }
    for (size_t i = 1; i < depth; i++)
        walked.push_back(frames[i].by);
}

// random - 0 to n - 1.
unsigned Search::random(unsigned n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)((seed >> 20) % n);
}

// random_move - mostly of the thread that made the last one, so that threads get ahead of each
// other.  False: none of some tries was possible.
bool Search::random_move(State &state, int &current, unsigned steady)
{
    const unsigned threads = scenario->threads;
    State next;

    for (int tries = 0; tries < 60; tries++) {
        unsigned kind = random(10);
        Move move = {kind < 6 ? RUN : kind < 8 ? DRAIN : FENCE, 0, 0, 0};
        move.thread = (u8)random(threads);
        move.from = (u8)random(threads);
        if (tries == 0 && current >= 0 && random(steady) != 0)
            move = {RUN, (u8)current, 0, 0};
        if (!apply(state, move, next))
            continue;
        move.choice = (u8)random((unsigned)step.choices);
        if (move.choice != 0 && !step.failed)
            apply(state, move, next);
        state = next;
        walked.push_back(move);
        current = move.kind == RUN ? move.thread : current;
        return true;
    }
    return false;
}

// any_move - the first that is possible, where chance has found none.
bool Search::any_move(State &state)
{
    Move move = {RUN, 0, 0, 0};
    State next;

    do {
        if (apply(state, move, next)) {
            state = next;
            walked.push_back(move);
            return true;
        }
    } while (next_move(move));
    return false;
}

// walk - one execution at random, to its end or for some thousand steps.
void Search::walk()
{
    State state = state_of(*scenario);
    unsigned steady = 1 + random(8);
    int current = -1;

    walked.clear();
    for (int steps = 0; steps < 3000 && !step.failed; steps++) {
        if (!random_move(state, current, steady) && !any_move(state)) {
            outcome.ends++;
            return audit_end(state);
        }
        if (effort.forks && !step.failed)
            audit_child(state);
    }
}

Outcome Search::run()
{
    step = Step();
    if (effort.walks == 0)
        run_complete();
    for (long i = 0; i < effort.walks && !step.failed; i++) {
        seed = 0x9e3779b97f4a7c15u * (uint64_t)(i + 1);
        outcome.states++;
        walk();
    }
    outcome.failed = step.failed;
    outcome.error = step.error;
    return outcome;
}

// show - the steps of the execution that failed.
void Search::show() const
{
    State state = state_of(*scenario);

    step = Step();
    for (const Move &move : walked) {
        const Thread &thread = state.threads[move.thread]; // and after the move
        const Locals &local = thread.local;
        if (move.kind == RUN)
            printf("  thread %d at %s, choice %d:", move.thread, place_of(thread), move.choice);
        else
            printf("  thread %d %s:", move.thread,
                move.kind == DRAIN ? "stores" : "meets a barrier");
        State next;
        apply(state, move, next);
        state = next;
        printf(" %c count %x limit %d slot %d magazine %d rounds %d seen %x closed %d\n",
            local.operation ? local.operation : '-', local.count, local.limit, local.slot,
            local.magazine, local.rounds, local.seen, local.closed);
    }
}

} // namespace

Outcome search(const Effort &effort, bool trace)
{
    Search it(effort);
    Outcome outcome = it.run();

    if (outcome.failed && trace)
        it.show();
    return outcome;
}
