# SPDX-License-Identifier: BSD-2-Clause
# tests/linear/local.mk - linearizability of recorded histories.
#
#   tests/linear/check_histories  histories of real threads, with pauses at the points of
#                                 libpoints
#   tests/linear/planted.sh       shows that they find planted bugs, which are the checker's tests, too
#
# The checker is also part of tests/sched, where it decides each schedule's history.

check_PROGRAMS += tests/linear/check_histories
TESTS += tests/linear/check_histories

linear_checker = tests/linear/history.c tests/linear/history.h \
	tests/linear/linear.c tests/linear/linear.h



tests_linear_check_histories_SOURCES = tests/linear/burst.c tests/linear/burst.h \
	tests/linear/check_histories.c tests/harness/random.h $(linear_checker)
tests_linear_check_histories_CPPFLAGS = $(AM_CPPFLAGS) \
	-I$(top_srcdir)/tests/harness -I$(top_srcdir)/tests/linear
tests_linear_check_histories_LDADD = tests/harness/libpoints.a $(tests_libs_library)

EXTRA_DIST += tests/linear/planted.sh
