/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * retire.c - bags of retired slots, and how the slots go back to their pools.
 *
 * A reader puts the slots that it retires into its open bag.  A bag is closed with the domain's
 * epoch as its stamp, and the epoch advances.  A section that began in an epoch after the stamp
 * cannot have found a slot of the bag.  So the bag's slots go back when no reader is inside a
 * section of an epoch up to the stamp.  Any thread finds that out by itself, by one scan of all
 * readers (epoch.c).
 *
 *   stamp | 0: open, or empty | odd, the epoch: closed | even: a thread empties it |
 *
 *   slots | gone back | closed  | put in since the close | room |
 *                     ^ from    ^ to                     ^ count
 *
 * A thread claims a reader's bags for a few steps: to close those that have slots, to open an empty
 * one, or to mark those that it will empty; and for one scan when a pool ends.  It empties them
 * without the claim, so that an error handler or a ready function may retire.  The owner puts slots
 * into the open bag without a claim, and may not have seen that it was closed: only slots below
 * `to` go back, and later ones belong to the next stamp.  An empty bag is filled from its beginning
 * when its owner opens it.  Claims and marks of threads that have vanished in a fork are void.
 *
 * Epochs wrap where words are short, but stamps and sections are less than 2^30 apart, because
 * each bag that is closed while a section lasts holds another slot back, which takes 8 bytes.
 *
 * ORDERING TABLE
 *   fill   | count store       | release | full, the child of a fork | the slots below
 *   full   | count load        | acquire | fill   | the slots below
 *   stamp  | epoch CAS         | acq_rel | epoch.c's now, a beginning inline | the unlinked slots
 *   hint   | CAS failure, first loads | relaxed | - | -
 *   claim  | claim CAS         | acquire | leave  | the bags
 *   leave  | claim, state store | release | claim, gone | the bags
 *   gone   | state load        | acquire | leave  | the bags of a destroyed reader
 *   unstamp | stamp store of 0, with a claim | release | bare | what was given back before
 *   mark   | stamp store, with a claim | relaxed | - | -
 *   note   | to, stamp store   | release | the child of a fork | that it is open, and `to`
 *   empty  | stamp store       | release | bare   | that nobody reads the bag's arrays any more
 *   give   | from, count store | release | given, the child of a fork | the mark
 *   given  | from load         | acquire | give   | the mark
 *   move   | pools, slots, from store | release | begun, the child of a fork | count, slot, pool
 *   blank  | slots store of NULL | relaxed | - | - (move)
 *   begin  | count, from store | release | bare, begun, the child of a fork | the count
 *   bare   | count, stamp load | acquire | begin, empty, unstamp | the count, and that the arrays
 *                                                               are not in use
 *   begun  | from load         | acquire | begin, move | the count
 *   own    | from, to, count, pools load, to, pools store | relaxed | - | -
 *   plain  | plain load, store | relaxed | - | -
 */
#include "retire/domain.h"

static cpool_t *pool_of_slot(const struct cpi_bag *bag, size_t i)
{
    return cpi_load(&bag->pools[i], relaxed); /* [own] */
}

static uintptr_t stamp_of(const struct cpi_bag *bag)
{
    return cpi_load(&bag->stamp, acquire); /* [bare] */
}

/* The bag's slots of a pool or, for NULL, of all, at `first` or behind. */
static size_t count_behind(const struct cpi_bag *bag, size_t first, const cpool_t *of)
{
    size_t count = cpi_load(&bag->count, acquire); /* [full] */
    size_t held = 0;

    if (of == NULL)
        return count > first ? count - first : 0;
    for (size_t i = first; i < count; i++)
        held += pool_of_slot(bag, i) == of;
    return held;
}

/* An estimate for other threads, whose loads may be of different times. */
static size_t count_held(const struct cpi_bag *bag, const cpool_t *of)
{
    return count_behind(bag, cpi_load(&bag->from, acquire), of); /* [begun] */
}

size_t cpi_reader_held(const struct cpi_reader *reader, const cpool_t *of)
{
    size_t held = 0;

    for (unsigned i = 0; i < CPI_BAGS; i++)
        held += count_held(&reader->bags[i], of);
    return held;
}

static bool bag_is_empty(const struct cpi_bag *bag)
{
    size_t from = cpi_load(&bag->from, acquire); /* [given] */

    return from >= cpi_load(&bag->count, acquire) && stamp_of(bag) == 0; /* [bare] */
}

static unsigned count_empty(const struct cpi_reader *reader)
{
    unsigned empty = 0;

    for (unsigned i = 0; i < CPI_BAGS; i++)
        empty += bag_is_empty(&reader->bags[i]);
    return empty;
}

bool cpi_reader_is_empty(const struct cpi_reader *reader)
{
    return count_empty(reader) == CPI_BAGS;
}

/* --- Claims --- */

/* A claim, and the stamp of a bag that a thread empties.  Another word in the child of a fork, so
 * that those of vanished threads are void. */
static uintptr_t current_mark(const struct cpool_domain *domain)
{
    return (uintptr_t)cpi_domain_forks(domain) * 4 + 2;
}

static bool claim_bags(struct cpi_reader *reader)
{
    uintptr_t seen = cpi_load(&reader->claim, relaxed); /* [hint] */
    uintptr_t current = current_mark(reader->domain);

    return seen != current &&
           cpi_cas_strong(&reader->claim, &seen, current, acquire, relaxed); /* [claim] [hint] */
}

static void leave_bags(struct cpi_reader *reader)
{
    cpi_store(&reader->claim, 0, release); /* [leave] */
}

/* --- Closing, with a claim --- */

static bool is_closed(uintptr_t stamp)
{
    return stamp % 2 != 0;
}

/* Whether the bag has slots that are under no stamp. */
static bool has_unstamped(const struct cpi_bag *bag, size_t count)
{
    uintptr_t stamp = stamp_of(bag);

    if (stamp == 0)
        return cpi_load(&bag->from, relaxed) < count; /* [own] */
    return is_closed(stamp) && cpi_load(&bag->to, relaxed) < count; /* [own] */
}

/* Open in between, so that the child of a fork has no slot under an earlier stamp. */
static void close_bag(struct cpool_domain *domain, struct cpi_bag *bag)
{
    size_t count = cpi_load(&bag->count, acquire);            /* [full] */
    uintptr_t epoch = cpi_word_load(&domain->epoch, relaxed); /* [hint] */

    if (!has_unstamped(bag, count))
        return;
    while (!cpi_word_cas(&domain->epoch, &epoch, epoch + 2, acq_rel, /* [stamp] */
                         relaxed))                                   /* [hint] */
        ;
    cpi_store(&bag->stamp, 0, release);     /* [unstamp] */
    cpi_store(&bag->to, count, release);    /* [note] */
    cpi_store(&bag->stamp, epoch, release); /* [note] */
}

static bool has_room(const struct cpi_reader *reader)
{
    const struct cpi_bag *bag = &reader->bags[reader->open];

    return stamp_of(bag) == 0 &&
           cpi_load(&bag->count, relaxed) != reader->domain->bag_size; /* [own] */
}

/* Opens an empty bag, if there is one, unless the open one has room.  The owner, or for a reader
 * without one, which may have vanished in here. */
static void open_bag(struct cpi_reader *reader)
{
    for (unsigned i = 0; i < CPI_BAGS; i++) {
        struct cpi_bag *bag = &reader->bags[(reader->open + i) % CPI_BAGS];

        if (!bag_is_empty(bag))
            continue;
        cpi_store(&bag->count, 0, release); /* [begin] */
        cpi_store(&bag->from, 0, release);  /* [begin] */
        if (!has_room(reader))
            reader->open = (unsigned)(bag - reader->bags);
        return;
    }
}

/* --- Emptying --- */

/* Whether the bag is closed, and no section sees its slots any more, because all sections began in
 * the epoch `safe` or later.  Or whether a thread that has vanished in a fork was emptying it. */
static bool may_empty(const struct cpi_reader *reader, unsigned k, uintptr_t safe)
{
    uintptr_t stamp = stamp_of(&reader->bags[k]);

    if (is_closed(stamp))
        return cpi_epoch_is_before(stamp, safe);
    return stamp != 0 && stamp != current_mark(reader->domain);
}

/* A dry pool's alloc may be one that does not look into its thread's cache. */
static void free_slots(cpool_t *pool, void *const *slots, size_t n, bool dry)
{
    (void)cpool_client_retire(pool, slots, n, CPOOL_CLIENT_BACK);
    if (!dry)
        cpool_free_bulk(pool, slots, n);
    for (size_t i = 0; dry && i < n; i++)
        cpool_free_uncached(pool, slots[i]);
}

/* The slots are off the bag before they go back, so that the child of a fork that comes in
 * between frees none twice.  In the child that a handler has made, the bags with the parent's mark
 * are left to others.  Returns how many were slots of a pool. */
static size_t empty_bag(struct cpi_reader *reader, unsigned k, uintptr_t mark, const cpool_t *of)
{
    const struct cpool_domain *domain = reader->domain;
    struct cpi_bag *bag = &reader->bags[k];
    size_t to = cpi_load(&bag->to, relaxed); /* [own] */
    size_t given = 0;
    size_t from;

    while ((from = cpi_load(&bag->from, relaxed)) < to && /* [own] */
           mark == current_mark(domain)) {
        cpool_t *pool = pool_of_slot(bag, from);
        size_t next = from + 1;

        while (next < to && pool_of_slot(bag, next) == pool)
            next++;
        cpi_store(&bag->from, next, release); /* [give] */
        free_slots(pool, bag->slots + from, next - from, of != NULL);
        given += pool == of ? next - from : 0;
    }
    if (mark == current_mark(domain))
        cpi_store(&bag->stamp, 0, release); /* [empty] */
    return given;
}

/* Marks the bags that may be emptied, and returns which these are, one bit each.  With a claim. */
static unsigned mark_bags(struct cpi_reader *reader, uintptr_t safe, uintptr_t mark)
{
    unsigned marked = 0;

    for (unsigned i = 0; i < CPI_BAGS; i++)
        if (may_empty(reader, i, safe)) {
            cpi_store(&reader->bags[i].stamp, mark, relaxed); /* [mark] */
            marked |= 1u << i;
        }
    return marked;
}

/* Whether no thread but the caller, whose reader is `self`, uses the reader. */
static bool is_ours(const struct cpi_reader *reader, const struct cpi_reader *self)
{
    return reader == self || cpi_load(&reader->state, acquire) == CPI_READER_ORPHAN; /* [gone] */
}

/* When bags are empty: the owner goes on with one, and a destroyed reader is free. */
static void reuse_bags(struct cpi_reader *reader, const struct cpi_reader *self)
{
    if (!claim_bags(reader))
        return;
    if (is_ours(reader, self))
        open_bag(reader);
    if (cpi_load(&reader->state, acquire) == CPI_READER_ORPHAN && /* [gone] */
        cpi_reader_is_empty(reader))
        cpi_store(&reader->state, CPI_READER_FREE, release); /* [leave] */
    leave_bags(reader);
}

/* --- Reclaiming --- */

static bool is_wanted(const struct cpi_reader *reader, const struct cpi_reader *self, bool all)
{
    unsigned state = cpi_load(&reader->state, relaxed); /* [hint] */

    return reader == self || state == CPI_READER_ORPHAN ||
           (all && !cpi_reader_is_empty(reader));
}

static void close_wanted(struct cpool_domain *domain, const struct cpi_reader *self, bool all)
{
    for (size_t i = 0; i < domain->readers; i++) {
        struct cpi_reader *reader = &domain->reader[i];

        if (!is_wanted(reader, self, all) || !claim_bags(reader))
            continue;
        for (unsigned k = 0; k < CPI_BAGS; k++)
            close_bag(domain, &reader->bags[k]);
        if (reader == self)
            open_bag(reader);
        leave_bags(reader);
    }
}

static size_t empty_wanted(struct cpool_domain *domain, struct cpi_reader *self, bool all,
                           uintptr_t safe, const cpool_t *pool)
{
    size_t given = 0;

    for (size_t i = 0; i < domain->readers; i++) {
        struct cpi_reader *reader = &domain->reader[i];
        uintptr_t mark = current_mark(domain); /* still the parent's in the child of a handler */
        unsigned marked = 0;

        if (is_wanted(reader, self, all) && claim_bags(reader)) {
            marked = mark_bags(reader, safe, mark);
            leave_bags(reader);
        }
        for (unsigned k = 0; marked >> k != 0; k++)
            given += (marked >> k) % 2 != 0 ? empty_bag(reader, k, mark, pool) : 0;
        if (is_wanted(reader, self, false))
            reuse_bags(reader, self);
    }
    return given;
}

size_t cpi_retire_reclaim(struct cpool_domain *domain, struct cpi_reader *self, bool all,
                          const cpool_t *pool)
{
    close_wanted(domain, self, all);
    return empty_wanted(domain, self, all, cpi_epoch_scan(domain, self, true, NULL), pool);
}

/* Reports a section, once, that has held back the reader's slots for too long. */
static void report_blocker(struct cpi_reader *reader, const struct cpi_blocker *seen,
                           const char *function)
{
    const struct cpool_domain *domain = reader->domain;
    struct cpi_blocker *blocker = &reader->blocker;

    if (seen->reader != blocker->reader || seen->inside != blocker->inside) {
        *blocker = *seen;
        blocker->since = domain->stall_limit_ns != 0 ? domain->client.system->now() : 0;
    } else if (seen->reader != NULL && blocker->since != 0 &&
               domain->client.system->now() - blocker->since >= domain->stall_limit_ns) {
        blocker->since = 0;
        (void)cpi_report_address(CPOOL_ESTALLED, function, &seen->reader->section);
    }
}

/* Without `barrier` what takes none. */
CPI_COLD static void reclaim_own(struct cpi_reader *reader, bool barrier, const char *function)
{
    struct cpi_blocker seen;
    uintptr_t safe;

    close_wanted(reader->domain, reader, false);
    safe = cpi_epoch_scan(reader->domain, reader, barrier, &seen);
    (void)empty_wanted(reader->domain, reader, false, safe, NULL);
    if (barrier)
        report_blocker(reader, &seen, function);
}

/* --- Room for a slot --- */

/* Whether a scan is in vain: the section that held back all bags the last time still does. */
static bool is_blocked(const struct cpi_reader *reader)
{
    const struct cpi_blocker *blocker = &reader->blocker;

    if (blocker->reader == NULL ||
        cpi_word_load(&blocker->reader->section.inside, relaxed) != blocker->inside) /* [hint] */
        return false;
    for (unsigned i = 0; i < CPI_BAGS; i++)
        if (may_empty(reader, i, blocker->inside))
            return false;
    return true;
}

/* Fills the places of slots that are gone from above.  A slot that moves is off the bag meanwhile,
 * so that the child of a fork that comes in between frees none twice. */
static void close_gap(struct cpi_bag *bag)
{
    size_t from;

    while ((from = cpi_load(&bag->from, relaxed)) > 0) {  /* [own] */
        size_t last = cpi_load(&bag->count, relaxed) - 1; /* [own] */

        if (last < from)
            return;
        cpi_store(&bag->count, last, release); /* [give] */
        bag->slots[from - 1] = bag->slots[last];
        cpi_store(&bag->pools[from - 1], pool_of_slot(bag, last), relaxed); /* [own] */
        cpi_store(&bag->from, from - 1, release);                           /* [move] */
    }
}

static struct cpi_bag *youngest_with_room(struct cpi_reader *reader)
{
    struct cpi_bag *youngest = NULL;

    for (unsigned i = 0; i < CPI_BAGS; i++) {
        struct cpi_bag *bag = &reader->bags[i];
        uintptr_t stamp = stamp_of(bag);

        if (is_closed(stamp) && count_held(bag, NULL) < reader->domain->bag_size &&
            (youngest == NULL || cpi_epoch_is_before(stamp_of(youngest), stamp)))
            youngest = bag;
    }
    return youngest;
}

/* A flush closes bags that have room.  Opens the youngest of them again, which gets a later stamp
 * then.  Returns false if there is none. */
static bool reopen_bag(struct cpi_reader *reader)
{
    struct cpi_bag *youngest;
    bool opened;

    if (!claim_bags(reader))
        return false;
    opened = has_room(reader);
    if (!opened && (youngest = youngest_with_room(reader)) != NULL) {
        reader->open = (unsigned)(youngest - reader->bags);
        cpi_store(&youngest->stamp, 0, release); /* [unstamp] */
        close_gap(youngest);
        opened = true;
    }
    leave_bags(reader);
    return opened;
}

/* --- Retiring --- */

/* Returns 0, CPOOL_EHELD if there is no room, or a code of the slot's state.  Takes few stores,
 * because they wait in order behind those to lines that readers hold. */
static inline int put_slot(struct cpi_reader *reader, cpool_t *pool, void *slot, int tracked)
{
    struct cpi_bag *bag = &reader->bags[reader->open];
    size_t count = cpi_load(&bag->count, relaxed); /* [own] */
    int code = CPOOL_EHELD;

    if (CPI_LIKELY(count != reader->domain->bag_size && stamp_of(bag) == 0)) {
        code = tracked != 0 ? cpool_client_retire(pool, &slot, 1, CPOOL_CLIENT_OUT) : 0;
        if (CPI_LIKELY(code == 0)) {
            bag->slots[count] = slot;
            cpi_store(&bag->pools[count], pool, relaxed); /* [own] */
            cpi_store(&bag->count, count + 1, release);   /* [fill] */
        }
    }
    return code;
}

CPI_COLD static int put_with_effort(struct cpi_reader *reader, cpool_t *pool, void *slot,
                                    int tracked)
{
    int code;

    reclaim_own(reader, false, "cpool_retire");
    if (count_empty(reader) < 2) { /* otherwise the barrier can wait, and serve several bags */
        if (is_blocked(reader))
            report_blocker(reader, &reader->blocker, "cpool_retire");
        else
            reclaim_own(reader, true, "cpool_retire");
    }
    code = put_slot(reader, pool, slot, tracked);
    if (CPI_UNLIKELY(code == CPOOL_EHELD) && reopen_bag(reader))
        code = put_slot(reader, pool, slot, tracked);
    return code;
}

/* The pool is another one than the last time, or keeps states of its slots. */
CPI_APART static int retire_noted(struct cpi_reader *reader, cpool_t *pool, void *slot)
{
    int tracked;
    int code;

    if (cpi_reader_has_ended(reader, "cpool_retire"))
        return CPOOL_EPOOL;
    tracked = cpool_client_retire(pool, NULL, 0, CPOOL_CLIENT_NOTED);
    if (tracked < 0)
        return tracked;
    cpi_store(&reader->plain, tracked != 0 ? CPI_POOL_NONE : pool, relaxed); /* [plain] */
    code = put_slot(reader, pool, slot, tracked);
    if (CPI_UNLIKELY(code == CPOOL_EHELD))
        code = put_with_effort(reader, pool, slot, tracked);
    if (CPI_UNLIKELY(code == CPOOL_EHELD) && tracked != 0) {
        code = cpool_client_retire(pool, &slot, 1, CPOOL_CLIENT_ASKED);
        code = code != 0 ? code : CPOOL_EHELD;
    }
    return code;
}

int cpool_retire(cpool_reader_t *section, cpool_t *pool, void *slot)
{
    struct cpi_reader *reader = cpi_reader_of(section);
    int code;

    if (CPI_UNLIKELY(slot == NULL))
        return 0;
    if (CPI_UNLIKELY(pool != cpi_load(&reader->plain, relaxed))) /* [plain] */
        return retire_noted(reader, pool, slot);
    code = put_slot(reader, pool, slot, 0);
    return CPI_LIKELY(code == 0) ? 0 : put_with_effort(reader, pool, slot, 0);
}

/* Whether slots of this reader, or of destroyed ones, have not gone back yet. */
static bool holds_any(const struct cpi_reader *self)
{
    const struct cpool_domain *domain = self->domain;

    for (size_t i = 0; i < domain->readers; i++)
        if (is_ours(&domain->reader[i], self) && !cpi_reader_is_empty(&domain->reader[i]))
            return true;
    return false;
}

size_t cpool_retire_flush(cpool_reader_t *section, unsigned flags)
{
    struct cpi_reader *reader = cpi_reader_of(section);
    bool waits = (flags & CPOOL_FLUSH_WAIT) != 0;
    unsigned times = 0;

    if (cpi_reader_has_ended(reader, "cpool_retire_flush"))
        return 0;
    if ((flags & ~CPOOL_FLUSH_WAIT) != 0) {
        (void)cpi_report_address(CPOOL_EFLAGS, "cpool_retire_flush", section);
        return cpi_reader_held(reader, NULL);
    }
    if (waits && section->nested != 0) {
        (void)cpi_report_address(CPOOL_EREADER, "cpool_retire_flush", section);
        waits = false;
    }
    for (reclaim_own(reader, true, "cpool_retire_flush"); waits && holds_any(reader);
         reclaim_own(reader, true, "cpool_retire_flush"))
        reader->domain->client.system->back_off(times++);
    return cpi_reader_held(reader, NULL);
}

/* --- Pools that end --- */

/* Keeps the slots of all other pools.  A slot that moves is off the bag meanwhile, so that the
 * child of a fork that comes in between frees none twice.  Its new place has no slot until the pool
 * is there: the child frees NULL.  The owner puts slots behind them. */
static void forget_in_bag(struct cpi_bag *bag, const cpool_t *pool)
{
    size_t count = cpi_load(&bag->count, acquire); /* [full] */

    for (size_t i = cpi_load(&bag->from, relaxed); i < count; i++) { /* [own] */
        size_t first = cpi_load(&bag->from, relaxed);                /* [own] */

        if (pool_of_slot(bag, i) != pool)
            continue;
        cpi_store(&bag->from, first + 1, release); /* [give] */
        if (i == first)
            continue;
        cpi_word_store(&bag->slots[i], NULL, relaxed);                   /* [blank] */
        cpi_store(&bag->pools[i], pool_of_slot(bag, first), release);    /* [move] */
        cpi_word_store(&bag->slots[i], bag->slots[first], release);      /* [move] */
    }
    if (cpi_load(&bag->from, relaxed) >= cpi_load(&bag->to, relaxed)) /* [own] */
        cpi_store(&bag->stamp, 0, release);                           /* [unstamp] */
}

/* The first of the bag's slots that no section holds back, when bags that may be emptied have been
 * marked: under no stamp, or in a bag that a thread empties the one that is just going back. */
static size_t first_unheld(const struct cpi_bag *bag)
{
    size_t from = cpi_load(&bag->from, acquire); /* [given] */
    uintptr_t stamp = stamp_of(bag);

    if (is_closed(stamp))
        return cpi_load(&bag->to, relaxed); /* [own] */
    return stamp != 0 && from > 0 ? from - 1 : from;
}

/* Gives back what no section sees, before the owner can open its bag again, where a later section
 * may hold it.  Returns false while slots of the pool may go back, or are about to, or another
 * thread changes the bags.  Nobody else moves a slot from one place to another meanwhile. */
static bool forget_in_reader(struct cpi_reader *reader, const cpool_t *pool)
{
    uintptr_t mark = current_mark(reader->domain);
    unsigned marked = 0;
    bool all = true;

    if (!claim_bags(reader))
        return false;
    if (cpi_reader_held(reader, pool) > 0)
        marked = mark_bags(reader, cpi_epoch_scan(reader->domain, NULL, true, NULL), mark);
    for (unsigned k = 0; k < CPI_BAGS; k++) {
        struct cpi_bag *bag = &reader->bags[k];

        if (count_behind(bag, first_unheld(bag), pool) > 0)
            all = false;
        else if (stamp_of(bag) != mark)
            forget_in_bag(bag, pool);
    }
    leave_bags(reader);
    for (unsigned k = 0; marked >> k != 0; k++)
        if ((marked >> k) % 2 != 0)
            (void)empty_bag(reader, k, mark, pool);
    return all;
}

void cpi_retire_forget(struct cpool_domain *domain, const cpool_t *pool)
{
    for (size_t i = 0; i < domain->readers; i++)
        for (unsigned times = 0; !forget_in_reader(&domain->reader[i], pool);) {
            domain->client.system->back_off(times++);
            (void)cpi_retire_reclaim(domain, NULL, true, pool);
        }
}
