# SPDX-License-Identifier: BSD-2-Clause
# cpool_system.m4 - what the language and the system must offer.

# CPOOL_REQUIRE_C11
# Stops unless atomics and thread-local storage of C11 compile.
AC_DEFUN([CPOOL_REQUIRE_C11], [
    AC_CACHE_CHECK([for C11 atomics and thread-local storage], [cpool_cv_c11], [
        cpool_saved_CFLAGS=$CFLAGS
        CFLAGS="$CFLAGS $DIALECT_CFLAGS"
        AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
            #include <stdatomic.h>
            #include <stdint.h>
            static _Thread_local int local;
            static _Atomic uint64_t shared;
            _Static_assert(sizeof(uint64_t) == 8, "64 bits");
            int use(void);
            int use(void) { local++; return (int)atomic_load(&shared) + local; }
            ]])], [cpool_cv_c11=yes], [cpool_cv_c11=no])
        CFLAGS=$cpool_saved_CFLAGS
    ])
    AS_IF([test "x$cpool_cv_c11" != xyes],
        [AC_MSG_ERROR([libcpool needs a C11 compiler with <stdatomic.h>: gcc 4.9 or clang 3.6, or later])])
])

# CPOOL_PTHREAD
# Substitutes PTHREAD_CFLAGS and PTHREAD_LIBS; stops without POSIX threads.
AC_DEFUN([CPOOL_PTHREAD], [
    CPOOL_ADD_CFLAG([PTHREAD_CFLAGS], [-pthread])
    cpool_saved_LIBS=$LIBS
    LIBS=
    AC_SEARCH_LIBS([pthread_key_create], [pthread], [],
        [AC_MSG_ERROR([libcpool needs POSIX threads])])
    AC_SUBST([PTHREAD_LIBS], ["-lpthread"])
    AS_CASE([$host_os], [darwin*|*-android*], [PTHREAD_LIBS=])
    LIBS=$cpool_saved_LIBS
])

# CPOOL_ATOMIC_LIBS
# Substitutes ATOMIC_LIBS: what a 64-bit compare-and-swap needs to link, which
# is nothing on 64-bit machines.
AC_DEFUN([CPOOL_ATOMIC_LIBS], [
    AC_CACHE_CHECK([what links a 64-bit compare-and-swap], [cpool_cv_atomic_libs], [
        cpool_cv_atomic_libs=unknown
        cpool_saved_LIBS=$LIBS
        for cpool_try in '' -latomic; do
            LIBS="$cpool_saved_LIBS $cpool_try"
            AC_LINK_IFELSE([AC_LANG_PROGRAM([[
                #include <stdatomic.h>
                #include <stdint.h>
                static _Atomic uint64_t word;
                ]], [[
                uint64_t old = 0;
                return atomic_compare_exchange_strong(&word, &old, 1) ? 0 : 1;
                ]])], [cpool_cv_atomic_libs=${cpool_try:-nothing}; break])
        done
        LIBS=$cpool_saved_LIBS
    ])
    AS_CASE([$cpool_cv_atomic_libs],
        [unknown], [AC_MSG_ERROR([libcpool needs a 64-bit compare-and-swap])],
        [nothing], [ATOMIC_LIBS=],
        [ATOMIC_LIBS=$cpool_cv_atomic_libs])
    AC_SUBST([ATOMIC_LIBS])
])

# CPOOL_DL_LIBS
# Substitutes DL_LIBS: where dlopen is, for the tests that unload the library.
AC_DEFUN([CPOOL_DL_LIBS], [
    cpool_saved_LIBS=$LIBS
    LIBS=
    AC_SEARCH_LIBS([dlopen], [dl])
    AC_SUBST([DL_LIBS], [$LIBS])
    LIBS=$cpool_saved_LIBS
])
