# SPDX-License-Identifier: BSD-2-Clause
# tests/local.mk - what `make check` runs here.
#
#   harness/   shared by the tests, and the program that starts each of them
#   public/    programs that see the public interface only and link the library as a
#              user does
#   modules/   programs that see the modules inside and link a copy of the library in
#              which invariants are asserted
#   steps/     programs that do something at a chosen step of the library
#   scripts/   hold the rules of HACKING.md against the sources
#
# The programs of the first three folders are one suite each, of the Check framework.  The
# other folders say at the top of their local.mk what they hold.
#
# A test that the lists leave out fails tests/scripts/check-listed.sh.
#
# Every test, script or program, is started by tests/harness/limit, which ends it after
# CPOOL_TEST_LIMIT seconds and shows where it was.
#
#   make check               each contract and each rule, in three minutes on two processors
#   make check-all           everything: check_quick is empty, and tests_long run too
#   make check-build         of these, the tests of what was built here.  They are enough for a
#                            second build of the same sources.  QUICK=yes: as short as in check
#   make check-rest          the others, but not those that `make check` runs in full
#   make check-often         the tests with a course that depends on when threads run, OFTEN
#                            times, beside OFTEN_LOOPS loops that keep the processors
#                            busy.  OFTEN_TESTS='...' for some

LOG_COMPILER = tests/harness/limit$(EXEEXT)

# Their result does not depend on how this tree was configured: they compare sources with
# each other, or compile sources themselves, or try the benchmark rather than the library.
tests_of_sources = tests/scripts/% tests/model/% tests/weak/% tests/sched/% tests/doors/% \
	bench/check_smoke.sh bench/readme.sh

check-all:
	@$(if $(cpool_without),,$(MAKE) $(AM_MAKEFLAGS) $(bench_programs))
	@$(MAKE) $(AM_MAKEFLAGS) check check_quick= TESTS='$(TESTS) $(tests_long)'

# The programs that take minutes in full come first, so that the others run beside them.
tests_slow = tests/steps/check_steps_fork tests/steps/check_steps_owner
tests_of_build = $(filter $(tests_slow), $(TESTS)) \
	$(filter-out $(tests_of_sources) $(tests_slow), $(TESTS))

check-build:
	@$(MAKE) $(AM_MAKEFLAGS) check check_quick='$(QUICK)' TESTS='$(tests_of_build)'

# Scripts without a short form were run by `make check`.
check-rest:
	@$(if $(cpool_without),,$(MAKE) $(AM_MAKEFLAGS) $(bench_programs))
	@$(MAKE) $(AM_MAKEFLAGS) check check_quick= TESTS="\
		$(filter-out %.sh, $(filter $(tests_of_sources), $(TESTS))) $(tests_long) \
		`cd $(srcdir) && grep -lE 'CPOOL_TEST_QUICK|programs\.sh' $(filter %.sh, $(TESTS)) | tr '\n' ' '`"

# Not empty: programs and scripts do a part of what they could, each of all it does (the
# harness has SUPPORT_COUNT).
check_quick = yes

OFTEN = 20
OFTEN_LOOPS = 4

# Nor does the count of instructions depend on when threads run.
OFTEN_TESTS = $(filter-out $(tests_of_sources) bench/instructions.sh, $(TESTS))

check-often: all $(check_PROGRAMS) $(check_LIBRARIES) $(check_LTLIBRARIES)
	@MAKE='$(MAKE)' OFTEN_TESTS='$(OFTEN_TESTS)' $(SHELL) $(srcdir)/tests/harness/often.sh \
		'$(OFTEN)' '$(OFTEN_LOOPS)'

# Folders, which CLEANFILES cannot name.
distclean-local:
	rm -rf tests/often tests/fuzz/build doc/html

.PHONY: check-all check-build check-often check-rest

# The variables of configure for the scripts.
AM_TESTS_ENVIRONMENT = CC='$(CC)'; export CC; NM='$(NM)'; export NM; \
	SHELL='$(SHELL)'; export SHELL; CXX='$(tests_cxx)'; export CXX; \
	CHECK_CFLAGS='$(CHECK_CFLAGS)'; export CHECK_CFLAGS; \
	CHECK_LIBS='$(CHECK_LIBS)'; export CHECK_LIBS; \
	ATOMIC_LIBS='$(ATOMIC_LIBS)'; export ATOMIC_LIBS; \
	EXAMPLES_WITHOUT='$(cpool_without)'; export EXAMPLES_WITHOUT; \
	$(if $(check_quick),CPOOL_TEST_QUICK=yes; export CPOOL_TEST_QUICK;)
if HAVE_CXX
tests_cxx = $(CXX)
else
tests_cxx =
endif

tests_scripts = \
	tests/scripts/check-analyze.sh \
	tests/scripts/check-asan.sh \
	tests/scripts/check-builds.sh \
	tests/scripts/check-ceilings.sh \
	tests/scripts/check-cxx.sh \
	tests/scripts/check-docs.sh \
	tests/scripts/check-editor.sh \
	tests/scripts/check-exports.sh \
	tests/scripts/check-figures.sh \
	tests/scripts/check-folders.sh \
	tests/scripts/check-format.sh \
	tests/scripts/check-gdb.sh \
	tests/scripts/check-headers.sh \
	tests/scripts/check-json.sh \
	tests/scripts/check-listed.sh \
	tests/scripts/check-man.sh \
	tests/scripts/check-names.sh \
	tests/scripts/check-memcheck.sh \
	tests/scripts/check-mistakes.sh \
	tests/scripts/check-msan.sh \
	tests/scripts/check-orders.sh \
	tests/scripts/check-plain.sh \
	tests/scripts/check-planted.sh \
	tests/scripts/check-size.sh \
	tests/scripts/check-spdx.sh \
	tests/scripts/check-text.sh \
	tests/scripts/check-tsan.sh \
	tests/scripts/check-typed.sh \
	tests/scripts/check-ways.sh

# The same libraries compiled many times over, with mistakes planted.  The conditional is never
# true: their rules are made, and `make check-all` names them.
tests_long = \
	tests/scripts/check-scripts.sh \
	tests/sched/planted.sh \
	tests/weak/planted.sh
if WITH_ALL_EXT
tests_long += bench/check_smoke.sh
endif
if TESTS_LONG
TESTS += $(tests_long)
endif

TESTS += $(tests_scripts)

# Every source, header, script and list here is distributed.
EXTRA_DIST += $(patsubst $(srcdir)/%,%,$(wildcard $(foreach folder,* model/protocol modules/* windows/sys, \
	$(foreach kind,c cpp h mk sh txt,$(srcdir)/tests/$(folder)/*.$(kind)))))

