/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * history.c - the clock, the lists and their printing (history.h).
 */
#include "history.h"

#include <limits.h>
#include <stdio.h>
#include <stdatomic.h>
#include <stdlib.h>

/* All histories' clock.  0 is no tick. */
static _Atomic unsigned long ticks = 1;

/* Pairs with itself: the actions of a thread before it drew a tick are done for any
 * thread that draws a later one.  So the order of ticks is one that the operations
 * cannot contradict, on any machine.  (It orders the library's own accesses as well.
 * Orders that the library itself lacks are for models and sanitizers to find.) */
static unsigned long tick(void)
{
    return atomic_fetch_add_explicit(&ticks, 1, memory_order_acq_rel);
}

static _Noreturn void too_long(void)
{
    fprintf(stderr, "history: more than can be recorded\n");
    abort();
}

struct operation *history_begin(struct history *history, unsigned thread,
                                enum history_kind kind, const char *name, size_t wanted)
{
    struct operation *operation = &history->operations[history->count];

    if (history->count++ == HISTORY_OPERATIONS_MAX)
        too_long();
    operation->thread = thread;
    operation->kind = kind;
    operation->wanted = wanted;
    operation->count = 0;
    operation->name = name;
    operation->end = 0;
    operation->begin = tick();
    return operation;
}

void history_add(struct operation *operation, size_t slot)
{
    if (operation->count == HISTORY_SLOTS_MAX)
        too_long();
    operation->slots[operation->count++] = slot < UINT_MAX ? (unsigned)slot : UINT_MAX;
}

void history_end(struct operation *operation)
{
    operation->end = tick();
}

/* --- Events --- */

static int earlier(const void *left, const void *right)
{
    unsigned long a = ((const struct event *)left)->tick;
    unsigned long b = ((const struct event *)right)->tick;

    return (a > b) - (a < b);
}

size_t history_events(const struct history *history, struct event *events)
{
    size_t n = 0;

    for (size_t i = 0; i < history->count; i++) {
        const struct operation *operation = &history->operations[i];

        events[n++] = (struct event){operation->begin, operation, 0};
        events[n++] = (struct event){operation->end != 0 ? operation->end : ULONG_MAX,
                                     operation, 1};
    }
    qsort(events, n, sizeof *events, earlier);
    return n;
}

/* --- Printing --- */

static void print_slots(const struct operation *operation, FILE *out)
{
    for (size_t i = 0; i < operation->count; i++)
        fprintf(out, "%s%u", i == 0 ? " " : ", ", operation->slots[i]);
    if (operation->kind != HISTORY_GIVE && operation->count < operation->wanted)
        fprintf(out, "%s", operation->count == 0 ? " NULL" : ", NULL");
}

static void print_event(const struct event *event, FILE *out)
{
    const struct operation *operation = event->operation;

    if (event->tick == ULONG_MAX)
        return;
    fprintf(out, "%8lu  thread %u  %s", event->tick, operation->thread, operation->name);
    if (operation->wanted > 1)
        fprintf(out, " of %zu", operation->wanted);
    if (event->is_end)
        fprintf(out, " returned%s", operation->kind == HISTORY_GIVE ? "" : ":");
    if (event->is_end == (operation->kind != HISTORY_GIVE))
        print_slots(operation, out);
    fprintf(out, "\n");
}

void history_print(const struct history *history, FILE *out)
{
    static struct event events[2 * HISTORY_OPERATIONS_MAX];
    size_t n = history_events(history, events);

    for (size_t i = 0; i < n; i++)
        print_event(&events[i], out);
}
