# SPDX-License-Identifier: BSD-2-Clause
# tests/machines/local.mk - the unit tests on other machines, and on this one
# with something missing.
#
#   make check-aarch64    64-bit ARM, emulated: each way of compiling atomics,
#                         the instructions of each order, stress
#   make check-s390x      big-endian, emulated
#   make check-armhf      32-bit ARM, emulated
#   make check-i386       32-bit x86, emulated where the kernel does not run it
#   make check-musl       the musl C library
#   make check-without    no membarrier, no transparent huge pages, no mmap with
#                         MAP_NORESERVE
#   make check-machines   all of these
#
# Each needs tools that `./bootstrap --install-cross` installs.  Where one lacks the
# target says "skipped: no ..."  and checks nothing.  Their last results are in
# doc/PORTING.md.  Everything lies below tests/machines/build.

# Of the stress on each machine that has one.
MACHINES_SECONDS = 20
# Of the machine's ways of compiling, or of the features to do without, those to
# try.  Empty: all.
MACHINES_VARIANTS =
# Check's sources, as released, from which check-musl builds its own.
MUSL_CHECK = /usr/local/src/libcpool-check/check_*.orig.tar.gz

machines_targets = check-aarch64 check-s390x check-armhf check-i386 check-musl check-without

EXTRA_DIST += doc/PORTING.md

# Built when check-without wants it.
EXTRA_PROGRAMS += tests/machines/without
tests_machines_without_SOURCES = tests/machines/without.c
CLEANFILES += tests/machines/without$(EXEEXT)

# Exit status 77 says that a tool lacks: skipped, and no failure.
$(machines_targets): config.status tests/harness/limit$(EXEEXT)
	@machine=`echo $@ | sed 's/^check-//'`; \
	MAKE='$(MAKE)' MACHINES_LIMIT="`pwd`/tests/harness/limit$(EXEEXT)" MACHINES_SECONDS='$(MACHINES_SECONDS)' \
	MACHINES_VARIANTS='$(MACHINES_VARIANTS)' MUSL_CHECK='$(MUSL_CHECK)' \
	$(SHELL) $(srcdir)/tests/machines/check.sh $$machine $(srcdir) tests/machines/build \
		|| test $$? -eq 77

check-machines: $(machines_targets)

clean-local:
	rm -rf tests/machines/build

.PHONY: $(machines_targets) check-machines
