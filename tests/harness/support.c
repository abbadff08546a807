/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support.c - shared by the check programs, without the library (support.h): the parts that need
 * Check and fork.
 *
 * Includes Check and POSIX.  Calls nothing of libcpool: a program that loads the
 * library with dlopen links this file and support_threads.c, too.
 */
#include "support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The exit status that automake takes for a skipped test. */
enum { SKIPPED = 77 };

/* Set in a forked child: there a failure ends the child, and its parent, which
 * reads the child's standard error, fails the test. */
static bool in_child;

/* --- Requirements --- */

void support_fail(const char *file, int line, const char *what)
{
    if (in_child) {
        fprintf(stderr, "%s:%d: %s\n", file, line, what);
        fflush(stderr);
        _exit(EXIT_FAILURE);
    }
    ck_abort_msg("%s:%d: %s", file, line, what);
    abort();
}

bool support_is_quick(void)
{
    return SUPPORT_SANITIZED || getenv("CPOOL_TEST_QUICK") != NULL;
}

/* --- Suites --- */

/* Each test runs in a process of its own, so the result it reports is shared. */
struct skips {
    int count;    /* tests that were skipped, in part or wholly */
    bool skipped; /* the one that runs was */
};

static struct skips *skips;

static void begin_test(void)
{
    skips->skipped = false;
}

static void skip_test(const char *name, const char *why)
{
    dprintf(STDOUT_FILENO, "SKIP: %s: %s\n", name, why);
}

void support_skip(const char *why)
{
    if (!skips->skipped)
        skip_test(tcase_name(), why);
    skips->count += !skips->skipped;
    skips->skipped = true;
}

int support_skip_all(const char *suite, const char *why)
{
    skip_test(suite, why);
    return SKIPPED;
}

static void share_skips(void)
{
    void *memory = mmap(NULL, sizeof(*skips), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        abort();
    skips = memory;
}

int support_run(const char *suite_name, const struct support_test *tests, size_t count)
{
    Suite *suite = suite_create(suite_name);
    SRunner *runner = srunner_create(suite);
    int failed;
    int run;

    share_skips();
    for (size_t i = 0; i < count; i++) {
        TCase *tcase = tcase_create(tests[i].test->name);

        if (tests[i].times == 0)
            skip_test(tests[i].test->name, "there is no way to do it here");
        tcase_set_timeout(tcase, 0);
        tcase_add_checked_fixture(tcase, begin_test, NULL);
        tcase_add_loop_test(tcase, tests[i].test, 0, (int)tests[i].times);
        suite_add_tcase(suite, tcase);
    }
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    run = srunner_ntests_run(runner);
    srunner_free(runner);
    if (skips->count > 0)
        printf("skipped %d of %d tests\n", skips->count, run);
    if (failed == 0 && count > 0 && run == skips->count)
        return SKIPPED;
    return failed == 0 && count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Precedes each piece of memory from support_lines: as long as all are in a list
 * no tool takes them for lost. */
struct piece {
    _Alignas(64) struct piece *next;
};

void *support_lines(size_t size)
{
    static struct piece *pieces;
    struct piece *piece = NULL;

    REQUIRE_EQUAL(posix_memalign((void **)&piece, _Alignof(struct piece), sizeof(*piece) + size),
                  0);
    piece->next = pieces;
    pieces = piece;
    return memset(piece + 1, 0, size);
}

/* --- Children --- */

/* Where the library is built for coverage, writes what this process has reached, which a
 * child that ends at once would lose. */
extern void __gcov_dump(void) __attribute__((__weak__));

static void abort_after_dump(int number)
{
    __gcov_dump();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

_Noreturn static void end_child(int status)
{
    if (__gcov_dump != NULL)
        __gcov_dump();
    _exit(status);
}

_Noreturn static void be_child(int to_parent, void (*body)(void *argument), void *argument)
{
    struct rlimit no_core = { 0, 0 };

    in_child = true;
    if (__gcov_dump != NULL)
        (void)signal(SIGABRT, abort_after_dump);
    (void)setrlimit(RLIMIT_CORE, &no_core);
    if (dup2(to_parent, STDERR_FILENO) < 0)
        _exit(EXIT_FAILURE);
    close(to_parent);
    body(argument);
    fflush(stderr);
    end_child(EXIT_SUCCESS);
}

/* Reads to the end, keeps the part that fits, and discards the rest. */
static void read_text(int from_child, struct support_outcome *outcome)
{
    char rest[512];

    outcome->length = 0;
    for (;;) {
        size_t room = sizeof(outcome->text) - 1 - outcome->length;
        ssize_t got = room > 0 ? read(from_child, outcome->text + outcome->length, room)
                               : read(from_child, rest, sizeof(rest));

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        if (room > 0)
            outcome->length += (size_t)got;
    }
    outcome->text[outcome->length] = '\0';
}

void support_fork(void (*body)(void *argument), void *argument,
                  struct support_outcome *outcome)
{
    int ends[2];
    pid_t child;

    REQUIRE_EQUAL(pipe(ends), 0);
    child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        close(ends[0]);
        be_child(ends[1], body, argument);
    }
    close(ends[1]);
    read_text(ends[0], outcome);
    close(ends[0]);
    while (waitpid(child, &outcome->status, 0) < 0)
        REQUIRE(errno == EINTR);
}

/* Fails with what the child wrote, so that the cause is seen. */
static void fail_with_outcome(const struct support_outcome *outcome, const char *expected)
{
    char what[1024];

    snprintf(what, sizeof(what), "child was to %s, but ended with status 0x%x; it wrote: %.800s",
             expected, (unsigned)outcome->status, outcome->text);
    support_fail(__FILE__, __LINE__, what);
}

void support_in_child(void (*body)(void *argument), void *argument)
{
    struct support_outcome outcome;

    support_fork(body, argument, &outcome);
    if (!WIFEXITED(outcome.status) || WEXITSTATUS(outcome.status) != EXIT_SUCCESS)
        fail_with_outcome(&outcome, "exit");
}

void support_require_abort(void (*body)(void *argument), void *argument,
                           struct support_outcome *outcome)
{
    support_fork(body, argument, outcome);
    if (!WIFSIGNALED(outcome->status) || WTERMSIG(outcome->status) != SIGABRT)
        fail_with_outcome(outcome, "abort");
}

/* --- What the process holds --- */

/* Reads the start of a file of the system's, without allocating.  Returns false
 * if there is none. */
static bool read_start(const char *path, char *text, size_t size)
{
    int file = open(path, O_RDONLY);
    ssize_t length;

    if (file < 0)
        return false;
    length = read(file, text, size - 1);
    close(file);
    REQUIRE(length > 0);
    text[length] = '\0';
    return true;
}

size_t support_address_space(void)
{
    char text[256];

    if (!read_start("/proc/self/statm", text, sizeof(text)))
        return 0;
    return (size_t)strtoull(text, NULL, 10) * support_page_size();
}

/* Counted page by page, because the figure in statm lags behind.  Pages of
 * files, which come and go as code is run for the first time, do not count. */
size_t support_resident(void)
{
    char text[2048];
    const char *line;

    if (!read_start("/proc/self/smaps_rollup", text, sizeof(text)))
        return 0;
    line = strstr(text, "\nAnonymous:");
    REQUIRE(line != NULL);
    return (size_t)strtoull(line + strlen("\nAnonymous:"), NULL, 10) * 1024;
}

size_t support_page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

size_t support_resident_inside(const void *address, size_t size)
{
    size_t page = support_page_size();
    uintptr_t first = ((uintptr_t)address + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)address + size) / page * page;
    size_t resident = 0;
    unsigned char *states;

    if (end <= first)
        return 0;
    states = support_calloc((end - first) / page, 1);
    REQUIRE_EQUAL(mincore((void *)first, end - first, (void *)states), 0);
    for (size_t i = 0; i < (end - first) / page; i++)
        resident += (states[i] & 1) != 0 ? page : 0;
    free(states);
    return resident;
}

size_t support_open_files(void)
{
    DIR *directory = opendir("/proc/self/fd");
    size_t count = 0;

    if (directory == NULL)
        return 0;
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

size_t support_writable(void)
{
    char text[4096];
    const char *line;

    if (!read_start("/proc/self/status", text, sizeof(text)))
        return 0;
    line = strstr(text, "\nVmData:");
    REQUIRE(line != NULL);
    return (size_t)strtoull(line + strlen("\nVmData:"), NULL, 10) * 1024;
}

void support_limit_writable(size_t more)
{
    struct rlimit limit;

    REQUIRE_EQUAL(getrlimit(RLIMIT_DATA, &limit), 0);
    limit.rlim_cur = more == SIZE_MAX ? limit.rlim_max : (rlim_t)(support_writable() + more);
    REQUIRE_EQUAL(setrlimit(RLIMIT_DATA, &limit), 0);
}

void support_limit_address_space(size_t more)
{
    struct rlimit limit;

    REQUIRE_EQUAL(getrlimit(RLIMIT_AS, &limit), 0);
    limit.rlim_cur = (rlim_t)(support_address_space() + more);
    REQUIRE_EQUAL(setrlimit(RLIMIT_AS, &limit), 0);
}
