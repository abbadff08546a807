# SPDX-License-Identifier: BSD-2-Clause
# tests/steps/local.mk - tests that do something at a chosen step of the library.
#
# They link libpoints, in which each atomic operation and each lock calls the test.

tests_steps = \
	tests/steps/check_steps_bulk \
	tests/steps/check_steps_call \
	tests/steps/check_steps_destroy \
	tests/steps/check_steps_double \
	tests/steps/check_steps_empty \
	tests/steps/check_steps_end \
	tests/steps/check_steps_fork \
	tests/steps/check_steps_frame \
	tests/steps/check_steps_notice \
	tests/steps/check_steps_owner \
	tests/steps/check_steps_queue \
	tests/steps/check_steps_signal \
	tests/steps/check_steps_stall \
	tests/steps/check_steps_trim

if HAVE_CHECK
check_PROGRAMS += $(tests_steps)
TESTS += $(tests_steps)

check_LIBRARIES += tests/steps/libsteps.a
endif

tests_steps_libsteps_a_SOURCES = tests/steps/meeting.c tests/steps/script.c tests/steps/steps.c
tests_steps_libsteps_a_CPPFLAGS = $(tests_cppflags)

tests_ldadd_steps = tests/steps/libsteps.a tests/harness/libharness.a \
	tests/harness/libpoints.a $(tests_libs)
