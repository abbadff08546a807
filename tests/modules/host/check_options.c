/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_options.c - CPOOL_OPTIONS: its words (lib/host/options.h), and its effect on pools in
 * memory of the caller's.  (On other pools of a program that knows nothing of it:
 * check-mistakes.sh.)
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/options.h"

static char refused[256];

static void note_refused(const char *word, size_t length)
{
    size_t used = strlen(refused);

    REQUIRE(used + length + 2 < sizeof(refused));
    memcpy(refused + used, word, length);
    strcpy(refused + used + length, ";");
}

static struct cpi_options parse(const char *text)
{
    struct cpi_options options;

    refused[0] = '\0';
    cpi_options_parse(&options, text, note_refused);
    return options;
}

TEST(parse_adds_what_each_word_says)
{
    struct cpi_options options = parse("checked,no_poison,continue");

    REQUIRE_EQUAL(options.flags, CPOOL_CHECKED | CPOOL_NO_POISON);
    REQUIRE(options.leaks == 0 && options.goes_on == 1 && refused[0] == '\0');
}

TEST(parse_of_no_barrier_says_no_more_than_that)
{
    struct cpi_options options = parse("barrier=no");

    REQUIRE(options.no_barrier == 1 && refused[0] == '\0');
    REQUIRE(options.flags == 0 && options.leaks == 0);
    options = parse("leaks,barrier=no,checked");
    REQUIRE(options.no_barrier == 1 && options.leaks == 1 && refused[0] == '\0');
    options = parse("barrier,barrier=,barrier=yes,barrier=now,no");
    REQUIRE_EQUAL(options.no_barrier, 0);
    REQUIRE(strcmp(refused, "barrier;barrier=;barrier=yes;barrier=now;no;") == 0);
}

/* Neither a beginning of a word nor a longer one, nor a number where there is none. */
TEST(parse_names_what_it_does_not_understand)
{
    struct cpi_options options = parse("chec,checkedd,CHECKED,checked=1,=,=1,x,checked=,leaks");

    REQUIRE_EQUAL(options.flags, 0);
    REQUIRE_EQUAL(options.leaks, 1);
    REQUIRE(strcmp(refused, "chec;checkedd;CHECKED;checked=1;=;=1;x;checked=;") == 0);
}

/*
 * ---- In a program ---------------------------------------------------------
 */

/* Whether the pool is checked, found out by a double free. */
static bool finds_double_free(cpool_t *pool)
{
    void *slot = cpool_alloc(pool);

    cpool_free(pool, slot);
    support_capture_reports();
    cpool_free(pool, slot);
    return support_take_reports(NULL) == 1;
}

static cpool_config_t small_config(void)
{
    cpool_config_t config = support_config(24, 100);

    config.thread_caches = 4;
    config.name = "mine";
    return config;
}

/* With so much memory, or as much as is required. */
static void use_callers_memory(void *size)
{
    cpool_config_t config = small_config();

    REQUIRE_EQUAL(setenv("CPOOL_OPTIONS", "checked", 1), 0);
    if (size != NULL) /* an escape, and two bytes for the last of 31 */
        config.name = "mine\x1b" "[1m 567890123456789012345\xc3\xa9";
    config.memory_size = size != NULL ? *(const size_t *)size : cpool_memory_required(&config);
    config.memory = support_lines(config.memory_size);
    fprintf(stderr, finds_double_free(support_create(&config)) ? "found\n" : "not found\n");
}

TEST(memory_required_includes_the_checks)
{
    struct support_outcome outcome;

    support_fork(use_callers_memory, NULL, &outcome);
    REQUIRE_EQUAL(outcome.status, 0);
    REQUIRE(strcmp(outcome.text, "found\n") == 0);
}

static void print_required(void *unused)
{
    cpool_config_t config = small_config();

    (void)unused;
    fprintf(stderr, "%zu", cpool_memory_required(&config));
}

/* A program may know the size of its array from elsewhere. */
TEST(memory_too_small_for_the_checks_is_left_unchecked)
{
    struct support_outcome outcome;
    size_t required;

    support_fork(print_required, NULL, &outcome);
    REQUIRE(sscanf(outcome.text, "%zu", &required) == 1);
    support_fork(use_callers_memory, &required, &outcome);
    REQUIRE_EQUAL(outcome.status, 0);
    REQUIRE(strcmp(outcome.text,
                   "cpool: CPOOL_OPTIONS: pool 'mine?[1m 567890123456789012345?' stays as its "
                   "program made it, because with them memory_size is less than "
                   "cpool_memory_required says\nnot found\n") == 0);
}
