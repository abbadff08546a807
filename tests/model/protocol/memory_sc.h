// SPDX-License-Identifier: BSD-2-Clause
// memory_sc.h - sequential consistency: a store is seen by all at once.
#pragma once
#include "words.h"

struct Memory {
    u8 words[WORDS];

    static constexpr const char *name() { return "SC"; }
    static constexpr bool can_fork() { return true; }

    u8 load(int, int where, Order) { return words[where]; }
    void store(int, int where, u8 value, Order) { words[where] = value; }
    u8 read(int, int where) { return words[where]; }
    void write(int, int where, u8 value) { words[where] = value; }

    // load_until - a load that waits for a value.
    template <class Test> u8 load_until(int, int where, Order, Test test)
    {
        step.blocked = !test(words[where]);
        return words[where];
    }

    template <class Change> u8 update(int, int where, Order, Change change)
    {
        u8 old = words[where];

        words[where] = change(old);
        return old;
    }

    bool swap(int, int where, u8 &expected, u8 value, Order, Order)
    {
        bool equal = words[where] == expected;

        expected = words[where];
        if (equal)
            words[where] = value;
        return equal;
    }

    // pop - a magazine of the set, or 0.
    u8 pop(int, int where)
    {
        u8 set = words[where];
        u8 magazine = set ? lowest_of(set) : 0;

        words[where] = magazine ? (u8)(set & ~bit_of(magazine)) : set;
        return magazine;
    }

    void fence(int) {}
    bool has_stored(int) const { return false; } // what others do not see
    void drain(int) {}
    void tidy(int, unsigned) {}
    void set(int where, u8 value) { words[where] = value; }
    u8 last(int where) const { return words[where]; }
    uint64_t hash(uint64_t hash) const { return hash_bytes(hash, words, sizeof words); }
};
