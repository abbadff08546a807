# SPDX-License-Identifier: BSD-2-Clause
# cpool_optional.m4 - what the build can do without.

# CPOOL_OPTIONAL_MODULE(OPTION, PREFIX, MODULE, DESCRIPTION)
# Adds --with-OPTION / --without-OPTION (default: use it when pkg-config finds
# MODULE).  Substitutes PREFIX_CFLAGS and PREFIX_LIBS; defines HAVE_PREFIX, as
# a conditional and in config.h; sets have_OPTION, and OPTION_why when it is no.
AC_DEFUN([CPOOL_OPTIONAL_MODULE], [
    AC_ARG_WITH([$1],
        [AS_HELP_STRING([--without-$1], [do without $4])],
        [], [with_$1=auto])
    have_$1=no
    $1_why="--without-$1 was given"
    AS_IF([test "x$with_$1" != xno], [
        PKG_CHECK_MODULES([$2], [$3],
            [have_$1=yes],
            [AS_IF([test "x$with_$1" = xyes],
                [AC_MSG_ERROR([--with-$1 was given, but pkg-config finds no $3])])
             $1_why="pkg-config finds no $3"])
    ])
    AM_CONDITIONAL([HAVE_$2], [test "x$have_$1" = xyes])
    AS_IF([test "x$have_$1" = xyes],
        [AC_DEFINE([HAVE_$2], [1], [Define to 1 to use $4.])])
])

# CPOOL_PROG_CXX_WORKS
# Sets have_cxx and the conditional HAVE_CXX: whether C++ programs can be linked.
AC_DEFUN([CPOOL_PROG_CXX_WORKS], [
    AC_CACHE_CHECK([whether the C++ compiler works], [cpool_cv_cxx_works], [
        AC_LANG_PUSH([C++])
        AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <cstddef>]], [])],
            [cpool_cv_cxx_works=yes], [cpool_cv_cxx_works=no])
        AC_LANG_POP([C++])
    ])
    have_cxx=$cpool_cv_cxx_works
    AM_CONDITIONAL([HAVE_CXX], [test "x$have_cxx" = xyes])
])

# CPOOL_DPDK
# After CPOOL_OPTIONAL_MODULE([dpdk]): its headers become those of the system,
# so that they are not held to our warnings, and only the libraries of a memory
# pool are linked, not those of a network.  Substitutes DPDK_DRIVER too: the one
# driver that a pool needs.
AC_DEFUN([CPOOL_DPDK], [
    AS_IF([test "x$have_dpdk" = xyes], [
        DPDK_CFLAGS=`AS_ECHO(["$DPDK_CFLAGS"]) | $SED 's/-I/-isystem /g'`
        cpool_saved_LIBS=$LIBS
        cpool_saved_CPPFLAGS=$CPPFLAGS
        LIBS="-lrte_mempool -lrte_ring -lrte_eal $LIBS"
        CPPFLAGS="$CPPFLAGS $DPDK_CFLAGS"
        AC_MSG_CHECKING([which libraries a DPDK memory pool needs])
        AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <rte_eal.h>
                #include <rte_mempool.h>]],
                [[return rte_mempool_lookup("") != 0 || rte_eal_init(0, 0) != 0;]])],
            [DPDK_LIBS="-lrte_mempool -lrte_ring -lrte_eal"])
        AC_MSG_RESULT([$DPDK_LIBS])
        LIBS=$cpool_saved_LIBS
        CPPFLAGS=$cpool_saved_CPPFLAGS
        DPDK_DRIVER=librte_mempool_ring.so
    ])
    AC_SUBST([DPDK_DRIVER])
])

# CPOOL_EXT(NAME, WHAT)
# --disable-NAME leaves a library of ext/ out.  Sets the conditional WITH_NAME, and adds its name to
# cpool_with or to cpool_without.
AC_DEFUN([CPOOL_EXT], [
    AC_ARG_ENABLE([$1], [AS_HELP_STRING([--disable-$1], [leave out $2 (ext/$1)])],
        [], [AS_VAR_SET([enable_$1], [yes])])
    AS_VAR_IF([enable_$1], [no], [cpool_without="$cpool_without $1"], [cpool_with="$cpool_with $1"])
    AM_CONDITIONAL(m4_toupper([WITH_$1]), [test "x$enable_$1" != xno])
])
