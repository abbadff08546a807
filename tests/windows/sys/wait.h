/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait.h - what the tests ask of the status of a process, for Windows.
 */
#ifndef CPOOL_TESTS_WINDOWS_WAIT_H
#define CPOOL_TESTS_WINDOWS_WAIT_H

#include <signal.h>

#define SIGSYS 31 /* not raised */

/* abort() ends a process with status 3, and a trap with the code of its exception. */
#define WIFSIGNALED(status) ((status) == 3 || (status) < 0)
#define WTERMSIG(status) ((status) == 3 ? SIGABRT : SIGSEGV)
#define WIFEXITED(status) (!WIFSIGNALED(status))
#define WEXITSTATUS(status) (status)

#endif /* CPOOL_TESTS_WINDOWS_WAIT_H */
