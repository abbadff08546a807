/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_cpool_typed_exact.c - a typed pool with the inline path of exact ones.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#define RIVAL_SLOT 64
#define RIVAL_POOL slots_exact
#define RIVAL_ID bench_rival_cpool_typed_exact
#define RIVAL_DECLARE(name) CPOOL_DECLARE_EXACT(name, struct slot)
#define RIVAL_DEFINE(name) CPOOL_DEFINE_EXACT(name, struct slot, .capacity = 1)
#define RIVAL_NAME "cpool-typed-exact"
#define RIVAL_SUMMARY "a typed pool by CPOOL_DECLARE_EXACT"
#define RIVAL_TRAITS (BENCH_OURS | BENCH_MODE)
#include "rival_cpool_typed.h"
