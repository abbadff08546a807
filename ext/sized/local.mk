# SPDX-License-Identifier: BSD-2-Clause
# ext/sized/local.mk - blocks of many sizes: their tests, and malloc over pools, for LD_PRELOAD.
#
#   make check-malloc   python3's tests, gcc, sqlite3 and redis under it, all that is found.
#                       A short form is part of make check
#   make bench-malloc   the same kinds of work beside the C library's malloc and others
#
# configure --enable-malloc installs it.  Otherwise it is built for the tests alone.  CMake
# builds it with -DCPOOL_MALLOC=ON, and Meson with -Dmalloc=true.

ext_sized_tests = \
	ext/sized/tests/check_fault_sized \
	ext/sized/tests/check_sized \
	ext/sized/tests/check_sized_dry \
	ext/sized/tests/check_sized_first

if WITH_SIZED
if HAVE_CHECK
check_PROGRAMS += $(ext_sized_tests)
TESTS += $(ext_sized_tests)
endif
endif

ext/sized/tests/%.$(OBJEXT): AM_CPPFLAGS += $(tests_ext_cppflags)

EXTRA_DIST += ext/sized/README.md ext/sized/tests/sized.h

# malloc.

malloc_library = ext/sized/malloc/libcpool-malloc.la
if ENABLE_MALLOC
lib_LTLIBRARIES += $(malloc_library)
malloc_rpath =
else
if WITH_SIZED
check_LTLIBRARIES += $(malloc_library)
endif
malloc_rpath = -rpath $(abs_top_builddir)/ext/sized/malloc
endif

# The library's objects lie inside, and no symbol of theirs shows: a program may have
# libcpool of its own beside.
ext_sized_malloc_libcpool_malloc_la_SOURCES = ext/sized/malloc/malloc.c
ext_sized_malloc_libcpool_malloc_la_CFLAGS = $(AM_CFLAGS) -fno-builtin-malloc -fno-builtin-calloc \
	$(VISIBILITY_CFLAGS)
ext_sized_malloc_libcpool_malloc_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared \
	$(malloc_rpath)
ext_sized_malloc_libcpool_malloc_la_LIBADD = lib/libcpool-internal.la $(PTHREAD_LIBS)
if HAVE_VERSION_SCRIPT
ext_sized_malloc_libcpool_malloc_la_LDFLAGS += \
	-Wl,--version-script=$(top_srcdir)/ext/sized/malloc/malloc.map
ext_sized_malloc_libcpool_malloc_la_DEPENDENCIES = lib/libcpool-internal.la \
	ext/sized/malloc/malloc.map
endif

if WITH_SIZED
check_PROGRAMS += ext/sized/tests/cost ext/sized/tests/exercise
endif
ext_sized_tests_cost_SOURCES = ext/sized/tests/cost.c
ext_sized_tests_exercise_SOURCES = ext/sized/tests/exercise.c
ext_sized_tests_exercise_CFLAGS = $(AM_CFLAGS) -fno-builtin
ext_sized_tests_exercise_LDADD = $(PTHREAD_LIBS)

# malloc.sh is a test, too (Makefile.am).
EXTRA_DIST += ext/sized/malloc/malloc.map ext/sized/tests/malloc.sh ext/sized/tests/malloc_bench.sh

check-malloc: $(malloc_library) ext/sized/tests/exercise$(EXEEXT)
	CC='$(CC)' srcdir='$(srcdir)' $(SHELL) $(srcdir)/ext/sized/tests/malloc.sh all

bench-malloc: $(malloc_library) ext/sized/tests/cost$(EXEEXT) ext/sized/tests/exercise$(EXEEXT)
	CC='$(CC)' srcdir='$(srcdir)' $(SHELL) $(srcdir)/ext/sized/tests/malloc_bench.sh

.PHONY: check-malloc bench-malloc
