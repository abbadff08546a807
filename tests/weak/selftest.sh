#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# selftest.sh - the explorer of weak memory sees what C11 allows, nothing else,
# and finds what is wrong: builds selftest.c and runs it.
#
# srcdir: top of the source tree, CC: the compiler.  Runs in the build folder.

here=${srcdir:-.}/tests/weak
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
top=$here/../..
models=$here/../model
lib=$here/../../lib
objects=$work
log=$work/log

skip() {
    echo "skipped: $1"
    cat "$log"
    exit 77
}

. "$here/build.sh"

model_flags="$model_flags -Umain"
weak_main=
build_model "$here/selftest.c" "$work/selftest" || {
    cat "$log"
    exit 1
}
"$work/selftest"
