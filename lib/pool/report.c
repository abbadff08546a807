/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.c - reports what a caller did wrong, to which pool, near which slot.
 */
#include "pool/report.h"
#include "pool/slots.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"

static cpool_error_t error_of(int code, const char *function, const struct cpi_pool *pool)
{
    return (cpool_error_t){
        .code = code, .function = function, .pool = pool->face, .name = pool->name};
}

CPI_COLD void cpi_pool_report(int code, const char *function, const struct cpi_pool *pool)
{
    cpool_error_t error = error_of(code, function, pool);

    cpool_client_report(&error, "%s: %s (pool '%s' %p)", function, cpool_strerror(code),
                        pool->name, (const void *)pool->face);
}

const char *cpi_client_title(unsigned kind)
{
    if ((kind & CPOOL_VIEW_OBJECTS) != 0)
        return "objects";
    if ((kind & CPOOL_VIEW_SIZED) != 0)
        return "sized";
    return (kind & CPOOL_VIEW_LANES) != 0 ? "lanes" : "pool";
}

void cpi_pool_report_handle(const char *function, const cpool_t *handle)
{
    const struct cpi_pool *pool = cpi_pool_behind(handle);
    cpool_error_t error = {.code = CPOOL_EPOOL, .function = function, .name = "",
                           .pool = (cpool_t *)(uintptr_t)handle};

    if (pool != NULL) {
        error.name = pool->client->name;
        cpool_client_report(
            &error, "%s: the slots of %s '%s' (%p) are taken and given back by its functions alone",
            function, cpi_client_title(pool->client->kind), error.name, (const void *)handle);
    } else if (handle == NULL) {
        cpool_client_report(&error,
                            "%s: the pool is NULL: it was never created, or cpool_create or "
                            "<name>_open failed and returned why", function);
    } else {
        cpool_client_report(&error, "%s: not a pool: %s (%p)", function,
                            cpi_handle_is_one(handle)
                                ? "it or its cache has been destroyed"
                                : "never created, or by another copy of the library",
                            (const void *)handle);
    }
}

CPI_COLD void cpi_pool_report_unmade(const char *name, int code)
{
    char function[CPI_REPORT_MAX / 4];
    cpool_error_t error = {.code = code, .function = function, .name = name};

    if (code == CPOOL_ECOPIES)
        return; /* not the program's fault, and cpi_pool_build has told the user */
    snprintf(function, sizeof function, "%s_open", name);
    cpool_client_report(
        &error, "%s: on its first use the typed pool '%s' cannot be made, so it gives NULL: %s",
        function, name, cpool_strerror(code));
}

void cpi_pool_report_slot(int code, const char *function, const struct cpi_pool *pool,
                          uintptr_t index)
{
    cpi_pool_report_address(code, function, pool, cpi_pool_slot(pool, index), index);
}

/* Tells how to learn more about the mistake.  Checks do not add to what a trap tells. */
static void tell_how(struct cpi_text *text, const struct cpi_pool *pool, int code)
{
    if (strstr(text->start, "+0x") != NULL)
        cpi_text_add(text, "cpool:   'addr2line -ife FILE 0xNUMBER' names the line of "
                           "FILE+0xNUMBER\n");
    if (!pool->checked && code != CPOOL_ETRAP)
        cpi_text_add(text, "cpool:   CPOOL_OPTIONS=checked in the environment tells more "
                           "(man cpool_debug)\n");
}

CPI_COLD void cpi_pool_report_surplus(const char *function, const struct cpi_pool *pool,
                                      uint64_t slots)
{
    char room[CPI_DETAILS_MAX];
    struct cpi_text details;
    cpool_error_t error = error_of(CPOOL_EDOUBLEFREE, function, pool);

    cpi_text_init(&details, room, sizeof room);
    cpi_text_add(&details, "cpool:   a pool without checks does not know which slots they were\n");
    tell_how(&details, pool, CPOOL_EDOUBLEFREE);
    error.details = details.start;
    cpool_client_report(&error, "%s: %" PRIu64 " slot%s freed while free already (pool '%s' %p)",
                        function, slots, CPI_PLURAL(slots), pool->name,
                        (const void *)pool->face);
}

CPI_COLD void cpi_pool_report_details(int code, const char *function, const struct cpi_pool *pool,
                                      const void *address, const void *slot, uintptr_t index,
                                      struct cpi_text *details)
{
    cpool_error_t error = error_of(code, function, pool);
    char last[64] = "";

    error.address = address;
    error.slot = slot;
    error.index = index;
    error.site = cpi_record_site(&pool->slab, index);
    tell_how(details, pool, code);
    error.details = details->start;
    if (error.site != NULL)
        snprintf(last, sizeof last, ", last taken or freed at %p", error.site);
    cpool_client_report(&error, "%s: %s (pool '%s' %p, address %p, nearest slot %zu at %p%s)",
                        function, cpool_strerror(code), pool->name, (const void *)pool->face,
                        address, error.index, slot, last);
}

CPI_COLD void cpi_pool_report_damage(const struct cpi_pool *pool, const struct cpi_damage *damage,
                                     const char *function)
{
    char details[CPI_DETAILS_MAX];
    struct cpi_text text;
    const void *slot = cpi_slab_slot(&pool->slab, damage->index);

    cpi_text_init(&text, details, sizeof details);
    cpi_damage_tell(&text, &pool->slab, damage);
    cpi_pool_report_details(CPOOL_EGUARD, function, pool, slot, slot, damage->index, &text);
}

/* Tells which other pool the address lies in, and about that slot.  The lock keeps that pool from
 * being destroyed meanwhile.  Skipped if the lock is taken. */
static void tell_owner(struct cpi_text *text, const struct cpi_pool *pool, const void *address)
{
    const cpool_t *handle = cpi_handle_find((uintptr_t)address, NULL);
    const struct cpi_pool *owner;
    uintptr_t index;
    int place;

    if (handle == NULL)
        handle = cpi_handle_zoned((uintptr_t)address, NULL);
    if (handle == NULL || handle == pool->face || cpi_lock_is_held() || !cpi_try_lock())
        return;
    owner = cpi_pool_at(handle);
    place = owner != NULL ? cpi_pool_place(owner, address, &index) : CPOOL_EFOREIGN;
    if (place != CPOOL_EFOREIGN) {
        cpi_text_add(text,
                     "cpool:   the address lies in another pool, '%s' %p, %s slot %" PRIuPTR "\n",
                     owner->name, (const void *)handle,
                     place == CPOOL_EMISALIGNED ? "inside or behind" : "at the start of", index);
        cpi_record_tell(text, &owner->slab, index);
    }
    cpi_unlock();
}

/* The number of slots that have been handed out, or that can be without growing.  More have an
 * address. */
static uintptr_t slots_there(const struct cpi_pool *pool)
{
    uintptr_t capacity = cpi_slab_capacity(&pool->slab);
    uintptr_t fresh = cpi_slab_fresh(&pool->slab);

    return capacity > fresh ? capacity : fresh;
}

CPI_COLD void cpi_pool_report_address(int code, const char *function,
                                      const struct cpi_pool *pool, const void *address,
                                      uintptr_t index)
{
    char room[CPI_DETAILS_MAX];
    struct cpi_text details;
    void *slot;

    if (index >= slots_there(pool))
        index = slots_there(pool) - 1;
    slot = cpi_pool_slot(pool, index);
    cpi_text_init(&details, room, sizeof room);
    if (cpi_handle_zoned((uintptr_t)address, NULL) == pool->handle)
        (void)cpi_sample_tell(&details, pool->samples, address, &slot, &index);
    else if (code == CPOOL_EFOREIGN)
        tell_owner(&details, pool, address);
    else
        cpi_record_tell(&details, &pool->slab, index);
    cpi_pool_report_details(code, function, pool, address, slot, index, &details);
}
