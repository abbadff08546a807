#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# run.sh - plants one bug of list.txt after the other in a copy of the library, and runs the
# tests until one fails.  models.sh does so with models.
#
#   run.sh [NAME...]         these mutants, or all that the list does not leave to models
#   run.sh original          the library as it is: every test must pass
#
# srcdir: top of the source tree.  TESTS: the test programs, as the lists of
# tests/*/local.mk have them.  CC, CHECK_CFLAGS, CHECK_LIBS, LIBS: how they
# are compiled.  MUTANTS_LIMIT: seconds that one test may take.  Longer is a failure.
# MUTANTS_OTHERS: the tests that are run after those that the list names, all if unset.
# PLANTED_LIST: a list in place of list.txt.  MUTANTS_WORK: a folder in which what is compiled for all mutants stays.  Runs in the
# build folder.
#
# Prints for each mutant its name, its file and its killer: a program and the test in it,
# or the explorer and its scenario.  The tests that the list names come
# first, then all others.  A mutant that is said to be sound, or not to be looked at by a
# test, must survive those that it names.  "same code" is compared.

top=$(cd "${srcdir:-.}" && pwd)
limit=${MUTANTS_LIMIT:-60}
random=${MUTANTS_RANDOM:-5000} # schedules of the explorer, beside the exhaustive ones
work=${MUTANTS_WORK:-}
if [ -z "$work" ]; then
    work=$(mktemp -d) || exit 1
    trap 'rm -rf "$work"' EXIT
fi
mkdir -p "$work/original" || exit 1
# It ends a test together with the processes that it has started.
[ -e "$work/limit" ] ||
    { ${CC:-cc} -std=c11 -D_GNU_SOURCE -O1 "$top/tests/harness/limit.c" -o "$work/limit.$$" &&
        mv "$work/limit.$$" "$work/limit"; } || exit 1
mutant=$work/mutant.$$
trap 'rm -rf "$mutant"; [ -n "${MUTANTS_WORK:-}" ] || rm -rf "$work"' EXIT
flags="-std=c11 -D_GNU_SOURCE -pthread $CHECK_CFLAGS"
includes="-I$top/include -I$top/ext -I$top/tests/harness -I$top/tests/steps"
planted=$top/tests/planted
list=${PLANTED_LIST:-$planted/list.txt}
mkdir -p "$mutant" || exit 1

helpers='harness/main harness/support harness/support_threads harness/support_pool harness/figures
    harness/growth harness/waiter harness/crew harness/fault harness/fixture harness/misuse harness/refuse
    steps/script steps/meeting'
explorer='audit check_schedules decide explorer history linear pool retires stack tracked types'

# flags_of KIND - what a source is compiled with: with assertions, as a part of a test that
# intervenes at points, with points, or for a shared library.
flags_of() {
    case $1 in
    pic) echo "-fPIC" ;;
    plain) echo "-DCPI_DEBUG=1" ;;
    narrow) echo "-DCPI_DEBUG=1 -DCPI_GENERATION_BITS=2u" ;;
    beside) echo "-I$top/tests/sched" ;;
    points) echo "-DCPI_ATOMIC_HEADER=\"points.h\"" ;;
    esac
}

# compile KIND SOURCE LIB OBJECT
compile() {
    # shellcheck disable=SC2046,SC2086 # several words
    ${CC:-cc} $flags -O1 -g -MMD -MF "$4.d.$$" $(flags_of "$1") -I"$3" -I"$top/ext" $includes \
        -c "$2" -o "$4.$$" && mv "$4.d.$$" "$4.d" && mv "$4.$$" "$4"
}

# object KIND SOURCE - compiles a source, if that has not been done, and prints the object:
# the original's, unless the mutant's file is the source or included by it.  A public header's
# copy comes before the header.
object() {
    kind=$1
    base=$(basename "$2" .c)
    object=$work/original/$kind-$base.o
    [ -e "$object" ] || compile "$kind" "$2" "$top/lib" "$object" || return 1
    if [ -n "$file" ] && grep -q "$of_file" "$object.d"; then
        object=$mutant/$kind-$base.o
        source=$2
        case $2 in "$top"/ext/*/tests/*) ;; "$top"/lib/* | "$top"/ext/*) source=$mutant/lib/${2#"$top"/*/} ;; esac
        [ -e "$object" ] || compile "$kind" "$source" "$mutant/lib" "$object" || return 1
    fi
    echo "$object"
}

# objects KIND SOURCE...
objects() {
    of=$1
    shift
    for path; do
        object "$of" "$path" || exit 1
    done
}

# program_of NAME - its source.
program_of() {
    find "$top/tests" "$top"/ext/*/tests -name "$1.c"
}

# wraps_of VARIABLE FOLDER - the calls of the C library that a program's link replaces.
wraps_of() {
    sed -n "/^$1/,/[^\\\\]\$/p" "$top/tests/$2/local.mk" | grep -o -- '-Wl,[^ ]*'
}

# help - what tests share, as an archive: check_dlopen has nothing that calls the library.
help() {
    rm -f "$mutant/help.a"
    ar rc "$mutant/help.a" $(for i in $helpers; do objects plain "$top/tests/$i.c"; done)
}

# plugins - builds the plug-ins of check_dlopen, and prints how the program finds them.
plugins() {
    shared=$mutant/libcpool.so
    library=$(objects pic "$top"/lib/*/*.c "$top"/ext/*/*.c)
    module=$(objects pic "$top/tests/harness/misuse.c" "$top/tests/public/module.c")
    # shellcheck disable=SC2086 # several words
    ${CC:-cc} -shared -pthread $library $LIBS -o "$shared" &&
        ${CC:-cc} $flags -O1 -fPIC -I"$mutant/lib" $includes -DCPOOL_TYPED_TLS='"global-dynamic"' -shared \
            "$top/tests/harness/misuse.c" "$top/tests/public/module.c" "$shared" \
            -Wl,-rpath,"$mutant" -o "$mutant/module_shared.so" &&
        ${CC:-cc} -shared -pthread $module $library $LIBS -o "$mutant/module_static.so" || return 1
    echo "-DMODULE_SHARED=\"$mutant/module_shared.so\" -DLIBRARY=\"$shared\"" \
        "-DMODULE_STATIC=\"$mutant/module_static.so\""
}

# link PROGRAM - builds it, and prints the command that runs it.
link() {
    program=$mutant/${1%%:*}
    [ -e "$program" ] || case $1 in
    explorer*)
        set -- $(objects points "$top"/lib/*/*.c "$top"/ext/*/*.c "$top/tests/harness/points.c") \
            $(for i in $explorer; do objects beside "$top/tests/sched/$i.c"; done)
        ;;
    check_dlopen)
        # shellcheck disable=SC2086
        ${CC:-cc} $flags -O1 -g $(plugins) -I"$mutant/lib" $includes -c "$top/tests/public/check_dlopen.c" \
            -o "$mutant/dlopen.o" || return 1
        help
        set -- "$mutant/dlopen.o" "$mutant/help.a"
        ;;
    *)
        kind=plain
        more=
        source=$(program_of "${1%_narrow}")
        [ "$1" = "${1%_narrow}" ] || kind=narrow
        case $source in */check_steps*) kind=points more=$(objects plain "$top/tests/steps/steps.c") ;; esac
        case $1 in
        check_reentry) more=$(wraps_of tests_modules_process_check_reentry_LDFLAGS modules) ;;
        check_fault*) more=$(wraps_of tests_refuse_ldflags harness) ;;
        esac
        help
        set -- $(objects "$([ $kind = narrow ] && echo narrow || echo plain)" "$source") $more "$mutant/help.a" \
            $(objects $kind "$top"/lib/*/*.c "$top"/ext/*/*.c) \
            $([ $kind != points ] || objects points "$top/tests/harness/points.c")
        ;;
    esac
    # shellcheck disable=SC2086
    [ -e "$program" ] || ${CC:-cc} -pthread "$@" $CHECK_LIBS $LIBS -o "$program"
}

# run PROGRAM - its status, and its output in a file.
run() {
    scenario=
    case $1 in
    explorer:*) scenario="--scenario ${1#*:} --random $random" ;;
    explorer) scenario="--random $random" ;;
    esac
    # shellcheck disable=SC2086
    (cd "$mutant" && CPOOL_TEST_LIMIT=$limit "$work/limit" "./${1%%:*}" $scenario) \
        >"$mutant/output" 2>&1
    status=$?
}

# original_ends PROGRAM - whether the program ends in time with the library as it is.
original_ends() {
    known=$work/original/ends-$1
    [ -e "$known" ] || (
        mutant=$mutant/original
        file=
        mkdir -p "$mutant" && link "$1" && run "$1"
        rm -rf "$mutant"
        echo "$status" >"$known"
    )
    [ "$(cat "$known")" -ne 124 ]
}

# fails PROGRAM - runs it and returns true if it failed.  `how` says where.
fails() {
    if ! link "$1" >"$mutant/output" 2>&1; then
        echo "$name: $1 does not compile" >&2
        cat "$mutant/output" >&2
        failed=1
        return 1
    fi
    run "$1"
    case $status in
    0 | 77) return 1 ;;
    124)
        how="does not end"
        [ "$name" = original ] || original_ends "$1"
        return
        ;;
    esac
    how=$(sed -n 's/^[^ ]*:[0-9]*:[FE]:[^:]*:\([a-z0-9_]*\):.*/\1/p' "$mutant/output" | head -n 1)
    [ -n "$how" ] || how=$(sed -n 's/^.*FAILED: //p' "$mutant/output" | head -n 1)
    [ -n "$how" ] || how="exit status $status"
    return 0
}

# same - whether the edited file makes the same code, as users compile it.
same() {
    for lib in "$top/lib" "$mutant/lib"; do
        for path in "$top"/lib/*/*.c "$top"/ext/*/*.c; do
            object=$work/original/plain-$(basename "$path" .c).o
            [ -e "$object" ] || compile plain "$path" "$top/lib" "$object" || return 1
            grep -q "$of_file" "$object.d" || continue
            # shellcheck disable=SC2086
            (cd "$lib" && ${CC:-cc} $flags -O2 -g0 -I. -I"$top/ext" $includes -c "${path#"$top/lib/"}" \
                -o "$mutant/o.o") && objdump -d -r -s -j .text -j .text.unlikely -j .rodata \
                "$mutant/o.o" 2>/dev/null
        done >"$mutant/code.$(basename "$(dirname "$lib")")"
    done
    set -- "$mutant"/code.*
    cmp -s "$1" "$2"
}

# Those without the inline path have their sources of others, and two need plug-ins, which are
# built for the mutants that name one.
all=$(for i in $TESTS; do basename "$i"; done | grep -v '_noinline\|check_copies\|check_dlopen')
all="$all explorer"
failed=0

# try NAME - one mutant.
try() {
    rm -rf "$mutant"/check_* "$mutant"/*.o "$mutant"/*.d "$mutant/explorer" "$mutant/lib"
    file=
    named=
    verdict=
    if [ "$1" != original ]; then
        line=$(grep "^$1 *|" "$list")
        file=$(printf '%s\n' "$line" | cut -d '|' -f 2 | tr -d ' ')
        of_file="/\(lib/[a-z]*\|ext/[a-z]*\|include/cpool\)/$file\( \|\$\)"
        named=$(printf '%s\n' "$line" | cut -d '|' -f 3 |
            sed 's/ *\(model\|genmc\|weak\):[a-z_]*//g; s/\bstress\b//')
        sh "$planted/plant.sh" "$top/lib" "$mutant/lib" "$1" || { failed=1; return; }
    fi
    case $named in
    *"same code"*)
        verdict="NOT THE SAME CODE"
        if same; then verdict="same code"; else failed=1; fi
        ;;
    *sound:*)
        verdict=sound
        for i in $(echo "${named%%sound:*}"); do
            if fails "$i"; then
                verdict="NOT SOUND: $i: $how"
                failed=1
                break
            fi
        done
        ;;
    *)
        others=$(for i in ${MUTANTS_OTHERS-$all}; do
            case " $named " in *" $i "*) ;; *) echo "$i" ;; esac
        done)
        for i in $named $others; do
            if fails "$i"; then
                verdict="$i: $how"
                [ "$1" = original ] || break
                echo "$1: $verdict"
                failed=1
            fi
        done
        if [ -z "$verdict" ]; then
            verdict=SURVIVED
            [ "$1" = original ] || failed=1
        fi
        ;;
    esac
    printf '%-24s | %-15s | %s\n' "$1" "$file" "$verdict"
}

# Those that only models find are models.sh's, and the stress has its own script.
[ $# -gt 0 ] || set -- $(sed 's/ *\(model\|genmc\|weak\):[a-z_]*//g; s/| *stress *|/||/' "$list" |
    sed -n '/^[^|]*|[^|]*| *\(sound: doc.TESTING.md *\)\{0,1\}|/d
        s/^\([a-z0-9-]*\) *|.*/\1/p')
for name in "$@"; do
    try "$name"
done
exit $failed
