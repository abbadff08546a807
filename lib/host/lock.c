/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lock.c - the lock for everything rare.
 *
 * Includes thread.h.
 *
 * ORDERING TABLE
 *   holder | holder load, store | relaxed | - | -
 */
#include "base/compiler.h"

#include "host/thread.h"

#include "base/atomic.h"
#include "host/sync.h"

static cpi_mutex_t library_lock = CPI_MUTEX_INIT;
static _Atomic uintptr_t holder; /* the token of the thread that has it; 0: nobody */

/* How often a lock is tried at the end of the process, with naps of 0.1 ms. */
#define CPI_END_TRIES 1000u

static void note_holder(void)
{
    cpi_store(&holder, cpi_thread_token(), relaxed); /* [holder] */
}

void cpi_lock(void)
{
    CPI_ASSERT(!cpi_lock_is_held());
    cpi_mutex_lock(&library_lock);
    note_holder();
}

bool cpi_try_lock(void)
{
    bool locked = cpi_mutex_trylock(&library_lock) == 0;

    if (locked)
        note_holder();
    return locked;
}

void cpi_unlock(void)
{
    CPI_ASSERT(cpi_lock_is_held());
    cpi_store(&holder, 0, relaxed); /* [holder] */
    cpi_mutex_unlock(&library_lock);
}

bool cpi_lock_is_held(void)
{
    return cpi_load(&holder, relaxed) == cpi_thread_token(); /* [holder] */
}

bool cpi_mutex_lock_at_end(cpi_mutex_t *mutex)
{
    unsigned tries = 0;

    while (cpi_mutex_trylock(mutex) != 0) {
        if (tries == CPI_END_TRIES)
            return false;
        cpi_os_back_off(tries++);
    }
    return true;
}

bool cpi_lock_at_end(void)
{
    bool locked = !cpi_lock_is_held() && cpi_mutex_lock_at_end(&library_lock);

    if (locked)
        note_holder();
    return locked;
}
