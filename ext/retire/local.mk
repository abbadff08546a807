# SPDX-License-Identifier: BSD-2-Clause
# ext/retire/local.mk - the tests of retired slots.

ext_retire_tests = \
	ext/retire/tests/check_fault_retire \
	ext/retire/tests/check_retire \
	ext/retire/tests/check_retire_bags \
	ext/retire/tests/check_retire_noinline \
	ext/retire/tests/check_steps_retire \
	ext/retire/tests/check_steps_retire_end

if WITH_RETIRE
if HAVE_CHECK
check_PROGRAMS += $(ext_retire_tests)
TESTS += $(ext_retire_tests)
endif
endif

ext/retire/tests/%.$(OBJEXT): AM_CPPFLAGS += $(tests_ext_cppflags)

# The same tests, through the symbols that the library emits.
ext_retire_tests_check_retire_noinline_SOURCES = ext/retire/tests/check_retire.c
ext_retire_tests_check_retire_noinline_CPPFLAGS = $(AM_CPPFLAGS) $(tests_ext_cppflags) \
	-DCPOOL_NO_INLINE

EXTRA_DIST += ext/retire/README.md ext/retire/tests/domains.h ext/retire/tests/retire_domain.h \
	ext/retire/tests/retire_scene.h
