# SPDX-License-Identifier: BSD-2-Clause
# lib/local.mk - the library.
#
# Everything is compiled once, into a convenience library that is not
# installed.  The installed library is the same objects with only the public
# symbols left visible.

include lib/sources.mk

# The pool, and the libraries over it.  Copies of the library for tests have all of them.
all_sources = $(libcpool_sources) $(ext_objects_sources) $(ext_sized_sources) $(ext_retire_sources) \
	$(ext_lanes_sources)

noinst_LTLIBRARIES += lib/libcpool-internal.la
lib_libcpool_internal_la_SOURCES = $(libcpool_sources)
if WITH_OBJECTS
lib_libcpool_internal_la_SOURCES += $(ext_objects_sources)
endif
if WITH_SIZED
lib_libcpool_internal_la_SOURCES += $(ext_sized_sources)
endif
if WITH_RETIRE
lib_libcpool_internal_la_SOURCES += $(ext_retire_sources)
endif
if WITH_LANES
lib_libcpool_internal_la_SOURCES += $(ext_lanes_sources)
endif
lib_libcpool_internal_la_CFLAGS = $(AM_CFLAGS) $(VISIBILITY_CFLAGS) $(SECTION_CFLAGS)
lib_libcpool_internal_la_LIBADD = $(ATOMIC_LIBS) $(PTHREAD_LIBS) $(DL_LIBS)
# Libtool makes a convenience library, and the static one from it, of the objects of the shared
# library, and would compile the others for nothing.
if BUILD_SHARED
lib_libcpool_internal_la_LIBTOOLFLAGS = --tag=disable-static
endif

# The same with assertions, for the white-box tests.  Libtool takes half as long as
# a compiler, and is for what is installed.
check_LIBRARIES += lib/libcpool-asserted.a
lib_libcpool_asserted_a_SOURCES = $(all_sources)
lib_libcpool_asserted_a_CPPFLAGS = $(AM_CPPFLAGS) -DCPI_DEBUG=1
lib_libcpool_asserted_a_CFLAGS = $(lib_libcpool_internal_la_CFLAGS)

lib_LTLIBRARIES += lib/libcpool.la
lib_libcpool_la_SOURCES =
lib_libcpool_la_LIBADD = lib/libcpool-internal.la
lib_libcpool_la_LDFLAGS = $(AM_LDFLAGS) -no-undefined \
	-version-info $(CPOOL_LIBRARY_VERSION)

# Without the names of what configure leaves out, because some linkers refuse a name that nothing
# defines.
lib/exports.map: lib/libcpool.map Makefile
	$(AM_V_GEN)$(MKDIR_P) lib && $(SED) $(cpool_without:%=-e '/^ *# ext\/%:/,/^$$/d') -e '' \
		$(srcdir)/lib/libcpool.map > $@.tmp && mv $@.tmp $@

CLEANFILES += lib/exports.map

if HAVE_VERSION_SCRIPT
lib_libcpool_la_LDFLAGS += -Wl,--version-script=lib/exports.map
lib_libcpool_la_DEPENDENCIES = lib/libcpool-internal.la lib/exports.map
endif

EXTRA_DIST += lib/libcpool.map lib/README.md ext/common.h

# The library as two files, cpool.c and cpool.h, which compile by themselves, and two for each library
# of ext/, which stand beside these.
amalgamation_rest = amalgamation/cpool.h \
	amalgamation/cpool_lanes.c amalgamation/cpool_lanes.h \
	amalgamation/cpool_objects.c amalgamation/cpool_objects.h \
	amalgamation/cpool_retire.c amalgamation/cpool_retire.h \
	amalgamation/cpool_sized.c amalgamation/cpool_sized.h

amalgamation: amalgamation/cpool.c $(amalgamation_rest)

amalgamation/cpool.c: $(all_sources) ext/common.h $(include_HEADERS) $(cpoolinclude_HEADERS) \
		lib/amalgamate.awk lib/amalgamate.sh
	$(AM_V_GEN)AWK='$(AWK)' $(SHELL) $(srcdir)/lib/amalgamate.sh amalgamation all

$(amalgamation_rest): amalgamation/cpool.c ;

EXTRA_DIST += lib/amalgamate.awk lib/amalgamate.sh
CLEANFILES += amalgamation/cpool.c $(amalgamation_rest)

.PHONY: amalgamation
