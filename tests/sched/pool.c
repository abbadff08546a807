/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool.c - scenarios of a whole pool, and the claims that must hold in each run.
 *
 * Each run's history, with all slots allocated at its end, must be linearizable:
 * linear.h decides that, and says what it means.  A slot is also taken off its
 * holder's list before its free is called, and put on one after an alloc returned
 * it, and must be on none then: so a run that hands a slot out twice ends there.
 */
#include "points.h" /* first: the inline path takes its points from here */

#define CPOOL_POINT_() points->reach(__func__)

#include "scenario.h"

#include <cpool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "audit.h"
#include "linear.h"
#include "types.h"

#define CAPACITY_MAX 64
#define MEMORY_MAX (64 * 1024)

/* Holders beside the threads' numbers. */
#define MAILBOX EXPLORER_THREADS_MAX
#define NOBODY (EXPLORER_THREADS_MAX + 1)

/* Nanoseconds after which no waiter of a run starves. */
#define NO_STARVING UINT64_C(1000000000000)

struct party {
    void *held[CAPACITY_MAX];
    size_t holds;
    struct operation *inside; /* its present operation in the library, or NULL */
    bool awake;               /* it has more to do, and does not sleep */
};

static struct {
    const struct scenario *scenario;
    cpool_t *pool;
    cpool_cache_t *cache; /* an explicit one, or NULL */
    unsigned holder[CAPACITY_MAX];
    size_t held;  /* by all */
    size_t waits; /* that the programs still have */
    size_t capacity;
    struct party party[EXPLORER_THREADS_MAX + 1];
} the;

static struct history history;

static _Alignas(64) char memory[MEMORY_MAX];

/* Operations with slots in their hands at the last fork. */
static size_t hands;

static void count_hands(void)
{
    hands = audit_hands(the.pool);
}

/* How often one of these operations is in the programs. */
static size_t count_operations(const struct scenario *scenario, const char *letters)
{
    const char *operation;
    size_t count = 0;

    for (unsigned t = 0; t < EXPLORER_THREADS_MAX && scenario->programs[t] != NULL; t++)
        for (operation = scenario->programs[t]; *operation != '\0'; operation++)
            count += strchr(letters, *operation) != NULL;
    return count;
}

static void pool_open(const struct scenario *scenario)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;

    explorer_before_fork(count_hands);
    memset(&the, 0, sizeof the);
    history.count = 0;
    the.scenario = scenario;
    the.waits = count_operations(scenario, "wW");
    the.capacity = scenario->capacity;
    for (size_t i = 0; i < CAPACITY_MAX; i++)
        the.holder[i] = NOBODY;
    for (size_t i = 0; i < EXPLORER_THREADS_MAX; i++)
        the.party[i].awake = scenario->programs[i] != NULL;
    config.slot_size = TYPES_SLOT;
    config.capacity = scenario->capacity;
    config.magazine_rounds = scenario->rounds;
    config.cache_slots = scenario->cache_slots;
    config.thread_caches = scenario->thread_caches;
    config.flags = scenario->flags;
    config.memory = memory;
    config.memory_size = sizeof memory;
    if (count_operations(scenario, "TU") > 0 ? types_open(&config) != 0
                                             : cpool_create(&the.pool, &config) != 0)
        explorer_fail("the pool cannot be created");
    if (count_operations(scenario, "TU") > 0)
        the.pool = types_pool();
    audit_starve_after(the.pool, scenario->fair ? 0 : NO_STARVING);
    if (scenario->later > 0 && cpool_shrink(the.pool, scenario->later) != scenario->later)
        explorer_fail("the pool cannot be shrunk");
    if (count_operations(scenario, "C") > 0 &&
        cpool_cache_create(&the.cache, the.pool) != 0)
        explorer_fail("the cache cannot be created");
}

/* --- Owners --- */

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

/* --- The history --- */

/* No thread is stopped for longer than others wait for it, so at some instant of an alloc that
 * finds nothing all slots are live. */
static void check_history(void)
{
    struct linear_specification specification = {
        .capacity = the.capacity - the.scenario->later, /* the least that there was */
        .slots = cpool_index_limit(the.pool),
    };

    if (linear_check(&specification, &history) == NULL)
        return;
    history_print(&history, stdout);
    explorer_fail("the history is not linearizable");
}

static struct operation *enter(unsigned thread, enum history_kind kind, const char *name,
                               size_t wanted)
{
    struct operation *operation = history_begin(&history, thread, kind, name, wanted);

    the.party[thread].inside = operation;
    return operation;
}

static void leave(unsigned thread)
{
    history_end(the.party[thread].inside);
    the.party[thread].inside = NULL;
}

/* --- Operations --- */

static void add(struct operation *operation, const void *slot)
{
    history_add(operation, cpool_index(the.pool, slot));
}

static bool alloc(unsigned thread, void *(*function)(cpool_t *))
{
    struct operation *operation =
        enter(thread, HISTORY_TAKE, function == cpool_alloc_uncached ? "depot_alloc" : "alloc", 1);
    void *slot = function(the.pool);

    if (slot != NULL) {
        take(thread, slot);
        add(operation, slot);
    }
    leave(thread);
    return slot != NULL;
}

/* By the inline path. */
static void *alloc_inline(cpool_t *pool)
{
    return cpool_alloc(pool);
}

static void free_inline(cpool_t *pool, void *slot)
{
    cpool_free(pool, slot);
}

static void free_oldest(unsigned thread, void (*function)(cpool_t *, void *))
{
    void *slot;

    if (the.party[thread].holds == 0)
        return;
    slot = drop_oldest(thread);
    add(enter(thread, HISTORY_GIVE, "free", 0), slot);
    function(the.pool, slot);
    leave(thread);
}

static void alloc_bulk(unsigned thread)
{
    struct operation *operation = enter(thread, HISTORY_TAKE, "alloc_bulk", 3);
    void *slots[3];
    size_t got = cpool_alloc_bulk(the.pool, slots, 3, 0);

    for (size_t i = 0; i < got; i++) {
        take(thread, slots[i]);
        add(operation, slots[i]);
    }
    leave(thread);
}

static void free_bulk(unsigned thread)
{
    struct operation *operation;
    void *slots[CAPACITY_MAX];
    size_t n = 0;

    while (the.party[thread].holds > 0)
        slots[n++] = drop_oldest(thread);
    operation = enter(thread, HISTORY_GIVE, "free_bulk", 0);
    for (size_t i = 0; i < n; i++)
        add(operation, slots[i]);
    cpool_free_bulk(the.pool, slots, n);
    leave(thread);
}

static void do_other(unsigned thread, const char *name, void (*function)(void))
{
    enter(thread, HISTORY_OTHER, name, 0);
    function();
    leave(thread);
}

static void flush(void)
{
    cpool_flush(the.pool);
}

static void trim(void)
{
    (void)cpool_trim(the.pool);
}

static void grow(void)
{
    if (cpool_grow(the.pool, the.scenario->later) != the.scenario->later)
        explorer_fail("the pool does not grow");
}

static void shrink(void)
{
    the.capacity -= cpool_shrink(the.pool, 1);
}

/* Puts the slot with the lowest index where the one held longest stands: no capacity can be
 * removed with it while one above it is live. */
static void put_lowest_first(struct party *party)
{
    size_t i;

    for (i = 1; i < party->holds; i++)
        if ((char *)party->held[i] < (char *)party->held[0]) {
            void *slot = party->held[i];

            party->held[i] = party->held[0];
            party->held[0] = slot;
        }
}

static void free_lowest_and_shrink(unsigned thread)
{
    put_lowest_first(&the.party[thread]);
    free_oldest(thread, free_inline);
    do_other(thread, "shrink", shrink);
}

static void flush_cache(void)
{
    cpool_cache_flush(the.cache);
}

static void destroy_cache(void)
{
    cpool_cache_destroy(the.cache);
    the.cache = NULL;
}

/* --- Waiting --- */

static void *wait_for_slot(cpool_t *pool)
{
    void *slot = cpool_alloc_wait(pool, NULL);

    if (slot == NULL)
        explorer_fail("a wait without end ended in vain");
    return slot;
}

static void *wait_some_time(cpool_t *pool)
{
    static const struct timespec some_time = {0, 1000000};

    return cpool_alloc_wait(pool, &some_time);
}

static void alloc_wait(unsigned thread, void *(*function)(cpool_t *))
{
    alloc(thread, function);
    the.waits--;
}

static bool does_a_waiter_sleep(void)
{
    for (unsigned t = 0; t < EXPLORER_THREADS_MAX; t++)
        if (explorer_is_asleep(t))
            return true;
    return false;
}

static bool sleeps_or_is_over(void)
{
    return the.waits == 0 || does_a_waiter_sleep();
}

static void step_aside_perhaps(void)
{
    if (explorer_choose())
        points->back_off(0);
}

/* Threads that are inside an operation, and awake. */
static unsigned count_inside(void)
{
    unsigned inside = 0;

    for (unsigned t = 0; t < EXPLORER_THREADS_MAX; t++)
        inside += the.party[t].inside != NULL && !explorer_is_asleep(t);
    return inside;
}

/* A free that is inside already may have looked before the waiter slept, and a waiter that wakes to
 * look once more is not served before it sleeps again. */
static void *alloc_beside_waiter(cpool_t *pool)
{
    bool in_vain = does_a_waiter_sleep() && count_inside() == 1;
    unsigned long sleeps = explorer_sleeps();
    void *slot = cpool_alloc_uncached(pool);

    if (in_vain && slot != NULL && does_a_waiter_sleep() && explorer_sleeps() == sleeps)
        explorer_fail("a slot passed a waiter that starves");
    return slot;
}

static void free_cached(cpool_t *pool, void *slot)
{
    (void)pool;
    cpool_cache_free(the.cache, slot);
}

static bool is_awake_beside(unsigned thread)
{
    for (unsigned t = 0; t < EXPLORER_THREADS_MAX; t++)
        if (t != thread && the.party[t].awake)
            return true;
    return false;
}

static void sleep_while_others_work(unsigned thread)
{
    the.party[thread].awake = false;
    while (is_awake_beside(thread))
        points->back_off(0);
    the.party[thread].awake = true;
}

static void move(unsigned from, unsigned to)
{
    if (the.party[from].holds > 0)
        take(to, drop_oldest(from));
}

/* --- Audits --- */

/* Allocates until the pool is dry, past the history.  Returns how many. */
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

/* Magazines that a thread leaves behind that vanishes with slots in its hands. */
#define LEFT_BEHIND 3

/* In a child of fork: all slots that were free can be had, but for one on its way
 * to or from the caller of each operation that vanished, and for what `hands` of
 * them had in their hands. */
static void audit_child(unsigned thread)
{
    size_t lost = hands * LEFT_BEHIND * the.scenario->rounds;
    size_t vanished = 0;
    size_t again;

    for (unsigned t = 0; t < EXPLORER_THREADS_MAX; t++)
        vanished += t != thread && the.party[t].inside != NULL;
    check_magazines(hands * LEFT_BEHIND);
    drain(thread);
    if (the.held + vanished + lost < the.scenario->capacity)
        explorer_fail("slots are missing in the child of a fork");
    again = the.party[thread].holds;
    while (the.party[thread].holds > 0)
        cpool_free(the.pool, drop_oldest(thread));
    if (drain(thread) != again)
        explorer_fail("slots got lost in the child of a fork");
    check_magazines(hands * LEFT_BEHIND);
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
    case 'a': alloc(thread, alloc_inline); break;
    case 'A': alloc(thread, cpool_alloc_uncached); break;
    case 'f': free_oldest(thread, free_inline); break;
    case 'F': free_oldest(thread, cpool_free_uncached); break;
    case 'b': alloc_bulk(thread); break;
    case 'B': free_bulk(thread); break;
    case 'l': do_other(thread, "flush", flush); break;
    case 't': do_other(thread, "trim", trim); break;
    case 'G': do_other(thread, "grow", grow); break;
    case 'H': free_lowest_and_shrink(thread); break;
    case 'L': do_other(thread, "cache_flush", flush_cache); break;
    case 'X': do_other(thread, "cache_destroy", destroy_cache); break;
    case 'C': free_oldest(thread, free_cached); break;
    case 'T': alloc(thread, types_alloc); break;
    case 'U': free_oldest(thread, types_free); break;
    case 'w': alloc_wait(thread, wait_for_slot); break;
    case 'W': alloc_wait(thread, wait_some_time); break;
    case 'N': alloc(thread, alloc_beside_waiter); break;
    case 'z': explorer_await(sleeps_or_is_over); break;
    case 'y': step_aside_perhaps(); break;
    case 's': sleep_while_others_work(thread); break;
    case 'p': move(thread, MAILBOX); break;
    case 'g': move(MAILBOX, thread); break;
    case 'k': fork_child(thread); break;
    default: explorer_fail("no such operation");
    }
}

static bool is_no_wait_left(void)
{
    return the.waits == 0;
}

/* The thread's end gives its cache back, which is inside the library, and calls waiters: so
 * not before the last wait is over. */
static void pool_end(unsigned thread)
{
    explorer_await(is_no_wait_left);
    enter(thread, HISTORY_OTHER, "thread exit", 0);
    the.party[thread].awake = false;
}

static void free_all(void)
{
    for (unsigned t = 0; t <= MAILBOX; t++)
        while (the.party[t].holds > 0)
            cpool_free(the.pool, drop_oldest(t));
}

static void pool_close(void)
{
    cpool_stats_t stats = CPOOL_STATS_INIT;

    for (unsigned t = 0; t < EXPLORER_THREADS_MAX; t++)
        if (the.party[t].inside != NULL)
            leave(t);
    check_magazines(0);
    while (alloc(MAILBOX, alloc_inline))
        ;
    check_magazines(0);
    check_history();
    if (the.held < the.capacity)
        explorer_fail("slots were lost");
    if (the.held > the.capacity)
        explorer_fail("there are more slots than the capacity");
    if (cpool_read_stats(the.pool, &stats) != 0 || stats.live != the.held)
        explorer_fail("the pool counts its live slots wrongly");
    free_all();
    if (cpool_destroy(the.pool) != 0)
        explorer_fail("the pool has live slots though all were freed");
}

const struct kind pool_kind = {pool_open, pool_step, pool_end, pool_close};
