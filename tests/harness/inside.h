/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inside.h - what lies behind a pool's handle, for white-box tests.
 *
 * Includes pool.h.
 */
#ifndef INSIDE_H
#define INSIDE_H

#include <stdlib.h>
#include <sched.h>

#include "pool/report.h"

/* The pool of a handle that leads to one. */
static inline struct cpi_pool *inside(const cpool_t *pool)
{
    struct cpi_pool *found = cpi_pool_at(pool);

    if (found == NULL) /* which the compiler would take into account at each use */
        abort();
    return found;
}

/* The figures of a pool's registry. */
static inline struct cpi_registry_figures inside_figures(const cpool_t *pool)
{
    struct cpi_registry_figures result;

    cpi_lock();
    cpi_registry_figures(&inside(pool)->registry, &result);
    cpi_unlock();
    return result;
}

#endif /* INSIDE_H */
