# SPDX-License-Identifier: BSD-2-Clause
# tests/mutants/local.mk - whether the tests notice a small mistake, wherever it is.
#
#   make mutants    plants each of list.txt in a copy of the library, and runs tests
#                   until one fails.  MUTANTS='...' for some, and `original' for the
#                   library as it is.  Takes long, and is no part of make check.
#                   doc/MUTANTS.md has the last output.

EXTRA_DIST += doc/MUTANTS.md tests/mutants/list.txt tests/mutants/run.sh

MUTANTS =

mutants:
	@CC='$(CC)' CHECK_CFLAGS='$(CHECK_CFLAGS)' CHECK_LIBS='$(CHECK_LIBS)' \
		LIBS='$(ATOMIC_LIBS) $(PTHREAD_LIBS) $(LIBS)' srcdir='$(srcdir)' \
		TESTS='$(tests_public) $(tests_modules) $(tests_steps)' $(SHELL) $(srcdir)/tests/mutants/run.sh $(MUTANTS)

.PHONY: mutants
