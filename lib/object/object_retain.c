/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_retain.c - which inactive objects stay.
 *
 * Includes object.h.
 *
 * Inactive objects come out of the pool of slots in the order in which they lie there, the same
 * one again if it is put back.  So all of them are held first: each has a bit, its slot is live
 * in the pool of slots, and its record reads as before.  Then each is visited by its bit.  A
 * thread that takes a bit has the object in hand, and a get that finds no other object takes one,
 * too.  So no more than one object is out of reach at a time.
 */
#include "object/object.h"

/* No more than there may be, so that it ends beside threads that get and put. */
static void hold_all(cpool_objects_t *pool)
{
    uintptr_t n = cpi_object_reached(pool);
    size_t passed = 0;
    uintptr_t index;

    while (n-- > 0 &&
           (index = cpi_object_take_free(pool, NULL, false, &passed)) != CPI_OBJECT_NONE)
        cpi_object_hold(pool, index);
    cpi_object_offer_some(pool, passed);
}

size_t cpool_object_retain(cpool_objects_t *pool, size_t minimum,
                           bool (*keep)(const cpool_object_idle_t *idle, void *arg), void *arg)
{
    size_t destroyed = 0, kept = 0;
    uintptr_t index, word;

    if (CPI_HAS_ENDED(pool))
        return 0;
    if (!cpi_object_make_lives(pool))
        return 0;
    hold_all(pool);
    for (word = pool->max / 64 + 1; word-- > 0;)
        while ((index = cpi_object_take_held_of(pool, word)) != CPI_OBJECT_NONE) {
            uint32_t state = cpi_object_state(pool, index);
            cpool_object_idle_t idle;

            cpi_object_describe_idle(pool, index, &idle);
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
