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

#include <limits.h>

#include "cas.h"

#ifdef WEAK_GENMC_H

static inline void model_barrier(void)
{
    weak_barrier_all();
}

static inline void model_end(void)
{
}

#else

static _Atomic int model_barrier_wanted; /* how many were asked for */
static _Atomic int model_barrier_passed; /* how many of them thread 1 has passed */
static int model_barrier_done;           /* thread 1's: the same */

static inline void model_barrier_pass(void)
{
    int wanted;

    if (model_self != 1)
        return;
    wanted = atomic_load_explicit(&model_barrier_wanted, memory_order_relaxed);
    if (wanted == model_barrier_done)
        return;
    model_barrier_done = wanted;
    atomic_thread_fence(memory_order_seq_cst);
    atomic_store_explicit(&model_barrier_passed, wanted, memory_order_release);
}

#define CPI_ATOMIC_POINT() model_barrier_pass()

/* The checker takes it for a fence of the processor's.  No model of memory
 * needs its effect on the compiler. */
#undef atomic_signal_fence
#define atomic_signal_fence(order) ((void)0)

static inline void model_barrier(void)
{
    int mine;

    atomic_thread_fence(memory_order_seq_cst);
    mine = atomic_fetch_add_explicit(&model_barrier_wanted, 1, memory_order_acq_rel) + 1;
    __VERIFIER_assume(model_self <= 1 || atomic_load_explicit(&model_barrier_passed,
                                                              memory_order_acquire) >= mine);
    atomic_thread_fence(memory_order_seq_cst);
}

/* When a thread has ended. */
static inline void model_end(void)
{
    if (model_self == 1)
        atomic_store_explicit(&model_barrier_passed, INT_MAX, memory_order_release);
}

#endif

#endif /* MODEL_BARRIER_H */
