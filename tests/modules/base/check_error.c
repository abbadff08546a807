/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_error.c - the reporter (lib/base/error.h): texts, handlers, and handlers
 * changed while others report.
 */
#include "support.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/error.h"

static void report(const char *text)
{
    cpool_error_t error;

    memset(&error, 0, sizeof(error));
    error.code = CPOOL_EFOREIGN;
    error.function = "check_error";
    error.name = "none";
    cpool_client_report(&error, "%s", text);
}

TEST(report_reaches_handler_with_all_members)
{
    struct support_report last;
    cpool_error_t error = { 0,      CPOOL_EGUARD, NULL,   "function", NULL,
                            "name", &last,        &error, 17,         &last, "details\n" };

    support_capture_reports();
    cpool_client_report(&error, "%d and %s", 42, "text");
    last = REQUIRE_REPORT(CPOOL_EGUARD);
    REQUIRE(strcmp(last.text, "42 and text") == 0);
    REQUIRE(strcmp(last.function, "function") == 0);
    REQUIRE(strcmp(last.name, "name") == 0);
    REQUIRE_EQUAL(last.size, sizeof(cpool_error_t));
    REQUIRE(last.address == &last && last.slot == &error && last.site == &last);
    REQUIRE(strcmp(last.details, "details\n") == 0);
    REQUIRE_EQUAL(last.index, 17);
}

static char longest[2 * CPI_REPORT_MAX];

TEST(report_too_long_is_cut)
{
    struct support_report last;

    support_capture_reports();
    for (size_t length = CPI_REPORT_MAX - 3; length < CPI_REPORT_MAX + 3; length++) {
        memset(longest, 'x', length);
        longest[length] = '\0';
        report(longest);
        last = REQUIRE_REPORT(CPOOL_EFOREIGN);
        REQUIRE_EQUAL(strlen(last.text),
                      length < CPI_REPORT_MAX ? length : (size_t)CPI_REPORT_MAX - 1);
    }
}

static void report_by_default(void *text)
{
    report(text);
}

TEST(report_by_default_writes_a_line_and_aborts)
{
    struct support_outcome outcome;
    char text[] = "what is wrong";

    support_require_abort(report_by_default, text, &outcome);
    REQUIRE(strncmp(outcome.text, "cpool: what is wrong\n", 21) == 0);
    SKIP_IF(SUPPORT_SANITIZED, "a stack follows under a sanitizer");
    REQUIRE_EQUAL(outcome.length, 21);
    memset(longest, 'x', sizeof(longest) - 1);
    support_require_abort(report_by_default, longest, &outcome);
    REQUIRE(outcome.length < CPI_REPORT_MAX + 16);
    REQUIRE(outcome.text[outcome.length - 1] == '\n');
}

static _Atomic size_t calls[2];
static _Atomic bool stop;

/* Each of the two is installed with itself as context. */
static void first(const cpool_error_t *error, void *context)
{
    (void)error;
    REQUIRE(context == &calls[0]);
    atomic_fetch_add_explicit(&calls[0], 1, memory_order_relaxed);
}

static void second(const cpool_error_t *error, void *context)
{
    (void)error;
    REQUIRE(context == &calls[1]);
    atomic_fetch_add_explicit(&calls[1], 1, memory_order_relaxed);
}

static void *report_until_stopped(void *unused)
{
    while (!atomic_load_explicit(&stop, memory_order_relaxed))
        report("again");
    return unused;
}

TEST(set_error_handler_returns_the_one_before)
{
    cpool_error_handler_t before;

    before = cpool_set_error_handler((cpool_error_handler_t){ first, &calls[0] });
    REQUIRE(before.report == NULL);
    before = cpool_set_error_handler((cpool_error_handler_t){ NULL, NULL });
    REQUIRE(before.report == first && before.arg == &calls[0]);
}

TEST(set_error_handler_while_others_report_keeps_pairs_together)
{
    pthread_t threads[2];

    cpool_set_error_handler((cpool_error_handler_t){ first, &calls[0] });
    for (int i = 0; i < 2; i++)
        threads[i] = support_start(report_until_stopped, NULL);
    for (size_t i = 0; i < SUPPORT_COUNT(20000, 5000); i++) {
        cpool_set_error_handler((cpool_error_handler_t){ second, &calls[1] });
        report("second");
        cpool_set_error_handler((cpool_error_handler_t){ first, &calls[0] });
        report("first");
    }
    atomic_store_explicit(&stop, true, memory_order_relaxed);
    for (int i = 0; i < 2; i++)
        support_join(threads[i]);
    cpool_set_error_handler((cpool_error_handler_t){ NULL, NULL });
    for (int i = 0; i < 2; i++)
        REQUIRE(atomic_load_explicit(&calls[i], memory_order_relaxed) >=
                SUPPORT_COUNT(20000, 5000));
}

static void write_much(void *unused)
{
    (void)unused;
    for (int i = 0; i < 10; i++)
        cpi_write_error(longest, sizeof(longest) - 1);
}

TEST(write_error_writes_all_of_it)
{
    struct support_outcome outcome;

    memset(longest, 'y', sizeof(longest) - 1);
    support_fork(write_much, NULL, &outcome);
    REQUIRE_EQUAL(outcome.status, 0);
    REQUIRE_EQUAL(outcome.length, 10 * (sizeof(longest) - 1));
    for (size_t i = 0; i < outcome.length; i++)
        REQUIRE(outcome.text[i] == 'y');
}

TEST(write_that_fails_leaves_errno)
{
    REQUIRE_EQUAL(close(STDERR_FILENO), 0);
    errno = ENOSPC;
    cpi_write_error("lost", 4);
    REQUIRE_EQUAL(errno, ENOSPC);
}
