#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# planted.sh - the models notice in the explorer of weak memory, too, when the
# library is wrong: the bugs of tests/planted/list.txt.
#
# srcdir: top of the source tree.  The rest of the environment is run.sh's.  Runs in the
# build folder.

tests=${srcdir:-.}/tests
CHECKER=$tests/weak/run.sh
WEAK_EXECUTIONS=${WEAK_EXECUTIONS:-60000} # a bug ends them, and some are rare
export CHECKER WEAK_EXECUTIONS
exec "$tests/planted/models.sh" "$tests/../lib" "$@"
