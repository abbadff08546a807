/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support.h - what the check programs share: requirements that may be tested a
 * million times and from any thread, capture of error reports, runs in a forked
 * child, and measures of what the process holds.
 *
 * Includes the public API only, so that black-box tests can use all of it.  The
 * sections "Pools" and "Error reports" are in support_pool.c, which calls the
 * library.  The others do not: support_threads.c has what each system does alike, and
 * support.c and tests/windows/support.c have the rest.
 *
 * Which assertion to use: REQUIRE, everywhere.  Check's own ck_assert_* notes
 * every assertion that holds in a file.  In a loop over all slots of a pool the
 * test would measure that.
 */
#ifndef CPOOL_TESTS_SUPPORT_H
#define CPOOL_TESTS_SUPPORT_H

#if defined(HAVE_CONFIG_H)
#include <config.h>
#endif

#include <check.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cpool.h>

#include "figures.h"
#include "random.h"

/* --- Requirements --- */

/* Ends the test as failed unless the condition holds.  Any thread, and a forked
 * child of a test as well. */
#define REQUIRE(condition)                                                     \
    ((condition) ? (void)0 : support_fail(__FILE__, __LINE__, #condition))

/* As REQUIRE(a == b) for integers, and shows both. */
#define REQUIRE_EQUAL(a, b)                                                    \
    support_require_equal((long long)(a), (long long)(b), __FILE__, __LINE__, #a " == " #b)

_Noreturn void support_fail(const char *file, int line, const char *what);
void support_require_equal(long long a, long long b, const char *file, int line,
                           const char *what);

/* --- How much --- */

/* Whether a sanitizer was compiled in: it changes what memory a process holds. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SUPPORT_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                \
    __has_feature(memory_sanitizer)
#define SUPPORT_SANITIZED 1
#endif
#endif
#if !defined(SUPPORT_SANITIZED)
#define SUPPORT_SANITIZED 0
#endif

/* Whether it is ThreadSanitizer, which does not let the child of a process with
 * several threads start threads of its own. */
#if defined(__SANITIZE_THREAD__)
#define SUPPORT_THREAD_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SUPPORT_THREAD_SANITIZED 1
#endif
#endif
#if !defined(SUPPORT_THREAD_SANITIZED)
#define SUPPORT_THREAD_SANITIZED 0
#endif

/* The number of an array's elements. */
#define SUPPORT_LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* How often to do something: `full`, or `reduced` under a sanitizer and when
 * CPOOL_TEST_QUICK is set in the environment (for Valgrind). */
#define SUPPORT_COUNT(full, reduced) (support_is_quick() ? (reduced) : (full))

bool support_is_quick(void);

/* Zeroed memory, never NULL. */
void *support_calloc(size_t count, size_t size);

/* Zeroed memory that starts at a cache line, and is there until the process
 * ends. */
void *support_lines(size_t size);

/* --- Suites --- */

/* Begins a test, which runs once or more often, with _i from 0.  It makes itself known before
 * main, which is that of main.c if the program has none. */
#define TEST(name) TEST_TIMES(name, 1)
#define TEST_TIMES(name, times)                                                \
    static const TTest *name;                                                  \
    __attribute__((__constructor__)) static void name##_is_known(void)         \
    {                                                                          \
        support_add_test(name, (times), __LINE__);                             \
    }                                                                          \
    START_TEST(name)

void support_add_test(const TTest *test, size_t times, int line);

/* As support_run for all tests of the program, in the order of their lines. */
int support_run_all(const char *suite);

/* A test in a list of its own, and how many times it runs. */
struct support_test {
    const TTest *test;
    size_t times;
};

/* Ends the test as skipped, because its subject cannot be had here.  Any child of the
 * test may say so, too, and ends its own part. */
#define SKIP(why)                                                              \
    do {                                                                       \
        support_skip(why);                                                     \
        return;                                                                \
    } while (0)
#define SKIP_IF(condition, why)                                                \
    do {                                                                       \
        if (condition)                                                         \
            SKIP(why);                                                         \
    } while (0)

void support_skip(const char *why);

/* Says that a suite is left out, and why.  Returns the exit status for main. */
int support_skip_all(const char *suite, const char *why);

/* Makes a suite of these tests, without time limits, for which there is tests/harness/limit.
 * Runs it, and returns the exit status for main, that of a skipped test if all were
 * skipped.  A test that is to run 0 times counts as skipped. */
int support_run(const char *suite, const struct support_test *tests, size_t count);

/* --- Pools --- */

/* A valid configuration with the defaults for everything else. */
cpool_config_t support_config(size_t slot_size, size_t capacity);

/* Flags that this system takes, for tests that try one pool after the other. */
static inline void support_set_flags(cpool_config_t *config, unsigned flags)
{
    config->flags = flags;
#if defined(_WIN32)
    config->flags &= ~CPOOL_HUGE_PAGES;
#endif
}

/* Creates a pool that must come to be. */
cpool_t *support_create(const cpool_config_t *config);
/* With more members of its configuration: SUPPORT_CREATE(64, 100, .flags = CPOOL_CHECKED). */
#define SUPPORT_CREATE(slots_of, so_many, ...)                                        \
    support_create(&(cpool_config_t){.size = sizeof(cpool_config_t), .name = "tested", \
                                     .slot_size = (slots_of), .capacity = (so_many), __VA_ARGS__})
cpool_t *support_create_plain(size_t slot_size, size_t capacity);
cpool_t *support_create_kind(size_t slot_size, size_t capacity, unsigned flags);
cpool_t *support_create_named(const char *name, size_t slot_size, size_t capacity, unsigned flags);

/* Destroys a pool in which nothing may be live, or, before that, takes all its slots and gives
 * them back. */
void support_destroy_empty(cpool_t *pool);
void support_destroy_whole(cpool_t *pool);

/* The oldest pool of this name: a cpool_t if `kind` is 0, and otherwise the owner of this
 * CPOOL_VIEW_*.  NULL if there is none. */
void *support_find(unsigned kind, const char *name);

/* Destroys a pool.  Requires that the code says whether slots were live, and returns
 * how many were. */
size_t support_destroy(cpool_t *pool);

struct figures support_stats(const cpool_t *pool);

/* The live slots of a tracked pool, by an iterator. */
size_t support_count_live(const cpool_t *pool);

/* Requires that the counts of slots add up, and that `live` are live. */
void support_require_live(const cpool_t *pool, size_t live);

/* Takes every slot that can be had into slots, which has room for the capacity.
 * Requires each to be one of the pool's and none to be had twice, and that no
 * more can be had.  Returns how many there were. */
size_t support_take_all(cpool_t *pool, void **slots);

/* Requires that all but `live` slots can be taken, and gives them back. */
void support_require_obtainable(cpool_t *pool, size_t live);

/* --- Error reports --- */

/* The last report to the error handler. */
struct support_report {
    size_t size;
    int code;
    char text[512];
    char function[64];
    char name[64];
    cpool_t *pool;
    const void *address;
    const void *slot;
    size_t index;
    const void *site;
    char details[4096];
};

/* From now on reports are counted and kept, and do not abort.  Forgets what was
 * captured before. */
void support_capture_reports(void);

/* Restores the default handler. */
void support_release_reports(void);

/* The number of reports since the last call of this or of REQUIRE_REPORT, and
 * the last one made. */
size_t support_take_reports(struct support_report *last);

/* Requires exactly one report, of this code, since the last call, or none. */
#define REQUIRE_REPORT(code) support_require_report((code), __FILE__, __LINE__)
#define REQUIRE_NO_REPORT() REQUIRE(support_take_reports(NULL) == 0)

struct support_report support_require_report(int code, const char *file, int line);

/* --- Threads --- */

typedef void *support_thread_t(void *argument);

pthread_t support_start(support_thread_t *body, void *argument);
void support_join(pthread_t thread);

/* Gives the calling thread this priority of SCHED_FIFO, or with 0 the usual one.  False where the
 * system does not permit it. */
bool support_set_priority(int priority);

/* Whether it does.  If so, the process and its children stay on one processor from now on. */
bool support_has_priorities(void);

/* Runs the body in a thread of its own and waits for its end. */
void support_in_thread(support_thread_t *body, void *argument);

/* A door that several threads reach and wait at, until it is opened. */
struct support_door {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t waiting;
    bool open;
};

void support_door_init(struct support_door *door);
void support_door_wait(struct support_door *door);
void support_door_await(struct support_door *door, size_t waiting);
void support_door_open(struct support_door *door);

/* --- Children --- */

/* How a forked child ended, and its output on standard error. */
struct support_outcome {
    int status; /* as from waitpid */
    size_t length;
    char text[16384];
};

/* Runs the body in a forked child, which then ends with status 0. */
void support_fork(void (*body)(void *argument), void *argument,
                  struct support_outcome *outcome);

/* As support_fork, and requires that the child reaches its end. */
void support_in_child(void (*body)(void *argument), void *argument);

/* Begins a test that runs in a child. */
#define TEST_IN_CHILD(name)                                                    \
    static void name##_in_child(void *unused);                                 \
    TEST(name)                                                                 \
    {                                                                          \
        support_in_child(name##_in_child, NULL);                               \
    }                                                                          \
    static void name##_in_child(void *unused __attribute__((__unused__)))

/* As support_fork, and requires that the child is ended by abort(). */
void support_require_abort(void (*body)(void *argument), void *argument,
                           struct support_outcome *outcome);

/* --- What the process holds --- */

/* Bytes of address space, bytes of anonymous memory that are resident, open
 * files.  0 where the system does not tell.  Comparing such figures then shows
 * nothing, and fails nothing. */
size_t support_address_space(void);
size_t support_resident(void);
size_t support_open_files(void);

size_t support_page_size(void);

/* Where the page begins on which this address lies. */
void *support_page_of(const void *address);

/* Bytes of the whole pages inside this range that are resident. */
size_t support_resident_inside(const void *address, size_t size);

/* Puts a limit on the address space this much above what is in use now. */
void support_limit_address_space(size_t more);

/* Bytes of private memory that may be written, and a limit on them this much above the
 * present, or, for SIZE_MAX, none. */
size_t support_writable(void);
void support_limit_writable(size_t more);

#endif /* CPOOL_TESTS_SUPPORT_H */
