/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_cpool_typed_8.c - a typed pool of slots of 8 bytes.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#define RIVAL_SLOT 8
#define RIVAL_POOL slots_8
#define RIVAL_ID bench_rival_cpool_typed_8
#include "rival_cpool_typed.h"
