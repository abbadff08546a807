/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rest_near.c - rest_await.c where the slot goes back by the short way, which calls nobody.
 *
 * Holds: the same.
 */
#define MODEL_NEAR
#include "rest_await.c"
