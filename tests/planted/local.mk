# SPDX-License-Identifier: BSD-2-Clause
# tests/planted/local.mk - whether the tests notice a small mistake, wherever it is.
#
# list.txt has every planted bug and tells which tests, models and scenarios find it.
#
#   make mutants    plants each in a copy of the library, and runs tests until one fails.
#                   MUTANTS='...' for some, and `original' for the library as it is.  Takes
#                   long, and is no part of make check.  doc/MUTANTS.md has the last output
#   make generated-mutants   the same for mistakes made by a script, one of each comparison,
#                   memory order and statement of the lock-free files: GENERATED='recall.c'
#                   for some files, GENERATED_SHARE=20 for one bug in twenty, MUTANTS_OTHERS=
#                   for the tests alone that belong to the file.  doc/GENERATED.md has the
#                   verdicts
#
# make check holds each edit against the sources, and plants those of tests/sched/planted.sh,
# tests/linear/planted.sh and tests/weak/planted.sh.

EXTRA_DIST += doc/GENERATED.md doc/MUTANTS.md tests/planted/build.sh tests/planted/generate.awk \
	tests/planted/generated.sh tests/planted/list.txt \
	tests/planted/models.sh tests/planted/plant.sh tests/planted/run.sh

MUTANTS =
GENERATED =
GENERATED_SHARE = 1
GENERATED_FIRST = 1

mutants_environment = CC='$(CC)' CHECK_CFLAGS='$(CHECK_CFLAGS)' CHECK_LIBS='$(CHECK_LIBS)' \
	LIBS='$(ATOMIC_LIBS) $(PTHREAD_LIBS) $(LIBS)' srcdir='$(srcdir)' \
	TESTS='$(tests_public) $(tests_modules) $(tests_steps)'

mutants:
	@$(mutants_environment) $(SHELL) $(srcdir)/tests/planted/run.sh $(MUTANTS)

generated-mutants:
	@$(mutants_environment) GENERATED_SHARE='$(GENERATED_SHARE)' \
		GENERATED_FIRST='$(GENERATED_FIRST)' \
		$(SHELL) $(srcdir)/tests/planted/generated.sh $(GENERATED)

.PHONY: mutants generated-mutants
