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
 *   slots | gave back | closed  | added since, which may go on | room |
 *                     ^ from    ^ to                           ^ count
 *
 * A thread claims a reader's bags for a few steps: to close those that have slots, to have another
 * one filled, or to mark those that it empties.  It empties them without the claim, so that an
 * error handler or a ready function may retire.  The owner adds to a bag beside that, and takes no
 * notice.  It may not have seen the stamp.  Only slots below `to` go back, and later ones belong
 * to the next stamp.  A bag that is empty is filled from its beginning again when its owner
 * chooses it.  Claims and marks of threads that have vanished in a fork are void.
 *
 * Where words are short, epochs wrap.  While a section lasts, each bag that is closed holds
 * another slot back, which takes 8 bytes, so that fewer than 2^29 are closed.  Stamps and sections
 * are less than 2^30 apart, and the sign of the difference says which came first.
 *
 * ORDERING TABLE
 *   stamp  | epoch CAS         | acq_rel | look.c's now, and a beginning inline | that the bag's
 *                                                                 slots are out of reach
 *   first  | CAS failure, first loads | relaxed | - | -
 *   claim  | claimed CAS       | acquire | leave  | the bags
 *   leave  | claimed, state store | release | claim, gone | the bags
 *   gone   | state load        | acquire | leave  | the bags of a reader that was destroyed
 *   full   | count load        | acquire | retire.c's fill | the slots below, and that they are out
 *                                                                 of reach
 *   close  | stamp store of 0, with a claim | release | retire_impl.h's bare | what was given back
 *                                                                 before
 *   mark   | stamp store, with a claim | relaxed | - | -
 *   note   | to, stamp store   | release | the child of a fork | that it is open, and `to`
 *   empty  | stamp store       | release | retire_impl.h's bare | that nobody reads the bag's
 *                                                                 arrays any more
 *   give   | from store        | release | given, the child of a fork | the mark, and that the
 *                                                                 slots go back now
 *   given  | from load         | acquire | give   | the mark
 *   move   | pools, slots, from store | release | begun, the child of a fork | the count, and that
 *                                                                 no slot has another one's pool
 *   blank  | slots store of NULL | relaxed | - | - (move)
 *   begin  | count, from store | release | bare, begun, the child of a fork | the count, and what
 *                                                                 was given back before
 *   bare   | count load        | acquire | begin  | likewise
 *   count  | from, to, count, pools load, to store | relaxed | - | -
 */
#include "retire/retire_impl.h"

#include "base/compiler.h"
#include "host/os.h"

static cpool_t *pool_at(const struct cpi_bag *bag, size_t i)
{
    return cpi_load(&bag->pools[i], relaxed); /* [count] */
}

size_t cpi_reader_held(const struct cpi_reader *reader)
{
    size_t held = 0;

    for (unsigned i = 0; i < CPI_BAGS; i++)
        held += cpi_bag_held(&reader->bags[i]);
    return held;
}

static bool is_bare(const struct cpi_bag *bag)
{
    size_t from = cpi_load(&bag->from, acquire); /* [given] */

    return from >= cpi_load(&bag->count, acquire) && cpi_bag_stamp(bag) == 0; /* [bare] */
}

bool cpi_reader_rests(const struct cpi_reader *reader)
{
    for (unsigned i = 0; i < CPI_BAGS; i++)
        if (!is_bare(&reader->bags[i]))
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

/* A dry pool's alloc may be one that does not look into its thread's cache. */
static void free_all(cpool_t *pool, void *const *slots, size_t n, bool dry)
{
    cpi_retire_back(pool, slots, n);
    if (!dry)
        cpool_free_bulk(pool, slots, n);
    for (size_t i = 0; dry && i < n; i++)
        cpool_depot_free(pool, slots[i]);
}

/* The slots are off the bag before they go back, so that the child of a fork that comes in
 * between frees none twice.  In the child that a handler has made the bags with the parent's mark
 * are left to others.  Returns how many were slots of a pool. */
static size_t empty_bag(struct cpi_bag *bag, uintptr_t mark, const cpool_t *of)
{
    size_t to = cpi_load(&bag->to, relaxed); /* [count] */
    size_t given = 0;
    size_t from;

    while ((from = cpi_load(&bag->from, relaxed)) < to && mark == emptying()) { /* [count] */
        cpool_t *pool = pool_at(bag, from);
        size_t next = from + 1;

        while (next < to && pool_at(bag, next) == pool)
            next++;
        cpi_store(&bag->from, next, release); /* [give] */
        free_all(pool, bag->slots + from, next - from, of != NULL);
        given += pool == of ? next - from : 0;
    }
    if (mark == emptying())
        cpi_store(&bag->stamp, 0, release); /* [empty] */
    return given;
}

/* Whether the bag has slots that were not closed.  With a claim. */
static bool is_open(const struct cpi_bag *bag, size_t count)
{
    uintptr_t stamp = cpi_bag_stamp(bag);

    return stamp == 0 ? cpi_load(&bag->from, relaxed) < count : /* [count] */
                        stamp % 2 != 0 && cpi_load(&bag->to, relaxed) < count; /* [count] */
}

/* Open in between, so that the child of a fork has no slot under an earlier stamp. */
static void close_bag(struct cpool_domain *domain, struct cpi_bag *bag)
{
    size_t count = cpi_load(&bag->count, acquire);            /* [full] */
    uintptr_t epoch = cpi_word_load(&domain->epoch, relaxed); /* [first] */

    if (!is_open(bag, count))
        return;
    while (!cpi_word_cas(&domain->epoch, &epoch, epoch + 2, acq_rel, /* [stamp] */
                         relaxed))                                   /* [first] */
        ;
    cpi_store(&bag->stamp, 0, release);     /* [close] */
    cpi_store(&bag->to, count, release);    /* [note] */
    cpi_store(&bag->stamp, epoch, release); /* [note] */
}

static void close_bags(struct cpi_reader *reader)
{
    for (unsigned i = 0; i < CPI_BAGS; i++)
        close_bag(reader->domain, &reader->bags[i]);
}

static bool has_room(const struct cpi_reader *reader)
{
    const struct cpi_bag *bag = &reader->bags[reader->filled];

    return cpi_bag_stamp(bag) == 0 &&
           cpi_load(&bag->count, relaxed) != reader->domain->bag_size; /* [count] */
}

/* The owner has an empty bag filled from now on, if there is one, unless one is filled already.
 * With a claim, also for a reader without an owner, which may have vanished in here. */
static void choose_bag(struct cpi_reader *reader)
{
    for (unsigned i = 0; i < CPI_BAGS; i++) {
        struct cpi_bag *bag = &reader->bags[(reader->filled + i) % CPI_BAGS];

        if (!is_bare(bag))
            continue;
        cpi_store(&bag->count, 0, release); /* [begin] */
        cpi_store(&bag->from, 0, release);  /* [begin] */
        if (!has_room(reader))
            reader->filled = (unsigned)(bag - reader->bags);
        return;
    }
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
           cpi_cas_strong(&reader->claimed, &seen, valid, acquire, relaxed); /* [claim] [first] */
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

/* --- Passes --- */

static void close_all(struct cpool_domain *domain, const struct cpi_reader *self, bool all)
{
    for (size_t i = 0; i < domain->readers; i++) {
        struct cpi_reader *reader = &domain->reader[i];

        if (!is_wanted(reader, self, all) || !claim(reader))
            continue;
        close_bags(reader);
        if (reader == self)
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
static unsigned mark_ripe(struct cpi_reader *reader, uintptr_t safe, uintptr_t mark)
{
    unsigned ripe = 0;

    if (!claim(reader))
        return 0;
    for (unsigned i = 0; i < CPI_BAGS; i++)
        if (is_ripe(&reader->bags[i], safe)) {
            cpi_store(&reader->bags[i].stamp, mark, relaxed); /* [mark] */
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
    if (cpi_reader_is_own(reader, self))
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
        uintptr_t mark = emptying(); /* in the child of a handler still the parent's */
        unsigned ripe = is_wanted(reader, self, all) ? mark_ripe(reader, safe, mark) : 0;

        for (unsigned k = 0; ripe >> k != 0; k++)
            given += (ripe >> k) % 2 != 0 ? empty_bag(&reader->bags[k], mark, pool) : 0;
        if (is_wanted(reader, self, false))
            tidy(reader, self);
    }
    return given;
}

size_t cpi_retire_pass(struct cpool_domain *domain, struct cpi_reader *self, bool all,
                       const cpool_t *pool, struct cpi_blocker *blocker)
{
    struct cpi_blocker unused;
    uintptr_t safe;

    close_all(domain, self, all);
    safe = cpi_retire_look(domain, self, blocker != NULL ? blocker : &unused);
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
    close_bags(reader);
    choose_bag(reader);
    leave_claim(reader);
    (void)empty_ripe(reader->domain, reader, false, cpi_retire_glance(reader), NULL);
    for (unsigned i = 0; i < CPI_BAGS; i++)
        empty += is_bare(&reader->bags[i]) ? 1u : 0u;
    return empty > 1;
}

/* Fills the place of slots that went back from above.  One that moves is off the bag meanwhile, so
 * that the child of a fork that comes in between frees none twice. */
static void close_gap(struct cpi_bag *bag)
{
    size_t from;

    while ((from = cpi_load(&bag->from, relaxed)) > 0) { /* [count] */
        size_t last = cpi_load(&bag->count, relaxed) - 1; /* [count] */

        if (last < from)
            return;
        cpi_store(&bag->count, last, release); /* [give] */
        bag->slots[from - 1] = bag->slots[last];
        cpi_store(&bag->pools[from - 1], pool_at(bag, last), relaxed); /* [count] */
        cpi_store(&bag->from, from - 1, release);                      /* [move] */
    }
}

/* The owner, with a claim. */
static bool reopen(struct cpi_reader *reader)
{
    struct cpi_bag *youngest = NULL;

    for (unsigned i = 0; i < CPI_BAGS; i++) {
        struct cpi_bag *bag = &reader->bags[i];
        uintptr_t stamp = cpi_bag_stamp(bag);

        if (stamp % 2 != 0 && cpi_bag_held(bag) < reader->domain->bag_size &&
            (youngest == NULL || cpi_epoch_is_before(cpi_bag_stamp(youngest), stamp))) {
            youngest = bag;
            reader->filled = i;
        }
    }
    if (youngest == NULL)
        return false;
    cpi_store(&youngest->stamp, 0, release); /* [close] */
    close_gap(youngest);
    return true;
}

bool cpi_retire_reopen(struct cpi_reader *reader)
{
    bool opened;

    if (!claim(reader))
        return false;
    opened = has_room(reader) || reopen(reader);
    leave_claim(reader);
    return opened;
}

/* --- Pools that end --- */

/* Keeps the slots of all other pools.  One that moves is off the bag meanwhile, so that the child
 * of a fork that comes in between frees none twice.  Where it moves to lies no slot until the pool
 * is there: the child frees NULL.  The owner adds behind them. */
static void forget_in(struct cpi_bag *bag, const cpool_t *pool)
{
    size_t count = cpi_load(&bag->count, acquire); /* [full] */

    for (size_t i = cpi_load(&bag->from, relaxed); i < count; i++) { /* [count] */
        size_t first = cpi_load(&bag->from, relaxed);                /* [count] */

        if (pool_at(bag, i) != pool)
            continue;
        cpi_store(&bag->from, first + 1, release); /* [give] */
        if (i == first)
            continue;
        cpi_word_store(&bag->slots[i], NULL, relaxed);               /* [blank] */
        cpi_store(&bag->pools[i], pool_at(bag, first), release);     /* [move] */
        cpi_word_store(&bag->slots[i], bag->slots[first], release);  /* [move] */
    }
    if (cpi_load(&bag->from, relaxed) >= cpi_load(&bag->to, relaxed)) /* [count] */
        cpi_store(&bag->stamp, 0, release);                           /* [close] */
}

/* Of one that is being emptied, with those that are just going back. */
static bool has_slots_of(const struct cpi_bag *bag, const cpool_t *pool)
{
    size_t from = cpi_load(&bag->from, acquire);   /* [given] */
    size_t count = cpi_load(&bag->count, acquire); /* [full] */

    if (from > 0)
        from--;
    for (size_t i = from; i < count; i++)
        if (pool_at(bag, i) == pool)
            return true;
    return false;
}

/* Returns false while another thread changes the bags, or has yet to empty one with slots of the
 * pool.  Nobody else moves a slot from one place to another meanwhile. */
static bool forget_of(struct cpi_reader *reader, const cpool_t *pool)
{
    bool whole = true;

    if (!claim(reader))
        return false;
    for (unsigned k = 0; k < CPI_BAGS; k++) {
        if (!is_being_emptied(&reader->bags[k]))
            forget_in(&reader->bags[k], pool);
        else if (has_slots_of(&reader->bags[k], pool))
            whole = false;
    }
    leave_claim(reader);
    return whole;
}

void cpi_retire_forget(struct cpool_domain *domain, const cpool_t *pool)
{
    for (size_t i = 0; i < domain->readers; i++) {
        unsigned times = 0;

        while (!forget_of(&domain->reader[i], pool))
            cpi_os_back_off(times++);
    }
}
