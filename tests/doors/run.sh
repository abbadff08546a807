#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# run.sh - tries every way in which a program gets at the library.
#
# Each door is opened in an empty folder outside both trees, with nothing in the
# environment but PATH and HOME: a program of a user's is compiled, linked and run, and its
# output is compared.  The commands, and the lines for CMake and Meson, are those of README.md:
# each of its blocks of code and rows of commands belongs to a door.
# A door without its tool is left out, and said so.
#
#   run.sh [DOOR...]       these, or all but clone_check
#   run.sh --one DOOR      the first form starts this for each
#
# srcdir: top of the source tree.  CC, CXX: compilers, CXX empty for none.  MAKE.  Runs in
# the top of a tree in which everything is built.  Exit status: 0, no door failed; 1, one
# did; 77, every door was left out.

set -u
top=$(cd "${srcdir:-.}" && pwd)
built=$(pwd)
job=$top/tests/doors/job.c
door=
[ "${1:-}" != --one ] || { door=$2; shift 2; }
doors='windows clone vendored cmake_install amalgamation pairs without_ext example readme_blocks adopting
    inside_sdk inside_plugins prefix pkg_config find_package subdirectory fetch_content meson_subproject
    meson_wrap release meson_install'
[ $# -eq 0 ] || doors=$*
if [ -z "$door" ]; then
    work=$(mktemp -d) || exit 1
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' HUP INT TERM
    export work
    echo '1023 jobs done' > "$work/expected"
fi

clean() { env -i PATH="$PATH" HOME="$work" LC_ALL=C "$@"; }

# Compilers have options of their own at times.
# shellcheck disable=SC2086
cc() { clean ${CC:-cc} "$@"; }
# shellcheck disable=SC2086
cxx() { clean $CXX "$@"; }

needs() {
    for tool; do
        command -v "$tool" > /dev/null || { echo "no $tool"; exit 77; }
    done
}

fail() {
    echo "$*"
    exit 1
}

# runs PROGRAM [VARIABLE=VALUE... | PLUGIN...] - it has to print the expected line.
runs() {
    program=$1
    shift
    case ${1:-} in
    *.so) clean timeout 60 "$program" "$@" > output ;;
    *) clean "$@" "$program" > output ;;
    esac || fail "$program ends with $?: $(cat output)"
    diff "$work/expected" output || fail "$program prints something else"
}

# readme DOOR [COUNT] - the first commands, one or COUNT, a line each, of this row in the table of
# README.md.
readme() {
    awk -v door="$1" -v count="${2:-1}" -F '|' '
        index($2, " " door) == 1 {
            n = split($3, span, "`")
            for (i = 2; i <= n && seen < count; i += 2) {
                print span[i]
                seen++
            }
        }
        END { exit seen != count }' "$top/README.md" || fail "README.md has no door: $1"
}

# does DOOR [VARIABLE=VALUE...] - runs what README.md says, with the compiler as cc.
does() {
    readme "$1" > commands || exit 1
    shift
    does_these "$@"
}

# does_these [VARIABLE=VALUE...] - runs what stands in the file `commands`.
does_these() {
    mkdir -p bin
    printf '#!/bin/sh\nexec %s "$@"\n' "${CC:-cc}" > bin/cc
    chmod +x bin/cc
    clean PATH="$(pwd)/bin:$PATH" "$@" sh -e commands || fail "these fail: $(cat commands)"
}

# copy FILE... - of the sources, as a program's repository would have them.
copy() {
    folder=libcpool
    copy_to "$@"
}

copy_to() {
    mkdir -p "$folder"
    for file; do
        cp -R "$top/$file" "$folder/"
    done
    chmod -R u+w "$folder"
}
all_of_it='lib ext include gdb cmake CMakeLists.txt meson.build meson_options.txt
    configure.ac cpool.pc.in'

# ---- Without a build system ----------------------------------------------------

# README.md's own program, by each row that ends with one.
example() {
    copy lib ext include LICENSE
    awk '/^```c$/ && !n { n = 1; next } n == 1 && /^```/ { exit } n == 1' "$top/README.md" > job.c
    for door in 'two files' sources; do
        rm -f a.out ./*.o cpool.[ch]
        does "$door"
        ./a.out || fail "README's program ends with $?, by the door: $door"
    done
}

# Each block of code in README.md, and each row of commands, is run by a door.
readme_blocks() {
    awk -F '|' '/^```/ { if (!fenced) print; fenced = !fenced; next }
        !fenced && /^    / { print }
        /^\| door \|/ { rows = 1; next }
        !/^\|/ { rows = 0 }
        rows && !/^\|-/ { print $2 }' "$top/README.md" | sort > found
    sort > known << 'EOF'
```c
 two files 
 two files more 
 sources 
 CMake, FetchContent 
 Meson 
 installed 
    ./bootstrap --install-deps && ./configure && make && make demo
    ./bootstrap --install-deps && ./configure && make check
EOF
    diff known found || fail 'README.md has code that no door runs, or another one'
}

# The calls that the tables of doc/ADOPTING.md name.
adopting() {
    copy lib ext include
    awk '/^## / { on = /^## From / } on && /^\|/' "$top/doc/ADOPTING.md" |
        grep -oE '`(cpool|jobs)_[a-z_]+' | tr -d '\140' | sort -u > named
    [ "$(wc -l < named)" -gt 40 ] || fail 'doc/ADOPTING.md names hardly any function'
    while read -r name; do
        grep -qw "$name" "$top/doc/adopting.c" || fail "adopting.c does not use $name"
    done < named
    cp "$top/doc/adopting.c" job.c
    does sources
    ./a.out > output || fail "adopting.c ends with $?"
}

# clone_of WORD - a release as a fresh clone has it, where the README's command that ends in
# this word is run.
clone_of() {
    archived
    gzip -dc "$release"/*.tar.gz | tar -xf - || fail 'no archive'
    cd libcpool-* || fail 'no folder in the archive'
    rm -rf configure Makefile.in aclocal.m4 config.h.in build-aux m4/l*.m4 two-files doc/man/*.[37]
    sed -n "s/^    \(.* && make $1\)$/\1/p" "$top/README.md" > commands
    [ -s commands ] || fail "README.md has no command that ends in $1"
    clean sh -e commands > log 2>&1 || fail "this fails: $(cat commands): $(tail -n 40 log)"
}

clone() {
    needs autoreconf libtoolize
    clone_of demo
    grep -qi 'pool' log || fail 'the demo shows no pool'
}

# By name only, because .ci/run begins with it.
clone_check() {
    needs autoreconf libtoolize
    clone_of check
}

# A copy of two folders.
vendored() {
    copy lib ext include
    cp "$job" .
    for options in '' -DCPOOL_NO_INLINE; do
        rm -f ./*.o
        CC="${CC:-cc} -O2 $options" does sources
        runs ./a.out
    done
    [ -n "${CXX:-}" ] || return 0
    cxx -O2 -Ilibcpool/include -x c++ "$job" -x none ./*.o -pthread -o program ||
        fail 'no C++ program'
    runs ./program
}

# Two files, and one file.
amalgamation() {
    copy lib ext include LICENSE
    cp "$job" .
    does 'two files'
    runs ./a.out
    [ ! -d "$built/amalgamation" ] || diff "$built/amalgamation/cpool.c" cpool.c ||
        fail 'make amalgamation writes another file'
    { echo '#include "cpool.c"' && cat "$job"; } > one.c
    for options in '-Werror' '-std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror' \
        '-O3 -Werror' '-O3 -flto -Werror' '-O2 -DCPOOL_NO_INLINE -Wall -Werror'; do
        # shellcheck disable=SC2086 # several words
        cc $options -c cpool.c || fail "cpool.c does not compile with: $options"
        # shellcheck disable=SC2086
        cc $options -I. "$job" cpool.o -pthread -o program || fail "no program with: $options"
        runs ./program
        # shellcheck disable=SC2086
        cc $options -I. one.c -pthread -o program || fail "no program of one file with: $options"
        runs ./program
    done
    { echo '#include <cpool.h>' && cat one.c; } > late.c
    ! cc -DCPOOL_NO_INLINE -I. -c late.c 2> messages || fail 'cpool.c behind cpool.h compiles'
    grep -q 'include cpool.c before cpool.h' messages || fail "$(cat messages)"
}

# A library of ext/ as two files beside cpool.h and cpool.c: each of them, and the command of
# README.md.
pairs() {
    copy lib ext include LICENSE
    cp "$job" .
    does 'two files'
    runs ./a.out
    does 'two files more'
    [ -e cpool_retire.o ] || fail 'README.md says how to compile another library'
    sh libcpool/lib/amalgamate.sh . all || fail 'not all files'
    for name in cpool_*.c; do
        name=${name#cpool_}
        name=${name%.c}
        [ ! -d "$built/amalgamation" ] || diff "$built/amalgamation/cpool_$name.c" "cpool_$name.c" ||
            fail 'make amalgamation writes another file'
        case $name in
        objects) call='cpool_objects_destroy(NULL)' ;;
        sized) call='cpool_sized_destroy(NULL)' ;;
        retire) call='cpool_domain_destroy(NULL)' ;;
        lanes) call='cpool_lanes_destroy(NULL)' ;;
        esac
        printf '#include <cpool_%s.h>\nint main(void) { return %s == 0; }\n' "$name" "$call" > use.c
        for options in '-std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror' '-O3 -Werror' \
            '-O2 -DCPOOL_NO_INLINE -Wall -Werror' '-O2 -DCPOOL_PREFIX=own_ -DCPOOL_STATIC -Werror'; do
            # shellcheck disable=SC2086 # several words
            cc $options -c cpool.c && cc $options -c "cpool_$name.c" &&
                cc $options -I. use.c cpool.o "cpool_$name.o" -pthread -o use ||
                fail "cpool_$name.c does not compile with: $options"
        done
    done
}

# The pool without the libraries of ext/, by CMake and by Meson: their functions are not there.
without_ext() {
    needs cmake nm
    # shellcheck disable=SC2086
    copy $all_of_it
    (cd libcpool && cmake_build -DBUILD_SHARED_LIBS=ON -DCPOOL_OBJECTS=OFF -DCPOOL_SIZED=OFF \
        -DCPOOL_RETIRE=OFF -DCPOOL_LANES=OFF) || exit 1
    the_pool_alone libcpool/build/libcpool.so
    command -v meson > /dev/null || return 0
    rm -rf libcpool/build
    (cd libcpool && meson_build -Dobjects=false -Dsized=false -Dretire=false -Dlanes=false) || exit 1
    the_pool_alone libcpool/build/libcpool.so
}

the_pool_alone() {
    nm -D --defined-only "$1" | sed -n 's/.* \(cpool_[a-z_0-9]*\).*/\1/p' | sort > theirs
    sed -n -e '/# ext\//,/^$/d' -e 's/^ *\(cpool_[a-z_0-9]*\);$/\1/p' "$top/lib/libcpool.map" | sort > ours
    diff ours theirs || fail 'it exports other names'
    cc "$job" -Ilibcpool/include "$1" -pthread -o program || fail 'no program'
    runs ./program LD_LIBRARY_PATH="${1%/*}"
}

# ---- Inside other objects --------------------------------------------------------

two_files() {
    copy lib ext include LICENSE
    sh libcpool/lib/amalgamate.sh . || fail 'no two files'
}

# cc_part NAME OUTPUT OPTION... - compiles a part of this name, with the two files.
cc_part() {
    name=$1 output=$2
    shift 2
    cc -O2 -I. "-DPART(name)=${name}_##name" "$@" "$top/tests/doors/part.c" cpool.c -pthread \
        -o "$output" || fail "no $output"
}

# shows_none OBJECT - no name of ours, but for those of part.c.
shows_none() {
    nm -D --defined-only "$1" | grep -E ' c(pool|pi)_' > names || return 0
    fail "$1 shows $(head -n 3 names)"
}

# An SDK that is linked with a program, both with their own copy: one hidden, the other for all.
inside_sdk() {
    needs nm
    two_files
    for options in -DCPOOL_STATIC '-DCPOOL_STATIC -fvisibility=hidden' '-DCPOOL_STATIC -DCPOOL_NO_INLINE'; do
        # shellcheck disable=SC2086 # several words
        cc_part sdk libsdk.so -shared -fPIC $options
        shows_none libsdk.so
        cc_part own program -DPART_OF_ITS_OWN -DPART_LINKED -rdynamic "$top/tests/doors/whole.c" \
            -L. -Wl,-rpath,. -lsdk -ldl
        runs ./program
    done
}

# Plug-ins with their own copies, hidden or bound to themselves, with and without one in the
# program.  One shows its functions, which are bound to it, and its thread word, which is not.
inside_plugins() {
    needs nm
    two_files
    cc_part plug one.so -shared -fPIC -DCPOOL_STATIC
    cc_part plug two.so -shared -fPIC -DCPOOL_STATIC -Wl,-Bsymbolic-functions
    cc_part plug three.so -shared -fPIC -Wl,-Bsymbolic-functions
    shows_none two.so
    cc "$top/tests/doors/whole.c" -pthread -ldl -o alone || fail 'no program'
    runs ./alone ./one.so ./two.so ./three.so
    cc_part own beside -DPART_OF_ITS_OWN -rdynamic "$top/tests/doors/whole.c" -ldl
    runs ./beside ./one.so ./two.so
}

# Two copies in one program without shared objects.
prefix() {
    two_files
    for name in own sdk; do
        cc_part "$name" "$name.o" -DCPOOL_PREFIX="${name}_" -r
    done
    cc -DPART_OF_ITS_OWN -DPART_LINKED "$top/tests/doors/whole.c" own.o sdk.o -pthread -ldl \
        -o program || fail 'no program with two copies'
    runs ./program
    nm program | grep -E ' [A-TV-Z] c(pool|pi)_' && fail 'names without the prefix'
    return 0
}

# ---- The installed library -----------------------------------------------------

# Installed by configure's build, once, in `stage`, which stands for the root.
installed() {
    stage=$work/stage
    prefix=$(sed -n 's/^prefix=//p' "$built/cpool.pc")
    if [ ! -d "$stage" ]; then
        (cd "$built" && ${MAKE:-make} install DESTDIR="$stage") > "$work/install.log" 2>&1 || {
            tail -n 20 "$work/install.log"
            rm -rf "$stage"
            exit 1
        }
    fi
    pc=$(find "$stage" -name cpool.pc)
    [ -n "$pc" ] || fail 'no cpool.pc was installed'
    libraries=${pc%/pkgconfig/cpool.pc}
}

flags() {
    clean PKG_CONFIG_LIBDIR="${pc%/*}" PKG_CONFIG_SYSROOT_DIR="$stage" pkg-config "$@" cpool
}

pkg_config() {
    needs pkg-config
    installed
    case " $(flags --cflags) " in *' -pthread '*) ;; *) fail 'cpool.pc lacks -pthread' ;; esac
    [ ! -e "$libraries/libcpool.so" ] || script_in "$stage"
    cp "$job" .
    if [ -e "$libraries/libcpool.so" ] && [ -e "$libraries/libcpool.a" ]; then
        does installed PKG_CONFIG_LIBDIR="${pc%/*}" PKG_CONFIG_SYSROOT_DIR="$stage"
        runs ./a.out LD_LIBRARY_PATH="$libraries"
    fi
    if [ -e "$libraries/libcpool.so" ]; then
        # shellcheck disable=SC2046 # flags are words
        cc "$job" $(flags --cflags --libs) -o program || fail 'no program'
        runs ./program LD_LIBRARY_PATH="$libraries"
        clean LD_LIBRARY_PATH="$libraries" ldd ./program | grep -q "$libraries/libcpool.so.0" ||
            fail 'it is not linked with the shared library'
    fi
    if [ -e "$libraries/libcpool.a" ]; then
        readme installed | sed 's/^cc /cc -static /; s/pkg-config /pkg-config --static /' > commands
        does_these PKG_CONFIG_LIBDIR="${pc%/*}" PKG_CONFIG_SYSROOT_DIR="$stage"
        runs ./a.out
        # shellcheck disable=SC2046
        cc -static "$job" $(flags --static --cflags --libs) -o program ||
            fail 'no static program'
        runs ./program
        [ -n "${CXX:-}" ] || return 0
        # shellcheck disable=SC2046
        cxx -static -x c++ "$job" -x none $(flags --static --cflags --libs) -o program ||
            fail 'no C++ program'
        runs ./program
    fi
}

# ---- CMake ---------------------------------------------------------------------

# cmake_project - CMakeLists.txt, from the lines that differ.
cmake_project() {
    cp "$job" .
    {
        echo 'cmake_minimum_required(VERSION 3.14)'
        echo 'project(outside C)'
        cat
    } > CMakeLists.txt
}

# cmake_build [OPTION...] - in the folder build.
cmake_build() {
    rm -rf build
    clean CC="${CC:-cc}" cmake -S . -B build "$@" > log 2>&1 &&
        clean cmake --build build --parallel "$(nproc)" >> log 2>&1 || { tail -n 30 log; exit 1; }
}

find_package() {
    needs cmake
    installed
    for kind in shared static; do
        [ "$kind" = shared ] && library=libcpool.so || library=libcpool.a
        [ -e "$libraries/$library" ] || continue
        cmake_project << EOF
find_package(cpool 0.1 REQUIRED COMPONENTS $kind)
add_executable(program job.c)
target_link_libraries(program PRIVATE cpool::cpool_$kind)
add_executable(either job.c)
target_link_libraries(either PRIVATE cpool::cpool)
EOF
        cmake_build -DCMAKE_PREFIX_PATH="$stage$prefix"
        runs build/program
        runs build/either
    done
    cmake_project << 'EOF'
foreach(version 0.0 0.2 1.0 0.2...0.9 0.0...<0.1)
    find_package(cpool ${version} QUIET)
    if(cpool_FOUND)
        message(FATAL_ERROR "another version was taken for ${version}")
    endif()
endforeach()
find_package(cpool 0.1 QUIET COMPONENTS gold)
if(cpool_FOUND)
    message(FATAL_ERROR "a component that is not there was found")
endif()
EOF
    cmake_build -DCMAKE_PREFIX_PATH="$stage$prefix"
}

subdirectory() {
    needs cmake
    # shellcheck disable=SC2086 # several words
    copy $all_of_it
    { echo 'add_executable(program job.c)' && readme CMake 2; } > lines || exit 1
    cmake_project < lines
    for shared in OFF ON; do
        cmake_build -DBUILD_SHARED_LIBS="$shared"
        runs build/program
    done
}

fetch_content() {
    needs cmake
    # shellcheck disable=SC2086
    copy $all_of_it
    tar -czf cpool.tar.gz libcpool
    rm -rf libcpool
    cmake_project << EOF
include(FetchContent)
FetchContent_Declare(cpool URL "$(pwd)/cpool.tar.gz")
FetchContent_MakeAvailable(cpool)
add_executable(program job.c)
target_link_libraries(program PRIVATE cpool::cpool)
EOF
    cmake_build
    runs build/program
}

# The library is installed by CMake, and found by what that leaves.
cmake_install() {
    needs cmake pkg-config
    # shellcheck disable=SC2086
    copy $all_of_it
    for shared in OFF ON; do
        (cd libcpool && cmake_build -DBUILD_SHARED_LIBS="$shared" -DCPOOL_MALLOC="$shared" \
            -DCMAKE_INSTALL_PREFIX="$work/cmake" && clean cmake --install build > log) || exit 1
    done
    headers_in "$work/cmake"
    cmake_project << 'EOF'
find_package(cpool 0.1...<0.2 REQUIRED COMPONENTS shared static)
add_executable(program job.c)
target_link_libraries(program PRIVATE cpool::cpool)
EOF
    cmake_build -DCMAKE_PREFIX_PATH="$work/cmake"
    runs build/program
    found_by_pkg_config "$work/cmake"
    script_in "$work/cmake"
    clean cmake -DCMAKE_INSTALL_PREFIX=/usr libcpool/build > log &&
        clean DESTDIR="$(pwd)/system" cmake --install libcpool/build > log || fail "$(cat log)"
    script_of_system "$(pwd)/system"
    malloc_in "$work/cmake"
}

# headers_in PREFIX - the public headers, and nothing else.
headers_in() {
    (cd "$top/include" && find . -name '*.h*' -type f | sort) > ours
    (cd "$1/include" && find . -type f | sort) > theirs
    diff ours theirs || fail 'other headers are installed'
}

# script_in PREFIX - gdb's script has the name of the shared library, and gdb loads it together
# with that after the line in doc/ADOPTING.md.
script_in() {
    object=$(find "$1" -name 'libcpool.so.*.*' ! -name '*.py' -type f)
    cmp "$top/gdb/cpool.py" "$object-gdb.py" || fail "no script for gdb beside $object"
    line=$(sed -n 's/^ *(gdb) \(add-auto-load-safe-path [^ ]*\).*/\1/p' "$top/doc/ADOPTING.md")
    [ "$line" = 'add-auto-load-safe-path /usr/local/lib' ] || fail "doc/ADOPTING.md says: $line"
    [ "$(clean gdb -nx -batch -ex 'python print(6 * 7)' 2> /dev/null)" = 42 ] || return 0
    clean gdb -nx -batch -iex "${line%/usr/local/lib}${object%/*}" -ex 'help cpool list' "$object" \
        > loaded 2>&1
    grep -q 'all pools of the process' loaded || fail "gdb does not load the script: $(cat loaded)"
}

# script_of_system STAGE - under /usr it is in the folder that gdb trusts.
script_of_system() {
    object=$(find "$1"/usr/lib* -name 'libcpool.so.*.*' -type f)
    [ -n "$object" ] || fail "no library in $1"
    cmp "$top/gdb/cpool.py" "$1/usr/share/gdb/auto-load${object#"$1"}-gdb.py" ||
        fail "no script in gdb's folder for $object"
}

# malloc_in PREFIX - malloc over pools shows its family, and programs run on it.
malloc_in() {
    object=$(find "$1" -name libcpool-malloc.so)
    [ -n "$object" ] || fail 'no libcpool-malloc.so was installed'
    nm -D --defined-only "$object" | sed 's/.* //' | sort > theirs
    sed -n 's/^ *\([a-z_]*\);$/\1/p' "$top/ext/sized/malloc/malloc.map" | sort > ours
    diff ours theirs || fail 'malloc over pools shows other names'
    cc -fno-builtin "$top/ext/sized/tests/exercise.c" -pthread -o exercise || fail 'no exercise'
    clean CPOOL_MALLOC_PRINT=yes LD_PRELOAD="$object" ./exercise 1000 > /dev/null 2> figures ||
        fail 'malloc over pools fails'
    grep -q "^sized 'malloc'" figures || fail 'malloc over pools was not in use'
}

# found_by_pkg_config PREFIX
found_by_pkg_config() {
    pc=$(find "$1" -name cpool.pc)
    # shellcheck disable=SC2046
    cc "$job" $(clean PKG_CONFIG_LIBDIR="${pc%/*}" pkg-config --cflags --libs cpool) -o program ||
        fail 'no program by pkg-config'
    runs ./program LD_LIBRARY_PATH="${pc%/pkgconfig/*}"
    clean PKG_CONFIG_LIBDIR="${pc%/*}" pkg-config --define-variable=libdir='/a folder' \
        --define-variable=includedir='/a folder' --cflags --libs cpool > flags
    grep -q -e '^-I/a\\ folder .*-L/a\\ folder ' flags || fail "not two paths: $(cat flags)"
}

# For 64-bit Windows, by the toolchain file: in the program's project, and an installed DLL.
windows() {
    needs cmake x86_64-w64-mingw32-gcc-posix
    wine=$(command -v wine64 || ls /usr/lib/wine/wine64 2> /dev/null) || { echo 'no wine64'; exit 77; }
    # shellcheck disable=SC2086
    copy $all_of_it
    export WINEPREFIX="$work/wine"
    trap '"${wine%64}server" -k 2> /dev/null' EXIT
    CC=
    for compiler in gcc clang; do
        command -v "$compiler" > /dev/null || continue
        set -- --toolchain "$(pwd)/libcpool/cmake/mingw-w64.cmake" -DMINGW_COMPILER="$compiler"
        { echo '#include <cpool/cpool.hpp>' && cat "$job"; } > job.cpp
        {
            echo 'enable_language(CXX)'
            echo 'add_executable(program job.c)'
            readme CMake 2
            echo 'add_executable(other job.cpp)'
            echo 'target_link_libraries(other PRIVATE cpool::cpool)'
        } > lines || exit 1
        cmake_project < lines
        cmake_build "$@" -DCMAKE_C_FLAGS=-Werror
        runs_in_wine build/program.exe
        runs_in_wine build/other.exe
        ! (cmake_build "$@" -DCPOOL_MALLOC=ON) > log 2>&1 || fail 'malloc over pools is built'
        grep -q 'takes LD_PRELOAD' log || fail "$(cat log)"
        prefix=$(pwd)/installed-$compiler
        (cd libcpool && cmake_build "$@" -DBUILD_SHARED_LIBS=ON -DCMAKE_C_FLAGS=-Werror \
            -DCMAKE_INSTALL_PREFIX="$prefix" &&
            clean cmake --install build > log) || exit 1
        names_in "$prefix/bin/libcpool.dll"
        cmake_project << 'EOF'
find_package(cpool 0.1 REQUIRED COMPONENTS shared)
add_executable(program job.c)
target_link_libraries(program PRIVATE cpool::cpool)
EOF
        cmake_build "$@" -Dcpool_DIR="$prefix/lib/cmake/cpool"
        cp build/program.exe "$prefix/bin/"
        runs_in_wine "$prefix/bin/program.exe"
    done
}

in_wine() { clean WINEPREFIX="$work/wine" WINEDEBUG=-all "$wine" "$@"; }

# A folder of Windows files that is whole.  On a busy machine its making may be cut short, and then
# no program starts from it.
make_wine() {
    "${wine%64}server" -k 2> /dev/null
    rm -rf "$work/wine"
    in_wine wineboot -i > wineboot.log 2>&1
    timeout 60 "${wine%64}server" -w
}

# runs_in_wine PROGRAM - it may not start on a busy machine.
runs_in_wine() {
    for _ in 1 2 3 4 5; do
        [ -d "$work/wine" ] || make_wine
        ! in_wine "$1" | tr -d '\r' | diff "$work/expected" - > output || return 0
        rm -rf "$work/wine"
    done
    fail "$1 of $compiler prints something else: $(cat output)"
}

# names_in DLL - it exports what the map lists, but for the thread's word.
names_in() {
    x86_64-w64-mingw32-objdump -p "$1" |
        sed -n '/^.Ordinal\/Name Pointer/,/^$/s/^[^[]*\[ *[0-9]*\].* \([^ ]*\)$/\1/p' |
        sort > theirs
    sed -n 's/^ *\(cpool_[a-z_0-9]*\);$/\1/p' "$top/lib/libcpool.map" |
        grep -v '^cpool_thread_word_' | sort > ours
    diff ours theirs || fail 'the DLL exports other names'
}

# ---- Meson ---------------------------------------------------------------------

meson_build() {
    clean CC="${CC:-cc}" meson setup build "$@" > log 2>&1 &&
        clean meson compile -C build >> log 2>&1 || { tail -n 30 log; exit 1; }
}

meson_subproject() {
    needs meson ninja
    folder=subprojects/cpool
    # shellcheck disable=SC2086
    copy_to $all_of_it
    cp "$job" .
    {
        echo "project('outside', 'c')"
        readme Meson
        echo "executable('program', 'job.c', dependencies: cpool_dep)"
    } > meson.build || exit 1
    meson_build --wrap-mode=forcefallback
    runs build/program
}

# The archive of a release, made once, in the folder `release`.
archived() {
    release=$work/archive
    [ ! -d "$release" ] || return 0
    mkdir "$release"
    (cd "$built" && ${MAKE:-make} wrap) > "$work/wrap.log" 2>&1 || {
        tail -n 20 "$work/wrap.log"
        rm -rf "$release"
        exit 1
    }
    cp "$built"/libcpool-*.tar.gz "$built/cpool.wrap" "$release"
}

# A program has the file that `make wrap` writes, and the archive.
meson_wrap() {
    needs meson ninja
    archived
    mkdir -p subprojects/packagefiles
    cp "$release/cpool.wrap" subprojects
    cp "$release"/*.tar.gz subprojects/packagefiles
    cp "$job" .
    {
        echo "project('outside', 'c')"
        echo "executable('program', 'job.c', dependencies: dependency('cpool'))"
    } > meson.build
    meson_build --wrap-mode=forcefallback
    runs build/program
}

# The two files of an archive, as they are.
release() {
    archived
    gzip -dc "$release"/*.tar.gz | tar -xf - || fail 'no archive'
    cc -O2 -Werror -I libcpool-*/two-files "$job" libcpool-*/two-files/cpool.c -pthread -o program ||
        fail 'no program with the two files of the archive'
    runs ./program
}

# Installed by Meson, and found by what that leaves.
meson_install() {
    needs meson ninja pkg-config
    # shellcheck disable=SC2086
    copy $all_of_it
    (cd libcpool && meson_build --prefix="$work/meson" -Dmalloc=true && clean meson install -C build > log) ||
        exit 1
    headers_in "$work/meson"
    found_by_pkg_config "$work/meson"
    script_in "$work/meson"
    clean meson configure libcpool/build --prefix=/usr > log &&
        clean DESTDIR="$(pwd)/system" meson install -C libcpool/build > log || fail "$(cat log)"
    script_of_system "$(pwd)/system"
    malloc_in "$work/meson"
    command -v cmake > /dev/null || return 0
    cmake_project << 'EOF'
find_package(cpool 0.1 REQUIRED COMPONENTS shared static)
add_executable(program job.c)
target_link_libraries(program PRIVATE cpool::cpool_static)
EOF
    cmake_build -DCMAKE_PREFIX_PATH="$work/meson"
    runs build/program
}

# ---- All of them ---------------------------------------------------------------

if [ -n "$door" ]; then
    mkdir "$work/$door" || exit 1
    began=$(date +%s)
    (cd "$work/$door" && "$door") > "$work/$door.log" 2>&1
    status=$?
    took="$(($(date +%s) - began)) s"
    case $status in
    0) echo "opens: $door ($took)" ;;
    77) echo "SKIP: $door: $(tail -n 1 "$work/$door.log")" ;;
    *) echo "FAILED: $door ($took)" && sed 's/^/  | /' "$work/$door.log" ;;
    esac > "$work/$door.result"
    cat "$work/$door.result"
    exit 0
fi

# Doors that share what is installed or archived find it made.
for door in $doors; do
    case $door in
    pkg_config | find_package) (installed) ;;
    clone | clone_check | meson_wrap | release) (archived) ;;
    esac
done
# One at a time for each processor, those that take long first.
# shellcheck disable=SC2086 # several words
printf '%s\n' $doors | xargs -n 1 -P "$(nproc 2> /dev/null || echo 1)" "${SHELL:-sh}" "$0" --one
opened=$(cat "$work"/*.result | grep -c '^opens: ')
failed=$(cat "$work"/*.result | grep -c '^FAILED: ')
# shellcheck disable=SC2086 # several words
printf '%s\n' $doors | while read -r door; do
    [ -s "$work/$door.result" ] || echo "FAILED: $door, without a word"
done > "$work/silent"
cat "$work/silent"
failed=$((failed + $(wc -l < "$work/silent")))
echo "$opened doors open, $failed failed"
[ "$failed" -eq 0 ] || exit 1
[ "$opened" -gt 0 ] || exit 77
