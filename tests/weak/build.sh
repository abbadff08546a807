# SPDX-License-Identifier: BSD-2-Clause
# build.sh - compiles the explorer and models.  The scripts here read it.
#
# They set here, models, lib, work, objects, log, and skip(), which is called
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

# build_model SOURCE PROGRAM [MAIN] - MAIN: the part with main, or weak_main.  A model has
# to define every function that the files that it includes refer to.
build_model() {
    ${CC:-cc} $model_flags -I"$here" -I"$lib" -I"$models" -I"$here/../../include" \
        -c "$1" -o "$2.o" 2>"$log" || return
    ${CC:-cc} -no-pie "$2.o" $(printf "$objects/%s.o " $weak_parts ${3-weak_main}) \
        -o "$2" 2>"$log"
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
