// SPDX-License-Identifier: BSD-2-Clause
// main.cpp - the protocol holds in one memory model, and each planted bug is found there.
//
//   model brief              what `make check` has time for
//   model long
//   model SCENARIO [NUMBER]  one scenario in full, with the planted bug of that number, or
//                            `symmetric' or `skipping'; an error with its steps
//
// Exit status 0: all as expected.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include "search.h"
#include "state.h"

// How far a scenario is explored: not at all, in full, up to so many preemptions, or, from ten
// on, so many executions at random.
enum { NO = 0, FULLY = -1, STATES_MAX = 20000000, LARGEST_BOUND = 9 };

struct Run {
    const char *scenario;
    int protocol[2]; // in SC, and with views
    int forms[2];    // of the symmetric form, and of closers that pass by owners
    int longer[2];   // of the protocol in `long', where it is more
};
static const Run runs[] = {
    {"push-pop", {FULLY, FULLY}, {FULLY, FULLY}, {}},
    {"pop-against-free", {FULLY, FULLY}, {FULLY, FULLY}, {}},
    {"small-magazines", {FULLY, FULLY}, {FULLY, FULLY}, {}},
    {"two-dry-owners", {FULLY, 1}, {FULLY, 1}, {FULLY, FULLY}},
    {"waiter-push", {FULLY, FULLY}, {FULLY, FULLY}, {}},
    {"waiter", {FULLY, FULLY}, {FULLY, FULLY}, {}},
    {"waiter-opening", {FULLY, FULLY}, {FULLY, FULLY}, {}},
    {"waiter-twice", {FULLY, FULLY}, {FULLY, 1}, {FULLY, FULLY}},
    {"opening", {FULLY, FULLY}, {FULLY, 1}, {FULLY, FULLY}},
    {"opening-again", {FULLY, FULLY}, {FULLY, 1}, {FULLY, FULLY}},
    {"new-cache-exit", {FULLY, FULLY}, {FULLY, FULLY}, {}},
    {"new-cache-waiter", {FULLY, FULLY}, {FULLY, FULLY}, {}},
    {"new-cache-dry", {FULLY, FULLY}, {FULLY, FULLY}, {}},
    {"new-cache-dry-owner", {FULLY, 2}, {FULLY, 1}, {FULLY, FULLY}},

    {"two-owners", {FULLY, FULLY}, {FULLY, FULLY}, {}},
    {"two-reclaims", {2, 20000}, {1, 5000}, {FULLY, 100000}},
    {"two-reclaims-free", {2, 20000}, {1, 5000}, {3, 100000}},
    {"waiter-dry", {2, 20000}, {1, 5000}, {FULLY, 100000}},
    {"waiter-taker", {FULLY, 20000}, {2, 5000}, {FULLY, 1}},
    {"waiter-closed-alloc", {FULLY, FULLY}, {FULLY, FULLY}, {}},
    {"waiter-two-owners", {2, 1}, {1, 5000}, {FULLY, 1}},
    {"two-waiters", {2, 20000}, {1, 5000}, {FULLY, 100000}},
    {"exit-reclaim", {2, 20000}, {1, 5000}, {FULLY, 1}},
    {"exit-waiter", {FULLY, 1}, {1, 5000}, {FULLY, 1}},
};

// What is expected of a planted bug: the property whose violation finds it, or that the scenario
// holds, because the bug is none in this memory, or not in this scenario.
static const char holds[] = "holds";

struct Planted {
    const char *number, *what;
    unsigned bugs;
    const char *scenario;
    const char *expected[2];
};
static const Planted planted[] = {
    {"1", "no barrier", NO_BARRIER, "waiter", {holds, "P4"}},
    {"2", "no tag: the protocol itself", PROTOCOL, "waiter-opening", {holds, holds}},
    {"2'", "no look at closed before opening", NO_LOOK, "waiter-opening", {"P1", "P1"}},
    {"3", "count read before loaded", COUNT_FIRST, "waiter-opening", {holds, holds}},
    {"3'", "the same, with a tag, and without the look", COUNT_FIRST | TAGGED | NO_LOOK,
        "waiter-opening", {"P1", "P1"}},
    {"3''", "count read before the barrier", EARLY_COUNT, "waiter", {holds, "P4"}},
    {"4", "no check of closed after opening", NO_CHECK, "new-cache-waiter", {"P4", "P4"}},
    {"5", "a waiter announces after its look", LATE_ANNOUNCE, "waiter-push", {"P4", "P4"}},
    {"6", "BUSY not set", NO_BUSY, "waiter-opening", {"P1", "P1"}},
    {"7", "a waiter that passed by an owner sleeps", SKIPPING | SKIPPED_SLEEP, "waiter-push",
        {"P4", "P4"}},
    {"8", "an alloc that puts rounds back does not ask", QUIET_ALLOC, "waiter-closed-alloc",
        {"P4", "P4"}},
    {"9", "BUSY while reclaiming", BUSY_DRY, "new-cache-dry-owner",
        {"deadlock", "deadlock"}},
    {"10", "closing is a relaxed store, and the check a load", BLIND_CLOSE | CHECK_LOADS,
        "opening-again", {nullptr, "P1"}},
    {"11", "the check is a load: a new cache is not seen", CHECK_LOADS, "new-cache-waiter",
        {holds, "P4"}},
    {"11", "the same beside a dry alloc", CHECK_LOADS, "new-cache-dry", {holds, "P3"}},
    {"12", "what is in flight is not awaited", NO_SETTLE, "two-reclaims", {"P3", "P3"}},
    {"12", "moves are not compared", NO_COMPARE, "two-reclaims", {"P3", "P3"}},
    {"13", "moves even before count", MOVES_FIRST, "opening-again", {"P7", nullptr}},
    {"14", "the pop's last store is relaxed", POP_RELAXED, "pop-against-free",
        {holds, "P1"}},
    {"15", "limit is stored again while open", LIMIT_AGAIN, "small-magazines", {"P1", "P1"}},
    {"16", "the barrier comes before closing", BARRIER_FIRST, "waiter-opening",
        {holds, "P1"}},
    {"17", "asks is loaded relaxed, and late", LATE_RELAXED_ASK, "new-cache-waiter",
        {holds, "P4"}},
};

// Which column of the tables is this program's.
static int column()
{
    return strcmp(Memory::name(), "SC") == 0 ? 0 : 1;
}

static Outcome explore(const char *name, unsigned of, int how, bool forks, bool trace)
{
    Effort effort = {-1, 0, forks, STATES_MAX};

    scenario = scenario_of(name);
    variant = of;
    if (scenario == nullptr) {
        printf("no scenario is named %s\n", name);
        exit(2);
    }
    if (how > LARGEST_BOUND)
        effort.walks = how;
    else if (how != FULLY)
        effort.preemptions = how;
    return search(effort, trace);
}

// run_one - whether a scenario holds as far as it is explored.
static bool run_one(const char *name, unsigned of, int how)
{
    const char *form = of == SYMMETRIC ? " symmetric" : of == SKIPPING ? " skipping" : "";
    Outcome outcome = explore(name, of, how, Memory::can_fork(), true);

    printf("%-5s %s%s: %llu %s", Memory::name(), name, form, (unsigned long long)outcome.states,
        how > LARGEST_BOUND ? "executions at random" : "states");
    if (how > 0 && how <= LARGEST_BOUND)
        printf(" with up to %d preemptions", how);
    if (outcome.failed)
        printf(", FAILS: %s", outcome.error.c_str());
    else if (!outcome.complete)
        printf(", GIVEN UP");
    printf("\n");
    return !outcome.failed && outcome.complete;
}

static bool run_protocol(bool brief)
{
    static const unsigned forms[] = {PROTOCOL, SYMMETRIC, SKIPPING};
    bool good = true;

    for (const Run &run : runs)
        for (unsigned form : forms) {
            int how = form == PROTOCOL ? run.protocol[column()] : run.forms[column()];
            if (!brief && form == PROTOCOL && run.longer[column()] != NO)
                how = run.longer[column()];
            good = run_one(run.scenario, form, how) && good;
        }
    return good;
}

// run_planted - whether a planted bug is found, or the scenario holds where that is expected.
static bool run_planted(const Planted &bug)
{
    const char *expected = bug.expected[column()];

    if (expected == nullptr)
        return true;
    Outcome outcome = explore(bug.scenario, bug.bugs, FULLY, bug.bugs == MOVES_FIRST, false);
    const char *found = outcome.complete ? holds : "given up";
    if (outcome.failed)
        found = outcome.error.c_str();
    bool good = strncmp(found, expected, strlen(expected)) == 0;

    printf("%-5s bug %-3s %s: %llu states in %s: %s%s\n", Memory::name(), bug.number, bug.what,
        (unsigned long long)outcome.states, bug.scenario, found, good ? "" : ", NOT AS EXPECTED");
    return good;
}

static bool run_all(bool brief)
{
    bool good = run_protocol(brief);

    for (const Planted &bug : planted)
        good = run_planted(bug) && good;
    return good;
}

static bool run_named(const char *name, const char *form)
{
    unsigned of = PROTOCOL;

    if (strcmp(form, "symmetric") == 0)
        of = SYMMETRIC;
    else if (strcmp(form, "skipping") == 0)
        of = SKIPPING;
    for (const Planted &bug : planted)
        of = strcmp(form, bug.number) == 0 ? bug.bugs : of;
    return run_one(name, of, FULLY);
}

int main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "brief";
    bool brief = strcmp(what, "brief") == 0;

    setvbuf(stdout, nullptr, _IOLBF, 0);
    if (brief || strcmp(what, "long") == 0)
        return !run_all(brief);
    return !run_named(what, count > 2 ? arguments[2] : "");
}
