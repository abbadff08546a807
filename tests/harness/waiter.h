/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * waiter.h - what the tests of waiting share: threads that wait for a slot, and
 * the ways in which the slot may come.
 */
#ifndef CPOOL_TESTS_WAITER_H
#define CPOOL_TESTS_WAITER_H

#include "growth.h" /* first: it says which system interfaces are wanted */

#include <stdatomic.h>
#include <time.h>

enum { WAITER_SLOT_SIZE = 32 };

/* A pool of small slots, with these flags. */
cpool_t *waiter_pool(unsigned flags, size_t capacity);

/* Returns when so many allocs have gone to sleep since the pool's creation. */
void waiter_await_sleep(const cpool_t *pool, uint64_t waits);

/* --- Who waits --- */

/* Waits for a slot, and requires that somebody wakes it. */
void *waiter_wait(cpool_t *pool);

struct waiter {
    struct worker *worker;
    cpool_t *pool;
    const struct timespec *timeout;
    void *slot;  /* its slot */
    bool forget; /* frees the slot at once */
    _Atomic bool done;
};

/* Makes the thread, which then does nothing.  Lets it wait once, and returns its slot
 * when it is done. */
void waiter_start(struct waiter *waiter, cpool_t *pool, const struct timespec *timeout);
void waiter_begin(struct waiter *waiter);

/* Returns when so many allocs have gone to sleep since the pool's creation, or when this
 * waiter is done: its time can be over before it sleeps. */
void waiter_await_sleep_or_end(struct waiter *waiter, uint64_t waits);
void *waiter_end(struct waiter *waiter);

/* --- How the slot comes that ends the waiting --- */

struct release {
    cpool_t *pool;
    void *slot;
    cpool_cache_t *cache; /* of its holder */
};

enum { WAITER_RELEASES = 4 };

/* Each frees a release's slot. */
extern void (*const waiter_releases[WAITER_RELEASES])(void *release);

#endif /* CPOOL_TESTS_WAITER_H */
