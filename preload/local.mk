# SPDX-License-Identifier: BSD-2-Clause
# preload/local.mk - malloc over pools, for LD_PRELOAD.
#
#   make check-malloc   python3's tests, gcc, sqlite3 and redis under it, all that is found.
#                       A short form is part of make check
#   make bench-malloc   the same kinds of work beside the C library's malloc and others
#
# configure --enable-malloc installs it.  Otherwise it is built for the tests alone.  CMake
# builds it with -DCPOOL_MALLOC=ON, and Meson with -Dmalloc=true.

preload_library = preload/libcpool-malloc.la
if ENABLE_MALLOC
lib_LTLIBRARIES += $(preload_library)
preload_rpath =
else
check_LTLIBRARIES += $(preload_library)
preload_rpath = -rpath $(abs_top_builddir)/preload
endif

# The library's objects lie inside, and no symbol of theirs shows: a program may have
# libcpool of its own beside.
preload_libcpool_malloc_la_SOURCES = preload/large.c preload/large.h preload/malloc.c
preload_libcpool_malloc_la_CFLAGS = $(AM_CFLAGS) -fno-builtin-malloc -fno-builtin-calloc \
	$(VISIBILITY_CFLAGS)
preload_libcpool_malloc_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared \
	$(preload_rpath)
preload_libcpool_malloc_la_LIBADD = lib/libcpool-internal.la $(PTHREAD_LIBS)
if HAVE_VERSION_SCRIPT
preload_libcpool_malloc_la_LDFLAGS += -Wl,--version-script=$(top_srcdir)/preload/malloc.map
preload_libcpool_malloc_la_DEPENDENCIES = lib/libcpool-internal.la preload/malloc.map
endif

check_PROGRAMS += preload/cost preload/exercise
preload_cost_SOURCES = preload/cost.c
preload_exercise_SOURCES = preload/exercise.c
preload_exercise_CFLAGS = $(AM_CFLAGS) -fno-builtin
preload_exercise_LDADD = $(PTHREAD_LIBS)

# check.sh is a test, too (Makefile.am).
EXTRA_DIST += preload/check.sh preload/bench.sh preload/malloc.map

check-malloc: $(preload_library) preload/exercise$(EXEEXT)
	CC='$(CC)' srcdir='$(srcdir)' $(SHELL) $(srcdir)/preload/check.sh all

bench-malloc: $(preload_library) preload/cost$(EXEEXT) preload/exercise$(EXEEXT)
	CC='$(CC)' srcdir='$(srcdir)' $(SHELL) $(srcdir)/preload/bench.sh

.PHONY: check-malloc bench-malloc
