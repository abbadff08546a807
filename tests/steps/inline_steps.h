/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inline_steps.h - each access of the inline path of a program is a step, too, in the function that
 * it calls.  Included first.
 */
#ifndef CPOOL_TESTS_INLINE_STEPS_H
#define CPOOL_TESTS_INLINE_STEPS_H

#if defined(HAVE_CONFIG_H)
#include <config.h> /* it says which system interfaces are wanted */
#endif

#include "points.h"

#define CPOOL_POINT_() points->reach(__func__)

#endif /* CPOOL_TESTS_INLINE_STEPS_H */
