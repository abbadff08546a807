/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cas.h - compare-and-swap as the C standard has it, for a model checker.
 *
 * Taken by lib/base/atomic.h in place of its own (CPI_ATOMIC_HEADER).  Includes the
 * checker's <stdatomic.h>.  The explorer of tests/weak has both orders and spurious
 * failures itself, and needs nothing of what follows.
 *
 * GenMC 0.11 gives a failing compare-and-swap the order of a successful one,
 * and lets a weak one fail only if the values differ.  So it would pass a
 * failure order that is too weak.  Here both ends of every compare-and-swap are
 * explored: a coin says whether it succeeds or fails, and executions in which
 * it cannot do so are dropped.  A failing one is a load with the failure order.
 * A weak one may find the expected value and fail all the same.
 *
 * A coin is a word that the main thread sets while the thread may read it: the
 * checker explores both values.  Each thread has MODEL_COINS of them, which is
 * how many failures of its compare-and-swaps are explored at most.  The next
 * one succeeds, or the execution is dropped.  That also bounds every loop
 * around a compare-and-swap.
 *
 * The main thread runs before the others and after them, so it has no rivals and
 * needs no coin: its compare-and-swap fails exactly where the values differ, as
 * when the audit leaves a magazine where one lies already.
 */
#ifndef MODEL_CAS_H
#define MODEL_CAS_H

#include <genmc.h>
#include <stdatomic.h>
#include <stdbool.h>

#ifndef MODEL_COINS
#define MODEL_COINS 2
#endif

#define MODEL_THREADS_MAX 4

/* Thread number, from 1.  0 is main. */
static _Thread_local int model_self;

/* That the thread has had.  A model may set it. */
static _Thread_local int model_failures;

#ifdef WEAK_GENMC_H

static inline void model_toss(int threads)
{
    (void)threads;
}

#else

/* The checker lacks the instruction.  Of unsigned numbers. */
#define __builtin_sub_overflow(a, b, result) (*(result) = (a) - (b), (a) < (b))

static _Atomic int model_coins[MODEL_THREADS_MAX][MODEL_COINS];

static inline bool model_fails(void)
{
    if (model_failures == MODEL_COINS ||
        atomic_load_explicit(&model_coins[model_self - 1][model_failures],
                             memory_order_relaxed) == 0)
        return false;
    model_failures++;
    return true;
}

/* By the main thread, when the others run. */
static inline void model_toss(int threads)
{
    int thread, coin;

    for (thread = 0; thread < threads; thread++)
        for (coin = 0; coin < MODEL_COINS; coin++)
            atomic_store_explicit(&model_coins[thread][coin], 1, memory_order_relaxed);
}

/* The checker ignores the failure order that stands here.  An execution in
 * which it would matter is dropped. */
#define MODEL_SUCCEEDS(object, expected, desired, success)                             \
    (__VERIFIER_assume(atomic_compare_exchange_strong_explicit(                        \
         (object), (expected), (desired), memory_order_##success, memory_order_relaxed)), \
     true)

#define MODEL_ALONE(object, expected, desired, success, failure)                       \
    atomic_compare_exchange_strong_explicit((object), (expected), (desired),           \
                                            memory_order_##success, memory_order_##failure)

#define cpi_cas_weak(object, expected, desired, success, failure)                      \
    (model_self == 0 ? MODEL_ALONE(object, expected, desired, success, failure)        \
     : model_fails()                                                                   \
         ? (*(expected) = atomic_load_explicit((object), memory_order_##failure), false) \
         : MODEL_SUCCEEDS(object, expected, desired, success))

#define cpi_cas_strong(object, expected, desired, success, failure)                    \
    (model_self == 0 ? MODEL_ALONE(object, expected, desired, success, failure)        \
     : model_fails() ? __extension__({                                                 \
        __auto_type model_found = atomic_load_explicit((object), memory_order_##failure); \
        __VERIFIER_assume(model_found != *(expected));                                 \
        *(expected) = model_found;                                                     \
        false;                                                                         \
    }) : MODEL_SUCCEEDS(object, expected, desired, success))

#endif /* WEAK_GENMC_H */

#endif /* MODEL_CAS_H */
