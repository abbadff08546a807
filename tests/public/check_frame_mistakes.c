/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_frame_mistakes.c - frames that have ended, slots that are freed twice or damaged, and pools
 * that end before their frames.
 */
#include "frames.h"

#include <setjmp.h>

#include <cpool/track.h>

#include "../../ext/retire/tests/domains.h"

TEST_TIMES(frame_ended_refused_by_every_function, MODES)
{
    cpool_t *pool = make_pool(modes[_i]);
    bool in_turn = (modes[_i] & (CPOOL_CHECKED | CPOOL_TRACKED)) != 0;
    cpool_frame_t *frame = begin(pool);
    void *slot = cpool_alloc(pool);

    REQUIRE(cpool_frame_alloc(frame) != NULL);
    cpool_frame_end(frame);
    support_capture_reports();
    for (size_t others = 0; others < (in_turn ? CPOOL_FRAMES_MAX - 1 : 1); others++) {
        REQUIRE(cpool_frame_alloc(frame) == NULL);
        REQUIRE_REPORT(CPOOL_EFRAME);
        REQUIRE_EQUAL(cpool_frame_adopt(frame, slot), CPOOL_EFRAME);
        REQUIRE_REPORT(CPOOL_EFRAME);
        cpool_frame_reset(frame);
        REQUIRE_REPORT(CPOOL_EFRAME);
        cpool_frame_end(frame);
        REQUIRE_REPORT(CPOOL_EFRAME);
        if (in_turn)
            cpool_frame_end(begin(pool));
    }
    cpool_frame_end(NULL);
    cpool_frame_reset(NULL);
    REQUIRE_NO_REPORT();
    support_release_reports();
    cpool_free(pool, slot);
    end_all(pool, begin(pool));
}

TEST(frame_begin_of_no_pool_refused)
{
    cpool_t *pool = make_pool(0);
    cpool_frame_t *frame = begin(pool);

    cpool_frame_end(frame);
    REQUIRE_EQUAL(cpool_frame_begin(NULL, pool), CPOOL_ENULL);
    REQUIRE_EQUAL(cpool_frame_begin(&frame, NULL), CPOOL_ENULL);
    REQUIRE(frame == NULL);
    support_destroy_empty(pool);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_frame_begin(&frame, pool), CPOOL_EPOOL);
    REQUIRE_REPORT(CPOOL_EPOOL);
    support_release_reports();
}

TEST(free_of_a_frames_slot_refused)
{
    cpool_t *pool = make_pool(CPOOL_CHECKED);
    cpool_frame_t *frame = begin(pool);
    void *slots[ROUNDS + 2];
    void *held = cpool_alloc(pool);

    take(pool, frame, slots, ROUNDS + 1);
    REQUIRE_EQUAL(cpool_frame_adopt(frame, slots[ROUNDS + 1] = cpool_alloc(pool)), 0);
    support_capture_reports();
    for (size_t i = 0; i < ROUNDS + 2; i++) {
        cpool_free(pool, slots[i]);
        REQUIRE_REPORT(CPOOL_EFRAMED);
        REQUIRE_EQUAL(cpool_frame_adopt(frame, slots[i]), CPOOL_EFRAMED);
        REQUIRE_REPORT(CPOOL_EFRAMED);
    }
    support_require_live(pool, ROUNDS + 3);
    cpool_frame_reset(frame);
    REQUIRE_NO_REPORT();
    cpool_free(pool, slots[1]);
    REQUIRE_REPORT(CPOOL_EDOUBLEFREE);
    cpool_free(pool, held);
    REQUIRE_NO_REPORT();
    support_release_reports();
    end_all(pool, frame);
}

/* The end frees it once more, and says so. */
TEST(frame_reset_reports_slot_freed_alone)
{
    cpool_t *pool = make_pool(CPOOL_TRACKED);
    cpool_frame_t *frame = begin(pool);
    cpool_handle_t handles[3];
    void *slots[3];

    take(pool, frame, slots, 3);
    for (size_t i = 0; i < 3; i++)
        handles[i] = cpool_handle(pool, slots[i]);
    cpool_free(pool, slots[1]);
    support_capture_reports();
    cpool_frame_reset(frame);
    REQUIRE_REPORT(CPOOL_EDOUBLEFREE);
    support_release_reports();
    for (size_t i = 0; i < 3; i++)
        REQUIRE(cpool_resolve(pool, handles[i]) == NULL);
    end_all(pool, frame);
}

TEST(retire_of_a_frames_slot_refused)
{
    cpool_t *pool = make_pool(CPOOL_CHECKED);
    cpool_frame_t *frame = begin(pool);
    cpool_domain_t *domain;
    cpool_reader_t *reader;
    void *slot;

    REQUIRE_EQUAL(domain_create(&domain, 2, CAPACITY, 0), 0);
    reader = reader_in(domain, 0);
    REQUIRE(reader != NULL);
    take(pool, frame, &slot, 1);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_retire(reader, pool, slot), CPOOL_EFRAMED);
    REQUIRE_REPORT(CPOOL_EFRAMED);
    support_release_reports();
    REQUIRE_EQUAL(cpool_domain_destroy(domain), 0);
    end_all(pool, frame);
}

/* On both sides of slots[0], and after slots[2 * ROUNDS - 1] or so: each side is reported. */
TEST(frame_reset_reports_damaged_slots)
{
    cpool_t *pool = make_pool(CPOOL_CHECKED);
    cpool_frame_t *frame = begin(pool);
    void *slots[2 * ROUNDS];
    char *slot;

    take(pool, frame, slots, 2 * ROUNDS);
    slot = cpool_at(pool, 5);
    memset(slot, 0, 16 + 1);
    support_capture_reports();
    cpool_frame_reset(frame);
    REQUIRE_REPORT(CPOOL_EGUARD);
    support_require_live(pool, 0);
    take(pool, frame, slots, 2 * ROUNDS);
    slot = cpool_at(pool, 5);
    memset(slot - 1, 0, 1 + 16 + 1);
    cpool_frame_reset(frame);
    REQUIRE_EQUAL(support_take_reports(NULL), 2);
    support_release_reports();
    end_all(pool, frame);
}

static jmp_buf away;

static void leave(const cpool_error_t *error, void *context)
{
    (void)error;
    (void)context;
    longjmp(away, 1);
}

static void leave_frame_end(cpool_frame_t *frame)
{
    cpool_set_error_handler((cpool_error_handler_t){ leave, NULL });
    if (setjmp(away) == 0) {
        cpool_frame_end(frame);
        support_fail(__FILE__, __LINE__, "the handler was not called");
    }
    support_release_reports();
}

TEST(frame_goes_on_after_a_handler_has_left)
{
    cpool_t *pool = make_pool(CPOOL_CHECKED);
    cpool_frame_t *frame = begin(pool);
    void *slots[2 * ROUNDS];

    take(pool, frame, slots, 2 * ROUNDS);
    memset((char *)cpool_at(pool, 5) + 16, 0, 1);
    leave_frame_end(frame);
    REQUIRE(cpool_frame_alloc(frame) != NULL);
    cpool_frame_end(frame);
    support_require_live(pool, 1);
    support_require_obtainable(pool, 1);
    REQUIRE_EQUAL(support_destroy(pool), 1);
}

/* After too many frees there is no place for the slots of a frame. */
TEST(destroy_after_a_handler_left_frame_end)
{
    cpool_t *pool = make_pool(0);
    cpool_frame_t *frame = begin(pool);
    void *slot = cpool_alloc(pool);
    void *slots[3];

    take(pool, frame, slots, 3);
    support_capture_reports();
    while (support_take_reports(NULL) == 0)
        cpool_free(pool, slot);
    leave_frame_end(frame);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_destroy(pool), CPOOL_EDOUBLEFREE);
    support_release_reports();
}

/* --- The end of the pool --- */

TEST_TIMES(reset_ends_frames, MODES)
{
    cpool_t *pool = make_pool(modes[_i]);

    for (size_t round = 0; round < 3; round++) {
        cpool_frame_t *frame = begin(pool);
        cpool_frame_t *other = begin(pool);
        void *slots[100];
        void *slot;

        take(pool, frame, slots, 100);
        REQUIRE_EQUAL(cpool_reset(pool), 100);
        support_capture_reports();
        REQUIRE(cpool_frame_alloc(frame) == NULL);
        REQUIRE_REPORT(CPOOL_EFRAME);
        cpool_frame_end(other);
        REQUIRE_REPORT(CPOOL_EFRAME);
        /* No slot is a frame's any more. */
        while ((slot = cpool_alloc(pool)) != slots[0])
            REQUIRE(slot != NULL);
        cpool_free(pool, slot);
        REQUIRE_NO_REPORT();
        support_release_reports();
        cpool_reset(pool);
        support_require_obtainable(pool, 0);
    }
    support_destroy_empty(pool);
}

TEST_TIMES(destroy_ends_frames, MODES)
{
    cpool_t *pool = make_pool(modes[_i]);
    cpool_frame_t *frame = begin(pool);
    void *slots[2 * ROUNDS + 1];

    take(pool, frame, slots, 2 * ROUNDS + 1);
    REQUIRE_EQUAL(support_destroy(pool), 2 * ROUNDS + 1);
    support_capture_reports();
    REQUIRE(cpool_frame_alloc(frame) == NULL);
    REQUIRE_REPORT(CPOOL_EFRAME);
    REQUIRE_EQUAL(cpool_frame_adopt(frame, slots[0]), CPOOL_EFRAME);
    REQUIRE_REPORT(CPOOL_EFRAME);
    cpool_frame_end(frame);
    REQUIRE_REPORT(CPOOL_EFRAME);
    support_release_reports();
}
