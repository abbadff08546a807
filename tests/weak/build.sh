# SPDX-License-Identifier: BSD-2-Clause
# build.sh - compiles the explorer and models.  The scripts here read it.
#
# They set here, models, lib, work, objects, log, and skip(), which is called
# with a reason where the compiler or the system lacks a feature that the explorer
# needs.

# Without optimisation by others' rules: the explorer jumps between stacks.
weak_flags='-std=c11 -g -fno-pie -U_FORTIFY_SOURCE'

# Calls that the compiler instruments, and those that it does not: redirected.  The
# sources are those of a build without the sanitizer.
model_flags="$weak_flags -O1 -w -fsanitize=thread -U__SANITIZE_THREAD__
    -UNDEBUG -fno-builtin
    -Dmain=weak_model -Dmemset=weak_memset -Dmemcpy=weak_memcpy"

weak_parts='weak_explore weak_memory weak_race weak_threads weak_tsan'

# build_object NAME - of the explorer, unless it is there.
build_object() {
    [ -e "$objects/$1.o" ] && return
    ${CC:-cc} $weak_flags -O2 -D_DEFAULT_SOURCE -I"$here" -c "$here/$1.c" \
        -o "$objects/$1.o" 2>"$log" || skip "the compiler lacks what the explorer needs"
}

# build_model SOURCE PROGRAM [MAIN] - MAIN: the part with main, or weak_main.
# A function that a model does not define may be in a file that it includes, but
# not called: it lies at address 0.
build_model() {
    ${CC:-cc} $model_flags -I"$here" -I"$lib" -I"$models" -I"$here/../../include" \
        -c "$1" -o "$2.o" 2>"$log" || return
    ${CC:-cc} -no-pie -Wl,--unresolved-symbols=ignore-all "$2.o" $(printf "$objects/%s.o " $weak_parts ${3-weak_main}) \
        -o "$2" 2>"$log"
}

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
