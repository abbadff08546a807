#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# check-typed.sh - typed pools work in programs that are compiled in other ways than the
# tests: without optimisation, optimised when linked, as code at any address, and without
# the inline path or any GNU extension, with each compiler that is found.
#
# Compiles tests/public/typed_builds.c and runs it, six times with a compiler.
#
# srcdir: top of the source tree.  CC: the configured compiler.  Run in the top of the
# build tree.

set -u
top=${srcdir:-.}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
library=lib/.libs/libcpool.so
[ -e "$library" ] || library=lib/.libs/libcpool.a
status=0
ran=0
left=

echo 'int main(void) { return 0; }' >"$work/empty.c"

# Without GNU extensions.  The C library's headers define types then that gcc knows already.
plain='-U__GNUC__ -D_Float32=float32_ -D_Float64=float64_ -D_Float32x=float32x_
-D_Float64x=float64x_'

# try COMPILER OPTION...
try() {
    if ! "$@" "$work/empty.c" -o "$work/empty" >"$work/output" 2>&1 || ! "$work/empty"; then
        left="$left $*;"
    elif ! "$@" -std=c11 -Wall -Wextra -Werror -Wno-unused-function -I"$top/include" -Iinclude \
        "$top/tests/public/typed_builds.c" "$library" -pthread -Wl,-rpath,"$(pwd)/lib/.libs" \
        -o "$work/program" >"$work/output" 2>&1; then
        echo "does not compile: $*"
        head -n 20 "$work/output"
        status=1
    else
        ran=$((ran + 1))
        "$work/program" >"$work/output" 2>&1
        code=$?
        [ $code -eq 0 ] && return
        echo "fails at step $code: $*"
        cat "$work/output"
        status=1
    fi
}

case ${CC:-cc} in
*clang*) other=gcc ;;
*) other=clang ;;
esac
for compiler in "${CC:-cc}" $other; do
    # shellcheck disable=SC2086 # a compiler may come with options
    set -- $compiler
    command -v "$1" >/dev/null || continue
    for options in '-O0' '-O0 -fPIC' '-O2 -flto' '-O2 -fPIC -DCPOOL_TYPED_TLS="global-dynamic"' \
        '-O2 -DCPOOL_NO_INLINE' "-O2 $plain"; do
        # shellcheck disable=SC2086 # several words
        try $compiler $options
    done
done
[ -z "$left" ] || echo "left out, as it makes no program:$left"
[ $ran -gt 0 ] || [ $status -ne 0 ] || { echo 'SKIP: no compiler makes a program that runs'; exit 77; }
[ $status -ne 0 ] || echo "typed pools work in $ran programs"
exit $status
