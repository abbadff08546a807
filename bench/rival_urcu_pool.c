/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_urcu_pool.c - call_rcu of nodes from a pool of libcpool.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "bench.h"

#if defined(HAVE_URCU) && HAVE_URCU

#include "rival_cpool.h"

#define URCU_ID bench_rival_urcu_pool
#define URCU_NAME "urcu-pool"
#define URCU_SUMMARY "the same of nodes from a pool of libcpool"

#include "rival_urcu.h"

#else

BENCH_ABSENT(urcu_pool, "urcu-pool", "the same of nodes from a pool of libcpool",
             "configure did not use liburcu")

#endif
