# SPDX-License-Identifier: BSD-2-Clause
# ext/objects/local.mk - the tests of pools of objects, and of priorities.

ext_objects_tests = \
	ext/objects/tests/check_fault_object_wait \
	ext/objects/tests/check_fault_objects \
	ext/objects/tests/check_object \
	ext/objects/tests/check_object_frame \
	ext/objects/tests/check_object_heap \
	ext/objects/tests/check_object_near \
	ext/objects/tests/check_object_room \
	ext/objects/tests/check_object_threads \
	ext/objects/tests/check_object_typed \
	ext/objects/tests/check_priority \
	ext/objects/tests/check_steps_object \
	ext/objects/tests/check_steps_object_claim \
	ext/objects/tests/check_steps_object_fork \
	ext/objects/tests/check_steps_priority

# Beside blocks of many sizes and lanes.
if WITH_ALL_EXT
ext_objects_tests += ext/objects/tests/check_faces
endif

if WITH_OBJECTS
if HAVE_CHECK
check_PROGRAMS += $(ext_objects_tests)
TESTS += $(ext_objects_tests)
endif
endif

ext/objects/tests/%.$(OBJEXT): AM_CPPFLAGS += $(tests_ext_cppflags)

EXTRA_DIST += ext/objects/README.md ext/objects/tests/granted.h ext/objects/tests/object.h ext/objects/tests/steps_objects.h
