/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fault.c - goes through tables of refused calls (fault.h).
 */
#include "fault.h"

#include <sys/mman.h>

#include "cache/reclaim.h"

/* The most calls of a case. */
enum { MOST_CALLS = 128 };

/* A run in a child, and its message to the parent. */
struct run {
    const struct fault_case *tried;
    enum refuse_call call;
    size_t number;
    bool lasting;
    int result;
    int again; /* the result of the call when it is repeated, if it had another one */
    bool lost; /* the barrier, for good */
    size_t calls;
    size_t refused;
    enum refuse_call kinds[MOST_CALLS];
    struct refuse_ledger ledger;
};

/* The mistakes of a table, all of them told at once. */
struct complaints {
    size_t length;
    char text[3500];
};

static void complain(struct complaints *complaints, const struct run *run, const char *what,
                     long found)
{
    size_t room = sizeof complaints->text - complaints->length;
    int length = snprintf(complaints->text + complaints->length, room,
                          "\n  %s: { %s, %zu } %s: %s %ld", run->tried->name,
                          run->number > 0 ? refuse_name(run->call) : "none", run->number,
                          run->lasting ? "and all that follow" : "alone", what, found);

    if (length > 0 && (size_t)length < room)
        complaints->length += (size_t)length;
}

/* A thread that was refused its table asks again after a while only.  Now it has one in every
 * run. */
static void have_table(void)
{
    cpool_t *pool = support_create_plain(16, 1);

    while (support_stats(pool).caches == 0)
        cpool_free(pool, cpool_alloc(pool));
    support_destroy_empty(pool);
}

static void play(void *argument)
{
    struct run *run = argument;
    const struct fault_case *tried = run->tried;
    struct refuse_ledger at_first = refuse_ledger();
    struct fault_scene scene;
    bool had_barrier;

    memset(&scene, 0, sizeof scene);
    scene.flags = tried->flags;
    if (tried->before != NULL)
        tried->before(&scene);
    had_barrier = cpi_has_barrier();
    refuse_arm(run->call, run->number, run->lasting);
    run->result = tried->call(&scene);
    refuse_disarm();
    run->lost = had_barrier && !cpi_has_barrier();
    run->calls = refuse_calls();
    run->refused = refuse_refused();
    for (size_t i = 0; i < run->calls && i < MOST_CALLS; i++)
        run->kinds[i] = refuse_kind(i);
    run->again = run->result == tried->result ? run->result : tried->call(&scene);
    have_table();
    if (tried->after != NULL)
        tried->after(&scene);
    run->ledger = refuse_ledger();
    run->ledger.mapped -= at_first.mapped;
    run->ledger.blocks -= at_first.blocks;
    run->ledger.keys -= at_first.keys;
    run->ledger.files -= at_first.files;
    run->ledger.conditions -= at_first.conditions;
}

/* Returns false if the child did not reach its end. */
static bool play_in_child(struct run *run, struct complaints *complaints)
{
    struct support_outcome outcome;

    support_fork(play, run, &outcome);
    if (outcome.status != 0)
        complain(complaints, run, outcome.text, outcome.status);
    return outcome.status == 0;
}

static bool may_lack(enum refuse_call call)
{
    return call == MADVISE || call == MEMBARRIER || call == OPEN ||
           call == READ || call == MUNMAP;
}

static unsigned count_kind(const struct run *run, enum refuse_call call, size_t upto)
{
    unsigned count = 0;

    for (size_t i = 0; i < upto; i++)
        count += run->kinds[i] == call;
    return count;
}

/* Tells the row that a call would have. */
static void suggest_row(const struct run *clean, enum refuse_call call, unsigned number,
                        struct run *run, struct complaints *complaints)
{
    size_t room = sizeof complaints->text - complaints->length;
    int results[2];
    int length;

    for (int lasting = 0; lasting < 2; lasting++) {
        run->call = call;
        run->number = number;
        run->lasting = lasting != 0;
        (void)play_in_child(run, complaints);
        results[lasting] = run->result;
    }
    length = snprintf(complaints->text + complaints->length, room,
                      "\n  %s: no row for { %s, %u, %u, %d, %d },", clean->tried->name,
                      refuse_name(call), number, number, results[0], results[1]);
    if (length > 0 && (size_t)length < room)
        complaints->length += (size_t)length;
}

/* Where a table is being read: a row, and a number of the row's. */
struct place {
    size_t row;
    unsigned number;
};

static bool is_at(const struct fault_case *tried, const struct place *place, const struct run *at)
{
    return place->row < tried->row_count && tried->rows[place->row].call == at->call &&
           place->number == at->number;
}

static void go_on(const struct fault_case *tried, struct place *place)
{
    if (place->number++ < tried->rows[place->row].last)
        return;
    if (++place->row < tried->row_count)
        place->number = tried->rows[place->row].first;
}

/* Passes the calls that only other systems make. */
static void pass_lacking(const struct run *at, struct place *place, struct complaints *complaints)
{
    const struct fault_case *tried = at->tried;

    while (place->row < tried->row_count && !is_at(tried, place, at)) {
        struct run missing = *at;

        missing.call = tried->rows[place->row].call;
        missing.number = place->number;
        if (!may_lack(missing.call)) {
            if (at->call != REFUSE_MEMORY)
                return;
            complain(complaints, &missing, "is a row without its call, number",
                     (long)place->row + 1);
        }
        go_on(tried, place);
    }
}

/* Holds the calls of a run in which nothing was refused against the rows. */
static void compare_calls(const struct run *clean, struct run *run,
                          struct complaints *complaints)
{
    const struct fault_case *tried = clean->tried;
    struct place place = { 0, tried->row_count > 0 ? tried->rows[0].first : 0 };
    struct run at = *clean;

    for (size_t i = 0; i < clean->calls; i++) {
        at.call = clean->kinds[i];
        at.number = count_kind(clean, at.call, i + 1);
        pass_lacking(&at, &place, complaints);
        if (is_at(tried, &place, &at))
            go_on(tried, &place);
        else
            suggest_row(clean, at.call, (unsigned)at.number, run, complaints);
    }
    at.call = REFUSE_MEMORY;
    pass_lacking(&at, &place, complaints);
}

static void compare_ledgers(const struct run *run, const struct run *clean,
                            struct complaints *complaints)
{
    if (run->ledger.mapped != clean->ledger.mapped)
        complain(complaints, run, "leaves bytes of addresses behind:",
                 run->ledger.mapped - clean->ledger.mapped);
    if (run->ledger.blocks != clean->ledger.blocks)
        complain(complaints, run, "leaves blocks of the heap behind:",
                 run->ledger.blocks - clean->ledger.blocks);
    if (run->ledger.keys != clean->ledger.keys)
        complain(complaints, run, "leaves keys behind:", run->ledger.keys - clean->ledger.keys);
    if (run->ledger.files != clean->ledger.files)
        complain(complaints, run, "leaves files open:", run->ledger.files - clean->ledger.files);
    if (run->ledger.conditions != clean->ledger.conditions)
        complain(complaints, run, "leaves conditions or their attributes behind:",
                 run->ledger.conditions - clean->ledger.conditions);
}

static void try_call(struct run *run, const struct fault_row *row, unsigned number, bool lasting,
                     const struct run *clean, struct complaints *complaints)
{
    run->call = row->call;
    run->number = number;
    run->lasting = lasting;
    if (count_kind(clean, row->call, clean->calls) < number)
        return;
    if (!play_in_child(run, complaints))
        return;
    if (run->result != (lasting ? row->lasting : row->once))
        complain(complaints, run, "gives", run->result);
    if (run->refused == 0)
        complain(complaints, run, "is not reached any more:", 0);
    if (run->again != (run->lost ? row->lasting : run->tried->result))
        complain(complaints, run, "gives, when the system grants all again,", run->again);
    compare_ledgers(run, clean, complaints);
}

void fault_run(const struct fault_case *tried)
{
    struct complaints complaints = { 0, "" };
    struct run *run = mmap(NULL, sizeof *run, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct run clean;

    SKIP_IF(SUPPORT_THREAD_SANITIZED, "one thread, in hundreds of processes");
    SKIP_IF(sizeof(void *) < 8, "the rows tell steps of memory, which are shorter here");
    REQUIRE(run != MAP_FAILED);
    refuse_init();
    run->tried = tried;
    if (play_in_child(run, &complaints)) {
        clean = *run;
        if (clean.result != tried->result)
            complain(&complaints, &clean, "gives", clean.result);
        REQUIRE(clean.calls <= MOST_CALLS);
        compare_calls(&clean, run, &complaints);
        for (size_t i = 0; i < tried->row_count; i++) {
            const struct fault_row *row = &tried->rows[i];

            for (unsigned number = row->first; number <= row->last; number++) {
                try_call(run, row, number, false, &clean, &complaints);
                try_call(run, row, number, true, &clean, &complaints);
            }
        }
    }
    munmap(run, sizeof *run);
    if (complaints.length > 0)
        support_fail(__FILE__, __LINE__, complaints.text);
}
