# SPDX-License-Identifier: BSD-2-Clause
# tests/modules/local.mk - tests that see the modules inside, in the folders of lib/.

tests_modules = \
	tests/modules/base/check_error \
	tests/modules/depot/check_extent \
	tests/modules/host/check_options \
	tests/modules/process/check_inherit \
	tests/modules/process/check_reentry \
	tests/modules/depot/check_depot \
	tests/modules/depot/check_tagstack \
	tests/modules/cache/check_barrier \
	tests/modules/cache/check_cache \
	tests/modules/cache/check_cache_edge \
	tests/modules/cache/check_recall \
	tests/modules/cache/check_reclaim \
	tests/modules/cache/check_registry \
	tests/modules/pool/check_fault_create \
	tests/modules/pool/check_fault_memory \
	tests/modules/pool/check_fault_use \
	tests/modules/pool/check_client \
	tests/modules/pool/check_reserved \
	tests/modules/pool/check_layout \
	tests/modules/pool/check_populate \
	tests/modules/wait/check_faults \
	tests/modules/wait/check_fault_wait \
	tests/modules/wait/check_wait_crowd \
	tests/modules/wait/check_wait_fair \
	tests/modules/track/check_slotmap \
	tests/modules/track/check_slotmap_narrow \
	tests/modules/track/check_track_twice \
	tests/modules/check/check_guard_unit \
	tests/modules/check/check_samples_unit

if HAVE_CHECK
check_PROGRAMS += $(tests_modules)
TESTS += $(tests_modules)
endif

# With the calls of the system sent through the harness, which refuses some.
tests_refused = $(foreach test,$(tests_modules) $(tests_ext),$(if $(findstring /check_fault,$(test)),$(test)))
$(tests_refused): private AM_LDFLAGS += $(tests_refuse_ldflags)

# With calls of the C library's sent through the test.
tests_modules_process_check_reentry_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=pthread_atfork \
	-Wl,--wrap=pthread_key_create,--wrap=pthread_setspecific,--wrap=pthread_key_delete

# Generations of two bits, which come round at once.
tests_modules_track_check_slotmap_narrow_SOURCES = tests/modules/track/check_slotmap.c lib/track/words.h
tests_modules_track_check_slotmap_narrow_CPPFLAGS = $(tests_cppflags) -DCPI_GENERATION_BITS=2u

