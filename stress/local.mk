# SPDX-License-Identifier: BSD-2-Clause
# stress/local.mk - the stress program.
#
#   make stress           under ThreadSanitizer, without suppressions
#   make stress-barrier   the same, in the forms with the kernel's barrier
#   make stress-asan      under AddressSanitizer and UndefinedBehaviorSanitizer
#   make stress-native    plain and optimised
#   make stress-planted   shows that the stress finds planted bugs
#
# Each builds its own copy of the library with its own flags, from any
# configured tree, so that nothing has to be configured anew.

STRESS_SECONDS = 60
# Empty: twice the processors, and from the clock.
STRESS_THREADS =
STRESS_SEED =
STRESS_MODE = all
# How often each planted bug is to be found.  Empty: as planted.sh says.
STRESS_REPEATS =

stress_sources = \
	stress/arena.c stress/arena.h stress/board.h stress/build.h \
	stress/disturb.c stress/disturb.h stress/main.c \
	stress/mode_bound.c stress/mode_bulk.c stress/mode_caches.c stress/mode_churn.c \
	stress/mode_depot.c stress/mode_fork.c stress/mode_frame.c stress/mode_full.c \
	stress/mode_handoff.c stress/mode_lanes.c \
	stress/mode_lifecycle.c stress/mode_memory.c stress/mode_mixed.c \
	stress/mode_objects.c stress/mode_priority.c \
	stress/mode_recall.c stress/mode_retire.c stress/mode_same.c stress/mode_sized.c \
	stress/mode_tracked.c stress/mode_transfer.c stress/mode_typed.c \
	stress/mode_wait.c stress/report.c \
	stress/stamp.c stress/stamp.h stress/stress.h stress/sync.h \
	stress/worker.c stress/worker.h tests/harness/figures.c tests/harness/figures.h \
	tests/harness/random.h

EXTRA_DIST += $(stress_sources) stress/build.sh stress/planted.sh

stress_inputs = $(stress_sources) $(all_sources) $(include_HEADERS) \
	$(cpoolinclude_HEADERS) config.h stress/build.sh

stress_environment = CC="$(CC)" STRESS_LIBS="$(LDFLAGS) $(CK_LIBS) $(ATOMIC_LIBS) $(LIBS)" \
	STRESS_FLAGS="$(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) $(CK_CFLAGS) $(CFLAGS)"

stress_build = $(stress_environment) $(SHELL) $(srcdir)/stress/build.sh

stress/build-tsan/stress: $(stress_inputs)
	$(AM_V_at)$(stress_build) tsan $(srcdir) stress/build-tsan \
		$(all_sources) $(stress_sources)

stress/build-barrier/stress: $(stress_inputs)
	$(AM_V_at)$(stress_build) barrier $(srcdir) stress/build-barrier \
		$(all_sources) $(stress_sources)

stress/build-asan/stress: $(stress_inputs)
	$(AM_V_at)$(stress_build) asan $(srcdir) stress/build-asan \
		$(all_sources) $(stress_sources)

stress/build-native/stress: $(stress_inputs)
	$(AM_V_at)$(stress_build) native $(srcdir) stress/build-native \
		$(all_sources) $(stress_sources)

# Runs the program in the directory named by $$kind, and ends it if it hangs.
stress_run = \
	set -- --seconds "$(STRESS_SECONDS)" --mode "$(STRESS_MODE)"; \
	test -z "$(STRESS_THREADS)" || set -- "$$@" --threads "$(STRESS_THREADS)"; \
	test -z "$(STRESS_SEED)" || set -- "$$@" --seed "$(STRESS_SEED)"; \
	tests/harness/limit$(EXEEXT) -a "$(STRESS_SECONDS)" \
		$$(cat stress/build-$$kind/launch) stress/build-$$kind/stress "$$@"

stress: stress/build-tsan/stress tests/harness/limit$(EXEEXT)
	@kind=tsan; TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1 $$TSAN_OPTIONS"; \
	export TSAN_OPTIONS; $(stress_run)

stress-barrier: stress/build-barrier/stress tests/harness/limit$(EXEEXT)
	@kind=barrier; TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1 $$TSAN_OPTIONS"; \
	export TSAN_OPTIONS; $(stress_run)

stress-asan: stress/build-asan/stress tests/harness/limit$(EXEEXT)
	@kind=asan; UBSAN_OPTIONS="print_stacktrace=1 $$UBSAN_OPTIONS"; \
	export UBSAN_OPTIONS; $(stress_run)

stress-native: stress/build-native/stress tests/harness/limit$(EXEEXT)
	@kind=native; $(stress_run)

# Which bugs, how they are planted and how they are looked for: stress/planted.sh.
stress-planted:
	@$(stress_environment) STRESS_REPEATS="$(STRESS_REPEATS)" \
		$(SHELL) $(srcdir)/stress/planted.sh \
		$(srcdir) stress/build-planted $(all_sources) $(stress_sources)

.PHONY: stress stress-barrier stress-asan stress-native stress-planted

# Folders, which CLEANFILES cannot name.  Part of `make clean`, too.  Its own hook can
# be written once only, and is in tests/machines.
mostlyclean-local:
	rm -rf stress/build-tsan stress/build-barrier stress/build-asan stress/build-native stress/build-planted
