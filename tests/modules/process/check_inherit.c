/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_inherit.c - the locks of the library inherit priorities: a thread that holds one is not
 * kept from the processor by threads of a lower priority than those that wait for the lock.  In
 * the child of a fork the library's lock is free, whoever waited for it.
 */
#include "support.h"

#include <stdatomic.h>
#include <unistd.h>

#include "pool/report.h"
#include "process/thread.h"

#if defined(__linux__)
#include <sys/syscall.h>
#endif

static cpool_t *pool;

static void lock_waiters(void)
{
    cpi_mutex_lock(&cpi_pool_at(pool)->waiters.lock);
}

static void unlock_waiters(void)
{
    cpi_mutex_unlock(&cpi_pool_at(pool)->waiters.lock);
}

static const struct {
    void (*lock)(void);
    void (*unlock)(void);
} locks[] = { { cpi_lock, cpi_unlock }, { lock_waiters, unlock_waiters } };

/* --- Three threads on one processor ---
 *
 * The low one holds the lock, and the high one waits for it.  The one between them computes until
 * the high one has had the lock: if the low one stays low, that is never.  Each begins with the
 * judge's priority, and so does not get far before it has its own. */

enum { LOW = 10, BETWEEN, HIGH, JUDGE, TRIES = 200, NAP = 10000000 };

static size_t which;
static atomic_int holds, wanted, over;

static void *be_low(void *unused)
{
    REQUIRE(support_set_priority(LOW));
    locks[which].lock();
    atomic_store(&holds, 1);
    while (!atomic_load(&wanted) && !atomic_load(&over))
        ;
    locks[which].unlock();
    return unused;
}

static void *be_between(void *unused)
{
    REQUIRE(support_set_priority(BETWEEN));
    while (!atomic_load(&over))
        ;
    return unused;
}

static void *be_high(void *unused)
{
    REQUIRE(support_set_priority(HIGH));
    atomic_store(&wanted, 1);
    locks[which].lock();
    locks[which].unlock();
    atomic_store(&over, 1);
    return unused;
}

/* Waits until it says so, for two seconds at most. */
static bool comes(atomic_int *word)
{
    static const struct timespec nap = { 0, NAP };

    for (int i = 0; i < TRIES && !atomic_load(word); i++)
        nanosleep(&nap, NULL);
    return atomic_load(word) != 0;
}

/* Whether the high thread gets the lock. */
static bool is_served(void)
{
    pthread_t threads[3];
    bool served;

    holds = wanted = over = 0;
    REQUIRE(support_set_priority(JUDGE));
    threads[0] = support_start(be_low, NULL);
    REQUIRE(comes(&holds));
    threads[1] = support_start(be_high, NULL);
    threads[2] = support_start(be_between, NULL);
    served = comes(&over);
    atomic_store(&over, 1);
    for (int i = 0; i < 3; i++)
        support_join(threads[i]);
    REQUIRE(support_set_priority(0));
    return served;
}

static bool served_at_first = true;

TEST_TIMES(holder_runs_at_the_priority_of_those_that_wait, SUPPORT_LENGTH(locks))
{
    SKIP_IF(SUPPORT_SANITIZED, "sanitizers have locks of their own");
    SKIP_IF(!CPI_LOCKS_INHERIT, "locks of this C library do not inherit");
    SKIP_IF(!support_has_priorities(), "this system lets nobody set priorities here");
    REQUIRE(served_at_first);
    which = (size_t)_i;
    pool = support_create_plain(8, 100);
    REQUIRE(is_served());
    support_destroy_empty(pool);
}

/* Without a right to priorities: the kernel knows the holder of such a lock by its number, which is
 * therefore the lock's word (futex(2)). */
TEST(lock_names_its_holder)
{
#if defined(__linux__) && defined(__GLIBC__) && !CPI_THREAD_SANITIZER
    int word;

    pool = support_create_plain(8, 100);
    lock_waiters();
    memcpy(&word, (const void *)&cpi_pool_at(pool)->waiters.lock, sizeof word);
    unlock_waiters();
    REQUIRE_EQUAL(word, (int)syscall(SYS_gettid));
    support_destroy_empty(pool);
#endif
}

/* --- Fork --- */

static void *want_lock(void *unused)
{
    for (;;) {
        cpi_lock();
        cpi_unlock();
    }
    return unused;
}

/* In the child the thread that waited for the lock is gone, and its holder has another number. */
static void use_lock(void *unused)
{
    (void)unused;
    alarm(20);
    support_destroy_empty(support_create_plain(8, 100));
}

TEST(fork_while_a_thread_waits_for_the_lock_frees_it)
{
    (void)support_start(want_lock, NULL);
    for (int i = 0; i < 20; i++)
        support_in_child(use_lock, NULL);
}

/* The library's lock as it is before any fork, which makes it anew.  Each test runs in a child. */
int main(void)
{
    if (!SUPPORT_SANITIZED && support_has_priorities())
        served_at_first = is_served();
    return support_run_all("inherit");
}
