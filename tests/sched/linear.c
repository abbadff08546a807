/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * linear.c - the search (linear.h says for what).
 *
 * The search of J.  M.  Wing and C.  Gong (1993), with G.  Lowe's memory (2017) of the
 * configurations that have been reached.  It goes through the events of the history in
 * order, with all the configurations that are possible at that point.  Of the
 * operations that have returned all steps have been taken, of those not yet called
 * none.  So a configuration is the set of steps taken by the operations in between, the
 * pending ones.  This set determines the live slots, with each slot's takes and gives
 * counted.  With a bit for each pending step the configurations are numbers, and
 * `reached` has one place for each: no two paths to the same one are followed.
 *
 *   call     its steps get bits.  Then whatever can be reached by taking pending
 *            steps one after the other is reached.  A step only ever adds a bit: so
 *            going through the numbers upwards finds all in one pass.
 *   return   configurations in which a step of the operation's is missing are
 *            impossible, and of the others its bits are dropped.
 *
 * That steps are taken after calls only loses no order: a return takes slots out of
 * the others' way to `dry` and changes nothing else about what
 * is allowed, so a step that is allowed after it was allowed before it.
 *
 * Complete and exact: a configuration is kept if and only if some order of steps
 * leads to it.  The cost is exponential only in the steps that are pending at once,
 * and linear in the length of the history.
 */
#include "linear.h"

#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A set of pending steps. */
typedef uint32_t steps_t;

/* The meaning of one bit. */
struct step {
    enum { TAKE, GIVE, DRY } kind;
    const struct operation *operation;
    unsigned slot;
    steps_t before; /* DRY: steps that must have been taken before */
};

struct search {
    const struct linear_specification *specification;

    /* The pending steps. */
    struct step step[LINEAR_STEPS_MAX];
    steps_t used, takes, gives;
    steps_t takes_of[LINEAR_SLOTS_MAX], gives_of[LINEAR_SLOTS_MAX];

    /* Takes less gives of the operations that have returned, of each slot and of all.
     * With the pending steps that must have come before or between, a slot's sum is 0
     * or 1.  Without them it may be 2 or -1. */
    int held[LINEAR_SLOTS_MAX];
    int live;

    /* The pending operation of each thread, and whether it has had one. */
    const struct operation *pending[LINEAR_THREADS_MAX];
};

/* Which configurations are possible, cleared between histories. */
static bool reached[(size_t)1 << LINEAR_STEPS_MAX];

static _Noreturn void too_wide(const char *what)
{
    fprintf(stderr, "linear: more %s than the search can deal with\n", what);
    abort();
}

static int count_of(steps_t steps)
{
    int n = 0;

    for (; steps != 0; steps &= steps - 1)
        n++;
    return n;
}

/* One more than the largest configuration that the pending steps can make. */
static steps_t configurations(const struct search *search)
{
    steps_t end = 1;

    while (end <= search->used)
        end <<= 1;
    return end;
}

/* --- What is allowed --- */

static size_t out_of_reach(const struct search *search, const struct operation *asking)
{
    size_t sum = 0;

    for (unsigned t = 0; t < LINEAR_THREADS_MAX; t++) {
        const struct operation *pending = search->pending[t];

        if (t != asking->thread && pending != NULL)
            sum += search->specification->inside;
    }
    return sum;
}

static bool may_be_dry(const struct search *search, const struct step *step, steps_t taken)
{
    const struct operation *operation = step->operation;
    int live = search->live + count_of(taken & search->takes) -
               count_of(taken & search->gives);

    return (taken & step->before) == step->before &&
           (size_t)live + out_of_reach(search, operation) >= search->specification->capacity;
}

static bool is_allowed(const struct search *search, unsigned bit, steps_t taken)
{
    const struct step *step = &search->step[bit];

    if (step->kind == DRY)
        return may_be_dry(search, step, taken);
    return search->held[step->slot] + count_of(taken & search->takes_of[step->slot]) -
               count_of(taken & search->gives_of[step->slot]) ==
           (step->kind == GIVE ? 1 : 0);
}

/* --- Pending steps --- */

static unsigned free_bit(const struct search *search)
{
    unsigned bit = 0;

    while ((search->used >> bit & 1) != 0)
        bit++;
    if (bit >= LINEAR_STEPS_MAX)
        too_wide("steps at once");
    return bit;
}

static steps_t add_step(struct search *search, const struct step *step)
{
    unsigned bit = free_bit(search);
    steps_t mask = (steps_t)1 << bit;

    search->step[bit] = *step;
    search->used |= mask;
    if (step->kind == TAKE) {
        search->takes |= mask;
        search->takes_of[step->slot] |= mask;
    } else if (step->kind == GIVE) {
        search->gives |= mask;
        search->gives_of[step->slot] |= mask;
    }
    return mask;
}

static bool is_short(const struct operation *operation)
{
    return operation->kind == HISTORY_TAKE && operation->count < operation->wanted;
}

/* False if it speaks of a slot that cannot be. */
static bool add_operation(struct search *search, const struct operation *operation)
{
    struct step step = {operation->kind == HISTORY_GIVE ? GIVE : TAKE, operation, 0, 0};
    steps_t all = 0;

    for (size_t i = 0; i < operation->count; i++) {
        step.slot = operation->slots[i];
        if (step.slot >= search->specification->slots)
            return false;
        all |= add_step(search, &step);
    }
    if (is_short(operation)) {
        step = (struct step){DRY, operation, 0, all};
        add_step(search, &step);
    }
    return true;
}

static steps_t steps_of(const struct search *search, const struct operation *operation)
{
    steps_t steps = 0;

    for (unsigned bit = 0; bit < LINEAR_STEPS_MAX; bit++)
        if ((search->used >> bit & 1) != 0 && search->step[bit].operation == operation)
            steps |= (steps_t)1 << bit;
    return steps;
}

/* All of its steps have been taken by now, in whatever order. */
static void drop_steps(struct search *search, const struct operation *operation, steps_t steps)
{
    int change = operation->kind == HISTORY_GIVE ? -1 : 1;

    for (size_t i = 0; i < operation->count; i++) {
        unsigned slot = operation->slots[i];

        search->takes_of[slot] &= ~steps;
        search->gives_of[slot] &= ~steps;
        search->held[slot] += change;
        search->live += change;
    }
    search->takes &= ~steps;
    search->gives &= ~steps;
    search->used &= ~steps;
}

/* --- Events --- */

static void reach_all(const struct search *search)
{
    steps_t end = configurations(search);
    steps_t taken;

    for (taken = 0; taken < end; taken++) {
        if (!reached[taken])
            continue;
        for (unsigned bit = 0; (steps_t)1 << bit < end; bit++) {
            steps_t mask = (steps_t)1 << bit;

            if ((search->used & mask) != 0 && (taken & mask) == 0 &&
                !reached[taken | mask] && is_allowed(search, bit, taken))
                reached[taken | mask] = true;
        }
    }
}

static bool call(struct search *search, const struct operation *operation)
{
    if (operation->thread >= LINEAR_THREADS_MAX || search->pending[operation->thread] != NULL)
        too_wide("threads");
    search->pending[operation->thread] = operation;
    if (!add_operation(search, operation))
        return false;
    reach_all(search);
    return true;
}

/* False if no configuration is left. */
static bool finish(struct search *search, const struct operation *operation)
{
    steps_t steps = steps_of(search, operation);
    steps_t end = configurations(search);
    bool any = false;
    steps_t taken;

    for (taken = 0; taken < end; taken++) {
        bool possible = reached[taken] && (taken & steps) == steps;

        reached[taken] = false;
        if (possible)
            reached[taken & ~steps] = any = true; /* not above: it has been passed */
    }
    drop_steps(search, operation, steps);
    search->pending[operation->thread] = NULL;
    return any;
}

const struct operation *linear_check(const struct linear_specification *specification,
                                     const struct history *history)
{
    static struct event events[2 * HISTORY_OPERATIONS_MAX];
    static struct search search;
    const struct operation *stuck = NULL;
    size_t n = history_events(history, events);

    if (specification->slots > LINEAR_SLOTS_MAX)
        too_wide("slots");
    memset(&search, 0, sizeof search);
    search.specification = specification;
    reached[0] = true;
    for (size_t i = 0; i < n && stuck == NULL; i++) {
        const struct operation *operation = events[i].operation;

        if (!(events[i].is_end ? finish(&search, operation) : call(&search, operation)))
            stuck = operation;
    }
    memset(reached, 0, configurations(&search) * sizeof *reached);
    return stuck;
}
