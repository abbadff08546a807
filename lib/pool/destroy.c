/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * destroy.c - destroying pools: the search for damage, the list of leaks, also at the end of the
 * process, and the end itself.  A reset uses some of the steps.
 */
#include "pool/report.h"
#include "pool/slots.h"

#include "cache/reclaim.h"
#include "host/options.h"

/* --- The search for damage --- */

void cpi_pool_mend_slot(const struct cpi_pool *pool, const void *slot, const char *function)
{
    uintptr_t index;
    unsigned sides = pool->checked && cpi_pool_place(pool, slot, &index) == 0 ? 2 : 0;

    while (sides-- > 0 && cpi_pool_verify_slot(pool, index, function) != 0)
        ;
}

CPI_COLD int cpi_pool_verify_all(const struct cpi_pool *pool, const char *function)
{
    uintptr_t end = pool->checked ? cpi_slab_fresh(&pool->slab) : 0;
    int code = 0;

    for (uintptr_t index = 0; index < end; index++)
        while (cpi_pool_verify_slot(pool, index, function) != 0)
            code = CPOOL_EGUARD;
    return code;
}

/* --- Leaks --- */

static void write_line(const char *line, size_t length, void *unused)
{
    (void)unused;
    cpi_write_error(line, length);
}

static void tell_live(const struct cpi_pool *pool, size_t live, const char *how, const char *when)
{
    cpi_tell("pool '%s' %s %zu live slot%s%s", pool->name, how, live, CPI_PLURAL(live), when);
    if (pool->checked)
        cpi_leaks_list(&pool->slab, write_line, NULL);
}

/* Runs after the program's own destructors, and before the library's last one. */
__attribute__((__destructor__(102))) static void library_unloaded(void)
{
    struct cpi_registry *registry = NULL;

    if (cpi_options()->leaks == 0 || !cpi_lock_at_end())
        return;
    while ((registry = cpi_registry_next(registry)) != NULL) {
        size_t live = cpi_registry_count_live(registry);

        if (live > 0)
            tell_live(registry->pool, live, "has", " at the end of the process");
    }
    cpi_unlock();
}

/* --- The end --- */

CPI_COLD int64_t cpi_pool_stop(struct cpi_pool *pool, const char *function, int *damage)
{
    *damage = cpi_pool_verify_all(pool, function);
    (void)cpi_client_give_back(pool, true);
    /* A thread that has given a slot back may not have left yet: its own slot, which another thread
     * has obtained since, or a retired one. */
    cpi_await_rest(&pool->registry);
    cpi_lock();
    cpi_registry_await_leaving(&pool->registry);
    return cpi_registry_recount(&pool->registry);
}

size_t cpi_pool_judge_live(const struct cpi_pool *pool, int64_t counted,
                                    const char *function)
{
    if (counted >= 0)
        return (size_t)counted;
    cpi_pool_report_surplus(function, pool, 0 - (uint64_t)counted);
    return 0;
}

CPI_COLD int cpool_destroy(cpool_t *handle)
{
    static const char function[] = "cpool_destroy";
    struct cpi_pool *pool;
    int64_t counted;
    int damage;
    size_t live;

    if (handle == NULL)
        return 0;
    pool = cpi_pool_of(handle, function);
    if (pool == NULL)
        return CPOOL_EPOOL;
    counted = cpi_pool_stop(pool, function, &damage);
    cpi_registry_end_caches(&pool->registry);
    if (pool->typed != NULL)
        cpi_typed_set(pool->typed, NULL);
    cpi_pool_withdraw(pool);
    cpi_unlock();
    live = cpi_pool_judge_live(pool, counted, function);
    if (live > 0 && pool->checked)
        tell_live(pool, live, "destroyed with", "");
    cpi_pool_release(pool);
    if (counted < 0)
        return CPOOL_EDOUBLEFREE;
    if (damage != 0)
        return CPOOL_EGUARD;
    return live > 0 ? CPOOL_ELIVE : 0;
}
