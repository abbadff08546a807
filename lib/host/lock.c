/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lock.c - the lock for everything rare, and the signals that are blocked while it is held.
 *
 * Includes thread.h, tools.h.
 *
 * ORDERING TABLE
 *   holder | holder load, store | relaxed | - | -
 */
#include "base/compiler.h"

#include "host/thread.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/atomic.h"
#include "base/tools.h"

static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uintptr_t holder; /* the token of the thread that has it; 0: nobody */
static struct cpi_signals mask_before; /* the holder's, to be restored */

_Static_assert(sizeof(sigset_t) <= sizeof(struct cpi_signals), "a mask of signals fits");

/* A thread would not survive blocking the signals that its own instructions raise. */
void cpi_block_signals(struct cpi_signals *before)
{
    static const int raised[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    sigset_t blocked;
    sigset_t mask;
    size_t i;

    sigfillset(&blocked);
    for (i = 0; i < sizeof raised / sizeof raised[0]; i++)
        sigdelset(&blocked, raised[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, &mask);
    memcpy(before, &mask, sizeof mask);
}

void cpi_restore_signals(const struct cpi_signals *before)
{
    sigset_t mask;

    memcpy(&mask, before, sizeof mask);
    cpi_tools_wrote(&mask, sizeof mask);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

void cpi_lock(void)
{
    struct cpi_signals before;

    cpi_block_signals(&before);
    CPI_ASSERT(!cpi_lock_is_held());
    pthread_mutex_lock(&library_lock);
    cpi_store(&holder, cpi_thread_token(), relaxed); /* [holder] */
    mask_before = before;
}

bool cpi_try_lock(void)
{
    struct cpi_signals before;

    cpi_block_signals(&before);
    if (pthread_mutex_trylock(&library_lock) == 0) {
        cpi_store(&holder, cpi_thread_token(), relaxed); /* [holder] */
        mask_before = before;
        return true;
    }
    cpi_restore_signals(&before);
    return false;
}

void cpi_unlock(void)
{
    struct cpi_signals before = mask_before;

    CPI_ASSERT(cpi_lock_is_held());
    cpi_store(&holder, 0, relaxed); /* [holder] */
    pthread_mutex_unlock(&library_lock);
    cpi_restore_signals(&before);
}

bool cpi_lock_is_held(void)
{
    return cpi_load(&holder, relaxed) == cpi_thread_token(); /* [holder] */
}
