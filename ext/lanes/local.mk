# SPDX-License-Identifier: BSD-2-Clause
# ext/lanes/local.mk - the tests of lanes.

ext_lanes_tests = \
	ext/lanes/tests/check_fault_lanes \
	ext/lanes/tests/check_lanes

if WITH_LANES
if HAVE_CHECK
check_PROGRAMS += $(ext_lanes_tests)
TESTS += $(ext_lanes_tests)
endif
endif

ext/lanes/tests/%.$(OBJEXT): AM_CPPFLAGS += $(tests_ext_cppflags)

EXTRA_DIST += ext/lanes/README.md
