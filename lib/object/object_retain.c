/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_retain.c - which inactive objects stay.
 *
 * Nobody reads the clock when an object is put back.  The visit that finds an object with more
 * uses than the one before notes the time, and those after it count from there.
 *
 * Inactive objects come out of the pool of slots in the order in which they lie there, the same
 * one again if it is put back.  So all of them are held first: each has a bit, its slot is live
 * in the pool of slots, and its record reads as before.  Then each is visited by its bit.  A
 * thread that takes a bit has the object in hand, and a get that finds no other object takes one,
 * too.  So no more than one object is out of reach at a time.
 *
 * ORDERING TABLE
 *   made   | lives CAS, from none        | release | see    | the lives, all zero
 *   see    | lives load, CAS failure     | acquire | made   | the lives, all zero
 *   hint   | count load                  | relaxed | - | -
 *   life   | created, seen, uses, by the thread that has the object in hand | relaxed | - | -
 *   own    | record load by the same     | relaxed | - | -
 */
#include "object/object.h"

#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "host/os.h"

/* The times of an object, in nanoseconds. */
struct life {
    _Atomic uint64_t created; /* 0: before there was this */
    _Atomic uint64_t seen;    /* inactive, after its last use */
    _Atomic uint32_t uses;    /* by then */
};

struct cpi_object_lives {
    struct cpi_object_bits held; /* the words lie behind the lives */
    struct life life[];
};

static struct cpi_object_lives *known_lives(const cpool_objects_t *pool)
{
    return cpi_load(&pool->lives, acquire); /* [see] */
}

static bool make_lives(cpool_objects_t *pool)
{
    struct cpi_object_lives *lives = known_lives(pool);
    struct cpi_object_lives *other = NULL;

    if (lives != NULL || cpi_object_is_fake(pool))
        return lives != NULL;
    lives = calloc(1, sizeof *lives + pool->max * sizeof lives->life[0] +
                          (pool->max / 64 + 1) * sizeof lives->held.words[0]);
    if (lives == NULL)
        return false;
    lives->held.words = (void *)&lives->life[pool->max];
    if (!cpi_cas_strong(&pool->lives, &other, lives, release, acquire)) /* [made] [see] */
        free(lives);
    return true;
}

static void begin_life(struct life *life, uint64_t now, uint32_t uses)
{
    cpi_store(&life->created, now, relaxed); /* [life] */
    cpi_store(&life->seen, now, relaxed);    /* [life] */
    cpi_store(&life->uses, uses, relaxed);   /* [life] */
}

void cpi_object_born(const cpool_objects_t *pool, uintptr_t index)
{
    struct cpi_object_lives *lives = known_lives(pool);

    if (CPI_UNLIKELY(lives != NULL))
        begin_life(&lives->life[index], cpi_os_now(), 0);
}

/* --- Objects that are held --- */

size_t cpi_object_held(const cpool_objects_t *pool)
{
    const struct cpi_object_lives *lives = known_lives(pool);

    return lives != NULL ? cpi_load(&lives->held.count, relaxed) : 0; /* [hint] */
}

uintptr_t cpi_object_take_held(const cpool_objects_t *pool)
{
    struct cpi_object_lives *lives = known_lives(pool);
    uintptr_t index = CPI_OBJECT_NONE;
    uintptr_t word;

    if (CPI_LIKELY(lives == NULL) || cpi_load(&lives->held.count, relaxed) == 0) /* [hint] */
        return CPI_OBJECT_NONE;
    for (word = 0; word <= pool->max / 64 && index == CPI_OBJECT_NONE; word++)
        index = cpi_object_take_bit(&lives->held, word, true);
    return index;
}

static void describe_idle(const cpool_objects_t *pool, uintptr_t index, cpool_object_idle_t *idle)
{
    struct life *life = &known_lives(pool)->life[index];
    uint32_t uses = cpi_load(&pool->records[index], relaxed) / CPI_OBJECT_USE; /* [own] */
    uint64_t now = cpi_os_now();

    if (cpi_load(&life->created, relaxed) == 0) { /* [life] */
        begin_life(life, now, uses);
    } else if (cpi_load(&life->uses, relaxed) != uses) { /* [life] */
        cpi_store(&life->seen, now, relaxed);            /* [life] */
        cpi_store(&life->uses, uses, relaxed);           /* [life] */
    }
    memset(idle, 0, sizeof *idle);
    idle->size = sizeof *idle;
    idle->object = cpi_object_at(pool, index);
    idle->index = index;
    idle->uses = uses;
    idle->idle = now - cpi_load(&life->seen, relaxed);   /* [life] */
    idle->age = now - cpi_load(&life->created, relaxed); /* [life] */
}

/* --- Visits --- */

/* No more than there may be, so that it ends beside threads that get and put. */
static void hold_all(cpool_objects_t *pool)
{
    uintptr_t n = cpi_object_reached(pool);
    size_t passed = 0;
    uintptr_t index;

    while (n-- > 0 &&
           (index = cpi_object_take_free(pool, NULL, false, &passed)) != CPI_OBJECT_NONE)
        cpi_object_set_bit(&known_lives(pool)->held, index);
    cpi_object_offer_some(pool, passed);
}

size_t cpool_object_retain(cpool_objects_t *pool, size_t minimum,
                           bool (*keep)(const cpool_object_idle_t *idle, void *arg), void *arg)
{
    size_t destroyed = 0, kept = 0;
    struct cpi_object_bits *held;
    uintptr_t index, word;

    if (CPI_HAS_ENDED(pool) || !make_lives(pool))
        return 0;
    hold_all(pool);
    held = &known_lives(pool)->held;
    for (word = pool->max / 64 + 1; word-- > 0;)
        while ((index = cpi_object_take_bit(held, word, true)) != CPI_OBJECT_NONE) {
            uint32_t state = cpi_object_state(pool, index);
            cpool_object_idle_t idle;

            describe_idle(pool, index, &idle);
            cpi_object_set_busy(pool, index);
            if (keep(&idle, arg) || kept + cpi_object_held(pool) < minimum) {
                cpi_object_shelve(pool, index, state);
                kept++;
            } else {
                cpi_object_leave_place(pool);
                cpi_object_unmake(pool, index);
                cpi_object_give_up(pool, index);
                destroyed++;
            }
        }
    return destroyed;
}
