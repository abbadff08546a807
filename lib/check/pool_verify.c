/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_verify.c - the functions of <cpool/debug.h>, which look for damage when they are asked to.
 */
#include "pool/pool_report.h"

#include <cpool/debug.h>

#include "check/checks.h"

size_t cpool_audit(cpool_t *handle)
{
    static const char function[] = "cpool_audit";
    const struct cpi_pool *pool = cpi_pool_seen(handle, function);

    return pool != NULL && pool->checked ? cpi_pool_verify_all(pool, function) : 0;
}

int cpool_verify(cpool_t *handle, const void *slot)
{
    static const char function[] = "cpool_verify";
    struct cpi_pool *pool = cpi_pool_seen(handle, function);
    uintptr_t index;
    int code;

    if (pool == NULL)
        return CPOOL_EPOOL;
    code = cpi_pool_judge(pool, slot, function, &index);
    if (code != 0 || !pool->checked)
        return code;
    return cpi_pool_verify_next(pool, &index, index + 1, function);
}
