# SPDX-License-Identifier: BSD-2-Clause
# tests/growth.mk - the tests of recall, growth, trimming, waiting and quiet
# scopes.  Included after local.mk, because it uses variables from there.

# The public interface.
tests_growth_public = \
	tests/check_events \
	tests/check_fibers \
	tests/check_grow \
	tests/check_help \
	tests/check_huge \
	tests/check_quiet \
	tests/check_quiet_calls \
	tests/check_quiet_traps \
	tests/check_reserve \
	tests/check_resize \
	tests/check_trim \
	tests/check_wait \
	tests/check_wait_ends

# With a look inside: which barrier was chosen, and refusals of the system at
# every call in turn.
tests_growth_modules = \
	tests/check_barrier \
	tests/check_drain \
	tests/check_faults \
	tests/check_populate \
	tests/check_recall \
	tests/check_recall_contest \
	tests/check_recall_stopped \
	tests/check_wait_crowd \
	tests/check_wait_fair

# With the library's sources compiled once more, such that something can be done
# at each of its steps.
tests_growth_steps = \
	tests/check_steps_double \
	tests/check_steps \
	tests/check_steps_bulk \
	tests/check_steps_end \
	tests/check_steps_empty \
	tests/check_steps_fork \
	tests/check_steps_stall \
	tests/check_steps_memory \
	tests/check_steps_call \
	tests/check_steps_destroy \
	tests/check_steps_lease \
	tests/check_steps_object \
	tests/check_steps_queue \
	tests/check_steps_recall \
	tests/check_steps_signal \
	tests/check_steps_active \
	tests/check_steps_steal \
	tests/check_steps_trim

if HAVE_CHECK
check_PROGRAMS += $(tests_growth_public) $(tests_growth_modules) $(tests_growth_steps)
TESTS += $(tests_growth_public) $(tests_growth_modules) $(tests_growth_steps)

check_LTLIBRARIES += tests/libgrowth.la tests/libsteps.la
endif

tests_libgrowth_la_SOURCES = tests/growth.c tests/growth.h tests/waiter.c tests/waiter.h
tests_libgrowth_la_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)

tests_libsteps_la_SOURCES = tests/steps.c tests/steps.h tests/points.h $(libcpool_sources)
tests_libsteps_la_CPPFLAGS = $(tests_cppflags_module) -I$(top_srcdir)/tests \
	-UCPI_DEBUG -DCPI_ATOMIC_HEADER='"points.h"' -DPOINTS_OF_LOCKS
tests_libsteps_la_LIBADD = $(ATOMIC_LIBS) $(PTHREAD_LIBS)

tests_ldadd_growth_public = tests/libgrowth.la $(tests_ldadd_public)
tests_ldadd_growth_module = tests/libgrowth.la $(tests_ldadd_module)
tests_ldadd_growth_steps = tests/libgrowth.la tests/libsupport.la tests/libsteps.la \
	$(CHECK_LIBS) $(PTHREAD_LIBS)

# As tests_fixture.
tests_crew = tests/crew.c tests/crew.h
tests_script = tests/script.c tests/script.h

tests_check_barrier_CPPFLAGS = $(tests_cppflags_module)
tests_check_barrier_LDADD = $(tests_ldadd_growth_module)

tests_check_drain_CPPFLAGS = $(tests_cppflags_module)
tests_check_drain_LDADD = $(tests_ldadd_growth_module)

tests_check_huge_CPPFLAGS = $(tests_cppflags)
tests_check_huge_LDADD = $(tests_ldadd_growth_public)

tests_check_grow_CPPFLAGS = $(tests_cppflags)
tests_check_grow_LDADD = $(tests_ldadd_growth_public)

tests_check_help_CPPFLAGS = $(tests_cppflags)
tests_check_help_LDADD = $(tests_ldadd_growth_public)

tests_check_quiet_CPPFLAGS = $(tests_cppflags)
tests_check_quiet_LDADD = $(tests_ldadd_growth_public)

tests_check_quiet_calls_CPPFLAGS = $(tests_cppflags)
tests_check_quiet_calls_LDADD = $(tests_ldadd_growth_public)

tests_check_quiet_traps_CPPFLAGS = $(tests_cppflags)
tests_check_quiet_traps_LDADD = $(tests_ldadd_growth_public)

tests_check_reserve_CPPFLAGS = $(tests_cppflags)
tests_check_reserve_LDADD = $(tests_ldadd_growth_public)

tests_check_resize_CPPFLAGS = $(tests_cppflags)
tests_check_resize_LDADD = $(tests_ldadd_growth_public)

tests_check_trim_CPPFLAGS = $(tests_cppflags)
tests_check_trim_LDADD = $(tests_ldadd_growth_public)

tests_check_events_CPPFLAGS = $(tests_cppflags)
tests_check_events_LDADD = $(tests_ldadd_growth_public)

# As code is compiled that moves from thread to thread.
tests_check_fibers_CPPFLAGS = $(tests_cppflags) -DCPOOL_NO_INLINE
tests_check_fibers_LDADD = $(tests_ldadd_growth_public)

tests_check_wait_CPPFLAGS = $(tests_cppflags)
tests_check_wait_LDADD = $(tests_ldadd_growth_public)

tests_check_wait_ends_CPPFLAGS = $(tests_cppflags)
tests_check_wait_ends_LDADD = $(tests_ldadd_growth_public)

tests_check_faults_CPPFLAGS = $(tests_cppflags_module)
tests_check_faults_LDADD = $(tests_ldadd_growth_module)

tests_check_populate_CPPFLAGS = $(tests_cppflags_module)
tests_check_populate_LDADD = $(tests_ldadd_growth_module)

tests_check_recall_SOURCES = tests/check_recall.c $(tests_crew)
tests_check_recall_CPPFLAGS = $(tests_cppflags_module)
tests_check_recall_LDADD = $(tests_ldadd_growth_module)

tests_check_recall_contest_SOURCES = tests/check_recall_contest.c $(tests_crew)
tests_check_recall_contest_CPPFLAGS = $(tests_cppflags_module)
tests_check_recall_contest_LDADD = $(tests_ldadd_growth_module)

tests_check_recall_stopped_SOURCES = tests/check_recall_stopped.c $(tests_crew)
tests_check_recall_stopped_CPPFLAGS = $(tests_cppflags_module)
tests_check_recall_stopped_LDADD = $(tests_ldadd_growth_module)

tests_check_wait_crowd_SOURCES = tests/check_wait_crowd.c $(tests_crew)
tests_check_wait_crowd_CPPFLAGS = $(tests_cppflags_module)
tests_check_wait_crowd_LDADD = $(tests_ldadd_growth_module)

tests_check_steps_CPPFLAGS = $(tests_cppflags_module)
tests_check_steps_LDADD = $(tests_ldadd_growth_steps)

tests_check_wait_fair_CPPFLAGS = $(tests_cppflags_module)
tests_check_wait_fair_LDADD = $(tests_ldadd_growth_module)
tests_check_steps_end_CPPFLAGS = $(tests_cppflags_module)
tests_check_steps_end_LDADD = $(tests_ldadd_growth_steps)

tests_check_steps_double_CPPFLAGS = $(tests_cppflags_module)
tests_check_steps_double_LDADD = $(tests_ldadd_growth_steps)

tests_check_steps_object_CPPFLAGS = $(tests_cppflags_module)
tests_check_steps_object_LDADD = $(tests_ldadd_growth_steps)

tests_check_steps_lease_CPPFLAGS = $(tests_cppflags_module)
tests_check_steps_lease_LDADD = $(tests_ldadd_growth_steps)

tests_check_steps_bulk_CPPFLAGS = $(tests_cppflags_module)
tests_check_steps_bulk_LDADD = $(tests_ldadd_growth_steps)

tests_check_steps_stall_CPPFLAGS = $(tests_cppflags_module)
tests_check_steps_stall_LDADD = $(tests_ldadd_growth_steps)

tests_check_steps_empty_CPPFLAGS = $(tests_cppflags_module)
tests_check_steps_empty_LDADD = $(tests_ldadd_growth_steps)

tests_check_steps_fork_SOURCES = tests/check_steps_fork.c $(tests_script)
tests_check_steps_fork_CPPFLAGS = $(tests_cppflags_module)
tests_check_steps_fork_LDADD = $(tests_ldadd_growth_steps)

tests_check_steps_memory_CPPFLAGS = $(tests_cppflags_module)
tests_check_steps_memory_LDADD = $(tests_ldadd_growth_steps)

tests_check_steps_recall_CPPFLAGS = $(tests_cppflags_module)
tests_check_steps_recall_LDADD = $(tests_ldadd_growth_steps)

tests_check_steps_signal_CPPFLAGS = $(tests_cppflags_module)
tests_check_steps_signal_LDADD = $(tests_ldadd_growth_steps)

tests_check_steps_active_CPPFLAGS = $(tests_cppflags_module)
tests_check_steps_active_LDADD = $(tests_ldadd_growth_steps)

tests_check_steps_steal_SOURCES = tests/check_steps_steal.c $(tests_script)
tests_check_steps_steal_CPPFLAGS = $(tests_cppflags_module)
tests_check_steps_steal_LDADD = $(tests_ldadd_growth_steps)

tests_check_steps_trim_CPPFLAGS = $(tests_cppflags_module)
tests_check_steps_trim_LDADD = $(tests_ldadd_growth_steps)

tests_check_steps_call_SOURCES = tests/check_steps_call.c tests/meeting.c tests/meeting.h
tests_check_steps_call_CPPFLAGS = $(tests_cppflags_module)
tests_check_steps_call_LDADD = $(tests_ldadd_growth_steps)

tests_check_steps_destroy_CPPFLAGS = $(tests_cppflags_module)
tests_check_steps_destroy_LDADD = $(tests_ldadd_growth_steps)

tests_check_steps_queue_SOURCES = tests/check_steps_queue.c tests/meeting.c tests/meeting.h
tests_check_steps_queue_CPPFLAGS = $(tests_cppflags_module)
tests_check_steps_queue_LDADD = $(tests_ldadd_growth_steps)
