/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_urcu.c - call_rcu of nodes from malloc.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "bench.h"

#if defined(HAVE_URCU) && HAVE_URCU

#include <stdlib.h>

static size_t urcu_node;

static void *rival_create(const struct bench_cell *cell)
{
    urcu_node = cell->slot_size;
    return &urcu_node;
}

static void rival_destroy(void *pool)
{
    (void)pool;
}

static inline void *rival_alloc(void *handle)
{
    return malloc(*(size_t *)handle);
}

static inline void rival_free(void *handle, void *slot)
{
    (void)handle;
    free(slot);
}

#define URCU_ID bench_rival_urcu
#define URCU_NAME "urcu"
#define URCU_SUMMARY "liburcu (memb), call_rcu of nodes from malloc"

#include "rival_urcu.h"

#else

BENCH_ABSENT(urcu, "urcu", "liburcu (memb), call_rcu of nodes from malloc",
             "configure did not use liburcu")

#endif
