# SPDX-License-Identifier: BSD-2-Clause
# child.mk - the questions of check.sh to a configured tree, run in that tree's top, as
#   make -f .../child.mk TARGET

include Makefile

machines_tests = $(filter tests/public/% tests/modules/% tests/steps/% $(tests_ext),$(check_PROGRAMS))
machines_examples = $(filter examples/%,$(check_PROGRAMS))

# The library compiles without a warning.  The tests, written where size_t has 64
# bits, do not everywhere.
machines-library:
	$(MAKE) lib/libcpool.la WARN_CFLAGS='$(WARN_CFLAGS) -Werror'

machines-build: all $(machines_tests) $(machines_examples) $(check_LTLIBRARIES)

machines-list-tests:
	@echo $(machines_tests)

machines-list-examples:
	@echo $(machines_examples)

# As `make stress-native` builds it, but without a trial run on this machine.
machines_stress_all = $(filter %.c,$(all_sources) $(stress_sources))
machines-stress: $(machines_stress_all) config.h
	@mkdir -p stress
	@$(CC) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) -std=c11 $(CFLAGS) -pthread \
		$(addprefix $(srcdir)/,$(machines_stress_all)) $(LDFLAGS) $(ATOMIC_LIBS) $(LIBS) \
		-o stress/machine-stress

.PHONY: machines-library machines-build machines-list-tests machines-list-examples machines-stress
