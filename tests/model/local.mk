# SPDX-License-Identifier: BSD-2-Clause
# tests/model/local.mk - the library's lock-free sources under a model checker.
#
#   make model           the models, on the sources as they are
#   make model-mutants   shows that the models notice when the sources are wrong
#
# Both need GenMC, a program of its own: the one in the path, or GENMC=... .  Where
# there is none they say so and check nothing.  doc/TESTING.md describes them.

GENMC = genmc

# The models, and those that are too long for GenMC.
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

model_long = empty_run empty_swap retire_asked retire_dry retire_open wait_serve wait_serve_symmetric

EXTRA_DIST += \
	tests/model/absent.h tests/model/barrier.h tests/model/caches.h tests/model/cas.h tests/model/model.h \
	tests/model/pool.h tests/model/run.sh tests/model/stack.h tests/model/store.h tests/model/stealers.h \
	$(patsubst %,tests/model/%.c,$(model_names) $(model_long))

# Exit status 77 says that there is no checker: skipped, and no failure.
model:
	@GENMC='$(GENMC)' $(SHELL) $(srcdir)/tests/model/run.sh \
		$(srcdir)/lib $(model_names) || test $$? -eq 77

model-mutants:
	@GENMC='$(GENMC)' $(SHELL) $(srcdir)/tests/planted/models.sh \
		$(srcdir)/lib || test $$? -eq 77

.PHONY: model model-mutants
