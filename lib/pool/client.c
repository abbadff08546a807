/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * client.c - what libraries over pools ask of the library (cpool/client.h).
 *
 * ORDERING TABLE
 *   hooks | hooks store         | release | slots.c's told | the table
 *   ended | ended store         | relaxed | - | -
 *   barrier | membarrier(2)     | - | the client's table | -
 */
#include <cpool/client.h>

#include <stdarg.h>
#include <stdio.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/tools.h"
#include "cache/reclaim.h"
#include "host/os.h"
#include "pool/feature.h"
#include "pool/alloc.h"
#include "pool/report.h"
#include "pool/slots.h"
#include "process/thread.h"

/* --- The process --- */

static bool pass_barrier(void)
{
    return cpi_has_barrier() && cpi_barrier_passed(); /* [barrier] */
}

static const cpool_client_system_t process = {&cpi_thread_forked, cpi_os_now, cpi_os_back_off,
                                              pass_barrier};

bool cpool_client_lock(void)
{
    if (cpi_lock_is_held())
        return false;
    cpi_lock();
    return true;
}

void cpool_client_unlock(void)
{
    cpi_unlock();
}

static void unlock_if(bool locked)
{
    if (locked)
        cpi_unlock();
}

void cpool_client_report(cpool_error_t *error, const char *format, ...)
{
    char text[CPI_REPORT_MAX];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    cpi_report(error, "%s", text);
}

/* --- Clients --- */

static int take_key(cpool_client_t *client)
{
    if (cpi_thread_tables_gone() || !cpi_handle_hold())
        return CPOOL_ENOMEM;
    client->pool = cpi_handle_take();
    if (client->pool != NULL)
        return 0;
    cpi_handle_drop();
    return CPOOL_EPOOLS;
}

int cpool_client_create(cpool_client_t *client, const cpool_config_t *config)
{
    bool locked;
    int code;

    (void)config;
    client->system = &process;
    if (!cpi_thread_startup())
        return CPOOL_ESYSTEM;
    locked = cpool_client_lock();
    code = take_key(client);
    unlock_if(locked);
    if (code == 0)
        client->none = CPI_HANDLE_NONE;
    return code;
}


void cpool_client_show(cpool_client_t *client, bool shown)
{
    bool locked = cpool_client_lock();

    if (!shown) {
        cpi_handle_give(client->pool);
        cpi_handle_drop();
        client->pool = NULL;
    } else if (client->hooks != NULL) {
        cpi_store(&cpi_client_hooks, client->hooks, release); /* [hooks] */
    }
    unlock_if(locked);
}

/* --- Memory --- */

void *cpool_client_memory(size_t size, unsigned flags)
{
    void *memory = NULL;

    (void)flags;
    if (cpi_align_up_checked(size, cpi_os_page_size(), &size))
        memory = cpi_os_map(size);
    if (memory != NULL)
        cpi_tools_add_root(memory, size); /* blocks that clients have are no leaks */
    return memory;
}

void cpool_client_release(void *memory, size_t size, unsigned flags, uintptr_t *ended)
{
    size = cpi_align_up(size, cpi_os_page_size());
    (void)flags;
    cpi_tools_remove_root(memory, size);
    if (ended == NULL) {
        cpi_os_release(memory, size);
        return;
    }
    cpi_word_store(ended, 1, relaxed); /* [ended] */
    cpi_ended_keep(memory, size, true);
}

/* --- What threads own --- */

/* With the lock held. */
static void disown(cpool_client_owned_t *owned)
{
    if (owned->thread == NULL)
        return;
    cpi_thread_entry_of(owned->thread, owned->key)->home = NULL;
    cpi_thread_disown(owned);
}

int cpool_client_own(cpool_t *key, cpool_client_owned_t *owned)
{
    bool held = cpi_lock_is_held();
    struct cpi_thread *thread = NULL;

    if (key != NULL || owned == NULL) {
        thread = held ? cpi_thread_known() : cpi_thread_self();
        if (thread == NULL)
            return CPOOL_ENOMEM;
    }
    if (owned == NULL)
        return 0;
    if (!held)
        cpi_lock();
    disown(owned);
    if (key != NULL) {
        owned->key = key;
        cpi_thread_entry_of(thread, key)->home = owned;
        cpi_thread_own(thread, owned);
    }
    if (!held)
        cpi_unlock();
    return 0;
}

/* --- Retired slots --- */

static int note_pool(const cpool_t *handle)
{
    struct cpi_pool *pool = cpi_pool_of(handle, "cpool_retire");

    if (pool == NULL)
        return CPOOL_EPOOL;
    cpi_wait_delayed(pool);
    return pool->map.words != NULL;
}

static int retire_slot(struct cpi_pool *pool, const void *slot, enum cpi_retiring step)
{
    uintptr_t index;
    int code;

    if (cpi_slab_place(&pool->slab, slot, &index) != CPI_PLACE_SLOT)
        return 0;
    code = cpi_pool_retired(pool, index, step);
    if (code != 0)
        cpi_pool_report_slot(code, "cpool_retire", pool, index);
    return code;
}

int cpool_client_retire(const cpool_t *handle, void *const *slots, size_t n,
                        enum cpool_client_step step)
{
    static const enum cpi_retiring steps[] = {[CPOOL_CLIENT_ASKED] = CPI_RETIRING_ASKED,
                                              [CPOOL_CLIENT_OUT] = CPI_RETIRING_OUT,
                                              [CPOOL_CLIENT_BACK] = CPI_RETIRING_BACK};
    struct cpi_pool *pool;
    int code = 0;

    if (step == CPOOL_CLIENT_NOTED)
        return note_pool(handle);
    pool = cpi_handle_is_alive(handle) ? handle->state : NULL;
    if (pool == NULL || CPI_LIKELY(pool->map.words == NULL))
        return 0;
    for (size_t i = 0; i < n && code == 0; i++)
        code = retire_slot(pool, slots[i], steps[step]);
    return code;
}
