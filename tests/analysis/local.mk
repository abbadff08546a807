# SPDX-License-Identifier: BSD-2-Clause
# tests/analysis/local.mk - other programs' opinions of the sources.  Each takes minutes.
#
#   make analyze          gcc -fanalyzer, clang-tidy and cppcheck on lib/, as far as found
#   make check-valgrind   the unit tests under Memcheck, VALGRIND_TESTS='...' for some
#   make coverage         lines and branches of lib/ that the unit tests reach, by lcov

analysis_flags = -D_GNU_SOURCE $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS)

analyze: config.h
	@CC='$(CC)' $(SHELL) $(srcdir)/tests/analysis/analyze.sh '$(srcdir)' $(analysis_flags)

VALGRIND_TESTS = $(tests_public) $(tests_modules) $(tests_ext)

check-valgrind: all $(check_LIBRARIES) $(check_LTLIBRARIES)
	@$(MAKE) $(AM_MAKEFLAGS) $(VALGRIND_TESTS)
	@srcdir='$(srcdir)' $(SHELL) $(srcdir)/tests/analysis/valgrind.sh $(VALGRIND_TESTS)

coverage:
	@MAKE='$(MAKE)' CC='$(CC)' $(SHELL) $(srcdir)/tests/analysis/coverage.sh '$(abs_srcdir)' \
		$(tests_public) $(tests_modules) $(tests_steps) $(tests_ext)

.PHONY: analyze check-valgrind coverage
