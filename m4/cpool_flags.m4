# SPDX-License-Identifier: BSD-2-Clause
# cpool_flags.m4 - which options the compiler and the linker know.
#
# A probe runs with -Werror, because some compilers merely warn of an option
# that they do not know.  The user's CFLAGS and LDFLAGS are left as they were.

# CPOOL_ADD_CFLAG(VARIABLE, FLAGS)
# Appends to VARIABLE, and substitutes, those of FLAGS that the C compiler takes.
AC_DEFUN([CPOOL_ADD_CFLAG], [
    m4_foreach_w([cpool_flag], [$2], [_CPOOL_ADD_ONE_CFLAG([$1], m4_defn([cpool_flag]))])
    AC_SUBST([$1])
])

AC_DEFUN([_CPOOL_ADD_ONE_CFLAG], [
    AS_VAR_PUSHDEF([cpool_cache], [cpool_cv_cflag_$2])
    AC_CACHE_CHECK([whether $CC takes $2], [cpool_cache], [
        cpool_saved_CFLAGS=$CFLAGS
        CFLAGS="$CFLAGS -Werror $2"
        AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
            [AS_VAR_SET([cpool_cache], [yes])], [AS_VAR_SET([cpool_cache], [no])])
        CFLAGS=$cpool_saved_CFLAGS
    ])
    AS_VAR_IF([cpool_cache], [yes], [AS_VAR_APPEND([$1], [" $2"])])
    AS_VAR_POPDEF([cpool_cache])
])

# CPOOL_VERSION_SCRIPT
# Sets have_version_script, and the conditional HAVE_VERSION_SCRIPT.
AC_DEFUN([CPOOL_VERSION_SCRIPT], [
    AC_CACHE_CHECK([whether the linker takes a version script], [cpool_cv_version_script], [
        AS_ECHO(["{ global: main; local: *; };"]) > conftest.map
        cpool_saved_LDFLAGS=$LDFLAGS
        LDFLAGS="$LDFLAGS -Wl,--version-script=conftest.map"
        AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
            [cpool_cv_version_script=yes], [cpool_cv_version_script=no])
        LDFLAGS=$cpool_saved_LDFLAGS
        rm -f conftest.map
    ])
    have_version_script=$cpool_cv_version_script
    AM_CONDITIONAL([HAVE_VERSION_SCRIPT], [test "x$have_version_script" = xyes])
])

# CPOOL_SANITIZER(LIST)
# Substitutes SANITIZER_CFLAGS, which both compiling and linking need, and
# SANITIZER_CPPFLAGS.  Stops
# when LIST is no known one, or when the compiler cannot link it.
AC_DEFUN([CPOOL_SANITIZER], [
    AS_CASE([$1],
        [no|''], [SANITIZER_CFLAGS=],
        [address|thread],
            [SANITIZER_CFLAGS="-fsanitize=$1 -fno-omit-frame-pointer"],
        [undefined|address,undefined],
            [SANITIZER_CFLAGS="-fsanitize=$1 -fno-sanitize-recover=undefined -fno-omit-frame-pointer"],
        [memory],
            [SANITIZER_CFLAGS="-fsanitize=$1 -fsanitize-memory-track-origins -fno-omit-frame-pointer"],
        [AC_MSG_ERROR([--enable-sanitizer takes address, undefined, thread, memory or address,undefined, not "$1"])])
    AS_IF([test -n "$SANITIZER_CFLAGS"], [
        AC_MSG_CHECKING([whether $CC can link $SANITIZER_CFLAGS])
        cpool_saved_CFLAGS=$CFLAGS
        CFLAGS="$CFLAGS $SANITIZER_CFLAGS"
        AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
            [AC_MSG_RESULT([yes])],
            [AC_MSG_RESULT([no])
             AC_MSG_ERROR([$CC has no $1 sanitizer here (memory needs clang: CC=clang)])])
        CFLAGS=$cpool_saved_CFLAGS
    ])
    # What is built and tested here sees its pools as they are.
    AS_IF([test -n "$SANITIZER_CFLAGS"], [SANITIZER_CPPFLAGS=-DCPI_TOOLS=0], [SANITIZER_CPPFLAGS=])
    AC_SUBST([SANITIZER_CFLAGS])
    AC_SUBST([SANITIZER_CPPFLAGS])
    AM_CONDITIONAL([SANITIZED], [test -n "$SANITIZER_CFLAGS"])
])
