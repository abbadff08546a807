/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_files.c - results for programs: CSV and JSON.
 *
 * Includes report.h and machine.h.  Both hold every line with every contestant
 * and metric.  JSON also has the reasons of absence, the single samples, the
 * machine and the version that really ran under each name.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "machine.h"
#include "report.h"

static const char *const orders[] = { "lifo", "fifo", "random" };
static const char *const statuses[] = { "done", "absent", "failed" };

/* A contestant that never ran has no answers: its absence is the status. */
static struct summary summarise(const struct results *results, size_t line, size_t contestant,
                                const char *metric)
{
    const struct contestant *who = &results->contestants[contestant];
    struct summary summary = { CELL_ABSENT, who->absent, 0, 0.0, 0.0, 0.0, 0.0, false };

    if (who->absent[0] == '\0')
        summary = results_summary(results, line, contestant, metric);
    return summary;
}

static void print_csv_key(const struct results *results, size_t line, size_t contestant,
                          enum cell_status status, FILE *out)
{
    const struct plan_line *what = &results->plan->lines[line];

    fprintf(out, "%s,%zu,%s,%zu,%u,%s,%s", what->workload->name, what->cell.parameter,
            orders[what->cell.order], what->cell.slot_size, what->cell.threads,
            results->contestants[contestant].name, statuses[status]);
}

/* A row for every metric, and one without figures for contestants that did not run. */
static void print_csv_rows(const struct results *results, size_t line, size_t contestant,
                           FILE *out)
{
    const struct cell_answer *answer = results_answer(results, line, contestant, 0);
    struct summary summary = summarise(results, line, contestant, "ns");
    size_t cpool = results_find(results, "cpool");
    unsigned i;

    if (summary.status != CELL_DONE) {
        print_csv_key(results, line, contestant, summary.status, out);
        fprintf(out, ",ns,0,,,,,\n");
        return;
    }
    for (i = 0; i < answer->count; i++) {
        const char *metric = answer->metrics[i].name;

        summary = results_summary(results, line, contestant, metric);
        print_csv_key(results, line, contestant, CELL_DONE, out);
        fprintf(out, ",%s,%u,%.6g,%.6g,%.6g,%.4g,%d\n", metric, summary.samples, summary.median,
                summary.low, summary.high, results_ratio(results, line, contestant, cpool, metric),
                summary.disturbed);
    }
}

void report_csv(const struct results *results, FILE *out)
{
    size_t line, i;

    fprintf(out, "workload,parameter,order,slot_size,threads,rival,status,metric,samples,"
                 "median,low,high,ratio_to_cpool,disturbed\n");
    for (line = 0; line < results->plan->count; line++)
        for (i = 0; i < results->contestant_count; i++)
            if (results->contestants[i].chosen)
                print_csv_rows(results, line, i, out);
}

/* A string with its quotation marks. */
static void print_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            fprintf(out, "\\u%04x", (unsigned)(unsigned char)*text);
        else
            fputc(*text, out);
    }
    fputc('"', out);
}

static void print_machine(FILE *out)
{
    struct machine_fact facts[MACHINE_FACTS];
    size_t count = machine_describe(facts), i;

    fprintf(out, "  \"machine\": {");
    for (i = 0; i < count; i++) {
        fprintf(out, "%s\n    ", i == 0 ? "" : ",");
        print_string(out, facts[i].name);
        fprintf(out, ": ");
        print_string(out, facts[i].text);
    }
    fprintf(out, "\n  },\n");
}

static void print_contestants(const struct results *results, FILE *out)
{
    const char *separator = "";
    size_t i;

    fprintf(out, "  \"rivals\": [");
    for (i = 0; i < results->contestant_count; i++) {
        const struct contestant *contestant = &results->contestants[i];

        if (!contestant->chosen)
            continue;
        fprintf(out, "%s\n    { \"name\": ", separator);
        print_string(out, contestant->name);
        fprintf(out, ", \"version\": ");
        print_string(out, contestant->version);
        fprintf(out, ", \"absent\": ");
        print_string(out, contestant->absent);
        fprintf(out, " }");
        separator = ",";
    }
    fprintf(out, "\n  ],\n");
}

/* Every metric of every repetition: [{"ns": 1.4, ...}, ...]. */
static void print_samples(const struct results *results, size_t line, size_t contestant,
                          FILE *out)
{
    unsigned repetition, i;

    fprintf(out, ", \"samples\": [");
    for (repetition = 0; repetition < results_repetitions(results, line); repetition++) {
        const struct cell_answer *answer =
            results_answer(results, line, contestant, repetition);

        fprintf(out, "%s{ ", repetition == 0 ? "" : ", ");
        for (i = 0; i < answer->count; i++)
            fprintf(out, "%s\"%s\": %.6g", i == 0 ? "" : ", ", answer->metrics[i].name,
                    answer->metrics[i].value);
        fprintf(out, " }");
    }
    fprintf(out, "]");
}

static void print_result(const struct results *results, size_t line, size_t contestant, FILE *out)
{
    struct summary summary = summarise(results, line, contestant, "ns");

    fprintf(out, "        { \"rival\": ");
    print_string(out, results->contestants[contestant].name);
    fprintf(out, ", \"status\": \"%s\"", statuses[summary.status]);
    if (summary.status == CELL_DONE) {
        fprintf(out, ", \"ns\": %.4g, \"low\": %.4g, \"high\": %.4g, \"ratio\": %.4g, "
                     "\"disturbed\": %s",
                summary.median, summary.low, summary.high,
                results_ratio(results, line, contestant, results_find(results, "cpool"), "ns"),
                summary.disturbed ? "true" : "false");
        print_samples(results, line, contestant, out);
    } else {
        fprintf(out, ", \"reason\": ");
        print_string(out, summary.text);
    }
    fprintf(out, " }");
}

static void print_line(const struct results *results, size_t line, FILE *out)
{
    const struct plan_line *what = &results->plan->lines[line];
    const char *separator = "";
    size_t i;

    fprintf(out, "    { \"label\": ");
    print_string(out, what->label);
    fprintf(out, ", \"workload\": \"%s\", \"parameter\": %zu, \"order\": \"%s\",\n"
                 "      \"slot_size\": %zu, \"threads\": %u, \"unit\": \"%s\", \"results\": [",
            what->workload->name, what->cell.parameter, orders[what->cell.order],
            what->cell.slot_size, what->cell.threads, what->workload->unit);
    for (i = 0; i < results->contestant_count; i++) {
        if (!results->contestants[i].chosen)
            continue;
        fprintf(out, "%s\n", separator);
        print_result(results, line, i, out);
        separator = ",";
    }
    fprintf(out, "\n      ] }");
}

void report_json(const struct results *results, FILE *out)
{
    size_t line;

    fprintf(out, "{\n");
    print_machine(out);
    print_contestants(results, out);
    fprintf(out, "  \"repetitions\": %u,\n  \"milliseconds\": %u,\n  \"lines\": [",
            results->plan->repetitions, results->plan->milliseconds);
    for (line = 0; line < results->plan->count; line++) {
        fprintf(out, "%s\n", line == 0 ? "" : ",");
        print_line(results, line, out);
    }
    fprintf(out, "\n  ]\n}\n");
}
