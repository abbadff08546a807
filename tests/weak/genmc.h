/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * genmc.h - what a model asks of a checker, in place of GenMC's header.
 *
 * Provided by weak_threads.c.
 */
#ifndef WEAK_GENMC_H
#define WEAK_GENMC_H

/* Drops the execution if the condition is 0. */
void __VERIFIER_assume(int condition);

/* Any number.  Callers reduce it. */
int __VERIFIER_nondet_int(void);

/* A full barrier in every thread at once, wherever each of them is, as
 * membarrier(2) has it. */
void weak_barrier_all(void);

/* Notes how an execution ended, as a number below WEAK_OUTCOMES (weak.h). */
void weak_outcome(unsigned outcome);

#endif /* WEAK_GENMC_H */
