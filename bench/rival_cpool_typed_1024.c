/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_cpool_typed_1024.c - a typed pool of slots of 1024 bytes.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#define RIVAL_SLOT 1024
#define RIVAL_POOL slots_1024
#define RIVAL_ID bench_rival_cpool_typed_1024
#include "rival_cpool_typed.h"
