# SPDX-License-Identifier: BSD-2-Clause
# tests/model/local.mk - the library's lock-free sources under a model checker.
#
#   make model           the models, on the sources as they are
#   make model-mutants   shows that the models notice when the sources are wrong
#
# Both need GenMC, a program of its own: the one in the path, or GENMC=... .  Where
# there is none they say so and check nothing.  doc/TESTING.md describes them.

GENMC = genmc

# All but empty_run, empty_swap, retire_asked, retire_dry, retire_open and wait_serve,
# which are too long for GenMC.
model_names = \
	cache_edge cache_exchange cache_offer cache_steal \
	depot_empty depot_exchange depot_flights depot_partial depot_slots \
	empty_drain empty_flush empty_frame empty_fresh empty_loaded empty_spare \
	empty_refill empty_partial empty_steal \
	extent_commit recall_barrier recall_barrier_reopen recall_inline \
	recall_loaded recall_reopen recall_short \
	retire_parked retire_sections retire_symmetric \
	slab_bump slab_lower slot_word \
	stack_aba stack_handoff stack_own

EXTRA_DIST += \
	tests/model/absent.h tests/model/barrier.h tests/model/caches.h tests/model/cas.h tests/model/model.h \
	tests/model/stack.h tests/model/store.h tests/model/stealers.h \
	tests/model/cache_edge.c tests/model/cache_exchange.c tests/model/cache_offer.c \
	tests/model/cache_steal.c \
	tests/model/depot_empty.c tests/model/depot_exchange.c tests/model/depot_flights.c \
	tests/model/depot_partial.c tests/model/depot_slots.c \
	tests/model/empty_drain.c tests/model/empty_flush.c tests/model/empty_frame.c \
	tests/model/empty_spare.c \
	tests/model/empty_fresh.c tests/model/empty_loaded.c \
	tests/model/empty_refill.c tests/model/empty_partial.c \
	tests/model/empty_run.c tests/model/empty_steal.c tests/model/empty_swap.c \
	tests/model/extent_commit.c tests/model/pool.h \
	tests/model/recall_barrier.c tests/model/recall_barrier_reopen.c \
	tests/model/recall_inline.c tests/model/recall_loaded.c tests/model/recall_reopen.c \
	tests/model/recall_short.c \
	tests/model/retire_asked.c tests/model/retire_dry.c tests/model/retire_open.c \
	tests/model/retire_parked.c tests/model/retire_sections.c tests/model/retire_symmetric.c \
	tests/model/slab_bump.c tests/model/slab_lower.c tests/model/slot_word.c \
	tests/model/stack_aba.c tests/model/stack_handoff.c tests/model/stack_own.c \
	tests/model/wait_serve.c \
	tests/model/wait_serve_symmetric.c \
	tests/model/run.sh

# Exit status 77 says that there is no checker: skipped, and no failure.
model:
	@GENMC='$(GENMC)' $(SHELL) $(srcdir)/tests/model/run.sh \
		$(srcdir)/lib $(model_names) || test $$? -eq 77

model-mutants:
	@GENMC='$(GENMC)' $(SHELL) $(srcdir)/tests/planted/models.sh \
		$(srcdir)/lib || test $$? -eq 77

.PHONY: model model-mutants
