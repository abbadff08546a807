/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check.h - as much of the Check framework as tests/harness/support.h needs.
 *
 * Stands in for <check.h> where the tests are compiled for Windows.  Each test runs in a process
 * of its own, which tests/windows/support.c starts.
 */
#ifndef CPOOL_TESTS_WINDOWS_CHECK_H
#define CPOOL_TESTS_WINDOWS_CHECK_H

#include <stdbool.h>

#include "posix.h"

typedef struct {
    const char *name;
    void (*run)(int _i);
} TTest;

#define START_TEST(test)                                                       \
    static void test##_body(int _i);                                           \
    static const TTest test##_test = { #test, test##_body };                   \
    static const TTest *test = &test##_test;                                   \
    static void test##_body(int _i __attribute__((__unused__)))
#define END_TEST

#endif /* CPOOL_TESTS_WINDOWS_CHECK_H */
