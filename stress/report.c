/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.c - how the stress program fails: one message, and the exact command
 * that repeats the failing episode first.
 *
 * Includes stress.h, build.h and the public header.  A run can end in these ways, each with
 * the command that repeats it:
 *   a violated expectation      stress_fail
 *   a mistake that the library reports though nobody made it
 *   a crash                     signal handlers, in plain builds
 *   a sanitizer's report        the sanitizer's death callback
 *   SIGINT or SIGTERM           signal handlers
 * The command is composed beforehand, because a handler may not even format text.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "build.h"
#include "stress.h"

#include <cpool.h>

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if STRESS_TSAN || STRESS_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

#define REPORT_TEXT_MAX 1024

static const char *report_program;
static double report_seconds;
static char report_replay[REPORT_TEXT_MAX];

/* Set by the first thread that fails.  The others wait silently for the end. */
static atomic_flag report_spoken = ATOMIC_FLAG_INIT;

/* The mistake that this thread makes on purpose, or 0. */
static _Thread_local int report_expected;
static _Thread_local bool report_came;

/* Async-signal-safe. */
static void report_write(const char *text)
{
    const char *end = text + strlen(text);

    while (text < end) {
        ssize_t written = write(STDERR_FILENO, text, (unsigned int)(end - text));

        if (written <= 0)
            break;
        text += written;
    }
}

/* Returns in the first thread that calls it, and never again. */
static void report_claim(void)
{
    if (atomic_flag_test_and_set_explicit(&report_spoken, memory_order_relaxed)) {
        for (;;)
            pause();
    }
}

_Noreturn void stress_fail(const char *format, ...)
{
    char text[REPORT_TEXT_MAX];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    report_claim();
    report_write("\nstress: FAILED: ");
    report_write(text);
    report_write("\n");
    report_write(report_replay);
    _exit(EXIT_FAILURE);
}

#if STRESS_TSAN || STRESS_ASAN
/* The sanitizer has reported already, and ends the program after this. */
static void report_death(void)
{
    report_write(report_replay);
}
#else
static void report_crash(int number)
{
    report_claim();
    report_write("\nstress: FAILED: killed by a signal (a crash or an abort)\n");
    report_write(report_replay);
    signal(number, SIG_DFL);
    raise(number);
}
#endif

/* A run that hangs can be interrupted, and repeated. */
static void report_interrupted(int number)
{
    report_write("\nstress: interrupted\n");
    report_write(report_replay);
    _exit(128 + number);
}

static void report_catch_all(void)
{
#if STRESS_TSAN || STRESS_ASAN
    __sanitizer_set_death_callback(report_death);
#else
    static const int numbers[] = {
        SIGSEGV, SIGILL, SIGFPE, SIGABRT,
#if defined(SIGBUS)
        SIGBUS,
#endif
    };

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        (void)signal(numbers[i], report_crash);
#endif
    (void)signal(SIGINT, report_interrupted);
    (void)signal(SIGTERM, report_interrupted);
}

/* The library reports a mistake of its caller. */
static void report_mistake(const cpool_error_t *error, void *context)
{
    (void)context;
    if (error->code != report_expected)
        stress_fail("the library reports: %s", error->text);
    report_came = true;
}

void report_expect(int code)
{
    report_expected = code;
    report_came = false;
}

bool report_expected_came(void)
{
    report_expected = 0;
    return report_came;
}

void report_init(const char *program, double seconds)
{
    report_program = program;
    report_seconds = seconds;
    report_catch_all();
    cpool_set_error_handler((cpool_error_handler_t){ report_mistake, NULL });
}

void report_episode(const struct episode *episode)
{
    snprintf(report_replay, sizeof report_replay,
             "stress: mode %s, episode %llu; to repeat it first, run\n"
             "stress:     %s --mode %s --seed 0x%llx --threads %u --seconds %g\n",
             episode->mode->name, (unsigned long long)episode->tally->episodes, report_program,
             episode->mode->name, (unsigned long long)episode->seed, episode->threads,
             report_seconds);
}

void report_in_child(void)
{
    static const char text[] = "stress: this was found in a child process\n";

    memcpy(report_replay, text, sizeof text);
}
