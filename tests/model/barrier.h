/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * barrier.h - membarrier(2), for a model in which one thread passes it.
 *
 * The system makes every running thread pass a full barrier, wherever it is.  The
 * explorer of tests/weak has that as an operation of its own.  For GenMC thread 1 looks
 * before each of its atomic operations whether the barrier was asked for, and passes it
 * at one of these points, as the checker chooses.  The thread that asks goes on when it
 * has.  A thread that has ended has nothing left to order.
 *
 * Included before any other header of the models.
 */
#ifndef MODEL_BARRIER_H
#define MODEL_BARRIER_H

#include "cas.h"

#ifdef WEAK_GENMC_H

static inline void model_barrier(void)
{
    weak_barrier_all();
}

static inline void model_barrier_end(void)
{
}

#else

static _Atomic int model_barrier_wanted;
static _Atomic int model_barrier_passed;
static int model_barrier_done; /* thread 1's */

static inline void model_barrier_pass(void)
{
    if (model_self != 1 || model_barrier_done ||
        atomic_load_explicit(&model_barrier_wanted, memory_order_relaxed) == 0)
        return;
    model_barrier_done = 1;
    atomic_thread_fence(memory_order_seq_cst);
    atomic_store_explicit(&model_barrier_passed, 1, memory_order_release);
}

#define CPI_ATOMIC_POINT() model_barrier_pass()

/* The checker takes it for a fence of the processor's.  No model of memory
 * needs its effect on the compiler. */
#undef atomic_signal_fence
#define atomic_signal_fence(order) ((void)0)

/* Once in a run. */
static inline void model_barrier(void)
{
    atomic_thread_fence(memory_order_seq_cst);
    atomic_store_explicit(&model_barrier_wanted, 1, memory_order_release);
    __VERIFIER_assume(atomic_load_explicit(&model_barrier_passed, memory_order_acquire));
    atomic_thread_fence(memory_order_seq_cst);
}

/* Last in thread 1. */
static inline void model_barrier_end(void)
{
    if (!model_barrier_done)
        atomic_store_explicit(&model_barrier_passed, 1, memory_order_release);
}

#endif

#endif /* MODEL_BARRIER_H */
