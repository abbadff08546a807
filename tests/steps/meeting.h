/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * meeting.h - a thread that waits for a slot and one that gives it, of which
 * one stops at a step.  Shared by the tests of waiting at every step.
 */
#ifndef CPOOL_TESTS_MEETING_H
#define CPOOL_TESTS_MEETING_H

#include "steps.h" /* first: it says which system interfaces are wanted */

#include <stdatomic.h>

#include "waiter.h"

/* The ways of a pool with a slot that is freed while a thread waits. */
enum manner {
    CALLS,   /* calls it to look for the slot, however long it has waited */
    IS_FAIR, /* hands the slot over, however short it has waited, once it sleeps */
    MANNERS
};

/* A patience that does not end, nanoseconds. */
#define MEETING_LONG UINT64_C(1000000000000)

/* --- How a slot comes --- */

/* The giver, which has some slots live, or in a cache. */
struct giver {
    cpool_t *pool;
    cpool_cache_t *cache;
    struct hold hold;
};

/* Each gives one. */
extern void (*const meeting_gives[])(void *giver);

/* Frees one slot, and takes it back at once: only if it is handed over, there is none to take. */
void meeting_give_and_take_back(void *giver);

/* The first ones free one slot and do nothing else. */
enum { FREES = 4, GIVE_BY_GROW = FREES, GIVES };

/* --- Both --- */

struct meeting {
    struct giver giver;
    struct worker *gives;
    struct worker *waits;
    struct steps_stop wait;
    const struct timespec *timeout; /* NULL: it is woken, and not by its end */
    void *slot;
    _Atomic bool over; /* the waiting is */
};

/* All slots but one that the pool may grow by are live in the giver's hands, and
 * both threads have caches. */
void meeting_init(struct meeting *meeting, struct worker **workers, enum manner manner);
void meeting_fini(struct meeting *meeting);

/* Lets the waiter run until it has stopped at this step, sleeps, or has got a slot.
 * Returns true if it has stopped. */
enum { NEVER = 0 };

bool meeting_run_waiter(struct meeting *meeting, size_t nth);

/* As meeting_run_waiter for one that has no time to sleep: until it has stopped or is done. */
bool meeting_run_hasty_waiter(struct meeting *meeting, size_t nth);

/* The first waiter is asleep, and stops at its next step, when it has been woken. */
void meeting_send_to_sleep(struct meeting *meeting, struct worker **workers, enum manner manner);

/* --- Another one that waits --- */

struct meeting_second {
    cpool_t *pool;
    const struct timespec *timeout; /* if it is not to wait until it is woken */
    void *slot;
    _Atomic bool over; /* the waiting is */
};

/* For workers: waits until it is woken. */
void meeting_wait_too(void *second);

/* Until the last one that has joined the queue sleeps, or this one is done. */
void meeting_await_second(const struct meeting_second *second);

/* Returns when so many allocs have gone to sleep since the pool's creation. */
void meeting_await_waits(const struct meeting *meeting, uint64_t waits);

/* --- Sweeps --- */

/* Does a test at each step in turn, until it tells that there is no such step. */
typedef bool meeting_test(enum manner manner, void (*give)(void *argument), struct worker **workers,
                       size_t nth);

void meeting_sweep(meeting_test *at, enum manner manner, void (*give)(void *argument));

#endif /* CPOOL_TESTS_MEETING_H */
