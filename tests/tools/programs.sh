# SPDX-License-Identifier: BSD-2-Clause
# programs.sh - builds programs of a user's against the library as it is installed, and
# reads what a tool says of them.  The scripts check-asan.sh and its like read it.
#
# They set tool, its name, and sanitizer, the argument of -fsanitize, or nothing.

. "${srcdir:-.}/tests/harness/script.sh"
tried=0

# The tool's own library would be another one than the program's.
grep -q 'SANITIZER_CFLAGS = ..*' Makefile && skip 'the library is built for a sanitizer'
[ -e "$library" ] || skip 'there is no library to link'
LD_LIBRARY_PATH=$(pwd)/lib/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

complain() {
    echo "$*"
    sed 's/^/  | /' "$work/output"
    status=1
}

# starts COMPILER - whether its instrumented programs run here, and behind what.
starts() {
    launch=
    echo 'int main(void) { return 0; }' > "$work/probe.c"
    # shellcheck disable=SC2086,SC2154 # the compiler may have options of its own
    $1 ${sanitizer:+-fsanitize=$sanitizer} "$work/probe.c" -o "$work/probe" 2> /dev/null ||
        return 1
    "$work/probe" > /dev/null 2>&1 && return 0
    launch='setarch -R'
    $launch "$work/probe" > /dev/null 2>&1
}

# build COMPILER PROGRAM OPTION...
build() {
    compiler=$1 program=$2
    shift 2
    # shellcheck disable=SC2086
    $compiler -std=c11 -g -Wall -Wextra -Werror -fno-omit-frame-pointer -pthread \
        ${sanitizer:+-fsanitize=$sanitizer} "$@" -I"$top/include" -Iinclude \
        "$top/tests/tools/$program.c" "$library" -o "$work/$program" > "$work/output" 2>&1 &&
        return
    complain "$program does not compile with $compiler $*"
    return 1
}

# run PROGRAM ARGUMENT... - leaves what it says in output, and its exit status in code.
run() {
    program=$1 ran=$*
    shift
    # The shell says nothing of a program that is aborted.
    {
        # shellcheck disable=SC2086
        $launch "$work/$program" "$@" > "$work/output" 2>&1
        code=$?
    } 2> /dev/null
}

# silent PROGRAM [ARGUMENT...] - it ends well, and nothing is said.
silent() {
    run "$@"
    [ "$code" -eq 0 ] && [ "$(wc -l < "$work/output")" -eq 1 ] ||
        complain "$tool: '$*' ends with $code, and more is said than it says itself"
}

# said WORDS... - each of them, by the program that ran last.
said() {
    for words; do
        grep -q -e "$words" "$work/output" || {
            complain "$tool: '$ran': nothing is said of '$words'"
            break
        }
    done
}

# found MISTAKE WAY WORDS... - each of the words is said, and the program ends badly.
found() {
    mistake=$1 way=$2
    shift 2
    run mistakes "$way" "$mistake"
    [ "$code" -ne 0 ] || complain "$tool: '$ran': nothing is found"
    said "$@"
}

# compilers - the configured one, and those of GNU and LLVM where they are found.
compilers() {
    echo "${CC:-cc}"
    for name in gcc clang; do
        [ "$name" != "${CC:-cc}" ] && command -v "$name" > /dev/null && echo "$name"
    done
}

# each FUNCTION - calls it with each compiler that has the tool, or with CPOOL_TEST_QUICK one.
each() {
    for compiler in $(compilers); do
        starts "$compiler" || { echo "left out: $compiler has no $tool here"; continue; }
        tried=$((tried + 1))
        "$1" "$compiler"
        [ -z "${CPOOL_TEST_QUICK:-}" ] || break
    done
    [ "$tried" -gt 0 ] || skip "no compiler here has $tool"
    [ "$status" -ne 0 ] || echo "$tool, with $tried compilers"
    exit "$status"
}
