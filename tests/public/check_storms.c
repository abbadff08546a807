/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_storms.c - many threads, many signals with handlers that leave the thread's own code,
 * and cancelled threads.  Afterwards every slot is there.
 *
 * Includes the public API only.
 */
#include "support.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static const unsigned kinds[] = { 0, CPOOL_TRACKED, CPOOL_CHECKED };

enum { KINDS = sizeof kinds / sizeof kinds[0] };

static cpool_t *make_pool(unsigned flags, size_t capacity, size_t thread_caches)
{
    cpool_config_t config = support_config(sizeof(size_t), capacity);

    config.flags = flags;
    config.thread_caches = thread_caches;
    config.stall_limit = 60000; /* hundreds of threads may be in the way of one that is inside */
    return support_create(&config);
}

/*
 * ---- Many threads --------------------------------------------------------
 */

/* More threads than caches, and than processors. */
enum { THREADS = 500, FEW_THREADS = 50, SHARED = 64, PER_THREAD = 20, STEPS = 200 };

struct crowd {
    cpool_t *pool;
    struct support_door door; /* to the first use */
    struct support_door end;
    _Atomic(size_t *) shared[SHARED];
};

/* Takes slots, leaves each for whichever thread comes next, and frees the one it finds. */
static void *hand_over(void *argument)
{
    struct crowd *crowd = argument;
    size_t *own[PER_THREAD];

    support_door_wait(&crowd->door);
    for (size_t i = 0; i < PER_THREAD; i++) {
        own[i] = cpool_alloc(crowd->pool);
        REQUIRE(own[i] != NULL);
        *own[i] = (uintptr_t)own;
    }
    for (size_t i = 0; i < STEPS; i++) {
        size_t **slot = &own[i % PER_THREAD];

        /* acq_rel: the slot's content goes along. */
        *slot = atomic_exchange_explicit(&crowd->shared[(i * 7) % SHARED], *slot,
                                         memory_order_acq_rel);
        if (*slot == NULL)
            *slot = cpool_alloc(crowd->pool);
        REQUIRE(*slot != NULL);
        **slot = (uintptr_t)own;
    }
    support_door_wait(&crowd->end);
    for (size_t i = 0; i < PER_THREAD; i++) {
        REQUIRE_EQUAL(*own[i], (uintptr_t)own);
        cpool_free(crowd->pool, own[i]);
    }
    return NULL;
}

TEST_TIMES(hundreds_of_threads_leave_all_slots, KINDS)
{
    enum { CACHES = 40 };
    bool room = sizeof(void *) > 4; /* for the stacks */
    size_t threads = room ? SUPPORT_COUNT(THREADS, FEW_THREADS) : FEW_THREADS;
    struct crowd *crowd = support_calloc(1, sizeof *crowd);
    pthread_t ids[THREADS];

    crowd->pool = make_pool(kinds[_i], THREADS * PER_THREAD + SHARED, CACHES);
    support_door_init(&crowd->door);
    support_door_init(&crowd->end);
    for (size_t i = 0; i < threads; i++)
        ids[i] = support_start(hand_over, crowd);
    support_door_await(&crowd->door, threads);
    support_door_open(&crowd->door);
    support_door_await(&crowd->end, threads);
    REQUIRE_EQUAL(support_stats(crowd->pool).thread_caches, CACHES);
    support_door_open(&crowd->end);
    for (size_t i = 0; i < threads; i++)
        support_join(ids[i]);
    REQUIRE_EQUAL(support_stats(crowd->pool).thread_caches, 0);
    for (size_t i = 0; i < SHARED; i++)
        cpool_free(crowd->pool, crowd->shared[i]);
    support_require_obtainable(crowd->pool, 0);
    support_destroy_empty(crowd->pool);
    free(crowd);
}

/*
 * ---- Many signals --------------------------------------------------------
 */

/* Microseconds between two signals, and threads. */
enum { INTERVAL = 50, WORKERS = 4, BURST = 100 };

static cpool_t *stormed;
static _Atomic size_t handled;
static _Atomic bool stop;

/* While the thread is in code of its own, which a handler may leave. */
static _Thread_local volatile sig_atomic_t outside;
static _Thread_local sigjmp_buf way_out;

static void handle(int signal)
{
    (void)signal;
    atomic_fetch_add_explicit(&handled, 1, memory_order_relaxed);
    if (outside)
        siglongjmp(way_out, 1);
}

/* ThreadSanitizer delivers signals at such calls. */
static void rest_outside(void)
{
    if (sigsetjmp(way_out, 1) == 0) {
        outside = 1;
        sched_yield();
    }
    outside = 0;
}

static void *work_in_storm(void *argument)
{
    size_t *slots[BURST];

    (void)argument;
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        for (size_t i = 0; i < BURST; i++) {
            slots[i] = cpool_alloc(stormed);
            REQUIRE(slots[i] != NULL);
            *slots[i] = i;
        }
        for (size_t i = 0; i < BURST; i++) {
            REQUIRE_EQUAL(*slots[i], i);
            cpool_free(stormed, slots[i]);
        }
        rest_outside();
    }
    return NULL;
}

/* The timer's signals go to the threads that do not block them: the workers. */
static void storm(size_t signals)
{
    struct itimerval every = { { 0, INTERVAL }, { 0, INTERVAL } };
    const struct itimerval never = { { 0, 0 }, { 0, 0 } };
    pthread_t workers[WORKERS];
    struct sigaction action;
    sigset_t blocked;

    memset(&action, 0, sizeof action);
    action.sa_handler = handle;
    action.sa_flags = SA_RESTART;
    REQUIRE_EQUAL(sigemptyset(&action.sa_mask), 0);
    REQUIRE_EQUAL(sigaction(SIGALRM, &action, NULL), 0);
    for (int i = 0; i < WORKERS; i++)
        workers[i] = support_start(work_in_storm, NULL);
    REQUIRE_EQUAL(sigemptyset(&blocked), 0);
    REQUIRE_EQUAL(sigaddset(&blocked, SIGALRM), 0);
    REQUIRE_EQUAL(pthread_sigmask(SIG_BLOCK, &blocked, NULL), 0);
    REQUIRE_EQUAL(setitimer(ITIMER_REAL, &every, NULL), 0);
    while (atomic_load_explicit(&handled, memory_order_relaxed) < signals)
        sched_yield();
    REQUIRE_EQUAL(setitimer(ITIMER_REAL, &never, NULL), 0);
    atomic_store_explicit(&stop, true, memory_order_relaxed);
    for (int i = 0; i < WORKERS; i++)
        support_join(workers[i]);
}

TEST_TIMES(storm_of_signals_loses_nothing, KINDS)
{
    enum { SIGNALS = 1000, FEW_SIGNALS = 500 };

    stormed = make_pool(kinds[_i], 4000, 0);
    storm(SUPPORT_COUNT(SIGNALS, FEW_SIGNALS));
    support_require_obtainable(stormed, 0);
    support_destroy_empty(stormed);
}

/*
 * ---- Cancelled threads ---------------------------------------------------
 */

struct cancelled {
    cpool_t *pool;
    _Atomic bool ready;
    bool anywhere; /* asynchronously, or where it asks for it */
    void *held[BURST];
};

/* Ends outside the library, with a full cache. */
static void *use_until_cancelled(void *argument)
{
    struct cancelled *cancelled = argument;
    int before;

    REQUIRE(cpool_alloc_bulk(cancelled->pool, cancelled->held, BURST) == BURST);
    for (int i = 0; i < BURST / 2; i++)
        cpool_free(cancelled->pool, cancelled->held[i]);
    if (cancelled->anywhere)
        REQUIRE_EQUAL(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before), 0);
    /* release, and acquire where it is awaited: the slots in hand. */
    atomic_store_explicit(&cancelled->ready, true, memory_order_release);
    for (;;) {
        if (!cancelled->anywhere) {
            cpool_free(cancelled->pool, cpool_alloc(cancelled->pool));
            pthread_testcancel();
        }
    }
    return NULL;
}

TEST_TIMES(cancelled_thread_leaves_its_cache, 2 * KINDS)
{
    struct cancelled *cancelled = support_calloc(1, sizeof *cancelled);
    void *result;
    pthread_t id;

    cancelled->pool = make_pool(kinds[_i % KINDS], 1000, 0);
    cancelled->anywhere = _i >= KINDS;
    for (int round = 0; round < 10; round++) {
        atomic_store_explicit(&cancelled->ready, false, memory_order_relaxed);
        id = support_start(use_until_cancelled, cancelled);
        while (!atomic_load_explicit(&cancelled->ready, memory_order_acquire))
            sched_yield();
        REQUIRE_EQUAL(pthread_cancel(id), 0);
        REQUIRE_EQUAL(pthread_join(id, &result), 0);
        REQUIRE(result == PTHREAD_CANCELED);
        REQUIRE_EQUAL(support_stats(cancelled->pool).thread_caches, round > 0);
        support_require_obtainable(cancelled->pool, BURST / 2);
        cpool_free_bulk(cancelled->pool, cancelled->held + BURST / 2, BURST / 2);
    }
    support_require_obtainable(cancelled->pool, 0);
    support_destroy_empty(cancelled->pool);
    free(cancelled);
}
