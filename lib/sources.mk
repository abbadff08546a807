# SPDX-License-Identifier: BSD-2-Clause
# lib/sources.mk - every file of the library, once, a folder after those that it may include
# (README.md), and those of the libraries over pools, with their public headers.  lib/local.mk,
# CMakeLists.txt, meson.build and amalgamate.sh read this list.

libcpool_sources = \
	lib/base/atomic.h \
	lib/base/bits.h \
	lib/base/compiler.h \
	lib/base/error.c \
	lib/base/error.h \
	lib/base/list.h \
	lib/base/structs.c \
	lib/base/structs.h \
	lib/base/tools.c \
	lib/base/tools.h \
	lib/host/options.c \
	lib/host/options.h \
	lib/host/os.h \
	lib/host/os_posix.c \
	lib/host/os_windows.c \
	lib/host/os_windows.h \
	lib/host/sync.h \
	lib/process/descriptor.c \
	lib/process/descriptor.h \
	lib/process/handler.c \
	lib/process/thread.c \
	lib/process/thread.h \
	lib/depot/depot.c \
	lib/depot/depot.h \
	lib/depot/extent.c \
	lib/depot/extent.h \
	lib/depot/slab.c \
	lib/depot/slab.h \
	lib/depot/tagstack.h \
	lib/cache/cache.c \
	lib/cache/cache.h \
	lib/cache/reclaim.c \
	lib/cache/reclaim.h \
	lib/cache/registry.c \
	lib/cache/registry.h \
	lib/wait/queue.h \
	lib/wait/waiters.c \
	lib/wait/waiters.h \
	lib/track/words.h \
	lib/check/guards.c \
	lib/check/guards.h \
	lib/check/records.c \
	lib/check/records.h \
	lib/check/samples.c \
	lib/check/samples.h \
	lib/pool/alloc.c \
	lib/pool/alloc.h \
	lib/pool/build.c \
	lib/pool/bulk.c \
	lib/pool/caches.c \
	lib/pool/client.c \
	lib/pool/config.c \
	lib/pool/config.h \
	lib/pool/create.c \
	lib/pool/destroy.c \
	lib/pool/inline.c \
	lib/pool/memory.c \
	lib/pool/pool.h \
	lib/pool/pools.c \
	lib/pool/dump.c \
	lib/pool/report.c \
	lib/pool/report.h \
	lib/pool/slots.c \
	lib/pool/slots.h \
	lib/pool/stats.c \
	lib/pool/tracked.c \
	lib/pool/typed.c \
	lib/pool/wait.c \
	lib/frame/frame.c

ext_objects_sources = \
	ext/objects/object.c \
	ext/objects/object.h \
	ext/objects/object_create.c \
	ext/objects/object_frame.c \
	ext/objects/object_heap.h \
	ext/objects/object_priority.c \
	ext/objects/object_room.c \
	ext/objects/object_slot.c

ext_sized_sources = \
	ext/sized/sized.c \
	ext/sized/sized_create.c \
	ext/sized/sized_impl.h

ext_retire_sources = \
	ext/common.h \
	ext/retire/domain.c \
	ext/retire/domain.h \
	ext/retire/epoch.c \
	ext/retire/retire.c

ext_lanes_sources = \
	ext/lanes/lanes.c

ext_objects_headers = \
	include/cpool/object.h \
	include/cpool/object_frame.h \
	include/cpool/object_typed.h \
	include/cpool/priority.h

ext_sized_headers = \
	include/cpool/sized.h

ext_retire_headers = \
	include/cpool/retire.h

ext_lanes_headers = \
	include/cpool/lanes.h
