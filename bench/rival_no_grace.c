/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_no_grace.c - libcpool without sections, and with a free where others retire.  Its readers
 * may find nodes that were freed and handed out again, so it is not a rival: it shows the costs
 * without sections and without waiting for them.  Slots stay mapped.  Left out under sanitizers,
 * which (rightly) complain.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "rival_cpool.h"

#define RIVAL_IS_UNSAFE

static void *rival_domain_create(const struct bench_cell *cell, size_t bag)
{
    (void)cell, (void)bag;
    return bench_pool;
}

static void *rival_reader_enter(void *domain)
{
    return domain;
}

static void rival_reader_leave(void *reader)
{
    (void)reader;
}

static inline void *rival_read(void *reader, void **place)
{
    (void)reader;
    return __atomic_load_n(place, __ATOMIC_ACQUIRE);
}

static inline void rival_read_end(void *reader)
{
    (void)reader;
}

static inline bool rival_retire(void *reader, void *node)
{
    (void)reader;
    cpool_free((cpool_t *)bench_pool, node);
    return false;
}

static size_t rival_held(void *domain)
{
    (void)domain;
    return 0;
}

#include "rival_retire.h"

RIVAL_RETIRE(bench_rival_no_grace, "no-grace",
             "libcpool, plain frees, readers unprotected: what others add to", BENCH_LIMIT);
