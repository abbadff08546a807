/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool.c - scenarios of a whole pool, and what must hold in each run.
 *
 * A history of allocs and frees is linearizable if each operation can be given
 * one instant between its call and its return so that, in the order of those
 * instants, no slot is handed out that is not free (M. P. Herlihy and J. M.
 * Wing, 1990).  By their theorem of locality each slot can be looked at alone:
 * its allocs and frees must alternate.  They can be made to, exactly when no
 * alloc returns a slot before the free of its former holder was called.  So a
 * slot is taken off its holder's list before the free is called, put on one
 * after the alloc has returned, and must be on none then.
 *
 * An alloc that returns NULL says something of all slots: there was an instant
 * during the call when each of them was held, or out of reach.  Out of reach,
 * by the contract, is what threads inside the library have in their hands, and
 * what other threads have loaded, unless the pool is exact or has slack for it.
 * note_missing adds that up, and each call keeps the largest sum it has lived to
 * see.
 */
#include "scenario.h"

#include <cpool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit.h"

#define CAPACITY_MAX 64 /* with slack */
#define MEMORY_MAX (64 * 1024)

/* Holders beside the threads' numbers. */
#define MAILBOX EXPLORER_THREADS_MAX
#define NOBODY (EXPLORER_THREADS_MAX + 1)

struct party {
    void *held[CAPACITY_MAX];
    size_t holds;
    bool used;    /* it has called the library: it may have a magazine loaded */
    bool inside;  /* it is in the library */
    size_t worst; /* most slots missing at once during its call */
};

static struct {
    const struct scenario *scenario;
    cpool_t *pool;
    unsigned holder[CAPACITY_MAX];
    size_t held; /* by all */
    struct party party[EXPLORER_THREADS_MAX + 1];
} the;

static _Alignas(64) char memory[MEMORY_MAX];

static void pool_open(const struct scenario *scenario)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    size_t i;

    memset(&the, 0, sizeof the);
    the.scenario = scenario;
    for (i = 0; i < CAPACITY_MAX; i++)
        the.holder[i] = NOBODY;
    config.slot_size = 8;
    config.capacity = scenario->capacity;
    config.magazine_rounds = scenario->rounds;
    config.thread_caches = scenario->thread_caches;
    config.flags = scenario->flags;
    if (!scenario->own_memory) {
        config.memory = memory;
        config.memory_size = sizeof memory;
    }
    if (cpool_create(&the.pool, &config) != 0)
        explorer_fail("the pool cannot be created");
}

/* --- Who holds what --- */

static void take(unsigned holder, void *slot)
{
    struct party *party = &the.party[holder];
    size_t index = cpool_index(the.pool, slot);

    if (index >= CAPACITY_MAX || cpool_at(the.pool, index) != slot)
        explorer_fail("what was handed out is no slot");
    if (the.holder[index] != NOBODY)
        explorer_fail("a slot was handed out that is held");
    the.holder[index] = holder;
    the.held++;
    party->held[party->holds++] = slot;
}

static void *drop_oldest(unsigned holder)
{
    struct party *party = &the.party[holder];
    void *slot = party->held[0];

    memmove(party->held, party->held + 1, --party->holds * sizeof slot);
    the.holder[cpool_index(the.pool, slot)] = NOBODY;
    the.held--;
    return slot;
}

/* --- How many are out of reach --- */

/* In the hands of a thread inside can be what it has loaded, a spare, a magazine
 * on its way, and the slot that it takes or frees. */
static size_t out_of_reach(const struct party *party)
{
    bool all_in_reach = the.scenario->own_memory || (the.scenario->flags & CPOOL_EXACT) != 0;

    if (party->inside)
        return 3 * the.scenario->rounds + 1;
    return party->used && !all_in_reach ? the.scenario->rounds : 0;
}

static void note_missing(void)
{
    unsigned t, other;

    for (t = 0; t < EXPLORER_THREADS_MAX; t++) {
        size_t missing = the.held;

        for (other = 0; other < EXPLORER_THREADS_MAX; other++)
            if (other != t)
                missing += out_of_reach(&the.party[other]);
        if (missing > the.party[t].worst)
            the.party[t].worst = missing;
    }
}

static void enter(unsigned thread)
{
    the.party[thread].used = true;
    the.party[thread].inside = true;
    the.party[thread].worst = 0;
    note_missing();
}

static void leave(unsigned thread)
{
    the.party[thread].inside = false;
    note_missing();
}

static void check_dry(unsigned thread, size_t wanted)
{
    note_missing();
    if (the.party[thread].worst + wanted <= the.scenario->capacity)
        explorer_fail("an alloc failed while slots were free within reach");
}

/* --- Operations --- */

static void alloc(unsigned thread, void *(*function)(cpool_t *))
{
    void *slot;

    enter(thread);
    slot = function(the.pool);
    if (slot == NULL)
        check_dry(thread, 1);
    else
        take(thread, slot);
    leave(thread);
}

static void free_oldest(unsigned thread, void (*function)(cpool_t *, void *))
{
    void *slot;

    if (the.party[thread].holds == 0)
        return;
    slot = drop_oldest(thread);
    enter(thread);
    function(the.pool, slot);
    leave(thread);
}

static void alloc_bulk(unsigned thread)
{
    void *slots[3];
    size_t got, i;

    enter(thread);
    got = cpool_alloc_bulk(the.pool, slots, 3);
    if (got < 3)
        check_dry(thread, 1 + got);
    for (i = 0; i < got; i++)
        take(thread, slots[i]);
    leave(thread);
}

static void free_bulk(unsigned thread)
{
    void *slots[CAPACITY_MAX];
    size_t n = 0;

    while (the.party[thread].holds > 0)
        slots[n++] = drop_oldest(thread);
    enter(thread);
    cpool_free_bulk(the.pool, slots, n);
    leave(thread);
}

static void flush(unsigned thread)
{
    enter(thread);
    cpool_flush(the.pool);
    leave(thread);
}

static void move(unsigned from, unsigned to)
{
    if (the.party[from].holds > 0)
        take(to, drop_oldest(from));
}

/* --- Audits --- */

/* Allocates until the pool is dry, for `holder`; returns how many. */
static size_t drain(unsigned holder)
{
    size_t n = 0;
    void *slot;

    while ((slot = cpool_alloc(the.pool)) != NULL) {
        take(holder, slot);
        n++;
    }
    return n;
}

static void check_magazines(size_t missing)
{
    const char *wrong = audit_magazines(the.pool, missing);

    if (wrong != NULL)
        explorer_fail(wrong);
}

/*
 * In a child of fork: all slots that were free can be had, but for what threads
 * that vanished inside the library may take with them.  What a cache had in its
 * hands is found, and only the slot is lost that was on its way to or from the
 * caller; a thief takes the magazine with it that it was bringing to the depot.
 */
static void audit_child(unsigned thread)
{
    size_t lost_by_each = the.scenario->never_dry ? 1 : the.scenario->rounds + 1;
    size_t vanished = 0;
    size_t again;
    unsigned t;

    for (t = 0; t < EXPLORER_THREADS_MAX; t++)
        vanished += t != thread && the.party[t].inside;
    check_magazines(the.scenario->never_dry ? 0 : vanished);
    drain(thread);
    if (the.held + vanished * lost_by_each < the.scenario->capacity)
        explorer_fail("slots are missing in the child of a fork");
    again = the.party[thread].holds;
    while (the.party[thread].holds > 0)
        cpool_free(the.pool, drop_oldest(thread));
    if (drain(thread) != again)
        explorer_fail("slots got lost in the child of a fork");
    check_magazines(vanished);
}

static void fork_child(unsigned thread)
{
    int status;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        audit_child(thread);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        explorer_fail("fork does not work");
    if (status != 0)
        _exit(1); /* the child has told why */
}

static void pool_step(unsigned thread, char operation)
{
    switch (operation) {
    case 'a': alloc(thread, cpool_alloc); break;
    case 'A': alloc(thread, cpool_depot_alloc); break;
    case 'f': free_oldest(thread, cpool_free); break;
    case 'F': free_oldest(thread, cpool_depot_free); break;
    case 'b': alloc_bulk(thread); break;
    case 'B': free_bulk(thread); break;
    case 'l': flush(thread); break;
    case 'p': move(thread, MAILBOX); break;
    case 'g': move(MAILBOX, thread); break;
    case 'k': fork_child(thread); break;
    default: explorer_fail("no such operation");
    }
}

/* The thread's end gives its cache back, which is inside the library. */
static void pool_end(unsigned thread)
{
    enter(thread);
}

static void pool_close(void)
{
    check_magazines(0);
    drain(MAILBOX);
    check_magazines(0);
    if (the.held < the.scenario->capacity)
        explorer_fail("slots were lost");
    if (the.held > the.scenario->capacity && !the.scenario->own_memory)
        explorer_fail("there are more slots than the capacity");
    if ((size_t)cpool_destroy(the.pool) != the.held)
        explorer_fail("the pool counts its live slots wrongly");
}

const struct kind pool_kind = {pool_open, pool_step, pool_end, pool_close};
