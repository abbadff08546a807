# SPDX-License-Identifier: BSD-2-Clause
# tests/planted/local.mk - whether the tests notice a small mistake, wherever it is.
#
# list.txt has every planted bug and tells which tests, models and scenarios find it.
#
#   make mutants    plants each in a copy of the library, and runs tests until one fails.
#                   MUTANTS='...' for some, and `original' for the library as it is.  Takes
#                   long, and is no part of make check
#
# make check holds each edit against the sources, and make check-all plants those of tests/sched/planted.sh
# and tests/weak/planted.sh.

MUTANTS =

mutants_environment = CC='$(CC)' CHECK_CFLAGS='$(CHECK_CFLAGS)' CHECK_LIBS='$(CHECK_LIBS)' \
	LIBS='$(ATOMIC_LIBS) $(PTHREAD_LIBS) $(LIBS)' srcdir='$(srcdir)' \
	TESTS='$(tests_public) $(tests_modules) $(tests_steps) $(tests_ext)'

mutants:
	@$(mutants_environment) $(SHELL) $(srcdir)/tests/planted/run.sh $(MUTANTS)

.PHONY: mutants
