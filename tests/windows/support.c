/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support.c - tests/harness/support.h for Windows, where there is no fork.
 *
 * A program of tests starts itself once more for each test, with the test's number in the
 * environment.  A body that may abort runs in one more process: it runs the same test, as far
 * as that body.  A body that is to come to its end runs in the test's own process.  How much the
 * process holds is not known.
 */
#include "support.h"

#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define WIN32_LEAN_AND_MEAN 1
#include <windows.h>
#include <psapi.h>

enum { SKIPPED = 77, ABORTED = 3, HUNG = 124 };

static int bodies;  /* in processes of their own, so far */
static int skipped; /* tests */

/* A number of the environment, or -1. */
static int number_of(const char *name)
{
    const char *text = getenv(name);

    return text != NULL ? atoi(text) : -1;
}

static void set_number(const char *name, int number)
{
    char text[64];

    snprintf(text, sizeof(text), "%s=%d", name, number);
    (void)_putenv(text);
}

static void remove_number(const char *name)
{
    char text[64];

    snprintf(text, sizeof(text), "%s=", name);
    (void)_putenv(text);
}

void support_fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    fflush(stderr);
    _exit(EXIT_FAILURE);
}

bool support_is_quick(void)
{
    return true;
}

/* Named by the program that started this one. */
void support_skip(const char *why)
{
    const char *name = getenv("CPOOL_TEST_NAME");

    printf("SKIP: %s: %s\n", name != NULL ? name : "", why);
    fflush(stdout);
    _exit(SKIPPED);
}

int support_skip_all(const char *suite, const char *why)
{
    printf("SKIP: %s: %s\n", suite, why);
    return SKIPPED;
}

/* Runs this program again, for WINDOWS_LIMIT seconds at most.  Returns its exit status. */
static int run_self(void)
{
    int limit = number_of("WINDOWS_LIMIT");
    DWORD status = HUNG;
    int tries = 0;
    HANDLE process;

    fflush(NULL);
    /* Now and then Wine starts no process while the machine is busy. */
    while ((process = (HANDLE)_spawnl(_P_NOWAIT, _pgmptr, _pgmptr, NULL)) == (HANDLE)-1 &&
           tries++ < 10)
        Sleep(500);
    REQUIRE((intptr_t)process != -1);
    if (WaitForSingleObject(process, limit > 0 ? (DWORD)limit * 1000 : INFINITE) == WAIT_OBJECT_0)
        (void)GetExitCodeProcess(process, &status);
    else
        (void)TerminateProcess(process, HUNG);
    CloseHandle(process);
    return (int)status;
}

static void run_one(const struct support_test *tests, size_t count, int number)
{
    for (size_t i = 0; i < count; i++) {
        if (number < (int)tests[i].times) {
            tests[i].test->run(number);
            fflush(NULL);
            _exit(EXIT_SUCCESS);
        }
        number -= (int)tests[i].times;
    }
    _exit(EXIT_FAILURE);
}

/* Each time of a test. */
static int run_times(const struct support_test *test, int number)
{
    int failed = 0;

    (void)_putenv_s("CPOOL_TEST_NAME", test->test->name);
    for (size_t time = 0; time < test->times; time++) {
        int status;

        set_number("CPOOL_TEST_NUMBER", number + (int)time);
        status = run_self();
        skipped += status == SKIPPED;
        failed += status != SKIPPED && status != EXIT_SUCCESS;
        if (status != SKIPPED && status != EXIT_SUCCESS)
            printf("%s, %d: FAILED, status %d\n", test->test->name, (int)time, status);
    }
    return failed;
}

/* Why a test of this name cannot be had, or NULL. */
static const char *why_not(const char *name)
{
    static const char *const reasons[][2] = {
        { "fork", "there is no fork" },
        { "_in_a_child", "there is no fork" },
        { "handle_of_ended_cache", "a thread ends after the destructors of its keys" },
        { "late_exit_handler", "the exit handlers of a DLL run when it is unloaded" },
        { "thread_keys", "the keys of threads are no slots of the system's" },
    };

    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if (strstr(name, reasons[i][0]) != NULL)
            return reasons[i][1];
    return NULL;
}

/* Says at its end what Check says. */
int support_run(const char *suite, const struct support_test *tests, size_t count)
{
    int number = number_of("CPOOL_TEST_NUMBER");
    int failed = 0;
    int run = 0;

    if (number >= 0)
        run_one(tests, count, number);
    for (size_t i = 0; i < count; i++) {
        int times = (int)tests[i].times;

        if (times == 0) {
            printf("SKIP: %s: there is no way to do it here\n", tests[i].test->name);
        } else if (why_not(tests[i].test->name) != NULL) {
            printf("SKIP: %s: %s\n", tests[i].test->name, why_not(tests[i].test->name));
            skipped += times;
        } else {
            failed += run_times(&tests[i], run);
        }
        run += times;
    }
    printf("%s\n%d%%: Checks: %d, Failures: %d, Errors: 0\n", suite,
           run > 0 ? (run - failed) * 100 / run : 0, run, failed);
    if (skipped > 0)
        printf("skipped %d of %d tests\n", skipped, run);
    if (failed == 0 && run == skipped)
        return SKIPPED;
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

void *support_lines(size_t size)
{
    void *memory = NULL;

    REQUIRE_EQUAL(posix_memalign(&memory, 64, size), 0);
    return memset(memory, 0, size);
}

/* --- Children --- */

void support_in_child(void (*body)(void *argument), void *argument)
{
    body(argument);
}

/* Where the output of a body goes: the processes of later bodies read it, too. */
static void name_output(char *name, size_t size)
{
    snprintf(name, size, "output.%d.%d.txt", number_of("CPOOL_TEST_PROCESS"), bodies);
}

static void read_outcome(const char *name, struct support_outcome *outcome)
{
    int file = _open(name, _O_RDONLY | _O_BINARY);
    int length;

    REQUIRE(file >= 0);
    length = _read(file, outcome->text, sizeof(outcome->text) - 1);
    _close(file);
    outcome->length = length > 0 ? (size_t)length : 0;
    outcome->text[outcome->length] = '\0';
}

static int run_captured(const char *name)
{
    int before = _dup(2);
    int status;
    int file;

    file = _open(name, _O_WRONLY | _O_CREAT | _O_TRUNC | _O_BINARY, _S_IREAD | _S_IWRITE);
    REQUIRE(before >= 0 && file >= 0);
    fflush(stderr);
    REQUIRE_EQUAL(_dup2(file, 2), 0);
    _close(file);
    status = run_self();
    REQUIRE_EQUAL(_dup2(before, 2), 0);
    _close(before);
    return status;
}

void support_fork(void (*body)(void *argument), void *argument, struct support_outcome *outcome)
{
    int wanted = number_of("CPOOL_TEST_BODY");
    char status[64];
    char name[64];

    if (bodies == wanted) {
        (void)_setmode(2, _O_BINARY);
        body(argument);
        fflush(NULL);
        _exit(EXIT_SUCCESS);
    }
    snprintf(status, sizeof(status), "CPOOL_TEST_STATUS_%d", bodies);
    if (wanted < 0) {
        if (bodies == 0)
            set_number("CPOOL_TEST_PROCESS", _getpid());
        set_number("CPOOL_TEST_BODY", bodies);
        name_output(name, sizeof(name));
        set_number(status, run_captured(name));
        remove_number("CPOOL_TEST_BODY");
    }
    name_output(name, sizeof(name));
    outcome->status = number_of(status);
    if (outcome->status == SKIPPED)
        _exit(SKIPPED);
    read_outcome(name, outcome);
    bodies++;
}

void support_require_abort(void (*body)(void *argument), void *argument,
                           struct support_outcome *outcome)
{
    support_fork(body, argument, outcome);
    if (outcome->status != ABORTED)
        support_fail(__FILE__, __LINE__, outcome->text);
}

/* --- What the process holds --- */

size_t support_address_space(void)
{
    return 0;
}

size_t support_resident(void)
{
    return 0;
}

size_t support_open_files(void)
{
    return 0;
}

size_t support_writable(void)
{
    return 0;
}

size_t support_page_size(void)
{
    return 4096;
}

size_t support_resident_inside(const void *address, size_t size)
{
    size_t page = support_page_size();
    uintptr_t first = ((uintptr_t)address + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)address + size) / page * page;
    size_t resident = 0;

    for (; first < end; first += page) {
        PSAPI_WORKING_SET_EX_INFORMATION state = { .VirtualAddress = (void *)first };

        REQUIRE(K32QueryWorkingSetEx(GetCurrentProcess(), &state, sizeof(state)));
        resident += state.VirtualAttributes.Valid ? page : 0;
    }
    return resident;
}

void support_limit_address_space(size_t more)
{
    (void)more;
    support_skip("no limit of address space");
}

void support_limit_writable(size_t more)
{
    (void)more;
    support_skip("no limit of memory");
}
