/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * checked.c - looks at all slots of a checked pool, and leaks at the end of the process.
 */
#include "pool/slots.h"

#include "host/options.h"
#include "pool/stats.h"
#include "pool/report.h"

/* --- Looking for damage --- */

/* Slots that are looked at in one go: others may want the lock. */
#define CPI_VERIFY_PORTION ((uintptr_t)1024)

CPI_COLD int cpi_pool_verify_next(const struct cpi_pool *pool, uintptr_t *index, uintptr_t end,
                                  const char *function)
{
    struct cpi_damage damage;
    bool found;

    cpi_lock();
    found = cpi_guard_find(&pool->slab, index, end, &damage);
    cpi_unlock();
    if (!found)
        return 0;
    cpi_pool_report_damage(pool, &damage, function);
    return cpi_damage_code(&damage);
}

CPI_COLD size_t cpi_pool_verify_all(const struct cpi_pool *pool, const char *function)
{
    uintptr_t end = pool->checked ? cpi_slab_fresh(&pool->slab) : 0;
    uintptr_t index = 0;
    size_t count = 0;

    while (index < end) {
        uintptr_t portion = end - index > CPI_VERIFY_PORTION ? index + CPI_VERIFY_PORTION : end;

        count += cpi_pool_verify_next(pool, &index, portion, function) != 0;
    }
    return count;
}

/* --- Leaks --- */

static void write_line(void *unused, const char *line, size_t length)
{
    (void)unused;
    cpi_write_error(line, length);
}

static void list_slots(const struct cpi_pool *pool)
{
    if (pool->checked)
        cpi_leaks_list(&pool->slab, write_line, NULL);
}

CPI_COLD void cpi_pool_tell_leaked(const struct cpi_pool *pool, size_t live)
{
    if (!pool->checked)
        return;
    cpi_tell("pool '%s' destroyed with %zu live slot%s", pool->name, live, CPI_PLURAL(live));
    list_slots(pool);
}

static void tell_live(const struct cpi_pool *pool)
{
    size_t live = cpi_registry_count_live(&pool->registry);

    if (live == 0)
        return;
    cpi_tell("pool '%s' has %zu live slot%s at the end of the process", pool->name, live,
             CPI_PLURAL(live));
    list_slots(pool);
}

/* After the program's own destructors, and before the library's last one. */
__attribute__((__destructor__(102))) static void library_unloaded(void)
{
    struct cpi_registry *registry = NULL;

    if (cpi_options()->leaks == 0 || !cpi_lock_at_end())
        return;
    while ((registry = cpi_registry_next(registry)) != NULL)
        tell_live(registry->pool);
    cpi_unlock();
}
