/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inside.h - what lies behind a pool's handle, for white-box tests.
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

/* The pool's figures, with those of its mechanism. */
static inline struct cpi_figures inside_figures(const cpool_t *pool)
{
    struct cpi_figures result;

    cpi_lock();
    cpi_pool_figures(inside(pool), &result);
    cpi_unlock();
    return result;
}

#endif /* INSIDE_H */
