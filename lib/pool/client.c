/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * client.c - pools whose slots belong to a library over pools (cpool/client.h).
 *
 * ORDERING TABLE
 *   hooks | hooks store         | release | slots.c's told | the table
 *   ended | ended store         | relaxed | - | -
 */
#include <cpool/client.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/list.h"
#include "base/tools.h"
#include "pool/alloc.h"

/* --- The process --- */

static const cpool_client_system_t process = {&cpi_thread_forked, &cpi_thread_exits, cpi_os_now,
                                              cpi_os_back_off, cpi_barrier_passed, cpi_has_barrier,
                                              cpi_frame_take_back, cpi_frame_each, cpi_tools_block};

bool cpool_client_lock(void)
{
    return cpi_lock_unless_held();
}

void cpool_client_unlock(void)
{
    cpi_unlock();
}

/* --- Creation --- */

int cpool_client_create(cpool_client_t *client, const cpool_config_t *config)
{
    cpool_t *handle = NULL;
    bool locked;
    int code;

    client->system = &process;
    if (config != NULL) {
        code = cpi_pool_create(&handle, config, client);
    } else if (!cpi_thread_startup()) {
        code = CPOOL_ENOMEM;
    } else {
        locked = cpool_client_lock();
        code = cpi_handle_take(&client->pool);
        cpi_unlock_if(locked);
    }
    if (code == 0)
        client->none = CPI_HANDLE_NONE;
    if (handle != NULL) {
        const struct cpi_pool *pool = handle->state;

        client->pool = handle;
        client->face = pool->face;
        client->flags = pool->flags;
        client->direct = pool->registry.inline_path;
    }
    return code;
}

/* --- Showing --- */

void cpool_client_show(cpool_client_t *client, bool shown)
{
    cpool_client_t **link = &cpi_clients;
    bool locked = cpool_client_lock();

    while (*link != NULL && *link != client)
        link = &(*link)->next;
    if (shown && !client->shown) {
        client->number = cpi_pools_created++;
        client->next = NULL;
        *link = client;
        if (client->hooks != NULL && client->hooks->give_back != NULL)
            cpi_store(&cpi_client_hooks, client->hooks, release); /* [hooks] */
    } else if (!shown && client->shown) {
        *link = client->next;
    }
    client->shown = shown;
    if (client->face != NULL) /* pools that are created later set theirs */
        cpi_client_set_owner(client->pool->state, shown ? client : NULL);
    if (!shown && client->pool != NULL && client->face == NULL) { /* a key */
        cpi_handle_give(client->pool);
        client->pool = NULL;
    }
    cpi_unlock_if(locked);
}

/* --- Slots --- */

static void *take_near(struct cpi_pool *pool)
{
    const struct cpi_call call = CPI_CALL("cpool_client_take");
    struct cpi_cache *cache = cpi_registry_own_cache(&pool->registry);
    void *slot;

    if (cache != NULL) {
        if (cpi_cache_active(cache) == cache->entry) /* the inline path has left its mark set */
            cpi_cache_unmark(cache->entry, cpi_entry_count(cache->entry));
        cpi_pool_note_exchange(pool, cache);
    }
    do {
        slot = cpi_pool_take(pool, cache);
        cpi_waiters_came(&pool->waiters);
    } while (slot != NULL && !cpi_pool_passes(pool, slot, call));
    return slot;
}

static void *take_fresh(struct cpi_pool *pool, size_t *n)
{
    const struct cpi_call call = CPI_CALL("cpool_client_take");
    uintptr_t beyond = pool->slab.slots - cpi_slab_capacity(&pool->slab);
    void *slot;

    if (!cpi_pool_is_plain(pool))
        *n = 1;
    do {
        struct cpi_uncached uncached;
        uintptr_t index;

        cpi_depot_enter(&pool->depot, &uncached);
        *n = cpi_cache_bump(&pool->slab, &pool->depot, *n, beyond, &index);
        slot = *n > 0 ? cpi_slab_slot(&pool->slab, index) : NULL;
        cpi_depot_leave(&pool->depot, &uncached);
    } while (slot != NULL && !cpi_pool_passes(pool, slot, call));
    return slot;
}

void *cpool_client_take(cpool_t *handle, enum cpool_client_from from, size_t *n)
{
    size_t one = 1;

    if (handle->state == NULL)
        return NULL;
    return from == CPOOL_CLIENT_FRESH ? take_fresh(handle->state, n != NULL ? n : &one)
                                      : take_near(handle->state);
}

size_t cpool_client_discard(cpool_t *handle, void *first, size_t n)
{
    struct cpi_pool *pool = handle->state;
    uintptr_t index = cpi_slab_index(&pool->slab, first);

    return pool->region_owned && !pool->checked ? cpi_pool_purge(pool, index, index, index + n) : 0;
}

/* --- Memory --- */

void *cpool_client_memory(size_t size, unsigned flags)
{
    size_t align = (flags & CPOOL_CLIENT_HUGE) != 0 ? cpi_os_huge_page_size()
                                                    : cpi_os_page_size();
    size_t space = (flags & CPOOL_CLIENT_SPARING) != 0 ? cpi_os_address_space() : SIZE_MAX;
    void *memory;

    if (!cpi_align_up_checked(size, cpi_os_page_size(), &size) ||
        (space != SIZE_MAX && size > space - space / 2))
        return NULL;
    if ((flags & CPOOL_CLIENT_RESERVED) != 0)
        return cpi_os_reserve(size, align);
    memory = cpi_os_map(size);
    if (memory != NULL)
        cpi_tools_add_root(memory, size); /* blocks that clients point to are not leaks */
    return memory;
}

void cpool_client_release(void *memory, size_t size, unsigned flags, uintptr_t *ended)
{
    size = cpi_align_up(size, cpi_os_page_size());
    if ((flags & CPOOL_CLIENT_RESERVED) == 0)
        cpi_tools_remove_root(memory, size);
    if (ended == NULL) {
        cpi_os_release(memory, size);
        return;
    }
    cpi_word_store(ended, 1, relaxed); /* [ended] */
    cpi_ended_keep(memory, size);
}

/* --- Possessions of threads --- */

/* With the lock held. */
static void disown(cpool_client_owned_t *owned)
{
    if (owned->thread == NULL)
        return;
    cpi_thread_entry_of(owned->thread, owned->key)->home = NULL;
    CPI_LIST_REMOVE(owned);
    owned->thread = NULL;
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
        owned->thread = thread;
        CPI_LIST_ADD(&thread->owned, owned);
    }
    cpi_unlock_if(!held);
    return 0;
}

/* --- Retired slots --- */

static int retire_slot(struct cpi_pool *pool, const void *slot, enum cpool_client_step step)
{
    uintptr_t index;
    int code;

    code = cpi_pool_place(pool, slot, &index);
    if (code != 0 && code != CPOOL_EDOUBLEFREE)
        return 0;
    if (step == CPOOL_CLIENT_BACK)
        cpi_pool_mend_slot(pool, slot, "cpool_retire");
    if (code == 0)
        code = cpi_pool_retired(pool, index, step);
    if (code != 0)
        cpi_pool_report_slot(code, "cpool_retire", pool, index);
    return code;
}

int cpool_client_retire(const cpool_t *handle, void *const *slots, size_t n,
                        enum cpool_client_step step)
{
    struct cpi_pool *pool;
    int code = 0;

    if (step == CPOOL_CLIENT_NOTED) {
        pool = cpi_pool_of(handle, "cpool_retire");
        if (pool == NULL)
            return CPOOL_EPOOL;
        cpi_waiters_delay(&pool->waiters);
        return pool->map.words != NULL;
    }
    pool = cpi_handle_is_alive(handle) ? handle->state : NULL;
    if (pool == NULL || CPI_LIKELY(pool->map.words == NULL))
        return 0;
    for (size_t i = 0; i < n && code == 0; i++)
        code = retire_slot(pool, slots[i], step);
    return code;
}
