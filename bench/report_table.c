/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_table.c - results for people: aligned tables.
 *
 * Includes report.h, counters.h and machine.h.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <stdio.h>
#include <string.h>

#include "counters.h"
#include "machine.h"
#include "report.h"

const char *const report_latencies[REPORT_LATENCIES] = {
    "alloc.p50", "alloc.p99", "alloc.p99.9", "alloc.p99.99", "alloc.max",
    "free.p50",  "free.p99",  "free.p99.9",  "free.p99.99",  "free.max"
};

/* Columns of a table that are one contestant each. */
#define COLUMN 9

/* Whether a contestant takes part at all. */
static bool takes_part(const struct results *results, size_t contestant)
{
    return results->contestants[contestant].chosen &&
           results->contestants[contestant].absent[0] == '\0';
}

/* Whether its ratio to libcpool is shown: for rivals, and for variants. */
static bool is_compared(const struct results *results, size_t contestant)
{
    return results_is_peer(results, contestant) || results->contestants[contestant].variant;
}

/* Whether a contestant has, or should have, results on a section's lines.  The modes have a
 * separate table. */
static bool has_column(const struct results *results, enum plan_section section,
                       size_t contestant)
{
    size_t i;

    if ((results->contestants[contestant].traits & BENCH_MODE) != 0)
        return false;
    for (i = 0; i < results->plan->count && takes_part(results, contestant); i++)
        if (results->plan->lines[i].section == section &&
            results_summary(results, i, contestant, "ns").status != CELL_ABSENT)
            return true;
    return false;
}

void report_head(const struct results *results, FILE *out)
{
    struct machine_fact facts[MACHINE_FACTS];
    size_t count = machine_describe(facts), i;

    fprintf(out, "libcpool benchmark: %u repetitions of %u ms, interleaved, medians\n\n",
            results->plan->repetitions, results->plan->milliseconds);
    for (i = 0; i < count; i++)
        fprintf(out, "  %-12s %s\n", facts[i].name, facts[i].text);
    fprintf(out, "\n");
    for (i = 0; i < results->contestant_count; i++) {
        const struct contestant *contestant = &results->contestants[i];

        if (!contestant->chosen)
            continue;
        fprintf(out, "  %-12s %s", contestant->name, contestant->summary);
        if (contestant->absent[0] != '\0')
            fprintf(out, " -- ABSENT: %s", contestant->absent);
        else if (contestant->version[0] != '\0')
            fprintf(out, " (%s)", contestant->version);
        fprintf(out, "\n");
    }
}

/* A number in a column's width, with as many decimals as are worth reading. */
static void print_number(FILE *out, double value, int width)
{
    int decimals = value < 10.0 ? 2 : value < 100.0 ? 1 : 0;

    if (value >= 1e7)
        fprintf(out, "%*.2e", width, value);
    else
        fprintf(out, "%*.*f", width, decimals, value);
}

static void print_summary(FILE *out, const struct summary *summary)
{
    /* A metric that an answer lacks is negative. */
    if (summary->status == CELL_ABSENT || (summary->status == CELL_DONE && summary->median < 0.0)) {
        fprintf(out, "%*s", COLUMN, "- ");
    } else if (summary->status == CELL_FAILED) {
        fprintf(out, "%*s", COLUMN, "FAILED ");
    } else {
        print_number(out, summary->median, COLUMN - 1);
        fputc(summary->disturbed ? '~' : ' ', out);
    }
}

/* libcpool's ways are named by how they are used, and liburcu with a pool has a short name, because
 * columns are narrow. */
static const char *column_name(const char *name)
{
    static const char *const ours[][2] = { { "cpool-typed", "(typed)" },
                                           { "cpool-cache", "(cache)" },
                                           { "cpool-colour", "(colour)" },
                                           { "urcu-pool", "(pool)" } };
    size_t i;

    for (i = 0; i < sizeof ours / sizeof ours[0]; i++)
        if (strcmp(name, ours[i][0]) == 0)
            return ours[i][1];
    return name;
}

static void print_heading(const struct results *results, enum plan_section section, FILE *out,
                          bool peers_only)
{
    size_t i;

    fprintf(out, "  %-22s %3s", "", "thr");
    for (i = 0; i < results->contestant_count; i++)
        if (has_column(results, section, i) && (!peers_only || is_compared(results, i)))
            fprintf(out, "%*.*s ", COLUMN - 1, COLUMN - 1,
                    column_name(results->contestants[i].name));
}

static void print_label(const struct plan_line *line, FILE *out)
{
    fprintf(out, "  %-22s %3u", line->label, line->cell.threads);
}

/* How many times longer a peer takes than one of ours; "-" where either is missing. */
static void print_ratio(const struct results *results, size_t line, size_t peer,
                        const char *ours, FILE *out)
{
    size_t own = results_find(results, ours);
    double ratio = 0.0;

    if (peer < results->contestant_count && own < results->contestant_count &&
        takes_part(results, own))
        ratio = results_ratio(results, line, peer, own, "ns");
    if (ratio > 0.0)
        fprintf(out, " %6.2f", ratio);
    else
        fprintf(out, " %6s", "-");
}

/* The best rival, how many times longer it takes than libcpool (by handle and typed), and how far
 * apart the quartiles of libcpool's own repetitions are. */
static void print_best(const struct results *results, size_t line, FILE *out)
{
    size_t best = results_best_peer(results, line, "ns");
    size_t cpool = results_find(results, "cpool");
    struct summary own = results_summary(results, line, cpool, "ns");

    fprintf(out, "  %-10s",
            best < results->contestant_count ? results->contestants[best].name : "-");
    print_ratio(results, line, best, "cpool", out);
    print_ratio(results, line, best, "cpool-typed", out);
    fprintf(out, " %5.0f %%", own.spread * 100.0);
}

static void print_times(const struct results *results, enum plan_section section, FILE *out)
{
    size_t line, i;

    print_heading(results, section, out, false);
    fprintf(out, "  %-10s %6s %6s %7s\n", "best peer", "ratio", "typed", "spread");
    for (line = 0; line < results->plan->count; line++) {
        if (results->plan->lines[line].section != section)
            continue;
        print_label(&results->plan->lines[line], out);
        for (i = 0; i < results->contestant_count; i++) {
            struct summary summary;

            if (!has_column(results, section, i))
                continue;
            summary = results_summary(results, line, i, "ns");
            print_summary(out, &summary);
        }
        print_best(results, line, out);
        fprintf(out, "\n");
    }
}

static void print_ratios(const struct results *results, enum plan_section section, FILE *out)
{
    size_t cpool = results_find(results, "cpool"), line, i;

    fprintf(out, "\n  The same as ratios to cpool: how many times longer each takes\n\n");
    print_heading(results, section, out, true);
    fprintf(out, "\n");
    for (line = 0; line < results->plan->count; line++) {
        if (results->plan->lines[line].section != section)
            continue;
        print_label(&results->plan->lines[line], out);
        for (i = 0; i < results->contestant_count; i++) {
            double ratio;

            if (!has_column(results, section, i) || !is_compared(results, i))
                continue;
            ratio = results_ratio(results, line, i, cpool, "ns");
            if (ratio > 0.0)
                fprintf(out, "%*.2f ", COLUMN - 1, ratio);
            else
                fprintf(out, "%*s", COLUMN, "- ");
        }
        fprintf(out, "\n");
    }
}

/* Half of the metrics are of alloc, half of free. */
static void print_latency_heading(const struct plan_line *line, FILE *out)
{
    size_t metric;

    fprintf(out, "  %s, %u thread%s\n  %-23s %-*s   %s\n", line->label, line->cell.threads,
            line->cell.threads == 1 ? "" : "s", "", COLUMN * REPORT_LATENCIES / 2 - 1,
            "   alloc", "   free");
    fprintf(out, "  %-23s", "");
    for (metric = 0; metric < REPORT_LATENCIES; metric++)
        fprintf(out, "%s%*s ", metric == REPORT_LATENCIES / 2 ? "   " : "", COLUMN - 1,
                strchr(report_latencies[metric], '.') + 1);
    fprintf(out, "\n");
}

static void print_latency(const struct results *results, size_t line, FILE *out)
{
    size_t i, metric;

    print_latency_heading(&results->plan->lines[line], out);
    for (i = 0; i < results->contestant_count; i++) {
        if (!takes_part(results, i) ||
            results_summary(results, line, i, "ns").status == CELL_ABSENT)
            continue;
        fprintf(out, "  %-23s", results->contestants[i].name);
        for (metric = 0; metric < REPORT_LATENCIES; metric++) {
            struct summary summary =
                results_summary(results, line, i, report_latencies[metric]);

            fprintf(out, "%s", metric == REPORT_LATENCIES / 2 ? "   " : "");
            print_summary(out, &summary);
        }
        fprintf(out, "\n");
    }
    fprintf(out, "\n");
}

static void print_latencies(const struct results *results, FILE *out)
{
    size_t cpool = results_find(results, "cpool"), line;

    for (line = 0; line < results->plan->count; line++) {
        if (results->plan->lines[line].section != PLAN_LATENCY)
            continue;
        print_latency(results, line, out);
        fprintf(out, "  (reading the clock costs %.0f ns, which is subtracted)\n\n",
                results_summary(results, line, cpool, "clock").median);
    }
}

/* A second table for a section: another metric of the same cells. */
static void print_metric(const struct results *results, enum plan_section section,
                         const char *title, const char *metric, FILE *out)
{
    size_t line, i;

    fprintf(out, "\n  %s\n\n", title);
    print_heading(results, section, out, false);
    fprintf(out, "\n");
    for (line = 0; line < results->plan->count; line++) {
        if (results->plan->lines[line].section != section)
            continue;
        print_label(&results->plan->lines[line], out);
        for (i = 0; i < results->contestant_count; i++) {
            struct summary summary;

            if (!has_column(results, section, i))
                continue;
            summary = results_summary(results, line, i, metric);
            summary.disturbed = false;
            print_summary(out, &summary);
        }
        fprintf(out, "\n");
    }
}

/* Whether any contestant has a metric on a section's lines. */
static bool has_metric(const struct results *results, enum plan_section section,
                       const char *metric)
{
    size_t line, i;

    for (line = 0; line < results->plan->count; line++)
        for (i = 0; i < results->contestant_count; i++)
            if (results->plan->lines[line].section == section && takes_part(results, i) &&
                results_summary(results, line, i, metric).median > 0.0)
                return true;
    return false;
}

/* Cycles and instructions, where the machine counts them. */
static void print_counters(const struct results *results, enum plan_section section, FILE *out)
{
    if (has_metric(results, section, "cycles"))
        print_metric(results, section, "Cycles per operation, in user mode", "cycles", out);
    if (has_metric(results, section, "instructions"))
        print_metric(results, section, "Instructions per operation, in user mode",
                     "instructions", out);
}

/* A table says of which processor it is. */
static void print_title(const char *title, FILE *out)
{
    struct machine_fact facts[MACHINE_FACTS];

    machine_describe(facts); /* the processor is the first, its family the second */
    fprintf(out, "\n%s\n(%s: %s; %u processors)\n\n", title, facts[1].text, facts[0].text,
            machine_processors());
}

static void print_modes(const struct results *results, FILE *out)
{
    size_t i = 0;

    while (i < results->plan->count && !results->plan->lines[i].modes)
        i++;
    if (i == results->plan->count)
        return;
    print_title("The modes, slots of 64 bytes: nanoseconds per pair and processor", out);
    report_modes(results, out);
}

/* Names all cells that failed. */
static void print_failures(const struct results *results, FILE *out)
{
    size_t line, i;

    for (line = 0; line < results->plan->count; line++) {
        for (i = 0; i < results->contestant_count; i++) {
            struct summary summary = results_summary(results, line, i, "ns");

            if (takes_part(results, i) && summary.status == CELL_FAILED)
                fprintf(out, "\nFAILED: %s, %u threads, %s: %s\n",
                        results->plan->lines[line].label,
                        results->plan->lines[line].cell.threads, results->contestants[i].name,
                        summary.text);
        }
    }
}

/* How much of the run was disturbed, and by what. */
static void print_disturbances(const struct results *results, FILE *out)
{
    size_t cells = 0, disturbed = 0, shortened = 0, line, i;
    double steal = 0.0, switches = 0.0;
    unsigned repetition;

    for (line = 0; line < results->plan->count; line++) {
        unsigned repetitions = results_repetitions(results, line);

        shortened += repetitions < results->plan->repetitions &&
                             (results->plan->lines[line].workload->traits & BENCH_ONCE) == 0
                         ? 1u
                         : 0u;
        for (i = 0; i < results->contestant_count; i++) {
            for (repetition = 0; repetition < repetitions; repetition++) {
                const struct cell_answer *answer = results_answer(results, line, i, repetition);

                if (answer->status != CELL_DONE)
                    continue;
                cells++;
                disturbed += results_was_disturbed(answer) ? 1u : 0u;
                steal += cell_metric(answer, "steal");
                /* With more threads than processors the threads interrupt each other. */
                if (results->plan->lines[line].cell.threads <= machine_processors())
                    switches += cell_metric(answer, "switches");
            }
        }
    }
    fprintf(out, "\n  %zu cells ran; %zu of them lost time to other programs or machines (%.0f ms\n"
                 "  stolen by the hypervisor, %.0f interruptions)%s\n",
            cells, disturbed, steal, switches,
            disturbed * 10 > cells ? ": DISTURBED, run it again on a quiet machine" : "");
    if (shortened != 0)
        fprintf(out, "  %zu lines had fewer repetitions than planned, to end in time\n", shortened);
}

static void print_retire(const struct results *results, FILE *out)
{
    static const char *const metrics[][2] = {
        { "A section that reads one node, nanoseconds of its thread's processor time",
          "section_ns" },
        { "An update, with all threads of the process: all but sections, nanoseconds", "all_ns" },
        { "Nodes held back at most", "held" },
        { "Retires of a million that waited for a reader", "waits" },
    };
    size_t i;

    for (i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
        print_metric(results, PLAN_RETIRE, metrics[i][0], metrics[i][1], out);
}

void report_tables(const struct results *results, FILE *out)
{
    enum plan_section section;
    size_t lines, i;

    for (section = PLAN_THROUGHPUT; section < PLAN_SECTIONS; section++) {
        for (lines = 0, i = 0; i < results->plan->count; i++)
            lines += results->plan->lines[i].section == section ? 1u : 0u;
        if (lines == 0)
            continue;
        print_title(plan_title(section), out);
        if (section == PLAN_LATENCY) {
            print_latencies(results, out);
            continue;
        }
        if (section == PLAN_SCALING) {
            report_scale(results, out);
            print_counters(results, section, out);
            continue;
        }
        if (section == PLAN_FIGURES || section == PLAN_OBJECTS) {
            report_figures(results, section, out);
            continue;
        }
        print_times(results, section, out);
        print_ratios(results, section, out);
        print_counters(results, section, out);
        if (section == PLAN_THROUGHPUT)
            print_modes(results, out);
        if (section == PLAN_CREATE)
            print_metric(results, section, "Resident after creation, bytes", "resident", out);
        if (section == PLAN_OCCUPANCY) {
            print_metric(results, section, "Attempts that found no slot, percent",
                         "missed_percent", out);
            print_metric(results, section,
                         "Slots that the thread got that got least, percent of the average",
                         "least_percent", out);
        }
        if (section == PLAN_WAITERS)
            print_metric(results, section, "Times that a thread went to sleep", "waits", out);
        if (section == PLAN_RETIRE)
            print_retire(results, out);
    }
    fprintf(out, "\n  ~ disturbed: quartiles more than %.0f %% apart, or most repetitions lost\n"
                 "    time to other programs      - not possible with this rival\n"
                 "  ratio, typed: of the best peer to cpool and to a typed pool\n"
                 "  spread: of cpool, between quartiles\n",
            RESULTS_SPREAD_MAX * 100.0);
    if (counters_absent() != NULL)
        fprintf(out, "  without cycles and instructions: no counters, %s\n", counters_absent());
    if (results->plan->milliseconds == 0)
        fprintf(out, "\n  Every cell ran one chunk, cold: these figures mean nothing.\n");
    print_disturbances(results, out);
    print_failures(results, out);
}
