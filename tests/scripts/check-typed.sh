#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# check-typed.sh - typed pools work in programs that are compiled in other ways than the
# tests: without optimisation, optimised when linked, as code at any address, and without
# the inline path or any GNU extension, with each compiler that is found.
#
# Compiles tests/public/typed_builds.c and runs it, six times with a compiler.  Programs of two
# source files and a shared library have a pool that a header defines.

. "${srcdir:-.}/tests/harness/script.sh"
ran=0
left=

echo 'int main(void) { return 0; }' >"$work/empty.c"

# Without GNU extensions.  The C library's headers define types then that gcc knows already.
plain='-U__GNUC__ -D_Float32=float32_ -D_Float64=float64_ -D_Float32x=float32x_
-D_Float64x=float64x_'

# refuse_build WHAT - complains, with the compiler's own words.
refuse_build() {
    complain "does not compile: $1"
    head -n 20 "$work/output"
}

# runs WHAT PROGRAM ARGUMENT... - complains, with the step, if the program fails.
runs() {
    what=$1
    shift
    ran=$((ran + 1))
    "$@" >"$work/output" 2>&1 && return
    code=$?
    complain "fails at step $code: $what"
    cat "$work/output"
}

# try COMPILER OPTION...
try() {
    if ! "$@" "$work/empty.c" -o "$work/empty" >"$work/output" 2>&1 || ! "$work/empty"; then
        left="$left $*;"
    elif ! "$@" -std=c11 -Wall -Wextra -Werror -Wno-unused-function -I"$top/include" -Iinclude \
        "$top/tests/public/typed_builds.c" "$library" -pthread -Wl,-rpath,"$(pwd)/lib/.libs" \
        -o "$work/program" >"$work/output" 2>&1; then
        refuse_build "$*"
    else
        runs "$*" "$work/program"
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
# refuses SETTINGS TEXT COMPILER OPTION... - a wrong definition is an error that says this.
refuses() {
    settings=$1 text=$2
    shift 2
    command -v "$1" >/dev/null || return
    case " $* " in *++*) extension=cpp ;; *) extension=c ;; esac
    printf '%s\n' '#include <cpool.h>' 'struct job { double d[4]; };' \
        'CPOOL_DECLARE(jobs, struct job);' "CPOOL_DEFINE(jobs, struct job, $settings);" \
        >"$work/wrong.$extension"
    ran=$((ran + 1))
    if "$@" -I"$top/include" -Iinclude -c "$work/wrong.$extension" -o "$work/wrong.o" \
        >"$work/output" 2>&1; then
        [ "$text" = good ] && return
        echo "CPOOL_DEFINE with $settings compiles: $*"
        status=1
    elif ! grep -q -e "$text" "$work/output"; then
        echo "CPOOL_DEFINE with $settings is not refused for $text: $*"
        head -n 5 "$work/output"
        status=1
    fi
}

# To C a member of a constant is one with optimisation alone.
for compiler in 'gcc -O1' 'clang -O1' 'g++ -O0 -std=c++11' 'clang++ -O0 -std=c++11' \
    'g++ -O2 -std=c++20' 'clang++ -O2 -std=c++20'; do
    # shellcheck disable=SC2086 # several words
    {
        refuses '.name = "jobs"' 'capacity is missing' $compiler
        refuses '.capacity = 9, .max_capacity = 8' 'capacity is missing' $compiler
        refuses '.slot_align = 24, .capacity = 9' 'slot_align is not' $compiler
        refuses '.slot_align = 4, .capacity = 9' 'slot_align is not' $compiler
        refuses '.slot_size = 33, .capacity = 9' 'slot_align is not' $compiler
        refuses '.slot_size = 32, .slot_align = 16, .capacity = 9' good $compiler
    }
done
# Two namespaces would share the thread's entry.
cat >"$work/spaces.cpp" <<'END'
#include <cpool.h>
namespace space { struct job { double d[4]; }; CPOOL_DEFINE_INLINE(others, job, .capacity = 9); }
CPOOL_DEFINE_INLINE(jobs, space::job, .capacity = 9);
END
for compiler in g++ clang++; do
    command -v $compiler >/dev/null || continue
    ran=$((ran + 1))
    $compiler -w -I"$top/include" -Iinclude -c "$work/spaces.cpp" -o "$work/wrong.o" 2>"$work/output"
    grep -q 'others_is_outside_of_namespaces' "$work/output" &&
        ! grep -q 'jobs_is_outside' "$work/output" && continue
    echo "CPOOL_DEFINE_INLINE in a namespace: $compiler"
    status=1
done
# A pool that a header defines is one pool in two source files, and another one in a shared
# library.
cat >"$work/inline.h" <<'END'
#include <cpool.h>
struct pair { int first; int second; };
CPOOL_DEFINE_INLINE(pairs, struct pair, .capacity = 100, .magazine_rounds = 8, .flags = 0);
#ifdef __cplusplus
extern "C" {
#endif
struct pair *one_file(void);
cpool_t *other_library(void);
#ifdef __cplusplus
}
#endif
END
cat >"$work/one.c" <<'END'
#include "inline.h"
struct pair *one_file(void) { return pairs_alloc(); }
END
cat >"$work/library.c" <<'END'
#include "inline.h"
cpool_t *other_library(void) { struct pair *one = pairs_calloc(); pairs_free(one); return pairs_pool(); }
END
cat >"$work/main.c" <<'END'
#include "inline.h"
int main(void)
{
    cpool_stats_t stats = CPOOL_STATS_INIT;
    struct pair *one = one_file();

    if (one == NULL || !cpool_owns(pairs_pool(), one))
        return 1;
    if (other_library() == NULL || other_library() == pairs_pool())
        return 2;
    pairs_free(one);
    if (pairs_alloc() != one || cpool_read_stats(pairs_pool(), &stats) != CPOOL_OK || stats.live != 1)
        return 3;
    pairs_free(one);
    return pairs_close();
}
END

for name in one library main; do
    cp "$work/$name.c" "$work/$name.cpp"
done

# in_header EXTENSION COMPILER OPTION...
in_header() {
    extension=$1
    shift
    command -v "$1" >/dev/null || return
    if ! { "$@" -Wall -Wextra -Werror -I"$top/include" -Iinclude -fPIC -shared "$work/library.$extension" \
        "$library" -o "$work/libother.so" &&
        "$@" -Wall -Wextra -Werror -I"$top/include" -Iinclude "$work/main.$extension" \
            "$work/one.$extension" -L"$work" -lother "$library" -pthread -Wl,-rpath,"$work:$(pwd)/lib/.libs" -o "$work/program"; } \
        >"$work/output" 2>&1; then
        refuse_build "a pool defined in a header: $*"
    else
        runs "a pool defined in a header: $*" "$work/program"
    fi
}

# commas COMPILER OPTION... - a type with a comma in its name, by the typedef that the header names.
commas() {
    command -v "$1" >/dev/null || return
    cat >"$work/commas.cpp" <<'END'
#include <cpool.h>
#include <cpool/object.h>
#include <utility>
typedef std::pair<int, long> pair;
CPOOL_DECLARE(pairs, pair);
CPOOL_DEFINE(pairs, pair, .capacity = 10, .magazine_rounds = 2, .flags = 0);
CPOOL_DEFINE_INLINE(inline_pairs, pair, .capacity = 10, .magazine_rounds = 2);
CPOOL_OBJECTS_DECLARE(pair_objects, pair);
CPOOL_OBJECTS_DEFINE(pair_objects, pair, CPOOL_OBJECT_HOOKS(.create = nullptr), .max_capacity = 9,
                     .growth = 1);
template <class slot, class free> int give(slot *one, free give_back)
{
    if (one == nullptr)
        return 1;
    one->first = 7;
    one->second = -7;
    give_back(one);
    return 0;
}
int main()
{
    cpool_stats_t stats = CPOOL_STATS_INIT;
    if (cpool_read_stats(pairs_pool(), &stats) != 0 || stats.slot_size != sizeof(std::pair<int, long>))
        return 1;
    if (give(pairs_alloc(), pairs_free) + give(inline_pairs_alloc(), inline_pairs_free) + give(pair_objects_get(), pair_objects_put) != 0)
        return 2;
    return pairs_close() + inline_pairs_close() + pair_objects_close() != 0 ? 3 : 0;
}
END
    if ! "$@" -Wall -Wextra -Werror -I"$top/include" -Iinclude "$work/commas.cpp" "$library" -pthread \
        -Wl,-rpath,"$(pwd)/lib/.libs" -o "$work/program" >"$work/output" 2>&1; then
        refuse_build "a typedef of a type with a comma: $*"
    else
        runs "a typedef of a type with a comma: $*" "$work/program"
    fi
}
for compiler in g++ clang++; do
    for options in '-std=c++11 -O2' '-std=c++20 -O0' '-std=c++17 -DCPOOL_NO_INLINE'; do
        # shellcheck disable=SC2086 # several words
        commas "$compiler" $options
    done
done

# A visible pool that two modules define is the program's, and outlives the plug-in.
cat >"$work/visible.h" <<'END'
#include <cpool.h>
#include <cpool/object.h>
struct pair { int first; int second; };
CPOOL_DEFINE_INLINE(pairs, struct pair, .capacity = 100, .flags = 0);
CPOOL_OBJECTS_DECLARE(things, struct pair);
CPOOL_OBJECTS_DEFINE(things, struct pair, CPOOL_OBJECT_HOOKS(.create = NULL), .max_capacity = 9,
                     .growth = 1);
END
cat >"$work/plugin.c" <<'END'
#include "visible.h"
cpool_t *plugin(cpool_objects_t **objects);
cpool_t *plugin(cpool_objects_t **objects)
{
    pairs_free(pairs_alloc());
    *objects = things_objects();
    return pairs_pool();
}
END
cat >"$work/loads.c" <<'END'
#include <dlfcn.h>
#include <string.h>
#include "visible.h"
int main(int argc, char **argv)
{
    struct pair *one = pairs_alloc();
    struct pair *thing = things_get();
    void *module = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void *address = module != NULL ? dlsym(module, "plugin") : NULL;
    cpool_t *(*plugin)(cpool_objects_t **objects);
    cpool_objects_t *objects;

    if (one == NULL || thing == NULL || address == NULL)
        return 1;
    memcpy(&plugin, &address, sizeof plugin);
    if (plugin(&objects) != pairs_pool() || objects != things_objects() || dlclose(module) != 0)
        return 2;
    if (!cpool_owns(pairs_pool(), one))
        return 3;
    pairs_free(one);
    things_put(thing);
    return pairs_alloc() != one ? 4 : 0;
}
END

# visible COMPILER OPTION...
visible() {
    command -v "$1" >/dev/null || return
    set -- "$@" '-DCPOOL_TYPED_VISIBILITY="default"' -Wall -Wextra -Werror -I"$top/include" -Iinclude
    if ! { "$@" -fPIC -shared "$work/plugin.c" "$library" -o "$work/plugin.so" &&
        "$@" -rdynamic "$work/loads.c" "$library" -pthread -ldl -Wl,-rpath,"$(pwd)/lib/.libs" \
            -o "$work/program"; } >"$work/output" 2>&1; then
        refuse_build "a visible pool of two modules: $*"
    else
        runs "a visible pool of two modules: $*" "$work/program" "$work/plugin.so"
    fi
}

case $library in
*.so)
    for compiler in gcc clang; do
        visible "$compiler" -std=c11 -O2
        visible "$compiler" -std=c11 -O0 -DCPOOL_NO_INLINE
        in_header c "$compiler" -std=c11 -O2
        in_header c "$compiler" -std=c11 -O0
        in_header c "$compiler" -std=c99 -O2 -DCPOOL_NO_INLINE
    done
    for compiler in g++ clang++; do
        in_header cpp "$compiler" -std=c++11 -O2
        in_header cpp "$compiler" -std=c++17 -O2
    done
    ;;
*) echo 'left out, no shared library: pools of several modules' ;;
esac

[ -z "$left" ] || echo "left out, as it makes no program:$left"
[ $ran -gt 0 ] || [ $status -ne 0 ] || { echo 'SKIP: no compiler makes a program that runs'; exit 77; }

[ $status -ne 0 ] || echo "typed pools work in $ran programs"
exit $status
