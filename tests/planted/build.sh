# SPDX-License-Identifier: BSD-2-Clause
# build.sh - compiles programs with a copy of the library in which one mistake is
# planted.  The scripts that plant mistakes read it.
#
# They set here top (of the sources) and work (a folder), and a few words: options (of
# the compiler), others (the program's own sources).  A file that the mistake leaves as it
# is is compiled once, for all mistakes.

mkdir "$work/lib" "$work/objects" "$work/planted" || exit 1

# scenario_of BUG - where the explorer finds it.
scenario_of() {
    sed -n "s/^$1 *|.* explorer:\([a-z-]*\) .*/\1/p" "$top/tests/planted/list.txt"
}

# compile SOURCE OBJECT - the library's sources with points.
compile() {
    # shellcheck disable=SC2086,SC2046 # several words
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -pthread $options \
        $(case $1 in "$work/lib"/*) echo '-DCPI_ATOMIC_HEADER="points.h"' ;; esac) \
        -I"$work/lib" -I"$top/tests/harness" -I"$top/include" -c "$1" -o "$2"
}

# build MISTAKE PROGRAM
build() {
    rm -rf "$work/lib" "$work/planted"
    mkdir "$work/planted"
    sh "$top/tests/planted/plant.sh" "$top/lib" "$work/lib" "$1" || return
    kept=$work/objects
    # Everything may include the header that is another one now.
    for header in "$top"/lib/*/*.h "$top"/ext/*/*.h; do
        cmp -s "$header" "$work/lib/${header#"$top"/*/}" || kept=$work/planted
    done
    set -- "$2"
    for source in "$top/tests/harness/points.c" $others "$work"/lib/*/*.c; do
        folder=${source%/*}
        name=${folder##*/}-${source##*/} # both have a tracked.c
        object=$kept/${name%.c}.o
        case $source in
        "$work/lib"/*) cmp -s "$top"/*/"${source#"$work/lib/"}" "$source" ||
            object=$work/planted/${name%.c}.o ;;
        esac
        [ -e "$object" ] || compile "$source" "$object" || return
        set -- "$@" "$object"
    done
    program=$1
    shift
    ${CC:-cc} -pthread "$@" -o "$program"
}
