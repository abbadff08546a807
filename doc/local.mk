# SPDX-License-Identifier: BSD-2-Clause
# doc/local.mk - documents and manual pages, by explicit list; of doc/performance all,
# because the benchmark adds to it.

EXTRA_DIST += doc/ADOPTING.md doc/adopting.c doc/CONCURRENCY.md doc/DESIGN.md doc/JSON.md \
	doc/json-schema.json doc/PERFORMANCE.md doc/REAL_TIME.md doc/TESTING.md doc/performance \
	doc/plots/bursts-all.svg doc/plots/bursts-one.svg doc/plots/handover.svg \
	doc/plots/demo.png doc/plots/latency-all.png doc/plots/throughput.svg

# The manual pages are made from the public headers, one by topic and one for each
# function, which refers to its topic.  They are shipped, too.
man_headers = include/cpool.h include/cpool/error.h include/cpool/create.h include/cpool/alloc.h \
	include/cpool/cache.h include/cpool/memory.h include/cpool/wait.h include/cpool/info.h \
	include/cpool/print.h include/cpool/frame.h \
	include/cpool/pools.h include/cpool/track.h include/cpool/typed.h include/cpool/sized.h \
	include/cpool/object.h include/cpool/object_typed.h \
	include/cpool/object_frame.h \
	include/cpool/priority.h include/cpool/lanes.h include/cpool/retire.h include/cpool/debug.h \
	include/cpool/client.h
# Notes of a page and more, which a header only refers to.
man_notes = doc/man/cpool.txt doc/man/cpool_debug.txt doc/man/cpool_frame.txt \
	doc/man/cpool_object.txt doc/man/cpool_pools.txt doc/man/cpool_priority.txt \
	doc/man/cpool_retire.txt doc/man/cpool_track.txt doc/man/cpool_typed.txt
man_date = 2026-11-29

dist_man3_MANS = \
	doc/man/CPOOL_OBJECTS_DECLARE.3 doc/man/CPOOL_OBJECTS_DEFINE.3 doc/man/cpool_object_release.3 doc/man/cpool_object_typed.3 \
	doc/man/cpool_object.3 \
	doc/man/cpool_object_get.3 doc/man/cpool_objects_next.3 \
	doc/man/cpool_object_frame.3 \
	doc/man/cpool_object_frame_begin.3 \
	doc/man/cpool_object_frame_end.3 doc/man/cpool_object_frame_get.3 \
	doc/man/cpool_object_get_with.3 doc/man/cpool_objects_populate.3 doc/man/cpool_object_put.3 \
	doc/man/cpool_object_size.3 doc/man/cpool_objects_read_stats.3 \
	doc/man/cpool_objects_create.3 doc/man/cpool_objects_destroy.3 \
	doc/man/cpool_objects_pool.3 doc/man/cpool_objects_reset.3 doc/man/cpool_objects_resize.3 \
	doc/man/cpool_alloc.3 doc/man/cpool_cache.3 doc/man/cpool_create.3 doc/man/cpool_error.3 \
	doc/man/cpool_info.3 doc/man/cpool_memory.3 \
	doc/man/cpool_typed.3 doc/man/cpool_version.3 doc/man/CPOOL_DECLARE.3 \
	doc/man/CPOOL_DEFINE.3 \
	doc/man/CPOOL_DECLARE_HANDLES.3 doc/man/CPOOL_DECLARE_FRAMES.3 doc/man/CPOOL_OBJECTS_DECLARE_FRAMES.3 \
	doc/man/CPOOL_DECLARE_NOTICES.3 doc/man/CPOOL_MEMORY_BYTES.3 \
	doc/man/CPOOL_DEFINE_INLINE.3 doc/man/cpool_wait.3 \
	doc/man/cpool_of.3 doc/man/cpool_pools.3 \
	doc/man/cpool_alloc_bulk.3 \
	doc/man/cpool_alloc_wait.3 doc/man/cpool_at.3 doc/man/cpool_cache_alloc.3 \
	doc/man/cpool_cache_create.3 doc/man/cpool_cache_destroy.3 doc/man/cpool_cache_flush.3 \
	doc/man/cpool_cache_free.3 \
	doc/man/cpool_client.3 doc/man/cpool_client_create.3 doc/man/cpool_client_discard.3 \
	doc/man/cpool_client_lock.3 doc/man/cpool_client_memory.3 doc/man/cpool_client_own.3 \
	doc/man/cpool_client_release.3 doc/man/cpool_client_report.3 doc/man/cpool_client_retire.3 \
	doc/man/cpool_client_show.3 doc/man/cpool_client_take.3 doc/man/cpool_client_unlock.3 \
	doc/man/cpool_calloc.3 doc/man/cpool_alloc_uncached.3 doc/man/cpool_free_uncached.3 \
	doc/man/cpool_destroy.3 doc/man/cpool_flush.3 doc/man/cpool_free.3 \
	doc/man/cpool_frame.3 doc/man/cpool_frame_adopt.3 doc/man/cpool_frame_alloc.3 \
	doc/man/cpool_frame_begin.3 doc/man/cpool_frame_end.3 doc/man/cpool_frame_reset.3 \
	doc/man/cpool_free_bulk.3 doc/man/cpool_grow.3 doc/man/cpool_index.3 \
	doc/man/cpool_index_limit.3 \
	doc/man/cpool_memory_required.3 doc/man/cpool_owns.3 \
	doc/man/cpool_dump.3 doc/man/cpool_print.3 \
	doc/man/cpool_reserve.3 doc/man/cpool_reset.3 \
	doc/man/cpool_debug.3 \
	doc/man/cpool_verify.3 \
	doc/man/cpool_span.3 doc/man/cpool_set_pressure.3 doc/man/cpool_set_ready.3 \
	doc/man/cpool_alloc_or_notify.3 doc/man/cpool_wait_cancel.3 doc/man/cpool_wait_close.3 \
	doc/man/cpool_wait_open.3 \
	doc/man/cpool_sized.3 doc/man/cpool_sized_alloc.3 doc/man/cpool_sized_alloc_aligned.3 doc/man/cpool_sized_calloc.3 \
	doc/man/cpool_sized_class_of.3 doc/man/cpool_sized_create.3 doc/man/cpool_sized_destroy.3 \
	doc/man/cpool_sized_free.3 doc/man/cpool_sized_realloc.3 \
	doc/man/cpool_sized_read_stats.3 doc/man/cpool_sized_trim.3 doc/man/cpool_sized_usable_size.3 \
	doc/man/cpool_release.3 \
	doc/man/cpool_domain_create.3 \
	doc/man/cpool_domain_destroy.3 \
	doc/man/cpool_domain_read_stats.3 \
	doc/man/cpool_read_begin.3 \
	doc/man/cpool_read_end.3 \
	doc/man/cpool_read_quiescent.3 \
	doc/man/cpool_reader_create.3 \
	doc/man/cpool_reader_destroy.3 \
	doc/man/cpool_retire.3 \
	doc/man/cpool_retire_flush.3 \
	doc/man/cpool_lane_alloc.3 \
	doc/man/cpool_lane_free.3 \
	doc/man/cpool_lanes.3 \
	doc/man/cpool_lanes_balance.3 \
	doc/man/cpool_lanes_create.3 \
	doc/man/cpool_lanes_destroy.3 \
	doc/man/cpool_lanes_load.3 \
	doc/man/cpool_lanes_pool.3 \
	doc/man/cpool_lanes_save.3 \
	doc/man/CPOOL_LANES_STATE_SIZE.3 \
	doc/man/cpool_priority.3 \
	doc/man/cpool_priority_put.3 \
	doc/man/cpool_priority_set.3 \
	doc/man/cpool_each.3 \
	doc/man/cpool_set_error_handler.3 doc/man/cpool_shrink.3 doc/man/cpool_read_stats.3 \
	doc/man/cpool_track.3 doc/man/cpool_handle.3 \
	doc/man/cpool_iter_next.3 doc/man/cpool_resolve.3 \
	doc/man/cpool_strerror.3 doc/man/cpool_trim.3

dist_man7_MANS = doc/man/cpool.7

EXTRA_DIST += doc/man/make-pages.awk doc/man/pages.stamp $(man_notes)

# The stamp is made first, so that no page is older.
doc/man/pages.stamp: $(man_headers) $(man_notes) doc/man/make-pages.awk include/cpool/version.h
	$(AM_V_GEN)$(MKDIR_P) doc/man && : > doc/man/pages.tmp
	$(AM_V_at)cd $(srcdir) && $(AWK) -v out='$(abs_builddir)/doc/man' \
		-v version='$(PACKAGE_VERSION)' -v date='$(man_date)' -v notes=doc/man \
		-f doc/man/make-pages.awk $(man_headers)
	$(AM_V_at)mv doc/man/pages.tmp $@

$(dist_man3_MANS) $(dist_man7_MANS): doc/man/pages.stamp ;

# As HTML, where there is a mandoc.
html-local: $(dist_man3_MANS) $(dist_man7_MANS) doc/man/make-html.sh
	@test '$(MANDOC)' != no || { echo 'make html needs mandoc'; exit 1; }
	$(AM_V_GEN)pages=; for page in $(dist_man7_MANS) $(dist_man3_MANS); do \
		test -e $$page || page=$(srcdir)/$$page; pages="$$pages $$page"; done; \
	MANDOC='$(MANDOC)' $(SHELL) $(srcdir)/doc/man/make-html.sh doc/html $$pages

EXTRA_DIST += doc/man/make-html.sh doc/make-spdx.sh

# The library as two files, ready made, and the files of the archive with their licences:
# $(PACKAGE).spdx in it.
dist-hook:
	$(AM_V_GEN)AWK='$(AWK)' $(SHELL) $(srcdir)/lib/amalgamate.sh $(distdir)/two-files all
	$(AM_V_GEN)$(SHELL) $(srcdir)/doc/make-spdx.sh $(distdir) $(PACKAGE) $(PACKAGE_VERSION)

# For Meson: cpool.wrap goes into subprojects/ of a program, and the archive into
# subprojects/packagefiles/, or a line source_url says from where Meson fetches it.
wrap: dist
	$(AM_V_GEN){ echo '[wrap-file]' && echo 'directory = $(distdir)' && \
		echo 'source_filename = $(distdir).tar.gz' && \
		sum=`sha256sum $(distdir).tar.gz` && echo "source_hash = $${sum%% *}" && \
		echo && echo '[provide]' && echo 'cpool = cpool_dep'; } > cpool.wrap

CLEANFILES += cpool.wrap

.PHONY: wrap

MAINTAINERCLEANFILES += $(dist_man3_MANS) $(dist_man7_MANS) doc/man/pages.stamp
