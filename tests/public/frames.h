/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frames.h - the pools under the frames of tests.
 */
#ifndef CPOOL_TESTS_FRAMES_H
#define CPOOL_TESTS_FRAMES_H

#include "support.h"

#include <cpool/frame.h>

enum { CAPACITY = 1000, ROUNDS = 8 };

/* Flags of pools, and memory of the caller's. */
#define CALLERS 0x8000u
static const unsigned modes[] = {0, CPOOL_TRACKED, CPOOL_CHECKED, CALLERS};

#define MODES (sizeof modes / sizeof modes[0])

static inline cpool_t *make_pool(unsigned flags)
{
    cpool_config_t config = support_config(16, CAPACITY);

    config.flags = flags & ~CALLERS;
    config.magazine_rounds = ROUNDS;
    if ((flags & CALLERS) != 0) {
        config.thread_caches = 4;
        config.memory_size = cpool_memory_required(&config);
        config.memory = support_lines(config.memory_size);
    }
    return support_create(&config);
}

static inline cpool_frame_t *begin(cpool_t *pool)
{
    cpool_frame_t *frame;

    REQUIRE_EQUAL(cpool_frame_begin(&frame, pool), 0);
    REQUIRE(frame != NULL);
    return frame;
}

/* Takes n slots in a frame, each of them once. */
static inline void take(cpool_t *pool, cpool_frame_t *frame, void **slots, size_t n)
{
    char *taken = support_calloc(cpool_index_limit(pool), 1);

    for (size_t i = 0; i < n; i++) {
        slots[i] = cpool_frame_alloc(frame);
        REQUIRE(slots[i] != NULL);
        REQUIRE(taken[cpool_index(pool, slots[i])]++ == 0);
    }
    free(taken);
}

static inline void end_all(cpool_t *pool, cpool_frame_t *frame)
{
    cpool_frame_end(frame);
    support_require_live(pool, 0);
    support_destroy_whole(pool);
}

#endif /* CPOOL_TESTS_FRAMES_H */
