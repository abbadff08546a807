/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weak_main.c - explores the model that has weak_model as its main.
 *
 *   model [--seed N] [--executions N] [--replay SEED]
 *
 * Prints one line: how many executions were explored, how many were dropped, and
 * "holds" or "FAILS: " with the reason and the seed of that execution.  --replay runs
 * one execution from its seed and prints each step.  Exit status: 0, holds; 1, fails;
 * 2, nothing was explored, or the arguments are wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "weak.h"

int weak_model(void);

static uint64_t number(const char *text)
{
    char *end;
    uint64_t value;

    if (text == NULL || *text == '\0') {
        fprintf(stderr, "a number is missing\n");
        exit(2);
    }
    value = strtoull(text, &end, 0);
    if (*end != '\0') {
        fprintf(stderr, "not a number: %s\n", text);
        exit(2);
    }
    return value;
}

/* Returns the exit status. */
static int tell(const struct weak_result *result)
{
    printf("%8llu explored %8llu dropped  ", (unsigned long long)result->complete,
           (unsigned long long)result->dropped);
    if (result->failed) {
        printf("FAILS: %s (--replay %#llx)\n", result->why, (unsigned long long)result->seed);
        return 1;
    }
    if (result->complete == 0) {
        printf("NOT CHECKED\n");
        return 2;
    }
    printf("holds\n");
    return 0;
}

/* The model's destructors do not run: they are no part of an execution. */
int main(int argc, char **argv)
{
    struct weak_options options = {.seed = 1, .executions = 20000};
    struct weak_result result;
    int status;

    for (int i = 1; i < argc; i += 2) {
        if (strcmp(argv[i], "--seed") == 0) {
            options.seed = number(argv[i + 1]);
        } else if (strcmp(argv[i], "--executions") == 0) {
            options.executions = number(argv[i + 1]);
        } else if (strcmp(argv[i], "--replay") == 0) {
            options.only = number(argv[i + 1]);
            options.replay = true;
            options.trace = true;
        } else {
            fprintf(stderr, "unknown: %s\n", argv[i]);
            return 2;
        }
    }
    weak_explore(weak_model, &options, &result);
    status = tell(&result);
    fflush(stdout);
    _exit(status);
}
