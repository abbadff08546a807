/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cas.h - compare-and-swap for the explorer, in place of the model checker's.
 *
 * Stands before tests/model in the include path, so that the models take this
 * one.  Nothing has to be added: the explorer's own compare-and-swap has both
 * orders and fails spuriously when it is a weak one.
 */
#ifndef WEAK_CAS_H
#define WEAK_CAS_H

#include <genmc.h>
#include <stdatomic.h>
#include <stdbool.h>

#define MODEL_THREADS_MAX 4

/* Thread number, from 1; 0 is main. */
static _Thread_local int model_self;

/* No coins: failures are the explorer's to choose, and as many as it likes.  A
 * model may set how many it has had. */
#ifndef MODEL_COINS
#define MODEL_COINS 2
#endif

static _Thread_local int model_failures;

static inline void model_toss(int threads)
{
    (void)threads;
}

#define cpi_cas_weak(object, expected, desired, success, failure)       \
    atomic_compare_exchange_weak_explicit((object), (expected), (desired), \
                                          memory_order_##success, memory_order_##failure)
#define cpi_cas_strong(object, expected, desired, success, failure)     \
    atomic_compare_exchange_strong_explicit((object), (expected), (desired), \
                                            memory_order_##success, memory_order_##failure)

#endif /* WEAK_CAS_H */
