/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * decide.c - the strategies, and what repeats a run that failed.
 */
#include "decide.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "explorer.h"
#include "random.h"

/* Decisions of a run that are remembered. */
#define EXPLORER_DECISIONS_MAX 4096

struct decision {
    unsigned char choice;  /* 0: the cheapest */
    unsigned char options;
    bool costly; /* every choice but 0 is */
};

enum strategy { RANDOM, EXHAUSTIVE, REPEAT };

static const char *program_name, *scenario_name;
static enum strategy strategy;
static uint64_t seed, generator;

static struct decision path[EXPLORER_DECISIONS_MAX];
static unsigned decided, planned; /* of path: in this run, given beforehand */
static unsigned bound;

void decide_startup(const char *program)
{
    program_name = program;
}

void decide_begin(void)
{
    decided = 0;
    generator = seed;
}

unsigned explorer_draw(unsigned n)
{
    return (unsigned)random_below(&generator, n);
}

/* --- Failures --- */

static void print_decisions(void)
{
    printf(" --decisions 0:%u", path[0].choice);
    for (unsigned i = 1; i < decided; i++)
        if (path[i].choice != 0)
            printf(",%u:%u", i, path[i].choice);
    printf("\n");
}

void explorer_fail(const char *what)
{
    printf("FAILED: %s: %s\nrepeat with: %s --scenario %s", scenario_name, what, program_name,
           scenario_name);
    if (strategy == RANDOM)
        printf(" --seed %llu\n", (unsigned long long)seed);
    else
        print_decisions();
    fflush(stdout);
    _exit(1);
}

/* --- Decisions --- */

static unsigned decide_by_plan(unsigned options, bool costly)
{
    struct decision *decision;

    if (decided == EXPLORER_DECISIONS_MAX)
        explorer_fail("more decisions than can be remembered");
    decision = &path[decided++];
    if (decided > planned)
        decision->choice = 0;
    decision->options = (unsigned char)options;
    decision->costly = costly;
    return decision->choice < options ? decision->choice : 0;
}

unsigned decide(unsigned options, bool costly, unsigned odds)
{
    if (strategy != RANDOM)
        return decide_by_plan(options, costly);
    if (costly && explorer_draw(odds) != 0)
        return 0;
    return costly ? 1 + explorer_draw(options - 1) : explorer_draw(options);
}

/* Changes the last decision that can be changed within the bound, and forgets
 * what came after it. */
static bool next_path(void)
{
    unsigned cost = 0;

    for (unsigned i = 0; i < decided; i++)
        cost += path[i].costly && path[i].choice != 0;
    while (decided > 0) {
        struct decision *last = &path[--decided];

        if (last->costly && last->choice != 0)
            cost--;
        if (last->choice + 1u < last->options && cost + last->costly <= bound) {
            last->choice++;
            planned = decided + 1;
            return true;
        }
    }
    return false;
}

bool explorer_next(void)
{
    if (strategy == EXHAUSTIVE)
        return next_path();
    seed++;
    return strategy == RANDOM;
}

/* --- Choosing --- */

static void choose(const char *scenario, enum strategy chosen)
{
    scenario_name = scenario;
    strategy = chosen;
    seed = 0;
    planned = 0;
}

void explorer_random(const char *scenario, uint64_t first_seed)
{
    choose(scenario, RANDOM);
    seed = first_seed;
}

void explorer_exhaustive(const char *scenario, unsigned preemptions)
{
    choose(scenario, EXHAUSTIVE);
    bound = preemptions;
}

void explorer_repeat(const char *scenario, const char *decisions)
{
    choose(scenario, REPEAT);
    memset(path, 0, sizeof path);
    while (*decisions != '\0') {
        char *end;
        unsigned long at = strtoul(decisions, &end, 10);

        if (*end != ':' || at >= EXPLORER_DECISIONS_MAX) {
            fprintf(stderr, "%s: not a list of decisions\n", program_name);
            exit(2);
        }
        path[at].choice = (unsigned char)strtoul(end + 1, &end, 10);
        planned = (unsigned)at + 1;
        decisions = *end == ',' ? end + 1 : end;
    }
}
