/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * build.h - which sanitizer this build of the stress program runs under.
 *
 * Includes nothing.  STRESS_TSAN and STRESS_ASAN are 1 or 0, whether gcc says
 * so (predefined macros) or clang does (__has_feature).
 */
#ifndef STRESS_BUILD_H
#define STRESS_BUILD_H

#if defined(__SANITIZE_THREAD__)
#define STRESS_TSAN 1
#elif defined(__SANITIZE_ADDRESS__)
#define STRESS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define STRESS_TSAN 1
#elif __has_feature(address_sanitizer)
#define STRESS_ASAN 1
#endif
#endif

#ifndef STRESS_TSAN
#define STRESS_TSAN 0
#endif
#ifndef STRESS_ASAN
#define STRESS_ASAN 0
#endif

#endif /* STRESS_BUILD_H */
