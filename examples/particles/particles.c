/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * particles.c - fireworks, as a game would have them.
 *
 *     frame N  +-- draw frame N-1          reads that frame's dots, frees them
 *              +-- update a range          of the live rockets: moves, dots and bursts
 *              +-- update a range ...      of the live sparks
 *     then     +-- burst ...               sparks are born
 *     then     frame N+1
 *
 * Rockets and sparks each have a typed pool that tracks its live slots, so that a job can
 * visit those in a range of indices.  No list of them is kept.  A particle that has burnt
 * out releases itself: the code that moves it knows neither its type nor its pool.
 *
 * Dots and bursts live for a frame.  A frame is drawn while the next one is computed, and the
 * job that draws it frees its dots, many at a time.
 *
 * A job frees the particles of its own range only, and particles are born when all ranges
 * are done.  So no visited particle goes, or is half made, while a job looks at it.
 *
 * The particles depend on the number of the frame alone, not on the threads.
 *
 * usage: particles [--threads N] [--frames N] [--every N] [--output FOLDER]
 * Exit status: 0, 2 wrong usage, 4 wrong counts, 5 out of memory, threads or slots, or a
 * picture could not be written.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cpool.h>
#include <cpool/pools.h>
#include <cpool/track.h>

#include "../jobs/scheduler.h"
#include "world.h"

/* ---- Beginning and end ---------------------------------------------------------------- */

static bool make_pools(struct world *world)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    int error;

    config.name = "events";
    config.slot_size = sizeof(struct event);
    config.capacity = 1 << 20;
    error = cpool_create(&world->events, &config);
    config.name = "particle jobs";
    config.slot_size = sizeof(struct particle_job);
    config.capacity = 1 << 16;
    if (error == 0)
        error = allocator_init_config(&world->jobs, &config);
    if (error == 0)
        error = rockets_open(NULL);
    if (error == 0)
        error = sparks_open(NULL);
    if (error != 0)
        fprintf(stderr, "particles: no pool: %s\n", cpool_strerror(error));
    return error == 0;
}

/* Releases what is still live, and returns how many that were. */
static size_t put_out(cpool_t *pool)
{
    cpool_iter_t iter = CPOOL_ITER_INIT(pool, 0, SIZE_MAX);
    size_t count = 0;

    for (void *slot; (slot = cpool_iter_next(&iter)) != NULL; count++)
        cpool_release(slot);
    return count;
}

/* Returns true if every slot has come back. */
static bool end_pools(struct world *world)
{
    size_t left = put_out(rockets_pool()) + put_out(sparks_pool());
    uint64_t born = world_sum(&world->born);
    uint64_t gone = world_sum(&world->gone);
    size_t jobs = allocator_live(&world->jobs);
    int errors[3] = {rockets_close(), sparks_close(), cpool_destroy(world->events)};

    allocator_fini(&world->jobs);
    if (born == gone + left && jobs == 0 && errors[0] == 0 && errors[1] == 0 && errors[2] == 0)
        return true;
    fprintf(stderr, "particles: %" PRIu64 " born, %" PRIu64 " gone, %zu left; %zu jobs lost; "
                    "pools: %s, %s, %s\n", born, gone, left, jobs, cpool_strerror(errors[0]),
            cpool_strerror(errors[1]), cpool_strerror(errors[2]));
    return false;
}

static int run(struct world *world)
{
    struct scheduler_plan plan = {.threads = world->threads, .jobs = &world->jobs,
                                  .scratch_size = 1, .start = world_start, .context = world};
    struct scheduler_figures figures;

    if (!make_pools(world) || scheduler_run(&plan, &figures) != 0) {
        fputs("particles: out of memory or threads\n", stderr);
        return 5;
    }
    printf("%" PRIu32 " rockets; %" PRIu64 " particles born, of which %" PRIu64
           " released themselves\n", world->launched, world_sum(&world->born),
           world_sum(&world->gone));
    printf("%" PRIu64 " dots, and with the bursts %" PRIu64 " slots that went back in %u "
           "frames\n", world_sum(&world->drawn), world_sum(&world->returned), world->frames);
    fprintf(stderr, "%" PRIu64 " jobs on %u threads\n", figures.jobs, figures.threads);
    if (!end_pools(world))
        return 4;
    if (world->output != NULL)
        fprintf(stderr, "%u pictures: %s/frame-....png\n", world->pictures, world->output);
    return world_sum(&world->failed) != 0 ? 5 : 0;
}

/* A number from 1 to high, or 0 after a complaint. */
static unsigned parse_number(const char *text, unsigned high)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);

    if (*text != '-' && *end == '\0' && number > 0 && number <= high)
        return (unsigned)number;
    fprintf(stderr, "particles: a number from 1 to %u, not '%s'\n", high, text);
    return 0;
}

static bool parse(struct world *world, int argc, char **argv)
{
    static const struct option options[] = {{"threads", required_argument, NULL, 't'},
                                            {"frames", required_argument, NULL, 'f'},
                                            {"every", required_argument, NULL, 'e'},
                                            {"output", required_argument, NULL, 'o'},
                                            {NULL, 0, NULL, 0}};
    int code;

    while ((code = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (code == 't')
            world->threads = parse_number(optarg, SCHEDULER_THREADS_MAX);
        else if (code == 'f')
            world->frames = parse_number(optarg, 1000000);
        else if (code == 'e')
            world->every = parse_number(optarg, 1000000);
        else if (code == 'o')
            world->output = optarg;
        else
            return false;
    }
    return optind == argc && world->threads > 0 && world->frames > 0 && world->every > 0;
}

int main(int argc, char **argv)
{
    static struct world world = {.threads = 2, .frames = 240, .every = 4};

    if (!parse(&world, argc, argv)) {
        fputs("usage: particles [--threads N] [--frames N] [--every N] [--output FOLDER]\n",
              stderr);
        return 2;
    }
    if (world.output != NULL && !picture_has_files()) {
        fputs("particles: no pictures, because this was built without libpng\n", stderr);
        world.output = NULL;
    }
    if (world.output != NULL && mkdir(world.output, 0777) != 0 && errno != EEXIST) {
        perror(world.output);
        return 5;
    }
    return run(&world);
}
