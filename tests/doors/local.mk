# SPDX-License-Identifier: BSD-2-Clause
# tests/doors/local.mk - every way in which a program gets at the library.
#
#   make check-doors     tries each in an empty folder: README's code, copied sources, two files,
#                        inside other objects, pkg-config, CMake and Meson.  DOORS='...' for some
#   make check-amalgamation   all tests of the public interface with the library as two
#                        files.  `make check` runs a few
#   make check-debian    builds Debian's packages, and holds them against lintian
#   make check-abi       compares the binary interface with that of the last release, which `make abi`
#                        has written

DOORS =

# Of Debian's packages.
EXTRA_DIST += debian/changelog debian/control debian/copyright debian/rules \
	debian/libcpool-dev.install debian/libcpool-doc.doc-base debian/libcpool-doc.docs \
	debian/libcpool-doc.examples debian/libcpool-malloc.install debian/libcpool0.install debian/libcpool0.symbols \
	debian/source/format tests/doors/libcpool.abi

check_DATA = amalgamation/cpool.c $(amalgamation_rest)
TESTS += tests/doors/amalgamated.sh

check-doors: all amalgamation
	@srcdir='$(srcdir)' CC='$(CC)' CXX='$(tests_cxx)' MAKE='$(MAKE)' \
		$(SHELL) $(srcdir)/tests/doors/run.sh $(DOORS) || test $$? -eq 77

# Those that need the library as a shared object, or libraries of ext/, are left out.
amalgamated_tests = $(filter-out $(tests_public_ext) tests/public/check_copies tests/public/check_dlopen, \
	$(tests_public))

check-amalgamation: amalgamation
	@srcdir='$(srcdir)' CC='$(CC)' CHECK_CFLAGS='$(CHECK_CFLAGS)' CHECK_LIBS='$(CHECK_LIBS)' \
		ATOMIC_LIBS='$(ATOMIC_LIBS)' $(SHELL) $(srcdir)/tests/doors/amalgamated.sh \
		$(amalgamated_tests) || test $$? -eq 77

check-debian: dist
	@$(SHELL) $(srcdir)/tests/doors/debian.sh $(DIST_ARCHIVES) || test $$? -eq 77

check-abi: all
	@srcdir='$(srcdir)' $(SHELL) $(srcdir)/tests/doors/abi.sh || test $$? -eq 77

abi: all
	@srcdir='$(srcdir)' $(SHELL) $(srcdir)/tests/doors/abi.sh --write

.PHONY: check-doors check-amalgamation check-debian check-abi abi
