# SPDX-License-Identifier: BSD-2-Clause
# include/local.mk - the public headers.

include_HEADERS = include/cpool.h

cpoolincludedir = $(includedir)/cpool
cpoolinclude_HEADERS = \
	include/cpool/attributes.h \
	include/cpool/cpool.hpp \
	include/cpool/debug.h \
	include/cpool/events.h \
	include/cpool/fast.h \
	include/cpool/layer.h \
	include/cpool/live.hpp \
	include/cpool/object.h \
	include/cpool/object.hpp \
	include/cpool/lease.h \
	include/cpool/pools.h \
	include/cpool/sized.h \
	include/cpool/tools.h \
	include/cpool/track.h \
	include/cpool/typed.h \
	include/cpool/version.h
