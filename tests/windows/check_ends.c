/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_ends.c - the ends of threads and fibers of the system's own, of a plug-in that is unloaded,
 * and of the process.
 *
 * MODULE_STATIC is the plug-in's path.  It has a library of its own.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#define WIN32_LEAN_AND_MEAN 1
#include <windows.h>

#include "base/atomic.h"
#include "process/thread.h"
#include "module.h"

enum { THREADS = 8, ROUNDS = 40, EXITS = 20 };

struct module {
    HMODULE handle;
    int (*open)(void);
    size_t (*work)(size_t count);
    size_t (*cached)(void);
    int (*close)(void);
};

static struct module module;

static void find(const char *name, void *function)
{
    FARPROC address = GetProcAddress(module.handle, name);

    REQUIRE(address != NULL);
    memcpy(function, &address, sizeof(address));
}

static void load(void)
{
    module.handle = LoadLibraryA(MODULE_STATIC);
    REQUIRE(module.handle != NULL);
    find("module_open", &module.open);
    find("module_work", &module.work);
    find("module_cached", &module.cached);
    find("module_close", &module.close);
    REQUIRE_EQUAL(module.open(), 0);
}

static void unload(void)
{
    REQUIRE_EQUAL(module.close(), 0);
    REQUIRE(FreeLibrary(module.handle));
}

static void await(HANDLE object)
{
    REQUIRE_EQUAL(WaitForSingleObject(object, INFINITE), WAIT_OBJECT_0);
    CloseHandle(object);
}

static HANDLE start(LPTHREAD_START_ROUTINE body, void *argument)
{
    HANDLE thread = CreateThread(NULL, 0, body, argument, 0, NULL);

    REQUIRE(thread != NULL);
    return thread;
}

static DWORD WINAPI work(void *unused)
{
    (void)unused;
    REQUIRE_EQUAL(module.work(200), 200);
    return 0;
}

TEST(end_thread_of_the_system_returns_its_cache)
{
    load();
    for (int i = 0; i < THREADS; i++)
        await(start(work, NULL));
    REQUIRE_EQUAL(module.cached(), 0);
    unload();
}

struct ending {
    HANDLE worked;
    HANDLE end;
};

static DWORD WINAPI work_and_wait(void *argument)
{
    struct ending *ending = argument;

    REQUIRE_EQUAL(module.work(200), 200);
    REQUIRE(ReleaseSemaphore(ending->worked, 1, NULL));
    WaitForSingleObject(ending->end, INFINITE);
    return 0;
}

/* Their callbacks and the plug-in go at the same time. */
TEST(unload_while_threads_end_does_no_harm)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct ending ending = { CreateSemaphoreA(NULL, 0, THREADS, NULL),
                                 CreateEventA(NULL, TRUE, FALSE, NULL) };
        HANDLE threads[THREADS];

        load();
        for (int i = 0; i < THREADS; i++)
            threads[i] = start(work_and_wait, &ending);
        for (int i = 0; i < THREADS; i++)
            REQUIRE_EQUAL(WaitForSingleObject(ending.worked, INFINITE), WAIT_OBJECT_0);
        REQUIRE_EQUAL(module.close(), 0);
        REQUIRE(SetEvent(ending.end));
        for (int i = 0; i < round % 16; i++)
            SwitchToThread();
        REQUIRE(FreeLibrary(module.handle));
        for (int i = 0; i < THREADS; i++)
            await(threads[i]);
        CloseHandle(ending.worked);
        CloseHandle(ending.end);
    }
}

struct fibers {
    void *home;
    void *worker;
    HANDLE made;
    HANDLE deleted;
};

static void WINAPI work_in_fiber(void *argument)
{
    struct fibers *fibers = argument;

    REQUIRE_EQUAL(module.work(200), 200);
    SwitchToFiber(fibers->home);
}

static DWORD WINAPI use_fiber(void *argument)
{
    struct fibers *fibers = argument;

    fibers->home = ConvertThreadToFiber(NULL);
    fibers->worker = CreateFiber(0, work_in_fiber, fibers);
    REQUIRE(fibers->home != NULL && fibers->worker != NULL);
    SwitchToFiber(fibers->worker);
    REQUIRE(SetEvent(fibers->made));
    WaitForSingleObject(fibers->deleted, INFINITE);
    REQUIRE(module.cached() > 0);
    REQUIRE_EQUAL(module.work(200), 200);
    return 0;
}

/* The thread's cache outlives the fiber in which it was made, and goes with the thread. */
TEST(delete_fiber_from_another_thread_leaves_the_cache)
{
    struct fibers fibers = { .made = CreateEventA(NULL, TRUE, FALSE, NULL),
                             .deleted = CreateEventA(NULL, TRUE, FALSE, NULL) };
    HANDLE thread;

    load();
    thread = start(use_fiber, &fibers);
    REQUIRE_EQUAL(WaitForSingleObject(fibers.made, INFINITE), WAIT_OBJECT_0);
    DeleteFiber(fibers.worker);
    REQUIRE(SetEvent(fibers.deleted));
    await(thread);
    REQUIRE_EQUAL(module.cached(), 0);
    REQUIRE_EQUAL(module.work(1000), 1000);
    unload();
}

/* Bytes of address space that the process has asked for. */
static size_t private_bytes(void)
{
    MEMORY_BASIC_INFORMATION region;
    char *address = NULL;
    size_t bytes = 0;

    while (VirtualQuery(address, &region, sizeof(region)) == sizeof(region)) {
        if (region.State != MEM_FREE && region.Type == MEM_PRIVATE)
            bytes += region.RegionSize;
        address = (char *)region.BaseAddress + region.RegionSize;
    }
    return bytes;
}

/* Nor does the array of descriptors stay, which takes more than a megabyte. */
TEST(unloaded_plug_in_leaves_no_memory)
{
    size_t before = 0;

    for (int round = 0; round < 2 * THREADS; round++) {
        if (round == THREADS)
            before = private_bytes();
        load();
        REQUIRE_EQUAL(module.work(200), 200);
        unload();
    }
    REQUIRE(private_bytes() < before + ((size_t)1 << 20));
}

enum { POOLS = 200, READ_ENDS = 1000 };

static cpool_t *pools[POOLS];
static cpool_cache_t *volatile entry;
static volatile LONG done;

static DWORD WINAPI use_last_pool(void *unused)
{
    (void)unused;
    cpool_free(pools[POOLS - 1], cpool_alloc(pools[POOLS - 1]));
    entry = cpi_thread_entry(pools[POOLS - 1]);
    return 0;
}

static DWORD WINAPI read_count(void *unused)
{
    (void)unused;
    while (!done)
        (void)cpi_word_load(&entry->count, relaxed);
    return 0;
}

/* Others may be reading a count in it. */
TEST(table_of_a_thread_is_readable_while_it_ends)
{
    HANDLE reader;

    for (int i = 0; i < POOLS; i++)
        pools[i] = support_create_plain(64, 10);
    await(start(use_last_pool, NULL));
    reader = start(read_count, NULL);
    for (int i = 0; i < READ_ENDS; i++)
        await(start(use_last_pool, NULL));
    done = 1;
    await(reader);
    for (int i = 0; i < POOLS; i++)
        support_destroy_empty(pools[i]);
}

static DWORD WINAPI alloc_and_free(void *pool)
{
    while (pool != NULL)
        cpool_free(pool, cpool_alloc(pool));
    return 0;
}

static void go_on_for_a_while(void)
{
    Sleep(100);
}

/* Its handler is called after the library's destructors. */
__attribute__((__constructor__)) static void register_first(void)
{
    atexit(go_on_for_a_while);
}

static LONG CALLBACK fail(EXCEPTION_POINTERS *exception)
{
    (void)exception;
    TerminateProcess(GetCurrentProcess(), EXIT_FAILURE);
    return EXCEPTION_CONTINUE_SEARCH;
}

/* The library's destructors leave the words of other threads alone. */
TEST_TIMES(exit_beside_threads_that_alloc, EXITS)
{
    cpool_t *pool = support_create_plain(64, 1000);

    REQUIRE(AddVectoredExceptionHandler(1, fail) != NULL);
    for (int i = 0; i < THREADS; i++)
        CloseHandle(start(alloc_and_free, pool));
    Sleep(20);
    exit(EXIT_SUCCESS);
}
