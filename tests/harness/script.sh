# SPDX-License-Identifier: BSD-2-Clause
# script.sh - what the scripts of tests/scripts begin with.  They read it.
#
# From make they have srcdir, the top of the source tree, and CC, CXX and NM, the configured ones.
# They run in the top of the build tree.  Here they get top, which is srcdir, a folder work, which
# goes when they end, and the exit status, which is 1 after a complaint.

set -u
top=${srcdir:-.}
status=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

complain() {
    echo "$*"
    status=1
}

# A test that has failed already is not skipped.
skip() {
    [ "$status" -eq 0 ] || exit 1
    echo "skipped: $*"
    exit 77
}

# The library to link with.
library=lib/.libs/libcpool.so
[ -e "$library" ] || library=lib/.libs/libcpool.a

# What a sanitizer adds is not for every test.
skip_without_plain_library() {
    [ -e "$library" ] || skip 'there is no library to link'
    ! nm "$library" 2> /dev/null | grep -q '__[amt]san_init' ||
        skip 'the library is built for a sanitizer'
}
