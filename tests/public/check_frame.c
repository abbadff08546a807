/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_frame.c - slots that go back with their frame.
 */
#include "frames.h"

#include <sched.h>

struct thing {
    char bytes[16];
};

CPOOL_DECLARE(plain, struct thing);
CPOOL_DEFINE(plain, struct thing, .capacity = CAPACITY, .magazine_rounds = ROUNDS);
CPOOL_DECLARE_FRAMES(plain, struct thing);

/* --- One thread --- */

TEST_TIMES(frame_end_and_reset_give_slots_back, MODES)
{
    static const size_t counts[] = {0, 1, 3, ROUNDS - 1, ROUNDS, ROUNDS + 1, 0, 5 * ROUNDS + 3, 2,
                                    CAPACITY};
    cpool_t *pool = make_pool(modes[_i]);
    cpool_frame_t *kept = begin(pool);
    void *slots[CAPACITY];

    for (size_t round = 0; round < 3; round++)
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            cpool_frame_t *frame = begin(pool);

            take(pool, frame, slots, counts[i]);
            support_require_live(pool, counts[i]);
            cpool_frame_end(frame);
            support_require_live(pool, 0);
            take(pool, kept, slots, counts[i]);
            support_require_live(pool, counts[i]);
            cpool_frame_reset(kept);
            support_require_live(pool, 0);
        }
    support_require_obtainable(pool, 0);
    take(pool, kept, slots, ROUNDS + 1);
    end_all(pool, kept);
}

TEST_TIMES(frame_alloc_of_a_dry_pool_is_null, MODES)
{
    cpool_t *pool = make_pool(modes[_i]);
    cpool_frame_t *frame = begin(pool);
    void *slots[CAPACITY];

    for (size_t round = 0; round < 3; round++) {
        take(pool, frame, slots, CAPACITY);
        REQUIRE(cpool_frame_alloc(frame) == NULL);
        REQUIRE(cpool_alloc(pool) == NULL);
        cpool_frame_reset(frame);
    }
    end_all(pool, frame);
}

TEST_TIMES(frame_begin_beside_other_frames, MODES)
{
    enum { FRAMES = 50, IN_FRAME = 70 };
    cpool_t *pool = make_pool(modes[_i]);
    cpool_frame_t *last = begin(pool);
    void *slots[2][IN_FRAME];

    take(pool, last, slots[0], IN_FRAME);
    for (size_t frames = 1; frames < FRAMES; frames++) {
        cpool_frame_t *frame = begin(pool);

        take(pool, frame, slots[frames % 2], IN_FRAME);
        for (size_t i = 0; i < IN_FRAME; i++)
            for (size_t k = 0; k < IN_FRAME; k++)
                REQUIRE(slots[0][i] != slots[1][k]);
        cpool_frame_end(last);
        support_require_live(pool, IN_FRAME);
        last = frame;
    }
    end_all(pool, last);
}

TEST_TIMES(frame_begin_beyond_the_limit_refused, MODES)
{
    cpool_t *pool = make_pool(modes[_i]);
    cpool_frame_t *frames[CPOOL_FRAMES_MAX];
    cpool_frame_t *more;
    void *slots[CAPACITY];

    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < CPOOL_FRAMES_MAX; i++) {
            frames[i] = begin(pool);
            take(pool, frames[i], slots, ROUNDS - 1 + i % 3);
        }
        REQUIRE_EQUAL(cpool_frame_begin(&more, pool), CPOOL_ELIMIT);
        REQUIRE(more == NULL);
        for (size_t i = 0; i < CPOOL_FRAMES_MAX; i++)
            cpool_frame_end(frames[i]);
        support_require_live(pool, 0);
    }
    end_all(pool, begin(pool));
}

/* Each frame has slots of less than a magazine, and none is free: no magazine is lacking. */
TEST_TIMES(frame_alloc_in_all_frames_takes_all, MODES)
{
    cpool_t *pool = make_pool(modes[_i]);
    cpool_frame_t *frames[CPOOL_FRAMES_MAX];
    void *slot;
    size_t n = 0;

    for (size_t i = 0; i < CPOOL_FRAMES_MAX; i++)
        frames[i] = begin(pool);
    while ((slot = cpool_frame_alloc(frames[n % CPOOL_FRAMES_MAX])) != NULL)
        n++;
    REQUIRE_EQUAL(n, CAPACITY);
    for (size_t i = 0; i < CPOOL_FRAMES_MAX; i++)
        cpool_frame_end(frames[i]);
    end_all(pool, begin(pool));
}

/* --- Adopting --- */

TEST_TIMES(frame_adopt_gives_slots_back, MODES)
{
    cpool_t *pool = make_pool(modes[_i]);
    cpool_frame_t *frame = begin(pool);
    void *slots[5 * ROUNDS];

    for (size_t round = 0; round < 3; round++) {
        REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, 5 * ROUNDS, 0), 5 * ROUNDS);
        for (size_t i = 0; i < 5 * ROUNDS; i++)
            REQUIRE_EQUAL(cpool_frame_adopt(frame, slots[i]), 0);
        REQUIRE_EQUAL(cpool_frame_adopt(frame, NULL), 0);
        REQUIRE(cpool_frame_alloc(frame) != NULL);
        support_require_live(pool, 5 * ROUNDS + 1);
        cpool_frame_reset(frame);
        support_require_live(pool, 0);
    }
    end_all(pool, frame);
}

/* As cpool_free does, and the slot is as before. */
TEST_TIMES(frame_adopt_of_no_live_slot_refused, MODES)
{
    cpool_t *pool = make_pool(modes[_i]);
    cpool_frame_t *frame = begin(pool);
    char *slot = cpool_alloc(pool);
    void *free_one = cpool_alloc(pool);
    void *other[2];

    cpool_free(pool, free_one);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_frame_adopt(frame, other), CPOOL_EFOREIGN);
    REQUIRE_REPORT(CPOOL_EFOREIGN);
    REQUIRE_EQUAL(cpool_frame_adopt(frame, slot + 1), CPOOL_EMISALIGNED);
    REQUIRE_REPORT(CPOOL_EMISALIGNED);
    REQUIRE_EQUAL(cpool_frame_adopt(frame, cpool_at(pool, CAPACITY - 1)), CPOOL_EUNUSED);
    REQUIRE_REPORT(CPOOL_EUNUSED);
    if ((modes[_i] & (CPOOL_CHECKED | CPOOL_TRACKED)) != 0) {
        REQUIRE_EQUAL(cpool_frame_adopt(frame, free_one), CPOOL_EDOUBLEFREE);
        REQUIRE_REPORT(CPOOL_EDOUBLEFREE);
    }
    cpool_frame_reset(frame);
    cpool_free(pool, slot);
    REQUIRE_NO_REPORT();
    support_release_reports();
    end_all(pool, frame);
}

/* --- Several threads --- */

struct job {
    cpool_t *pool;
    cpool_frame_t *frame;
    size_t wanted;
    bool ends;
};

static void *go_on(void *argument)
{
    struct job *job = argument;

    if (job->frame == NULL)
        job->frame = begin(job->pool);
    for (size_t i = 0; i < job->wanted; i++)
        REQUIRE(cpool_frame_alloc(job->frame) != NULL);
    if (job->ends)
        cpool_frame_end(job->frame);
    return NULL;
}

/* One thread after the other, which all end. */
TEST_TIMES(frame_goes_from_thread_to_thread, MODES)
{
    cpool_t *pool = make_pool(modes[_i]);
    struct job job = {pool, NULL, ROUNDS + 3, false};

    for (size_t i = 1; i <= 5; i++) {
        support_in_thread(go_on, &job);
        support_require_live(pool, i * job.wanted);
    }
    cpool_frame_reset(job.frame);
    support_require_live(pool, 0);
    REQUIRE(cpool_frame_alloc(job.frame) != NULL);
    job.ends = true;
    support_in_thread(go_on, &job);
    end_all(pool, begin(pool));
}

/* No thread but the first has a cache. */
TEST_TIMES(frame_begin_without_a_cache_serves, MODES)
{
    struct job job = {NULL, NULL, 2 * ROUNDS + 3, false};
    void *slot;

    job.pool = SUPPORT_CREATE(16, CAPACITY, .flags = modes[_i] & ~CALLERS,
                              .magazine_rounds = ROUNDS, .thread_caches = 1);
    slot = cpool_alloc(job.pool);
    support_in_thread(go_on, &job);
    support_require_live(job.pool, 2 * ROUNDS + 4);
    job.ends = true;
    support_in_thread(go_on, &job);
    support_require_live(job.pool, 1);
    cpool_free(job.pool, slot);
    end_all(job.pool, begin(job.pool));
}

static void *wait_for_slot(void *pool)
{
    return cpool_alloc_wait(pool, NULL);
}

TEST_TIMES(frame_end_wakes_waiters, 4)
{
    cpool_t *pool = make_pool(_i % 2 == 0 ? 0 : CPOOL_CHECKED);
    cpool_frame_t *frame = begin(pool);
    pthread_t threads[3];
    void *slots[CAPACITY];
    void *slot;

    take(pool, frame, slots, 3);
    while (cpool_alloc(pool) != NULL)
        ;
    for (size_t i = 0; i < 3; i++)
        threads[i] = support_start(wait_for_slot, pool);
    while (support_stats(pool).waits < 3)
        sched_yield();
    if (_i < 2)
        cpool_frame_reset(frame);
    else
        cpool_frame_end(frame);
    for (size_t i = 0; i < 3; i++) {
        REQUIRE_EQUAL(pthread_join(threads[i], &slot), 0);
        REQUIRE(slot != NULL);
    }
    support_require_live(pool, CAPACITY);
    support_destroy(pool);
}

/* --- Fork --- */

static void go_on_in_child(void *argument)
{
    struct job *job = argument;
    void *slots[ROUNDS];

    take(job->pool, job->frame, slots, ROUNDS);
    support_require_live(job->pool, job->wanted + ROUNDS);
    end_all(job->pool, job->frame);
}

static void destroy_in_child(void *argument)
{
    struct job *job = argument;

    REQUIRE_EQUAL(support_destroy(job->pool), job->wanted);
}

TEST_TIMES(frame_goes_on_in_the_child_of_a_fork, MODES)
{
    cpool_t *pool = make_pool(modes[_i]);
    struct job job = {pool, NULL, 2 * ROUNDS + 3, false};

    support_in_thread(go_on, &job);
    support_in_child(go_on_in_child, &job);
    support_in_child(destroy_in_child, &job);
    support_require_live(pool, job.wanted);
    end_all(pool, job.frame);
}

/* --- Typed pools --- */

TEST(frame_of_a_typed_pool_serves)
{
    struct thing *slots[CAPACITY];
    cpool_frame_t *frame;
    size_t n;

    REQUIRE_EQUAL(plain_frame_begin(&frame), 0);
    for (size_t round = 0; round < 5; round++) {
        for (n = 0; n < (size_t)CAPACITY >> round; n++) {
            slots[n] = plain_frame_alloc(frame);
            REQUIRE(slots[n] != NULL);
            memset(slots[n], (int)n, sizeof *slots[n]);
        }
        for (size_t i = 0; i < n; i++)
            REQUIRE_EQUAL(slots[i]->bytes[3], (char)i);
        support_require_live(plain_pool(), n);
        cpool_frame_reset(frame);
        support_require_live(plain_pool(), 0);
    }
    slots[0] = plain_alloc();
    REQUIRE_EQUAL(plain_frame_adopt(frame, slots[0]), 0);
    REQUIRE(cpool_frame_alloc(frame) != NULL);
    cpool_frame_end(frame);
    support_require_live(plain_pool(), 0);
    REQUIRE_EQUAL(plain_close(), 0);
}

TEST(frame_alloc_typed_refuses_another_pools_frame)
{
    cpool_t *pool = make_pool(0);
    cpool_frame_t *other = begin(pool);
    cpool_frame_t *frame;

    REQUIRE_EQUAL(plain_frame_begin(&frame), 0);
    support_capture_reports();
    REQUIRE(plain_frame_alloc(other) == NULL);
    REQUIRE_REPORT(CPOOL_EFRAME);
    cpool_frame_end(other);
    REQUIRE(plain_frame_alloc(other) == NULL);
    REQUIRE_REPORT(CPOOL_EFRAME);
    support_release_reports();
    REQUIRE(plain_frame_alloc(frame) != NULL);
    support_require_live(pool, 0);
    support_require_live(plain_pool(), 1);
    cpool_frame_end(frame);
    REQUIRE_EQUAL(plain_close(), 0);
    support_destroy_empty(pool);
}
