/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_schedules.c - explores schedules of the library's lock-free code.
 *
 *   check_schedules [--random N] [--seed S] [--preemptions P] [--scenario NAME]
 *                   [--decisions LIST] [--trace]
 *
 * Each scenario is run exhaustively up to its bound, or P, then N times in all,
 * over all scenarios, at random, from seed S on.  N is RANDOM_RUNS or SCHED_RANDOM of the
 * environment by default.  With CPOOL_TEST_QUICK in the environment a scenario has no more
 * than QUICK_RUNS of the first and an eighth as many of the second.  A failure prints the
 * arguments that repeat it: a scenario with a seed or with a list of decisions is run once.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cpool.h>

#include "scenario.h"

#define RANDOM_RUNS 20000
#define QUICK_RUNS 800

static const struct scenario scenarios[] = {
    {"stack", &stack_kind, .bound = 3, .capacity = 3, .programs = {"ou", "oouu"}},
    {"stack-three", &stack_kind, .bound = 2, .capacity = 3, .programs = {"ou", "oouu", "ouou"}},
    {"exchange", &pool_kind, .bound = 2, .capacity = 6, .rounds = 1, .programs = {"aaf", "aaf"}},
    {"handoff", &pool_kind, .bound = 2, .capacity = 8, .rounds = 2,
     .programs = {"aapapap", "gfgfgf"}},
    {"recall", &pool_kind, .bound = 1, .capacity = 6, .rounds = 1,
     .programs = {"aaaaffffs", "aaaaaa"}},
    {"dry", &pool_kind, .bound = 2, .capacity = 4, .rounds = 2, .programs = {"aaf", "aaa"}},
    {"dry-three", &pool_kind, .bound = 1, .capacity = 2, .rounds = 2,
     .programs = {"afaf", "aa", "aa"}},
    {"reopen", &pool_kind, .bound = 1, .capacity = 2, .rounds = 2,
     .programs = {"alfaf", "aaf"}},
    {"unload", &pool_kind, .bound = 2, .capacity = 2, .rounds = 2, .programs = {"afya", "aa"}},
    {"asleep", &pool_kind, .bound = 1, .capacity = 5, .rounds = 2,
     .programs = {"aaffs", "aaaaaa"}},
    {"uncached", &pool_kind, .bound = 2, .capacity = 6, .rounds = 2, .thread_caches = 1,
     .programs = {"AAF", "AFA"}},
    {"mixed", &pool_kind, .bound = 1, .capacity = 9, .rounds = 2, .thread_caches = 2,
     .programs = {"aaff", "AAFF", "aafa"}},
    {"bulk", &pool_kind, .bound = 1, .capacity = 9, .rounds = 2, .programs = {"bB", "bBb"}},
    {"exit", &pool_kind, .bound = 2, .capacity = 8, .rounds = 3, .programs = {"aaf", "al"}},
    {"spares", &pool_kind, .bound = 1, .capacity = 8, .rounds = 1, .cache_slots = 4,
     .programs = {"aaaaaffaaffffaaf", "aaaaaa"}},
    {"typed", &pool_kind, .bound = 1, .capacity = 6, .rounds = 2, .programs = {"aTfUT", "TaUf"}},
    {"typed-dry", &pool_kind, .bound = 1, .capacity = 4, .rounds = 2,
     .programs = {"aaffT", "TTTT"}},
    {"typed-fork", &pool_kind, .bound = 1, .capacity = 8, .rounds = 1,
     .programs = {"aaffTT", "Tak"}},
    {"wait", &pool_kind, .bound = 1, .capacity = 3, .rounds = 1,
     .programs = {"aaayf", "w"}},
    {"wait-open", &pool_kind, .bound = 1, .capacity = 1, .rounds = 1, .programs = {"alf", "w"}},
    {"wait-depot", &pool_kind, .bound = 1, .capacity = 3, .rounds = 2,
     .programs = {"aaayF", "w"}},
    {"wait-cache", &pool_kind, .bound = 1, .capacity = 3, .rounds = 2,
     .programs = {"aaayCyX", "w"}},
    {"wait-cache-flush", &pool_kind, .bound = 1, .capacity = 3, .rounds = 2,
     .programs = {"aaayCyL", "w"}},
    {"wait-flush", &pool_kind, .bound = 1, .capacity = 3, .rounds = 2,
     .programs = {"aaayfyl", "w"}},
    {"wait-alloc", &pool_kind, .bound = 1, .capacity = 4, .rounds = 2,
     .programs = {"aaaayffya", "w"}},
    {"wait-trim", &pool_kind, .bound = 1, .capacity = 4, .rounds = 2,
     .programs = {"aaaayfyt", "w"}},
    {"wait-grow", &pool_kind, .bound = 1, .capacity = 3, .rounds = 1,
     .later = 1, .programs = {"aayG", "w"}},
    {"wait-shrink", &pool_kind, .bound = 1, .capacity = 4, .rounds = 2,
     .programs = {"aaaayH", "w"}},
    {"wait-two", &pool_kind, .bound = 1, .capacity = 3, .rounds = 1,
     .programs = {"aaazB", "w", "w"}},
    {"wait-hasty", &pool_kind, .bound = 1, .capacity = 2, .rounds = 1,
     .programs = {"aazB", "W", "w"}},
    {"fair", &pool_kind, .bound = 1, .capacity = 1, .rounds = 1,
     .fair = true, .programs = {"azf", "w", "zNf"}},
    {"fair-awake", &pool_kind, .bound = 1, .capacity = 3, .rounds = 1,
     .fair = true, .later = 1, .programs = {"aayfGf", "w", "w"}},
    {"fair-depot", &pool_kind, .bound = 1, .capacity = 1, .rounds = 1,
     .fair = true, .programs = {"azF", "w", "zNf"}},
    {"fair-bulk", &pool_kind, .bound = 1, .capacity = 1, .rounds = 1,
     .fair = true, .programs = {"azB", "w", "zNf"}},
    {"fair-cache", &pool_kind, .bound = 1, .capacity = 1, .rounds = 1,
     .fair = true, .programs = {"azC", "w", "zNf"}},
    {"typed-wait", &pool_kind, .bound = 1, .capacity = 2, .rounds = 2,
     .programs = {"TTyU", "w"}},
    {"typed-wait-alloc", &pool_kind, .bound = 1, .capacity = 3, .rounds = 2,
     .programs = {"TTTyUUT", "w"}},
    {"typed-fair", &pool_kind, .bound = 1, .capacity = 1, .rounds = 1,
     .fair = true, .programs = {"TzU", "w", "zNf"}},
    {"fork-roomy", &pool_kind, .bound = 1, .capacity = 16, .rounds = 1,
     .programs = {"aaaafffaaa", "aak"}},
    {"fork", &pool_kind, .bound = 1, .capacity = 8, .rounds = 1, .programs = {"aaaafff", "aaaaak"}},
    {"track-double", &tracked_kind, .bound = 1, .capacity = 4, .rounds = 2, .flags = CPOOL_TRACKED,
     .programs = {"2", "2"}},
    {"track-visit", &tracked_kind, .bound = 1, .capacity = 4, .rounds = 1, .flags = CPOOL_TRACKED,
     .programs = {"aafaf", "v"}},
    {"track-dry", &tracked_kind, .bound = 1, .capacity = 4, .rounds = 2, .flags = CPOOL_TRACKED,
     .programs = {"aaf", "aaa"}},
    {"track-resolve", &tracked_kind, .bound = 2, .capacity = 3, .rounds = 2,
     .flags = CPOOL_TRACKED, .programs = {"2af", "rr"}},
    {"retire", &retire_kind, .bound = 1, .capacity = 3, .rounds = 1,
     .programs = {"bleble", "rrrr"}},
    {"retire-dry", &retire_kind, .bound = 1, .capacity = 3, .rounds = 1,
     .programs = {"rrr", "blerr"}},
    {"retire-end", &retire_kind, .bound = 1, .capacity = 6, .rounds = 1, .flags = CPOOL_TRACKED,
     .programs = {"blqr", "rrl", "berw"}},
};

#define SCENARIOS (sizeof scenarios / sizeof scenarios[0])

static const struct scenario *running;

static void body(unsigned thread)
{
    const char *operation;

    for (operation = running->programs[thread]; *operation != '\0'; operation++)
        running->kind->step(thread, *operation);
    running->kind->end(thread);
}

static void run_once(const struct scenario *scenario)
{
    unsigned threads = 0;

    running = scenario;
    while (threads < EXPLORER_THREADS_MAX && scenario->programs[threads] != NULL)
        threads++;
    scenario->kind->open(scenario);
    explorer_run(threads, body);
    scenario->kind->close();
}

/* So that every run finds the same: the objects that the library makes once for
 * ever, for as many threads. */
static void warm_up(void)
{
    for (size_t i = 0; i < SCENARIOS; i++) {
        explorer_exhaustive(scenarios[i].name, 0);
        run_once(&scenarios[i]);
    }
}

/* Returns how many schedules there were, or `most`. */
static unsigned long explore(const struct scenario *scenario, unsigned long most)
{
    unsigned long runs = 0;

    do {
        run_once(scenario);
        runs++;
    } while (explorer_next() && runs < most);
    return runs;
}

/* Returns how many schedules it went through. */
static unsigned long check(const struct scenario *scenario, unsigned bound,
                           unsigned long random_runs, uint64_t seed)
{
    unsigned long most = getenv("CPOOL_TEST_QUICK") != NULL ? QUICK_RUNS : ULONG_MAX;
    unsigned long runs;
    unsigned long i;

    printf("%-16s", scenario->name);
    fflush(stdout);
    explorer_exhaustive(scenario->name, bound);
    runs = explore(scenario, most);
    printf("%8lu%s schedules with up to %u preemptions,", runs, runs == most ? " of the" : "",
           bound);
    fflush(stdout);
    explorer_random(scenario->name, seed);
    random_runs = random_runs < most / 8 ? random_runs : most / 8;
    for (i = 0; i < random_runs; i++) {
        run_once(scenario);
        explorer_next();
    }
    printf("%8lu at random\n", random_runs);
    fflush(stdout);
    return runs + random_runs;
}

static const struct scenario *find(const char *name)
{
    for (size_t i = 0; i < SCENARIOS; i++)
        if (strcmp(scenarios[i].name, name) == 0)
            return &scenarios[i];
    fprintf(stderr, "no scenario is named %s\n", name);
    exit(2);
}

static void usage(void)
{
    fprintf(stderr, "usage: check_schedules [--random N] [--seed S] [--preemptions P]\n"
                    "                       [--scenario NAME] [--decisions LIST] [--trace]\n");
    exit(2);
}

struct arguments {
    unsigned long random_runs;
    const char *scenario, *seed, *decisions, *preemptions;
    bool trace;
};

static void parse(struct arguments *arguments, char **words)
{
    for (; *words != NULL; words++) {
        if (strcmp(*words, "--trace") == 0)
            arguments->trace = true;
        else if (words[1] == NULL)
            usage();
        else if (strcmp(*words, "--random") == 0)
            arguments->random_runs = strtoul(*++words, NULL, 10);
        else if (strcmp(*words, "--seed") == 0)
            arguments->seed = *++words;
        else if (strcmp(*words, "--scenario") == 0)
            arguments->scenario = *++words;
        else if (strcmp(*words, "--preemptions") == 0)
            arguments->preemptions = *++words;
        else if (strcmp(*words, "--decisions") == 0)
            arguments->decisions = *++words;
        else
            usage();
    }
}

/* All scenarios, or the one that was named. */
static void check_all(const struct arguments *arguments, uint64_t seed)
{
    const struct scenario *only = arguments->scenario == NULL ? NULL : find(arguments->scenario);
    unsigned long share = arguments->random_runs / SCENARIOS;
    unsigned long rest = arguments->random_runs % SCENARIOS;
    unsigned long runs = 0;
    time_t start = time(NULL);

    for (size_t i = 0; i < SCENARIOS; i++) {
        unsigned bound = arguments->preemptions == NULL
                             ? scenarios[i].bound
                             : (unsigned)strtoul(arguments->preemptions, NULL, 10);

        if (only == NULL || only == &scenarios[i])
            runs += check(&scenarios[i], bound, share + (i < rest), seed);
    }
    printf("%lu schedules in %ld s\n", runs, (long)(time(NULL) - start));
}

int main(int count, char **words)
{
    struct arguments arguments = {RANDOM_RUNS, NULL, NULL, NULL, NULL, false};
    const char *random_runs = getenv("SCHED_RANDOM");
    uint64_t seed;

    (void)count;
    if (random_runs != NULL)
        arguments.random_runs = strtoul(random_runs, NULL, 10);
    parse(&arguments, words + 1);
    seed = arguments.seed == NULL ? 1 : strtoull(arguments.seed, NULL, 10);
    explorer_startup(words[0]);
    warm_up();
    if (arguments.trace)
        explorer_trace();
    if (arguments.decisions != NULL && arguments.scenario != NULL) {
        explorer_repeat(arguments.scenario, arguments.decisions);
        run_once(find(arguments.scenario));
    } else if (arguments.seed != NULL && arguments.scenario != NULL) {
        explorer_random(arguments.scenario, seed);
        run_once(find(arguments.scenario));
    } else {
        check_all(&arguments, seed);
    }
    return 0;
}
