# SPDX-License-Identifier: BSD-2-Clause
# tests/public/local.mk - tests of the public interface.
#
# The source of a program is the file of its name, where no list says otherwise.  A few
# link the copy of the library in which invariants are asserted.

tests_public = \
	tests/public/check_alloc \
	tests/public/check_alloc_noinline \
	tests/public/check_bulk \
	tests/public/check_calls \
	tests/public/check_cancel \
	tests/public/check_checked \
	tests/public/check_config \
	tests/public/check_copies \
	tests/public/check_debug \
	tests/public/check_dlopen \
	tests/public/check_fibers \
	tests/public/check_fibers_noinline \
	tests/public/check_frame \
	tests/public/check_frame_noinline \
	tests/public/check_grow \
	tests/public/check_guard \
	tests/public/check_huge \
	tests/public/check_info \
	tests/public/check_leaks \
	tests/public/check_leaks_noinline \
	tests/public/check_limits \
	tests/public/check_many \
	tests/public/check_memory \
	tests/public/check_null \
	tests/public/check_pools \
	tests/public/check_pressure \
	tests/public/check_print \
	tests/public/check_reserve \
	tests/public/check_reset \
	tests/public/check_sampled \
	tests/public/check_sampled_use \
	tests/public/check_share \
	tests/public/check_structs \
	tests/public/check_thread \
	tests/public/check_track \
	tests/public/check_trim \
	tests/public/check_typed \
	tests/public/check_typed_noinline \
	tests/public/check_validate \
	tests/public/check_wait \
	tests/public/check_walk

# They use libraries of ext/, too.
tests_public_ext = \
	tests/public/check_destroyed \
	tests/public/check_events \
	tests/public/check_frame_mistakes \
	tests/public/check_real_time \
	tests/public/check_steady

if WITH_ALL_EXT
tests_public += $(tests_public_ext)
endif

if HAVE_CHECK
check_PROGRAMS += $(tests_public)
TESTS += $(tests_public)

check_LTLIBRARIES += tests/public/module_shared.la tests/public/module_static.la \
	tests/public/module_mixed.la
endif

# In C++, and without Check.
if HAVE_CXX
if WITH_ALL_EXT
check_PROGRAMS += tests/public/check_hpp
TESTS += tests/public/check_hpp
endif
endif

tests_public_check_hpp_SOURCES = tests/public/check_hpp.cpp tests/public/hpp_forms.cpp \
	tests/public/hpp_resources.cpp ext/objects/tests/hpp_objects.cpp ext/retire/tests/hpp_retire.cpp
tests_public_check_hpp_LDADD = lib/libcpool.la $(PTHREAD_LIBS)

# <cpool/cpool.hpp> in every C++, with every compiler and library that is found.
check-cxx: lib/libcpool.la
	CXX_ALL=yes CXX='$(tests_cxx)' srcdir='$(srcdir)' $(SHELL) $(srcdir)/tests/scripts/check-cxx.sh

.PHONY: check-cxx

# Plug-ins, one with the shared library and one with its objects inside.  The
# -rpath is what makes libtool build them as shared objects.  They are never
# installed.
tests_module_flags = $(AM_LDFLAGS) -module -avoid-version -rpath $(abs_top_builddir)/tests/public

tests_module = tests/harness/figures.c tests/harness/misuse.c tests/public/module.c tests/public/module.h

tests_public_module_shared_la_SOURCES = $(tests_module)
# The other module's entry is in static TLS, of which the C library does not always get
# the place back when one of two libraries is unloaded.
tests_public_module_shared_la_CPPFLAGS = $(tests_cppflags) \
	-DCPOOL_TYPED_TLS='"global-dynamic"'
tests_public_module_shared_la_LDFLAGS = $(tests_module_flags) \
	-Wl,-rpath,$(abs_top_builddir)/lib/.libs
tests_public_module_shared_la_LIBADD = lib/libcpool.la

tests_public_module_static_la_SOURCES = $(tests_module)
tests_public_module_static_la_CPPFLAGS = $(tests_cppflags)
tests_public_module_static_la_LDFLAGS = $(tests_module_flags)
tests_public_module_static_la_LIBADD = lib/libcpool-internal.la $(PTHREAD_LIBS)

# Of its copy of the library the functions are its own, and the thread's word is the first
# copy's in the process.
tests_public_module_mixed_la_SOURCES = $(tests_module)
tests_public_module_mixed_la_CPPFLAGS = $(tests_cppflags)
tests_public_module_mixed_la_LDFLAGS = $(tests_module_flags) -Wl,-Bsymbolic-functions
tests_public_module_mixed_la_LIBADD = $(tests_public_module_static_la_LIBADD)

# The same tests, through the symbols that the library emits.
tests_public_check_alloc_noinline_SOURCES = tests/public/check_alloc.c
tests_public_check_alloc_noinline_CPPFLAGS = $(tests_cppflags) -DCPOOL_NO_INLINE

# Without the library, which comes and goes with the plug-ins.
tests_public_check_copies_CPPFLAGS = $(tests_public_check_dlopen_CPPFLAGS)
tests_public_check_copies_LDADD = $(tests_public_check_dlopen_LDADD)

tests_public_check_dlopen_CPPFLAGS = $(tests_cppflags) \
	-DMODULE_SHARED='"$(abs_top_builddir)/tests/public/.libs/module_shared.so"' \
	-DMODULE_STATIC='"$(abs_top_builddir)/tests/public/.libs/module_static.so"' \
	-DMODULE_MIXED='"$(abs_top_builddir)/tests/public/.libs/module_mixed.so"' \
	-DLIBRARY='"$(abs_top_builddir)/lib/.libs/libcpool.so"'
tests_public_check_dlopen_LDADD = tests/harness/libharness.a $(CHECK_LIBS) $(DL_LIBS) $(PTHREAD_LIBS)
tests/public/check_copies tests/public/check_dlopen: tests/public/module_shared.la \
	tests/public/module_static.la tests/public/module_mixed.la lib/libcpool.la

tests_public_check_fibers_noinline_SOURCES = tests/public/check_fibers.c
tests_public_check_fibers_noinline_CPPFLAGS = $(tests_cppflags) -DCPOOL_NO_INLINE

tests_public_check_frame_noinline_SOURCES = tests/public/check_frame.c
tests_public_check_frame_noinline_CPPFLAGS = $(tests_cppflags) -DCPOOL_NO_INLINE

tests_public_check_leaks_noinline_SOURCES = tests/public/check_leaks.c
tests_public_check_leaks_noinline_CPPFLAGS = $(tests_cppflags) -DCPOOL_NO_INLINE

# Addresses are fixed in it, where the compiler does that.
tests_public_check_null_CFLAGS = $(AM_CFLAGS) -fno-pie
tests_public_check_null_LDFLAGS = $(AM_LDFLAGS) -static -no-pie

tests_public_check_typed_noinline_SOURCES = tests/public/check_typed.c
tests_public_check_typed_noinline_CPPFLAGS = $(tests_cppflags) -DCPOOL_NO_INLINE

# The tests of the public interface alone.
check-public: all
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(tests_public) tests/scripts/check-plain.sh'

.PHONY: check-public
