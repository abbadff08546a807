/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inside.h - what lies behind a pool's handle, for white-box tests.
 *
 * Includes pool_impl.h.
 */
#ifndef INSIDE_H
#define INSIDE_H

#include "pool_impl.h"

/* The pool of a handle that leads to one. */
static inline struct cpi_pool *inside(const cpool_t *pool)
{
    return pool->state;
}

#endif /* INSIDE_H */
