/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tracked.c - scenarios of tracked pools, and the claims that must hold in each run.
 *
 * Each slot has one holder, and no handle of a freed one resolves.  At the end of the run all
 * slots can be had, and each magazine is in its place.  A report is a failure, but where the
 * programs make a mistake.
 */
#include "scenario.h"

#include <stdio.h>
#include <string.h>

#include <cpool.h>
#include <cpool/track.h>

#include "audit.h"

#define CAPACITY_MAX 16
#define MEMORY_MAX (64 * 1024)

/* No thread's number: the auditor's stands before it. */
#define NOBODY (EXPLORER_THREADS_MAX + 1)

struct party {
    void *held[CAPACITY_MAX];
    size_t holds;
    bool inside; /* an operation that may change a slot's state */
};

static struct {
    const struct scenario *scenario;
    cpool_t *pool;
    unsigned holder[CAPACITY_MAX];
    cpool_handle_t handle[CAPACITY_MAX];
    unsigned since[CAPACITY_MAX]; /* when it got its holder */
    unsigned now;
    size_t held;
    size_t reports;
    size_t frees; /* calls that free the common slot */
    void *common;
    cpool_handle_t name; /* of the common slot */
    bool freeing, freed; /* likewise */
    struct party party[EXPLORER_THREADS_MAX + 1];
} the;

static _Alignas(64) char memory[MEMORY_MAX];

static size_t count_operations(const char *letters)
{
    const char *operation;
    size_t count = 0;

    for (unsigned t = 0; t < EXPLORER_THREADS_MAX && the.scenario->programs[t] != NULL; t++)
        for (operation = the.scenario->programs[t]; *operation != '\0'; operation++)
            count += strchr(letters, *operation) != NULL;
    return count;
}

static void count_report(const cpool_error_t *error, void *context)
{
    static char text[160];

    (void)context;
    the.reports++;
    if (the.common != NULL && error->code == CPOOL_EDOUBLEFREE)
        return;
    snprintf(text, sizeof text, "%s: %s", error->function, cpool_strerror(error->code));
    explorer_fail(text);
}

/* --- Holders --- */

static void take(unsigned holder, void *slot)
{
    size_t index = cpool_index(the.pool, slot);

    if (index >= CAPACITY_MAX || cpool_at(the.pool, index) != slot)
        explorer_fail("what was handed out is no slot");
    if (the.holder[index] != NOBODY)
        explorer_fail("a slot was handed out that is held");
    the.holder[index] = holder;
    the.since[index] = ++the.now;
    the.held++;
    if (cpool_handle(the.pool, slot) == the.handle[index])
        explorer_fail("a slot has the handle of its last holder");
    the.handle[index] = cpool_handle(the.pool, slot);
    if (cpool_resolve(the.pool, the.handle[index]) != slot)
        explorer_fail("a live slot's handle does not resolve");
}

static void drop(const void *slot)
{
    the.holder[cpool_index(the.pool, slot)] = NOBODY;
    the.held--;
}

static void *oldest(void **slots, size_t *n)
{
    void *slot = slots[0];

    memmove(slots, slots + 1, --*n * sizeof *slots);
    return slot;
}

static void keep(unsigned thread, void *slot)
{
    struct party *party = &the.party[thread];

    take(thread, slot);
    party->held[party->holds++] = slot;
}

/* --- The pool's own operations --- */

static bool alloc(unsigned thread)
{
    void *slot;

    the.party[thread].inside = true;
    slot = cpool_alloc(the.pool);
    if (slot != NULL)
        keep(thread, slot);
    the.party[thread].inside = false;
    return slot != NULL;
}

static void free_oldest(unsigned thread, void (*function)(cpool_t *, void *))
{
    struct party *party = &the.party[thread];
    cpool_handle_t handle;
    void *slot;

    if (party->holds == 0)
        return;
    slot = oldest(party->held, &party->holds);
    handle = the.handle[cpool_index(the.pool, slot)];
    party->inside = true;
    drop(slot);
    function(the.pool, slot);
    party->inside = false;
    if (cpool_resolve(the.pool, handle) != NULL)
        explorer_fail("the handle of a freed slot resolves");
}

/* --- Tracked pools --- */

/* Frees the common slot, which other threads do as well. */
static void free_common(unsigned thread)
{
    the.party[thread].inside = true;
    the.frees++;
    the.freeing = true;
    cpool_free(the.pool, the.common);
    the.freed = true;
    the.party[thread].inside = false;
}

static void resolve_common(void)
{
    bool stale = the.freed;
    void *slot = cpool_resolve(the.pool, the.name);

    if (slot != NULL && (stale || slot != the.common))
        explorer_fail("a stale handle resolves");
    if (slot == NULL && !the.freeing)
        explorer_fail("a live slot's handle does not resolve");
}

static bool is_any_inside(unsigned but)
{
    for (unsigned t = 0; t < EXPLORER_THREADS_MAX; t++)
        if (t != but && the.party[t].inside)
            return true;
    return false;
}

static void visit_all(unsigned thread)
{
    cpool_iter_t iter = CPOOL_ITER_INIT(the.pool, 0, SIZE_MAX);
    unsigned times[CAPACITY_MAX] = {0};
    unsigned start = the.now;
    unsigned before[CAPACITY_MAX];
    void *slot;
    size_t i;

    for (i = 0; i < CAPACITY_MAX; i++)
        before[i] = the.holder[i] != NOBODY ? the.since[i] : 0;
    while ((slot = cpool_iter_next(&iter)) != NULL) {
        i = cpool_index(the.pool, slot);
        times[i]++;
        if (the.holder[i] == NOBODY && !is_any_inside(thread))
            explorer_fail("a free slot is visited");
    }
    for (i = 0; i < the.scenario->capacity; i++) {
        bool throughout = before[i] != 0 && the.holder[i] != NOBODY && the.since[i] <= start;

        if (times[i] > 1 || (throughout && times[i] == 0))
            explorer_fail("a slot that lives throughout is not visited once");
    }
}

/* --- A run --- */

static void open_pool(const struct scenario *scenario)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;

    config.slot_size = 8;
    config.capacity = scenario->capacity;
    config.magazine_rounds = scenario->rounds;
    config.flags = scenario->flags;
    config.memory = memory;
    config.memory_size = sizeof memory;
    if (cpool_create(&the.pool, &config) != 0)
        explorer_fail("the pool cannot be created");
}

static void tracked_open(const struct scenario *scenario)
{
    memset(&the, 0, sizeof the);
    the.scenario = scenario;
    for (size_t i = 0; i < CAPACITY_MAX; i++)
        the.holder[i] = NOBODY;
    cpool_set_error_handler((cpool_error_handler_t){ count_report, NULL });
    open_pool(scenario);
    if (count_operations("2r") > 0) {
        the.common = cpool_alloc_uncached(the.pool);
        the.name = cpool_handle(the.pool, the.common);
    }
}

static void tracked_step(unsigned thread, char operation)
{
    switch (operation) {
    case 'a': alloc(thread); break;
    case 'f': free_oldest(thread, cpool_free); break;
    case 'F': free_oldest(thread, cpool_free_uncached); break;
    case '2': free_common(thread); break;
    case 'r': resolve_common(); break;
    case 'v': visit_all(thread); break;
    default: explorer_fail("no such operation");
    }
}

static void tracked_end(unsigned thread)
{
    (void)thread;
}

/* Of several frees of one slot all but one are refused. */
static void check_reports(void)
{
    if (the.common == NULL)
        return;
    if (the.frees == 0)
        keep(EXPLORER_THREADS_MAX, the.common);
    else if (the.reports != the.frees - 1)
        explorer_fail("of several frees of a slot not one succeeds");
}

static void tracked_close(void)
{
    cpool_stats_t stats = CPOOL_STATS_INIT;
    const char *wrong;

    check_reports();
    while (alloc(EXPLORER_THREADS_MAX))
        ;
    wrong = audit_magazines(the.pool, 0);
    if (wrong != NULL)
        explorer_fail(wrong);
    if (the.held != the.scenario->capacity)
        explorer_fail("slots were lost");
    if (cpool_read_stats(the.pool, &stats) != 0 || stats.live != the.held ||
        cpool_destroy(the.pool) != CPOOL_ELIVE)
        explorer_fail("the pool counts its live slots wrongly");
    cpool_set_error_handler((cpool_error_handler_t){ NULL, NULL });
}

const struct kind tracked_kind = {tracked_open, tracked_step, tracked_end, tracked_close};
