# SPDX-License-Identifier: BSD-2-Clause
# lib/local.mk - the library.
#
# Everything is compiled once, into a convenience library that is not
# installed.  The installed library is the same objects with only the public
# symbols left visible.

# By floor, lowest first.  HACKING.md explains the floors.
libcpool_sources = \
	lib/atomic.h lib/bits.h lib/compiler.h lib/error.c lib/error.h \
	lib/text.c lib/text.h lib/trace.c lib/trace.h \
	lib/chaos.c lib/chaos.h lib/extent.c lib/extent.h lib/handle.c lib/handle.h lib/options.c lib/options.h lib/os.h lib/os_posix.c lib/quiet.c lib/quiet.h \
	lib/probes.h lib/ranges.c lib/ranges.h \
	lib/structs.c lib/structs.h lib/tools.c lib/tools.h \
	lib/thread.c lib/thread.h lib/version.c \
	lib/queue.h lib/slab.c lib/slab.h lib/swaps.c lib/swaps.h lib/tagstack.h lib/usage.c lib/usage.h \
	lib/depot.c lib/depot.h lib/magazine.h \
	lib/slotmap.c lib/slotmap.h lib/fake.c lib/fake.h \
	lib/guard.c lib/guard.h lib/log.c lib/log.h lib/quarantine.c lib/quarantine.h \
	lib/record.h lib/site.c lib/site.h \
	lib/cache.c lib/cache_shared.c lib/cache.h lib/cache_edge.h lib/cache_swap.h lib/lease.c lib/lease.h lib/lease_open.c \
	lib/recall.c lib/recall.h \
	lib/registry.c lib/registry_list.c lib/registry.h \
	lib/inline.c lib/pool_alloc.c lib/pool_audit.c lib/pool_bulk.c lib/pool_cache.c \
	lib/pool_debug.c lib/pool_fake.c lib/pool_drain.c lib/pool_drain.h lib/pool_forms.c lib/pool_options.c lib/pool_quarantine.c lib/pool_tell.c lib/pool_tell.h \
	lib/pool_config.c \
	lib/pool_create.c lib/pool_impl.h lib/pool_info.c lib/pool_lease.c lib/pool_lease.h lib/pool_lease_end.c \
	lib/pool_mark.c lib/pool_memory.c \
	lib/pool_layer.c \
	lib/pool_report.c lib/pool_reserve.c lib/pool_slow.c lib/pool_ticket.c lib/pool_tools.c \
	lib/pool_track.c lib/pool_typed.c lib/pool_wait.c lib/pool_wait.h lib/pool_call.c lib/pool_events.c \
	lib/pools.c lib/pools_tag.c lib/pool_print.c \
	lib/object.c lib/object.h lib/object_create.c lib/object_fake.c \
	lib/object_heap.c lib/object_heap.h lib/object_list.c lib/object_priority.c \
	lib/object_resize.c lib/object_room.c lib/object_trim.c lib/object_typed.c \
	lib/object_wait.c \
	lib/lanes.c \
	lib/sized.c lib/sized_create.c lib/sized_fallback.c lib/sized_impl.h lib/sized_info.c

noinst_LTLIBRARIES += lib/libcpool-internal.la
lib_libcpool_internal_la_SOURCES = $(libcpool_sources)
lib_libcpool_internal_la_CFLAGS = $(AM_CFLAGS) $(VISIBILITY_CFLAGS)
lib_libcpool_internal_la_LIBADD = $(ATOMIC_LIBS) $(PTHREAD_LIBS) $(DL_LIBS)

# The same with assertions, for the white-box tests.
check_LTLIBRARIES += lib/libcpool-asserted.la
lib_libcpool_asserted_la_SOURCES = $(libcpool_sources)
lib_libcpool_asserted_la_CPPFLAGS = $(AM_CPPFLAGS) -DCPI_DEBUG=1
lib_libcpool_asserted_la_CFLAGS = $(lib_libcpool_internal_la_CFLAGS)
lib_libcpool_asserted_la_LIBADD = $(lib_libcpool_internal_la_LIBADD)

lib_LTLIBRARIES += lib/libcpool.la
lib_libcpool_la_SOURCES =
lib_libcpool_la_LIBADD = lib/libcpool-internal.la
lib_libcpool_la_LDFLAGS = $(AM_LDFLAGS) -no-undefined \
	-version-info $(CPOOL_LIBRARY_VERSION)

if HAVE_VERSION_SCRIPT
lib_libcpool_la_LDFLAGS += -Wl,--version-script=$(top_srcdir)/lib/libcpool.map
lib_libcpool_la_DEPENDENCIES = lib/libcpool-internal.la lib/libcpool.map
endif

EXTRA_DIST += lib/libcpool.map

# The library as two files, cpool.c and cpool.h, which compile by themselves.
amalgamation_headers = $(include_HEADERS) $(filter %.h,$(cpoolinclude_HEADERS))
amalgamate = $(AWK) -v top='$(srcdir)' -f $(srcdir)/lib/amalgamate.awk

amalgamation: amalgamation/cpool.c amalgamation/cpool.h

amalgamation/cpool.c: $(libcpool_sources) lib/amalgamate.awk
	$(AM_V_GEN)$(MKDIR_P) amalgamation
	$(AM_V_at)$(amalgamate) -v part=source $(libcpool_sources) > $@.tmp && mv $@.tmp $@

amalgamation/cpool.h: $(amalgamation_headers) lib/amalgamate.awk
	$(AM_V_GEN)$(MKDIR_P) amalgamation
	$(AM_V_at)$(amalgamate) -v part=header $(amalgamation_headers) > $@.tmp && mv $@.tmp $@

EXTRA_DIST += lib/amalgamate.awk
CLEANFILES += amalgamation/cpool.c amalgamation/cpool.h

.PHONY: amalgamation
