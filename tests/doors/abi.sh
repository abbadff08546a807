#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# abi.sh - compares the binary interface with that of the last release, by abidiff.
#
# A change that breaks programs needs another library version (HACKING.md, Release).
# Any change of a type that programs see counts, but for growth at the end of a structure.
# Where current - age has moved since the tag, any change is allowed.
#
# srcdir: top of the source tree, a clone.  MAKE.  Runs in the top of a tree in which the
# library is built, with debugging information.  Exit status: 0, old programs work; 1,
# they do not; 77, skipped: there is no tag, or no abidiff.

set -u
top=$(cd "${srcdir:-.}" && pwd)
built=$(pwd)
skip() { echo "skipped: $*"; exit 77; }
command -v abidiff > /dev/null || skip 'no abidiff (Debian: abigail-tools)'
tag=$(git -C "$top" describe --tags --abbrev=0 --match 'v[0-9]*' 2> /dev/null) ||
    skip 'there is no tag of a release yet'
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# The number in the library's name: current - age.
number() {
    sed -n 's/^m4_define(.cpool_library_version., .\([0-9:]*\).)$/\1/p' "$1/configure.ac" |
        awk -F: '{ print $1 - $3 }'
}

mkdir "$work/old" && git -C "$top" archive "$tag" | tar -x -C "$work/old" || exit 1
if [ "$(number "$work/old")" != "$(number "$top")" ]; then
    echo "another library than at $tag: nothing to compare"
    exit 0
fi
(cd "$work/old" && ./bootstrap && ./configure --without-check --without-ck --without-dpdk &&
    ${MAKE:-make} lib/libcpool.la) > "$work/log" 2>&1 || {
    tail -n 20 "$work/log"
    echo "$tag cannot be built"
    exit 1
}
# Structures that programs cannot see.
{
    printf '[suppress_type]\n  type_kind = struct\n  name_regexp = ^cpi_\n'
    sed -n 's/^typedef struct \([a-z_]*\) [a-z_]*;$/\1/p' "$top"/include/*.h "$top"/include/*/*.h |
        while read -r name; do
            grep -q "^struct $name {" "$top"/include/*.h "$top"/include/*/*.h ||
                printf '[suppress_type]\n  type_kind = struct\n  name = %s\n' "$name"
        done
} > "$work/suppressions"
# Each type that has changed by itself, once.
abidiff --leaf-changes-only --no-added-syms --suppressions "$work/suppressions" \
    "$work/old/lib/.libs/libcpool.so" "$built/lib/.libs/libcpool.so" > "$work/changes"
status=$?
cat "$work/changes"
# Public structures that have grown at the end are served in both sizes (lib/base/structs.h).
# Anything else that has changed is not: an insertion elsewhere moves members.
[ "$status" -eq 0 ] || { [ "$status" -eq 4 ] &&
    ! grep -v -E -e '^$' -e '^(Leaf|Changed leaf types) changes summary: |^Changed leaf types ' \
        -e 'functions summary: 0 Removed, 0 Changed' -e 'variables summary: 0 Removed, 0 Changed' \
        -e "^'struct cpool_[a-z_]* at .*' changed:\$" -e '^ *type size changed from ' \
        -e '^ *[0-9]* data member insertions?:$' -e "^ *'.*', at offset [0-9]* " "$work/changes"; } || {
    echo "programs made for $tag may not work"
    exit 1
}
echo "programs made for $tag work"
