/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_traps.c - a trap of a sampled slot is reported, and reaches the program's own filter of
 * unhandled exceptions, which ends the process.
 */
#include "support.h"

#define WIN32_LEAN_AND_MEAN 1
#include <windows.h>

enum { BYTES = 48, CALL_BYTES = 64, CAUGHT = 42 };

static cpool_t *pool;
static char *volatile slot;
static size_t number;     /* of the slot */
static char *volatile at; /* where the trap is */
static const char *where; /* as the report says it, or NULL: it is not reported */

/* Neither this nor give_slot ends with its call, so that the return address lies in it. */
__attribute__((__noinline__)) static void take_slot(void)
{
    slot = cpool_alloc(pool);
}

__attribute__((__noinline__)) static void give_slot(void)
{
    cpool_free(pool, slot);
    at = slot;
}

/* A line "allocated 5 us ago by thread 32 at program.exe+0x1234", with a place in the function. */
static void require_call(const char *line, void (*function)(void))
{
    uintptr_t offset = (uintptr_t)function - (uintptr_t)GetModuleHandleA(NULL);
    unsigned long long place = 0;
    unsigned long thread = 0;

    REQUIRE(line != NULL);
    REQUIRE_EQUAL(sscanf(strstr(line, "thread "), "thread %lu at %*[^+]+%llx", &thread, &place), 2);
    REQUIRE_EQUAL(thread, GetCurrentThreadId());
    REQUIRE(place - offset < CALL_BYTES);
}

static void require_told(void)
{
    struct support_report report = REQUIRE_REPORT(CPOOL_ETRAP);
    const char *freed = strstr(report.details, "cpool:     freed ");

    REQUIRE(report.pool == pool && report.address == at);
    REQUIRE(report.slot == slot && report.index == number);
    REQUIRE(strstr(report.details, where) != NULL);
    require_call(strstr(report.details, "cpool:     allocated "), take_slot);
    REQUIRE((freed != NULL) == (at == slot));
    if (freed != NULL)
        require_call(freed, give_slot);
}

/* The filter, which is called after the report. */
static LONG WINAPI end_process(EXCEPTION_POINTERS *pointers)
{
    const EXCEPTION_RECORD *record = pointers->ExceptionRecord;

    REQUIRE_EQUAL(record->ExceptionCode, EXCEPTION_ACCESS_VIOLATION);
    REQUIRE(record->ExceptionInformation[1] == (ULONG_PTR)at);
    if (where != NULL)
        require_told();
    else
        REQUIRE_NO_REPORT();
    _exit(CAUGHT);
}

/* Takes a slot that ends where a page does.  The filter is set before there are samples, or
 * after. */
static void take_sample(const void *late)
{
    if (late == NULL)
        SetUnhandledExceptionFilter(end_process);
    support_capture_reports();
    pool = SUPPORT_CREATE(BYTES, 100, .sample = 1);
    if (late != NULL)
        SetUnhandledExceptionFilter(end_process);
    do
        take_slot();
    while ((uintptr_t)(slot + BYTES) % support_page_size() != 0);
    number = cpool_index(pool, slot);
}

static void read_freed(void *late)
{
    take_sample(late);
    give_slot();
    where = "which has been freed";
    (void)*(volatile char *)at;
}

static void write_beyond(void *late)
{
    take_sample(late);
    at = slot + BYTES;
    where = " is 0 bytes past the end of slot ";
    *(volatile char *)at = 1;
}

static void write_elsewhere(void *late)
{
    take_sample(late);
    at = (char *)64;
    *(volatile char *)at = 1;
}

static void (*const accesses[])(void *) = {read_freed, write_beyond, write_elsewhere};

/* The status says that the filter was called.  A process that hangs has another one. */
TEST_TIMES(trap_reaches_the_filter_after_its_report, 6)
{
    struct support_outcome outcome;

    support_fork(accesses[_i % 3], _i < 3 ? NULL : &outcome, &outcome);
    fputs(outcome.text, stderr);
    REQUIRE_EQUAL(outcome.status, CAUGHT);
}
