/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sampled.h - pools whose slots are all sampled, and accesses that trap.
 */
#ifndef CPOOL_TESTS_SAMPLED_H
#define CPOOL_TESTS_SAMPLED_H

#include "doors.h"

#include <setjmp.h>
#include <signal.h>

enum { CAPACITY = 500, SIZE = 48, PLACES = 64 };

struct thing {
    char bytes[SIZE];
};

static const unsigned kinds[] = {0, CPOOL_TRACKED, CPOOL_CHECKED};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* The program's own handler, which the library calls after its report. */
static _Thread_local sigjmp_buf back;
static _Thread_local volatile sig_atomic_t trapped;

static inline void leave_trap(int number, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    REQUIRE_EQUAL(number, SIGSEGV);
    trapped++;
    siglongjmp(back, 1);
}

static inline void catch_traps(void)
{
    const struct sigaction action = {.sa_sigaction = leave_trap, .sa_flags = SA_SIGINFO};

    REQUIRE_EQUAL(sigaction(SIGSEGV, &action, NULL), 0);
}

/* The address, of which compilers know nothing: the mistakes are on purpose. */
static inline void *hide_origin(const void *slot)
{
    static const void *volatile kept;

    kept = slot;
    return (void *)(uintptr_t)kept;
}

/* Whether a write to this byte traps. */
static inline bool write_traps(char *at)
{
    char *volatile hidden = hide_origin(at);

    trapped = 0;
    if (sigsetjmp(back, 1) == 0)
        *(volatile char *)hidden = 1;
    return trapped != 0;
}

static inline struct support_report require_trap(char *at)
{
    REQUIRE(write_traps(at));
    return REQUIRE_REPORT(CPOOL_ETRAP);
}

/* Whether the slot lies outside of the pool's range, as sampled ones do. */
static inline bool is_sampled(cpool_t *pool, const void *slot)
{
    void *first;
    size_t bytes = cpool_span(pool, &first);

    return (uintptr_t)slot - (uintptr_t)first >= bytes;
}

/* Two neighbours: the one begins where its page does, the other ends there. */
static inline void take_pair(cpool_t *pool, char **first, char **last, int door)
{
    *first = alloc_through(door, pool);
    *last = alloc_through(door, pool);
    REQUIRE(is_sampled(pool, *first) && is_sampled(pool, *last));
    if ((uintptr_t)*first % support_page_size() != 0) {
        char *kept = *first;

        *first = *last;
        *last = kept;
    }
    REQUIRE((uintptr_t)*first % support_page_size() == 0);
    REQUIRE((uintptr_t)(*last + SIZE) % support_page_size() == 0);
}

static inline cpool_t *begin_test(int i, unsigned flags, char **first, char **last)
{
    cpool_t *pool;

    catch_traps();
    support_capture_reports();
    pool = SUPPORT_CREATE(SIZE, CAPACITY, .sample = 1, .flags = flags);
    if (i >= 0)
        REQUIRE_EQUAL(cpool_cache_create(&handed, pool), 0);
    take_pair(pool, first, last, i < 0 ? 0 : i);
    return pool;
}

#endif /* CPOOL_TESTS_SAMPLED_H */
