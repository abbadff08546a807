/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_inherit.c - the locks of the library inherit priorities: a thread that holds one is not
 * kept from the processor by threads of a lower priority than those that wait for the lock.  In
 * the child of a fork the library's lock is free, whoever waited for it.
 *
 * Includes thread.h and report.h, to hold the locks.
 */
#include "support.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <cpool/pools.h>

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

enum { LOCKS = sizeof locks / sizeof locks[0] };

/*
 * ---- Three threads on one processor ---------------------------------------------
 *
 * The low one holds the lock, and the high one waits for it.  The one between them computes until
 * the high one has had the lock: if the low one stays low, that is never.
 */

enum { LOW = 10, BETWEEN, HIGH, JUDGE, TRIES = 200, NAP = 10000000 };

static size_t which;
static atomic_int holds, wanted, over;

static void *be_low(void *unused)
{
    locks[which].lock();
    atomic_store(&holds, 1);
    while (!atomic_load(&wanted) && !atomic_load(&over))
        ;
    locks[which].unlock();
    return unused;
}

static void *be_between(void *unused)
{
    while (!atomic_load(&over))
        ;
    return unused;
}

static void *be_high(void *unused)
{
    atomic_store(&wanted, 1);
    locks[which].lock();
    locks[which].unlock();
    atomic_store(&over, 1);
    return unused;
}

static bool run_at(int priority)
{
    struct sched_param how = { .sched_priority = priority };

    return pthread_setschedparam(pthread_self(), SCHED_FIFO, &how) == 0;
}

/* The thread begins with the judge's priority, and so does not run before it has its own. */
static pthread_t start_at(int priority, support_thread_t *body)
{
    pthread_t thread = support_start(body, NULL);

    REQUIRE_EQUAL(pthread_setschedprio(thread, priority), 0);
    return thread;
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

    REQUIRE(run_at(JUDGE));
    threads[0] = start_at(LOW, be_low);
    REQUIRE(comes(&holds));
    threads[1] = start_at(HIGH, be_high);
    threads[2] = start_at(BETWEEN, be_between);
    served = comes(&over);
    atomic_store(&over, 1);
    for (int i = 0; i < 3; i++)
        support_join(threads[i]);
    return served;
}

static void contend(void *unused)
{
    (void)unused;
    REQUIRE(is_served());
}

/* One processor for this process and its children.  Tells whether threads may have priorities. */
static bool have_priorities(void)
{
#if defined(__linux__)
    struct sched_param usual = { 0 };
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    return run_at(JUDGE) && pthread_setschedparam(pthread_self(), SCHED_OTHER, &usual) == 0 &&
           sched_setaffinity(0, sizeof one, &one) == 0;
#else
    return false;
#endif
}

static bool served_at_first = true;

TEST_TIMES(holder_runs_at_the_priority_of_those_that_wait, LOCKS)
{
    SKIP_IF(!have_priorities(), "this system lets nobody set priorities here");
    REQUIRE(served_at_first);
    which = (size_t)_i;
    pool = support_create_plain(8, 100);
    support_in_child(contend, NULL);
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

/*
 * ---- Fork ------------------------------------------------------------------------
 */

static bool count_pool(const cpool_view_t *view, void *arg)
{
    (void)view, (void)arg;
    return true;
}

static void *want_lock(void *unused)
{
    while (!atomic_load(&over))
        (void)cpool_each(count_pool, NULL);
    return unused;
}

/* In the child the threads that waited for the lock are gone, and its holder has another number. */
static void use_lock(void *unused)
{
    (void)unused;
    alarm(20);
    support_destroy_empty(support_create_plain(8, 100));
    atomic_store(&over, 1);
    support_in_thread(want_lock, NULL);
}

TEST(fork_while_threads_wait_for_the_lock_frees_it)
{
    pthread_t threads[2];

    pool = support_create_plain(8, 100);
    for (int i = 0; i < 2; i++)
        threads[i] = support_start(want_lock, NULL);
    for (int i = 0; i < 20; i++)
        support_in_child(use_lock, NULL);
    atomic_store(&over, 1);
    for (int i = 0; i < 2; i++)
        support_join(threads[i]);
    support_destroy_empty(pool);
}

/* The library's lock as it is before any fork, which makes it anew.  Each test runs in a child. */
int main(void)
{
    struct sched_param usual = { 0 };

    if (have_priorities()) {
        served_at_first = is_served();
        REQUIRE_EQUAL(pthread_setschedparam(pthread_self(), SCHED_OTHER, &usual), 0);
    }
    atomic_store(&over, 0);
    atomic_store(&wanted, 0);
    atomic_store(&holds, 0);
    return support_run_all("inherit");
}
