// SPDX-License-Identifier: BSD-2-Clause
// memory_views.h - a weak memory: C11 without load buffering.
//
// Each atomic word has its stores in modification order.  A thread has a view, the oldest store of
// each word that it may still read.  A load reads any store from there on, and a store goes to any
// place behind it.  A release store carries its thread's view, and an acquire load takes it over.
// A read-modify-write stands right behind what it has read, and passes that store's view on.
// seq_cst accesses and fences have a view in common.
//
// Plain words have a version for each access, reads included.  A thread that has not seen the
// newest version races.
#pragma once
#include <cstring>
#include "words.h"

struct Memory {
    enum { STORES = 24 }; // of a word that some thread may still read

    u8 views[THREADS][WORDS];
    u8 common[WORDS]; // the view of all that is seq_cst
    u8 stores[WORDS]; // how many there are, and of a plain word the versions
    u8 plain[WORDS - ATOMIC_WORDS];
    u8 value[ATOMIC_WORDS][STORES];
    u8 glued[ATOMIC_WORDS][STORES]; // no store may come between this one and the last
    u8 carried[ATOMIC_WORDS][STORES][WORDS];

    static constexpr const char *name() { return "views"; }
    static constexpr bool can_fork() { return false; }
    static bool acquires(Order order) { return order != relaxed && order != release; }
    static bool releases(Order order) { return order != relaxed && order != acquire; }

    static void join(u8 *view, const u8 *other)
    {
        for (int i = 0; i < WORDS; i++)
            if (view[i] < other[i])
                view[i] = other[i];
    }

    int oldest(int me, int where, Order order) const
    {
        int first = views[me][where];

        return order == seq_cst && common[where] > first ? common[where] : first;
    }

    void observe(int me, int where, int at, Order order)
    {
        views[me][where] = (u8)at;
        if (acquires(order))
            join(views[me], carried[where][at]);
    }

    bool is_last(int where, int at) const { return at == stores[where] - 1; }
    bool may_follow(int where, int at) const { return is_last(where, at) || !glued[where][at + 1]; }

    // pick - one of the stores that a thread may read and that pass, the newest first.
    template <class Test> int pick(int me, int where, Order order, Test test)
    {
        int found[STORES];
        int count = 0;

        for (int at = stores[where] - 1; at >= oldest(me, where, order); at--)
            if (test(at))
                found[count++] = at;
        int chosen = choose(count);
        return chosen < 0 ? -1 : found[chosen];
    }

    template <class Test> u8 load_until(int me, int where, Order order, Test test)
    {
        int at = pick(me, where, order, [&](int i) { return test(value[where][i]); });

        if (at < 0)
            return 0;
        observe(me, where, at, order);
        return value[where][at];
    }

    u8 load(int me, int where, Order order)
    {
        return load_until(me, where, order, [](u8) { return true; });
    }

    // insert - makes room for a store, and moves all views of what comes behind it.
    void insert(int where, int at, u8 stored, bool glue)
    {
        if (stores[where] == STORES) {
            fail("model: no room for the stores of word %d", where);
            return;
        }
        for (int i = stores[where]; i > at; i--) {
            value[where][i] = value[where][i - 1];
            glued[where][i] = glued[where][i - 1];
            memcpy(carried[where][i], carried[where][i - 1], WORDS);
        }
        stores[where]++;
        value[where][at] = stored;
        glued[where][at] = glue;
        memset(carried[where][at], 0, WORDS);
        for (auto &view : views)
            view[where] = (u8)(view[where] + (view[where] >= at));
        common[where] = (u8)(common[where] + (common[where] >= at));
        for (int word = 0; word < ATOMIC_WORDS; word++)
            for (int i = 0; i < stores[word]; i++)
                if (carried[word][i][where] >= at)
                    carried[word][i][where]++;
    }

    void carry(int me, int where, int at, Order order)
    {
        views[me][where] = (u8)at;
        if (releases(order))
            join(carried[where][at], views[me]);
        carried[where][at][where] = (u8)at;
        if (order == seq_cst)
            common[where] = (u8)at;
    }

    void store(int me, int where, u8 stored, Order order)
    {
        int at = pick(me, where, order, [&](int i) { return may_follow(where, i); });

        if (at < 0)
            return;
        insert(where, at + 1, stored, false);
        if (!step.failed)
            carry(me, where, at + 1, order);
    }

    // follow - the store of a read-modify-write that has read the store `at`.
    void follow(int me, int where, int at, u8 stored, Order order)
    {
        observe(me, where, at, order);
        insert(where, at + 1, stored, true);
        if (step.failed)
            return;
        join(carried[where][at + 1], carried[where][at]);
        carry(me, where, at + 1, order);
    }

    template <class Change> u8 update(int me, int where, Order order, Change change)
    {
        int at = pick(me, where, order, [&](int i) { return may_follow(where, i); });

        if (at < 0)
            return 0;
        u8 old = value[where][at];
        follow(me, where, at, change(old), order);
        return old;
    }

    bool swap(int me, int where, u8 &expected, u8 stored, Order order, Order failure)
    {
        u8 wanted = expected;
        int at = pick(me, where, order,
            [&](int i) { return value[where][i] != wanted || may_follow(where, i); });

        if (at < 0)
            return false;
        expected = value[where][at];
        if (expected != wanted)
            observe(me, where, at, failure);
        else
            follow(me, where, at, stored, order);
        return expected == wanted;
    }

    // pop - a magazine of the set, or 0.  A look that fails is a load, which may be stale.
    u8 pop(int me, int where)
    {
        int at = pick(me, where, seq_cst,
            [&](int i) { return is_last(where, i) || value[where][i] == 0; });

        if (at < 0)
            return 0;
        u8 set = value[where][at];
        if (set == 0) {
            observe(me, where, at, seq_cst);
            return 0;
        }
        follow(me, where, at, (u8)(set & ~bit_of(lowest_of(set))), seq_cst);
        return lowest_of(set);
    }

    void touch(int me, int where)
    {
        if (views[me][where] != stores[where] - 1)
            fail("P1: data race at plain word %d, thread %d", where - ATOMIC_WORDS, me);
        views[me][where] = stores[where];
        stores[where]++;
    }

    u8 read(int me, int where)
    {
        touch(me, where);
        return plain[where - ATOMIC_WORDS];
    }

    void write(int me, int where, u8 stored)
    {
        touch(me, where);
        plain[where - ATOMIC_WORDS] = stored;
    }

    bool has_stored(int) const { return false; } // what others do not see
    void drain(int) {}

    // A fence orders atomic words only: it mends no data race.
    void fence(int me)
    {
        for (int i = 0; i < ATOMIC_WORDS; i++) {
            if (views[me][i] < common[i])
                views[me][i] = common[i];
            common[i] = views[me][i];
        }
    }

    // forget - the oldest stores of a word, which no thread may read any more.
    void forget(int where, int many)
    {
        auto lower = [many](u8 &view) { view = (u8)(view > many ? view - many : 0); };

        for (int i = many; where < ATOMIC_WORDS && i < stores[where]; i++) {
            value[where][i - many] = value[where][i];
            glued[where][i - many] = glued[where][i];
            memcpy(carried[where][i - many], carried[where][i], WORDS);
        }
        stores[where] = (u8)(stores[where] - many);
        if (where < ATOMIC_WORDS)
            glued[where][0] = 0;
        for (auto &view : views)
            lower(view[where]);
        lower(common[where]);
        for (int word = 0; word < ATOMIC_WORDS; word++)
            for (int i = 0; i < stores[word]; i++)
                lower(carried[word][i][where]);
    }

    // tidy - makes states that differ in nothing that can be read equal.  `ended` has a bit for
    // each thread that makes no step any more.
    void tidy(int threads, unsigned ended)
    {
        for (int where = 0; where < WORDS; where++) {
            int many = stores[where] - 1;
            for (int i = 0; i < threads; i++)
                if (!(ended & 1u << i) && views[i][where] < many)
                    many = views[i][where];
            if (many > 0)
                forget(where, many);
        }
        for (int i = 0; i < THREADS; i++)
            if (ended & 1u << i)
                memset(views[i], 0, WORDS);
    }

    void set(int where, u8 stored)
    {
        stores[where] = 1;
        if (where < ATOMIC_WORDS)
            value[where][0] = stored;
        else
            plain[where - ATOMIC_WORDS] = stored;
    }

    u8 last(int where) const
    {
        return where < ATOMIC_WORDS ? value[where][stores[where] - 1] : plain[where - ATOMIC_WORDS];
    }

    uint64_t hash(uint64_t hash) const
    {
        hash = hash_bytes(hash, this, (unsigned)((const u8 *)value - (const u8 *)this));
        for (int i = 0; i < ATOMIC_WORDS; i++) {
            hash = hash_bytes(hash, value[i], stores[i]);
            hash = hash_bytes(hash, glued[i], stores[i]);
            hash = hash_bytes(hash, carried[i], (unsigned)(stores[i] * WORDS));
        }
        return hash;
    }
};
