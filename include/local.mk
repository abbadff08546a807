# SPDX-License-Identifier: BSD-2-Clause
# include/local.mk - the public headers.

include_HEADERS = include/cpool.h

cpoolincludedir = $(includedir)/cpool
cpoolinclude_HEADERS = \
	include/cpool/alloc.h \
	include/cpool/analyze.h \
	include/cpool/attributes.h \
	include/cpool/cache.h \
	include/cpool/cache.hpp \
	include/cpool/client.h \
	include/cpool/cpool.hpp \
	include/cpool/create.h \
	include/cpool/debug.h \
	include/cpool/error.h \
	include/cpool/error.hpp \
	include/cpool/fast.h \
	include/cpool/frame.h \
	include/cpool/frame.hpp \
	include/cpool/info.h \
	include/cpool/inplace.hpp \
	include/cpool/lanes.h \
	include/cpool/live.hpp \
	include/cpool/memory.h \
	include/cpool/object.h \
	include/cpool/object.hpp \
	include/cpool/object_frame.h \
	include/cpool/object_typed.h \
	include/cpool/owner.hpp \
	include/cpool/pool.hpp \
	include/cpool/pooled.hpp \
	include/cpool/pools.h \
	include/cpool/print.h \
	include/cpool/priority.h \
	include/cpool/resource.hpp \
	include/cpool/retire.h \
	include/cpool/retire.hpp \
	include/cpool/sized.h \
	include/cpool/sized.hpp \
	include/cpool/track.h \
	include/cpool/typed.h \
	include/cpool/version.h \
	include/cpool/wait.h
