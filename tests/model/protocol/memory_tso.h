// SPDX-License-Identifier: BSD-2-Clause
// memory_tso.h - total store order, as x86 has it: a thread's stores wait in its buffer, and go to
// memory in their order at any later moment.  Read-modify-writes and seq_cst stores empty it.
#pragma once
#include "words.h"

struct Memory {
    enum { ROOM = 7 }; // a thread with a full buffer waits until a store has left it

    struct Buffer {
        u8 stores, where[ROOM], value[ROOM];
    };
    u8 words[WORDS];
    Buffer buffers[THREADS];

    static constexpr const char *name() { return "TSO"; }
    static constexpr bool can_fork() { return true; }

    bool has_stored(int me) const { return buffers[me].stores > 0; }

    // drain - the oldest store leaves the buffer.
    void drain(int me)
    {
        Buffer &buffer = buffers[me];

        words[buffer.where[0]] = buffer.value[0];
        buffer.stores--;
        for (int i = 0; i < buffer.stores; i++) {
            buffer.where[i] = buffer.where[i + 1];
            buffer.value[i] = buffer.value[i + 1];
        }
        // Equal states have equal bytes.
        buffer.where[buffer.stores] = buffer.value[buffer.stores] = 0;
    }

    void fence(int me)
    {
        while (has_stored(me))
            drain(me);
    }

    u8 load(int me, int where, Order)
    {
        const Buffer &buffer = buffers[me];

        for (int i = buffer.stores - 1; i >= 0; i--)
            if (buffer.where[i] == where)
                return buffer.value[i];
        return words[where];
    }

    void store(int me, int where, u8 value, Order order)
    {
        Buffer &buffer = buffers[me];

        if (order == seq_cst) {
            fence(me);
            words[where] = value;
        } else if (buffer.stores == ROOM) {
            step.blocked = true;
        } else {
            buffer.where[buffer.stores] = (u8)where;
            buffer.value[buffer.stores] = value;
            buffer.stores++;
        }
    }

    u8 read(int me, int where) { return load(me, where, relaxed); }
    void write(int me, int where, u8 value) { store(me, where, value, relaxed); }

    template <class Test> u8 load_until(int me, int where, Order order, Test test)
    {
        u8 value = load(me, where, order);

        step.blocked = !test(value);
        return value;
    }

    template <class Change> u8 update(int me, int where, Order, Change change)
    {
        fence(me);
        u8 old = words[where];
        words[where] = change(old);
        return old;
    }

    bool swap(int me, int where, u8 &expected, u8 value, Order, Order)
    {
        fence(me);
        bool equal = words[where] == expected;
        expected = words[where];
        if (equal)
            words[where] = value;
        return equal;
    }

    // pop - a magazine of the set, or 0.  A look that fails is a load, and orders nothing.
    u8 pop(int me, int where)
    {
        if (words[where] == 0)
            return 0;
        fence(me);
        u8 magazine = lowest_of(words[where]);
        words[where] = (u8)(words[where] & ~bit_of(magazine));
        return magazine;
    }

    void tidy(int, unsigned) {}
    void set(int where, u8 value) { words[where] = value; }
    u8 last(int where) const { return words[where]; }

    uint64_t hash(uint64_t hash) const
    {
        return hash_bytes(hash_bytes(hash, words, sizeof words), buffers, sizeof buffers);
    }
};
