/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_cpool_typed_256.c - a typed pool of slots of 256 bytes.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#define RIVAL_SLOT 256
#define RIVAL_POOL slots_256
#define RIVAL_ID bench_rival_cpool_typed_256
#include "rival_cpool_typed.h"
