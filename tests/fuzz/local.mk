# SPDX-License-Identifier: BSD-2-Clause
# tests/fuzz/local.mk - random programs of calls, beside a model (fuzz.h).
#
#   tests/fuzz/replay   runs the programs of corpus.txt, and random ones, in `make check`
#   make fuzz           looks for new ones with clang's libFuzzer, FUZZ_SECONDS long

FUZZ_SECONDS = 60
FUZZ_CC = clang
FUZZ_FLAGS =

fuzz_sources = \
	ext/objects/tests/fuzz_objects.c ext/objects/tests/fuzz_ranks.c \
	ext/sized/tests/fuzz_blocks.c \
	tests/fuzz/calls.c tests/fuzz/create.c tests/fuzz/extras.c tests/fuzz/fuzz.h \
	tests/fuzz/input.c tests/fuzz/model.c tests/fuzz/target.c tests/fuzz/types.c \
	tests/fuzz/wrong.c tests/harness/figures.c tests/harness/figures.h \
	tests/harness/random.h
fuzz_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/fuzz -I$(top_srcdir)/tests/harness

check_PROGRAMS += tests/fuzz/replay
TESTS += tests/fuzz/replay

# With assertions.
tests_fuzz_replay_SOURCES = $(fuzz_sources) tests/fuzz/replay.c
tests_fuzz_replay_CPPFLAGS = $(fuzz_cppflags)
tests_fuzz_replay_LDADD = lib/libcpool-asserted.a $(tests_libs_library)

fuzz: tests/fuzz/replay$(EXEEXT)
	@CC="$(FUZZ_CC)" srcdir="$(srcdir)" FUZZ_FLAGS="$(FUZZ_FLAGS)" \
		COMPILE="$(DEFS) $(DEFAULT_INCLUDES) $(fuzz_cppflags) $(CPPFLAGS)" \
		LINK="$(ATOMIC_LIBS) $(PTHREAD_LIBS)" \
		$(SHELL) $(srcdir)/tests/fuzz/fuzz.sh $(FUZZ_SECONDS) \
		$(all_sources) $(fuzz_sources)

.PHONY: fuzz
