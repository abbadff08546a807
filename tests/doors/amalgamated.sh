#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# amalgamated.sh - the tests of the public interface pass with the library as two files.
#
#   amalgamated.sh [TEST...]     these of tests/public, or a few, of which CPOOL_TEST_QUICK leaves
#                                one, compiled once
#
# srcdir: top of the source tree.  CC: the compiler.  CHECK_CFLAGS, CHECK_LIBS: of the Check
# framework.  Runs in the top of the build tree, after `make amalgamation`.

set -u
top=${srcdir:-.}
made=amalgamation
quick=${CPOOL_TEST_QUICK:-}
[ $# -eq 0 ] || quick=
[ -z "$quick" ] || set -- check_typed
[ $# -gt 0 ] || set -- check_alloc check_print check_typed
[ -n "${CHECK_LIBS:-}" ] || { echo 'skipped: configure did not use Check'; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
status=0

# The headers of the source tree are out of sight.  In place of each stands one that includes
# the one file.
mkdir "$work/cpool" || exit 1
for header in "$top"/include/cpool/*.h; do
    printf '#include <cpool.h>\n' > "$work/cpool/${header##*/}"
done
for name in objects sized retire lanes; do
    [ -e "$made/cpool_$name.h" ] || continue
    for header in $(sed -n "/^ext_${name}_headers/,/[^\\\\]\$/p" "$top/lib/sources.mk" |
        grep -o 'cpool/.*\.h'); do
        printf '#include <cpool_%s.h>\n' "$name" > "$work/$header"
    done
done
compile() {
    # shellcheck disable=SC2086 # several words
    ${CC:-cc} -std=c11 -O1 -D_GNU_SOURCE -pthread -I"$made" -I"$work" -I"$top/tests/harness" \
        ${CHECK_CFLAGS:-} "$@"
}

# Nothing is warned of, where the optimiser looks deepest: with the warnings of the house, and
# those of a program that asks for none.
warnings='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Wvla -Wformat=2
    -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wpointer-arith
    -Wwrite-strings -Wimplicit-fallthrough'
[ -n "$quick" ] || for options in "$warnings" ''; do
    # shellcheck disable=SC2086 # several words
    compile -O3 $options -Werror -c "$made/cpool.c" -o "$work/cpool.o" || exit 1
    for source in "$made"/cpool_*.c; do
        # shellcheck disable=SC2086
        compile -O3 $options -Werror -c "$source" -o "$work/pair.o" || exit 1
    done
done
# One file with a program of a user's, with and without the inline path.
{ echo '#include "cpool.c"' && cat "$top/tests/doors/job.c"; } > "$work/one.c"
[ -n "$quick" ] || for option in -O3 -DCPOOL_NO_INLINE; do
    compile "$option" -Werror "$work/one.c" -o "$work/one" && "$work/one" > /dev/null || {
        echo "a program in one file with cpool.c fails with $option"
        exit 1
    }
done

# As with -O2, a function that calls another one last does not stand among the callers, so that
# call sites are those of the tests.
# shellcheck disable=SC2086 # several words
compile -foptimize-sibling-calls $warnings -Werror -c "$made/cpool.c" -o "$work/cpool.o" || exit 1
mkdir "$work/help" || exit 1
for helper in figures main support support_pool support_threads misuse growth waiter; do
    compile -c "$top/tests/harness/$helper.c" -o "$work/help/$helper.o" || exit 1
done
ar rc "$work/help.a" "$work"/help/*.o || exit 1

for name; do
    name=${name##*/}
    options=
    case $name in *_noinline) options=-DCPOOL_NO_INLINE ;; esac
    [ "$name" != check_null ] || options='-fno-pie -no-pie -static'
    # shellcheck disable=SC2086
    compile $options "$top/tests/public/${name%_noinline}.c" "$work/cpool.o" "$work/help.a" \
        $CHECK_LIBS ${ATOMIC_LIBS:-} -o "$work/$name" || {
        echo "$name: does not compile with cpool.h and cpool.c"
        status=1
        continue
    }
    "$work/$name" > "$work/output" 2>&1
    case $? in
    0) grep '^[0-9]*%: Checks' "$work/output" | sed "s/^/$name: /" ;;
    77) echo "$name: skipped" ;;
    *)
        cat "$work/output"
        echo "$name: fails"
        status=1
        ;;
    esac
done
exit "$status"
