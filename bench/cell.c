/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cell.c - one process per measurement: starts it, reads its answer.
 *
 * Includes cell.h.  The process is this very program with other
 * arguments,
 *
 *     bench --cell RIVAL WORKLOAD PARAMETER ORDER SLOT_SIZE THREADS
 *                  MILLISECONDS SEED CONFIG
 *     bench --probe RIVAL
 *
 * and answers as measure.c says.  LD_PRELOAD is set in it alone.  A contestant
 * with a program of its own is measured by that one, in the same way.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "cell.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* This program, for any working directory. */
#define CELL_SELF "/proc/self/exe"

/* Words on the command line of a measuring process. */
#define CELL_ARGUMENTS 11

/* A cell that takes longer hangs, seconds: it is ended and counts as failed. */
#define CELL_PATIENCE 60u

double cell_metric(const struct cell_answer *answer, const char *name)
{
    unsigned i;

    for (i = 0; i < answer->count; i++)
        if (strcmp(answer->metrics[i].name, name) == 0)
            return answer->metrics[i].value;
    return -1.0;
}

/* ---- The parent's side ----------------------------------------------------------- */

/* Where a contestant's program is: a bare name lies beside this program. */
static void find_program(const char *program, char *path, size_t size)
{
    char self[PATH_MAX / 2];
    ssize_t length = readlink(CELL_SELF, self, sizeof self - 1);
    char *name;

    snprintf(path, size, "%s", program == NULL ? CELL_SELF : program);
    if (program == NULL || strchr(program, '/') != NULL || length < 0)
        return;
    self[length] = '\0';
    name = strrchr(self, '/');
    if (name != NULL)
        snprintf(path, size, "%.*s%s", (int)(name + 1 - self), self, program);
}

/* In the child, after fork: becomes the measuring process. */
static void become(const struct contestant *contestant, char *const *arguments,
                   const int ends[2])
{
    bool foreign = contestant->preload != NULL || contestant->program != NULL;
    int nowhere = open("/dev/null", O_WRONLY);
    char path[PATH_MAX];

    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    if (nowhere >= 0 && foreign)
        dup2(nowhere, STDERR_FILENO); /* the loader's word on a missing file, and the like */
    if (contestant->preload != NULL)
        setenv("LD_PRELOAD", contestant->preload, 1);
    if (contestant->options != NULL)
        setenv("CPOOL_OPTIONS", contestant->options, 1);
    alarm(CELL_PATIENCE);
    find_program(contestant->program, path, sizeof path);
    execv(path, arguments);
    printf("failed cannot start %s: %s\n", path, strerror(errno));
    fflush(stdout);
    _exit(EXIT_FAILURE);
}

static void copy_text(char *to, const char *from)
{
    snprintf(to, CELL_TEXT, "%.*s", (int)strcspn(from, "\n"), from);
}

/* Takes in "alloc INDEX COUNT" or "free INDEX COUNT". */
static void read_bucket(struct cell_answer *answer, const char *text)
{
    size_t room = answer->bucket_count == 0 ? 256 : answer->bucket_count * 2;
    struct cell_bucket bucket;
    unsigned long long count;
    char what[8];

    if (sscanf(text, "%7s %zu %llu", what, &bucket.index, &count) != 3)
        return;
    bucket.release = strcmp(what, "free") == 0;
    bucket.count = count;
    /* Full when the number is a power of two, from 256 on. */
    if (answer->bucket_count == 0 ||
        (answer->bucket_count >= 256 && (answer->bucket_count & (answer->bucket_count - 1)) == 0)) {
        answer->buckets = realloc(answer->buckets, room * sizeof *answer->buckets);
        if (answer->buckets == NULL)
            bench_fail("no memory for a histogram");
    }
    answer->buckets[answer->bucket_count++] = bucket;
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
    } else if (strncmp(line, "bucket ", 7) == 0) {
        read_bucket(answer, line + 7);
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

static void converse(const struct contestant *contestant, char *const *arguments,
                     struct cell_answer *answer)
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
        become(contestant, arguments, ends);
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

/* The library that ran must be the one in the table.  A library that was not found is
 * not. */
static void check_version(const struct contestant *contestant, struct cell_answer *answer)
{
    if (answer->status != CELL_DONE || contestant->expect == NULL ||
        strstr(answer->version, contestant->expect) != NULL)
        return;
    answer->status = CELL_ABSENT;
    snprintf(answer->text, CELL_TEXT, "%.100s is not installed", contestant->preload);
}

void cell_probe(struct contestant *contestant)
{
    char program[] = "bench", what[] = "--probe", rival[64];
    char *arguments[] = { program, what, rival, NULL };
    struct cell_answer answer;

    if (contestant->absent[0] != '\0') /* known without asking */
        return;
#ifdef BENCH_SANITIZER
    if (contestant->preload != NULL) {
        copy_text(contestant->absent, "malloc cannot be replaced under " BENCH_SANITIZER);
        return;
    }
#endif
    snprintf(rival, sizeof rival, "%s", contestant->rival);
    converse(contestant, arguments, &answer);
    check_version(contestant, &answer);
    copy_text(contestant->version, answer.version);
    copy_text(contestant->absent, answer.status == CELL_DONE ? "" : answer.text);
}

void cell_run(const struct contestant *contestant, const char *workload,
              const struct bench_cell *cell, struct cell_answer *answer)
{
    char text[CELL_ARGUMENTS][256], *arguments[CELL_ARGUMENTS + 1];
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
    snprintf(text[9], sizeof text[9], "%llu", (unsigned long long)cell->seed);
    snprintf(text[10], sizeof text[10], "%s", contestant->config);
    for (i = 0; i < CELL_ARGUMENTS; i++)
        arguments[i] = text[i];
    arguments[CELL_ARGUMENTS] = NULL;
    converse(contestant, arguments, answer);
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

const char *cell_unfit(const struct bench_workload *workload, unsigned threads)
{
    if (threads < workload->minimum_threads)
        return "needs more threads";
    if ((workload->traits & BENCH_TWO) != 0 && threads != 2)
        return "a workload for two threads";
    return NULL;
}

static void check_cell(const struct bench_rival *rival, const struct bench_workload *workload,
                       const struct bench_cell *cell)
{
    const char *unfit = cell_unfit(workload, cell->threads);

    if (unfit != NULL)
        bench_leave_out(unfit);
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
    if (rival == NULL || count != CELL_ARGUMENTS)
        bench_fail("wrong arguments");
    rival = cell_rival_for(arguments[2], (size_t)strtoull(arguments[6], NULL, 10));
    for (i = 0; rival->workloads != NULL && rival->workloads[i] != NULL; i++)
        if (strcmp(rival->workloads[i]->name, arguments[3]) == 0)
            workload = rival->workloads[i];
    if (workload == NULL) /* the parent knows the name */
        bench_leave_out("has no part in this workload");
    memset(&cell, 0, sizeof cell);
    cell.parameter = (size_t)strtoull(arguments[4], NULL, 10);
    cell.order = (enum bench_order)atoi(arguments[5]);
    cell.slot_size = (size_t)strtoull(arguments[6], NULL, 10);
    cell.threads = (unsigned)strtoul(arguments[7], NULL, 10);
    cell.milliseconds = (unsigned)strtoul(arguments[8], NULL, 10);
    cell.seed = strtoull(arguments[9], NULL, 10);
    cell.config = arguments[10];
    check_cell(rival, workload, &cell);
    bench_measure(rival, workload, &cell);
    end(EXIT_SUCCESS);
}
