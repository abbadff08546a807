# SPDX-License-Identifier: BSD-2-Clause
# build.sh - compiles the explorer and models.  The scripts here read it.
#
# They set here, top, models, lib, work, objects, log, and skip(), which is called
# with a reason where the compiler or the system lacks a feature that the explorer
# needs.

# Without optimisation by others' rules: the explorer jumps between stacks.
weak_flags='-std=c11 -g1 -fno-pie -U_FORTIFY_SOURCE'

# Calls that the compiler instruments, and those that it does not: redirected.  The
# sources are those of a build without the sanitizer.
model_flags="$weak_flags -Og -w -fsanitize=thread -U__SANITIZE_THREAD__
    -UNDEBUG -fno-builtin
    -Dmain=weak_model -Dmemset=weak_memset -Dmemcpy=weak_memcpy"

weak_parts='weak_explore weak_memory weak_race weak_threads weak_tsan'

# build_object NAME - of the explorer, unless it is there.
build_object() {
    [ -e "$objects/$1.o" ] && return
    ${CC:-cc} $weak_flags -O2 -D_DEFAULT_SOURCE -I"$here" -c "$here/$1.c" \
        -o "$objects/$1.o" 2>"$log" || skip "the compiler lacks what the explorer needs"
}

# The part of the explorer with main.
weak_main=weak_main

# build_model SOURCE PROGRAM [OPTION...] - a model has to define every function that the files
# that it includes refer to.
build_model() {
    source=$1
    built=$2
    shift 2
    ${CC:-cc} $model_flags "$@" -I"$here" -I"$lib" -I"$lib/../ext" -I"$models" -I"$here/../../include" \
        -c "$source" -o "$built.o" 2>"$log" || return
    ${CC:-cc} -no-pie "$built.o" $(printf "$objects/%s.o " $weak_parts $weak_main) \
        -o "$built" 2>"$log"
}

# What the whole library and its models are compiled with beside model_flags (whole.h).
whole_flags="-D_GNU_SOURCE -Dmemmove=weak_memcpy -include $here/whole.h"
whole_scale=-DWEAK_SCALE=4

# compile_whole LIB SOURCE OBJECT [OPTION...]
compile_whole() {
    of=$1
    source=$2
    object=$3
    shift 3
    # shellcheck disable=SC2086 # several words
    ${CC:-cc} $model_flags $whole_flags "$@" -I"$of" -I"$of/../ext" -I"$top/include" -I"$here" \
        -MMD -MF "$object.d" -c "$source" -o "$object" 2>"$log"
}

# edited_files - those of the library, or public headers, that differ from the tree's.
edited_files() {
    for path in "$lib"/*/*.[ch]; do
        name=${path#"$lib/"}
        cmp -s "$path" "$top/lib/$name" || cmp -s "$path" "$top/ext/$name" || cmp -s "$path" "$top/include/$name" || echo "$name"
    done
}

# build_library - the library but for the system's part, and the explorer with more room, in
# $work/whole.a.  Objects that no edit concerns are kept from one call to the next.  The
# library's constructors do not run: the explorer has not begun then.
build_library() {
    [ -e "$work/whole.a" ] && return
    command -v objcopy >"$log" || skip "there is no objcopy"
    mkdir -p "$objects/whole" "$work/edited" || return
    edited=$(edited_files)
    for path in "$top"/lib/*/*.c "$top"/ext/*/*.c; do
        case $path in */os_posix.c | */os_windows.c) continue ;; esac
        name=$(basename "$path" .c)
        built=$objects/whole/$name.o
        [ -e "$built" ] || compile_whole "$top/lib" "$path" "$built" || return
        for file in $edited; do
            grep -q "/$file\( \|\$\)" "$built.d" || continue
            compile_whole "$lib" "$lib/${path#"$top"/*/}" "$work/edited/$name.o" || return
            built=$work/edited/$name.o
            break
        done
        ar rc "$work/whole.a" "$built" || return
    done
    objcopy -w -R '.init_array*' -R '.rela.init_array*' "$work/whole.a" || return
    for part in $weak_parts weak_main; do
        built=$objects/whole/$part.o
        [ -e "$built" ] || ${CC:-cc} $weak_flags $whole_scale -O2 -D_DEFAULT_SOURCE -I"$here" \
            -c "$here/$part.c" -o "$built" 2>"$log" || return
    done
}

# build_whole SOURCE PROGRAM OPTION... - a model of whole.txt.
build_whole() {
    whole_source=$here/$1
    whole_program=$2
    shift 2
    build_library || return
    compile_whole "$lib" "$whole_source" "$whole_program.o" "$@" || return
    # shellcheck disable=SC2086 # several words
    ${CC:-cc} $weak_flags -D_GNU_SOURCE $whole_scale "$@" -I"$lib" -I"$lib/../ext" -I"$top/include" -I"$here" \
        -c "$here/whole_os.c" -o "$whole_program.os.o" 2>"$log" || return
    # shellcheck disable=SC2046 # several words
    ${CC:-cc} -no-pie "$whole_program.o" "$whole_program.os.o" "$work/whole.a" \
        $(printf "$objects/whole/%s.o " $weak_parts weak_main) -lm -o "$whole_program" 2>"$log"
}

# Once for all calls that keep the objects.
if [ ! -e "$objects/probed" ]; then
    echo 'int x; int f(void) { return __atomic_load_n(&x, 2); }' >"$work/probe.c"
    ${CC:-cc} -fsanitize=thread -c "$work/probe.c" -o "$work/probe.o" 2>"$log" ||
        skip "the compiler has no -fsanitize=thread"
    for part in $weak_parts weak_main; do
        build_object $part
    done
    echo '#include <stdatomic.h>
_Atomic int x; int main(void) { return atomic_load(&x); }' >"$work/probe.c"
    build_model "$work/probe.c" "$work/probe" && "$work/probe" --executions 9 >"$log" 2>&1 ||
        skip "the explorer does not work here"
    : >"$objects/probed"
fi
