/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_support.c - the test programs themselves: which exit status they end with
 * when tests pass, fail and are skipped, and that they say what was skipped.
 *
 * Includes support.h.  Its suites run in children, each with its own exit status,
 * so what decides is main, not Check.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

START_TEST(test_passes)
{
    SKIP_IF(false, "no reason");
    REQUIRE(true);
}
END_TEST

START_TEST(test_fails)
{
    REQUIRE(false);
}
END_TEST

START_TEST(test_is_skipped)
{
    SKIP("first reason");
    REQUIRE(false);
}
END_TEST

static void skip_part(void *unused)
{
    (void)unused;
    SKIP("second reason");
}

/* More than once, but it is one test. */
START_TEST(test_is_skipped_in_children)
{
    support_in_child(skip_part, NULL);
    support_in_child(skip_part, NULL);
}
END_TEST

static int run_all_kinds(void)
{
    const struct support_test tests[] = {
        ONCE(test_passes),
        ONCE(test_fails),
        ONCE(test_is_skipped),
    };

    return SUPPORT_RUN("all kinds", tests);
}

static int run_passed_and_skipped(void)
{
    const struct support_test tests[] = {
        TIMES(test_passes, 2),
        ONCE(test_is_skipped_in_children),
        TIMES(test_is_skipped, 2),
        TIMES(test_fails, 0),
    };

    return SUPPORT_RUN("passed and skipped", tests);
}

static int run_skipped(void)
{
    const struct support_test tests[] = {
        TIMES(test_is_skipped, 3),
        TIMES(test_is_skipped_in_children, 2),
    };

    return SUPPORT_RUN("skipped", tests);
}

/* Runs a suite in a child.  Requires its exit status, and words that it is to write. */
static bool ends(int (*run)(void), int status, const char *const *words)
{
    char text[8192];
    size_t length;
    FILE *file = tmpfile();
    pid_t child = file != NULL ? fork() : -1;
    int ended;

    if (child == 0) {
        (void)dup2(fileno(file), STDOUT_FILENO);
        exit(run());
    }
    if (child < 0 || waitpid(child, &ended, 0) != child)
        return false;
    rewind(file);
    length = fread(text, 1, sizeof(text) - 1, file);
    text[length] = '\0';
    fclose(file);
    for (; *words != NULL; words++) {
        if (strstr(text, *words) == NULL) {
            printf("does not say '%s', but: %s\n", *words, text);
            return false;
        }
    }
    if (WIFEXITED(ended) && WEXITSTATUS(ended) == status)
        return true;
    printf("status 0x%x instead of %d: %s\n", (unsigned)ended, status, text);
    return false;
}

int main(void)
{
    static const char *const failed[] = { "Failures: 1", "SKIP: test_is_skipped: first reason",
                                          "skipped 1 of 3 tests", NULL };
    static const char *const passed[] = { "Failures: 0", "SKIP: test_fails: ",
                                          "SKIP: test_is_skipped_in_children: second reason",
                                          "skipped 3 of 5 tests", NULL };
    static const char *const skipped[] = { "skipped 5 of 5 tests", NULL };

    if (!ends(run_all_kinds, EXIT_FAILURE, failed) ||
        !ends(run_passed_and_skipped, EXIT_SUCCESS, passed) || !ends(run_skipped, 77, skipped))
        return EXIT_FAILURE;
    return EXIT_SUCCESS;
}
