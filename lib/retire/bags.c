/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bags.c - how retired slots go back.
 *
 * Frees slots by the public interface.
 *
 * A bag is closed with the domain's epoch as its stamp, and the epoch grows.  A section that
 * began in an epoch after the stamp cannot have found a slot of the bag.  So the bag's slots go
 * back when no reader is inside with an epoch up to the stamp.  Any thread finds that out by
 * itself, by one look at all readers (look.c).
 *
 *   stamp | 0: filled, or empty | odd, the epoch: closed | even: a thread empties it |
 *
 * A thread claims a reader's bags for a few steps: to close the one that is filled, to have
 * another one filled, or to mark those that it empties.  It empties them without the claim, so
 * that an error handler or a ready function may retire.  An owner that meets a claim does not
 * wait.  Claims and marks of threads that have vanished in a fork are void.
 *
 * Where words are short, epochs wrap.  While a section lasts, each bag that is closed holds
 * another slot back, which takes 8 bytes, so that fewer than 2^29 are closed.  Stamps and sections
 * are less than 2^30 apart, and the sign of the difference says which came first.
 *
 * ORDERING TABLE
 *   stamp  | epoch CAS         | acq_rel | look.c's now, and a beginning inline | that the bag's
 *                                                                 slots are out of reach
 *   first  | CAS failure, first loads | relaxed | - | -
 *   barrier | membarrier(2)    | -       | retire.c's change | each side's first word
 *   claim  | claimed CAS       | seq_cst | retire.c's change, retire.c's leave, leave | the
 *                                                                 bags
 *   seen   | busy load         | seq_cst | retire.c's change, retire.c's leave | the bags
 *   leave  | claimed, state store | release | claim, gone, retire.c's asked | the bags
 *   gone   | state load        | acquire | leave  | the bags of a reader that was destroyed
 *   close  | stamp store, with a claim | relaxed | - | -
 *   empty  | stamp store       | release | retire_impl.h's bare | that nobody reads the bag's
 *                                                                 arrays any more, and the count
 *   give   | count store       | release | given, the child of a fork | the mark, and that the
 *                                                                 slots go back now
 *   given  | count load        | acquire | give   | the mark
 *   move   | pools store       | release | the child of a fork | the count
 *   count  | count, pools load | relaxed | - | -
 *
 * [claim] The barrier comes between [claim] and [seen].  Either the owner's mark had
 * happened, and [seen] finds it, or the owner's [asked] finds the claim.  To mark closed bags
 * takes no barrier, because the owner does not touch them.
 */
#include "retire/retire_impl.h"

#include "base/compiler.h"
#include "cache/mark.h"
#include "host/os.h"

static cpool_t *pool_at(const struct cpi_bag *bag, size_t i)
{
    return cpi_load(&bag->pools[i], relaxed); /* [count] */
}

size_t cpi_reader_held(const struct cpi_reader *reader)
{
    size_t held = 0;

    for (unsigned i = 0; i < CPI_BAGS; i++)
        held += cpi_bag_count(&reader->bags[i]);
    return held;
}

bool cpi_reader_rests(const struct cpi_reader *reader)
{
    for (unsigned i = 0; i < CPI_BAGS; i++)
        if (cpi_load(&reader->bags[i].count, acquire) != 0 || /* [given] */
            cpi_bag_stamp(&reader->bags[i]) != 0)
            return false;
    return true;
}

/* --- Bags --- */

/* The stamp of one that is being emptied, if the thread has not vanished in a fork. */
static uintptr_t emptying(void)
{
    return (uintptr_t)cpi_thread_forks() * 4 + 2;
}

static bool is_being_emptied(const struct cpi_bag *bag)
{
    return cpi_bag_stamp(bag) == emptying();
}

/* The slots are off the bag before they go back, so that the child of a fork that comes in
 * between frees none twice.  In the child that a handler has made the bag is left to others.
 * Returns how many were slots of a pool. */
static size_t empty_bag(struct cpi_bag *bag, const cpool_t *of)
{
    uintptr_t mark = emptying();
    size_t given = 0;
    size_t count;

    while ((count = cpi_bag_count(bag)) > 0 && mark == emptying()) {
        size_t first = count - 1;
        cpool_t *pool = pool_at(bag, first);

        while (first > 0 && pool_at(bag, first - 1) == pool)
            first--;
        cpi_store(&bag->count, first, release); /* [give] */
        cpi_retire_back(pool, bag->slots + first, count - first);
        cpool_free_bulk(pool, bag->slots + first, count - first);
        given += pool == of ? count - first : 0;
    }
    if (mark == emptying())
        cpi_store(&bag->stamp, 0, release); /* [empty] */
    return given;
}

static void close_bag(struct cpi_reader *reader)
{
    struct cpi_bag *bag = &reader->bags[reader->filled];
    uintptr_t *word = &reader->domain->epoch;
    uintptr_t epoch = cpi_word_load(word, relaxed); /* [first] */

    if (cpi_bag_stamp(bag) != 0 || cpi_bag_count(bag) == 0)
        return;
    while (!cpi_word_cas(word, &epoch, epoch + 2, acq_rel, relaxed)) /* [stamp] [first] */
        ;
    cpi_store(&bag->stamp, epoch, relaxed); /* [close] */
}

/* Has an empty bag filled from now on, if there is one, unless one is filled already. */
static void choose_bag(struct cpi_reader *reader)
{
    for (unsigned i = 0; i < CPI_BAGS && cpi_bag_stamp(&reader->bags[reader->filled]) != 0; i++)
        if (cpi_bag_stamp(&reader->bags[i]) == 0)
            reader->filled = i;
}

/* --- Claims --- */

/* Not that of a thread that has vanished in a fork. */
static uintptr_t valid_claim(void)
{
    return (uintptr_t)cpi_thread_forks() * 2 + 1;
}

static bool claim(struct cpi_reader *reader)
{
    uintptr_t seen = cpi_load(&reader->claimed, relaxed); /* [first] */
    uintptr_t valid = valid_claim();

    return seen != valid &&
           cpi_cas_strong(&reader->claimed, &seen, valid, seq_cst, relaxed); /* [claim] [first] */
}

static void leave_claim(struct cpi_reader *reader)
{
    cpi_store(&reader->claimed, 0, release); /* [leave] */
}

static bool is_wanted(const struct cpi_reader *reader, const struct cpi_reader *self, bool all)
{
    unsigned state = cpi_load(&reader->state, relaxed); /* [first] */

    return reader == self || state == CPI_READER_LEFT ||
           (all && !cpi_reader_rests(reader));
}

/* Whether no owner is in the bags, after the barrier if it is not the caller. */
static bool is_quiet(const struct cpi_reader *reader, const struct cpi_reader *self, bool all)
{
    if (reader == self || cpi_load(&reader->state, acquire) == CPI_READER_LEFT) /* [gone] */
        return true;
    return all && cpi_load(&reader->busy, seq_cst) == 0; /* [seen] */
}

/* Claims bags of several readers, and returns their list. */
static struct cpi_reader *claim_all(struct cpool_domain *domain, struct cpi_reader *self, bool all)
{
    struct cpi_reader *candidates = NULL;
    struct cpi_reader *claimed = NULL;

    for (size_t i = 0; i < domain->readers; i++) {
        struct cpi_reader *reader = &domain->reader[i];

        if (CPI_UNLIKELY(is_wanted(reader, self, all)) && claim(reader)) {
            reader->also = candidates;
            candidates = reader;
        }
    }
    if (all && candidates != NULL && cpi_mark_has_barrier)
        cpi_os_barrier(); /* [barrier] */
    while (candidates != NULL) {
        struct cpi_reader *reader = candidates;

        candidates = reader->also;
        if (CPI_LIKELY(is_quiet(reader, self, all))) {
            reader->also = claimed;
            claimed = reader;
        } else {
            leave_claim(reader);
        }
    }
    return claimed;
}

/* --- Passes --- */

static void close_all(struct cpool_domain *domain, struct cpi_reader *self, bool all)
{
    struct cpi_reader *claimed = claim_all(domain, self, all);

    while (claimed != NULL) {
        struct cpi_reader *reader = claimed;

        claimed = reader->also;
        close_bag(reader);
        choose_bag(reader);
        leave_claim(reader);
    }
}

/* A bag that a vanished thread was emptying is, too. */
static bool is_ripe(const struct cpi_bag *bag, uintptr_t safe)
{
    uintptr_t stamp = cpi_bag_stamp(bag);

    return stamp % 2 != 0 ? cpi_epoch_is_before(stamp, safe) : stamp != 0 && stamp != emptying();
}

/* Marks the bags that may go back, and returns which these are, one bit each. */
static unsigned mark_ripe(struct cpi_reader *reader, uintptr_t safe)
{
    unsigned ripe = 0;

    if (!claim(reader))
        return 0;
    for (unsigned i = 0; i < CPI_BAGS; i++)
        if (is_ripe(&reader->bags[i], safe)) {
            cpi_store(&reader->bags[i].stamp, emptying(), relaxed); /* [close] */
            ripe |= 1u << i;
        }
    leave_claim(reader);
    return ripe;
}

/* When bags are empty: the owner goes on with one, and a reader without an owner is free. */
static void tidy(struct cpi_reader *reader, const struct cpi_reader *self)
{
    if (!claim(reader))
        return;
    if (is_quiet(reader, self, false))
        choose_bag(reader);
    if (cpi_load(&reader->state, acquire) == CPI_READER_LEFT && /* [gone] */
        cpi_reader_rests(reader))
        cpi_store(&reader->state, CPI_READER_FREE, release); /* [leave] */
    leave_claim(reader);
}

static size_t empty_ripe(struct cpool_domain *domain, struct cpi_reader *self, bool all,
                         uintptr_t safe, const cpool_t *pool)
{
    size_t given = 0;

    for (size_t i = 0; i < domain->readers; i++) {
        struct cpi_reader *reader = &domain->reader[i];
        unsigned ripe = is_wanted(reader, self, all) ? mark_ripe(reader, safe) : 0;

        for (unsigned k = 0; ripe >> k != 0; k++)
            given += (ripe >> k) % 2 != 0 ? empty_bag(&reader->bags[k], pool) : 0;
        if (is_wanted(reader, self, false))
            tidy(reader, self);
    }
    return given;
}

size_t cpi_retire_pass(struct cpool_domain *domain, struct cpi_reader *self, bool all,
                       const cpool_t *pool, struct cpi_blocker *blocker)
{
    struct cpi_blocker seen;
    uintptr_t safe;

    close_all(domain, self, all);
    safe = cpi_retire_look(domain, self, &seen);
    if (blocker != NULL)
        *blocker = seen;
    return empty_ripe(domain, self, all, safe, pool);
}

bool cpi_retire_is_blocked(const struct cpi_reader *reader)
{
    const struct cpi_blocker *blocker = &reader->blocker;

    if (blocker->reader == NULL ||
        cpi_word_load(&blocker->reader->face.inside, relaxed) != blocker->inside) /* [first] */
        return false;
    for (unsigned i = 0; i < CPI_BAGS; i++)
        if (is_ripe(&reader->bags[i], blocker->inside))
            return false;
    return true;
}

bool cpi_retire_turn(struct cpi_reader *reader)
{
    unsigned empty = 0;

    if (!claim(reader))
        return false;
    close_bag(reader);
    choose_bag(reader);
    leave_claim(reader);
    (void)empty_ripe(reader->domain, reader, false, cpi_retire_glance(reader), NULL);
    for (unsigned i = 0; i < CPI_BAGS; i++)
        empty += cpi_bag_stamp(&reader->bags[i]) == 0 ? 1u : 0u;
    return empty > 1;
}

/* With a claim. */
static bool reopen(struct cpi_reader *reader)
{
    struct cpi_bag *youngest = NULL;

    for (unsigned i = 0; i < CPI_BAGS; i++) {
        struct cpi_bag *bag = &reader->bags[i];
        uintptr_t stamp = cpi_bag_stamp(bag);

        if (stamp % 2 != 0 && cpi_bag_count(bag) < reader->domain->bag_size &&
            (youngest == NULL || cpi_epoch_is_before(cpi_bag_stamp(youngest), stamp))) {
            youngest = bag;
            reader->filled = i;
        }
    }
    if (youngest != NULL)
        cpi_store(&youngest->stamp, 0, relaxed); /* [close] */
    return youngest != NULL;
}

/* Another thread's claim may have kept the owner from closing the bag that is filled, or from
 * filling it.  No other open one has slots. */
bool cpi_retire_reopen(struct cpi_reader *reader)
{
    const struct cpi_bag *filled;
    bool opened;

    if (!claim(reader))
        return false;
    filled = &reader->bags[reader->filled];
    if (cpi_bag_count(filled) == reader->domain->bag_size)
        close_bag(reader);
    opened = cpi_bag_stamp(filled) == 0 || reopen(reader);
    leave_claim(reader);
    return opened;
}

void cpi_retire_all(struct cpool_domain *domain)
{
    for (size_t i = 0; i < domain->readers; i++)
        for (unsigned k = 0; k < CPI_BAGS; k++)
            (void)empty_bag(&domain->reader[i].bags[k], NULL);
}

/* --- Pools that end --- */

/* Keeps the slots of all other pools.  One that moves is off the bag meanwhile, so that the child
 * of a fork that comes in between frees none twice. */
static void forget_in(struct cpi_bag *bag, const cpool_t *pool)
{
    for (size_t i = cpi_bag_count(bag); i-- > 0;) {
        size_t last = cpi_bag_count(bag) - 1;

        if (pool_at(bag, i) != pool)
            continue;
        cpi_store(&bag->count, last, release); /* [give] */
        if (i == last)
            continue;
        bag->slots[i] = bag->slots[last];
        cpi_store(&bag->pools[i], pool_at(bag, last), release); /* [move] */
    }
    if (cpi_bag_count(bag) == 0)
        cpi_store(&bag->stamp, 0, relaxed); /* [close] */
}

/* With those that are just going back. */
static bool has_slots_of(const struct cpi_bag *bag, const cpool_t *pool)
{
    size_t count = cpi_load(&bag->count, acquire); /* [given] */

    if (is_being_emptied(bag))
        count++;
    for (size_t i = 0; i < count; i++)
        if (pool_at(bag, i) == pool)
            return true;
    return false;
}

static bool has_any(const struct cpool_domain *domain, const cpool_t *pool)
{
    for (size_t i = 0; i < domain->readers; i++)
        for (unsigned k = 0; k < CPI_BAGS; k++)
            if (has_slots_of(&domain->reader[i].bags[k], pool))
                return true;
    return false;
}

void cpi_retire_forget(struct cpool_domain *domain, const cpool_t *pool)
{
    unsigned times = 0;

    while (has_any(domain, pool)) {
        struct cpi_reader *claimed = claim_all(domain, NULL, true);

        while (claimed != NULL) {
            struct cpi_reader *reader = claimed;

            claimed = reader->also;
            for (unsigned k = 0; k < CPI_BAGS; k++)
                if (!is_being_emptied(&reader->bags[k]))
                    forget_in(&reader->bags[k], pool);
            leave_claim(reader);
        }
        cpi_os_back_off(times++);
    }
}
