# SPDX-License-Identifier: BSD-2-Clause
# tests/sched/local.mk - the schedule explorer.
#
#   tests/sched/check_schedules   links libpoints: each atomic operation is a
#                                 scheduling point
#   tests/sched/planted.sh        shows that it finds planted bugs
#
#   make schedules                more schedules at random: SCHED_RANDOM in all

check_PROGRAMS += tests/sched/check_schedules
TESTS += tests/sched/check_schedules

tests_sched_check_schedules_SOURCES = \
	tests/sched/audit.c tests/sched/check_schedules.c tests/sched/decide.c \
	tests/sched/explorer.c tests/sched/history.c tests/sched/linear.c tests/sched/pool.c \
	tests/sched/retires.c tests/sched/stack.c tests/sched/tracked.c tests/sched/types.c
tests_sched_check_schedules_CPPFLAGS = $(AM_CPPFLAGS) \
	-I$(top_srcdir)/tests/harness -I$(top_srcdir)/tests/sched -UCPI_DEBUG
tests_sched_check_schedules_LDADD = tests/harness/libpoints.a $(tests_libs_library)

SCHED_RANDOM = 500000

schedules: tests/sched/check_schedules
	SCHED_RANDOM='$(SCHED_RANDOM)' tests/sched/check_schedules

.PHONY: schedules
