/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_refused.c - what Windows lacks is refused with a code, and leaves nothing behind.
 *
 * A test for each row of the second table under "Windows" in doc/PORTING.md that names this file.
 */
#include "support.h"

#include <signal.h>
#include <string.h>

#include <cpool/lanes.h>
#include <cpool/object.h>
#include <cpool/sized.h>

#include "host/os.h"

#define WIN32_LEAN_AND_MEAN 1
#include <windows.h>

struct item {
    char bytes[64];
};

CPOOL_DECLARE(items, struct item);
CPOOL_DEFINE(items, struct item, .capacity = 100, .flags = CPOOL_HUGE_PAGES);

static cpool_config_t with_huge_pages(void)
{
    cpool_config_t config = support_config(64, 100);

    config.flags = CPOOL_HUGE_PAGES;
    return config;
}

TEST(huge_pages_refused_by_pools)
{
    cpool_config_t config = with_huge_pages();
    cpool_lanes_config_t shared = CPOOL_LANES_CONFIG_INIT;
    cpool_lanes_t *lanes = NULL;
    cpool_t *pool = NULL;

    REQUIRE_EQUAL(cpool_create(&pool, &config), CPOOL_EFLAGS);
    REQUIRE(pool == NULL);
    REQUIRE_EQUAL(cpool_memory_required(&config), 0);
    shared.slots = &config;
    shared.lanes = 2;
    REQUIRE_EQUAL(cpool_lanes_create(&lanes, &shared), CPOOL_EFLAGS);
    REQUIRE(lanes == NULL);
    REQUIRE_EQUAL(items_open(NULL), CPOOL_EFLAGS);
    support_capture_reports();
    REQUIRE(items_alloc() == NULL);
    REQUIRE(items_alloc() == NULL && items_pool() == NULL);
    REQUIRE_REPORT(CPOOL_EFLAGS); /* once */
    support_release_reports();
    config.flags = 0;
    pool = support_create(&config);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}

TEST(huge_pages_refused_by_what_stands_on_pools)
{
    cpool_objects_config_t objects = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_sized_config_t sizes = CPOOL_SIZED_CONFIG_INIT;
    cpool_objects_t *pool = NULL;
    cpool_sized_t *blocks = NULL;

    type.object_size = 64;
    objects.type = &type;
    objects.max_capacity = 100;
    objects.flags = CPOOL_HUGE_PAGES;
    REQUIRE_EQUAL(cpool_objects_create(&pool, &objects), CPOOL_EFLAGS);
    REQUIRE(pool == NULL);
    sizes.flags = CPOOL_HUGE_PAGES;
    REQUIRE_EQUAL(cpool_sized_create(&blocks, &sizes), CPOOL_EFLAGS);
    REQUIRE(blocks == NULL);
}

enum { SLOT = 4096, SLOTS = 100, ROOM = 1 << 20 };

/* Memory that VirtualAlloc did not make: of the program's image, or of a mapping. */
static char *memory_of(int kind)
{
    static _Alignas(SLOT) char image[ROOM];
    HANDLE mapping;
    char *view;

    if (kind == 0)
        return image;
    mapping = CreateFileMappingA(INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0, ROOM, NULL);
    REQUIRE(mapping != NULL);
    view = MapViewOfFile(mapping, FILE_MAP_WRITE, 0, 0, ROOM);
    REQUIRE(view != NULL);
    CloseHandle(mapping);
    return view;
}

/* No pages of the caller's are given back, so the system is not asked to take such ones. */
TEST_TIMES(trim_of_other_memory_gives_nothing_back, 2)
{
    cpool_config_t config = support_config(SLOT, SLOTS);
    void *slots[SLOTS];
    cpool_t *pool;

    config.memory = memory_of(_i);
    config.memory_size = ROOM;
    pool = support_create(&config);
    for (int round = 0; round < 2; round++) {
        REQUIRE_EQUAL(support_take_all(pool, slots), SLOTS);
        for (int i = 0; i < SLOTS; i++)
            memset(slots[i], i, SLOT);
        for (int i = 0; i < SLOTS; i++)
            REQUIRE(((char *)slots[i])[0] == (char)i && ((char *)slots[i])[SLOT - 1] == (char)i);
        cpool_free_bulk(pool, slots, SLOTS);
        REQUIRE_EQUAL(cpool_trim(pool), 0);
    }
    support_destroy_empty(pool);
}

/* All slots are taken before the first pool is made. */
TEST(create_without_slots_of_threads_refused)
{
    cpool_config_t config = support_config(64, 10);
    cpool_t *pool = NULL;
    DWORD last = TLS_OUT_OF_INDEXES;
    DWORD slot;

    while ((slot = TlsAlloc()) != TLS_OUT_OF_INDEXES)
        last = slot;
    for (int round = 0; round < 2; round++) {
        REQUIRE_EQUAL(cpool_create(&pool, &config), CPOOL_ENOMEM);
        REQUIRE(pool == NULL);
    }
    for (DWORD back = 0; back < 3; back++)
        REQUIRE(TlsFree(last - back));
    pool = support_create(&config);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}

static DWORD refused_thread;

/* In place of the system's, for the library as well: a thread's slots beyond the first 64 take
 * memory, and there is none. */
static BOOL WINAPI set_value(DWORD index, void *value)
{
    union {
        FARPROC procedure;
        BOOL(WINAPI *set)(DWORD index, void *value);
    } real = {.procedure = GetProcAddress(GetModuleHandleA("kernel32.dll"), "TlsSetValue")};

    return (index < 64 || GetCurrentThreadId() != refused_thread) && real.set(index, value);
}

BOOL(WINAPI *__imp_TlsSetValue)(DWORD index, void *value) = set_value;

static void end_thread(int signal)
{
    ExitThread((DWORD)signal);
}

static DWORD WINAPI alloc_without_slots(void *pool)
{
    refused_thread = GetCurrentThreadId();
    cpool_free(pool, cpool_alloc(pool));
    return 0;
}

/* GCC has the library's words of a thread there. */
TEST(thread_without_memory_for_late_slots_ends_with_a_message)
{
    DWORD code = 0;
    HANDLE thread;
    cpool_t *pool;

    while (TlsAlloc() < 64)
        ;
    pool = support_create_plain(64, 10);
    support_require_obtainable(pool, 0);
    REQUIRE(signal(SIGABRT, end_thread) != SIG_ERR);
    thread = CreateThread(NULL, 0, alloc_without_slots, pool, 0, NULL);
    REQUIRE(thread != NULL);
    REQUIRE_EQUAL(WaitForSingleObject(thread, INFINITE), WAIT_OBJECT_0);
    REQUIRE(GetExitCodeThread(thread, &code));
#if defined(__clang__)
    REQUIRE_EQUAL(code, 0);
#else
    REQUIRE_EQUAL(code, SIGABRT);
#endif
    CloseHandle(thread);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}

/* In place of the system's: these calls are refused, counted from 1. */
static struct {
    int calls, from, to;
} free_calls, alloc_calls;

static BOOL is_refused(int *calls, int from, int to)
{
    int call = ++*calls;

    return call >= from && call < to;
}

static BOOL WINAPI free_memory(LPVOID address, SIZE_T size, DWORD kind)
{
    return !is_refused(&free_calls.calls, free_calls.from, free_calls.to) &&
           VirtualFreeEx(GetCurrentProcess(), address, size, kind);
}

static LPVOID WINAPI alloc_memory(LPVOID address, SIZE_T size, DWORD kind, DWORD protection)
{
    if (is_refused(&alloc_calls.calls, alloc_calls.from, alloc_calls.to))
        return NULL;
    return VirtualAllocEx(GetCurrentProcess(), address, size, kind, protection);
}

BOOL(WINAPI *__imp_VirtualFree)(LPVOID, SIZE_T, DWORD) = free_memory;
LPVOID(WINAPI *__imp_VirtualAlloc)(LPVOID, SIZE_T, DWORD, DWORD) = alloc_memory;

/* Memory goes back, and comes again as zeroes, in steps of 1 MiB. */
enum { STEP = 1 << 20, STEPS = 3, BYTES = STEPS * STEP };

static void purge_some(int steps)
{
    char *memory;

    free_calls.calls = alloc_calls.calls = 0;
    memory = cpi_os_map_at(0, BYTES); /* the first call of its kind */
    REQUIRE(memory != NULL);
    memset(memory, 1, BYTES);
    REQUIRE_EQUAL(cpi_os_purge(memory, BYTES), (size_t)steps * STEP);
    for (int i = 0; i < BYTES; i++)
        REQUIRE(memory[i] == (i >= steps * STEP));
    memset(memory, 2, BYTES);
    cpi_os_release(memory, BYTES);
}

TEST_TIMES(purge_that_is_refused_says_how_far_it_came, STEPS)
{
    free_calls.from = _i + 1;
    free_calls.to = _i + 2;
    purge_some(_i);
}

TEST_TIMES(purge_asks_again_for_memory_that_is_short, STEPS)
{
    alloc_calls.from = _i + 2;
    alloc_calls.to = _i + 102;
    purge_some(STEPS);
    REQUIRE_EQUAL(alloc_calls.calls, 1 + STEPS + 100);
}
