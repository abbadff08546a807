/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * deque.h - a work-stealing deque: its owner pushes and takes at the bottom,
 * thieves steal at the top.
 *
 *          steal                         push, take
 *            |                               |
 *            v                               v
 *          top                            bottom
 *      ----+-----+-----+-----+-----+-----+---------
 *          | job | job | job | job | job |             ring, index modulo its size
 *      ----+-----+-----+-----+-----+-----+---------
 *          oldest                   newest
 *
 * D.  Chase and Y.  Lev, "Dynamic circular work-stealing deque", SPAA 2005,
 * after its C11 formulation by N.  M.  Le, A.  Pop, A.  Cohen and F.  Zappa
 * Nardelli, "Correct and efficient work-stealing for weak memory models", PPoPP
 * 2013.  That uses stand-alone fences, which ThreadSanitizer does not model.
 * Here the accesses themselves carry the order.
 *
 * Includes <stdatomic.h> only.
 *
 * ORDERING TABLE
 *   push   | bottom store by push          | seq_cst | bottom | the new item and what it
 *                                                               points to
 *   claim  | bottom store by take          | seq_cst | bottom | that the item is spoken for
 *   undo   | bottom store by take at an empty deque | release | bottom | -
 *   top    | top load by take and steal    | seq_cst | race   | which items are gone
 *   bottom | bottom load by steal          | seq_cst | push claim undo | -
 *   race   | top compare-and-swap          | seq_cst | top    | that the item is gone
 *   ring   | ring load by steal            | acquire | grow   | the ring's items
 *   grow   | ring store                    | release | ring   | the copied items
 *   own    | own bottom, own ring, items, CAS failure | relaxed | - | -
 *   full   | top load by push              | acquire | race   | that the thief has read
 *                                                               the cell that push reuses
 *
 * Why seq_cst.  The owner takes the item at index b without a compare-and-swap
 * when it sees top < b after having stored bottom = b [claim].  A thief takes
 * that same item when it sees top = b and then bottom > b.  If the owner's load
 * of top did not see b, it precedes, in the one order of all seq_cst
 * operations, the [race] that made top b.  Hence it also precedes the thief's
 * loads.  So the owner's [claim], which precedes its load, precedes the thief's
 * load of bottom, which cannot then see the older, larger bottom.  With acquire
 * and release alone both could miss each other's store.  [push] is seq_cst for
 * the scheduler's sake: see scheduler.c, on going to sleep.
 *
 * Rings that were outgrown are kept until the end: a thief may still be reading
 * one.  They double in size, so they are at most as large as the last.
 */
#ifndef JOBS_DEQUE_H
#define JOBS_DEQUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Keeps what different threads write in different cache lines, and in
 * different pairs of lines, which some processors fetch together. */
#define DEQUE_LINE 128

struct deque_ring;

struct deque {
    /* Index of the oldest item.  Thieves move it, and the owner does for the last item. */
    _Alignas(DEQUE_LINE) _Atomic int64_t top;
    /* One above the newest item's index, written by the owner. */
    _Alignas(DEQUE_LINE) _Atomic int64_t bottom;
    _Atomic(struct deque_ring *) ring; /* written by the owner */
};

/* The outcome of an attempt to steal. */
enum deque_theft {
    DEQUE_STOLEN, /* *item is the caller's */
    DEQUE_EMPTY,  /* there was nothing to steal */
    DEQUE_LOST    /* another thread was faster, and there may be more */
};

/* Makes an empty deque.  Returns false when there is no memory. */
bool deque_init(struct deque *deque);

/* No thread may be using it. */
void deque_fini(struct deque *deque);

/* Owner only.  False, and nothing done, when there is no memory to grow. */
bool deque_push(struct deque *deque, void *item);

/* Owner only: the newest item, or NULL. */
void *deque_take(struct deque *deque);

/* Any thread: the oldest item. */
enum deque_theft deque_steal(struct deque *deque, void **item);

/* Returns true if there was anything to steal.  Any thread may call it.  It is
 * seq_cst, for callers that must not miss a push (scheduler.c). */
bool deque_has_items(struct deque *deque);

#endif /* JOBS_DEQUE_H */
