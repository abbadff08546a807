/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stamp.h - the oracle, which knows the bytes of every slot at every moment.
 *
 * Includes stress.h and the public header.
 *
 * A book keeps one word per slot, outside the pool: whether the slot is live, its last owner, and
 * that owner's sequence number at the time.  The WHOLE slot is filled with words derived from that
 * word and from the address, so that the book knows what every byte must be:
 *
 *      word:  live | owner (15 bits) | sequence (48 bits)      0: never used
 *      slot:  mix(word, address) mix(word, address + 8) ...    zeroes
 *
 *   stamp_take   the slot was not live, and its bytes are those its last owner
 *                left when giving it back (free slots keep their bytes)
 *   stamp_check  it is live and mine, and its bytes are as I stamped them
 *   stamp_adopt  it is live, handed over by its owner, and now mine
 *   stamp_give   as stamp_check, and now free
 *
 * A slot handed out twice is found when it is taken, or at the latest when either holder checks it
 * again.  For a slot that the pool hands over without ordering the two owners, ThreadSanitizer
 * reports a data race on its bytes.
 *
 * The book's words are atomic but relaxed: the oracle must see a second owner, but must not itself
 * provide an order that the pool fails to provide.
 */
#ifndef STRESS_STAMP_H
#define STRESS_STAMP_H

#include "stress.h"

#include <cpool.h>

struct stamp_book {
    cpool_t *pool;
    size_t capacity;
    size_t slot_size;
    bool purged; /* free slots may have lost their bytes to a trim: zero, in part or whole */
    _Atomic uint64_t *words; /* one per slot */
};

/* An owner: one thread. */
struct stamp_owner {
    unsigned int number; /* 1 to STAMP_OWNERS, unique in the episode */
    uint64_t sequence;   /* advanced by each stamp */
};

#define STAMP_OWNERS ((1u << 15) - 1)

/* A book in which no slot has ever been used. */
void stamp_book_init(struct stamp_book *book, cpool_t *pool, size_t capacity, size_t slot_size);
void stamp_book_fini(struct stamp_book *book);

/* All of these end the program if a slot is not as it must be. */
void stamp_take(struct stamp_book *book, struct stamp_owner *owner, void *slot);
void stamp_take_zeroed(struct stamp_book *book, struct stamp_owner *owner, void *slot);
void stamp_check(struct stamp_book *book, const struct stamp_owner *owner, const void *slot);
void stamp_adopt(struct stamp_book *book, struct stamp_owner *owner, void *slot);
void stamp_give(struct stamp_book *book, struct stamp_owner *owner, void *slot);

/* The book's answers: whether slot `index` is live, how many are, and its last user. */
bool stamp_is_live(const struct stamp_book *book, size_t index);
size_t stamp_count_live(const struct stamp_book *book);
unsigned int stamp_last_owner(const struct stamp_book *book, size_t index);

/* After a collective reset of the pool: no slot is live, the bytes are as they were. */
void stamp_reset(struct stamp_book *book);

#endif /* STRESS_STAMP_H */
