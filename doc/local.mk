# SPDX-License-Identifier: BSD-2-Clause
# doc/local.mk - documents and manual pages, by explicit list; of doc/performance all,
# because the benchmark adds to it.

EXTRA_DIST += doc/ARCHITECTURE.md doc/CONCURRENCY.md doc/EVIDENCE.md \
	doc/PERFORMANCE.md doc/STRESS.md \
	doc/performance \
	doc/plots/bursts-all.svg doc/plots/bursts-one.svg doc/plots/handover.svg \
	doc/plots/latency-all.png doc/plots/throughput.svg

dist_man3_MANS = \
	doc/man/cpool_alloc.3 doc/man/cpool_cache.3 doc/man/cpool_create.3 \
	doc/man/cpool_error.3 doc/man/cpool_info.3 doc/man/cpool_memory.3 \
	doc/man/cpool_quiet.3 doc/man/cpool_wait.3

dist_man7_MANS = doc/man/cpool.7
