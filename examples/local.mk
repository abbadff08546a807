# SPDX-License-Identifier: BSD-2-Clause
# examples/local.mk - a program for every use of the library, and `make demo`.
#
# `make` builds none of them: `make examples` builds all, `make check` too, and a demo what it runs.

examples_programs = \
	examples/first examples/frame \
	examples/caller_memory examples/fiber_cache examples/quota \
	examples/spool examples/eventloop examples/packets \
	examples/entities examples/plugins examples/metrics \
	examples/particles/particles examples/particles/lit \
	examples/jobs/jobs examples/jobs/frames examples/jobs/lines
if WITH_OBJECTS
examples_programs += examples/connections examples/effects examples/mixer
endif
if WITH_LANES
examples_programs += examples/lockstep
endif
if WITH_RETIRE
examples_programs += examples/hashtable examples/routes
endif
if WITH_SIZED
examples_programs += examples/index examples/broker
endif
if HAVE_CXX
examples_programs += examples/orders
endif
if HAVE_URING
examples_programs += examples/fixed_buffers
endif

check_PROGRAMS += $(examples_programs)

examples: $(examples_programs:%=%$(EXEEXT))

.PHONY: examples

# One small program per use, with its output held against what it should be.

examples_first_SOURCES = examples/first.c
examples_first_LDADD = lib/libcpool.la

examples_frame_SOURCES = examples/frame.c
examples_frame_LDADD = lib/libcpool.la

examples_caller_memory_SOURCES = examples/caller_memory.c
examples_caller_memory_LDADD = lib/libcpool.la

examples_fiber_cache_SOURCES = examples/fiber_cache.c
examples_fiber_cache_LDADD = lib/libcpool.la $(PTHREAD_LIBS)

examples_connections_SOURCES = examples/connections.c
examples_connections_LDADD = lib/libcpool.la $(PTHREAD_LIBS)

examples_quota_SOURCES = examples/quota.c
examples_quota_LDADD = lib/libcpool.la $(ATOMIC_LIBS)

examples_spool_SOURCES = examples/spool.c
examples_spool_LDADD = lib/libcpool.la $(PTHREAD_LIBS)

examples_eventloop_SOURCES = examples/eventloop.c
examples_eventloop_LDADD = lib/libcpool.la $(PTHREAD_LIBS)

examples_fixed_buffers_SOURCES = examples/fixed_buffers.c
examples_fixed_buffers_CFLAGS = $(AM_CFLAGS) $(URING_CFLAGS)
examples_fixed_buffers_LDADD = lib/libcpool.la $(URING_LIBS)

examples_packets_SOURCES = examples/packets.c
examples_packets_LDADD = lib/libcpool.la

examples_entities_SOURCES = examples/entities.c
examples_entities_LDADD = lib/libcpool.la

examples_plugins_SOURCES = examples/plugins.c
examples_plugins_LDADD = lib/libcpool.la

examples_metrics_SOURCES = examples/metrics.c
examples_metrics_LDADD = lib/libcpool.la $(PTHREAD_LIBS)

examples_orders_SOURCES = examples/orders.cpp
examples_orders_LDADD = lib/libcpool.la

examples_index_SOURCES = examples/index.c
examples_index_LDADD = lib/libcpool.la

examples_broker_SOURCES = examples/broker.c
examples_broker_LDADD = lib/libcpool.la

examples_effects_SOURCES = examples/effects.c
examples_effects_LDADD = lib/libcpool.la

examples_mixer_SOURCES = examples/mixer.c
examples_mixer_LDADD = lib/libcpool.la

examples_routes_SOURCES = examples/routes.c
examples_routes_LDADD = lib/libcpool.la $(PTHREAD_LIBS) $(ATOMIC_LIBS)

examples_lockstep_SOURCES = examples/lockstep.c
examples_lockstep_LDADD = lib/libcpool.la

examples_hashtable_SOURCES = examples/hashtable.c
examples_hashtable_LDADD = lib/libcpool.la $(PTHREAD_LIBS)

# A bounded pool of real connections, with threads that wait for them.
demo-connections: examples/connections$(EXEEXT)
	@examples/connections$(EXEEXT)

.PHONY: demo-connections

# Particles that release themselves, moved by jobs, drawn with libpng.
examples_particles_particles_SOURCES = \
	examples/jobs/allocator.c examples/jobs/allocator.h \
	examples/jobs/deque.c examples/jobs/deque.h \
	examples/jobs/scheduler.c examples/jobs/scheduler.h \
	examples/particles/picture.c examples/particles/picture.h \
	examples/particles/world.c examples/particles/world.h \
	examples/particles/particles.c
examples_particles_particles_CFLAGS = $(AM_CFLAGS) $(PNG_CFLAGS)
examples_particles_particles_LDADD = lib/libcpool.la $(PNG_LIBS) $(PTHREAD_LIBS) $(ATOMIC_LIBS)

# Looks at the pictures.
examples_particles_lit_SOURCES = examples/particles/picture.c examples/particles/picture.h \
	examples/particles/lit.c
examples_particles_lit_CFLAGS = $(AM_CFLAGS) $(PNG_CFLAGS)
examples_particles_lit_LDADD = $(PNG_LIBS)

demo-particles: examples/particles/particles$(EXEEXT)
	@examples/particles/particles$(EXEEXT) --output "$$(pwd)/examples/particles"

.PHONY: demo-particles

CLEANFILES += examples/particles/frame-*.png

# The job system: from its base to its work.
examples_jobs_jobs_SOURCES = \
	examples/jobs/allocator.c examples/jobs/allocator.h \
	examples/jobs/deque.c examples/jobs/deque.h \
	examples/jobs/scheduler.c examples/jobs/scheduler.h \
	examples/jobs/text.c examples/jobs/text.h \
	examples/jobs/frequency.c examples/jobs/frequency.h \
	examples/jobs/tally.c examples/jobs/tally.h \
	examples/jobs/skipped.c examples/jobs/skipped.h \
	examples/jobs/tree.h examples/jobs/tree_job.h \
	examples/jobs/tree.c examples/jobs/file.c \
	examples/jobs/pools.c examples/jobs/pools.h \
	examples/jobs/summary.c examples/jobs/summary.h \
	examples/jobs/recount.c examples/jobs/recount.h \
	examples/jobs/kernels.c examples/jobs/kernels.h examples/jobs/kernel.h \
	examples/jobs/kernel_fork.c examples/jobs/kernel_chain.c \
	examples/jobs/options.c examples/jobs/options.h \
	examples/jobs/report.c examples/jobs/report.h \
	examples/jobs/main.c
examples_jobs_jobs_LDADD = lib/libcpool.la -lm $(PTHREAD_LIBS) $(ATOMIC_LIBS)

# The same job system run frame by frame, no frame being held up by its pool.
examples_jobs_frames_SOURCES = \
	examples/jobs/allocator.c examples/jobs/allocator.h \
	examples/jobs/deque.c examples/jobs/deque.h \
	examples/jobs/scheduler.c examples/jobs/scheduler.h \
	examples/jobs/frames.c
examples_jobs_frames_LDADD = lib/libcpool.la $(PTHREAD_LIBS) $(ATOMIC_LIBS)

# A job for each line of a text, with one allocator in a process: what make demo compares.
examples_jobs_lines_SOURCES = \
	examples/jobs/allocator.c examples/jobs/allocator.h \
	examples/jobs/deque.c examples/jobs/deque.h \
	examples/jobs/scheduler.c examples/jobs/scheduler.h \
	examples/jobs/text.c examples/jobs/text.h \
	examples/jobs/corpus.c examples/jobs/corpus.h \
	examples/jobs/replay.c examples/jobs/replay.h \
	examples/jobs/lines.c examples/jobs/lines.h examples/jobs/options.h \
	examples/jobs/lines_main.c
examples_jobs_lines_LDADD = lib/libcpool.la $(PTHREAD_LIBS) $(ATOMIC_LIBS)

examples_tests = examples/check-examples.sh examples/check-frames.sh \
	examples/check-jobs.sh examples/check-kernels.sh \
	examples/check-lines.sh examples/check-particles.sh
if WITH_RETIRE
examples_tests += examples/check-hashtable.sh
endif
TESTS += $(examples_tests)
EXTRA_DIST += examples/check-hashtable.sh $(examples_tests)

# make demo [DEMO_DIR=directory] [DEMO_THREADS=n] [DEMO_SECONDS=n]: the words of a tree, and
# its lines with every allocator that is found, as a table and as demo.png.  demo-publish
# puts both into the documentation.
DEMO_DIR = /usr/include
# 0: as many as there are processors
DEMO_THREADS = 0
DEMO_FLAGS =
DEMO_SECONDS = 24
DEMO = srcdir='$(srcdir)' DEMO_DIR='$(DEMO_DIR)' DEMO_THREADS='$(DEMO_THREADS)' \
	DEMO_FLAGS='$(DEMO_FLAGS)' DEMO_SECONDS='$(DEMO_SECONDS)' $(SHELL) $(srcdir)/examples/demo.sh

demo: examples/jobs/jobs$(EXEEXT) examples/jobs/lines$(EXEEXT)
	@$(DEMO)

demo-publish: examples/jobs/jobs$(EXEEXT) examples/jobs/lines$(EXEEXT)
	@$(DEMO) publish

EXTRA_DIST += examples/README.md examples/demo.sh examples/demo.gp
CLEANFILES += demo.png

# make demo-kernels [DEMO_KERNEL=fib] [DEMO_THREADS=n]: tiny jobs and nothing else, with a
# typed pool, a pool by its handle, and malloc.
DEMO_KERNEL = all

demo-kernels: examples/jobs/jobs$(EXEEXT)
	@examples/jobs/jobs$(EXEEXT) --threads '$(DEMO_THREADS)' --kernel '$(DEMO_KERNEL)'

.PHONY: demo demo-publish demo-kernels
