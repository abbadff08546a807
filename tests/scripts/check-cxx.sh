#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-cxx.sh - <cpool/cpool.hpp> in each C++, with each compiler and standard library
# that is found, with and without exceptions and type information: tests/public/check_hpp.cpp is
# compiled and run, two modules share blocks, coroutines go on in other threads, and README's
# example compiles as C++.
#
# CXX_ALL: if it is not empty, all combinations (make check-cxx), else those that differ most, and
# of these one with CPOOL_TEST_QUICK.
# srcdir: top of the source tree.  CXX: the configured C++ compiler.  Run in the top of
# the build tree.

. "${srcdir:-.}/tests/harness/script.sh"
built=0

warnings='-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wundef -Weffc++ -Wold-style-cast -Werror'

if [ -z "${CXX:-}" ]; then
    echo 'SKIP: C++ without a C++ compiler'
    exit 77
fi

# try COMPILER... - with these options the program compiles and passes
try() {
    built=$((built + 1))
    # shellcheck disable=SC2086 # several words
    if ! "$@" $warnings -I"$top/include" -Iinclude "$top/tests/public"/*hpp*.cpp \
        "$top"/ext/*/tests/hpp_*.cpp "$library" \
        -pthread -Wl,-rpath,"$(pwd)/lib/.libs" -o "$work/program" > "$work/output" 2>&1; then
        echo "does not compile: $*"
        head -n 20 "$work/output"
        status=1
    elif ! "$work/program" > "$work/output" 2>&1; then
        echo "does not pass: $*"
        cat "$work/output"
        status=1
    fi
}

# knows COMPILER... - whether these options make a program at all
knows() {
    echo '#include <vector>
    int main() { return static_cast<int>(std::vector<int>(0).size()); }' > "$work/empty.cpp"
    "$@" "$work/empty.cpp" -o "$work/empty" > "$work/output" 2>&1
}

# some COMPILER... - the combinations that differ most
some() {
    knows "$@" || { left="$left $*;"; return; }
    try "$@" -std=c++11
    [ -n "${CPOOL_TEST_QUICK:-}" ] || try "$@" -std=c++20 -fno-exceptions -fno-rtti
}

# all COMPILER...
all() {
    knows "$@" || { left="$left $*;"; return; }
    for standard in c++11 c++14 c++17 c++20 c++2b; do
        knows "$@" -std="$standard" || { left="$left $* -std=$standard;"; continue; }
        try "$@" -std="$standard"
        try "$@" -std="$standard" -fno-exceptions -fno-rtti -O2
    done
    try "$@" -std=c++17 -DCPOOL_NO_INLINE
    try "$@" -std=c++17 -O2
}

left=
if [ -n "${CXX_ALL:-}" ]; then
    # shellcheck disable=SC2086 # the compiler may have options of its own
    all $CXX
    all g++
    all clang++
    all clang++ -stdlib=libc++
else
    # shellcheck disable=SC2086
    some $CXX
    [ -n "${CPOOL_TEST_QUICK:-}" ] || some clang++ -stdlib=libc++
fi
[ -z "$left" ] || echo "left out, not found or not known:$left"

# The modules of a program share blocks, also where they hide all that is not marked.
cat > "$work/node.h" << 'END'
#include <cpool/cpool.hpp>
struct node : cpool::pooled<> { long words[4]; };
struct module { cpool_sized_t *blocks; node *made; };
__attribute__((visibility("default"))) module other();
END
cat > "$work/other.cpp" << 'END'
#include "node.h"
module other() { return module{cpool::shared_blocks(), new node}; }
END
cat > "$work/main.cpp" << 'END'
#include "node.h"
int main()
{
    module two = other();
    bool shared = two.blocks == cpool::shared_blocks();

    if (shared)
        delete two.made;
    return shared ? 0 : 1;
}
END

# modules COMPILER...
modules() {
    built=$((built + 1))
    # shellcheck disable=SC2086 # several words
    if ! { "$@" -std=c++11 $warnings -fvisibility=hidden -fPIC -shared -I"$top/include" -Iinclude \
        "$work/other.cpp" "$library" -o "$work/libother.so" &&
        "$@" -std=c++11 $warnings -fvisibility=hidden -I"$top/include" -Iinclude "$work/main.cpp" \
            -L"$work" -lother "$library" -pthread -Wl,-rpath,"$work:$(pwd)/lib/.libs" \
            -o "$work/program"; } > "$work/output" 2>&1; then
        echo "modules do not compile: $*"
        head -n 20 "$work/output"
        status=1
    elif ! "$work/program" > "$work/output" 2>&1; then
        echo "modules do not share their blocks: $*"
        cat "$work/output"
        status=1
    fi
}

case $library in
*.so)
    # shellcheck disable=SC2086
    modules $CXX
    ! knows clang++ || modules clang++
    ;;
*) echo 'left out, no shared library: modules that share blocks' ;;
esac

# Coroutines that go on in another thread, where a compiler may keep the first one's address.
cat > "$work/knows.cpp" << 'END'
#include <coroutine>
struct none { struct promise_type { none get_return_object(); std::suspend_never initial_suspend();
    std::suspend_never final_suspend() noexcept; void return_void(); void unhandled_exception(); }; };
none nothing() { co_await std::suspend_never{}; }
int main() { return 0; }
END

# coroutines COMPILER OPTION...
coroutines() {
    "$@" -std=c++20 -c "$work/knows.cpp" -o "$work/knows.o" > "$work/output" 2>&1 ||
        { echo "left out, no coroutines: $*"; return; }
    built=$((built + 1))
    # shellcheck disable=SC2086 # several words
    if ! "$@" -std=c++20 -O2 $warnings -I"$top/include" -Iinclude "$top/tests/public/coroutines.cpp" \
        "$library" -pthread -Wl,-rpath,"$(pwd)/lib/.libs" -o "$work/program" > "$work/output" 2>&1; then
        echo "coroutines do not compile: $*"
        head -n 20 "$work/output"
        status=1
    elif ! "$work/program" > "$work/output" 2>&1; then
        echo "coroutines share slots: $*"
        cat "$work/output"
        status=1
    fi
}

# shellcheck disable=SC2086
coroutines $CXX
for other in g++ clang++ 'clang++ -stdlib=libc++'; do
    # shellcheck disable=SC2086
    [ "$other" = "$CXX" ] || coroutines $other
done

# README's first example.
awk '/^```c$/ && !n { n = 1; next } n == 1 && /^```/ { exit } n == 1' "$top/README.md" > "$work/readme.cpp"
if [ -s "$work/readme.cpp" ]; then
    built=$((built + 1))
    # shellcheck disable=SC2086
    $CXX -std=c++11 -I"$top/include" -Iinclude -x c++ -fsyntax-only "$work/readme.cpp" \
        > "$work/output" 2>&1 || {
        echo "README's example is no C++:"
        cat "$work/output"
        status=1
    }
else
    echo 'README has no example'
    status=1
fi

[ "$status" -ne 0 ] || echo "$built programs"
exit "$status"
