/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * retire.c - the bags of retired slots, and how they go back.
 *
 * Frees slots by the public interface.
 *
 * A bag that is full gets the domain's epoch as its stamp, and the epoch grows.  A section that
 * began in an epoch after the stamp cannot have found a slot of the bag.  So the bag's slots go
 * back when no reader is inside with an epoch up to the stamp.  Any thread finds that out by
 * itself, by one look at all readers.
 *
 * A thread claims the bags that it gives back: its own, those of readers that were destroyed, and
 * those of all readers if a pool is dry.  An owner that meets a claim does not wait.  A claim by
 * a thread that has vanished in a fork is void.
 *
 * ORDERING TABLE
 *   stamp  | epoch CAS         | acq_rel | now, and a beginning inline | that the bag's slots
 *                                                                 are out of reach
 *   now    | epoch load        | acquire | stamp  | the same
 *   first  | CAS failure, first loads | relaxed | - | -
 *   enter  | inside CAS        | acq_rel | look   | the section, where there is no barrier
 *   look   | inside load       | acquire | a beginning and an end inline | all reads of the
 *                                                                 sections that are over
 *          | inside CAS        | acq_rel | enter  | the same, where there is no barrier
 *   barrier | membarrier(2)    | -       | a beginning inline, change | each side's first word
 *   change | busy store        | release | claim, barrier | that the owner is in its bags
 *          | busy exchange     | seq_cst | claim  | the same, where there is no barrier
 *   asked  | claimed load      | acquire | leave  | the bags
 *          | claimed load      | seq_cst | claim  | the same, where there is no barrier
 *   claim  | claimed CAS       | seq_cst | change, leave | the bags
 *   seen   | busy load         | seq_cst | change, leave | the bags
 *   leave  | busy, claimed, state store | release | seen, claim, asked, gone | the bags
 *   gone   | state load        | acquire | leave  | the bags of a reader that was destroyed
 *   fill   | count store       | release | the child of a fork | the slots below
 *   give   | count store       | release | the child of a fork | that the slots go back now
 *   count  | count, pools load | relaxed | - | -
 *   pools  | pools store; pools bits load, CAS | relaxed | - | -
 *
 * [look] The barrier of the system comes after [now] and before the loads.  Either the reader's
 * store of `inside` had happened when the barrier reached its processor, and the load sees it, or
 * all loads of its section come after the barrier, and with that after the stores that made the
 * slots unreachable.  Without the barrier both sides change `inside`.  If the reader's change
 * comes first, the look sees it.  Otherwise the reader's acquires the look's.  The plain store at
 * a section's end does not come between, because the look had read it.
 *
 * [claim] The same barrier comes between [claim] and [seen].  Either the owner's mark had
 * happened, and [seen] finds it, or the owner's [asked] finds the claim.
 *
 * [pools] A dry pool that does not find its bit comes before the retire.
 */
#include "retire/retire_impl.h"

#include "base/compiler.h"
#include "base/error.h"
#include "cache/mark.h"
#include "host/os.h"

CPI_COLD int cpi_reader_report(int code, const char *function, const cpool_reader_t *reader)
{
    cpool_error_t error = {.code = code, .function = function, .name = "", .address = reader};

    cpi_report(&error, "%s: %s (reader %p)", function, cpool_strerror(code),
               (const void *)reader);
    return code;
}

static size_t count_of(const struct cpi_bag *bag)
{
    return cpi_load(&bag->count, relaxed); /* [count] */
}

size_t cpi_reader_held(const struct cpi_reader *reader)
{
    size_t held = 0;

    for (unsigned i = 0; i < CPI_BAGS; i++)
        held += count_of(&reader->bags[i]);
    return held;
}

static cpool_t *pool_at(const struct cpi_bag *bag, size_t i)
{
    return cpi_load(&bag->pools[i], relaxed); /* [count] */
}

/* Epochs wrap where words are short. */
static bool is_before(uintptr_t epoch, uintptr_t other)
{
    return (intptr_t)(epoch - other) < 0;
}

/* --- A look at all readers --- */

static uintptr_t look_at(struct cpi_reader *reader)
{
    uintptr_t *word = &reader->face.inside;
    uintptr_t inside;

    if (CPI_LIKELY(cpi_mark_has_barrier))
        return cpi_word_load(word, acquire); /* [look] */
    inside = cpi_word_load(word, relaxed);   /* [first] */
    while (!cpi_word_cas(word, &inside, inside, acq_rel, relaxed)) /* [look] [first] */
        ;
    return inside;
}

/* Bags with a stamp before the result may go back. */
static uintptr_t look(struct cpool_domain *domain, struct cpi_blocker *blocker)
{
    uintptr_t safe = cpi_word_load(&domain->epoch, acquire); /* [now] */

    if (CPI_LIKELY(cpi_mark_has_barrier))
        cpi_os_barrier(); /* [barrier] */
    blocker->reader = NULL;
    for (size_t i = 0; i < domain->readers; i++) {
        uintptr_t inside = look_at(&domain->reader[i]);

        if (inside != 0 && is_before(inside, safe)) {
            safe = inside;
            blocker->reader = &domain->reader[i];
        }
    }
    blocker->inside = safe;
    return safe;
}

/* --- Bags, of which the caller has the claim --- */

/* The slots are off the bag before they go back, so that the child of a fork that comes in
 * between frees none twice.  Returns how many were slots of a pool. */
static size_t empty_bag(struct cpi_bag *bag, const cpool_t *of)
{
    size_t given = 0;
    size_t count;

    while ((count = count_of(bag)) > 0) {
        size_t first = count - 1;
        cpool_t *pool = pool_at(bag, first);

        while (first > 0 && pool_at(bag, first - 1) == pool)
            first--;
        cpi_store(&bag->count, first, release); /* [give] */
        cpi_retire_back(pool, bag->slots + first, count - first);
        cpool_free_bulk(pool, bag->slots + first, count - first);
        given += pool == of ? count - first : 0;
    }
    bag->stamp = 0;
    return given;
}

static size_t empty_before(struct cpi_reader *reader, uintptr_t safe, const cpool_t *pool)
{
    size_t given = 0;

    for (unsigned i = 0; i < CPI_BAGS; i++) {
        struct cpi_bag *bag = &reader->bags[i];

        if (bag->stamp != 0 && is_before(bag->stamp, safe))
            given += empty_bag(bag, pool);
    }
    return given;
}

static void close_bag(struct cpi_reader *reader)
{
    struct cpi_bag *bag = &reader->bags[reader->filled];
    uintptr_t *word = &reader->domain->epoch;
    uintptr_t epoch = cpi_word_load(word, relaxed); /* [first] */

    if (count_of(bag) == 0 || bag->stamp != 0)
        return;
    while (!cpi_word_cas(word, &epoch, epoch + 2, acq_rel, relaxed)) /* [stamp] [first] */
        ;
    bag->stamp = epoch;
}

/* Has an empty bag filled from now on, if there is one. */
static void choose_bag(struct cpi_reader *reader)
{
    for (unsigned i = 0; i < CPI_BAGS; i++)
        if (reader->bags[i].stamp == 0 && count_of(&reader->bags[i]) == 0) {
            reader->filled = i;
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
           cpi_cas_strong(&reader->claimed, &seen, valid, seq_cst, relaxed); /* [claim] [first] */
}

static void leave_claim(struct cpi_reader *reader)
{
    cpi_store(&reader->claimed, 0, release); /* [leave] */
}

/* A reader that was destroyed is free when its bags are empty. */
static void give_up_claim(struct cpi_reader *reader)
{
    if (cpi_load(&reader->state, acquire) == CPI_READER_LEFT && /* [gone] */
        cpi_reader_held(reader) == 0)
        cpi_store(&reader->state, CPI_READER_FREE, release); /* [leave] */
    leave_claim(reader);
}

static bool is_wanted(const struct cpi_reader *reader, const struct cpi_reader *self, bool all)
{
    unsigned state = cpi_load(&reader->state, relaxed); /* [first] */

    return reader == self || state == CPI_READER_LEFT ||
           (all && state == CPI_READER_USED && cpi_reader_held(reader) != 0);
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

size_t cpi_retire_pass(struct cpool_domain *domain, struct cpi_reader *self, bool all,
                       const cpool_t *pool, struct cpi_blocker *blocker)
{
    struct cpi_reader *claimed = claim_all(domain, self, all);
    struct cpi_blocker seen;
    size_t given = 0;
    uintptr_t safe;

    for (struct cpi_reader *reader = claimed; reader != NULL; reader = reader->also)
        close_bag(reader);
    safe = look(domain, &seen);
    if (blocker != NULL)
        *blocker = seen;
    while (claimed != NULL) {
        struct cpi_reader *reader = claimed;

        claimed = reader->also;
        given += empty_before(reader, safe, pool);
        choose_bag(reader);
        give_up_claim(reader);
    }
    return given;
}

void cpi_retire_all(struct cpool_domain *domain)
{
    for (size_t i = 0; i < domain->readers; i++)
        for (unsigned k = 0; k < CPI_BAGS; k++)
            (void)empty_bag(&domain->reader[i].bags[k], NULL);
}

/* Keeps the slots of all other pools. */
static void forget_in(struct cpi_bag *bag, const cpool_t *pool)
{
    size_t count = count_of(bag);
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        cpool_t *other = pool_at(bag, i);

        if (other == pool)
            continue;
        bag->slots[kept] = bag->slots[i];
        cpi_store(&bag->pools[kept++], other, relaxed); /* [pools] */
    }
    cpi_store(&bag->count, kept, release); /* [give] */
    if (kept == 0)
        bag->stamp = 0;
}

static bool has_slots_of(const struct cpi_reader *reader, const cpool_t *pool)
{
    for (unsigned k = 0; k < CPI_BAGS; k++)
        for (size_t i = 0; i < count_of(&reader->bags[k]); i++)
            if (pool_at(&reader->bags[k], i) == pool)
                return true;
    return false;
}

static bool has_any(const struct cpool_domain *domain, const cpool_t *pool)
{
    for (size_t i = 0; i < domain->readers; i++)
        if (has_slots_of(&domain->reader[i], pool))
            return true;
    return false;
}

void cpi_retire_forget(struct cpool_domain *domain, const cpool_t *pool)
{
    unsigned times = 0;

    while (has_any(domain, pool)) {
        struct cpi_reader *claimed = claim_all(domain, NULL, true);

        for (struct cpi_reader *reader = claimed; reader != NULL; reader = reader->also)
            for (unsigned k = 0; k < CPI_BAGS; k++)
                forget_in(&reader->bags[k], pool);
        while (claimed != NULL) {
            struct cpi_reader *reader = claimed;

            claimed = reader->also;
            give_up_claim(reader);
        }
        cpi_os_back_off(times++);
    }
}

/* --- The owner --- */

static void leave(struct cpi_reader *reader)
{
    cpi_store(&reader->busy, 0u, release); /* [leave] */
}

/* Returns false if another thread has claimed the bags, or the caller itself. */
static inline bool enter(struct cpi_reader *reader)
{
    uintptr_t claimed;

    if (CPI_LIKELY(cpi_mark_has_barrier)) {
        cpi_store(&reader->busy, 1u, release); /* [change] */
        atomic_signal_fence(memory_order_seq_cst);
        claimed = cpi_load(&reader->claimed, acquire); /* [asked] */
    } else {
        (void)cpi_exchange(&reader->busy, 1u, seq_cst); /* [change] */
        claimed = cpi_load(&reader->claimed, seq_cst);  /* [asked] */
    }
    if (CPI_LIKELY(claimed == 0))
        return true;
    leave(reader);
    return false;
}

/* Returns 0, CPOOL_EHELD if there is no room, or a code of the slot's gate. */
static inline int put(struct cpi_reader *reader, cpool_t *pool, void *slot, bool gated)
{
    struct cpi_bag *bag;
    int code = CPOOL_EHELD;
    size_t count;

    if (CPI_UNLIKELY(!enter(reader)))
        return code;
    bag = &reader->bags[reader->filled];
    count = count_of(bag);
    if (CPI_LIKELY(count != reader->domain->bag_size && bag->stamp == 0)) {
        code = gated ? cpi_retire_out(pool, slot) : 0;
        if (CPI_LIKELY(code == 0)) {
            bag->slots[count] = slot;
            cpi_store(&bag->pools[count], pool, relaxed); /* [pools] */
            cpi_store(&bag->count, count + 1, release);   /* [fill] */
        }
    }
    leave(reader);
    return code;
}

/* Reports a section, once, that has held back the reader's slots for too long. */
static void judge_blocker(struct cpi_reader *reader, const struct cpi_blocker *seen,
                          const char *function)
{
    struct cpi_blocker *blocker = &reader->blocker;
    uint64_t limit = reader->domain->stall_limit;

    if (limit == 0)
        return;
    if (seen->reader != blocker->reader || seen->inside != blocker->inside) {
        *blocker = *seen;
        blocker->since = cpi_os_now();
    } else if (seen->reader != NULL && blocker->since != 0 &&
               cpi_os_now() - blocker->since >= limit) {
        blocker->since = 0;
        (void)cpi_reader_report(CPOOL_ESTALLED, function, &seen->reader->face);
    }
}

CPI_COLD static void make_room(struct cpi_reader *reader, const char *function)
{
    struct cpi_blocker seen = {NULL, 0, 0};

    (void)cpi_retire_pass(reader->domain, reader, false, NULL, &seen);
    judge_blocker(reader, &seen, function);
}

CPI_COLD static int put_again(struct cpi_reader *reader, cpool_t *pool, void *slot, bool gated)
{
    make_room(reader, "cpool_retire");
    return put(reader, pool, slot, gated);
}

/* Of a pool that was not the last one, or has a gate. */
CPI_APART static int retire_other(struct cpi_reader *reader, cpool_t *pool, void *slot)
{
    bool gated;
    int code = cpi_retire_note(reader, pool, &gated);

    if (code != 0)
        return code;
    code = put(reader, pool, slot, gated);
    if (CPI_UNLIKELY(code == CPOOL_EHELD))
        code = put_again(reader, pool, slot, gated);
    if (CPI_UNLIKELY(code != 0 && code != CPOOL_EHELD))
        cpi_retire_refuse(code, pool, slot);
    return code;
}

int cpool_retire(cpool_reader_t *face, cpool_t *pool, void *slot)
{
    struct cpi_reader *reader = cpi_reader_of(face);
    int code;

    if (CPI_UNLIKELY(slot == NULL))
        return 0;
    if (CPI_UNLIKELY(pool != reader->noted))
        return retire_other(reader, pool, slot);
    code = put(reader, pool, slot, false);
    return CPI_LIKELY(code == 0) ? 0 : put_again(reader, pool, slot, false);
}

size_t cpool_retire_flush(cpool_reader_t *face)
{
    struct cpi_reader *reader = cpi_reader_of(face);

    make_room(reader, "cpool_retire_flush");
    return cpi_reader_held(reader);
}

/* Of this reader, and of those that were destroyed. */
static bool are_any_held(const struct cpi_reader *self)
{
    const struct cpool_domain *domain = self->domain;

    for (size_t i = 0; i < domain->readers; i++)
        if (is_wanted(&domain->reader[i], self, false) && cpi_reader_held(&domain->reader[i]) != 0)
            return true;
    return false;
}

int cpool_retire_barrier(cpool_reader_t *face)
{
    struct cpi_reader *reader = cpi_reader_of(face);
    unsigned times = 0;

    if (face->nested != 0)
        return cpi_reader_report(CPOOL_EREADER, "cpool_retire_barrier", face);
    for (make_room(reader, "cpool_retire_barrier"); are_any_held(reader);
         make_room(reader, "cpool_retire_barrier"))
        cpi_os_back_off(times++);
    return 0;
}

/* No other thread writes to `inside` but to leave it as it is. */
void cpool_read_begin_abi3(cpool_reader_t *face)
{
    uintptr_t epoch = cpi_word_load(&cpi_reader_of(face)->domain->epoch, acquire); /* [now] */
    uintptr_t seen = cpi_word_load(&face->inside, relaxed);                        /* [first] */

    while (!cpi_word_cas(&face->inside, &seen, epoch, acq_rel, relaxed)) /* [enter] [first] */
        ;
}
