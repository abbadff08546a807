# SPDX-License-Identifier: BSD-2-Clause
# bench/local.mk - the benchmark, and the instructions of the hot path.
#
#   make bench               everything, in under 12 minutes
#   make bench-quick         the most important lines, in under 2 minutes
#   make bench-scale         over the number of threads, in under 5 minutes
#   make bench-cxx           containers in C++ with several allocators
#   make bench-smoke         every cell once, tiny: does it all work?
#   make bench-instructions  instructions per operation, counted by callgrind
#   make bench-plot          pictures of the last `make bench`
#   make bless-instructions  accepts a change of the counts that make check holds
#
# BENCH_FLAGS is handed to the benchmark: make bench BENCH_FLAGS='--rival cpool,malloc'.
# Everything links the shared library, as users do, where one is built.

# A new rival: a file here, and a line in bench/rivals.h.
bench_rivals = \
	bench/rival_array.c bench/rival_ck_epoch.c bench/rival_ck_hp.c \
	bench/rival_ck_stack.c bench/rival_condvar.c \
	bench/rival_cpool.c bench/rival_cpool.h bench/rival_cpool_cache.c \
	bench/rival_cpool_colour.c bench/rival_cpool_framed.c \
	bench/rival_cpool_frame_reset.c \
	bench/rival_cpool_object.c bench/rival_cpool_object.h bench/rival_cpool_tracked.c \
	bench/rival_cpool_typed.c bench/rival_cpool_typed_object.c \
	bench/rival_cpool_typed.h bench/rival_cpool_typed_1024.c \
	bench/rival_cpool_typed_256.c bench/rival_cpool_typed_4096.c \
	bench/rival_cpool_typed_8.c \
	bench/rival_gslice.c \
	bench/rival_malloc.c bench/rival_mutex.c bench/rival_no_grace.c \
	bench/rival_semaphore.c \
	bench/rival_tbb.c bench/rival_tbb_pool.c bench/rival_urcu.c \
	bench/rival_retire.h bench/rival_urcu.h bench/rival_urcu_pool.c bench/waitlist.h \
	tests/harness/figures.c tests/harness/figures.h

# Rivals that are C++ templates: a library of their own, because otherwise the
# whole program would be linked by the C++ compiler, which need not be there.
bench_rivals_cxx = bench/rival_boost_freelist.cpp bench/rival_boost_pool.cpp

# A new workload: a file here, and two lines in bench/workloads.h.
bench_workloads = \
	bench/workload_allocate.h bench/workload_burst.h bench/workload_create.h \
	bench/workload_foreach.h bench/workload_frame.h bench/workload_frame_end.h bench/workload_grow.h \
	bench/workload_larson.h bench/workload_latency.h \
	bench/workload_locality.h bench/workload_object_frame.h bench/workload_occupancy.h bench/workload_pipe.h \
	bench/workload_recall.h bench/workload_reclaim.h bench/workload_replace.h \
	bench/workload_resolve.h bench/workload_retire.h bench/workload_same_slot.h \
	bench/workload_wait.h

check_PROGRAMS += bench/check_family bench/check_histogram
if WITH_ALL_EXT
check_PROGRAMS += bench/instructions
endif

# Built where a target wants it.
EXTRA_PROGRAMS += bench/bench
CLEANFILES += bench/bench$(EXEEXT)

# All but the rivals.
bench_engine = \
	bench/arguments.c bench/arguments.h bench/bench.h \
	bench/cell.c bench/cell.h bench/clock.c \
	bench/contestants.c bench/counters.c bench/counters.h bench/family.c \
	bench/family.h bench/histogram.c bench/histogram.h bench/machine.c \
	bench/machine.h bench/main.c bench/measure.c bench/plan.c bench/plan.h \
	bench/report.h bench/report_figures.c bench/report_files.c \
	bench/report_histograms.c bench/report_modes.c bench/report_record.c bench/report_scale.c \
	bench/report_table.c bench/results.c \
	bench/results.h bench/ring.h \
	bench/rivals.h bench/support.c bench/workloads.h

bench_bench_SOURCES = $(bench_engine) $(bench_rivals) $(bench_workloads)
bench_bench_CPPFLAGS = $(AM_CPPFLAGS) $(CK_CFLAGS) $(URCU_CFLAGS) -DBENCH_CFLAGS='"$(CFLAGS)"'
# A compiler that knows malloc may remove a pair of calls that it finds useless.
bench_bench_CFLAGS = $(AM_CFLAGS) $(LOOP_CFLAGS) -fno-builtin-malloc \
	-fno-builtin-calloc -fno-builtin-free
# No wrapper script: it runs itself, and valgrind and objdump want the program.
bench_bench_LDFLAGS = $(AM_LDFLAGS) -no-install
bench_bench_LDADD = lib/libcpool.la $(CK_LIBS) $(URCU_LIBS) $(DL_LIBS) $(PTHREAD_LIBS) $(ATOMIC_LIBS)

if HAVE_CXX
EXTRA_LTLIBRARIES += bench/libbench-cxx.la
CLEANFILES += bench/libbench-cxx.la
bench_libbench_cxx_la_SOURCES = $(bench_rivals_cxx)
bench_libbench_cxx_la_CPPFLAGS = $(AM_CPPFLAGS)
bench_libbench_cxx_la_CXXFLAGS = $(AM_CXXFLAGS) $(LOOP_CFLAGS)
bench_bench_LDADD += bench/libbench-cxx.la -lstdc++
else
bench_bench_SOURCES += bench/rival_no_cxx.c
endif

# Containers of the standard library with several allocators, a program of its own.
if HAVE_CXX
if WITH_ALL_EXT
check_PROGRAMS += bench/nodes
TESTS += bench/nodes
endif
bench_nodes_SOURCES = bench/nodes.cpp
bench_nodes_CXXFLAGS = $(AM_CXXFLAGS) $(LOOP_CFLAGS)
bench_nodes_LDADD = lib/libcpool.la $(DL_LIBS) $(PTHREAD_LIBS)

bench-cxx: bench/nodes$(EXEEXT)
	bench/nodes$(EXEEXT) 300
endif

bench_program = bench/bench$(EXEEXT)
if WITH_ALL_EXT
bench_programs = $(bench_program)
else
bench_programs = bench/left-out
bench/left-out:
	@echo 'the benchmark uses what configure has left out:$(cpool_without)'; false
endif

# A rival with a program of its own: the benchmark starts it for that rival's cells.
if HAVE_DPDK
EXTRA_PROGRAMS += bench/bench-dpdk
CLEANFILES += bench/bench-dpdk$(EXEEXT)
bench_bench_dpdk_SOURCES = $(bench_engine) $(bench_workloads) bench/rival_dpdk.c
bench_bench_dpdk_CPPFLAGS = $(AM_CPPFLAGS) $(DPDK_CFLAGS) -DBENCH_PROGRAM_DPDK \
	-DBENCH_DPDK_DRIVER='"$(DPDK_DRIVER)"' -DBENCH_CFLAGS='"$(CFLAGS)"'
bench_bench_dpdk_CFLAGS = $(AM_CFLAGS) $(LOOP_CFLAGS)
bench_bench_dpdk_LDFLAGS = $(AM_LDFLAGS) -no-install
bench_bench_dpdk_LDADD = $(DPDK_LIBS) $(DL_LIBS) $(PTHREAD_LIBS) $(ATOMIC_LIBS)
bench_programs += bench/bench-dpdk$(EXEEXT)
endif

bench_instructions_SOURCES = \
	bench/bench.h bench/instructions.c bench/instructions.h \
	bench/instructions_modes.c bench/instructions_outline.c bench/instructions_retire.c
bench_instructions_CPPFLAGS = $(AM_CPPFLAGS) -DBENCH_CFLAGS='"$(CFLAGS)"'
bench_instructions_LDFLAGS = $(AM_LDFLAGS) -no-install
bench_instructions_LDADD = lib/libcpool.la

bench_check_family_SOURCES = bench/check_family.c bench/family.c bench/family.h

bench_check_histogram_SOURCES = \
	bench/bench.h bench/check_histogram.c bench/histogram.c bench/histogram.h

TESTS += bench/check_family bench/check_histogram bench/readme.sh
if WITH_ALL_EXT
TESTS += bench/instructions.sh
endif

EXTRA_DIST += bench/check_smoke.sh bench/golden-instructions.txt \
	bench/instructions.sh bench/plot.gp bench/plot.sh bench/plot_scale.awk bench/readme.sh bench/rival_no_cxx.c \
	$(bench_rivals_cxx)

bench_results = --csv bench/results.csv --json bench/results.json \
	--histograms bench/histograms.csv
bench_instructions = $(SHELL) $(srcdir)/bench/instructions.sh

.PHONY: bench bench-cxx bench-quick bench-scale bench-smoke bench-instructions bench-plot bless-instructions

# A whole run is kept as the file of this processor's family, and shown in README.md,
# in the source tree where that can be written to.
bench: $(bench_programs)
	@set -- $(BENCH_FLAGS); \
	folder=$(srcdir)/doc/performance; \
	test -w $$folder || folder=doc/performance; \
	sources='$(PACKAGE_STRING)'; \
	test ! -e $(srcdir)/.git || sources=`git -C $(srcdir) describe --always --dirty`; \
	$(MKDIR_P) $$folder && \
	test $$# -gt 0 || set -- --record $$folder --sources "$$sources"; \
	$(bench_program) $(bench_results) "$$@" && \
	{ test $$folder = doc/performance || \
	  srcdir=$(srcdir) $(SHELL) $(srcdir)/bench/readme.sh write; }

bench-quick: $(bench_programs)
	$(bench_program) --quick $(bench_results) $(BENCH_FLAGS)

bench-scale: $(bench_programs)
	@status=0; \
	$(bench_program) --scale --csv bench/scale.csv $(BENCH_FLAGS) >bench/scale.txt || status=1; \
	cat bench/scale.txt; \
	machine=`sed -n 's/^  processor  *//p' bench/scale.txt`; \
	system=`sed -n 's/^  system  *//p' bench/scale.txt`; \
	$(AWK) -F, -v machine="$$machine; $$system" -f $(srcdir)/bench/plot_scale.awk \
	    bench/scale.csv >bench/scale.svg || status=1; \
	echo "written: bench/scale.txt, bench/scale.csv and bench/scale.svg"; \
	exit $$status

bench-smoke: $(bench_programs) tests/harness/limit$(EXEEXT)
	srcdir=$(srcdir) BENCH=$(bench_program) tests/harness/limit$(EXEEXT) $(SHELL) $(srcdir)/bench/check_smoke.sh

bench-instructions: bench/instructions$(EXEEXT)
	$(bench_instructions) show 10000000

bless-instructions: bench/instructions$(EXEEXT)
	$(bench_instructions) bless

bench-plot:
	$(SHELL) $(srcdir)/bench/plot.sh bench bench

bench_pictures = throughput handover bursts-one bursts-all latency-one latency-all

CLEANFILES += bench/results.csv bench/results.json bench/histograms.csv \
	bench/scale.csv bench/scale.svg bench/scale.txt \
	$(bench_pictures:%=bench/%.svg) $(bench_pictures:%=bench/%.png)
