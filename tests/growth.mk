# SPDX-License-Identifier: BSD-2-Clause
# tests/growth.mk - the tests of recall, growth, trimming, waiting and quiet
# scopes; included after local.mk, whose variables it uses.

# The public interface.
tests_growth_public = \
	tests/check_grow \
	tests/check_quiet \
	tests/check_reserve \
	tests/check_trim

# With a look inside: which barrier was chosen, and refusals of the system at
# every call in turn.
tests_growth_modules = \
	tests/check_faults \
	tests/check_recall \
	tests/check_wait

if HAVE_CHECK
check_PROGRAMS += $(tests_growth_public) $(tests_growth_modules)
TESTS += $(tests_growth_public) $(tests_growth_modules)

check_LTLIBRARIES += tests/libgrowth.la
endif

tests_libgrowth_la_SOURCES = tests/growth.c tests/growth.h
tests_libgrowth_la_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)

tests_ldadd_growth_public = tests/libgrowth.la $(tests_ldadd_public)
tests_ldadd_growth_module = tests/libgrowth.la $(tests_ldadd_module)

tests_check_grow_SOURCES = tests/check_grow.c
tests_check_grow_CPPFLAGS = $(tests_cppflags)
tests_check_grow_LDADD = $(tests_ldadd_growth_public)

tests_check_quiet_SOURCES = tests/check_quiet.c
tests_check_quiet_CPPFLAGS = $(tests_cppflags)
tests_check_quiet_LDADD = $(tests_ldadd_growth_public)

tests_check_reserve_SOURCES = tests/check_reserve.c
tests_check_reserve_CPPFLAGS = $(tests_cppflags)
tests_check_reserve_LDADD = $(tests_ldadd_growth_public)

tests_check_trim_SOURCES = tests/check_trim.c
tests_check_trim_CPPFLAGS = $(tests_cppflags)
tests_check_trim_LDADD = $(tests_ldadd_growth_public)

tests_check_faults_SOURCES = tests/check_faults.c
tests_check_faults_CPPFLAGS = $(tests_cppflags_module)
tests_check_faults_LDADD = $(tests_ldadd_growth_module)

tests_check_recall_SOURCES = tests/check_recall.c
tests_check_recall_CPPFLAGS = $(tests_cppflags_module)
tests_check_recall_LDADD = $(tests_ldadd_growth_module)

tests_check_wait_SOURCES = tests/check_wait.c
tests_check_wait_CPPFLAGS = $(tests_cppflags_module)
tests_check_wait_LDADD = $(tests_ldadd_growth_module)
