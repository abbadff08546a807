/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * main.c - arguments, schedule, progress and summary of the stress program.
 *
 * Includes disturb.h.  The given time is divided among the chosen modes.  Each runs episodes, at
 * least one, until its share is used up.  The first episode of each mode has the given seed, each
 * further one a seed derived from the previous one, so the seed of a failed episode repeats it at
 * once.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "disturb.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* How long the threads of an episode run. */
#define EPISODE_NS_MIN 10000000
#define EPISODE_NS_MAX 120000000

/* The most threads: each needs two owner numbers. */
#define THREADS_MAX 1024

static const struct mode *const modes[] = {
    &mode_bound,  &mode_same,   &mode_pairs, &mode_crowd, &mode_churn,
    &mode_bulk,   &mode_mixed,
    &mode_caches, &mode_depot, &mode_fork,  &mode_lifecycle, &mode_transfer, &mode_checked,
    &mode_memory, &mode_objects, &mode_wait, &mode_recall,   &mode_full,   &mode_frame,
    &mode_tracked, &mode_typed, &mode_lanes, &mode_sized,
    &mode_priority, &mode_retire,
};

#define MODES (sizeof modes / sizeof modes[0])

struct settings {
    double seconds; /* for all modes together */
    unsigned int threads;
    uint64_t seed;
    bool chosen[MODES];
    bool quiet;
};

/* The result of a mode. */
struct result {
    struct tally tally;
    double seconds;
};

/* ---- Arguments ----------------------------------------------------------------- */

static void print_usage(FILE *out, const char *program)
{
    fprintf(out,
            "usage: %s [options]\n"
            "  -s, --seconds N    time for all modes together (10)\n"
            "  -t, --threads N    threads at once, 2 or more (twice the processors, 4 at least)\n"
            "  -S, --seed N       0x... or decimal (chosen from the clock)\n"
            "  -m, --mode A,B     modes to run, or all (all)\n"
            "  -l, --list         lists the modes and ends\n"
            "  -q, --quiet        no progress\n"
            "  -h, --help\n",
            program);
}

static void print_modes(void)
{
    for (size_t i = 0; i < MODES; i++) {
        printf("%-10s %s", modes[i]->name, modes[i]->purpose);
        if (modes[i]->unavailable != NULL)
            printf(" (not in this build: %s)", modes[i]->unavailable);
        putchar('\n');
    }
}

static _Noreturn void usage_error(const char *program, const char *what, const char *value)
{
    fprintf(stderr, "%s: %s: %s\n", program, what, value);
    print_usage(stderr, program);
    exit(2);
}

/* Marks the modes of a list separated by commas.  Returns false if one is unknown. */
static bool choose_modes(struct settings *settings, const char *list)
{
    memset(settings->chosen, 0, sizeof settings->chosen);
    while (*list != '\0') {
        size_t length = strcspn(list, ",");
        bool known = false;

        for (size_t i = 0; i < MODES; i++) {
            bool all = length == 3 && strncmp(list, "all", 3) == 0;

            if (all || (strlen(modes[i]->name) == length &&
                        strncmp(modes[i]->name, list, length) == 0))
                settings->chosen[i] = known = true;
        }
        if (!known)
            return false;
        list += length;
        list += *list == ',';
    }
    return true;
}

static double parse_seconds(const char *program, const char *text)
{
    char *end;
    double seconds = strtod(text, &end);

    if (end == text || *end != '\0' || !(seconds > 0) || seconds > 1e9)
        usage_error(program, "not a number of seconds", text);
    return seconds;
}

static uint64_t parse_number(const char *program, const char *what, const char *text,
                             uint64_t least, uint64_t most)
{
    char *end;
    unsigned long long number;

    errno = 0;
    number = strtoull(text, &end, 0);
    if (end == text || *end != '\0' || errno != 0 || number < least || number > most)
        usage_error(program, what, text);
    return number;
}

static uint64_t seed_from_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return random_mix((uint64_t)now.tv_sec * 1000000007u + (uint64_t)now.tv_nsec +
                      ((uint64_t)getpid() << 40));
}

static unsigned int default_threads(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);

    return processors < 2 ? 4 : processors > 64 ? 128 : (unsigned int)(2 * processors);
}

static void parse_arguments(struct settings *settings, int argc, char **argv)
{
    static const struct option options[] = {
        {"seconds", required_argument, NULL, 's'}, {"threads", required_argument, NULL, 't'},
        {"seed", required_argument, NULL, 'S'},    {"mode", required_argument, NULL, 'm'},
        {"list", no_argument, NULL, 'l'},          {"quiet", no_argument, NULL, 'q'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;

    while ((option = getopt_long(argc, argv, "s:t:S:m:lcqh", options, NULL)) != -1) {
        switch (option) {
        case 's':
            settings->seconds = parse_seconds(argv[0], optarg);
            break;
        case 't':
            settings->threads =
                (unsigned int)parse_number(argv[0], "not a number of threads", optarg, 2,
                                           THREADS_MAX);
            break;
        case 'S':
            settings->seed = parse_number(argv[0], "not a seed", optarg, 0, UINT64_MAX);
            break;
        case 'm':
            if (!choose_modes(settings, optarg))
                usage_error(argv[0], "no such mode", optarg);
            break;
        case 'l':
            print_modes();
            exit(0);
        case 'q':
            settings->quiet = true;
            break;
        case 'h':
            print_usage(stdout, argv[0]);
            exit(0);
        default:
            print_usage(stderr, argv[0]);
            exit(2);
        }
    }
    if (optind < argc)
        usage_error(argv[0], "unexpected argument", argv[optind]);
}

/* ---- Progress and summary -------------------------------------------------------- */

static double now_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* On a terminal a single line that is updated, elsewhere one line per mode. */
static void show_progress(const struct settings *settings, const struct mode *mode,
                          const struct result *result, double share, bool done)
{
    bool terminal = isatty(STDERR_FILENO);

    if (settings->quiet || (!terminal && !done))
        return;
    fprintf(stderr, "%s%-10s %5.1f of %.1f s  %6" PRIu64 " episodes  %12" PRIu64 " operations%s",
            terminal ? "\r" : "", mode->name, result->seconds, share, result->tally.episodes,
            result->tally.operations, done ? "\n" : "");
}

static void print_summary(const struct settings *settings, const struct result *results)
{
    struct tally sum = {0};

    printf("\n%-10s %8s %14s %14s %12s %12s\n", "mode", "episodes", "operations",
           "per second", "found dry", "exchanges");
    for (size_t i = 0; i < MODES; i++) {
        const struct tally *tally = &results[i].tally;

        if (!settings->chosen[i])
            continue;
        if (modes[i]->unavailable != NULL) {
            printf("%-10s left out: %s\n", modes[i]->name, modes[i]->unavailable);
            continue;
        }
        printf("%-10s %8" PRIu64 " %14" PRIu64 " %14.0f %12" PRIu64 " %12" PRIu64 "\n",
               modes[i]->name, tally->episodes, tally->operations,
               (double)tally->operations / results[i].seconds, tally->dry, tally->exchanges);
        sum.episodes += tally->episodes;
        sum.operations += tally->operations;
    }
    printf("stress: passed: %" PRIu64 " episodes, %" PRIu64 " operations, %u threads, "
           "seed 0x%" PRIx64 "\n",
           sum.episodes, sum.operations, settings->threads, settings->seed);
}

/* ---- Schedule -------------------------------------------------------------------- */

/* In most episodes the threads are stalled now and then, at any instruction. */
static void run_episode(struct episode *episode)
{
    bool stalls = !random_once_in(&episode->random, 4) && !STRESS_TSAN;

    report_episode(episode);
    if (stalls)
        disturb_start(random_next(&episode->random));
    episode->mode->run(episode);
    if (stalls)
        disturb_stop();
    episode->tally->episodes++;
}

static void run_mode(const struct settings *settings, const struct mode *mode,
                     struct result *result, double share)
{
    double start = now_seconds();
    uint64_t seed = settings->seed;

    do {
        struct episode episode = {
            .mode = mode,
            .seed = seed,
            .threads = settings->threads,
            .random = seed,
            .tally = &result->tally,
        };

        episode.nanoseconds = random_between(&episode.random, EPISODE_NS_MIN, EPISODE_NS_MAX);
        run_episode(&episode);
        seed = random_derive(seed, 0);
        result->seconds = now_seconds() - start;
        show_progress(settings, mode, result, share, false);
    } while (result->seconds < share);
    show_progress(settings, mode, result, share, true);
}

static size_t count_chosen(const struct settings *settings)
{
    size_t count = 0;

    for (size_t i = 0; i < MODES; i++)
        count += settings->chosen[i] && modes[i]->unavailable == NULL;
    return count;
}

int main(int argc, char **argv)
{
    struct settings settings = {.seconds = 10};
    struct result results[MODES] = {0};
    size_t count;

    settings.threads = default_threads();
    settings.seed = seed_from_clock();
    choose_modes(&settings, "all");
    parse_arguments(&settings, argc, argv);
    count = count_chosen(&settings);
    report_init(argv[0], settings.seconds);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("stress: %zu modes, %g seconds, %u threads, seed 0x%" PRIx64 "\n", count,
           settings.seconds, settings.threads, settings.seed);
    for (size_t i = 0; i < MODES; i++)
        if (modes[i]->prepare != NULL)
            modes[i]->prepare();
    for (size_t i = 0; i < MODES; i++)
        if (settings.chosen[i] && modes[i]->unavailable == NULL)
            run_mode(&settings, modes[i], &results[i], settings.seconds / (double)count);
    print_summary(&settings, results);
    return 0;
}
