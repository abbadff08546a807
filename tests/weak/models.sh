#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# models.sh - all models of tests/model hold in the explorer of weak memory.
#
# WEAK_MODELS: names of those to run instead of all.  WEAK_EXECUTIONS: 8000 by default, or 1000
# with CPOOL_TEST_QUICK.
# srcdir: top of the source tree.  The rest of the environment is run.sh's.  Runs in the build
# folder.

default=8000
[ -z "${CPOOL_TEST_QUICK:-}" ] || default=1000
WEAK_EXECUTIONS=${WEAK_EXECUTIONS:-$default}
export WEAK_EXECUTIONS
tests=${srcdir:-.}/tests
# shellcheck disable=SC2046 # several words
exec "$tests/weak/run.sh" "$tests/../lib" \
    ${WEAK_MODELS:-$(cd "$tests/model" && ls *.c | sed 's/\.c$//') \
        $(sed -n 's/^\([a-z_]*\) *|.*/\1/p' "$tests/model/variants.txt" "$tests/weak/whole.txt")}
