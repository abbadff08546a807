/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_cpool_typed.c - a typed pool of slots of 64 bytes.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#define RIVAL_SLOT 64
#define RIVAL_POOL slots_64
#define RIVAL_ID bench_rival_cpool_typed
#include "rival_cpool_typed.h"
