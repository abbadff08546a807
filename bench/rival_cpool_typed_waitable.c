/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_cpool_typed_waitable.c - a typed pool with the inline path of waitable ones.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#define RIVAL_SLOT 64
#define RIVAL_POOL slots_waitable
#define RIVAL_ID bench_rival_cpool_typed_waitable
#define RIVAL_DECLARE(name) CPOOL_DECLARE_WAITABLE(name, struct slot)
#define RIVAL_DEFINE(name) CPOOL_DEFINE_WAITABLE(name, struct slot, .capacity = 1)
#define RIVAL_NAME "cpool-typed-waitable"
#define RIVAL_SUMMARY "a typed pool by CPOOL_DECLARE_WAITABLE, nobody waits"
#define RIVAL_TRAITS (BENCH_OURS | BENCH_MODE)
#include "rival_cpool_typed.h"
