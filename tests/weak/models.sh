#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# models.sh - all models of tests/model hold in the explorer of weak memory.
#
# WEAK_MODELS: names of those to run instead of all.  WEAK_EXECUTIONS: 8000 by default.
# srcdir: top of the source tree.  The rest of the environment is run.sh's.  Runs in the build
# folder.

WEAK_EXECUTIONS=${WEAK_EXECUTIONS:-8000}
export WEAK_EXECUTIONS
tests=${srcdir:-.}/tests
# shellcheck disable=SC2046 # several words
exec "$tests/weak/run.sh" "$tests/../lib" \
    ${WEAK_MODELS:-$(cd "$tests/model" && ls *.c | sed 's/\.c$//')}
