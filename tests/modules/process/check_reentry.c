/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_reentry.c - what happens inside the calls that the library makes of the C
 * library: they may allocate, with a malloc that is itself made of a pool, and
 * other threads may fork at that moment.
 *
 * The linker sends these calls of the library's through this file (--wrap).  Also
 * includes thread.h, to try the lock.
 */
#include "support.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "process/thread.h"

/* How long a child may take, seconds, before it counts as hung. */
enum { PATIENCE = 60 };

/* --- Calls in between --- */

static void act_once(void (**action)(void))
{
    void (*now)(void) = *action;

    *action = NULL;
    if (now != NULL)
        now();
}

/* These may allocate, so the lock must not be held. */
static _Thread_local void (*in_key_create)(void);
static size_t calls_with_lock_free;
static size_t calls_with_lock_held;
static size_t keys; /* made and not deleted */

static void try_lock(void)
{
    if (cpi_try_lock()) {
        calls_with_lock_free++;
        cpi_unlock();
    } else {
        calls_with_lock_held++;
    }
}

int __real_pthread_key_create(pthread_key_t *key, void (*destructor)(void *));
int __wrap_pthread_key_create(pthread_key_t *key, void (*destructor)(void *));

int __wrap_pthread_key_create(pthread_key_t *key, void (*destructor)(void *))
{
    try_lock();
    keys++;
    act_once(&in_key_create);
    return __real_pthread_key_create(key, destructor);
}

int __real_pthread_key_delete(pthread_key_t key);
int __wrap_pthread_key_delete(pthread_key_t key);

int __wrap_pthread_key_delete(pthread_key_t key)
{
    keys--;
    return __real_pthread_key_delete(key);
}

int __real_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));

/* The system refuses the first call, which the library makes when it is loaded. */
static size_t atfork_calls;

int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    if (atfork_calls++ == 0)
        return ENOMEM;
    try_lock();
    return __real_pthread_atfork(prepare, parent, child);
}

/* The library's key, and the function that sets its thread's word. */
static pthread_key_t library_key;
static _Thread_local void (*in_setspecific)(void);
static _Thread_local bool setspecific_fails;

int __real_pthread_setspecific(pthread_key_t key, const void *value);
int __wrap_pthread_setspecific(pthread_key_t key, const void *value);

int __wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
    try_lock();
    library_key = key;
    act_once(&in_setspecific);
    return setspecific_fails ? ENOMEM : __real_pthread_setspecific(key, value);
}

/* --- Forks of another thread --- */

/* The actions of the other thread's child. */
static void (*in_child)(void);

/* The child may have every signal blocked, so no alarm ends it. */
static void require_end_of(pid_t child)
{
    static const struct timespec nap = { 0, 10000000 };
    int status = -1;

    for (int naps = 0; waitpid(child, &status, WNOHANG) == 0; naps++) {
        if (naps == PATIENCE * 100)
            kill(child, SIGKILL);
        nanosleep(&nap, NULL);
    }
    REQUIRE_EQUAL(status, 0);
}

static void *fork_once(void *unused)
{
    pid_t child = fork();

    REQUIRE(child >= 0);
    if (child == 0) {
        if (in_child != NULL)
            in_child();
        _exit(0);
    }
    require_end_of(child);
    return unused;
}

static void fork_in_another_thread(void)
{
    support_in_thread(fork_once, NULL);
}

/* --- The first pool --- */

TEST(first_create_calls_without_the_lock)
{
    cpool_t *pool = support_create_plain(16, 100);

    REQUIRE_EQUAL(atfork_calls, 2);
    REQUIRE_EQUAL(calls_with_lock_held, 0);
    REQUIRE_EQUAL(calls_with_lock_free, 2);
    support_destroy_empty(pool);
    pool = support_create_plain(16, 100);
    REQUIRE_EQUAL(calls_with_lock_free, 2);
    support_destroy_empty(pool);
}

/* Which is the first one, too, in the child of a fork at that moment. */
static void create_and_use(void)
{
    cpool_t *pool = support_create_plain(16, 100);

    support_destroy_whole(pool);
}

static void create_first(void (*in_between)(void))
{
    in_key_create = in_between;
    create_and_use();
    REQUIRE(in_key_create == NULL);
    create_and_use();
}

TEST_IN_CHILD(fork_during_first_create_lets_the_child_create)
{
    in_child = create_and_use;
    create_first(fork_in_another_thread);
}

static void *create_too(void *unused)
{
    create_and_use();
    return unused;
}

static void create_in_another_thread(void)
{
    support_in_thread(create_too, NULL);
}

TEST_IN_CHILD(first_create_by_two_threads_makes_both_pools)
{
    create_first(create_in_another_thread);
    REQUIRE_EQUAL(keys, 1);
}

/* --- A malloc made of a pool --- */

enum { CAPACITY = 10000 };

static cpool_t *heap;

static void alloc_and_free(void)
{
    void *slot = cpool_alloc(heap);

    REQUIRE(slot != NULL);
    cpool_free(heap, slot);
}

/* The thread's first use makes its end known, for which the C library allocates. */
static void *use_first(void *unused)
{
    in_setspecific = alloc_and_free;
    alloc_and_free();
    REQUIRE(in_setspecific == NULL);
    REQUIRE_EQUAL(support_stats(heap).caches, 1);
    return unused;
}

TEST(first_use_inside_the_first_use_makes_one_cache)
{
    heap = support_create_plain(16, CAPACITY);
    for (int i = 0; i < 50; i++) {
        support_in_thread(use_first, NULL);
        REQUIRE_EQUAL(support_stats(heap).caches, 0);
        REQUIRE_EQUAL(support_stats(heap).in_caches, 0);
        support_require_live(heap, 0);
    }
    REQUIRE_EQUAL(calls_with_lock_held, 0);
    support_destroy_whole(heap);
}

/* Then it is without a cache, and asks seldom.  The cache it had made meanwhile is gone. */
static void *use_refused(void *unused)
{
    setspecific_fails = true;
    in_setspecific = alloc_and_free;
    for (int i = 0; i < 100; i++)
        alloc_and_free();
    REQUIRE_EQUAL(support_stats(heap).caches, 0);
    setspecific_fails = false;
    while (support_stats(heap).caches == 0)
        alloc_and_free();
    return unused;
}

TEST(first_use_whose_end_cannot_be_noticed_makes_no_cache)
{
    heap = support_create_plain(16, CAPACITY);
    support_in_thread(use_refused, NULL);
    REQUIRE_EQUAL(support_stats(heap).caches, 0);
    support_destroy_whole(heap);
}

/* A destructor after the library's, in which the C library has forgotten all values,
 * as it has after the last round of destructors. */
static void use_after_all(void *unused)
{
    (void)unused;
    REQUIRE_EQUAL(__real_pthread_setspecific(library_key, NULL), 0);
    for (int i = 0; i < 10; i++)
        alloc_and_free();
    REQUIRE(cpi_thread_self() == NULL);
}

static pthread_key_t after;

static void *use_to_the_end(void *unused)
{
    alloc_and_free();
    REQUIRE_EQUAL(__real_pthread_setspecific(after, &after), 0);
    return unused;
}

TEST(use_after_all_destructors_makes_no_cache)
{
    heap = support_create_plain(16, CAPACITY);
    REQUIRE_EQUAL(__real_pthread_key_create(&after, use_after_all), 0);
    for (int i = 0; i < 20; i++) {
        support_in_thread(use_to_the_end, NULL);
        REQUIRE_EQUAL(support_stats(heap).caches, 0);
    }
    support_destroy_whole(heap);
}
