/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * main.c - the benchmark: libcpool against other pools and allocators.
 *
 * Includes arguments.h, cell.h, family.h, plan.h, report.h.  Measures every line of the plan
 * (plan.c shows the matrix) for every contestant, each time in its own process, and interleaved:
 * repetition by repetition, and within a repetition contestant by contestant, each time starting
 * with another one.  So whatever happens to the machine in those minutes affects all of them.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "cell.h"
#include "family.h"
#include "plan.h"
#include "report.h"

/* ---- What to run -------------------------------------------------------------------- */

static void make_plan(struct plan *plan, const struct arguments *options)
{
    static const unsigned one = 1;
    const unsigned *threads = options->thread_count == 0 ? &one : options->threads;
    size_t count = options->thread_count == 0 ? 1 : options->thread_count, i;
    const char *workloads = options->workloads, *reason;
    char name[64], refusal[96];

    plan_init(plan, options->size);
    if (options->timed)
        plan->milliseconds = options->milliseconds;
    if (options->repetitions != 0)
        plan->repetitions = options->repetitions;
    if (options->timed || options->repetitions != 0)
        plan->seconds = 0.0; /* as long as that takes */
    if (workloads == NULL) {
        plan_fill(plan, options->size);
        if (options->lines != NULL && !plan_keep_workloads(plan, options->lines))
            arguments_refuse("the plan has no line of:", options->lines);
        if (options->thread_count != 0)
            plan_keep_threads(plan, options->threads, options->thread_count);
    }
    while (workloads != NULL && arguments_next(&workloads, name, sizeof name))
        for (i = 0; i < count; i++) {
            reason = plan_add(plan, name, options->slot_size, threads[i]);
            if (reason == NULL)
                continue;
            snprintf(refusal, sizeof refusal, "%s, with %u threads:", reason, threads[i]);
            arguments_refuse(refusal, name);
        }
    plan_settle(plan);
}

/* For scaling over the number of threads, there is time for only a few contestants. */
#define SCALE_RIVALS "cpool-typed,cpool,malloc,jemalloc,tcmalloc,mimalloc,dpdk"

static void choose(struct results *results, const char *names)
{
    char name[64];
    size_t i;

    for (i = 0; names == NULL && i < results->contestant_count; i++)
        results->contestants[i].chosen = true;
    while (names != NULL && arguments_next(&names, name, sizeof name)) {
        i = results_find(results, name);
        if (i == results->contestant_count)
            arguments_refuse("no such rival:", name);
        results->contestants[i].chosen = true;
        results->contestants[i].traits &= ~BENCH_MODE; /* named: a column in every line */
    }
    for (i = 0; i < results->contestant_count; i++)
        if (results->contestants[i].chosen)
            cell_probe(&results->contestants[i]);
}

/* ---- Running it ---------------------------------------------------------------------- */

static void show_progress(const struct results *results, size_t line, unsigned repetition,
                          double elapsed)
{
    const struct plan_line *what = &results->plan->lines[line];
    bool terminal = isatty(STDERR_FILENO) != 0;

    if (!terminal && repetition != 0)
        return;
    fprintf(stderr, "%s[%zu/%zu] %s, %u thread%s, %.0f s%s",
            terminal ? "\r\033[K" : "", line + 1, results->plan->count, what->label,
            what->cell.threads, what->cell.threads == 1 ? "" : "s", elapsed,
            terminal ? "" : "\n");
    fflush(stderr);
}

/*
 * A disturbed cell is measured once more, and the less disturbed answer counts.  At most one cell
 * in five is repeated, because on a busy machine every cell would be.
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
        cell_metric(&again, "waited") < cell_metric(answer, "waited")) {
        free(answer->buckets);
        *answer = again;
    } else {
        free(again.buckets);
    }
}

static void run_cell(const struct results *results, size_t line, size_t contestant,
                     unsigned repetition, const struct arguments *options)
{
    const char *workload = results->plan->lines[line].workload->name;
    struct cell_answer *answer = results_answer(results, line, contestant, repetition);
    const struct contestant *who = &results->contestants[contestant];
    struct bench_cell cell = results->plan->lines[line].cell;

    bool left_out = (who->traits & BENCH_MODE) != 0 && !results->plan->lines[line].modes;

    if (!who->chosen || who->absent[0] != '\0' || left_out) {
        answer->status = CELL_ABSENT;
        snprintf(answer->text, CELL_TEXT, "%s", left_out ? "no line of the modes" : who->absent);
        return;
    }
    /* Cells that cannot run, or failed, are not tried again. */
    if (repetition != 0 && results_answer(results, line, contestant, 0)->status != CELL_DONE) {
        *answer = *results_answer(results, line, contestant, 0);
        answer->buckets = NULL;
        answer->bucket_count = 0;
        return;
    }
    cell.seed = options->seed + repetition;
    cell_run(who, workload, &cell, answer);
    if (cell.milliseconds != 0)
        run_once_more(who, workload, &cell, answer);
    usleep(options->rest * 1000);
}

static double seconds_since(uint64_t started)
{
    return (double)(bench_now() - started) / 1e9;
}

/* A line loses repetitions if the lines before it took more than their share of the time. */
static void keep_time(struct plan *plan, size_t line, double elapsed)
{
    unsigned *repetitions = &plan->lines[line].repetitions;
    double rest = plan->seconds * (double)(plan->count - line) / (double)plan->count;
    double share = (plan->seconds - elapsed) / rest;

    if (plan->seconds > 0.0 && share < 1.0)
        *repetitions = share <= 0.0 ? 0 : (unsigned)(share * *repetitions);
    if (*repetitions == 0)
        *repetitions = 1;
}

static void run(struct results *results, const struct arguments *options)
{
    uint64_t started = bench_now();
    unsigned repetition;
    size_t line, i;

    for (line = 0; line < results->plan->count; line++) {
        keep_time(results->plan, line, seconds_since(started));
        for (repetition = 0; repetition < results_repetitions(results, line); repetition++) {
            show_progress(results, line, repetition, seconds_since(started));
            for (i = 0; i < results->contestant_count; i++)
                run_cell(results, line, (i + repetition) % results->contestant_count, repetition,
                         options);
        }
    }
    fprintf(stderr, isatty(STDERR_FILENO) != 0 ? "\r\033[K" : "");
    printf("\nMeasured in %.1f minutes.\n", seconds_since(started) / 60.0);
}

/* The plan of measurements. */
static void print_plan(const struct plan *plan, bool lines)
{
    size_t i;

    printf("\nPlanned: %zu lines", plan->count);
    if (plan->seconds > 0.0)
        printf(", in at most about %.1f minutes", plan->seconds / 60.0);
    printf(".\n");
    for (i = 0; lines && i < plan->count; i++)
        printf("  %-26s %3u thr\n", plan->lines[i].label, plan->lines[i].cell.threads);
    fflush(stdout);
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

/* Replaces only the file of this family, and only by a complete one without failures. */
static void write_record(const struct results *results, const struct arguments *options)
{
    char family[64], path[PATH_MAX], unfinished[PATH_MAX + 8];
    FILE *file;

    if (options->record == NULL)
        return;
    family_here(family, sizeof family);
    snprintf(path, sizeof path, "%s/%s.md", options->record, family);
    snprintf(unfinished, sizeof unfinished, "%s.new", path);
    file = fopen(unfinished, "w");
    if (file != NULL) {
        report_record(results, options->sources, file);
        if (fclose(file) == 0 && rename(unfinished, path) == 0) {
            printf("\nRecorded in %s.\n", path);
            return;
        }
    }
    perror(path);
    exit(EXIT_FAILURE);
}

/* A failed cell fails the run. */
static int count_failures(const struct results *results)
{
    size_t line, i;
    int failures = 0;

    for (line = 0; line < results->plan->count; line++)
        for (i = 0; i < results->contestant_count; i++)
            failures += results_summary(results, line, i, "ns").status == CELL_FAILED ? 1 : 0;
    return failures;
}

static void write_files(const struct results *results, const struct arguments *options)
{
    write_file(results, options->csv, report_csv);
    write_file(results, options->json, report_json);
    write_file(results, options->histograms, report_histograms);
}

int main(int count, char **arguments)
{
    struct results results;
    struct arguments options;
    struct plan plan;
    int failures = 0;

    if (count > 1 &&
        (strcmp(arguments[1], "--cell") == 0 || strcmp(arguments[1], "--probe") == 0))
        cell_main(count, arguments);
    arguments_parse(&options, count, arguments);
    make_plan(&plan, &options);
    results_init(&results, &plan);
    choose(&results, options.rivals == NULL && options.size == PLAN_SCALE ? SCALE_RIVALS
                                                                          : options.rivals);
    report_head(&results, stdout);
    print_plan(&plan, options.dry);
    if (!options.dry) {
        run(&results, &options);
        report_tables(&results, stdout);
        write_files(&results, &options);
        failures = count_failures(&results);
        if (failures == 0)
            write_record(&results, &options);
    }
    if (failures != 0)
        fprintf(stderr, "bench: %d cells failed\n", failures);
    results_fini(&results);
    plan_fini(&plan);
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
