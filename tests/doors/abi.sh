#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# abi.sh - compares the binary interface with that of the last release, by abidiff.
#
#   abi.sh           compares it with tests/doors/libcpool.abi, which each release writes
#   abi.sh --write   writes that file
#
# A change that breaks programs needs another library version (HACKING.md, Release).
# Any change of a type that programs see counts, but for growth at the end of a structure, or of an
# enumeration.  Where current - age has moved since the release, any change is allowed.
#
# srcdir: top of the source tree.  Runs in the top of a tree in which the library is built, with
# debugging information.  Exit status: 0, old programs work; 1, they do not; 77, skipped: nothing
# was released yet, or another machine wrote the file, or there is no abidiff.

set -u
top=$(cd "${srcdir:-.}" && pwd)
library=$(pwd)/lib/.libs/libcpool.so
written=tests/doors/libcpool.abi
skip() { echo "skipped: $*"; exit 77; }
fail() { echo "$*"; exit 1; }

if [ ! -e "$top/$written" ] && [ "${1:-}" != --write ]; then
    ! grep -qE '^[0-9.]+ \([0-9]' "$top/NEWS" ||
        fail "NEWS has the date of a release, but no release has written $written (make abi)"
    skip "nothing was released yet, so there is no $written"
fi
command -v abidiff > /dev/null || skip 'no abidiff (Debian: abigail-tools)'
[ -e "$library" ] || skip 'there is no shared library'
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# What programs see, without places in files.
abidw --exported-interfaces-only --headers-dir "$top/include" --drop-private-types --no-show-locs \
    --no-corpus-path --no-comp-dir-path --no-parameter-names --no-elf-needed "$library" \
    > "$work/now.abi" || fail 'abidw fails'
grep -q "<function-decl name='cpool_alloc'" "$work/now.abi" ||
    skip 'the library has no debugging information'
if [ "${1:-}" = --write ]; then
    cp "$work/now.abi" "$top/$written" || exit 1
    echo "$written: the interface of this library.  It belongs into EXTRA_DIST, and to the release"
    exit 0
fi
for name in architecture soname; do
    sed -n "s/^<abi-corpus .* $name='\([^']*\)'.*/\1/p" "$top/$written" > "$work/$name"
    sed -n "s/^<abi-corpus .* $name='\([^']*\)'.*/\1/p" "$work/now.abi" >> "$work/$name"
done
[ "$(uniq "$work/architecture" | wc -l)" -eq 1 ] || skip "$written is of another machine"
if [ "$(uniq "$work/soname" | wc -l)" -ne 1 ]; then
    echo "another library: nothing to compare"
    exit 0
fi

# Structures that programs cannot see.
{
    printf '[suppress_type]\n  name_regexp = ^cpi_\n'
    sed -n 's/^typedef struct \([a-z_]*\) [a-z_]*;$/\1/p' "$top"/include/*.h "$top"/include/*/*.h |
        while read -r name; do
            grep -q "^struct $name {" "$top"/include/*.h "$top"/include/*/*.h ||
                printf '[suppress_type]\n  type_kind = struct\n  name = %s\n' "$name"
        done
} > "$work/suppressions"
# Each type that has changed by itself, once.
abidiff --leaf-changes-only --no-added-syms --suppressions "$work/suppressions" \
    "$top/$written" "$work/now.abi" > "$work/changes"
status=$?
cat "$work/changes"
# Public structures that have grown at the end are served in both sizes (lib/base/structs.h).
# Anything else that has changed is not: an insertion elsewhere moves members.  abidiff itself
# takes a new constant at the end of an enumeration for harmless.
[ "$status" -eq 0 ] || { [ "$status" -eq 4 ] &&
    ! grep -v -E -e '^$' -e '^(Leaf|Changed leaf types) changes summary: |^Changed leaf types ' \
        -e 'functions summary: 0 Removed, 0 Changed' -e 'variables summary: 0 Removed, 0 Changed' \
        -e "^'struct cpool_[a-z_]*( at .*)?' changed:\$" -e '^ *type size changed from ' \
        -e '^ *[0-9]* data member insertions?:$' -e "^ *'.*', at offset [0-9]* " \
        "$work/changes"; } ||
    fail 'programs made for the last release may not work'
echo 'programs made for the last release work'
