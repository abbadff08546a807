/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arguments.c - the command line.
 *
 * Includes arguments.h and cell.h.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cell.h"

static void usage(FILE *out)
{
    fputs("usage: bench [OPTION]...\n"
          "  --quick                fewer lines, shorter\n"
          "  --scale                over the number of threads: how far does it scale?\n"
          "  --smoke                every workload once, tiny: does it all work?\n"
          "  --dry                  prints what would be measured, and how long that takes\n"
          "  --rival NAME,...       only these\n"
          "  --workload NAME[:PARAMETER[:fifo|random]],...  only these\n"
          "  --lines NAME,...       only the lines of the plan with these workloads\n"
          "  --threads N,...        only with these numbers of threads\n"
          "  --slot-size BYTES      for --workload (64)\n"
          "  --milliseconds N       to measure each cell for\n"
          "  --repetitions N        of each cell\n"
          "  --rest N               milliseconds between cells, for whatever else runs here\n"
          "  --seed N               of the pseudo-random numbers\n"
          "  --csv FILE, --json FILE  write the results there as well\n"
          "  --histograms FILE      write whole latency distributions there, as CSV\n"
          "  --record FOLDER        write the tables to FOLDER/<processor family>.md\n"
          "  --sources NAME         which sources that was built from, for --record\n"
          "  --list                 what can be measured\n"
          "experiments with libcpool\n"
          "  --config KEY=VALUE,... members of cpool_config_t for its pools, flags by number\n"
          "                         or as checked+tracked+...\n"
          "  --rounds N             the same as --config magazine_rounds=N\n"
          "  --variant NAME:KEY=VALUE,...  one more contestant, up to 8, measured between the\n"
          "                         others; KEY also rival=cpool-cache, program=FILE (bench of\n"
          "                         another build), preload=FILE (another libcpool.so),\n"
          "                         options=WORD (CPOOL_OPTIONS)\n",
          out);
}

static void list(void)
{
    const struct bench_workload *const *workload = cell_workloads();
    size_t count, i;
    struct contestant *contestants = cell_contestants(&count);

    printf("rivals\n");
    for (i = 0; i < count; i++)
        printf("  %-15s %s\n", contestants[i].name, contestants[i].summary);
    printf("workloads\n");
    for (; *workload != NULL; workload++)
        printf("  %-15s %s\n", (*workload)->name, (*workload)->summary);
    free(contestants);
}

void arguments_refuse(const char *what, const char *value)
{
    fprintf(stderr, "bench: %s %s\n", what, value);
    usage(stderr);
    exit(EXIT_FAILURE);
}

static uint64_t parse_number(const char *text, uint64_t largest)
{
    char *end;
    unsigned long long number = strtoull(text, &end, 10);

    if (end == text || *end != '\0' || number > largest)
        arguments_refuse("not a number in range:", text);
    return number;
}

bool arguments_next(const char **values, char *value, size_t size)
{
    size_t length = strcspn(*values, ",");

    if (**values == '\0')
        return false;
    snprintf(value, size, "%.*s", (int)length, *values);
    *values += length + ((*values)[length] == ',' ? 1 : 0);
    return true;
}

static void parse_threads(struct arguments *arguments, const char *text)
{
    char value[32];

    while (arguments->thread_count < VALUES_MAX && arguments_next(&text, value, sizeof value))
        arguments->threads[arguments->thread_count++] = (unsigned)parse_number(value, 4096);
}

static void configure_rounds(uint64_t rounds)
{
    static char config[48];

    snprintf(config, sizeof config, "magazine_rounds=%llu", (unsigned long long)rounds);
    cell_configure(config);
}

static void add_variant(const char *value)
{
    if (!cell_add_variant(value))
        arguments_refuse("not NAME:KEY=VALUE,... or too many:", value);
}

/* Parses an option that has a value. */
static void parse_value(struct arguments *arguments, const char *name, const char *value)
{
    if (value == NULL)
        arguments_refuse("a value is missing after", name);
    if (strcmp(name, "--rival") == 0)
        arguments->rivals = value;
    else if (strcmp(name, "--workload") == 0)
        arguments->workloads = value;
    else if (strcmp(name, "--lines") == 0)
        arguments->lines = value;
    else if (strcmp(name, "--threads") == 0)
        parse_threads(arguments, value);
    else if (strcmp(name, "--slot-size") == 0)
        arguments->slot_size = parse_number(value, 1u << 30);
    else if (strcmp(name, "--histograms") == 0)
        arguments->histograms = value;
    else if (strcmp(name, "--config") == 0)
        cell_configure(value);
    else if (strcmp(name, "--rounds") == 0)
        configure_rounds(parse_number(value, 65535));
    else if (strcmp(name, "--milliseconds") == 0) {
        arguments->milliseconds = (unsigned)parse_number(value, 100000);
        arguments->timed = true;
    } else if (strcmp(name, "--rest") == 0)
        arguments->rest = (unsigned)parse_number(value, 10000);
    else if (strcmp(name, "--repetitions") == 0)
        arguments->repetitions = (unsigned)parse_number(value, 256);
    else if (strcmp(name, "--seed") == 0)
        arguments->seed = parse_number(value, UINT64_MAX);
    else if (strcmp(name, "--csv") == 0)
        arguments->csv = value;
    else if (strcmp(name, "--json") == 0)
        arguments->json = value;
    else if (strcmp(name, "--record") == 0)
        arguments->record = value;
    else if (strcmp(name, "--sources") == 0)
        arguments->sources = value;
    else if (strcmp(name, "--variant") == 0)
        add_variant(value);
    else
        arguments_refuse("unknown option", name);
}

void arguments_parse(struct arguments *arguments, int count, char **words)
{
    int i;

    memset(arguments, 0, sizeof *arguments);
    arguments->slot_size = 64;
    arguments->seed = 1;
    arguments->sources = PACKAGE_STRING;
    for (i = 1; i < count; i++) {
        if (strcmp(words[i], "--quick") == 0) {
            arguments->size = PLAN_QUICK;
        } else if (strcmp(words[i], "--scale") == 0) {
            arguments->size = PLAN_SCALE;
        } else if (strcmp(words[i], "--smoke") == 0) {
            arguments->size = PLAN_SMOKE;
        } else if (strcmp(words[i], "--dry") == 0) {
            arguments->dry = true;
        } else if (strcmp(words[i], "--help") == 0) {
            usage(stdout);
            exit(EXIT_SUCCESS);
        } else if (strcmp(words[i], "--list") == 0) {
            list();
            exit(EXIT_SUCCESS);
        } else {
            parse_value(arguments, words[i], i + 1 < count ? words[i + 1] : NULL);
            i++;
        }
    }
}
