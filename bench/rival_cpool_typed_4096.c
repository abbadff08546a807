/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_cpool_typed_4096.c - a typed pool of slots of 4096 bytes.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#define RIVAL_SLOT 4096
#define RIVAL_POOL slots_4096
#define RIVAL_ID bench_rival_cpool_typed_4096
#include "rival_cpool_typed.h"
