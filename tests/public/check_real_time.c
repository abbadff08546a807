/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_real_time.c - the operations that doc/REAL_TIME.md gives to threads with deadlines make no
 * system call, wherever a thread of a lower priority has been stopped in an operation of its own.
 * tests/scripts/check-docs.sh compares the page with the calls here.
 */
#include "growth.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>

#if defined(__linux__)
#include <sys/syscall.h>
#endif

#include <cpool/frame.h>
#include <cpool/lanes.h>
#include <cpool/object.h>
#include <cpool/object_frame.h>
#include <cpool/pools.h>
#include <cpool/retire.h>
#include <cpool/sized.h>
#include <cpool/track.h>

enum { SLOT_SIZE = 64, CAPACITY = 10000, MANY = 1000, LANES = 4, TURNS = 2000, NAP = 20000 };

static const unsigned kinds[] = { 0, CPOOL_CHECKED, CPOOL_TRACKED };

static unsigned flags; /* of the pool */
static cpool_t *pool;
static cpool_cache_t *cache;
static cpool_objects_t *objects;
static cpool_sized_t *sized;
static cpool_lanes_t *lanes;
static cpool_domain_t *domain;
static cpool_reader_t *reader;
static unsigned char state[CPOOL_LANES_STATE_SIZE(CAPACITY, LANES)];

static void create_all(void)
{
    cpool_objects_config_t objects_config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_domain_config_t domain_config = CPOOL_DOMAIN_CONFIG_INIT;
    cpool_sized_config_t sized_config = CPOOL_SIZED_CONFIG_INIT;
    cpool_lanes_config_t lanes_config = CPOOL_LANES_CONFIG_INIT;
    cpool_config_t slots = support_config(SLOT_SIZE, CAPACITY);

    pool = growth_pool(SLOT_SIZE, flags, CAPACITY, 0);
    REQUIRE_EQUAL(cpool_reserve(pool, CAPACITY), 0);
    REQUIRE_EQUAL(cpool_cache_create(&cache, pool), 0);
    type.object_size = SLOT_SIZE;
    objects_config.type = &type;
    objects_config.capacity = objects_config.populate = CAPACITY;
    REQUIRE_EQUAL(cpool_objects_create(&objects, &objects_config), 0);
    lanes_config.slots = &slots;
    lanes_config.lanes = LANES;
    REQUIRE_EQUAL(cpool_sized_create(&sized, &sized_config), 0);
    REQUIRE_EQUAL(cpool_lanes_create(&lanes, &lanes_config), 0);
    domain_config.readers = 2;
    domain_config.max_held = 100;
    REQUIRE_EQUAL(cpool_domain_create(&domain, &domain_config), 0);
    REQUIRE_EQUAL(cpool_reader_create(&reader, domain, 0), 0);
}

static void use_slots(void **slots, size_t n)
{
    cpool_frame_t *frame = NULL;
    cpool_iter_t iter = CPOOL_ITER_INIT(pool, 0, SIZE_MAX);
    void *slot = cpool_calloc(pool);

    slots[0] = cpool_alloc(pool);
    slots[1] = cpool_cache_alloc(cache);
    slots[2] = cpool_alloc_uncached(pool);
    slots[3] = cpool_alloc_wait(pool, NULL);
    slots[4] = cpool_alloc_or_notify(pool);
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots + 5, n - 5, n - 5), n - 5);
    for (size_t i = 0; i < n; i++)
        REQUIRE(cpool_owns(pool, slots[i]) && cpool_of(slots[i], NULL) == pool);
    REQUIRE(cpool_at(pool, cpool_index(pool, slot)) == slot && cpool_index_limit(pool) > 0);
    if (flags == CPOOL_TRACKED)
        REQUIRE(cpool_resolve(pool, cpool_handle(pool, slot)) == slot &&
                cpool_iter_next(&iter) != NULL);
    REQUIRE_EQUAL(cpool_frame_begin(&frame, pool), 0);
    REQUIRE(cpool_frame_alloc(frame) != NULL && cpool_frame_adopt(frame, slot) == 0);
    cpool_frame_reset(frame);
    cpool_frame_end(frame);
    cpool_free(pool, slots[0]);
    cpool_cache_free(cache, slots[1]);
    cpool_free_uncached(pool, slots[2]);
    cpool_release(slots[3]);
    cpool_free_bulk(pool, slots + 4, n - 4);
    cpool_cache_flush(cache);
    cpool_flush(pool);
    REQUIRE(cpool_strerror(CPOOL_OK) != NULL && cpool_version() > 0 && cpool_span(pool, &slot) > 0);
}

static void use_ext(void **slots, size_t n)
{
    cpool_object_info_t info = CPOOL_OBJECT_INFO_INIT;
    cpool_grant_t grant = CPOOL_GRANT_INIT;
    cpool_sized_class_t class = CPOOL_SIZED_CLASS_INIT;
    cpool_domain_stats_t stats = CPOOL_DOMAIN_STATS_INIT;
    cpool_object_frame_t *frame = NULL;

    REQUIRE_EQUAL(cpool_object_get_with(objects, &slots[0], &grant), 0);
    for (size_t i = 1; i < n; i++)
        REQUIRE((slots[i] = cpool_object_get(objects)) != NULL);
    REQUIRE(cpool_objects_pool(objects) != NULL && cpool_objects_next(objects, &info) != NULL);
    REQUIRE_EQUAL(cpool_object_frame_begin(&frame, objects), 0);
    REQUIRE(cpool_object_frame_get(frame) != NULL);
    cpool_object_frame_end(frame);
    cpool_object_release(slots[0]);
    for (size_t i = 1; i < n; i++)
        cpool_object_put(objects, slots[i]);
    REQUIRE_EQUAL(cpool_sized_class_of(sized, SLOT_SIZE, &class), 0);
    slots[0] = cpool_sized_alloc(sized, SLOT_SIZE);
    slots[1] = cpool_sized_alloc_aligned(sized, SLOT_SIZE, SLOT_SIZE);
    slots[2] = cpool_sized_calloc(sized, 1, SLOT_SIZE);
    slots[2] = cpool_sized_realloc(sized, slots[2], cpool_sized_usable_size(sized, slots[2]));
    for (int i = 0; i < 3; i++)
        cpool_sized_free(sized, slots[i]);
    REQUIRE_EQUAL(cpool_lanes_save(lanes, state, sizeof state), 0);
    slots[0] = cpool_lane_alloc(lanes, 0);
    cpool_lane_free(lanes, 1, slots[0]);
    REQUIRE_EQUAL(cpool_lanes_load(lanes, state, sizeof state), 0);
    REQUIRE(cpool_lanes_pool(lanes) != NULL && cpool_lanes_balance(lanes) == CAPACITY);
    cpool_read_begin(reader);
    cpool_read_quiescent(reader);
    cpool_read_end(reader);
    REQUIRE_EQUAL(cpool_domain_read_stats(domain, &stats), 0);
}

/* A thread of the usual kind, which is stopped wherever it is. */
static void *use_for_ever(void *unused)
{
    static void *slots[MANY];

    for (;;)
        for (size_t n = 10; n <= MANY; n *= 10) {
            REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, n, n), n);
            cpool_free_bulk(pool, slots, n);
            for (size_t i = 0; i < n; i++)
                REQUIRE((slots[i] = cpool_object_get(objects)) != NULL);
            for (size_t i = 0; i < n; i++)
                cpool_object_put(objects, slots[i]);
        }
    return unused;
}

/* The thread sleeps between its turns, and may end.  Any other system call ends the process. */
static void meet_deadlines(void *loud)
{
#if defined(__linux__)
    static const long allowed[] = { SYS_exit_group, SYS_write, SYS_clock_nanosleep };
    static const struct timespec nap = { 0, NAP };
    static void *slots[MANY];
    bool permitted;

    create_all();
    for (int i = 0; i < 2; i++) { /* the thread's caches, the first frame, and a block's class */
        use_slots(slots, MANY);
        use_ext(slots, MANY);
    }
    permitted = support_has_priorities();
    (void)support_start(use_for_ever, NULL);
    REQUIRE(!permitted || support_set_priority(1));
    REQUIRE(growth_allow_only(allowed, sizeof allowed / sizeof allowed[0]));
    for (int i = 0; i < SUPPORT_COUNT(TURNS, TURNS / 10); i++) {
        clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
        use_slots(slots, i % 2 == 0 ? 10 : MANY);
        use_ext(slots, i % 2 == 0 ? 10 : MANY);
    }
    if (*(bool *)loud)
        (void)cpool_trim(pool);
#else
    (void)loud;
#endif
}

/* On one processor, so an operation that waited for the other thread would never end.  A system
 * call is found. */
TEST_TIMES(operations_with_deadlines_make_no_system_call, 2 * sizeof kinds / sizeof kinds[0])
{
    bool loud = _i % 2 == 1;
    struct support_outcome outcome;

    SKIP_IF(SUPPORT_SANITIZED, "sanitizers make system calls of their own");
    SKIP_IF(!growth_has_filters(), "no filter of system calls here");
    flags = kinds[_i / 2];
    support_fork(meet_deadlines, &loud, &outcome);
    REQUIRE(loud ? WIFSIGNALED(outcome.status) && WTERMSIG(outcome.status) == SIGSYS
                 : WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == 0);
}
