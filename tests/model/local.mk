# SPDX-License-Identifier: BSD-2-Clause
# tests/model/local.mk - the library's lock-free sources under a model checker.
#
#   make model           the models, on the sources as they are
#   make model-mutants   shows that the models notice when the sources are wrong
#
# Both need GenMC, a program of its own: the one in the path, or GENMC=... .  Where
# there is none they say so and check nothing.  doc/TESTING.md describes them.
#
# protocol/ is a model of its own, of the protocol by which entries are closed and opened, with its
# own explorer.  `make check` compiles and runs it.

GENMC = genmc

# The models, and those that are too long for GenMC.
model_names = \
	cache_exchange cache_offer cache_steal \
	depot_empty depot_exchange depot_flights depot_partial depot_slots \
	empty_closed empty_drain empty_frame empty_loaded \
	empty_partial empty_refill empty_register empty_spare empty_steal empty_twice empty_uncached \
	extent_commit \
	reclaim_again reclaim_again_fenceless reclaim_fenceless reclaim_hidden reclaim_loaded \
	reclaim_opens reclaim_swap reclaim_swap_fenceless \
	retire_offline retire_sections retire_symmetric \
	slab_bump slab_lower slot_word \
	stack_aba stack_handoff stack_own

model_long = cache_edge empty_swap empty_swap_fenceless \
	reclaim_two reclaim_two_fenceless rest_await rest_near rest_uncached \
	retire_asked retire_dry retire_open \
	wait_closed wait_closed_fenceless wait_dry wait_dry_fenceless wait_free wait_free_fenceless \
	wait_register wait_register_fenceless

TESTS += tests/model/protocol/run.sh

# Exit status 77 says that there is no checker: skipped, and no failure.
model:
	@GENMC='$(GENMC)' $(SHELL) $(srcdir)/tests/model/run.sh \
		$(srcdir)/lib $(model_names) || test $$? -eq 77

model-mutants:
	@GENMC='$(GENMC)' $(SHELL) $(srcdir)/tests/planted/models.sh \
		$(srcdir)/lib || test $$? -eq 77

.PHONY: model model-mutants
