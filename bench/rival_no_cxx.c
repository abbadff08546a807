/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_no_cxx.c - names the rivals in C++ where there is no C++ compiler.
 * Built instead of them.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "rivals.h"

BENCH_ABSENT(boost_freelist, "boost-list", "Boost.Lockfree's freelist_stack",
             "configure found no C++ compiler")
BENCH_ABSENT(boost_pool, "boost-pool", "Boost.Pool's fast_pool_allocator",
             "configure found no C++ compiler")
