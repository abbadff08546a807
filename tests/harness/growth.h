/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * growth.h - what the tests of recall, growth, trimming and waiting share: pools
 * of every kind, threads that work on command and sleep in between, slots held
 * with a stamp in every byte, and filters of system calls.
 */
#ifndef CPOOL_TESTS_GROWTH_H
#define CPOOL_TESTS_GROWTH_H

#include "support.h"

/* --- Pools --- */

/* The flags that make a difference here, of one pool each. */
enum { GROWTH_KINDS = 2 };
extern const unsigned growth_kinds[GROWTH_KINDS];

cpool_t *growth_pool(size_t slot_size, unsigned flags, size_t capacity, size_t max_capacity);

void growth_require_capacity(const cpool_t *pool, size_t capacity);

/* --- Workers ---
 *
 * A worker is a thread that does one thing at a time when it is told to, and is
 * asleep otherwise, with whatever its caches hold. */

struct worker;

struct worker *worker_start(void);

/* Runs the body in the worker and returns when it is done. */
void worker_do(struct worker *worker, void (*body)(void *argument), void *argument);

/* The same in two halves. */
void worker_begin(struct worker *worker, void (*body)(void *argument), void *argument);
void worker_await(struct worker *worker);

/* Ends the thread. */
void worker_stop(struct worker *worker);

/* So many of them. */
void workers_start(struct worker **workers, size_t count);
void workers_stop(struct worker **workers, size_t count);

/* --- Holds ---
 *
 * Slots in one party's hands.  Each is filled with the party's stamp for as
 * long as it is held, and looked at before it is freed.  A second holder of the
 * same slot, or a purge of it, is found.  The slots must have whole 8 bytes. */

struct hold {
    cpool_t *pool;
    uint64_t stamp; /* unlike anybody else's */
    size_t bytes;   /* of a slot */
    size_t room;
    size_t count;
    void **slots;
};

/* Room for as many slots as the pool can ever have. */
struct hold hold_of(cpool_t *pool);
void hold_fini(struct hold *hold);

/* Takes up to n more slots and returns how many there were. */
size_t hold_take(struct hold *hold, size_t n);

/* Adds a slot that was taken otherwise. */
void hold_add(struct hold *hold, void *slot);

/* Looks at all stamps. */
void hold_verify(const struct hold *hold);

/* Frees the n slots taken last, or all. */
void hold_free(struct hold *hold, size_t n);
void hold_free_all(struct hold *hold);

/* Frees all, and destroys the pool, in which nothing else may be live. */
void hold_end(struct hold *hold);

/* Frees the i-th, and puts the last one in its place. */
void hold_free_one(struct hold *hold, size_t i);

/* --- Filters of system calls ---
 *
 * In place until the process ends, so for forked children.  False where the
 * system has no such filters: then there is nothing to test. */

/* Whether a child of this process can put one in place. */
bool growth_has_filters(void);

/* Whether the system makes pages resident at a request.  An emulator that ignores all advice says
 * so, too, of an advice that no kernel knows. */
bool growth_populates(void);

/* From now on this call fails with this error. */
bool growth_refuse_call(long number, int error);

/* From now on every call but these ends the process by SIGSYS. */
bool growth_allow_only(const long *numbers, size_t count);

#endif /* CPOOL_TESTS_GROWTH_H */
