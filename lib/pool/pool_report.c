/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_report.c - telling what a caller did wrong, to which pool, near which slot.
 *
 * Floor 6.
 */
#include "pool_impl.h"

#include <inttypes.h>
#include <string.h>

#include <cpool/pools.h>

#include "error.h"
#include "pool_tell.h"
#include "site.h"

static void set_error(cpool_error_t *error, int code, const char *function,
                      const struct cpi_pool *pool)
{
    memset(error, 0, sizeof *error);
    error->code = code;
    error->function = function;
    error->pool = pool->handle;
    error->name = pool->name;
}

void cpi_pool_report(int code, const char *function, const struct cpi_pool *pool)
{
    cpool_error_t error;

    set_error(&error, code, function, pool);
    cpi_report(&error, "%s: %s (pool '%s' %p)", function, cpool_strerror(code), error.name,
               (const void *)pool->handle);
}

void cpi_pool_report_handle(const char *function, const cpool_t *handle)
{
    cpool_error_t error;

    memset(&error, 0, sizeof error);
    error.code = CPOOL_EPOOL;
    error.function = function;
    error.pool = (cpool_t *)(uintptr_t)handle;
    error.name = "";
    cpi_report(&error, "%s: %s (%p)", function, cpool_strerror(CPOOL_EPOOL),
               (const void *)handle);
}

void cpi_pool_report_stray(const char *function, const void *address)
{
    cpool_t *handle = cpool_around(address, NULL);
    uintptr_t index;
    cpool_error_t error;

    if (handle != NULL) {
        struct cpi_pool *pool = handle->state;

        if (pool->fake != NULL) {
            (void)cpi_pool_judge(pool, address, function, &index);
            return;
        }
        cpi_slab_place(&pool->slab, address, &index);
        cpi_pool_report_address(CPOOL_EMISALIGNED, function, pool, address, index);
        return;
    }
    memset(&error, 0, sizeof error);
    error.code = CPOOL_EFOREIGN;
    error.function = function;
    error.name = "";
    error.address = address;
    cpi_report(&error, "%s: the address lies outside all pools (address %p)", function, address);
}

/* As the caller knows it: in a fake pool the slot's last block. */
static const void *address_of(const struct cpi_pool *pool, uintptr_t index)
{
    return pool->fake != NULL ? cpi_fake_was(pool->fake, index)
                              : cpi_slab_slot(&pool->slab, index);
}

void cpi_pool_report_slot(int code, const char *function, const struct cpi_pool *pool,
                          uintptr_t index)
{
    const void *slot = address_of(pool, index);

    cpi_pool_report_address(code, function, pool, slot, index);
}

void cpi_pool_report_surplus(const char *function, const struct cpi_pool *pool, uint64_t slots)
{
    cpool_error_t error;

    set_error(&error, CPOOL_EDOUBLEFREE, function, pool);
    cpi_report(&error,
               "%s: %" PRIu64 " slots were free already when they were freed (pool '%s' %p)",
               function, slots, pool->name, (const void *)pool->handle);
}

/* The return address of the slot's last alloc or free. */
static const void *last_site(const struct cpi_pool *pool, uintptr_t index)
{
    struct cpi_visit alloc;
    struct cpi_visit free;
    bool freed;

    if (!pool->checked || index >= cpi_slab_fresh(&pool->slab))
        return NULL;
    freed = cpi_site_read(&pool->slab, index, true, &free);
    if (!cpi_site_read(&pool->slab, index, false, &alloc))
        return NULL;
    return (const void *)(freed && free.when > alloc.when ? free.frames[0] : alloc.frames[0]);
}

/* `address` is what the caller passed, and `index` the nearest slot's. */
static void report_near(int code, const char *function, const struct cpi_pool *pool,
                        const void *address, uintptr_t index, struct cpi_text *details)
{
    cpool_error_t error;

    set_error(&error, code, function, pool);
    error.address = address;
    error.slot = address_of(pool, index);
    error.index = index;
    error.site = last_site(pool, index);
    cpi_tell_how(details, pool);
    error.details = details->start;
    if (error.site != NULL)
        cpi_report(&error,
                   "%s: %s (pool '%s' %p, address %p, nearest slot %zu at %p, last taken or "
                   "freed at %p)",
                   function, cpool_strerror(code), pool->name, (const void *)pool->handle, address,
                   error.index, error.slot, error.site);
    else
        cpi_report(&error, "%s: %s (pool '%s' %p, address %p, nearest slot %zu at %p)", function,
                   cpool_strerror(code), pool->name, (const void *)pool->handle, address,
                   error.index, error.slot);
}

void cpi_pool_report_details(int code, const char *function, const struct cpi_pool *pool,
                             uintptr_t index, struct cpi_text *details)
{
    report_near(code, function, pool, address_of(pool, index), index, details);
}

void cpi_pool_report_address(int code, const char *function, const struct cpi_pool *pool,
                             const void *address, uintptr_t index)
{
    char room[CPI_DETAILS_MAX];
    struct cpi_text details;

    cpi_text_init(&details, room, sizeof room);
    if (code == CPOOL_EFOREIGN)
        cpi_tell_owner(&details, pool, address);
    else
        cpi_tell_slot(&details, pool, index);
    report_near(code, function, pool, address, index, &details);
}

/* The reverse of cpi_pool_shown, or a code. */
CPI_COLD static int judge_block(const struct cpi_pool *pool, const void *block,
                                const char *function, uintptr_t *index)
{
    int code = CPOOL_EFOREIGN;

    *index = cpi_fake_index(pool->fake, block);
    if (*index != CPI_FAKE_NONE)
        return 0;
    *index = cpi_fake_around(pool->fake, block);
    if (*index == CPI_FAKE_NONE)
        *index = 0;
    else
        code = cpi_fake_was(pool->fake, *index) == block ? CPOOL_EDOUBLEFREE : CPOOL_EMISALIGNED;
    cpi_pool_report_address(code, function, pool, block, *index);
    return code;
}

int cpi_pool_judge(const struct cpi_pool *pool, const void *slot, const char *function,
                   uintptr_t *index)
{
    static const int codes[] = {
        [CPI_PLACE_UNUSED] = CPOOL_EUNUSED,
        [CPI_PLACE_INSIDE] = CPOOL_EMISALIGNED,
        [CPI_PLACE_OUTSIDE] = CPOOL_EFOREIGN,
    };
    enum cpi_place place;

    if (CPI_UNLIKELY(pool->fake != NULL))
        return judge_block(pool, slot, function, index);
    place = cpi_slab_place(&pool->slab, slot, index);
    if (CPI_LIKELY(place == CPI_PLACE_SLOT))
        return 0;
    cpi_pool_report_address(codes[place], function, pool, slot, *index);
    return codes[place];
}
