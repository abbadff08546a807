/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dump.c - writes the counts of coverage when a program aborts, which would lose them.
 * coverage.sh compiles it into programs that make mistakes.
 */
#include <signal.h>

void __gcov_dump(void);

static void abort_after_dump(int number)
{
    __gcov_dump();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

__attribute__((__constructor__)) static void catch_abort(void)
{
    (void)signal(SIGABRT, abort_after_dump);
}
