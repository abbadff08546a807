#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# check-plain.sh - with CPOOL_PLAIN_POSIX the library uses nothing of Linux that POSIX lacks.
#
# The sources of lib/host compile after the words of Linux have been poisoned, behind
# the headers that have them.  No source includes a header of Linux.  The shared object calls no function
# of Linux, and needs no static thread-local storage.
#
# srcdir: top of the source tree.  CC: the compiler.  Exit status: 77 if it does not know the
# pragma, or the system has no Linux to be without.

. "${srcdir:-.}/tests/harness/script.sh"
top=$(cd "$top" && pwd) || exit 1
# All sources in one, which is faster.
sources=$(pwd)/amalgamation/cpool.c
[ -e "$sources" ] && sources=$(echo "${sources%/*}"/*.c) || sources=$(echo "$top"/lib/*/*.c "$top"/ext/*/*.c)
cd "$work" || exit 1
[ "$(uname -s)" = Linux ] || skip 'not on Linux'
failed=0

cat > poison.h << 'EOF'
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#undef MAP_NORESERVE
#undef MADV_HUGEPAGE
#undef MADV_DONTNEED
#undef MADV_POPULATE_WRITE
#pragma GCC poison syscall madvise mincore mremap gettid getauxval prctl backtrace \
    MAP_NORESERVE MADV_HUGEPAGE MADV_DONTNEED MADV_POPULATE_WRITE
EOF
compile() {
    # shellcheck disable=SC2086 # several words
    ${CC:-cc} -std=c11 -DCPOOL_PLAIN_POSIX=1 -DNVALGRIND -fPIC -I"$top/lib" -I"$top/ext" -I"$top/include" \
        "$@"
}

echo 'int page(void) { return madvise(0, 0, 0); }' > poisoned.c
! compile -include poison.h -c poisoned.c 2> /dev/null || skip 'the compiler poisons no word'

compile -include poison.h -fsyntax-only "$top"/lib/host/*.c || failed=1

# Those that a C library's own headers of POSIX include are its matter.
for source in $sources; do
    compile -H -c "$source" 2> messages || { cat messages; failed=1; }
    awk '/^\.+ / { print $2 }' messages | sort -u > headers
    ! grep -E '/(sys/(syscall|auxv|prctl|eventfd|epoll|random)|link|execinfo|malloc)\.h$' headers ||
        { echo "the headers above are included by $source"; failed=1; }
done

if command -v readelf > /dev/null; then
    # shellcheck disable=SC2086 # several words
    ${CC:-cc} -shared ./*.o -o plain.so -pthread || failed=1
    ! readelf -sW plain.so | grep -E \
        'UND (syscall|madvise|mincore|mremap|gettid|getauxval|prctl|eventfd|backtrace)(@|$)' ||
        { echo 'the functions above are called'; failed=1; }
    ! readelf -d plain.so | grep -q STATIC_TLS || { echo 'static thread-local storage'; failed=1; }
fi
exit "$failed"
