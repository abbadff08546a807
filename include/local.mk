# SPDX-License-Identifier: BSD-2-Clause
# include/local.mk - the public headers.

include_HEADERS = include/cpool.h

cpoolincludedir = $(includedir)/cpool
cpoolinclude_HEADERS = include/cpool/attributes.h include/cpool/fast.h include/cpool/sized.h include/cpool/tsan.h \
	include/cpool/typed.h
# Made by configure from version.h.in, which is distributed instead.
nodist_cpoolinclude_HEADERS = include/cpool/version.h

# Anew when the template has changed.
BUILT_SOURCES += include/cpool/version.h
