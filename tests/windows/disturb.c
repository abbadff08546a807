/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * disturb.c - stalls of running threads (stress/disturb.h) by SuspendThread, for Windows.
 *
 * Also the mode of the stress program that cannot be had there.
 *
 * Invariant: a thread is listed only while it is alive and between disturb_enter and
 * disturb_leave, and the list is locked while a thread is suspended.  So a suspended thread holds
 * no lock of this file.
 */
#include "disturb.h"

#define WIN32_LEAN_AND_MEAN 1
#include <windows.h>

#define DISTURB_LIST_MAX 256

/* A pause is followed by a stall of so many turns of other threads at most. */
#define DISTURB_TURNS_MAX 64

const struct mode mode_fork = {
    .name = "fork",
    .purpose = "children of fork go on with the pools of a process under load",
    .unavailable = "there is no fork",
};

struct disturbed {
    HANDLE thread;
    DWORD id;
};

static struct {
    SRWLOCK lock; /* for list, threads */
    struct disturbed list[DISTURB_LIST_MAX];
    size_t threads;
    _Atomic bool stop; /* relaxed: publishes nothing */
    uint64_t random;   /* the disturbing thread's */
    HANDLE thread;
} disturb = {.lock = SRWLOCK_INIT};

void disturb_enter(struct worker *worker)
{
    struct disturbed self = {.id = GetCurrentThreadId()};

    (void)worker;
    AcquireSRWLockExclusive(&disturb.lock);
    if (disturb.threads < DISTURB_LIST_MAX &&
        DuplicateHandle(GetCurrentProcess(), GetCurrentThread(), GetCurrentProcess(), &self.thread,
                        0, FALSE, DUPLICATE_SAME_ACCESS))
        disturb.list[disturb.threads++] = self;
    ReleaseSRWLockExclusive(&disturb.lock);
}

void disturb_leave(void)
{
    AcquireSRWLockExclusive(&disturb.lock);
    for (size_t i = 0; i < disturb.threads; i++) {
        if (disturb.list[i].id == GetCurrentThreadId()) {
            CloseHandle(disturb.list[i].thread);
            disturb.list[i] = disturb.list[--disturb.threads];
            break;
        }
    }
    ReleaseSRWLockExclusive(&disturb.lock);
}

/* There are no children. */
void disturb_in_child(void)
{
}

static void disturb_one(HANDLE thread)
{
    size_t turns = random_below(&disturb.random, DISTURB_TURNS_MAX);

    if (SuspendThread(thread) == (DWORD)-1)
        return;
    while (turns-- > 0)
        SwitchToThread();
    ResumeThread(thread);
}

static DWORD WINAPI disturb_run(void *unused)
{
    (void)unused;
    while (!atomic_load_explicit(&disturb.stop, memory_order_relaxed)) {
        AcquireSRWLockExclusive(&disturb.lock);
        if (disturb.threads > 0)
            disturb_one(disturb.list[random_below(&disturb.random, disturb.threads)].thread);
        ReleaseSRWLockExclusive(&disturb.lock);
        Sleep(0);
        SwitchToThread();
    }
    return 0;
}

void disturb_start(uint64_t seed)
{
    disturb.random = seed;
    atomic_store_explicit(&disturb.stop, false, memory_order_relaxed);
    disturb.thread = CreateThread(NULL, 0, disturb_run, NULL, 0, NULL);
    if (disturb.thread == NULL)
        stress_fail("no thread to stall others");
}

void disturb_stop(void)
{
    atomic_store_explicit(&disturb.stop, true, memory_order_relaxed);
    WaitForSingleObject(disturb.thread, INFINITE);
    CloseHandle(disturb.thread);
}
