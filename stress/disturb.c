/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * disturb.c - signals into running threads (disturb.h).
 *
 * Includes disturb.h.  Invariant: a thread is listed only while it is alive and
 * between disturb_enter and disturb_leave, and the list is locked while a
 * signal is sent.  So none is sent to a thread that has ended.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "disturb.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#define DISTURB_SIGNAL SIGUSR1

/* The number of threads that can be listed at a time.  Further threads are not disturbed. */
#define DISTURB_LIST_MAX 256

/* Between two signals, and the longest stall. */
#define DISTURB_PAUSE_NS 15000
#define DISTURB_STALL_NS 300000

/* A thread that may be disturbed.  While its handler runs it gets no other signal: the handler may
 * wait for another thread, and with signals always pending, neither would make progress. */
struct disturbed {
    pthread_t thread;
    _Atomic bool *is_handling; /* relaxed: publishes nothing */
};

static struct {
    pthread_mutex_t lock; /* for list, threads */
    struct disturbed list[DISTURB_LIST_MAX];
    size_t threads;
    _Atomic bool stop; /* relaxed: publishes nothing */
    uint64_t random;   /* used by the disturbing thread */
    pthread_t thread;
} disturb = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The worker whose thread this is, for the handler.  NULL: not to be disturbed. */
static _Thread_local struct worker *volatile disturb_worker;
static _Thread_local _Atomic bool disturb_is_handling;

/* Stalls the thread for a while that depends on the current time. */
static void disturb_stall(void)
{
    struct timespec now;
    struct timespec stall = {0, 0};

    clock_gettime(CLOCK_MONOTONIC, &now);
    stall.tv_nsec = (long)(random_mix((uint64_t)now.tv_nsec) % DISTURB_STALL_NS);
    nanosleep(&stall, NULL);
}

static void disturb_handle(int number)
{
    int saved = errno;
    struct worker *worker = disturb_worker;

    (void)number;
    if (worker != NULL)
        disturb_stall();
    atomic_store_explicit(&disturb_is_handling, false, memory_order_relaxed);
    errno = saved;
}

static void disturb_mask(int how)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, DISTURB_SIGNAL);
    pthread_sigmask(how, &set, NULL);
}

void disturb_enter(struct worker *worker)
{
    disturb_worker = worker;
    atomic_store_explicit(&disturb_is_handling, false, memory_order_relaxed);
    pthread_mutex_lock(&disturb.lock);
    if (disturb.threads < DISTURB_LIST_MAX) {
        disturb.list[disturb.threads].thread = pthread_self();
        disturb.list[disturb.threads++].is_handling = &disturb_is_handling;
    }
    pthread_mutex_unlock(&disturb.lock);
    disturb_mask(SIG_UNBLOCK);
}

void disturb_leave(void)
{
    disturb_mask(SIG_BLOCK);
    pthread_mutex_lock(&disturb.lock);
    for (size_t i = 0; i < disturb.threads; i++) {
        if (pthread_equal(disturb.list[i].thread, pthread_self())) {
            disturb.list[i] = disturb.list[--disturb.threads];
            break;
        }
    }
    pthread_mutex_unlock(&disturb.lock);
    disturb_worker = NULL;
}

void disturb_in_child(void)
{
    static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

    disturb.lock = unlocked;
    disturb.threads = 0;
}

static void disturb_one(const struct disturbed *disturbed)
{
    if (!atomic_exchange_explicit(disturbed->is_handling, true, memory_order_relaxed))
        pthread_kill(disturbed->thread, DISTURB_SIGNAL);
}

static void *disturb_run(void *argument)
{
    const struct timespec rest = {0, DISTURB_PAUSE_NS};

    while (!atomic_load_explicit(&disturb.stop, memory_order_relaxed)) {
        pthread_mutex_lock(&disturb.lock);
        if (disturb.threads > 0)
            disturb_one(&disturb.list[random_below(&disturb.random, disturb.threads)]);
        pthread_mutex_unlock(&disturb.lock);
        nanosleep(&rest, NULL);
    }
    return argument;
}

void disturb_start(uint64_t seed)
{
    struct sigaction handler;

    disturb_mask(SIG_BLOCK); /* inherited by every thread made from here on */
    memset(&handler, 0, sizeof handler);
    handler.sa_handler = disturb_handle;
    handler.sa_flags = SA_RESTART;
    sigemptyset(&handler.sa_mask);
    sigaction(DISTURB_SIGNAL, &handler, NULL);
    disturb.random = seed;
    atomic_store_explicit(&disturb.stop, false, memory_order_relaxed);
    if (pthread_create(&disturb.thread, NULL, disturb_run, NULL) != 0)
        stress_fail("no thread to send signals");
}

void disturb_stop(void)
{
    atomic_store_explicit(&disturb.stop, true, memory_order_relaxed);
    pthread_join(disturb.thread, NULL);
}
