/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait_register.c - wait_free.c where the owner registers its cache first, and opens it to free the
 * first slot.
 *
 * Holds: the same.
 */
#define MODEL_REGISTERS
#include "wait_free.c"
