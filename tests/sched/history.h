/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * history.h - calls, their times, and their results.
 *
 * Includes nothing of the library: a slot is its index here.
 *
 * A history is a list of operations, each with the tick of its call and that of its
 * return, drawn from one counter for all threads.  An operation that returned before
 * another was called has both of its ticks below that one's.  Of two that overlap
 * nothing is known.  That is all that linearizability needs.
 *
 *                 tick 0    1    2    3    4    5    6    7
 *     thread 0       |--- alloc: 3 ---|         |- free 3 -|
 *     thread 1            |--- alloc: NULL ---|
 *                         1    2    3    4
 *
 * Each thread writes a history of its own.  They are put together afterwards.
 */
#ifndef SCHED_HISTORY_H
#define SCHED_HISTORY_H

#include <stddef.h>
#include <stdio.h>

/* Slots of one operation, and operations of one history. */
#define HISTORY_SLOTS_MAX 32
#define HISTORY_OPERATIONS_MAX 1024

enum history_kind {
    HISTORY_TAKE, /* `wanted` slots were asked for, `count` came, fewer if dry */
    HISTORY_GIVE, /* `count` slots were freed */
    HISTORY_OTHER /* something in the library that takes and gives nothing */
};

struct operation {
    unsigned thread;
    enum history_kind kind;
    size_t wanted;
    size_t count;
    unsigned slots[HISTORY_SLOTS_MAX]; /* indices */
    const char *name; /* for a reader */
    unsigned long begin, end;          /* ticks, with end 0 for one that has not returned */
};

struct history {
    struct operation operations[HISTORY_OPERATIONS_MAX];
    size_t count;
};

/* The moment before a call.  Returns the operation, to which the caller adds the
 * slots that it frees or gets. */
struct operation *history_begin(struct history *history, unsigned thread,
                                enum history_kind kind, const char *name, size_t wanted);

/* One more slot of an operation. */
void history_add(struct operation *operation, size_t slot);

/* The moment after the return. */
void history_end(struct operation *operation);

/* For a reader: one line for each call and each return, in order. */
void history_print(const struct history *history, FILE *out);

/* A call or a return. */
struct event {
    unsigned long tick;
    const struct operation *operation;
    int is_end;
};

/* The events of a history, by their ticks.  Operations that have not returned
 * do so at the end.  Room for two for each operation.  Returns how many. */
size_t history_events(const struct history *history, struct event *events);

#endif /* SCHED_HISTORY_H */
