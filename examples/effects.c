/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * effects.c - explosions and smoke of a game, whose meshes are made once and used again.
 *
 * For programs with objects that are expensive to make.  The meshes are made while a level is
 * loaded, and stay when an effect is over.  An effect that is over gives itself back, and does not
 * need to know which pool it is from.  The game draws all active effects without a list of its own,
 * and the place of an effect in the buffer of the graphics processor is the index of its slot.
 * Labels are drawn in one frame, and go back together at its end.  When the level ends, so do all
 * effects.
 *
 *     cc -std=c11 effects.c $(pkg-config --cflags --libs cpool)
 */
#include <cpool/object_frame.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define EFFECTS 16 /* of each kind */
#define LABELS 4
#define POINTS 256 /* of a mesh */
#define FRAMES 6

struct effect {
    float *mesh;
    int frames_left;
};

static cpool_objects_t *explosions, *smoke, *labels;
static int meshes;             /* that exist */
static int drawn[2][EFFECTS]; /* for each place: in how many frames */

static int make_mesh(void *object, void *arg)
{
    struct effect *effect = object;

    (void)arg;
    effect->mesh = calloc(POINTS, sizeof *effect->mesh);
    if (effect->mesh == NULL)
        return ENOMEM;
    meshes++;
    return 0;
}

static int start_anew(void *object, void *arg)
{
    struct effect *effect = object;

    effect->frames_left = *(const int *)arg;
    return 0;
}

static void free_mesh(void *object, void *arg)
{
    struct effect *effect = object;

    (void)arg;
    free(effect->mesh);
    meshes--;
}

static cpool_objects_t *make_pool(const char *name, size_t capacity, int *frames)
{
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_objects_t *pool;
    int code;

    type.object_size = sizeof(struct effect);
    type.create = make_mesh;
    type.activate = start_anew;
    type.destroy = free_mesh;
    type.arg = frames;
    config.name = name;
    config.type = &type;
    config.capacity = capacity;
    code = cpool_objects_create(&pool, &config);
    if (code != 0) {
        fprintf(stderr, "effects: no %s: %s\n", name, cpool_strerror(code));
        exit(1);
    }
    return pool;
}

/* While the level is loaded, and not in the middle of the first explosion. */
static void load(cpool_objects_t *pool, size_t n)
{
    int code;

    if (cpool_objects_populate(pool, n, &code) < n)
        fprintf(stderr, "effects: fewer meshes: %s\n",
                code > 0 ? "no memory" : cpool_strerror(code));
}

/* Too many at once: nobody sees that one is missing. */
static void start(cpool_objects_t *pool)
{
    struct effect *effect = cpool_object_get(pool);

    if (effect != NULL)
        effect->mesh[0] = 1;
}

/* Draws it, or ends it: what it is from is not said here. */
static void advance(struct effect *effect, int *place)
{
    if (effect->frames_left-- > 0)
        ++*place;
    else
        cpool_object_release(effect);
}

/* Returns the number of active effects before. */
static int advance_all(cpool_objects_t *pool, int *places)
{
    cpool_object_info_t info = CPOOL_OBJECT_INFO_INIT;
    struct effect *effect;
    int count = 0;

    for (; (effect = cpool_objects_next(pool, &info)) != NULL; count++)
        advance(effect, &places[cpool_index(cpool_objects_pool(pool), effect)]);
    return count;
}

/* A label for each thing that the player has in sight, up to LABELS. */
static int draw_labels(int in_sight)
{
    cpool_object_frame_t *frame;
    int count = 0;

    if (cpool_object_frame_begin(&frame, labels) != 0)
        return 0;
    while (count < in_sight && cpool_object_frame_get(frame) != NULL)
        count++;
    cpool_object_frame_end(frame);
    return count;
}

int main(void)
{
    int long_time = 20, short_time = 2, no_time = 0;
    size_t over;
    int places = 0;

    explosions = make_pool("explosions", EFFECTS, &short_time);
    smoke = make_pool("smoke", EFFECTS, &long_time);
    labels = make_pool("labels", LABELS, &no_time);
    load(explosions, EFFECTS);
    load(smoke, EFFECTS);
    load(labels, LABELS);
    printf("level loaded: %d meshes\n", meshes);
    for (int frame = 1; frame <= FRAMES; frame++) {
        int exploding, smoking, labelled;

        for (int i = 0; i < frame; i++)
            start(explosions);
        start(smoke);
        exploding = advance_all(explosions, drawn[0]);
        smoking = advance_all(smoke, drawn[1]);
        labelled = draw_labels(frame);
        printf("frame %d: %d explosions, %d of smoke, %d labels\n", frame, exploding, smoking,
               labelled);
    }
    over = cpool_objects_reset(smoke, SIZE_MAX);
    for (int i = 0; i < EFFECTS; i++)
        places += drawn[1][i] > 0;
    printf("level over: %zu of smoke, at %d places; %d meshes stay\n", over, places, meshes);
    cpool_objects_destroy(explosions); /* the last ones are seen no more */
    if (cpool_objects_destroy(smoke) != 0 || cpool_objects_destroy(labels) != 0)
        return 1;
    return meshes == 0 ? 0 : 1;
}
