/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cell.c - one process per measurement: starts it, reads its answer.
 *
 * Includes cell.h and rivals.h.  The process is this very program with other
 * arguments,
 *
 *     bench --cell RIVAL WORKLOAD PARAMETER ORDER SLOT_SIZE THREADS
 *                  MILLISECONDS ROUNDS SEED
 *     bench --probe RIVAL
 *
 * and answers as measure.c says.  LD_PRELOAD is set in it alone.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "cell.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rivals.h"

/* This program, whatever the working directory has become. */
#define CELL_PROGRAM "/proc/self/exe"

/* A cell that takes longer hangs, seconds: it is ended and counts as failed. */
#define CELL_PATIENCE 300u

static const struct bench_rival *const rivals[] = {
#define CELL_RIVAL(name) &bench_rival_##name,
    BENCH_RIVALS(CELL_RIVAL)
#undef CELL_RIVAL
};

#define RIVALS (sizeof rivals / sizeof rivals[0])

/* ---- Who takes part ------------------------------------------------------------ */

const struct bench_rival *cell_rival(const char *name)
{
    size_t i;

    for (i = 0; i < RIVALS; i++)
        if (strcmp(rivals[i]->name, name) == 0)
            return rivals[i];
    return NULL;
}

/* The first rival has all workloads; they are the same for every rival. */
const struct bench_workload *const *cell_workloads(void)
{
    return rivals[0]->workloads;
}

const struct bench_workload *cell_workload(const char *name)
{
    const struct bench_workload *const *workload = cell_workloads();

    while (*workload != NULL && strcmp((*workload)->name, name) != 0)
        workload++;
    return *workload;
}

struct contestant *cell_contestants(size_t *count)
{
    static const struct {
        const char *name, *summary, *preload, *expect;
    } preloads[] = {
#define CELL_PRELOAD(name, summary, preload, expect) { name, summary, preload, expect },
        BENCH_PRELOADS(CELL_PRELOAD)
#undef CELL_PRELOAD
    };
    size_t extra = sizeof preloads / sizeof preloads[0], n = 0, i, j;
    struct contestant *all = bench_memory(RIVALS + extra, sizeof *all);

    for (i = 0; i < RIVALS; i++) {
        all[n].name = all[n].rival = rivals[i]->name;
        all[n].summary = rivals[i]->summary;
        all[n++].traits = rivals[i]->traits;
        for (j = 0; rivals[i] == &bench_rival_malloc && j < extra; j++) {
            all[n].name = preloads[j].name;
            all[n].rival = rivals[i]->name;
            all[n].summary = preloads[j].summary;
            all[n].preload = preloads[j].preload;
            all[n].expect = preloads[j].expect;
            all[n++].traits = rivals[i]->traits;
        }
    }
    *count = n;
    return all;
}

double cell_metric(const struct cell_answer *answer, const char *name)
{
    unsigned i;

    for (i = 0; i < answer->count; i++)
        if (strcmp(answer->metrics[i].name, name) == 0)
            return answer->metrics[i].value;
    return -1.0;
}

/* ---- The parent's side ----------------------------------------------------------- */

/* In the child, after fork: becomes the measuring process. */
static void become(const char *preload, char *const *arguments, const int ends[2])
{
    int nowhere = open("/dev/null", O_WRONLY);

    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    if (nowhere >= 0 && preload != NULL)
        dup2(nowhere, STDERR_FILENO); /* the loader's word on a missing file */
    if (preload != NULL)
        setenv("LD_PRELOAD", preload, 1);
    alarm(CELL_PATIENCE);
    execv(CELL_PROGRAM, arguments);
    printf("failed cannot start a process: %s\n", strerror(errno));
    fflush(stdout);
    _exit(EXIT_FAILURE);
}

static void copy_text(char *to, const char *from)
{
    snprintf(to, CELL_TEXT, "%.*s", (int)strcspn(from, "\n"), from);
}

/* Takes in one line of the answer. */
static void read_answer(struct cell_answer *answer, const char *line, bool *done)
{
    struct cell_metric *metric = &answer->metrics[answer->count];

    if (strncmp(line, "version ", 8) == 0) {
        copy_text(answer->version, line + 8);
    } else if (strncmp(line, "absent ", 7) == 0) {
        answer->status = CELL_ABSENT;
        copy_text(answer->text, line + 7);
        *done = true;
    } else if (strncmp(line, "failed ", 7) == 0) {
        answer->status = CELL_FAILED;
        copy_text(answer->text, line + 7);
        *done = true;
    } else if (strncmp(line, "done", 4) == 0) {
        answer->status = CELL_DONE;
        *done = true;
    } else if (answer->count < CELL_METRICS &&
               sscanf(line, "metric %23s %lf", metric->name, &metric->value) == 2) {
        answer->count++;
    }
}

/* How the process ended, when its answer did not say so. */
static void explain(struct cell_answer *answer, int status)
{
    answer->status = CELL_FAILED;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        copy_text(answer->text, "hung, and was ended");
    else if (WIFSIGNALED(status))
        copy_text(answer->text, strsignal(WTERMSIG(status)));
    else
        snprintf(answer->text, CELL_TEXT, "ended with status %d and no answer",
                 WEXITSTATUS(status));
}

static void converse(const char *preload, char *const *arguments, struct cell_answer *answer)
{
    int ends[2], status = 0;
    bool done = false;
    char line[512];
    FILE *output;
    pid_t child;

    memset(answer, 0, sizeof *answer);
    fflush(NULL);
    if (pipe(ends) != 0 || (child = fork()) < 0) {
        answer->status = CELL_FAILED;
        copy_text(answer->text, strerror(errno));
        return;
    }
    if (child == 0)
        become(preload, arguments, ends);
    close(ends[1]);
    output = fdopen(ends[0], "r");
    while (output != NULL && fgets(line, sizeof line, output) != NULL)
        read_answer(answer, line, &done);
    if (output != NULL)
        fclose(output);
    waitpid(child, &status, 0);
    if (!done)
        explain(answer, status);
}

/* What ran must be what the table will say: a library that was not found is not. */
static void check_version(const struct contestant *contestant, struct cell_answer *answer)
{
    if (answer->status != CELL_DONE || contestant->expect == NULL ||
        strstr(answer->version, contestant->expect) != NULL)
        return;
    answer->status = CELL_ABSENT;
    snprintf(answer->text, CELL_TEXT, "%s is not installed", contestant->preload);
}

void cell_probe(struct contestant *contestant)
{
    char program[] = "bench", what[] = "--probe", rival[64];
    char *arguments[] = { program, what, rival, NULL };
    struct cell_answer answer;

#ifdef BENCH_SANITIZER
    if (contestant->preload != NULL) {
        copy_text(contestant->absent, "malloc cannot be replaced under " BENCH_SANITIZER);
        return;
    }
#endif
    snprintf(rival, sizeof rival, "%s", contestant->rival);
    converse(contestant->preload, arguments, &answer);
    check_version(contestant, &answer);
    copy_text(contestant->version, answer.version);
    copy_text(contestant->absent, answer.status == CELL_DONE ? "" : answer.text);
}

void cell_run(const struct contestant *contestant, const char *workload,
              const struct bench_cell *cell, struct cell_answer *answer)
{
    char text[11][64], *arguments[12];
    size_t i;

    snprintf(text[0], sizeof text[0], "bench");
    snprintf(text[1], sizeof text[1], "--cell");
    snprintf(text[2], sizeof text[2], "%s", contestant->rival);
    snprintf(text[3], sizeof text[3], "%s", workload);
    snprintf(text[4], sizeof text[4], "%zu", cell->parameter);
    snprintf(text[5], sizeof text[5], "%d", (int)cell->order);
    snprintf(text[6], sizeof text[6], "%zu", cell->slot_size);
    snprintf(text[7], sizeof text[7], "%u", cell->threads);
    snprintf(text[8], sizeof text[8], "%u", cell->milliseconds);
    snprintf(text[9], sizeof text[9], "%zu", cell->magazine_rounds);
    snprintf(text[10], sizeof text[10], "%llu", (unsigned long long)cell->seed);
    for (i = 0; i < 11; i++)
        arguments[i] = text[i];
    arguments[11] = NULL;
    converse(contestant->preload, arguments, answer);
    check_version(contestant, answer);
}

/* ---- The child's side ------------------------------------------------------------ */

/* Workloads leave things behind, and some must: nobody shall look for leaks. */
#if defined(__GNUC__)
__attribute__((__noreturn__))
#endif
static void end(int status)
{
    fflush(stdout);
    _exit(status);
}

static void run_probe(const struct bench_rival *rival)
{
    const char *reason = rival->absent != NULL ? rival->absent() : NULL;

    if (reason != NULL)
        bench_leave_out(reason);
    printf("version %s\ndone\n", rival->version != NULL ? rival->version() : "");
    end(EXIT_SUCCESS);
}

static void check_cell(const struct bench_rival *rival, const struct bench_workload *workload,
                       const struct bench_cell *cell)
{
    if (cell->threads < workload->minimum_threads)
        bench_leave_out("needs more threads");
    if (cell->threads > 1 && (rival->traits & BENCH_SINGLE) != 0)
        bench_leave_out("one thread only");
    if (cell->slot_size < rival->smallest || cell->slot_size > rival->largest)
        bench_leave_out("not with this slot size");
    if ((workload->traits & BENCH_CREATES) != 0 && (rival->traits & BENCH_POOL) == 0)
        bench_leave_out("has no pools to create");
    if (rival->absent != NULL && rival->absent() != NULL)
        bench_leave_out(rival->absent());
}

void cell_main(int count, char **arguments)
{
    const struct bench_workload *workload = NULL;
    const struct bench_rival *rival = count > 2 ? cell_rival(arguments[2]) : NULL;
    struct bench_cell cell;
    size_t i;

    if (rival != NULL && strcmp(arguments[1], "--probe") == 0)
        run_probe(rival);
    if (rival == NULL || count != 11)
        bench_fail("wrong arguments");
    for (i = 0; rival->workloads != NULL && rival->workloads[i] != NULL; i++)
        if (strcmp(rival->workloads[i]->name, arguments[3]) == 0)
            workload = rival->workloads[i];
    if (workload == NULL)
        bench_fail("no workload of that name");
    memset(&cell, 0, sizeof cell);
    cell.parameter = (size_t)strtoull(arguments[4], NULL, 10);
    cell.order = (enum bench_order)atoi(arguments[5]);
    cell.slot_size = (size_t)strtoull(arguments[6], NULL, 10);
    cell.threads = (unsigned)strtoul(arguments[7], NULL, 10);
    cell.milliseconds = (unsigned)strtoul(arguments[8], NULL, 10);
    cell.magazine_rounds = (size_t)strtoull(arguments[9], NULL, 10);
    cell.seed = strtoull(arguments[10], NULL, 10);
    check_cell(rival, workload, &cell);
    bench_measure(rival, workload, &cell);
    end(EXIT_SUCCESS);
}
