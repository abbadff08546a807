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
static struct cpi_signals mask_before; /* the holder's, to be restored */

void cpi_lock(void)
{
    struct cpi_signals before;

    cpi_block_signals(&before);
    CPI_ASSERT(!cpi_lock_is_held());
    cpi_mutex_lock(&library_lock);
    cpi_store(&holder, cpi_thread_token(), relaxed); /* [holder] */
    mask_before = before;
}

bool cpi_try_lock(void)
{
    struct cpi_signals before;

    cpi_block_signals(&before);
    if (cpi_mutex_trylock(&library_lock) == 0) {
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
    cpi_mutex_unlock(&library_lock);
    cpi_restore_signals(&before);
}

bool cpi_lock_is_held(void)
{
    return cpi_load(&holder, relaxed) == cpi_thread_token(); /* [holder] */
}
