#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# mutants.sh - the models notice in the explorer of weak memory, too, when the
# library is wrong: the mutants of tests/model/mutants.txt.
#
# srcdir: top of the source tree.  The rest of the environment is run.sh's.  Runs in the
# build folder.

tests=${srcdir:-.}/tests
CHECKER=$tests/weak/run.sh
export CHECKER
exec "$tests/model/mutants.sh" "$tests/../lib" "$@"
