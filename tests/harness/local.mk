# SPDX-License-Identifier: BSD-2-Clause
# tests/harness/local.mk - shared by the test programs.

check_PROGRAMS += tests/harness/limit
tests_harness_limit_SOURCES = tests/harness/limit.c

# Programs take from it what they use.  Those of public/ use nothing that calls the modules.
if HAVE_CHECK
check_LIBRARIES += tests/harness/libharness.a
endif

tests_cppflags = $(AM_CPPFLAGS) $(CHECK_CFLAGS) -I$(top_srcdir)/tests/harness

tests_harness_libharness_a_SOURCES = tests/harness/crew.c tests/harness/fault.c \
	tests/harness/figures.c tests/harness/fixture.c tests/harness/growth.c tests/harness/main.c \
	tests/harness/misuse.c tests/harness/refuse.c tests/harness/support.c \
	tests/harness/support_pool.c tests/harness/support_threads.c tests/harness/waiter.c
tests_harness_libharness_a_CPPFLAGS = $(tests_cppflags)

# The library's sources, compiled once more with a point before each atomic operation, each
# lock and each sleep, for the tests of steps and schedules.  Without assertions,
# which would be steps, too.
check_LIBRARIES += tests/harness/libpoints.a
tests_harness_libpoints_a_SOURCES = tests/harness/points.c tests/harness/points.h \
	$(all_sources)
tests_harness_libpoints_a_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/tests/harness \
	-UCPI_DEBUG -DCPI_ATOMIC_HEADER='"points.h"'

tests_libs_library = $(ATOMIC_LIBS) $(PTHREAD_LIBS) $(DL_LIBS)
tests_libs = $(CHECK_LIBS) $(tests_libs_library)
tests_ldadd_public = tests/harness/libharness.a lib/libcpool.la $(tests_libs)
tests_ldadd_module = tests/harness/libharness.a lib/libcpool-asserted.a $(tests_libs)

# Those of the libraries over pools, each by the list in its ext/*/local.mk.
tests_ext = $(ext_sized_tests) $(ext_lanes_tests) $(ext_objects_tests) $(ext_retire_tests)
tests_ext_steps = $(foreach test,$(tests_ext),$(if $(findstring /check_steps,$(test)),$(test)))
tests_ext_cppflags = $(CHECK_CFLAGS) -I$(top_srcdir)/tests/harness -I$(top_srcdir)/tests/steps

# How a test of these folders is compiled and linked.  It is a line in its folder's list; what
# it needs besides has a line of its own there.
tests/public/%.$(OBJEXT) tests/modules/%.$(OBJEXT) tests/steps/%.$(OBJEXT): \
	AM_CPPFLAGS += $(CHECK_CFLAGS) -I$(top_srcdir)/tests/harness
$(tests_public): LDADD = $(tests_ldadd_public)
$(tests_modules): LDADD = $(tests_ldadd_module)
$(tests_ext): LDADD = $(tests_ldadd_module)
$(tests_steps) $(tests_ext_steps): LDADD = $(tests_ldadd_steps)
$(tests_public) $(tests_modules) $(tests_steps) $(tests_ext): tests/harness/libharness.a
$(tests_public): lib/libcpool.la
$(tests_modules) $(tests_ext): lib/libcpool-asserted.a
$(tests_steps) $(tests_ext_steps): tests/steps/libsteps.a tests/harness/libpoints.a

# The calls that refuse.c has instead of the system.
tests_refuse_ldflags = \
	-Wl,--wrap=mmap,--wrap=munmap,--wrap=mprotect,--wrap=madvise \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc \
	-Wl,--wrap=posix_memalign,--wrap=free,--wrap=pthread_key_create \
	-Wl,--wrap=pthread_key_delete,--wrap=pthread_setspecific,--wrap=pthread_atfork \
	-Wl,--wrap=pthread_condattr_init,--wrap=pthread_condattr_setclock \
	-Wl,--wrap=pthread_condattr_destroy,--wrap=pthread_cond_init,--wrap=pthread_cond_destroy \
	-Wl,--wrap=atexit,--wrap=openat,--wrap=close,--wrap=read,--wrap=write,--wrap=syscall
