#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# run.sh - builds the library for 64-bit Windows, and runs its tests under Wine.
#
# With each compiler: a static library and a DLL with the exports of lib/libcpool.map, both from
# the sources and from the two files, the tests of C++, the stress, the demo, and all programs of
# tests/public and tests/modules with tests/windows/check.h instead of Check.
# Warnings are errors.  left-out.txt lists the programs that cannot be had there, and why.
#
#   run.sh FOLDER [gcc | clang]...     all is made below FOLDER, which .ci/run counts
#
# srcdir: top of the source tree.  WINDOWS_TESTS: patterns of the programs, 'public-check_a*'.
# WINDOWS_LIMIT: seconds for each test.  WINDOWS_PARTS: of `two_files cxx stress demo figures
# tests`.  WINDOWS_STRESS: seconds for all modes together.

set -u
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd) || exit 1

# The processes of xargs get their variables by the environment.

# finish RESULT - writes what count_tests of .ci/run reads.
finish() {
    echo ":global-test-result: $1" > "$out/$name.trs"
    case $1 in
    FAIL) echo "FAILED: $kind: $name" && tail -n 20 "$out/$name.log" ;;
    SKIP) ;;
    esac
    sed -n "s/^SKIP: /left out: $kind: $name: /p" "$out/$name.log"
    exit 0
}

# runs PROGRAM ARGUMENT... - in the folder of this compiler.  Wine says by 53 that it starts none,
# as now and then while the machine is busy.
runs() {
    for again in 1 2 3 4 5; do
        (cd "$out" && exec timeout --kill-after=10 $((WINDOWS_LIMIT * 5)) "$wine" "$@") < /dev/null
        status=$?
        [ "$status" -eq 53 ] || return "$status"
        sleep "$again"
    done
    return 53
}

# name_of SOURCE - its folder and its own, or in ext/NAME/tests NAME and its own.
name_of() {
    folder=$(dirname "$1")
    echo "$(basename "${folder%/tests}")-$(basename "$1" .c)"
}

# one SOURCE - builds a program of tests and runs it.
one() {
    name=$(name_of "$1")
    folder=${name%%-*}
    library=$out/debug
    debug=-DCPI_DEBUG=1
    [ "$folder" != public ] || { library=$out/lib; debug=; }
    reason=$(sed -n "s|^$name  *||p" "$here/left-out.txt")
    if [ -n "$reason" ]; then
        echo "SKIP: $reason" > "$out/$name.log"
        finish SKIP
    fi
    # shellcheck disable=SC2086 # several words
    $compiler $test_flags $debug "$1" "$out/libharness.a" "$library/libcpool.a" $link \
        -Wl,--wrap=free -o "$out/$name.exe" > "$out/$name.log" 2>&1 || finish FAIL
    # A program that was not started, or that Wine ended, has not said how many tests there were.
    for try in 1 2 3; do
        runs "./$name.exe" > "$out/$name.log" 2>&1
        status=$?
        if grep -q 'Checks: ' "$out/$name.log" || [ "$status" -ge 77 ]; then break; fi
        sleep "$try"
    done
    grep -q 'Checks: ' "$out/$name.log" || [ "$status" -ne 0 ] || finish FAIL
    case $status in
    0) rm "$out/$name.exe"; finish PASS ;;
    77) finish SKIP ;;
    *) finish FAIL ;;
    esac
}

[ "$1" != --one ] || one "$2"

top=$(cd "${srcdir:-.}" && pwd) || exit 1
wine=$(command -v wine64 || ls /usr/lib/wine/wine64 2> /dev/null)
[ -n "$wine" ] || { echo 'SKIP: no wine64'; exit 77; }
command -v x86_64-w64-mingw32-gcc-posix > /dev/null ||
    { echo 'SKIP: no x86_64-w64-mingw32-gcc-posix'; exit 77; }
runtime=$(dirname "$(x86_64-w64-mingw32-gcc-posix -print-libgcc-file-name)")
rm -rf "$1"
mkdir -p "$1"
build=$(cd "$1" && pwd) || exit 1
shift
echo '*' > "$build/.gitignore"

work=$(mktemp -d) || exit 1
end() {
    "${wine%64}server" -k 2> /dev/null || wineserver -k 2> /dev/null
    rm -rf "$work"
}
trap end EXIT
trap 'exit 1' HUP INT TERM
export WINEPREFIX="$work/prefix" WINEDEBUG=-all WINDOWS_LIMIT="${WINDOWS_LIMIT:-120}"
export WINDOWS_STRESS="${WINDOWS_STRESS:-10}"
WINDOWS_PARTS=${WINDOWS_PARTS:-two_files cxx stress demo tests}
unset DISPLAY
"$wine" wineboot -i > "$work/wineboot.log" 2>&1

warnings='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror'
includes="-I$top/include -I$top/lib -I$top/ext"
sources=$(cd "$top" && grep -o '[a-z]*/[a-z]*/[a-z_]*\.c' lib/sources.mk)

# result NAME COMMAND... - a step that is a test of its own.
result() {
    name=$1
    shift
    if "$@" > "$out/$name.log" 2>&1; then
        echo ':global-test-result: PASS' > "$out/$name.trs"
    else
        echo ':global-test-result: FAIL' > "$out/$name.trs"
        echo "FAILED: $kind: $name"
        tail -n 20 "$out/$name.log"
        return 1
    fi
}

# library FOLDER FLAG... - compiles all sources there.
library() {
    folder=$1
    shift
    mkdir -p "$folder"
    # shellcheck disable=SC2086 # several words
    (cd "$folder" && echo "$sources" | sed "s|^|$top/|" | xargs -P "$(nproc)" -n 8 \
        $compiler -std=c11 -O2 $warnings -ffunction-sections -fdata-sections $includes "$@" -c) &&
        x86_64-w64-mingw32-ar rc "$folder/libcpool.a" "$folder"/*.o
}

# The exports of the DLL are those of the map, but for the thread's word, and it needs
# libraries of the system's alone.
dll() {
    sed -e 's/#.*//' -e '1,/global:/d' -e '/local:/,$d' "$top/lib/libcpool.map" |
        tr -d ' \t' | tr ';' '\n' | grep . | grep -v '^cpool_thread_word_' | sort > "$out/map"
    ! grep fork "$out/map" || return 1 # which Windows has not
    (echo EXPORTS; cat "$out/map") > "$out/cpool.def"
    # shellcheck disable=SC2086 # several words
    $compiler -shared -o "$out/cpool.dll" "$out"/lib/*.o "$out/cpool.def" \
        "-Wl,--out-implib,$out/libcpool.dll.a" $link || return 1
    names "$out/cpool.dll" || return 1
    ! x86_64-w64-mingw32-objdump -p "$out/cpool.dll" | grep 'DLL Name' |
        grep -viE ' (kernel32|msvcrt|ntdll)\.dll'
}

# names DLL - it exports what the map lists.
names() {
    x86_64-w64-mingw32-objdump -p "$1" |
        sed -n '/^.Ordinal\/Name Pointer/,/^$/s/^[^[]*\[ *[0-9]*\].* \([^ ]*\)$/\1/p' | sort |
        diff "$out/map" -
}

# prints TEXT PROGRAM - it may not start on a busy machine.
prints() {
    for try in 1 2 3 4 5; do
        runs "$2" | tr -d '\r' > "$out/printed"
        [ "$(cat "$out/printed")" != "$1" ] || return 0
        sleep "$try"
    done
    echo "$2 prints something else:"
    cat "$out/printed"
    return 1
}

# A program of a user's with the library as two files: inside, and as a DLL.
two_files() {
    two="-std=c11 -O1 $warnings -I$out/two"
    sh "$top/lib/amalgamate.sh" "$out/two" all || return 1
    for name in "$out"/two/cpool_*.c; do
        # shellcheck disable=SC2086 # several words
        $compiler $two $static -c "$name" -o "${name%.c}.o" || return 1
    done
    # shellcheck disable=SC2086 # several words
    $compiler $two $static -c "$out/two/cpool.c" -o "$out/two/cpool.o" &&
        $compiler $two $static "$top/tests/doors/job.c" "$out/two/cpool.o" $link \
            -o "$out/inside.exe" && prints '1023 jobs done' ./inside.exe || return 1
    # shellcheck disable=SC2086 # several words
    $compiler -shared -o "$out/two.dll" "$out"/two/*.o "$out/cpool.def" \
        "-Wl,--out-implib,$out/two/two.dll.a" $link && names "$out/two.dll" &&
        $compiler $two "$top/tests/doors/job.c" "$out/two/two.dll.a" $link \
            -o "$out/beside.exe" &&
        prints '1023 jobs done' ./beside.exe
}

# <cpool/cpool.hpp>, and typed pools in C++.
cxx() {
    case $kind in
    gcc) cxx=x86_64-w64-mingw32-g++-posix end=$link ;;
    clang)
        cxx="clang++ --target=x86_64-w64-mingw32 -isystem $runtime/include/c++"
        cxx="$cxx -isystem $runtime/include/c++/x86_64-w64-mingw32"
        end="-L$runtime -static -lstdc++ -lgcc_eh -lpthread" ;;
    esac
    flags="-O1 -Wall -Wextra -Wpedantic -Wshadow -Werror $static $includes"
    for standard in c++17 c++11; do
        # shellcheck disable=SC2086 # several words
        $cxx -std=$standard $flags "$top"/tests/public/*hpp*.cpp "$top"/ext/*/tests/hpp_*.cpp \
            "$out/lib/libcpool.a" $end \
            -o "$out/hpp.exe" && runs ./hpp.exe || return
    done
}

posix_program() {
    program=$1
    shift
    # shellcheck disable=SC2086 # several words
    $compiler -std=c11 -O2 -D_GNU_SOURCE $static -Wall -Wextra -Werror -include posix.h \
        -I"$top/tests/windows" $includes "$@" "$out/libharness.a" $link -Wl,--wrap=free \
        -o "$out/$program.exe"
}

# All modes that need neither fork nor signals.
stress() {
    modes=
    for source in "$top"/stress/*.c; do
        case $source in */disturb.c | */mode_fork.c) ;; *) modes="$modes $source" ;; esac
    done
    # shellcheck disable=SC2086 # several words
    posix_program stress -DCPI_DEBUG=1 -I"$top/stress" $modes "$top/tests/harness/figures.c" \
        "$top/tests/windows/disturb.c" "$out/debug/libcpool.a" &&
        runs ./stress.exe --seconds "$WINDOWS_STRESS"
}

# The part of `make demo` that compares allocators.
demo() {
    set --
    for source in allocator deque scheduler text corpus replay lines lines_main; do
        set -- "$@" "$top/examples/jobs/$source.c"
    done
    posix_program lines "$@" "$out/lib/libcpool.a" || return 1
    for allocator in typed pool malloc; do
        runs ./lines.exe --allocator "$allocator" --seconds 0.2 --threads 2 "$top/lib" || return 1
    done
}

# Beside the malloc of the C runtime.
figures() {
    # shellcheck disable=SC2086 # several words
    $compiler -std=c11 -O2 $static $warnings $includes "$top/bench/windows.c" \
        "$out/lib/libcpool.a" $link -o "$out/figures.exe" || return 1
    echo "$kind"
    runs ./figures.exe
}

# plugin NAME OPTION... - of check_dlopen and check_ends.
plugin() {
    file=$1
    shift
    # shellcheck disable=SC2086 # several words
    $compiler $test_flags -shared "$top/tests/public/module.c" \
        "$top/tests/harness/figures.c" "$top/tests/harness/misuse.c" \
        "$@" $link -o "$out/$file.dll"
}

plugins() {
    plugin module_shared -UCPOOL_STATIC "$out/libcpool.dll.a" &&
        plugin module_static "$out/lib/libcpool.a"
}

harness() {
    mkdir -p "$out/harness"
    for source in windows/support windows/posix harness/crew harness/figures harness/fixture \
        harness/growth harness/main harness/misuse harness/support_pool harness/support_threads \
        harness/waiter; do
        # shellcheck disable=SC2086 # several words
        $compiler $test_flags -c "$top/tests/$source.c" -o "$out/harness/${source#*/}.o" || return 1
    done
    x86_64-w64-mingw32-ar rc "$out/libharness.a" "$out"/harness/*.o
}

# Each row of the list names a program.
rows() {
    while read -r row _; do
        case $row in '' | \#*) continue ;; esac
        folder=${row%%-*}
        [ -e "$top/tests/$folder/${row#*-}.c" ] || [ -e "$top/tests/modules/$folder/${row#*-}.c" ] ||
            [ -e "$top/ext/$folder/tests/${row#*-}.c" ] || { echo "$row is no program"; return 1; }
    done < "$here/left-out.txt"
}

chosen() {
    ls "$top"/tests/public/check_*.c "$top"/tests/modules/*/check_*.c \
        "$top"/tests/windows/check_*.c "$top"/ext/*/tests/check_*.c | grep -v /check_steps | while read -r source; do
        name=$(name_of "$source")
        set -f
        for pattern in ${WINDOWS_TESTS:-*}; do
            # shellcheck disable=SC2254 # a pattern
            case $name in $pattern) echo "$source"; break ;; esac
        done
    done
}

[ $# -gt 0 ] || set -- gcc clang
for kind; do
    case $kind in
    gcc) compiler=x86_64-w64-mingw32-gcc-posix static='' link='-static -pthread' ;;
    clang)
        command -v clang > /dev/null || { echo 'left out: clang, which is not there'; continue; }
        compiler='clang --target=x86_64-w64-mingw32' static=-DCPOOL_STATIC
        link="-L$runtime -static -lpthread" ;;
    esac
    out=$build/$kind
    mkdir "$out"
    test_flags="-std=c11 -O1 -D_GNU_SOURCE $static $warnings"
    test_flags="$test_flags -I$top/tests/windows -I$top/tests/harness -I$top/tests/public"
    test_flags="$test_flags $includes"
    test_flags="$test_flags -DMODULE_SHARED=\"module_shared.dll\" -DLIBRARY=\"cpool.dll\""
    test_flags="$test_flags -DMODULE_STATIC=\"module_static.dll\""
    export kind compiler link out wine test_flags
    echo "== $compiler"
    # shellcheck disable=SC2086 # one word, or none
    result library library "$out/lib" $static || continue
    # shellcheck disable=SC2086 # one word, or none
    result debug library "$out/debug" $static -DCPI_DEBUG=1 -O1 || continue
    result dll dll
    result harness harness || continue
    result plugins plugins
    result rows rows
    for part in $WINDOWS_PARTS; do
        case $part in
        tests | figures) ;;
        *) result "$part" "$part" & ;; # most have one process
        esac
    done
    wait
    case " $WINDOWS_PARTS " in
    *' tests '*) chosen | xargs -r -P "$(nproc)" -n 1 sh "$here/run.sh" --one ;;
    esac
    case " $WINDOWS_PARTS " in
    *' figures '*) result figures figures && cat "$out/figures.log" ;;
    esac
    rm -f "$out"/output.*
done

# As .ci/run counts them.
find "$build" -name '*.trs' | while read -r trs; do
    echo "result $(sed -n 's/^:global-test-result: *//p' "$trs")"
    tr -d '\r' < "${trs%.trs}.log" | grep -E '^[0-9]+%: Checks:|^skipped [0-9]+ of '
done | tr ',' ' ' | awk '
    function close_one() {
        if (result == "") return
        if (result == "PASS" && !checks) checks = 1
        if (result == "FAIL" && !bad) bad = checks = 1
        passed += checks - bad - skipped; failed += bad; left_out += skipped
        programs += result == "SKIP"
    }
    $1 == "result" { close_one(); result = $2; checks = bad = skipped = 0 }
    $2 == "Checks:" { checks = $3; bad = $5 + $7 }
    $1 == "skipped" { skipped = $2 }
    END {
        close_one()
        printf "%d tests and %d programs left out\n", left_out, programs
        printf "%d passed, %d failed\n", passed, failed
        exit failed > 0 || passed == 0
    }'
