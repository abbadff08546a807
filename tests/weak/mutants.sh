#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# mutants.sh - the models notice in the explorer of weak memory, too, when the
# library is wrong: the mutants of tests/model/mutants.txt.
#
# srcdir: top of the source tree.  The rest of the environment is run.sh's.  Runs in the
# build folder.

if [ "${CHECK_MUTANTS:-yes}" = no ]; then
    echo "skipped: CHECK_MUTANTS=no, another build checks them"
    exit 77
fi

tests=${srcdir:-.}/tests
CHECKER=$tests/weak/run.sh
export CHECKER
exec "$tests/model/mutants.sh" "$tests/../lib" "$@"
