# SPDX-License-Identifier: BSD-2-Clause
# tests/windows/local.mk - the library for 64-bit Windows, under Wine.
#
#   make check-windows   builds it with gcc and clang for mingw, and runs the tests.
#                        WINDOWS_TESTS='public-check_alloc' for some, WINDOWS_COMPILERS=gcc

EXTRA_DIST += tests/windows/check.h tests/windows/check_ends.c tests/windows/dlfcn.h \
	tests/windows/left-out.txt tests/windows/run.sh tests/windows/support.c \
	tests/windows/sys/wait.h

WINDOWS_COMPILERS = gcc clang

# Exit status 77 says that a tool lacks: skipped, and no failure.
check-windows:
	@srcdir='$(srcdir)' $(SHELL) $(srcdir)/tests/windows/run.sh tests/windows/build \
		$(WINDOWS_COMPILERS) || test $$? -eq 77

clean-local: clean-windows

clean-windows:
	rm -rf tests/windows/build

.PHONY: check-windows clean-windows
