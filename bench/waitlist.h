/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * waitlist.h - what the rivals that wait for slots share: slots and a free list.
 *
 * Includes bench.h only.  Included by rival_condvar.c and rival_semaphore.c, which
 * add the sleeping.  The links lie in the free slots.
 */
#ifndef BENCH_WAITLIST_H
#define BENCH_WAITLIST_H

#include <pthread.h>
#include <stdlib.h>

#include "bench.h"
#include "histogram.h"
#include "ring.h"

struct waitlist_link {
    struct waitlist_link *next;
};

struct waitlist {
    pthread_mutex_t mutex;
    struct waitlist_link *top; /* guarded by mutex */
    uint64_t waits;            /* atomic: allocs that went to sleep */
    char *slots;               /* constant */
};

/* Without the mutex: nobody else knows the list, or the caller holds it. */
static inline void waitlist_push(struct waitlist *list, void *slot)
{
    struct waitlist_link *link = (struct waitlist_link *)slot;

    link->next = list->top;
    list->top = link;
}

static inline void *waitlist_pop(struct waitlist *list)
{
    struct waitlist_link *link = list->top;

    if (link != NULL)
        list->top = link->next;
    return link;
}

/* False: no memory. */
static inline bool waitlist_init(struct waitlist *list, const struct bench_cell *cell)
{
    size_t i;

    list->slots = (char *)malloc(cell->capacity * cell->slot_size);
    if (list->slots == NULL)
        return false;
    pthread_mutex_init(&list->mutex, NULL);
    list->top = NULL;
    list->waits = 0;
    for (i = cell->capacity; i-- > 0;)
        waitlist_push(list, list->slots + i * cell->slot_size);
    return true;
}

static inline void waitlist_fini(struct waitlist *list)
{
    pthread_mutex_destroy(&list->mutex);
    free(list->slots);
}

/* Relaxed: the count is looked at from outside, and publishes nothing. */
static inline void waitlist_count(struct waitlist *list)
{
    __atomic_fetch_add(&list->waits, 1, __ATOMIC_RELAXED);
}

static inline uint64_t waitlist_waits(const struct waitlist *list)
{
    return __atomic_load_n(&list->waits, __ATOMIC_RELAXED);
}

#endif /* BENCH_WAITLIST_H */
