# SPDX-License-Identifier: BSD-2-Clause
# tests/local.mk - what `make check` runs here.
#
#   check programs   one suite each, of the Check framework.  Those of the first
#                    list see the public interface only and link the library as
#                    a user does.  Those of the second see the modules inside
#                    and link a copy in which invariants are asserted
#   scripts          hold the rules of HACKING.md against the sources
#
# A test that these lists leave out fails tests/scripts/check-listed.sh.
#
# Every test, script or program, is started by tests/limit, which ends it after
# CPOOL_TEST_LIMIT seconds and shows where it was.
#
#   make check-build         the tests of what was built here.  They are enough for a second
#                            build of the same sources
#   make check-often         the tests whose course depends on when threads run, OFTEN
#                            times, beside OFTEN_LOOPS loops that keep the processors
#                            busy.  OFTEN_TESTS='...' for some

check_PROGRAMS += tests/limit
tests_limit_SOURCES = tests/limit.c
LOG_COMPILER = tests/limit$(EXEEXT)

# Their result does not depend on how this tree was configured: they compare sources with
# each other, or compile sources themselves, or try the benchmark rather than the library.
tests_of_sources = tests/scripts/% tests/weak/% tests/sched/% tests/linear/% tests/doors/% \
	bench/check_smoke.sh bench/readme.sh

check-build:
	@$(MAKE) check TESTS='$(filter-out $(tests_of_sources), $(TESTS))'

OFTEN = 20
OFTEN_LOOPS = 4

# Nor does the count of instructions depend on when threads run.
OFTEN_TESTS = tests/linear/check_histories \
	$(filter-out $(tests_of_sources) bench/instructions.sh, $(TESTS))

EXTRA_DIST += tests/often.sh tests/planted.sh

check-often: all $(check_PROGRAMS) $(check_LTLIBRARIES)
	@MAKE='$(MAKE)' OFTEN_TESTS='$(OFTEN_TESTS)' $(SHELL) $(srcdir)/tests/often.sh \
		'$(OFTEN)' '$(OFTEN_LOOPS)'

# Folders, which CLEANFILES cannot name.
distclean-local:
	rm -rf tests/often tests/fuzz/build doc/html

.PHONY: check-build check-often

# The variables of configure for the scripts.
AM_TESTS_ENVIRONMENT = CC='$(CC)'; export CC; NM='$(NM)'; export NM; \
	SHELL='$(SHELL)'; export SHELL; CXX='$(tests_cxx)'; export CXX; \
	CHECK_CFLAGS='$(CHECK_CFLAGS)'; export CHECK_CFLAGS; \
	CHECK_LIBS='$(CHECK_LIBS)'; export CHECK_LIBS; \
	ATOMIC_LIBS='$(ATOMIC_LIBS)'; export ATOMIC_LIBS;
if HAVE_CXX
tests_cxx = $(CXX)
else
tests_cxx =
endif

tests_scripts = \
	tests/scripts/check-builds.sh \
	tests/scripts/check-cxx.sh tests/scripts/check-typed.sh \
	tests/scripts/check-docs.sh \
	tests/scripts/check-english.sh \
	tests/scripts/check-exports.sh \
	tests/scripts/check-floors.sh \
	tests/scripts/check-format.sh \
	tests/scripts/check-gdb.sh \
	tests/scripts/check-headers.sh \
	tests/scripts/check-json.sh \
	tests/scripts/check-limit.sh \
	tests/scripts/check-listed.sh \
	tests/scripts/check-man.sh \
	tests/scripts/check-mistakes.sh \
	tests/scripts/check-orders.sh \
	tests/scripts/check-probes.sh \
	tests/scripts/check-size.sh \
	tests/scripts/check-asan.sh \
	tests/scripts/check-memcheck.sh \
	tests/scripts/check-msan.sh \
	tests/scripts/check-tsan.sh \
	tests/scripts/check-scripts.sh

EXTRA_DIST += $(tests_scripts) tests/debug/mistakes.c tests/typed_builds.c tests/tools/correct.c tests/tools/handover.c \
	tests/tools/mistakes.c tests/tools/programs.sh tests/tools/stray.c
TESTS += $(tests_scripts)

# The public interface.
tests_public = \
	tests/check_alloc \
	tests/check_alloc_noinline \
	tests/check_bulk \
	tests/check_cancel \
	tests/check_checked \
	tests/check_config \
	tests/check_debug \
	tests/check_destroyed \
	tests/check_double \
	tests/check_fork \
	tests/check_guard \
	tests/check_handles \
	tests/check_info \
	tests/check_leaks \
	tests/check_leaks_noinline \
	tests/check_layer \
	tests/check_lanes \
	tests/check_lease \
	tests/check_lease_noinline \
	tests/check_many \
	tests/check_memory \
	tests/check_null \
	tests/check_pools \
	tests/check_object \
	tests/check_object_heap \
	tests/check_object_room \
	tests/check_object_threads \
	tests/check_tags \
	tests/check_walk \
	tests/check_object_typed \
	tests/check_priority \
	tests/check_priority_threads \
	tests/check_print \
	tests/check_reserved \
	tests/check_quarantine \
	tests/check_reset \
	tests/check_share \
	tests/check_signal \
	tests/check_sized \
	tests/check_sized_dry \
	tests/check_structs \
	tests/check_support \
	tests/check_thread \
	tests/check_track \
	tests/check_track_beside \
	tests/check_typed \
	tests/check_typed_noinline \
	tests/check_validate

# The modules, by floor.
tests_modules = \
	tests/check_assert \
	tests/check_bits \
	tests/check_error \
	tests/check_extent \
	tests/check_ranges \
	tests/check_layout \
	tests/check_options \
	tests/check_slab \
	tests/check_tagstack \
	tests/check_usage \
	tests/check_depot \
	tests/check_guard_unit \
	tests/check_slotmap \
	tests/check_slotmap_narrow \
	tests/check_track_twice \
	tests/check_cache \
	tests/check_cache_target \
	tests/check_lease_threads \
	tests/check_lease_promote \
	tests/check_registry \
	tests/check_registry_recall \
	tests/check_reentry

if HAVE_CHECK
check_PROGRAMS += $(tests_public) $(tests_modules) tests/check_copies tests/check_dlopen
TESTS += $(tests_public) $(tests_modules) tests/check_copies tests/check_dlopen

check_LTLIBRARIES += tests/libsupport.la tests/module_shared.la tests/module_static.la
endif

# In C++, and without Check.
if HAVE_CXX
check_PROGRAMS += tests/check_cxx tests/check_hpp
TESTS += tests/check_cxx tests/check_hpp
endif

tests_check_cxx_SOURCES = tests/check_cxx.cpp
tests_check_cxx_LDADD = lib/libcpool.la $(PTHREAD_LIBS)

tests_check_hpp_SOURCES = tests/check_hpp.cpp tests/hpp_objects.cpp
tests_check_hpp_LDADD = lib/libcpool.la $(PTHREAD_LIBS)

# <cpool/cpool.hpp> in every C++, with every compiler and library that is found.
check-cxx: lib/libcpool.la
	CXX_ALL=yes CXX='$(tests_cxx)' srcdir='$(srcdir)' $(SHELL) $(srcdir)/tests/scripts/check-cxx.sh

.PHONY: check-cxx

tests_libsupport_la_SOURCES = tests/support.c tests/support.h tests/support_pool.c
tests_libsupport_la_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)

tests_cppflags = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
tests_ldadd_public = tests/libsupport.la lib/libcpool.la $(CHECK_LIBS) $(PTHREAD_LIBS)
tests_ldadd_module = tests/libsupport.la lib/libcpool-asserted.la $(CHECK_LIBS) $(PTHREAD_LIBS)
tests_cppflags_module = $(tests_cppflags) -I$(top_srcdir)/lib

# The source of a program is the file of its name, where no list says otherwise.  Files
# that call the modules are compiled for each program that wants them.
tests_fixture = tests/fixture.c tests/fixture.h

tests_check_alloc_CPPFLAGS = $(tests_cppflags)
tests_check_alloc_LDADD = $(tests_ldadd_public)

tests_check_layer_SOURCES = tests/check_layer.c
tests_check_layer_CPPFLAGS = $(tests_cppflags)
tests_check_layer_LDADD = $(tests_ldadd_public)

tests_check_lease_SOURCES = tests/check_lease.c tests/lease.h tests/lease_pool.h
tests_check_lease_CPPFLAGS = $(tests_cppflags)
tests_check_lease_LDADD = $(tests_ldadd_public)

tests_check_lease_noinline_SOURCES = tests/check_lease.c
tests_check_lease_noinline_CPPFLAGS = $(tests_cppflags) -DCPOOL_NO_INLINE
tests_check_lease_noinline_LDADD = $(tests_ldadd_public)

tests_check_lease_threads_SOURCES = tests/check_lease_threads.c tests/lease.h
tests_check_lease_threads_CPPFLAGS = $(tests_cppflags_module)
tests_check_lease_threads_LDADD = $(tests_ldadd_module)

tests_check_lease_promote_SOURCES = tests/check_lease_promote.c tests/lease.h tests/lease_pool.h
tests_check_lease_promote_CPPFLAGS = $(tests_cppflags_module)
tests_check_lease_promote_LDADD = $(tests_ldadd_module)

tests_check_bulk_CPPFLAGS = $(tests_cppflags)
tests_check_bulk_LDADD = $(tests_ldadd_public)

tests_check_cancel_CPPFLAGS = $(tests_cppflags)
tests_check_cancel_LDADD = $(tests_ldadd_public)

tests_check_checked_SOURCES = tests/check_checked.c tests/doors.h
tests_check_checked_CPPFLAGS = $(tests_cppflags)
tests_check_checked_LDADD = $(tests_ldadd_public)

tests_check_debug_CPPFLAGS = $(tests_cppflags)
tests_check_debug_LDADD = $(tests_ldadd_public)

tests_check_quarantine_CPPFLAGS = $(tests_cppflags)
tests_check_quarantine_LDADD = $(tests_ldadd_public)

tests_check_destroyed_SOURCES = tests/check_destroyed.c tests/misuse.c tests/misuse.h
tests_check_destroyed_CPPFLAGS = $(tests_cppflags)
tests_check_destroyed_LDADD = $(tests_ldadd_public)

tests_check_config_CPPFLAGS = $(tests_cppflags)
tests_check_config_LDADD = $(tests_ldadd_public)

tests_check_double_CPPFLAGS = $(tests_cppflags)
tests_check_double_LDADD = $(tests_ldadd_public)

tests_check_fork_CPPFLAGS = $(tests_cppflags)
tests_check_fork_LDADD = $(tests_ldadd_public)

tests_check_guard_CPPFLAGS = $(tests_cppflags)
tests_check_guard_LDADD = $(tests_ldadd_public)

tests_check_handles_CPPFLAGS = $(tests_cppflags)
tests_check_handles_LDADD = $(tests_ldadd_public)

tests_check_info_CPPFLAGS = $(tests_cppflags)
tests_check_info_LDADD = $(tests_ldadd_public)

tests_check_leaks_CPPFLAGS = $(tests_cppflags)
tests_check_leaks_LDADD = $(tests_ldadd_public)

tests_check_many_CPPFLAGS = $(tests_cppflags)
tests_check_many_LDADD = $(tests_ldadd_public)

tests_check_memory_CPPFLAGS = $(tests_cppflags)
tests_check_memory_LDADD = $(tests_ldadd_public)

# Addresses are fixed in it, where the compiler does that.
tests_check_null_CPPFLAGS = $(tests_cppflags)
tests_check_null_CFLAGS = $(AM_CFLAGS) -fno-pie
tests_check_null_LDFLAGS = $(AM_LDFLAGS) -static -no-pie
tests_check_null_LDADD = $(tests_ldadd_public)

# With assertions.
tests_check_object_SOURCES = tests/check_object.c tests/object.h
tests_check_object_CPPFLAGS = $(tests_cppflags)
tests_check_object_LDADD = $(tests_ldadd_module)

tests_check_lanes_SOURCES = tests/check_lanes.c
tests_check_lanes_CPPFLAGS = $(tests_cppflags)
tests_check_lanes_LDADD = $(tests_ldadd_public)

tests_check_object_heap_SOURCES = tests/check_object_heap.c
tests_check_object_heap_CPPFLAGS = $(tests_cppflags_module)
tests_check_object_heap_LDADD = $(tests_ldadd_module)

tests_check_priority_SOURCES = tests/check_priority.c tests/object.h
tests_check_priority_CPPFLAGS = $(tests_cppflags)
tests_check_priority_LDADD = $(tests_ldadd_module)

tests_check_priority_threads_SOURCES = tests/check_priority_threads.c tests/object.h
tests_check_priority_threads_CPPFLAGS = $(tests_cppflags)
tests_check_priority_threads_LDADD = $(tests_ldadd_module)

tests_check_object_room_SOURCES = tests/check_object_room.c tests/object.h
tests_check_object_room_CPPFLAGS = $(tests_cppflags)
tests_check_object_room_LDADD = $(tests_ldadd_module)

tests_check_object_typed_SOURCES = tests/check_object_typed.c tests/object.h
tests_check_object_typed_CPPFLAGS = $(tests_cppflags)
tests_check_object_typed_LDADD = $(tests_ldadd_module)

tests_check_object_threads_SOURCES = tests/check_object_threads.c tests/object.h
tests_check_object_threads_CPPFLAGS = $(tests_cppflags)
tests_check_object_threads_LDADD = $(tests_ldadd_module)

tests_check_print_CPPFLAGS = $(tests_cppflags)
tests_check_print_LDADD = $(tests_ldadd_public)

tests_check_reserved_CPPFLAGS = $(tests_cppflags)
tests_check_reserved_LDADD = $(tests_ldadd_public)

tests_check_reset_CPPFLAGS = $(tests_cppflags)
tests_check_reset_LDADD = $(tests_ldadd_public)

tests_check_share_CPPFLAGS = $(tests_cppflags)
tests_check_share_LDADD = $(tests_ldadd_public)

tests_check_signal_CPPFLAGS = $(tests_cppflags)
tests_check_signal_LDADD = $(tests_ldadd_public)

tests_check_sized_SOURCES = tests/check_sized.c tests/sized.h
tests_check_sized_CPPFLAGS = $(tests_cppflags)
tests_check_sized_LDADD = $(tests_ldadd_public)

tests_check_sized_dry_SOURCES = tests/check_sized_dry.c tests/sized.h
tests_check_sized_dry_CPPFLAGS = $(tests_cppflags)
tests_check_sized_dry_LDADD = $(tests_ldadd_public)

tests_check_structs_CPPFLAGS = $(tests_cppflags)
tests_check_structs_LDADD = $(tests_ldadd_public)

tests_check_support_CPPFLAGS = $(tests_cppflags)
tests_check_support_LDADD = $(tests_ldadd_public)

tests_check_thread_CPPFLAGS = $(tests_cppflags)
tests_check_thread_LDADD = $(tests_ldadd_public)

tests_check_track_SOURCES = tests/check_track.c tests/doors.h
tests_check_track_CPPFLAGS = $(tests_cppflags)
tests_check_track_LDADD = $(tests_ldadd_public)

tests_check_track_beside_CPPFLAGS = $(tests_cppflags)
tests_check_track_beside_LDADD = $(tests_ldadd_public)

tests_check_track_twice_CPPFLAGS = $(tests_cppflags_module)
tests_check_track_twice_LDADD = $(tests_ldadd_module)

tests_check_typed_CPPFLAGS = $(tests_cppflags)
tests_check_typed_LDADD = $(tests_ldadd_public)

tests_check_typed_noinline_SOURCES = tests/check_typed.c
tests_check_typed_noinline_CPPFLAGS = $(tests_cppflags) -DCPOOL_NO_INLINE
tests_check_typed_noinline_LDADD = $(tests_ldadd_public)

tests_check_validate_CPPFLAGS = $(tests_cppflags)
tests_check_validate_LDADD = $(tests_ldadd_public)

# The same tests, through the symbols that the library emits.
tests_check_alloc_noinline_SOURCES = tests/check_alloc.c
tests_check_alloc_noinline_CPPFLAGS = $(tests_cppflags) -DCPOOL_NO_INLINE
tests_check_alloc_noinline_LDADD = $(tests_ldadd_public)

tests_check_leaks_noinline_SOURCES = tests/check_leaks.c
tests_check_leaks_noinline_CPPFLAGS = $(tests_cppflags) -DCPOOL_NO_INLINE
tests_check_leaks_noinline_LDADD = $(tests_ldadd_public)

# Inline functions of the modules assert here, too.
tests_check_assert_CPPFLAGS = $(tests_cppflags_module) -DCPI_DEBUG=1
tests_check_assert_LDADD = $(tests_ldadd_module)

tests_check_tags_CPPFLAGS = $(tests_cppflags)
tests_check_tags_LDADD = $(tests_ldadd_public)

tests_check_walk_CPPFLAGS = $(tests_cppflags)
tests_check_walk_LDADD = $(tests_ldadd_public)

tests_check_pools_CPPFLAGS = $(tests_cppflags)
tests_check_pools_LDADD = $(tests_ldadd_public)

tests_check_ranges_CPPFLAGS = $(tests_cppflags_module)
tests_check_ranges_LDADD = $(tests_ldadd_module)

tests_check_bits_CPPFLAGS = $(tests_cppflags_module)
tests_check_bits_LDADD = $(tests_ldadd_module)

tests_check_error_CPPFLAGS = $(tests_cppflags_module)
tests_check_error_LDADD = $(tests_ldadd_module)

tests_check_extent_CPPFLAGS = $(tests_cppflags_module)
tests_check_extent_LDADD = $(tests_ldadd_module)

tests_check_layout_CPPFLAGS = $(tests_cppflags_module)
tests_check_layout_LDADD = $(tests_ldadd_module)

tests_check_options_CPPFLAGS = $(tests_cppflags_module)
tests_check_options_LDADD = $(tests_ldadd_module)

tests_check_slab_CPPFLAGS = $(tests_cppflags_module)
tests_check_slab_LDADD = $(tests_ldadd_module)

tests_check_tagstack_CPPFLAGS = $(tests_cppflags_module)
tests_check_tagstack_LDADD = $(tests_ldadd_module)

tests_check_usage_CPPFLAGS = $(tests_cppflags_module)
tests_check_usage_LDADD = $(tests_ldadd_module)

tests_check_depot_CPPFLAGS = $(tests_cppflags_module)
tests_check_depot_LDADD = $(tests_ldadd_module)

tests_check_guard_unit_CPPFLAGS = $(tests_cppflags_module)
tests_check_guard_unit_LDADD = $(tests_ldadd_module)

tests_check_slotmap_CPPFLAGS = $(tests_cppflags_module)
tests_check_slotmap_LDADD = $(tests_ldadd_module)

# Generations of two bits, which come round at once.
tests_check_slotmap_narrow_SOURCES = tests/check_slotmap.c lib/slotmap.c lib/slotmap.h
tests_check_slotmap_narrow_CPPFLAGS = $(tests_cppflags_module) -DCPI_GENERATION_BITS=2u
tests_check_slotmap_narrow_LDADD = $(tests_ldadd_module)

tests_check_cache_SOURCES = tests/check_cache.c $(tests_fixture)
tests_check_cache_CPPFLAGS = $(tests_cppflags_module)
tests_check_cache_LDADD = $(tests_ldadd_module)

tests_check_cache_target_SOURCES = tests/check_cache_target.c $(tests_fixture)
tests_check_cache_target_CPPFLAGS = $(tests_cppflags_module)
tests_check_cache_target_LDADD = $(tests_ldadd_module)

tests_check_registry_SOURCES = tests/check_registry.c tests/inside.h
tests_check_registry_CPPFLAGS = $(tests_cppflags_module)
tests_check_registry_LDADD = $(tests_ldadd_module)

tests_check_registry_recall_CPPFLAGS = $(tests_cppflags_module)
tests_check_registry_recall_LDADD = $(tests_ldadd_module)

# With calls of the C library's sent through the test.
tests_check_reentry_CPPFLAGS = $(tests_cppflags_module)
tests_check_reentry_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=malloc,--wrap=pthread_atfork,--wrap=backtrace \
	-Wl,--wrap=pthread_key_create,--wrap=pthread_setspecific,--wrap=pthread_key_delete
tests_check_reentry_LDADD = $(tests_ldadd_module)

# Plug-ins, one with the shared library and one with its objects inside.  The
# -rpath is what makes libtool build them as shared objects.  They are never
# installed.
tests_module_flags = $(AM_LDFLAGS) -module -avoid-version -rpath $(abs_top_builddir)/tests

tests_module_shared_la_SOURCES = tests/misuse.c tests/misuse.h tests/module.c tests/module.h
# The other module's entry is in static TLS, of which the C library does not always get
# the place back when one of two libraries is unloaded.
tests_module_shared_la_CPPFLAGS = $(AM_CPPFLAGS) -DCPOOL_TYPED_TLS='"global-dynamic"'
tests_module_shared_la_LDFLAGS = $(tests_module_flags) -Wl,-rpath,$(abs_top_builddir)/lib/.libs
tests_module_shared_la_LIBADD = lib/libcpool.la

tests_module_static_la_SOURCES = tests/misuse.c tests/misuse.h tests/module.c tests/module.h
tests_module_static_la_LDFLAGS = $(tests_module_flags)
tests_module_static_la_LIBADD = lib/libcpool-internal.la $(PTHREAD_LIBS)

# Without the library, which comes and goes with the plug-ins.
tests_check_copies_SOURCES = tests/check_copies.c tests/module.h
tests_check_copies_CPPFLAGS = $(tests_check_dlopen_CPPFLAGS)
tests_check_copies_LDADD = $(tests_check_dlopen_LDADD)

tests_check_dlopen_SOURCES = tests/check_dlopen.c tests/module.h
tests_check_dlopen_CPPFLAGS = $(tests_cppflags) \
	-DMODULE_SHARED='"$(abs_top_builddir)/tests/.libs/module_shared.so"' \
	-DMODULE_STATIC='"$(abs_top_builddir)/tests/.libs/module_static.so"' \
	-DLIBRARY='"$(abs_top_builddir)/lib/.libs/libcpool.so"'
tests_check_dlopen_LDADD = tests/libsupport.la $(CHECK_LIBS) $(DL_LIBS) $(PTHREAD_LIBS)
