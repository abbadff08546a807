/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait.h - what the tests ask of the status of a process, for Windows.
 */
#ifndef CPOOL_TESTS_WINDOWS_WAIT_H
#define CPOOL_TESTS_WINDOWS_WAIT_H

#include <signal.h>

/* abort() ends a process with status 3. */
#define WIFSIGNALED(status) ((status) == 3)
#define WTERMSIG(status) ((void)(status), SIGABRT)
#define WIFEXITED(status) ((status) != 3)
#define WEXITSTATUS(status) (status)

#endif /* CPOOL_TESTS_WINDOWS_WAIT_H */
