/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_recall_stopped.c - empty means empty, with a thread that is blocked in a
 * system call, or stopped anywhere, inside the library too.
 *
 * Includes crew.h.  Every test runs with the kernel's barrier, where there is
 * one, and in a child that the kernel refuses it.
 */
#include "crew.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CAPACITY = 1000 };

/*
 * ---- Blocked -------------------------------------------------------------
 */

struct blocked {
    struct hold hold;
    int ends[2];
    sem_t full; /* posted when the cache is */
};

static void *block(void *argument)
{
    struct blocked *blocked = argument;
    char byte;

    hold_take(&blocked->hold, SIZE_MAX);
    hold_free_all(&blocked->hold);
    REQUIRE_EQUAL(sem_post(&blocked->full), 0);
    REQUIRE_EQUAL(read(blocked->ends[0], &byte, 1), 1);
    hold_take(&blocked->hold, 100);
    hold_free_all(&blocked->hold);
    return NULL;
}

static void blocked_thread(unsigned flags)
{
    cpool_t *pool = crew_create(flags, CAPACITY, 0);
    struct blocked blocked;
    pthread_t thread;

    hold_init(&blocked.hold, pool);
    REQUIRE_EQUAL(pipe(blocked.ends), 0);
    REQUIRE_EQUAL(sem_init(&blocked.full, 0, 0), 0);
    thread = support_start(block, &blocked);
    REQUIRE_EQUAL(sem_wait(&blocked.full), 0);
    for (int round = 0; round < 10; round++)
        crew_require_obtainable_here(pool);
    REQUIRE_EQUAL(write(blocked.ends[1], "", 1), 1);
    support_join(thread);
    hold_fini(&blocked.hold);
    close(blocked.ends[0]);
    close(blocked.ends[1]);
    REQUIRE_EQUAL(sem_destroy(&blocked.full), 0);
    support_destroy_empty(pool);
}

TEST_TIMES(alloc_with_a_thread_blocked_in_read_succeeds, CREW_VARIANTS)
{
    crew_run_variant(_i, blocked_thread);
}

/*
 * ---- Stopped -------------------------------------------------------------
 */

enum { BURST = 40, ROUNDS = 7 };

static sem_t started;
static sem_t stopped;
static int resume_ends[2];
static _Atomic bool over;

/* The thread stands still wherever it happens to be, inside the library too. */
static void stand_still(int signal)
{
    int saved = errno;
    char byte;

    (void)signal;
    if (sem_post(&stopped) != 0 || read(resume_ends[0], &byte, 1) != 1)
        abort();
    errno = saved;
}

static void *keep_busy(void *argument)
{
    struct hold *hold = argument;
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

    hold_take(hold, BURST);
    REQUIRE_EQUAL(sem_post(&started), 0);
    while (!atomic_load_explicit(&over, memory_order_relaxed)) {
        hold_take(hold, BURST - hold->count);
        hold_free_all(hold);
        /* Here ThreadSanitizer lets signals in. */
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    hold_free_all(hold); /* it may have been over before it began */
    return NULL;
}

static void stop_thread(pthread_t thread)
{
    REQUIRE_EQUAL(pthread_kill(thread, SIGUSR1), 0);
    while (sem_wait(&stopped) != 0)
        REQUIRE(errno == EINTR);
}

/* All can be had except the stopped thread's live slots and the slots in its hands: the
 * magazine it had loaded, and one on either way. */
static void require_most_obtainable(struct hold *hold)
{
    hold_take(hold, SIZE_MAX);
    REQUIRE(hold->count <= CAPACITY);
    REQUIRE(hold->count + BURST + 3 * ROUNDS >= CAPACITY);
    hold_free_all(hold);
}

static void install_stopper(void)
{
    struct sigaction action;

    REQUIRE_EQUAL(pipe(resume_ends), 0);
    REQUIRE_EQUAL(sem_init(&started, 0, 0), 0);
    REQUIRE_EQUAL(sem_init(&stopped, 0, 0), 0);
    memset(&action, 0, sizeof(action));
    action.sa_handler = stand_still;
    action.sa_flags = SA_RESTART;
    REQUIRE_EQUAL(sigaction(SIGUSR1, &action, NULL), 0);
}

/* No alloc waits for long for a thread that does not go on meanwhile. */
static cpool_t *create_impatient(unsigned flags)
{
    cpool_config_t config = support_config(CREW_SLOT_SIZE, CAPACITY);

    config.flags = flags;
    config.magazine_rounds = ROUNDS;
    config.thread_caches = 2 * CREW_MAX;
    config.stall_limit = 1;
    return support_create(&config);
}

/* Stopped after its first use of the pool, when it no longer takes the library's lock. */
static void stopped_thread(unsigned flags)
{
    cpool_t *pool = create_impatient(flags);
    struct hold busy;
    struct hold hold;
    pthread_t thread;

    hold_init(&hold, pool);
    hold_init(&busy, pool);
    install_stopper();
    hold_take(&hold, 1);
    hold_free_all(&hold);
    thread = support_start(keep_busy, &busy);
    REQUIRE_EQUAL(sem_wait(&started), 0);
    for (size_t i = 0; i < SUPPORT_COUNT(200u, 20u); i++) {
        stop_thread(thread);
        require_most_obtainable(&hold);
        REQUIRE_EQUAL(write(resume_ends[1], "", 1), 1);
    }
    atomic_store_explicit(&over, true, memory_order_relaxed);
    support_join(thread);
    crew_require_obtainable_here(pool);
    hold_fini(&hold);
    hold_fini(&busy);
    support_destroy_empty(pool);
}

TEST_TIMES(alloc_with_a_thread_stopped_anywhere_ends, CREW_VARIANTS)
{
    crew_run_variant(_i, stopped_thread);
}
