#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# check.sh - builds the library for another machine and runs its unit tests there,
# or runs those of this build with a feature of the system missing.
#
#   check.sh MACHINE SOURCE_DIR WORK
#
# MACHINE      aarch64, s390x, armhf, i386, musl or without
# SOURCE_DIR   top of the source tree
# WORK         folder for all that is made
#
# Runs in the top of a configured tree.  A machine's tree is configured from a
# copy of what a release archive would hold, so that it does not matter whether
# the sources were configured in place.
#
# Environment (local.mk):
#   MAKE
#   MACHINES_LIMIT      this machine's tests/harness/limit
#   MACHINES_SECONDS    of stress
#   MACHINES_VARIANTS   to try some only
#   MUSL_CHECK          the sources of Check
#
# Exit status: 0, all is well; 1, something failed; 77, skipped for lack of a tool.

set -eu

machine=$1
source_dir=$(cd "$2" && pwd)
mkdir -p "$3"
work=$(cd "$3" && pwd)
here=$source_dir/tests/machines
make=${MAKE:-make}
failed=0
# Emulators are slow: less of what is done thousands of times.
export CPOOL_TEST_QUICK=1
# Where the sources are the top of a clone, git is to see nothing of this.
echo '*' >"$work/.gitignore"

say() { printf '%s: %s\n' "$machine" "$*"; }

skip() {
    say "skipped: no $*"
    exit 77
}

# quietly NAME COMMAND... - its output goes to a file, and is shown if it fails.
quietly() {
    log=$work/$1.log
    shift
    "$@" >"$log" 2>&1 || {
        status=$?
        tail -n 40 "$log"
        say "failed with status $status: $* (all of its output: $log)"
        exit 1
    }
}

# ---- The machines --------------------------------------------------------------

# An emulator's name, or that of the same without shared libraries.
emulator() {
    command -v "$1" || command -v "$1-static" ||
        { say "skipped: no $1 (Debian: qemu-user)" >&2; return 77; }
}

# The parts of each machine:
#   triplet    its name for configure, with its compiler called after it
#   libraries  its folder of libraries, with Check in it, and its Debian name
#   launch     the command that starts its programs
#   traits     the words for known.txt
#   variants   ways of compiling for it
describe() {
    variants=plain
    traits=emulated
    case $machine in
    aarch64)
        triplet=aarch64-linux-gnu libraries=aarch64-linux-gnu debian=arm64
        launch=$(emulator qemu-aarch64)
        variants='llsc lse outline'
        ;;
    s390x)
        triplet=s390x-linux-gnu libraries=s390x-linux-gnu debian=s390x
        launch=$(emulator qemu-s390x)
        traits='emulated'
        ;;
    armhf)
        triplet=arm-linux-gnueabihf libraries=arm-linux-gnueabihf debian=armhf
        launch=$(emulator qemu-arm)
        traits='emulated 32-bit'
        ;;
    i386)
        triplet=i686-linux-gnu libraries=i386-linux-gnu debian=i386
        launch='' traits='32-bit'
        ;;
    musl)
        triplet='' libraries='' debian=''
        launch='' traits=musl
        ;;
    *)
        echo "check.sh: no such machine: $machine" >&2
        exit 2
        ;;
    esac
    variants=${MACHINES_VARIANTS:-$variants}
}

# Compiler options of a variant.
variant_flags() {
    case $1 in
    plain) [ "$machine" != musl ] || echo "-idirafter $work/musl-headers" ;;
    llsc) echo '-march=armv8-a -mno-outline-atomics' ;; # load-acquire and store-exclusive in a loop
    lse) echo '-march=armv8.1-a' ;;                     # one instruction
    outline) echo '-march=armv8-a -moutline-atomics' ;; # whichever the processor has
    *)
        echo "check.sh: no such variant: $1" >&2
        exit 2
        ;;
    esac
}

# A program of the machine's, to see whether it can be run at all.  Machines may be
# checked at the same time in one folder, so each has its own.
runs_here() {
    probe=$work/probe-$machine
    echo 'int main(void) { return 0; }' >"$probe.c"
    # shellcheck disable=SC2086 # several words
    $CC "$probe.c" -o "$probe" && $launch "$probe"
}

require_tools() {
    CC=$triplet-gcc
    [ "$machine" != musl ] || CC=musl-gcc
    command -v "$CC" >/dev/null || skip "$CC (./bootstrap --install-cross)"
    if [ "$machine" != musl ]; then
        PKG_CONFIG_LIBDIR=/usr/lib/$libraries/pkgconfig:/usr/share/pkgconfig
        export PKG_CONFIG_LIBDIR
        pkg-config --exists check ||
            skip "Check for $machine (Debian: check:$debian; ./bootstrap --install-cross)"
    fi
    if ! runs_here 2>/dev/null; then
        [ "$machine" = i386 ] || skip "way to run programs of $machine here"
        launch=$(emulator qemu-i386) traits='emulated 32-bit'
        runs_here || skip "way to run programs of $machine here"
    fi
    say "$($CC --version | head -n 1)"
    # shellcheck disable=SC2086
    [ -z "$launch" ] || say "$($launch --version | head -n 1)"
}

# ---- Building ------------------------------------------------------------------

# The files of a release archive.  Times are kept, so files made from it before are made
# again only as far as it has changed.
copy_sources() {
    say "copying the sources"
    rm -rf "$work/source-$machine"
    quietly "$machine-copy" $make distdir distdir="$work/source-$machine" \
        top_distdir="$work/source-$machine"
    chmod -R u+w "$work/source-$machine"
}

# The kernel's headers, which are for every C library: Debian has them for its own.
link_kernel_headers() {
    mkdir -p "$work/musl-headers"
    ln -sfn /usr/include/linux "$work/musl-headers/linux"
    ln -sfn /usr/include/asm-generic "$work/musl-headers/asm-generic"
    ln -sfn "/usr/include/$(cc -print-multiarch)/asm" "$work/musl-headers/asm"
}

# Debian has no Check for musl: builds one from its sources, once.
build_check_for_musl() {
    # shellcheck disable=SC2012,SC2086 # a pattern, of names that Debian gave
    archive=$(ls ${MUSL_CHECK:-} 2>/dev/null | tail -n 1)
    [ -n "$archive" ] || return 1
    prefix=$work/musl-check
    if [ ! -f "$prefix/lib/libcheck.a" ]; then
        say "building Check from $archive"
        rm -rf "$prefix"
        mkdir -p "$prefix/source"
        tar -xf "$archive" --strip-components=1 -C "$prefix/source"
        (
            cd "$prefix/source"
            quietly musl-check ./configure CC="$CC" --disable-shared --disable-subunit \
                --disable-timeout-tests --prefix="$prefix"
            quietly musl-check-lib $make -C lib
            quietly musl-check-src $make -C src install
        ) || exit 1
    fi
}

# configure_for BUILD FLAGS OPTION...
configure_for() {
    build=$1 flags=$2
    shift 2
    mkdir -p "$build"
    if [ -f "$build/config.status" ] &&
        [ -z "$(find "$work/source-$machine/configure" -newer "$build/config.status")" ]; then
        return
    fi
    (
        cd "$build"
        [ -z "$triplet" ] || set -- --host="$triplet" "$@"
        # The compiler of musl would take the libraries of the other C library.
        [ "$machine" != musl ] || set -- --without-png --without-uring "$@"
        # No C++ here: nothing of the library is written in it.
        quietly "${build##*/}-configure" "$work/source-$machine/configure" CC="$CC" \
            CFLAGS="-O2 -g $flags" CXX=false --without-ck "$@"
    )
}

child() { $make --no-print-directory -f "$here/child.mk" "$@"; }

# A 64-bit compare-and-swap that is a call may be a lock: a pool shared with a
# signal handler would deadlock.
require_no_calls_for_atomics() {
    calls=$(nm -uD lib/.libs/libcpool.so | sed -n 's/^ *U \(__atomic_[a-z0-9_]*\).*/\1/p')
    if [ -n "$calls" ]; then
        say "FAILED: atomic operations are calls: $calls"
        failed=1
    else
        say "no atomic operation is a call of another library"
    fi
}

# ---- Running -------------------------------------------------------------------

# unit_tests RESULTS LAUNCH - in the top of a built tree
unit_tests() {
    tests=$(child -s machines-list-tests)
    if [ -z "$tests" ]; then
        say "skipped: no unit tests: $3"
        return
    fi
    # shellcheck disable=SC2086 # several words
    MACHINES_LAUNCH=$2 MACHINES_TRAITS=$traits sh "$here/run.sh" "$1" $tests || failed=1
}

# Each has to end well.  make check looks at their output.
examples() {
    for program in $(child -s machines-list-examples); do
        # shellcheck disable=SC2086
        if ./libtool --mode=execute $launch "$program" >example.log 2>&1; then
            say "$program works"
        else
            cat example.log
            say "FAILED: $program"
            failed=1
        fi
    done
}

# The modes of the stress, with commas.  An emulator does not bear that processes
# with busy threads fork again and again: it ends by assertions of its own.
stress_modes() {
    # shellcheck disable=SC2086
    names=$($launch stress/machine-stress --list | cut -d ' ' -f 1)
    case $traits in
    emulated*)
        say "SKIP: stress mode fork: the emulator fails by assertions of its own" >&2
        names=$(echo "$names" | grep -vx fork)
        ;;
    esac
    echo "$names" | paste -s -d , -
}

stress() {
    seconds=${MACHINES_SECONDS:-20}
    [ "$seconds" -gt 0 ] || return 0
    quietly "$machine-stress" child -s machines-stress
    modes=$(stress_modes)
    say "stress, $seconds s"
    # shellcheck disable=SC2086 # several words
    if ! ${MACHINES_LIMIT:+$MACHINES_LIMIT -a "$seconds"} $launch stress/machine-stress \
        --seconds "$seconds" --threads 4 --mode "$modes" --quiet; then
        say "FAILED: stress"
        failed=1
    fi
}

check_variant() {
    variant=$1
    shift
    build=$work/$machine-$variant
    say "building, $variant"
    configure_for "$build" "$(variant_flags "$variant")" "$@"
    cd "$build"
    quietly "$machine-$variant-library" child machines-library
    quietly "$machine-$variant-build" child machines-build
    require_no_calls_for_atomics
    say "unit tests, $variant"
    unit_tests results "$launch" "Check was not found"
    examples
    stress
    cd "$work"
}

check_machine() {
    describe
    require_tools
    set --
    if [ "$machine" = musl ]; then
        link_kernel_headers
        if build_check_for_musl; then
            set -- CHECK_CFLAGS="-I$work/musl-check/include -I$work/musl-check/source" \
                CHECK_LIBS="-L$work/musl-check/lib -lcheck"
        else
            say "skipped: no unit tests: no sources of Check at $MUSL_CHECK" \
                "(./bootstrap --install-cross)"
            set -- --without-check
        fi
    fi
    copy_sources
    for one in $variants; do
        check_variant "$one" "$@"
    done
}

without_feature() {
    if "$launcher" "$1" true 2>"$work/without-$1.log"; then
        say "unit tests, no $1"
        traits=without-$1
        unit_tests "$work/without-$1" "$launcher $1" "Check was not used"
    else
        say "no $1: $(cat "$work/without-$1.log")"
    fi
    return "$failed"
}

# In the tree where this was started, as it is configured.  Tests wait more than they compute,
# so all features are missed at once.
check_without() {
    launcher=tests/machines/without
    quietly without-build child machines-build $launcher
    begun=
    for feature in ${MACHINES_VARIANTS:-membarrier thp noreserve}; do
        without_feature "$feature" >"$work/without-$feature.out" 2>&1 &
        begun="$begun $feature:$!"
    done
    for one in $begun; do
        wait "${one#*:}" || failed=1
        cat "$work/without-${one%:*}.out"
    done
}

if [ "$machine" = without ]; then
    check_without
else
    check_machine
fi
if [ "$failed" -ne 0 ]; then
    say "FAILED"
    exit 1
fi
say "all is well"
