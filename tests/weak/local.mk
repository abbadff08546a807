# SPDX-License-Identifier: BSD-2-Clause
# tests/weak/local.mk - the models of tests/model under an explorer of C11's weak
# memory, which needs nothing but a compiler that knows -fsanitize=thread.
#
#   make check           the explorer's own tests, and all models, shorter
#   make check-all       all models and all mutants
#   make weak            the models alone: WEAK_EXECUTIONS of each, from WEAK_SEED
#   make weak-mutants    the mutants alone
#
# A failure is repeated, step by step, by
#
#   make weak WEAK_MODELS=name WEAK_REPLAY=seed
#
# The scripts compile it all themselves: with the compiler's instrumentation and
# without the sanitizer that belongs to it.

WEAK_EXECUTIONS = 20000
WEAK_SEED = 1
WEAK_MODELS =
WEAK_REPLAY =

# models.sh begins before all others (Makefile.am).
TESTS += tests/weak/selftest.sh

weak_environment = srcdir='$(srcdir)' CC='$(CC)' WEAK_SEED='$(WEAK_SEED)' \
	WEAK_EXECUTIONS='$(WEAK_EXECUTIONS)' WEAK_MODELS='$(WEAK_MODELS)' \
	WEAK_REPLAY='$(WEAK_REPLAY)'

# Exit status 77 says that the compiler lacks something: skipped, and no failure.
weak:
	@$(weak_environment) $(SHELL) $(srcdir)/tests/weak/models.sh || test $$? -eq 77

weak-mutants:
	@$(weak_environment) $(SHELL) $(srcdir)/tests/weak/planted.sh || test $$? -eq 77

.PHONY: weak weak-mutants
