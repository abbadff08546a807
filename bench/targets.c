/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * targets.c - what was aimed at, and what came out.
 *
 * Includes report.h and machine.h.  The targets are ratios to the fastest peer
 * on a line (throughput), or bounds on libcpool's own figures.  Lines that were
 * not measured are not judged; nothing here makes a run fail.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <string.h>

#include "machine.h"
#include "report.h"

/* Ratios to the fastest peer: by workload, with one thread up to P. */
static const struct {
    const char *workload;
    size_t parameter;  /* 0: any */
    const char *ours;
    double needed;
} ratio_targets[] = {
    { "same-slot", 0, "cpool", 2.0 },     { "same-slot", 0, "cpool-cache", 2.5 },
    { "burst", 16, "cpool", 1.5 },        { "burst", 64, "cpool", 1.5 },
    { "burst", 256, "cpool", 1.5 },       { "burst", 1024, "cpool", 1.5 },
    { "burst", 4096, "cpool", 1.5 },      { "replace", 4096, "cpool", 1.8 },
    { "replace", 1000000, "cpool", 1.8 }, { "pipe", 1024, "cpool", 4.0 },
};

/* Creation: of pools from this size on, nanoseconds and resident bytes. */
#define CREATE_SLOTS ((size_t)1 << 20)
#define CREATE_NS 50000.0
#define CREATE_RESIDENT 65536.0

/* Scaling: share of processors x one thread, and of that when oversubscribed. */
#define SCALING_SHARE 0.95
#define OVERSUBSCRIBED_SHARE 0.9

static void print_verdict(FILE *out, bool reached, const char *what, unsigned threads)
{
    fprintf(out, "  %-11s %-26s %3u thr  ", reached ? "reached" : "NOT REACHED", what, threads);
}

/* The line of a workload in the throughput table; plan->count when there is none. */
static size_t find_line(const struct results *results, const char *workload, size_t parameter,
                        unsigned threads)
{
    size_t i;

    for (i = 0; i < results->plan->count; i++) {
        const struct plan_line *line = &results->plan->lines[i];

        if (line->section == PLAN_THROUGHPUT && strcmp(line->workload->name, workload) == 0 &&
            line->cell.threads == threads &&
            (parameter == 0 || line->cell.parameter == parameter))
            break;
    }
    return i;
}

static void judge_ratio(const struct results *results, size_t line, const char *ours,
                        double needed, FILE *out)
{
    size_t best = results_best_peer(results, line, "ns"), own = results_find(results, ours);
    const struct plan_line *what = &results->plan->lines[line];
    char name[64];
    double ratio;

    if (best == results->contestant_count || own == results->contestant_count)
        return;
    ratio = results_ratio(results, line, best, own, "ns");
    if (ratio <= 0.0)
        return;
    snprintf(name, sizeof name, "%s%s", what->label,
             strcmp(ours, "cpool-cache") == 0 ? ", explicit" : "");
    print_verdict(out, ratio >= needed, name, what->cell.threads);
    fprintf(out, "%6.2f times the fastest peer, %s (aim: %.1f)\n", ratio,
            results->contestants[best].name, needed);
}

static void judge_ratios(const struct results *results, FILE *out)
{
    unsigned processors = machine_processors(), threads;
    size_t i, line;

    for (i = 0; i < sizeof ratio_targets / sizeof ratio_targets[0]; i++) {
        for (threads = 1; threads <= processors; threads *= 2) {
            line = find_line(results, ratio_targets[i].workload, ratio_targets[i].parameter,
                             threads);
            if (line < results->plan->count)
                judge_ratio(results, line, ratio_targets[i].ours, ratio_targets[i].needed, out);
        }
    }
}

/* libcpool's operations a second; 0 when it was not measured. */
static double total_rate(const struct results *results, const char *workload, size_t parameter,
                         unsigned threads)
{
    size_t line = find_line(results, workload, parameter, threads);
    size_t cpool = results_find(results, "cpool");
    struct summary summary;

    if (line == results->plan->count)
        return 0.0;
    summary = results_summary(results, line, cpool, "throughput");
    return summary.status == CELL_DONE ? summary.median : 0.0;
}

/* A workload in which threads have nothing to do with each other. */
static void judge_scaling(const struct results *results, const char *workload, size_t parameter,
                          FILE *out)
{
    unsigned processors = machine_processors();
    double one = total_rate(results, workload, parameter, 1);
    double all = total_rate(results, workload, parameter, processors);
    double more = total_rate(results, workload, parameter, 8 * processors), share;
    char name[64];

    if (processors > 1 && one > 0.0 && all > 0.0) {
        share = all / one / processors;
        snprintf(name, sizeof name, "scaling, %s", workload);
        print_verdict(out, share >= SCALING_SHARE, name, processors);
        fprintf(out, "%6.2f of processors x one thread (aim: %.2f)\n", share, SCALING_SHARE);
    }
    if (all > 0.0 && more > 0.0) {
        share = more / all;
        snprintf(name, sizeof name, "oversubscribed, %s", workload);
        print_verdict(out, share >= OVERSUBSCRIBED_SHARE, name, 8 * processors);
        fprintf(out, "%6.2f of a thread per processor (aim: %.2f)\n", share,
                OVERSUBSCRIBED_SHARE);
    }
}

static void judge_creation(const struct results *results, FILE *out)
{
    size_t cpool = results_find(results, "cpool"), i;

    for (i = 0; i < results->plan->count; i++) {
        const struct plan_line *line = &results->plan->lines[i];
        struct summary time, memory;

        if (line->section != PLAN_CREATE || line->cell.parameter < CREATE_SLOTS)
            continue;
        time = results_summary(results, i, cpool, "ns");
        memory = results_summary(results, i, cpool, "resident");
        if (time.status != CELL_DONE || time.samples == 0)
            continue;
        print_verdict(out, time.median < CREATE_NS && memory.median < CREATE_RESIDENT,
                      line->label, 1);
        fprintf(out, "%6.1f us, %.0f KiB resident (aim: under %.0f us, %.0f KiB)\n",
                time.median / 1e3, memory.median / 1024.0, CREATE_NS / 1e3,
                CREATE_RESIDENT / 1024.0);
    }
}

static void judge_latency(const struct results *results, size_t line, const char *metric,
                          FILE *out)
{
    size_t cpool = results_find(results, "cpool"), best, i;
    struct summary own = results_summary(results, line, cpool, metric);
    struct summary peer;
    char name[64];

    best = results_best_peer(results, line, metric);
    if (own.status != CELL_DONE || own.samples == 0 || best == results->contestant_count)
        return;
    i = best;
    peer = results_summary(results, line, i, metric);
    snprintf(name, sizeof name, "%s, %s", results->plan->lines[line].label, metric);
    print_verdict(out, own.median <= peer.median, name,
                  results->plan->lines[line].cell.threads);
    fprintf(out, "%6.0f ns; best peer, %s: %.0f ns\n", own.median,
            results->contestants[best].name, peer.median);
}

static void judge_latencies(const struct results *results, FILE *out)
{
    static const char *const metrics[] = { "alloc.p99.99", "alloc.max", "free.p99.99",
                                           "free.max" };
    size_t line, i;

    for (line = 0; line < results->plan->count; line++) {
        if (results->plan->lines[line].section != PLAN_LATENCY ||
            results->plan->lines[line].cell.threads != machine_processors())
            continue;
        for (i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
            judge_latency(results, line, metrics[i], out);
    }
}

/* The figure that is asked for first: a pair on one slot against the allocators. */
static void print_headline(const struct results *results, FILE *out)
{
    static const char *const allocators[] = { "malloc", "jemalloc", "tcmalloc" };
    size_t line = find_line(results, "same-slot", 0, 1), best = results->contestant_count, i;
    size_t cpool = results_find(results, "cpool");
    struct summary own, theirs, summary;

    if (line == results->plan->count)
        return;
    own = results_summary(results, line, cpool, "ns");
    memset(&theirs, 0, sizeof theirs);
    for (i = 0; i < sizeof allocators / sizeof allocators[0]; i++) {
        size_t who = results_find(results, allocators[i]);

        if (who == results->contestant_count || !results->contestants[who].chosen ||
            results->contestants[who].absent[0] != '\0')
            continue;
        summary = results_summary(results, line, who, "ns");
        if (summary.status == CELL_DONE &&
            (best == results->contestant_count || summary.median < theirs.median)) {
            best = who;
            theirs = summary;
        }
    }
    if (own.status != CELL_DONE || own.samples == 0 || best == results->contestant_count)
        return;
    fprintf(out, "\nSame slot, one thread: cpool %.2f ns a pair; %s, the fastest of malloc, "
                 "jemalloc\nand tcmalloc, %.2f ns: cpool is %.2f times faster (aim: 1.8)%s\n",
            own.median, results->contestants[best].name, theirs.median,
            results_ratio(results, line, best, cpool, "ns"),
            own.disturbed || theirs.disturbed ? "  -- DISTURBED, run it again" : "");
}

void report_targets(const struct results *results, FILE *out)
{
    if (results->plan->milliseconds == 0) {
        fprintf(out, "\nEvery cell ran one chunk, cold: these figures mean nothing.\n");
        return;
    }
    fprintf(out, "\nAims\n\n");
    judge_ratios(results, out);
    judge_scaling(results, "same-slot", 0, out);
    judge_scaling(results, "burst", 256, out);
    judge_creation(results, out);
    judge_latencies(results, out);
    print_headline(results, out);
}
