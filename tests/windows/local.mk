# SPDX-License-Identifier: BSD-2-Clause
# tests/windows/local.mk - the library for 64-bit Windows, under Wine.
#
#   make check-windows   builds it with gcc and clang for mingw, and runs the tests, the stress
#                        and the demo.  WINDOWS_TESTS='public-check_alloc' for some,
#                        WINDOWS_PARTS='tests', WINDOWS_COMPILERS=gcc, WINDOWS_STRESS=220
#   make bench-windows   a typed pool and one by its handle beside the C runtime's malloc

EXTRA_DIST += bench/windows.c

WINDOWS_COMPILERS = gcc clang

# Exit status 77 says that a tool lacks: skipped, and no failure.
check-windows:
	@srcdir='$(srcdir)' $(SHELL) $(srcdir)/tests/windows/run.sh tests/windows/build \
		$(WINDOWS_COMPILERS) || test $$? -eq 77

bench-windows:
	@srcdir='$(srcdir)' WINDOWS_PARTS=figures $(SHELL) $(srcdir)/tests/windows/run.sh \
		tests/windows/build $(WINDOWS_COMPILERS) || test $$? -eq 77

clean-local: clean-windows

clean-windows:
	rm -rf tests/windows/build

.PHONY: check-windows bench-windows clean-windows
