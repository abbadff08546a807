/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_sampled_use.c - sampled slots are as other slots in all that a program does with them.
 * (Traps and their reports: check_sampled.c.)
 */
#include "sampled.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include <cpool/frame.h>
#include <cpool/pools.h>
#include <cpool/track.h>

CPOOL_DECLARE(rarities, struct thing);
CPOOL_DECLARE_FRAMES(rarities, struct thing);
CPOOL_DEFINE(rarities, struct thing, .capacity = 20000, .sample = 400);

static const struct shape {
    size_t size;
    size_t align;
    size_t offset;
} shapes[] = {{1, 0, 0}, {3, 0, 0}, {8, 64, 0}, {40, 16, 8}, {333, 0, 0}, {4096, 0, 0},
              {4097, 0, 0}, {100, 4096, 0}, {9000, 256, 24}, {70000, 0, 0}};

enum { SHAPES = sizeof shapes / sizeof shapes[0] };

TEST_TIMES(slots_of_every_shape_have_their_bytes_and_alignment, SHAPES)
{
    const struct shape *shape = &shapes[_i];
    size_t align = shape->align != 0 ? shape->align : 1;
    cpool_t *pool = SUPPORT_CREATE(shape->size, CAPACITY, .slot_align = shape->align,
                                   .slot_offset = shape->offset, .sample = 1);
    unsigned char *slots[2 * PLACES];
    size_t sampled = 0;

    for (size_t i = 0; i < 2 * PLACES; i++) {
        slots[i] = cpool_alloc(pool);
        REQUIRE_EQUAL(((uintptr_t)slots[i] + shape->offset) % align, 0);
        memset(slots[i], (int)i, shape->size);
        sampled += is_sampled(pool, slots[i]);
    }
    REQUIRE(sampled > 0 && sampled <= PLACES);
    for (size_t i = 0; i < 2 * PLACES; i++) {
        void *around = NULL;

        for (size_t byte = 0; byte < shape->size; byte++)
            REQUIRE_EQUAL(slots[i][byte], i);
        REQUIRE(cpool_at(pool, cpool_index(pool, slots[i])) == slots[i]);
        REQUIRE(cpool_owns(pool, slots[i]));
        REQUIRE(cpool_of(slots[i] + shape->size - 1, &around) == pool && around == slots[i]);
        cpool_release(slots[i]);
    }
    support_destroy_empty(pool);
}

TEST_TIMES(tracked_pools_know_the_addresses_of_their_users, 2)
{
    cpool_t *pool = SUPPORT_CREATE(SIZE, CAPACITY, .sample = 1, .flags = kinds[1 + _i]);
    void *slots[PLACES];
    cpool_iter_t iter = CPOOL_ITER_INIT(pool, 0, SIZE_MAX);
    size_t found = 0;
    void *slot;

    for (size_t i = 0; i < PLACES; i++) {
        slots[i] = cpool_alloc(pool);
        REQUIRE(cpool_resolve(pool, cpool_handle(pool, slots[i])) == slots[i]);
    }
    while ((slot = cpool_iter_next(&iter)) != NULL) {
        REQUIRE(slot == slots[found++]);
        REQUIRE(cpool_handle(pool, slot) == iter.handle);
    }
    REQUIRE_EQUAL(found, PLACES);
    for (size_t i = 0; i < PLACES; i++) {
        cpool_handle_t handle = cpool_handle(pool, slots[i]);

        cpool_free(pool, slots[i]);
        REQUIRE(cpool_resolve(pool, handle) == NULL);
        REQUIRE_EQUAL(cpool_handle(pool, slots[i]), CPOOL_HANDLE_NONE);
    }
    support_destroy_empty(pool);
}

TEST_TIMES(frames_close_their_samples, 2 * KINDS)
{
    bool ends = _i < KINDS;
    char *first;
    char *last;
    cpool_t *pool = begin_test(-1, kinds[_i % KINDS], &first, &last);
    const struct timespec rest = {0, 280000000};
    cpool_frame_t *frame;
    char *own;

    REQUIRE_EQUAL(cpool_frame_begin(&frame, pool), 0);
    for (size_t round = 0; round < 3; round++) {
        nanosleep(&rest, NULL); /* closed places are used again */
        do
            own = cpool_frame_alloc(frame);
        while (!is_sampled(pool, own));
        memset(own, 1, SIZE);
        if (round == 0)
            REQUIRE_EQUAL(cpool_frame_adopt(frame, last), 0);
        for (size_t i = 0; i < CAPACITY / 2; i++)
            memset(cpool_frame_alloc(frame), 2, SIZE);
        if (ends && round == 2)
            cpool_frame_end(frame);
        else
            cpool_frame_reset(frame);
        support_require_live(pool, 1);
        (void)require_trap(own);
        (void)require_trap(last);
    }
    if (!ends)
        cpool_frame_end(frame);
    memset(first, 3, SIZE);
    cpool_free(pool, first);
    REQUIRE_NO_REPORT();
    support_destroy_empty(pool);
}

/* In pools with the inline path, of which frames record slots, too. */
TEST_TIMES(frames_with_one_sample_among_many_close_it, 2)
{
    bool typed = _i == 1;
    cpool_frame_t *frame;
    cpool_t *pool;
    char *sampled;

    catch_traps();
    support_capture_reports();
    pool = typed ? rarities_pool() : SUPPORT_CREATE(SIZE, 20000, .sample = 400);
    REQUIRE_EQUAL(cpool_frame_begin(&frame, pool), 0);
    for (size_t round = 0; round < 20; round++) {
        size_t n = 0;

        do {
            sampled = typed ? (char *)rarities_frame_alloc(frame) : cpool_frame_alloc(frame);
            memset(sampled, 1, SIZE);
            n++;
        } while (!is_sampled(pool, sampled));
        support_require_live(pool, n);
        cpool_frame_reset(frame);
        support_require_live(pool, 0);
        (void)require_trap(sampled);
    }
    cpool_frame_end(frame);
    support_require_obtainable(pool, 0);
    support_destroy_whole(pool);
}

enum { RACES = 300 };

/* Two threads free one slot at the same time, in each round. */
struct race {
    cpool_t *pool;
    void *slot;
    _Atomic size_t round;
    _Atomic size_t done;
};

static void *free_at_once(void *arg)
{
    struct race *race = arg;

    for (size_t round = 1; round <= RACES; round++) {
        while (atomic_load_explicit(&race->round, memory_order_acquire) != round)
            sched_yield();
        cpool_free(race->pool, race->slot);
        atomic_fetch_add_explicit(&race->done, 1, memory_order_release);
    }
    return NULL;
}

/* Both find the slot live, and one of them closes its place. */
TEST_TIMES(free_by_two_threads_at_once_frees_one_slot, KINDS)
{
    struct race race = {.slot = NULL};
    size_t refused = 0;
    pthread_t other;

    support_capture_reports();
    race.pool = SUPPORT_CREATE(SIZE, CAPACITY, .sample = 1, .flags = kinds[_i]);
    other = support_start(free_at_once, &race);
    for (size_t round = 1; round <= RACES; round++) {
        while (!is_sampled(race.pool, race.slot = cpool_alloc(race.pool)))
            cpool_free(race.pool, race.slot);
        atomic_store_explicit(&race.round, round, memory_order_release);
        cpool_free(race.pool, hide_origin(race.slot));
        while (atomic_load_explicit(&race.done, memory_order_acquire) != round)
            sched_yield();
        refused += support_take_reports(NULL);
        REQUIRE_EQUAL(refused, round);
    }
    support_join(other);
    support_require_live(race.pool, 0);
    support_destroy_whole(race.pool);
}

static jmp_buf refused;

static void leave_report(const cpool_error_t *error, void *told)
{
    *(const void **)told = error->slot;
    longjmp(refused, 1);
}

static void free_and_leave(cpool_t *pool, void *slot)
{
    const void *told = NULL;

    (void)cpool_set_error_handler((cpool_error_handler_t){leave_report, &told});
    if (setjmp(refused) == 0)
        cpool_free(pool, slot);
    support_capture_reports();
    REQUIRE(*(const void *volatile *)&told == slot);
}

TEST(place_stays_open_if_the_handler_leaves_a_refused_free)
{
    cpool_t *pool = SUPPORT_CREATE(SIZE, CAPACITY, .sample = 1, .flags = CPOOL_CHECKED);
    cpool_frame_t *frame;
    char *slot;

    REQUIRE_EQUAL(cpool_frame_begin(&frame, pool), 0);
    slot = cpool_frame_alloc(frame);
    free_and_leave(pool, slot);
    REQUIRE(is_sampled(pool, memset(slot, 1, SIZE)));
    cpool_frame_end(frame);
    REQUIRE_NO_REPORT();
    support_destroy_empty(pool);
}

static void *watched[PLACES];

static void *own_watched(void *arg)
{
    struct race *race = arg;

    for (size_t i = 0; i < PLACES; i++)
        watched[i] = cpool_alloc(race->pool);
    atomic_store_explicit(&race->done, 1, memory_order_release);
    while (atomic_load_explicit(&race->round, memory_order_acquire) == 0)
        sched_yield();
    cpool_free_bulk(race->pool, watched, PLACES);
    return NULL;
}

TEST_TIMES(visits_and_handles_find_the_place_of_a_slot_that_comes_or_goes, 60)
{
    static struct { void *slot; cpool_handle_t handle; } seen[100000];
    struct race race = {.pool = SUPPORT_CREATE(SIZE, CAPACITY, .sample = 1, .flags = kinds[1])};
    pthread_t owner = support_start(own_watched, &race);
    size_t count = 0;

    while (atomic_load_explicit(&race.done, memory_order_acquire) == 0) {
        cpool_iter_t iter = CPOOL_ITER_INIT(race.pool, 0, SIZE_MAX);

        while (count < SUPPORT_LENGTH(seen) && (seen[count].slot = cpool_iter_next(&iter)) != NULL)
            seen[count++].handle = iter.handle;
    }
    while (count-- > 0)
        REQUIRE(cpool_resolve(race.pool, seen[count].handle) == seen[count].slot);
    for (size_t i = 0; i < PLACES; i++)
        seen[i].handle = cpool_handle(race.pool, watched[i]);
    atomic_store_explicit(&race.round, 1, memory_order_release);
    for (size_t i = 0; i < PLACES; i++)
        while ((seen[i].slot = cpool_resolve(race.pool, seen[i].handle)) != NULL) {
            REQUIRE(seen[i].slot == watched[i]);
            for (cpool_iter_t iter = CPOOL_ITER_INIT(race.pool, 0, SIZE_MAX);
                 _i % 2 != 0 && (seen[i].slot = cpool_iter_next(&iter)) != NULL;)
                REQUIRE(is_sampled(race.pool, seen[i].slot));
        }
    support_join(owner);
    support_destroy_empty(race.pool);
}

TEST_TIMES(reset_and_trim_leave_the_pool_whole, KINDS)
{
    char *first;
    char *last;
    cpool_t *pool = begin_test(-1, kinds[_i], &first, &last);
    static void *slots[CAPACITY];

    cpool_free(pool, first);
    (void)cpool_trim(pool);
    memset(last, 1, SIZE);
    REQUIRE_EQUAL(cpool_reset(pool), 1);
    (void)require_trap(last);
    REQUIRE_EQUAL(support_take_all(pool, slots), CAPACITY);
    cpool_free_bulk(pool, slots, CAPACITY);
    (void)cpool_trim(pool);
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, CAPACITY, CAPACITY), CAPACITY);
    for (size_t i = 0; i < CAPACITY; i++)
        memset(slots[i], 1, SIZE);
    cpool_free_bulk(pool, slots, CAPACITY);
    REQUIRE_NO_REPORT();
    support_destroy_empty(pool);
}

static void use_in_child(void *pair)
{
    char **slots = pair;
    cpool_t *pool = cpool_of(slots[0], NULL);

    memset(slots[0], 5, SIZE);
    cpool_free(pool, slots[0]);
    (void)require_trap(slots[0]);
    REQUIRE(is_sampled(pool, cpool_alloc(pool)));
}

TEST(child_of_a_fork_has_samples_of_its_own)
{
    char *pair[2];
    cpool_t *pool = begin_test(-1, 0, &pair[0], &pair[1]);

    support_in_child(use_in_child, pair);
    pair[0][0] = 1;
    cpool_free(pool, pair[0]);
    cpool_free(pool, pair[1]);
    support_destroy_empty(pool);
}
