#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# debian.sh - builds Debian's packages from a copy of a release, without their tests, and
# holds them against lintian where there is one.
#
#   debian.sh ARCHIVE     libcpool-VERSION.tar.gz, as `make dist` leaves it
#
# Exit status: 0, they are built, and lintian has neither an error nor a warning; 1, they
# are not; 77, skipped for lack of a tool.

set -u
archive=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
for tool in dpkg-buildpackage dh mandoc; do
    command -v "$tool" > /dev/null || { echo "skipped: no $tool (Debian: debhelper, mandoc)"; exit 77; }
done
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
tar -xzf "$archive" || exit 1
cd libcpool-* || exit 1
# As a clone has it.
rm -f configure Makefile.in aclocal.m4 config.h.in
DEB_BUILD_OPTIONS=nocheck dpkg-buildpackage -us -uc -d > "$work/log" 2>&1 || {
    tail -n 40 "$work/log"
    echo 'dpkg-buildpackage fails'
    exit 1
}
cd ..
for package in libcpool0 libcpool-dev libcpool-malloc libcpool-doc; do
    ls "${package}"_*.deb || { echo "no $package was built"; exit 1; }
done
for file in 'libcpool0 libcpool.so.0' 'libcpool-dev include/cpool.h' 'libcpool-dev libcpool.a' \
    'libcpool-dev cpool-config.cmake' 'libcpool-dev man3/cpool_alloc.3.gz' \
    'libcpool-malloc libcpool/libcpool-malloc.so' \
    'libcpool-doc html/cpool_alloc.3.html'; do
    dpkg-deb -c "${file% *}"_*.deb > contents
    grep -qF "${file#* }" contents || { echo "missing: $file"; exit 1; }
done
# gdb's script has the path of the library in gdb's own folder.
object=$(dpkg-deb -c libcpool0_*.deb | sed -n 's,.* \./\(usr/lib/.*/libcpool\.so\.[0-9.]*[0-9]\)$,\1,p')
dpkg-deb -c libcpool-dev_*.deb > contents
grep -qF " ./usr/share/gdb/auto-load/$object-gdb.py" contents || {
    echo "no script for gdb with $object"
    exit 1
}
if command -v lintian > /dev/null; then
    lintian --allow-root --fail-on error,warning ./*.changes || { echo 'lintian complains'; exit 1; }
else
    echo 'left out: no lintian'
fi
echo 'four packages'
