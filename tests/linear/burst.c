/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * burst.c - calls, and writes down (burst.h).
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "burst.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "points.h"
#include "random.h"

#define BULK_MAX 3u

/* A pause is made at one point in so many, on average. */
#define PAUSE_ODDS 12u

/* The longest a cpool_alloc_wait waits. */
#define WAIT_NANOSECONDS 200000u

/*
 * --- Pauses ---
 *
 * Without them operations of some dozen nanoseconds would hardly ever overlap, least of all
 * where there are few processors.
 */

/* The generator of the thread in a burst.  NULL: no pauses. */
static _Thread_local uint64_t *pauses;

static void reach(const char *function)
{
    (void)function;
    if (pauses != NULL && random_once_in(pauses, PAUSE_ODDS))
        sched_yield();
}

static bool fails(void)
{
    return pauses != NULL && random_once_in(pauses, PAUSE_ODDS);
}

__attribute__((constructor)) static void install(void)
{
    static struct points of_bursts;

    of_bursts = points_of_library;
    of_bursts.reach = reach;
    of_bursts.fails = fails;
    points_use(&of_bursts);
}

/* --- Workers --- */

void burst_prepare(struct worker *worker, cpool_t *pool, const char *letters,
                   uint64_t seed)
{
    worker->pool = pool;
    worker->cache = NULL;
    worker->letters = letters;
    worker->generator = seed;
    worker->holds = 0;
    worker->history.count = 0;
}

static const char *name_of(char letter)
{
    switch (letter) {
    case 'z': return "calloc";
    case 'c': return "cache_alloc";
    case 'A': return "depot_alloc";
    case 'w': return "alloc_wait";
    case 'b': return "alloc_bulk";
    case 'f': return "free";
    case 'C': return "cache_free";
    case 'F': return "depot_free";
    case 'd': return "free_bulk";
    case 'l': return "flush";
    default: return "alloc";
    }
}

static struct operation *begin(struct worker *worker, char letter, enum history_kind kind,
                               size_t wanted)
{
    return history_begin(&worker->history, worker->number, kind, name_of(letter), wanted);
}

/* --- Taking --- */

static void keep(struct worker *worker, struct operation *operation, void *slot)
{
    if (slot == NULL)
        return;
    history_add(operation, cpool_index(worker->pool, slot));
    worker->held[worker->holds++] = slot;
}

static void *alloc_by(struct worker *worker, char letter)
{
    struct timespec timeout = {0, 0};

    switch (letter) {
    case 'z': return cpool_calloc(worker->pool);
    case 'c': return cpool_cache_alloc(worker->cache);
    case 'A': return cpool_depot_alloc(worker->pool);
    case 'w':
        timeout.tv_nsec = (long)random_below(&worker->generator, WAIT_NANOSECONDS);
        return cpool_alloc_wait(worker->pool, &timeout);
    default: return cpool_alloc(worker->pool);
    }
}

static void take_one(struct worker *worker, char letter)
{
    struct operation *operation = begin(worker, letter, HISTORY_TAKE, 1);
    void *slot = alloc_by(worker, letter);

    history_end(operation);
    keep(worker, operation, slot);
}

static void take_many(struct worker *worker)
{
    size_t wanted = 1 + random_below(&worker->generator, BULK_MAX);
    struct operation *operation;
    void *slots[BULK_MAX];
    size_t count, i;

    operation = begin(worker, 'b', HISTORY_TAKE, wanted);
    count = cpool_alloc_bulk(worker->pool, slots, wanted);
    history_end(operation);
    for (i = 0; i < count; i++)
        keep(worker, operation, slots[i]);
}

unsigned burst_drain(struct worker *worker)
{
    unsigned count = 0;

    for (;;) {
        worker->holds = 0; /* it never frees them */
        take_one(worker, 'a');
        if (worker->holds == 0)
            return count;
        count++;
    }
}

/* --- Giving --- */

static void *let_go(struct worker *worker)
{
    unsigned i = (unsigned)random_below(&worker->generator, worker->holds);
    void *slot = worker->held[i];

    worker->held[i] = worker->held[--worker->holds];
    return slot;
}

static void give_one(struct worker *worker, char letter)
{
    void *slot = let_go(worker);
    struct operation *operation;
    size_t index = cpool_index(worker->pool, slot);

    operation = begin(worker, letter, HISTORY_GIVE, 0);
    history_add(operation, index);
    if (letter == 'F')
        cpool_depot_free(worker->pool, slot);
    else if (letter == 'C')
        cpool_cache_free(worker->cache, slot);
    else
        cpool_free(worker->pool, slot);
    history_end(operation);
}

static void give_many(struct worker *worker)
{
    size_t count = 1 + random_below(&worker->generator, BULK_MAX);
    struct operation *operation = begin(worker, 'd', HISTORY_GIVE, 0);
    void *slots[BULK_MAX];
    size_t i;

    for (i = 0; i < count && worker->holds > 0; i++) {
        slots[i] = let_go(worker);
        history_add(operation, cpool_index(worker->pool, slots[i]));
    }
    cpool_free_bulk(worker->pool, slots, i);
    history_end(operation);
}

/* --- Neither --- */

/*
 * Hands a held slot over, and takes one.  The exchange releases what this thread
 * did to it and acquires what the other one did: ticks drawn by the two are in the
 * order in which they had it.
 */
static void exchange(struct worker *worker)
{
    void *slot = worker->holds > 0 ? let_go(worker) : NULL;

    slot = atomic_exchange_explicit(worker->mailbox, slot, memory_order_acq_rel);
    if (slot != NULL)
        worker->held[worker->holds++] = slot;
}

static void flush(struct worker *worker)
{
    struct operation *operation = begin(worker, 'l', HISTORY_OTHER, 0);

    cpool_flush(worker->pool);
    history_end(operation);
}

static void make_cache(struct worker *worker)
{
    struct operation *operation =
        history_begin(&worker->history, worker->number, HISTORY_OTHER, "cache_create", 0);

    if (cpool_cache_create(&worker->cache, worker->pool) != 0) {
        fprintf(stderr, "burst: no cache to be had\n");
        abort();
    }
    history_end(operation);
}

/* --- A burst --- */

static bool is_in(char letter, const char *letters)
{
    return strchr(letters, letter) != NULL;
}

/* Whether the letter can be done with what is held. */
static bool fits(const struct worker *worker, char letter)
{
    if (is_in(letter, "azcAwb"))
        return worker->holds < BURST_HOLD_MAX / 2;
    return is_in(letter, "xl") || worker->holds > 0;
}

static void step(struct worker *worker, char letter)
{
    if (worker->cache == NULL && is_in(letter, "cC"))
        make_cache(worker);
    if (is_in(letter, "azcAw"))
        take_one(worker, letter);
    else if (letter == 'b')
        take_many(worker);
    else if (is_in(letter, "fCF"))
        give_one(worker, letter);
    else if (letter == 'd')
        give_many(worker);
    else if (letter == 'x')
        exchange(worker);
    else
        flush(worker);
}

void burst_run(struct worker *worker, unsigned operations)
{
    unsigned letters = (unsigned)strlen(worker->letters);
    uint64_t generator = worker->generator;

    pauses = &generator;
    while (operations > 0) {
        char letter = worker->letters[random_below(&worker->generator, letters)];

        if (random_once_in(&worker->generator, 8))
            sched_yield();
        if (!fits(worker, letter))
            continue;
        step(worker, letter);
        operations--;
    }
    pauses = NULL;
}
