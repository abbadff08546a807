/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_frame.c - objects that go back together.
 *
 * A frame of objects is a frame of their slots, of which the owner is the object pool.  The record
 * of an object in it reads INACTIVE, as in the pool, so that nothing is left to be done for the
 * object when its slot goes back.
 *
 * A fake pool has no slots.  Its frame is a block of malloc's with an array of active objects.
 *
 * ORDERING TABLE
 *   own   | record load and store, by the thread that has the slot in hand | relaxed | - | -
 *   count | misses fetch-and-add | relaxed | - | -
 */
#include <cpool/object_frame.h>

#include "objects/object.h"

#include <stdlib.h>

/* Whether there is nothing to be done for an object when its use ends. */
static bool ends_as_slots(const cpool_objects_t *pool)
{
    return (pool->flags & (CPOOL_OBJECT_COUNTED | CPOOL_OBJECT_FAKE)) == 0 &&
           pool->max_inactive == 0 && (pool->flags & CPOOL_OBJECT_WAITABLE) == 0 &&
           pool->priorities == NULL && pool->type.deactivate == NULL &&
           pool->resets != CPI_RESET_ON_PUT;
}

/* The pool of an open frame, or NULL after it was reported that it is none. */
static cpool_objects_t *objects_of(const cpool_frame_t *frame, const char *function)
{
    if (CPI_LIKELY(frame->owner != NULL))
        return frame->owner;
    cpi_object_report(CPOOL_EFRAME, function, NULL, frame);
    return NULL;
}

/* --- Beginning --- */

int cpool_object_frame_begin(cpool_object_frame_t **frame, cpool_objects_t *pool)
{
    cpool_frame_t *slots;
    int code = 0;

    if (frame != NULL)
        *frame = NULL;
    if (frame == NULL || pool == NULL)
        return CPOOL_ENULL;
    if (CPI_ENDED(pool))
        return CPOOL_EPOOL;
    if (!cpi_object_is_fake(pool))
        code = cpool_frame_begin(&slots, pool->pool);
    else if ((slots = calloc(1, sizeof *slots)) == NULL)
        code = CPOOL_ENOMEM;
    if (code != 0)
        return code;
    slots->owner = pool;
    *frame = (cpool_object_frame_t *)(void *)slots;
    return 0;
}

/* --- Getting --- */

static int record_fake(cpool_frame_t *frame, void *object)
{
    size_t used = (size_t)(frame->next - frame->first);

    if ((used & (used - 1)) == 0) { /* room for twice as many */
        void **grown = realloc(frame->first, (2 * used + 1) * sizeof *grown);

        if (grown == NULL)
            return CPOOL_ENOMEM;
        frame->first = grown;
    }
    frame->first[used] = object;
    frame->next = frame->first + used + 1;
    return 0;
}

/* A BUSY object is the frame's from now on, unless a code is returned.  A fake one is active, and
 * not among those that a get reclaims. */
static int join_frame(cpool_objects_t *pool, cpool_frame_t *frame, void *object,
                      const struct cpi_object_wish *wish)
{
    int code;

    if (cpi_object_is_fake(pool)) {
        code = record_fake(frame, object);
        if (code == 0)
            cpi_object_show(pool, wish->index, wish->uses);
        return code;
    }
    cpi_object_settle(pool, wish->index, CPI_OBJECT_INACTIVE);
    code = cpool_frame_adopt(frame, object);
    if (code != 0)
        cpi_object_set_busy(pool, wish->index);
    return code;
}

/* An inactive object of the thread's cache, which becomes the frame's, or NULL: the other way may
 * have one.  It is BUSY while it is reset, and the frame's after it: longjmp may leave the hook. */
static void *get_near(cpool_objects_t *pool, cpool_frame_t *frame)
{
    void *slot = NULL;
    uintptr_t index;
    uint32_t record;

    if (pool->type.activate != NULL || !ends_as_slots(pool) ||
        !cpi_object_pop(pool->short_get, &slot))
        return NULL;
    index = cpi_object_index_of(pool, slot);
    record = cpi_load(&pool->records[index], relaxed); /* [own] */
    if (pool->resets == CPI_RESET_ON_GET && (record & CPI_OBJECT_STATES) == CPI_OBJECT_INACTIVE) {
        cpi_object_set_busy(pool, index);
        cpi_object_reset(pool, slot);
    }
    cpi_store(&pool->records[index], /* [own] */
              (record & ~CPI_OBJECT_STATES) + CPI_OBJECT_USE + CPI_OBJECT_INACTIVE, relaxed);
    if (cpool_frame_adopt(frame, slot) == 0)
        return slot;
    cpi_object_push(pool->slots, slot, index);
    return NULL;
}

CPI_APART static void *get_and_join(cpool_objects_t *pool, cpool_frame_t *frame, const void *site)
{
    struct cpi_object_wish wish = {.site = site, .framed = true};
    void *object;

    if (cpi_object_obtain(pool, NULL, &object, &wish) != 0) {
        cpi_fetch_add(&pool->misses, 1u, relaxed); /* [count] */
        return NULL;
    }
    if (join_frame(pool, frame, object, &wish) == 0)
        return object;
    cpi_object_give(pool, wish.index);
    return NULL;
}

void *cpool_object_frame_get(cpool_object_frame_t *objects)
{
    cpool_frame_t *frame = (cpool_frame_t *)(void *)objects;
    cpool_objects_t *pool = objects_of(frame, "cpool_object_frame_get");
    void *object;

    if (pool == NULL)
        return NULL;
    object = get_near(pool, frame);
    return CPI_LIKELY(object != NULL) ? object : get_and_join(pool, frame, CPI_CALLER());
}

/* --- The end --- */

/* Puts each object back, or ends it with the pool and counts it.  It is off the record before its
 * hooks run, so that the next end goes on after one that was left. */
static void end_each(cpool_frame_t *frame, void *count)
{
    cpool_objects_t *pool = frame->owner;
    void *slot;

    while ((slot = pool->client.system->frame_take(frame)) != NULL) {
        uintptr_t index = cpi_object_index_of(pool, slot);

        cpi_object_set_busy(pool, index);
        if (count == NULL) {
            cpi_object_give(pool, index);
        } else {
            cpi_object_end(pool, index);
            ++*(size_t *)count;
        }
    }
}

static void end_fake(cpool_frame_t *frame)
{
    while (frame->next != frame->first)
        cpool_object_put(frame->owner, *--frame->next);
    free(frame->first);
    free(frame);
}

void cpool_object_frame_end(cpool_object_frame_t *objects)
{
    cpool_frame_t *frame = (cpool_frame_t *)(void *)objects;
    const cpool_objects_t *pool =
        frame != NULL ? objects_of(frame, "cpool_object_frame_end") : NULL;

    if (pool == NULL)
        return;
    if (cpi_object_is_fake(pool)) {
        end_fake(frame);
        return;
    }
    if (!ends_as_slots(pool))
        end_each(frame, NULL);
    cpool_frame_end(frame);
}

size_t cpi_object_frames_end(const cpool_objects_t *pool)
{
    size_t objects = 0;

    if (!cpi_object_is_fake(pool))
        pool->client.system->frame_each(pool->pool, end_each, &objects);
    return objects;
}
