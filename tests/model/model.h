/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model.h - threads and audits for the models.
 *
 * A model is one program of two or three short threads that use the library's own
 * sources, which it includes.  The checker runs it in every way that the C11 memory
 * model (RC11) allows.  A thread writes plainly to the slots and magazines that it
 * owns, so that a second owner, or a hand-over that does not happen before, is a data
 * race.  The main thread audits the state at the end.
 *
 * Included before any file of the library, because MODEL_COINS (cas.h) is the
 * model's to choose.
 */
#ifndef MODEL_H
#define MODEL_H

#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CPI_ATOMIC_HEADER "cas.h"
/* The checker takes the result of any assembly for 0. */
#define CPOOL_KEEP_(number) ((void)0)
#define CPOOL_THREAD_WORD_(word) ((void)((word) = cpool_thread_word_abi1))
#define CPOOL_TYPED_ENTRY_(entry, name) ((void)((entry) = name##_entry_))
#define CPOOL_POINT_() CPI_ATOMIC_POINT()
#define CPOOL_FENCE_() atomic_signal_fence(memory_order_seq_cst)
#include "depot/tagstack.h"

/* GenMC knows no memset of a length that is computed.  In the models that it is given the library
 * clears its registry and new caches, which are static, and zeroes already. */
#ifndef WEAK_GENMC_H
#define memset(memory, byte, bytes) ((void)(memory))

/* What its pthread.h lacks of what the library's headers name. */
typedef int pthread_cond_t, pthread_condattr_t, pthread_once_t, pthread_key_t;
struct timespec;
int pthread_cond_wait(pthread_cond_t *, pthread_mutex_t *);
int pthread_cond_timedwait(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
int pthread_cond_signal(pthread_cond_t *);
int pthread_cond_destroy(pthread_cond_t *);
#endif

#ifndef MODEL_BARRIER_H /* which has another one */
static inline void model_end(void)
{
}
#endif

/* From now on the calling thread's compare-and-swaps succeed where they can, for a
 * thread with failures that are not the point. */
static inline void model_be_lucky(void)
{
    model_failures = MODEL_COINS;
}

typedef void model_thread(void);

static model_thread *const *model_bodies;

static inline void *model_start(void *number)
{
    model_self = (int)(intptr_t)number;
    model_bodies[model_self - 1]();
    model_end();
    return NULL;
}

static inline void model_run(int threads, model_thread *const bodies[])
{
    static pthread_t thread[MODEL_THREADS_MAX];
    intptr_t i;

    model_bodies = bodies;
    for (i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, model_start, (void *)(i + 1)) != 0)
            abort();
    model_toss(threads);
    for (i = 0; i < threads; i++)
        if (pthread_join(thread[i], NULL) != 0)
            abort();
}

/* Runs each of these bodies in a thread, which has its number, from 1. */
#define MODEL_RUN(...)                                                                \
    do {                                                                              \
        static model_thread *const bodies[] = {__VA_ARGS__};                          \
                                                                                      \
        model_run((int)(sizeof bodies / sizeof bodies[0]), bodies);                   \
    } while (0)

/* Counts the nodes of a stack into seen[], zeroes at first, which has an element for
 * each node from 0 to `nodes`.  A node in two places, or a cycle, fails. */
static inline int model_count(const struct cpi_tagstack *stack, const struct cpi_links *links,
                              int nodes, int seen[])
{
    uint32_t node = cpi_tagstack_top(stack);
    int found = 0;

    while (node != 0) {
        assert(node <= (uint32_t)nodes);
        assert(seen[node] == 0);
        seen[node] = 1;
        found++;
        node = cpi_tagstack_below(links, node);
    }
    return found;
}

#endif /* MODEL_H */
