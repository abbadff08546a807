/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait_serve_symmetric.c - wait_serve.c without the kernel's barrier, where a typed pool shows no
 * magazine, and each free takes the long way.
 *
 * Holds: the claims of wait_serve.c.
 */
#define MODEL_SYMMETRIC
#include "wait_serve.c"
