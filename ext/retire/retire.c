/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * retire.c - what a reader retires.
 *
 * ORDERING TABLE
 *   own    | count load        | relaxed | - | -
 *   fill   | count store       | release | bags.c's full, the child of a fork | the slots below,
 *                                                          and that they are out of reach
 *   pools  | pools store       | relaxed | - | -
 *   noted  | noted load        | relaxed | - | -
 */
#include "retire/retire_impl.h"

#include "base/compiler.h"
#include "base/error.h"
#include "host/os.h"

CPI_COLD int cpi_reader_report(int code, const char *function, const cpool_reader_t *reader)
{
    cpool_error_t error = {.code = code, .function = function, .name = "", .address = reader};

    cpi_report(&error, "%s: %s (reader %p)", function, cpool_strerror(code),
               (const void *)reader);
    return code;
}

/* Returns 0, CPOOL_EHELD if there is no room, or a code of the slot's gate.  Takes few stores,
 * because they wait in order behind those to lines that readers hold. */
static inline int put(struct cpi_reader *reader, cpool_t *pool, void *slot, bool gated)
{
    struct cpi_bag *bag = &reader->bags[reader->filled];
    size_t count = cpi_load(&bag->count, relaxed); /* [own] */
    int code = CPOOL_EHELD;

    if (CPI_LIKELY(count != reader->domain->bag_size && cpi_bag_stamp(bag) == 0)) {
        code = gated ? cpi_retire_step(pool, slot, CPI_RETIRING_OUT) : 0;
        if (CPI_LIKELY(code == 0)) {
            bag->slots[count] = slot;
            cpi_store(&bag->pools[count], pool, relaxed); /* [pools] */
            cpi_store(&bag->count, count + 1, release);   /* [fill] */
        }
    }
    return code;
}

/* Reports a section, once, that has held back the reader's slots for too long. */
static void judge_blocker(struct cpi_reader *reader, const struct cpi_blocker *seen,
                          const char *function)
{
    struct cpi_blocker *blocker = &reader->blocker;
    uint64_t limit = reader->domain->stall_limit;

    if (seen->reader != blocker->reader || seen->inside != blocker->inside) {
        blocker->reader = seen->reader;
        blocker->inside = seen->inside;
        blocker->since = limit != 0 ? cpi_os_now() : 0;
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
    int code;

    if (!cpi_retire_turn(reader)) {
        if (cpi_retire_is_blocked(reader))
            judge_blocker(reader, &reader->blocker, "cpool_retire");
        else
            make_room(reader, "cpool_retire");
    }
    code = put(reader, pool, slot, gated);
    if (CPI_UNLIKELY(code == CPOOL_EHELD) && cpi_retire_reopen(reader))
        code = put(reader, pool, slot, gated);
    return code;
}

/* Of a pool that was not the last one, or has a gate. */
CPI_APART static int retire_other(struct cpi_reader *reader, cpool_t *pool, void *slot)
{
    bool gated;
    int code;

    if (cpi_reader_has_ended(reader, "cpool_retire"))
        return CPOOL_EPOOL;
    code = cpi_retire_note(reader, pool, &gated);
    if (code != 0)
        return code;
    code = put(reader, pool, slot, gated);
    if (CPI_UNLIKELY(code == CPOOL_EHELD))
        code = put_again(reader, pool, slot, gated);
    if (CPI_UNLIKELY(code == CPOOL_EHELD) && gated &&
        cpi_retire_step(pool, slot, CPI_RETIRING_ASKED) != 0)
        code = cpi_retire_step(pool, slot, CPI_RETIRING_ASKED);
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
    if (CPI_UNLIKELY(pool != cpi_load(&reader->noted, relaxed))) /* [noted] */
        return retire_other(reader, pool, slot);
    code = put(reader, pool, slot, false);
    return CPI_LIKELY(code == 0) ? 0 : put_again(reader, pool, slot, false);
}

size_t cpool_retire_flush(cpool_reader_t *face)
{
    struct cpi_reader *reader = cpi_reader_of(face);

    if (cpi_reader_has_ended(reader, "cpool_retire_flush"))
        return 0;
    make_room(reader, "cpool_retire_flush");
    return cpi_reader_held(reader);
}

/* Of this reader, and of those that were destroyed: slots that have not come back yet. */
static bool are_any_held(const struct cpi_reader *self)
{
    const struct cpool_domain *domain = self->domain;

    for (size_t i = 0; i < domain->readers; i++)
        if (cpi_reader_is_own(&domain->reader[i], self) && !cpi_reader_rests(&domain->reader[i]))
            return true;
    return false;
}

int cpool_retire_barrier(cpool_reader_t *face)
{
    struct cpi_reader *reader = cpi_reader_of(face);
    unsigned times = 0;

    if (cpi_reader_has_ended(reader, "cpool_retire_barrier"))
        return CPOOL_EPOOL;
    if (face->nested != 0)
        return cpi_reader_report(CPOOL_EREADER, "cpool_retire_barrier", face);
    for (make_room(reader, "cpool_retire_barrier"); are_any_held(reader);
         make_room(reader, "cpool_retire_barrier"))
        cpi_os_back_off(times++);
    return 0;
}
