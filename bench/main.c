/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * main.c - the benchmark: libcpool against other pools and allocators.
 *
 * Includes cell.h, plan.h, report.h, results.h.  Measures every line of the
 * plan (plan.c shows the matrix) for every contestant, each time in a process
 * of its own, and interleaved: repetition by repetition, and within a
 * repetition contestant by contestant, starting with another one each time.  So
 * whatever happens to the machine in those minutes happens to all of them.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cell.h"
#include "machine.h"
#include "plan.h"
#include "report.h"
#include "results.h"

/* Most values that --workload and --threads can be given. */
#define VALUES_MAX 32

struct options {
    enum plan_size size;
    const char *rivals;    /* names with commas, or NULL: all */
    const char *workloads; /* the same */
    unsigned threads[VALUES_MAX];
    size_t thread_count;
    size_t slot_size, magazine_rounds;
    unsigned milliseconds, repetitions;
    unsigned rest;
    bool timed; /* milliseconds was given */
    const char *csv, *json;
    uint64_t seed;
};

static void usage(FILE *out)
{
    fputs("usage: bench [OPTION]...\n"
          "  --quick                fewer lines, shorter\n"
          "  --smoke                every workload once, tiny: does it all work?\n"
          "  --rival NAME,...       only these\n"
          "  --workload NAME[:PARAMETER[:fifo|random]],...  only these\n"
          "  --threads N,...        only with these numbers of threads\n"
          "  --slot-size BYTES      for --workload (64)\n"
          "  --rounds N             magazine_rounds of cpool (0: its own choice)\n"
          "  --milliseconds N       to measure each cell for\n"
          "  --repetitions N        of each cell\n"
          "  --rest N               milliseconds between cells, for whatever else runs here\n"
          "  --seed N               of the pseudo-random numbers\n"
          "  --csv FILE, --json FILE  write the results there as well\n"
          "  --list                 what can be measured\n",
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

/* ---- Arguments -------------------------------------------------------------------- */

static void refuse(const char *what, const char *value)
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
        refuse("not a number in range:", text);
    return number;
}

/* Copies the next of the values between commas; false at the end. */
static bool next_value(const char **list_text, char *value, size_t size)
{
    size_t length = strcspn(*list_text, ",");

    if (**list_text == '\0')
        return false;
    snprintf(value, size, "%.*s", (int)length, *list_text);
    *list_text += length + ((*list_text)[length] == ',' ? 1 : 0);
    return true;
}

static void parse_threads(struct options *options, const char *text)
{
    char value[32];

    while (options->thread_count < VALUES_MAX && next_value(&text, value, sizeof value))
        options->threads[options->thread_count++] = (unsigned)parse_number(value, 4096);
}

/* Takes in an option that has a value. */
static void parse_value(struct options *options, const char *name, const char *value)
{
    if (value == NULL)
        refuse("a value is missing after", name);
    if (strcmp(name, "--rival") == 0)
        options->rivals = value;
    else if (strcmp(name, "--workload") == 0)
        options->workloads = value;
    else if (strcmp(name, "--threads") == 0)
        parse_threads(options, value);
    else if (strcmp(name, "--slot-size") == 0)
        options->slot_size = parse_number(value, 1u << 30);
    else if (strcmp(name, "--rounds") == 0)
        options->magazine_rounds = parse_number(value, 65535);
    else if (strcmp(name, "--milliseconds") == 0) {
        options->milliseconds = (unsigned)parse_number(value, 100000);
        options->timed = true;
    } else if (strcmp(name, "--rest") == 0)
        options->rest = (unsigned)parse_number(value, 10000);
    else if (strcmp(name, "--repetitions") == 0)
        options->repetitions = (unsigned)parse_number(value, 256);
    else if (strcmp(name, "--seed") == 0)
        options->seed = parse_number(value, UINT64_MAX);
    else if (strcmp(name, "--csv") == 0)
        options->csv = value;
    else if (strcmp(name, "--json") == 0)
        options->json = value;
    else
        refuse("unknown option", name);
}

static void parse(struct options *options, int count, char **arguments)
{
    int i;

    memset(options, 0, sizeof *options);
    options->slot_size = 64;
    options->seed = 1;
    for (i = 1; i < count; i++) {
        if (strcmp(arguments[i], "--quick") == 0) {
            options->size = PLAN_QUICK;
        } else if (strcmp(arguments[i], "--smoke") == 0) {
            options->size = PLAN_SMOKE;
        } else if (strcmp(arguments[i], "--help") == 0) {
            usage(stdout);
            exit(EXIT_SUCCESS);
        } else if (strcmp(arguments[i], "--list") == 0) {
            list();
            exit(EXIT_SUCCESS);
        } else {
            parse_value(options, arguments[i], i + 1 < count ? arguments[i + 1] : NULL);
            i++;
        }
    }
}

/* ---- What to run -------------------------------------------------------------------- */

static void make_plan(struct plan *plan, const struct options *options)
{
    static const unsigned one = 1;
    const unsigned *threads = options->thread_count == 0 ? &one : options->threads;
    size_t count = options->thread_count == 0 ? 1 : options->thread_count, i;
    const char *workloads = options->workloads;
    char name[64];

    plan_init(plan, options->size);
    if (options->timed)
        plan->milliseconds = options->milliseconds;
    if (options->repetitions != 0)
        plan->repetitions = options->repetitions;
    plan->magazine_rounds = options->magazine_rounds;
    if (workloads == NULL) {
        plan_fill(plan, options->size);
        if (options->thread_count != 0)
            plan_keep_threads(plan, options->threads, options->thread_count);
        return;
    }
    while (next_value(&workloads, name, sizeof name))
        for (i = 0; i < count; i++)
            if (!plan_add(plan, name, options->slot_size, threads[i]))
                refuse("no such workload:", name);
}

static void choose(struct results *results, const char *names)
{
    char name[64];
    size_t i;

    for (i = 0; names == NULL && i < results->contestant_count; i++)
        results->contestants[i].chosen = true;
    while (names != NULL && next_value(&names, name, sizeof name)) {
        i = results_find(results, name);
        if (i == results->contestant_count)
            refuse("no such rival:", name);
        results->contestants[i].chosen = true;
    }
    for (i = 0; i < results->contestant_count; i++)
        if (results->contestants[i].chosen)
            cell_probe(&results->contestants[i]);
}

/* ---- Running it ---------------------------------------------------------------------- */

static void show_progress(const struct results *results, size_t line, unsigned repetition,
                          uint64_t started)
{
    const struct plan *plan = results->plan;
    double done = (double)line + (double)repetition / plan->repetitions;
    double elapsed = (double)(bench_now() - started) / 1e9;
    bool terminal = isatty(STDERR_FILENO) != 0;

    if (!terminal && repetition != 0)
        return;
    fprintf(stderr, "%s[%zu/%zu] %s, %u thread%s", terminal ? "\r\033[K" : "", line + 1,
            plan->count, plan->lines[line].label, plan->lines[line].cell.threads,
            plan->lines[line].cell.threads == 1 ? "" : "s");
    if (done > 0.5)
        fprintf(stderr, ", %.0f s, about %.0f s to go", elapsed,
                elapsed / done * ((double)plan->count - done));
    fprintf(stderr, terminal ? "" : "\n");
    fflush(stderr);
}

/*
 * A cell that was disturbed is measured once more, and the lesser disturbance
 * counts; but no more often than one cell in five, for on a machine that has
 * other things to do it would be every one.
 */
static void run_once_more(const struct contestant *who, const char *workload,
                          const struct bench_cell *cell, struct cell_answer *answer)
{
    static size_t cells, repeated;
    struct cell_answer again;

    cells++;
    if (answer->status != CELL_DONE || !results_was_disturbed(answer) || repeated * 5 > cells)
        return;
    repeated++;
    cell_run(who, workload, cell, &again);
    if (again.status != CELL_DONE ||
        cell_metric(&again, "waited") < cell_metric(answer, "waited"))
        *answer = again;
}

static void run_cell(const struct results *results, size_t line, size_t contestant,
                     unsigned repetition, const struct options *options)
{
    const char *workload = results->plan->lines[line].workload->name;
    struct cell_answer *answer = results_answer(results, line, contestant, repetition);
    const struct contestant *who = &results->contestants[contestant];
    struct bench_cell cell = results->plan->lines[line].cell;

    if (!who->chosen || who->absent[0] != '\0') {
        answer->status = CELL_ABSENT;
        snprintf(answer->text, CELL_TEXT, "%s", who->absent);
        return;
    }
    /* What cannot be done, or failed, is not tried again. */
    if (repetition != 0 && results_answer(results, line, contestant, 0)->status != CELL_DONE) {
        *answer = *results_answer(results, line, contestant, 0);
        return;
    }
    cell.seed = options->seed + repetition;
    cell_run(who, workload, &cell, answer);
    if (cell.milliseconds != 0)
        run_once_more(who, workload, &cell, answer);
    usleep(options->rest * 1000);
}

static void run(const struct results *results, const struct options *options)
{
    uint64_t started = bench_now();
    unsigned repetition;
    size_t line, i;

    for (line = 0; line < results->plan->count; line++) {
        for (repetition = 0; repetition < results->plan->repetitions; repetition++) {
            show_progress(results, line, repetition, started);
            for (i = 0; i < results->contestant_count; i++)
                run_cell(results, line, (i + repetition) % results->contestant_count, repetition,
                         options);
        }
    }
    fprintf(stderr, isatty(STDERR_FILENO) != 0 ? "\r\033[K" : "");
}

static void write_file(const struct results *results, const char *path,
                       void (*report)(const struct results *, FILE *))
{
    FILE *file;

    if (path == NULL)
        return;
    file = fopen(path, "w");
    if (file == NULL) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    report(results, file);
    if (fclose(file) != 0) {
        perror(path);
        exit(EXIT_FAILURE);
    }
}

/* A failed cell fails the run: a benchmark of something broken is none. */
static int count_failures(const struct results *results)
{
    size_t line, i;
    int failures = 0;

    for (line = 0; line < results->plan->count; line++)
        for (i = 0; i < results->contestant_count; i++)
            failures += results_summary(results, line, i, "ns").status == CELL_FAILED ? 1 : 0;
    return failures;
}

int main(int count, char **arguments)
{
    struct results results;
    struct options options;
    struct plan plan;
    int failures;

    if (count > 1 &&
        (strcmp(arguments[1], "--cell") == 0 || strcmp(arguments[1], "--probe") == 0))
        cell_main(count, arguments);
    parse(&options, count, arguments);
    make_plan(&plan, &options);
    results_init(&results, &plan);
    choose(&results, options.rivals);
    report_head(&results, stdout);
    fflush(stdout);
    run(&results, &options);
    report_tables(&results, stdout);
    report_targets(&results, stdout);
    write_file(&results, options.csv, report_csv);
    write_file(&results, options.json, report_json);
    failures = count_failures(&results);
    if (failures != 0)
        fprintf(stderr, "bench: %d cells failed\n", failures);
    results_fini(&results);
    plan_fini(&plan);
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
