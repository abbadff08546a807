/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stamp.c - the oracle (stamp.h).
 *
 * Includes stamp.h.  Slots are read and written with plain accesses, because their hand-over is
 * under test.  Everything here except init and fini is async-signal-safe as long as nothing is
 * wrong.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "stamp.h"

#include <stdlib.h>
#include <string.h>

#define STAMP_LIVE (UINT64_C(1) << 63)
#define STAMP_OWNER_SHIFT 48
#define STAMP_SEQUENCE_MASK ((UINT64_C(1) << STAMP_OWNER_SHIFT) - 1)

static unsigned int stamp_owner_of(uint64_t word)
{
    return (unsigned int)(word >> STAMP_OWNER_SHIFT) & STAMP_OWNERS;
}

static uint64_t stamp_sequence_of(uint64_t word)
{
    return word & STAMP_SEQUENCE_MASK;
}

/* The expected eight bytes at an address. */
static uint64_t stamp_pattern(uint64_t word, const unsigned char *address)
{
    if (word == 0)
        return 0;
    return random_mix(word ^ ((uint64_t)(uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15)));
}

static void stamp_fill(const struct stamp_book *book, void *slot, uint64_t word)
{
    unsigned char *bytes = slot;
    size_t left = book->slot_size;

    while (left > 0) {
        uint64_t pattern = stamp_pattern(word, bytes);
        size_t step = left < sizeof pattern ? left : sizeof pattern;

        if (step == sizeof pattern)
            memcpy(bytes, &pattern, sizeof pattern);
        else
            memcpy(bytes, &pattern, step);
        bytes += step;
        left -= step;
    }
}

/* Whether each byte is the expected one or zero: a page may end anywhere in a word. */
static bool stamp_partly_purged(uint64_t found, uint64_t wanted)
{
    while (found != 0 && ((found & 0xff) == 0 || (found & 0xff) == (wanted & 0xff))) {
        found >>= 8;
        wanted >>= 8;
    }
    return found == 0;
}

/* The offset of the first word of the slot that differs from what `word` implies, or SIZE_MAX. */
static size_t stamp_mismatch(const struct stamp_book *book, const void *slot, uint64_t word)
{
    bool zero_too = book->purged && (word & STAMP_LIVE) == 0;
    const unsigned char *bytes = slot;
    size_t left = book->slot_size;

    while (left > 0) {
        uint64_t pattern = stamp_pattern(word, bytes);
        uint64_t found = 0;
        size_t step = left < sizeof found ? left : sizeof found;
        uint64_t wanted = 0;

        if (step == sizeof found)
            memcpy(&found, bytes, sizeof found);
        else
            memcpy(&found, bytes, step);
        if (step == sizeof pattern)
            wanted = pattern;
        else
            memcpy(&wanted, &pattern, step);
        if (found != wanted && !(zero_too && stamp_partly_purged(found, wanted)))
            return (size_t)(bytes - (const unsigned char *)slot);
        bytes += step;
        left -= step;
    }
    return SIZE_MAX;
}

static void stamp_verify_bytes(const struct stamp_book *book, const void *slot, uint64_t word,
                               const char *moment)
{
    size_t offset = stamp_mismatch(book, slot, word);
    uint64_t now;

    if (offset == SIZE_MAX)
        return;
    now = atomic_load_explicit(&book->words[cpool_index(book->pool, slot)], memory_order_relaxed);
    stress_fail("slot %zu at %p, %s: byte %zu of %zu is not as owner %u left it with stamp %llu%s; "
                "the book now says: owner %u, stamp %llu, %s",
                cpool_index(book->pool, slot), slot, moment, offset, book->slot_size,
                stamp_owner_of(word), (unsigned long long)stamp_sequence_of(word),
                word == 0 ? " (never used, must be zero)" : "", stamp_owner_of(now),
                (unsigned long long)stamp_sequence_of(now), now & STAMP_LIVE ? "live" : "free");
}

/* The slot's word in the book.  Also checks the pool's own arithmetic. */
static _Atomic uint64_t *stamp_word_of(const struct stamp_book *book, const void *slot)
{
    size_t index = cpool_index(book->pool, slot);

    if (index >= book->capacity || cpool_at(book->pool, index) != slot)
        stress_fail("the pool handed out %p, which is none of its %zu slots", slot,
                    book->capacity);
    return &book->words[index];
}

static uint64_t stamp_next(struct stamp_owner *owner, uint64_t live)
{
    owner->sequence++;
    return live | ((uint64_t)owner->number << STAMP_OWNER_SHIFT) |
           (owner->sequence & STAMP_SEQUENCE_MASK);
}

/* Marks the slot live and owned in the book.  Returns the word it had as a free slot. */
static uint64_t stamp_claim(struct stamp_book *book, struct stamp_owner *owner, const void *slot,
                            uint64_t *mine)
{
    _Atomic uint64_t *word = stamp_word_of(book, slot);
    uint64_t last;

    *mine = stamp_next(owner, STAMP_LIVE);
    last = atomic_exchange_explicit(word, *mine, memory_order_relaxed);
    if (last & STAMP_LIVE)
        stress_fail("slot %zu at %p was handed to owner %u (stamp %llu) while owner %u holds it "
                    "(stamp %llu)",
                    cpool_index(book->pool, slot), slot, owner->number,
                    (unsigned long long)stamp_sequence_of(*mine), stamp_owner_of(last),
                    (unsigned long long)stamp_sequence_of(last));
    return last;
}

void stamp_take(struct stamp_book *book, struct stamp_owner *owner, void *slot)
{
    uint64_t mine;
    uint64_t last = stamp_claim(book, owner, slot, &mine);

    stamp_verify_bytes(book, slot, last, "just allocated");
    stamp_fill(book, slot, mine);
}

void stamp_take_zeroed(struct stamp_book *book, struct stamp_owner *owner, void *slot)
{
    uint64_t mine;

    stamp_claim(book, owner, slot, &mine);
    stamp_verify_bytes(book, slot, 0, "just allocated with cpool_calloc");
    stamp_fill(book, slot, mine);
}

void stamp_check(struct stamp_book *book, const struct stamp_owner *owner, const void *slot)
{
    uint64_t word = atomic_load_explicit(stamp_word_of(book, slot), memory_order_relaxed);

    if (!(word & STAMP_LIVE) || stamp_owner_of(word) != owner->number)
        stress_fail("slot %zu at %p, held by owner %u, was also given to owner %u (stamp %llu, %s)",
                    cpool_index(book->pool, slot), slot, owner->number, stamp_owner_of(word),
                    (unsigned long long)stamp_sequence_of(word),
                    word & STAMP_LIVE ? "live" : "free");
    stamp_verify_bytes(book, slot, word, "held");
}

void stamp_adopt(struct stamp_book *book, struct stamp_owner *owner, void *slot)
{
    _Atomic uint64_t *word = stamp_word_of(book, slot);
    uint64_t mine = stamp_next(owner, STAMP_LIVE);
    uint64_t theirs = atomic_exchange_explicit(word, mine, memory_order_relaxed);

    if (!(theirs & STAMP_LIVE))
        stress_fail("slot %zu at %p was handed over live, and is free since owner %u (stamp %llu)",
                    cpool_index(book->pool, slot), slot, stamp_owner_of(theirs),
                    (unsigned long long)stamp_sequence_of(theirs));
    stamp_verify_bytes(book, slot, theirs, "handed over");
    stamp_fill(book, slot, mine);
}

void stamp_give(struct stamp_book *book, struct stamp_owner *owner, void *slot)
{
    uint64_t mine = stamp_next(owner, 0);

    stamp_check(book, owner, slot);
    stamp_fill(book, slot, mine);
    atomic_store_explicit(stamp_word_of(book, slot), mine, memory_order_relaxed);
}

bool stamp_is_live(const struct stamp_book *book, size_t index)
{
    return (atomic_load_explicit(&book->words[index], memory_order_relaxed) & STAMP_LIVE) != 0;
}

size_t stamp_count_live(const struct stamp_book *book)
{
    size_t live = 0;

    for (size_t i = 0; i < book->capacity; i++)
        live += stamp_is_live(book, i);
    return live;
}

unsigned int stamp_last_owner(const struct stamp_book *book, size_t index)
{
    return stamp_owner_of(atomic_load_explicit(&book->words[index], memory_order_relaxed));
}

/*
 * The stamp in a live slot's bytes contains the live bit, so live slots are stamped again, as if
 * their owners had freed them.
 */
void stamp_reset(struct stamp_book *book)
{
    for (size_t i = 0; i < book->capacity; i++) {
        uint64_t word = atomic_load_explicit(&book->words[i], memory_order_relaxed);
        void *slot;

        if (!(word & STAMP_LIVE))
            continue;
        slot = cpool_at(book->pool, i);
        stamp_verify_bytes(book, slot, word, "live at a reset");
        stamp_fill(book, slot, word & ~STAMP_LIVE);
        atomic_store_explicit(&book->words[i], word & ~STAMP_LIVE, memory_order_relaxed);
    }
}

void stamp_book_init(struct stamp_book *book, cpool_t *pool, size_t capacity, size_t slot_size)
{
    book->pool = pool;
    book->capacity = capacity;
    book->slot_size = slot_size;
    book->purged = false;
    book->words = calloc(capacity, sizeof *book->words);
    if (book->words == NULL)
        stress_fail("no memory for the book of %zu slots", capacity);
}

void stamp_book_fini(struct stamp_book *book)
{
    free(book->words);
    book->words = NULL;
}
