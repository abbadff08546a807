/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * world.h - the particles, and the jobs of a frame: see particles.c.
 *
 * Includes <cpool.h>, scheduler.h and picture.h.
 */
#ifndef PARTICLES_WORLD_H
#define PARTICLES_WORLD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cpool.h>

#include "../jobs/scheduler.h"
#include "picture.h"

/* The part that rockets and sparks have in common. */
struct body {
    float x, y, vx, vy; /* pixels from the top left corner, and per frame */
    int life, full;     /* frames left, and of a whole life */
    uint8_t colour[3];
    uint32_t seed; /* of the sparks when it bursts, or 0 */
};

struct rocket {
    struct body body; /* first */
    uint32_t number;
};

struct spark {
    struct body body; /* first */
};

CPOOL_DECLARE(rockets, struct rocket);

CPOOL_DECLARE(sparks, struct spark);

/* A dot of light, or a burst, which a frame leaves for those that come after it. */
struct event {
    struct event *next;
    float x, y;
    uint8_t colour[3];
    uint32_t seed;
};

typedef _Atomic(struct event *) event_list;

struct world {
    unsigned threads, frames, every;
    const char *output;    /* NULL: no pictures */
    cpool_t *events;       /* slots of struct event */
    struct allocator jobs; /* nodes of struct particle_job */

    unsigned frame;    /* under way */
    event_list dots;   /* of that frame */
    event_list bursts; /* of that frame */

    struct picture picture; /* of the frame that is drawn */
    bool covered[PICTURE_HEIGHT][PICTURE_WIDTH]; /* pixels that live particles should light */
    unsigned pictures;      /* written */
    size_t lit;             /* how many they are */
    uint32_t launched;

    _Atomic uint64_t born, gone, drawn, returned, failed;
};

struct particle_job {
    struct job job; /* first */
    struct world *world;
    cpool_t *pool; /* of a range */
    size_t first, end;
    struct event *events; /* a burst, or the dots to be drawn */
    size_t lit;           /* pixels that they light */
    unsigned frame;       /* that they are of */
};

/* A number of the world, when its jobs have been joined. */
uint64_t world_sum(_Atomic uint64_t *sum);

/* The scheduler's first job: runs all frames of the world, which is the context. */
void world_start(struct worker *worker, void *context);

#endif /* PARTICLES_WORLD_H */
