/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * retire.c - domains of readers, and the bags of slots that they have retired.
 *
 * Uses pools by the public interface.
 *
 *   reader                         bags of a reader
 *   | inside | nested | epoch |    | count, stamp | count, stamp | ...    CPI_BAGS of them
 *      ^ 0, or the epoch in           |                v one is filled
 *        which it went inside         v slots and pools
 *
 * A bag that is full gets the domain's epoch as its stamp, and the epoch grows.  A section that
 * began in an epoch after the stamp cannot have found a slot of the bag.  So the bag's slots go
 * back when no reader is inside with an epoch up to the stamp.  Any thread finds that out by
 * itself, by one look at all readers.
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
 *   barrier | membarrier(2)    | -       | a beginning inline | each side's first word
 *   fill   | count store       | release | the child of a fork | the slots below
 *   give   | count store       | release | the child of a fork | that the slots go back now
 *   count  | count load        | relaxed | - | -
 *   claim  | state CAS         | acquire | leave  | the bags
 *   leave  | state store       | release | claim  | the bags
 *   alone  | inside, count loads and stores | relaxed | - | -
 *
 * [look] The barrier of the system comes after [now] and before the loads.  Either the reader's
 * store of `inside` had happened when the barrier reached its processor, and the load sees it, or
 * all loads of its section come after the barrier, and with that after the stores that made the
 * slots unreachable.  Without the barrier both sides change `inside`.  If the reader's change
 * comes first, the look sees it.  Otherwise the reader's acquires the look's.  The plain store at
 * a section's end does not come between, because the look had read it.
 */
#include <cpool/retire.h>

#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/compiler.h"
#include "base/error.h"
#include "cache/mark.h"
#include "cache/registry.h"
#include "host/os.h"
#include "host/thread.h"

#define CPI_BAGS 4u

enum reader_state { FREE, USED, LEFT, HELPED };

struct bag {
    _Atomic size_t count;
    uintptr_t stamp; /* the epoch when it was closed, 0 while it is filled */
    void **slots;
    cpool_t **pools;
};

/* All but `inside`, `state` and the counts are the owner's, or those of the thread that helps. */
struct reader {
    _Alignas(CPI_LINE) cpool_reader_t face;
    struct cpool_domain *domain; /* constant, as the bags' arrays */
    _Atomic unsigned state;
    unsigned forks;  /* of the process when it was taken */
    bool passing;    /* its slots are going back */
    unsigned filled; /* number of the bag that is filled */
    struct bag bags[CPI_BAGS];
};

struct cpool_domain {
    _Alignas(CPI_LINE) uintptr_t epoch; /* odd, so that it is never 0 */
    _Alignas(CPI_LINE) size_t size;     /* bytes, constant as all that follow */
    size_t readers;
    size_t bag_size; /* slots */
    struct reader reader[];
};

static struct reader *reader_of(cpool_reader_t *face)
{
    return (struct reader *)(void *)face;
}

CPI_COLD static int report_reader(const char *function, const void *reader)
{
    cpool_error_t error = {
        .code = CPOOL_EREADER, .function = function, .name = "", .address = reader};

    cpi_report(&error, "%s: %s (reader %p)", function, cpool_strerror(CPOOL_EREADER), reader);
    return CPOOL_EREADER;
}

static size_t count_of(const struct bag *bag)
{
    return cpi_load(&bag->count, relaxed); /* [count] */
}

static size_t held_by(const struct reader *reader)
{
    size_t held = 0;

    for (unsigned i = 0; i < CPI_BAGS; i++)
        held += count_of(&reader->bags[i]);
    return held;
}

/* Epochs wrap where words are short. */
static bool is_before(uintptr_t epoch, uintptr_t other)
{
    return (intptr_t)(epoch - other) < 0;
}

/* --- A look at all readers --- */

static uintptr_t look_at(struct reader *reader)
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
static uintptr_t look(struct cpool_domain *domain)
{
    uintptr_t safe = cpi_word_load(&domain->epoch, acquire); /* [now] */

    if (CPI_LIKELY(cpi_mark_has_barrier))
        cpi_os_barrier(); /* [barrier] */
    for (size_t i = 0; i < domain->readers; i++) {
        uintptr_t inside = look_at(&domain->reader[i]);

        if (inside != 0 && is_before(inside, safe))
            safe = inside;
    }
    return safe;
}

/* --- Bags --- */

/* The slots are off the bag before they go back, so that the child of a fork that comes in
 * between frees none twice. */
static void empty_bag(struct bag *bag)
{
    size_t count;

    while ((count = count_of(bag)) > 0) {
        size_t first = count - 1;
        cpool_t *pool = bag->pools[first];

        while (first > 0 && bag->pools[first - 1] == pool)
            first--;
        cpi_store(&bag->count, first, release); /* [give] */
        cpool_free_bulk(pool, bag->slots + first, count - first);
    }
    bag->stamp = 0;
}

static void empty_before(struct reader *reader, uintptr_t safe)
{
    for (unsigned i = 0; i < CPI_BAGS; i++) {
        struct bag *bag = &reader->bags[i];

        if (bag->stamp != 0 && is_before(bag->stamp, safe))
            empty_bag(bag);
    }
}

/* The slots of readers that were destroyed. */
static void help(struct cpool_domain *domain, uintptr_t safe)
{
    for (size_t i = 0; i < domain->readers; i++) {
        struct reader *left = &domain->reader[i];
        unsigned state = LEFT;

        if (CPI_LIKELY(cpi_load(&left->state, relaxed) != LEFT) || /* [first] */
            !cpi_cas_strong(&left->state, &state, HELPED, acquire, relaxed)) /* [claim] [first] */
            continue;
        empty_before(left, safe);
        cpi_store(&left->state, held_by(left) == 0 ? FREE : LEFT, release); /* [leave] */
    }
}

/* A handler of reports, which a free may call, may retire slots of its own. */
static void pass(struct reader *reader)
{
    uintptr_t safe;

    if (reader->passing)
        return;
    reader->passing = true;
    safe = look(reader->domain);
    empty_before(reader, safe);
    help(reader->domain, safe);
    reader->passing = false;
}

static void close_bag(struct reader *reader)
{
    struct bag *bag = &reader->bags[reader->filled];
    uintptr_t *word = &reader->domain->epoch;
    uintptr_t epoch = cpi_word_load(word, relaxed); /* [first] */

    if (count_of(bag) == 0 || bag->stamp != 0)
        return;
    while (!cpi_word_cas(word, &epoch, epoch + 2, acq_rel, relaxed)) /* [stamp] [first] */
        ;
    bag->stamp = epoch;
}

/* Has a bag with room filled from now on: the one at hand, to which a handler may have retired
 * slots meanwhile, or an empty one.  Returns false if there is none. */
static bool choose_bag(struct reader *reader)
{
    const struct bag *bag = &reader->bags[reader->filled];

    if (bag->stamp == 0 && count_of(bag) < reader->domain->bag_size)
        return true;
    close_bag(reader);
    for (unsigned i = 0; i < CPI_BAGS; i++)
        if (count_of(&reader->bags[i]) == 0 && reader->bags[i].stamp == 0) {
            reader->filled = i;
            return true;
        }
    return false;
}

CPI_COLD static bool make_room(struct reader *reader)
{
    close_bag(reader);
    pass(reader);
    return choose_bag(reader);
}

/* Flushes close bags that have room.  Has the youngest of them filled on, with a later stamp.  Not
 * while one is being emptied. */
CPI_COLD static bool reopen_bag(struct reader *reader)
{
    struct bag *youngest = NULL;

    for (unsigned i = 0; i < CPI_BAGS && !reader->passing; i++) {
        struct bag *bag = &reader->bags[i];

        if (count_of(bag) < reader->domain->bag_size &&
            (youngest == NULL || is_before(youngest->stamp, bag->stamp))) {
            youngest = bag;
            reader->filled = i;
        }
    }
    if (youngest != NULL)
        youngest->stamp = 0;
    return youngest != NULL;
}

int cpool_retire(cpool_reader_t *face, cpool_t *pool, void *slot)
{
    struct reader *reader = reader_of(face);
    struct bag *bag = &reader->bags[reader->filled];
    size_t count = count_of(bag);

    if (CPI_UNLIKELY(slot == NULL))
        return 0;
    if (CPI_UNLIKELY(count == reader->domain->bag_size || bag->stamp != 0)) {
        if (!make_room(reader) && !reopen_bag(reader))
            return CPOOL_EHELD;
        bag = &reader->bags[reader->filled];
        count = count_of(bag);
    }
    bag->slots[count] = slot;
    bag->pools[count] = pool;
    cpi_store(&bag->count, count + 1, release); /* [fill] */
    return 0;
}

size_t cpool_retire_flush(cpool_reader_t *face)
{
    struct reader *reader = reader_of(face);

    (void)make_room(reader);
    return held_by(reader);
}

int cpool_retire_barrier(cpool_reader_t *face)
{
    unsigned times = 0;

    if (face->nested != 0)
        return report_reader("cpool_retire_barrier", face);
    while (cpool_retire_flush(face) != 0)
        cpi_os_back_off(times++);
    return 0;
}

/* --- Readers --- */

/* No other thread writes to `inside` but to leave it as it is. */
void cpool_read_begin_abi3(cpool_reader_t *face)
{
    uintptr_t epoch = cpi_word_load(&reader_of(face)->domain->epoch, acquire); /* [now] */
    uintptr_t none = 0;

    while (!cpi_word_cas(&face->inside, &none, epoch, acq_rel, relaxed)) /* [enter] [first] */
        none = 0;
}

static cpool_reader_t *take_free(struct cpool_domain *domain)
{
    for (size_t i = 0; i < domain->readers; i++) {
        struct reader *reader = &domain->reader[i];
        unsigned state = FREE;

        if (cpi_load(&reader->state, relaxed) == FREE && /* [first] */
            cpi_cas_strong(&reader->state, &state, USED, acquire, relaxed)) { /* [claim] [first] */
            reader->face.epoch = cpi_mark_has_barrier ? &domain->epoch : NULL;
            reader->forks = cpi_thread_forks();
            return &reader->face;
        }
    }
    return NULL;
}

cpool_reader_t *cpool_reader_create(cpool_domain_t *domain)
{
    cpool_reader_t *reader = take_free(domain);

    if (reader != NULL)
        return reader;
    help(domain, look(domain));
    return take_free(domain);
}

/* Whether the section is that of a thread that may have vanished in a fork. */
static bool may_have_vanished(const struct reader *reader)
{
    return reader->forks != cpi_thread_forks();
}

int cpool_reader_destroy(cpool_reader_t *face)
{
    struct reader *reader = reader_of(face);

    if (face == NULL)
        return 0;
    if ((face->nested != 0 || cpi_word_load(&face->inside, relaxed) != 0) && /* [alone] */
        !may_have_vanished(reader))
        return report_reader("cpool_reader_destroy", face);
    face->nested = 0;
    reader->passing = false;
    cpi_word_store(&face->inside, 0, release); /* [leave] */
    (void)make_room(reader);
    close_bag(reader); /* of what a handler has retired */
    cpi_store(&reader->state, held_by(reader) == 0 ? FREE : LEFT, release); /* [leave] */
    return 0;
}

/* --- Domains --- */

/* The bags' arrays follow the readers. */
static void lay_out(struct cpool_domain *domain)
{
    char *at = (char *)&domain->reader[domain->readers];

    for (size_t i = 0; i < domain->readers; i++) {
        struct reader *reader = &domain->reader[i];

        reader->domain = domain;
        for (unsigned k = 0; k < CPI_BAGS; k++) {
            reader->bags[k].slots = (void **)(void *)at;
            at += domain->bag_size * sizeof(void *);
            reader->bags[k].pools = (cpool_t **)(void *)at;
            at += domain->bag_size * sizeof(cpool_t *);
        }
    }
}

/* Bytes, or 0 if that is more than there can be. */
static size_t size_for(size_t readers, size_t bag_size)
{
    size_t bytes = bag_size * CPI_BAGS * 2 * sizeof(void *) + sizeof(struct reader);
    size_t size;

    if (!cpi_multiply(readers, bytes, &size) ||
        !cpi_add(size, sizeof(struct cpool_domain) + cpi_os_page_size(), &size))
        return 0;
    return cpi_align_down(size, cpi_os_page_size());
}

int cpool_domain_create(cpool_domain_t **result, size_t readers, size_t held)
{
    size_t bag_size = held / CPI_BAGS + (held % CPI_BAGS != 0);
    struct cpool_domain *domain;
    size_t size;

    if (result == NULL)
        return CPOOL_ENULL;
    *result = NULL;
    if (readers == 0 || readers > CPOOL_READERS_MAX || held < CPI_BAGS || held > CPOOL_HELD_MAX)
        return CPOOL_ECAPACITY;
    if (!cpi_registry_startup())
        return CPOOL_ESYSTEM;
    size = size_for(readers, bag_size);
    domain = size != 0 ? cpi_os_map(size) : NULL;
    if (domain == NULL)
        return CPOOL_ENOMEM;
    domain->epoch = 1;
    domain->size = size;
    domain->readers = readers;
    domain->bag_size = bag_size;
    lay_out(domain);
    *result = domain;
    return 0;
}

int cpool_domain_destroy(cpool_domain_t *domain)
{
    if (domain == NULL)
        return 0;
    for (size_t i = 0; i < domain->readers; i++) {
        const struct reader *reader = &domain->reader[i];

        if (cpi_word_load(&reader->face.inside, relaxed) != 0 && /* [alone] */
            !may_have_vanished(reader))
            return report_reader("cpool_domain_destroy", reader);
    }
    for (size_t i = 0; i < domain->readers; i++)
        for (unsigned k = 0; k < CPI_BAGS; k++)
            empty_bag(&domain->reader[i].bags[k]);
    cpi_os_release(domain, domain->size);
    return 0;
}

size_t cpool_domain_held(const cpool_domain_t *domain)
{
    size_t held = 0;

    for (size_t i = 0; i < domain->readers; i++)
        held += held_by(&domain->reader[i]);
    return held;
}

const cpool_reader_t *cpool_domain_oldest(const cpool_domain_t *domain)
{
    const cpool_reader_t *oldest = NULL;
    uintptr_t since = 0;

    for (size_t i = 0; i < domain->readers; i++) {
        const cpool_reader_t *face = &domain->reader[i].face;
        uintptr_t inside = cpi_word_load(&face->inside, relaxed); /* [alone] */

        if (inside != 0 && (oldest == NULL || is_before(inside, since))) {
            oldest = face;
            since = inside;
        }
    }
    return oldest;
}
