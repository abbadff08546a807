/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * instructions_modes.c - the modes: handles, checks, objects and blocks, without crossing the end
 * of a magazine; an alloc from a dry pool; and the whole life of a small pool.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "instructions.h"

#include <stdio.h>
#include <stdlib.h>

#include <cpool/frame.h>
#include <cpool/object.h>
#include <cpool/object_typed.h>
#include <cpool/sized.h>

/* Rounds in a magazine: more than any part holds. */
#define ROUNDS 128u

#define CAPACITY ((size_t)16 * ROUNDS)

#define BLOCK 64u

#define FRAME 16 /* slots */

struct element {
    char bytes[BLOCK];
};

CPOOL_DECLARE(known, struct element);
CPOOL_DEFINE(known, struct element, .capacity = CAPACITY, .magazine_rounds = ROUNDS,
             .flags = CPOOL_TRACKED);
CPOOL_OBJECTS_DECLARE(things, struct element);
CPOOL_OBJECTS_DEFINE(things, struct element, CPOOL_OBJECT_HOOKS(.arg = NULL),
                     .capacity = CAPACITY, .populate = CAPACITY);

static struct {
    cpool_t *checked;
    cpool_t *framed;
    cpool_t *dry;
    void *held[CAPACITY]; /* all slots of `dry` */
    cpool_objects_t *bare;
    cpool_objects_t *hooked;
    cpool_sized_t *blocks;
} pools;

/* ---- What is counted ------------------------------------------------------------ */

COUNTED void *known_alloc_measured(void)
{
    return known_alloc();
}

COUNTED void known_free_measured(void *slot)
{
    known_free((struct element *)slot);
}

COUNTED void *things_get_measured(void)
{
    return things_get();
}

COUNTED void things_put_measured(void *object)
{
    things_put((struct element *)object);
}

COUNTED void *object_get_measured(cpool_objects_t *objects)
{
    return cpool_object_get(objects);
}

COUNTED void object_put_measured(cpool_objects_t *objects, void *object)
{
    cpool_object_put(objects, object);
}

COUNTED void *sized_alloc_measured(cpool_sized_t *blocks)
{
    return cpool_sized_alloc(blocks, BLOCK);
}

COUNTED void sized_free_measured(cpool_sized_t *blocks, void *block)
{
    cpool_sized_free(blocks, block);
}

COUNTED void *frame_alloc_measured(cpool_frame_t *frame)
{
    return cpool_frame_alloc(frame);
}

/* Allocates some slots, and gives them back by a reset. */
COUNTED void frame_measured(cpool_frame_t *frame)
{
    int i;

    for (i = 0; i < FRAME; i++)
        if (cpool_frame_alloc(frame) == NULL)
            exit(EXIT_FAILURE);
    cpool_frame_reset(frame);
}

/* The life of a small pool: creation, one pair, and destruction. */
COUNTED void life_measured(void)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_t *pool;

    config.slot_size = BLOCK;
    config.capacity = ROUNDS;
    if (cpool_create(&pool, &config) != CPOOL_OK)
        exit(EXIT_FAILURE);
    cpool_free(pool, cpool_alloc(pool));
    cpool_destroy(pool);
}

/* ---- The parts ------------------------------------------------------------------ */

#define SINGLE(name, call)                                                             \
    static void name(size_t n)                                                         \
    {                                                                                  \
        size_t i;                                                                      \
                                                                                       \
        for (i = 0; i < n; i++)                                                        \
            call;                                                                      \
    }

#define BY_HANDLE(name)                                                                \
    SINGLE(name##_alloc, cpool_free(pools.name, inline_alloc_measured(pools.name)))    \
    SINGLE(name##_free, inline_free_measured(pools.name, cpool_alloc(pools.name)))

BY_HANDLE(checked)
SINGLE(typed_tracked_alloc, known_free((struct element *)known_alloc_measured()))
SINGLE(typed_tracked_free, known_free_measured(known_alloc()))
SINGLE(bare_get, cpool_object_put(pools.bare, object_get_measured(pools.bare)))
SINGLE(bare_put, object_put_measured(pools.bare, cpool_object_get(pools.bare)))
SINGLE(hooked_get, cpool_object_put(pools.hooked, object_get_measured(pools.hooked)))
SINGLE(hooked_put, object_put_measured(pools.hooked, cpool_object_get(pools.hooked)))
SINGLE(sized_alloc, cpool_sized_free(pools.blocks, sized_alloc_measured(pools.blocks)))
SINGLE(sized_free, sized_free_measured(pools.blocks, cpool_sized_alloc(pools.blocks, BLOCK)))
SINGLE(typed_get, things_put((struct element *)things_get_measured()))
SINGLE(typed_put, things_put_measured(things_get()))

SINGLE(small_pair, life_measured())

static cpool_frame_t *begin_frame(void)
{
    cpool_frame_t *frame;

    if (cpool_frame_begin(&frame, pools.framed) != CPOOL_OK)
        exit(EXIT_FAILURE);
    return frame;
}

static void frame_alloc(size_t n)
{
    cpool_frame_t *frame = begin_frame();

    while (n > 0) {
        size_t part = n < FRAME ? n : FRAME;

        for (n -= part; part > 0; part--)
            frame_alloc_measured(frame);
        cpool_frame_reset(frame);
    }
    cpool_frame_end(frame);
}

static void frame_pair(size_t n)
{
    cpool_frame_t *frame = begin_frame();

    while (n-- > 0)
        frame_measured(frame);
    cpool_frame_end(frame);
}

/* Searches everywhere, and returns NULL. */
static void dry_alloc(size_t n)
{
    while (n-- > 0)
        if (inline_alloc_measured(pools.dry) != NULL)
            exit(EXIT_FAILURE);
}

const struct instructions_mode instructions_modes[] = {
    { "typed-tracked-alloc", typed_tracked_alloc },
    { "typed-tracked-free", typed_tracked_free },
    { "checked-alloc", checked_alloc },
    { "checked-free", checked_free },
    { "frame-alloc", frame_alloc },
    { "frame-pair", frame_pair },
    { "dry-alloc", dry_alloc },
    { "object-alloc", bare_get },
    { "object-free", bare_put },
    { "typed-object-alloc", typed_get },
    { "typed-object-free", typed_put },
    { "hooked-object-alloc", hooked_get },
    { "hooked-object-free", hooked_put },
    { "sized-alloc", sized_alloc },
    { "sized-free", sized_free },
    { "small-pair", small_pair },
    { NULL, NULL },
};

/* ---- The pools ------------------------------------------------------------------ */

static int store_one(void *object, void *arg)
{
    (void)arg;
    *(volatile char *)object = 1;
    return 0;
}

static void store_none(void *object, void *arg)
{
    (void)arg;
    *(volatile char *)object = 0;
}

static void require(int code)
{
    if (code == CPOOL_OK)
        return;
    fprintf(stderr, "instructions: %s\n", cpool_strerror(code));
    exit(EXIT_FAILURE);
}

static cpool_t *create(unsigned flags)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_t *pool;

    config.name = "modes";
    config.slot_size = sizeof(struct element);
    config.capacity = CAPACITY;
    config.magazine_rounds = ROUNDS;
    config.flags = flags;
    require(cpool_create(&pool, &config));
    return pool;
}

static cpool_objects_t *create_objects(bool hooked)
{
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_objects_t *objects;

    type.object_size = sizeof(struct element);
    if (hooked) {
        type.activate = store_one;
        type.deactivate = store_none;
    }
    config.name = "objects";
    config.type = &type;
    config.capacity = CAPACITY;
    config.populate = CAPACITY;
    require(cpool_objects_create(&objects, &config));
    return objects;
}

static cpool_sized_t *create_blocks(void)
{
    cpool_sized_config_t config = CPOOL_SIZED_CONFIG_INIT;
    cpool_sized_t *blocks;

    config.name = "blocks";
    config.class_bytes = CAPACITY * sizeof(struct element);
    require(cpool_sized_create(&blocks, &config));
    return blocks;
}

static void hold_all(void)
{
    size_t i;

    for (i = 0; i < CAPACITY; i++)
        pools.held[i] = cpool_alloc(pools.dry);
}

static void drop_all(void)
{
    size_t i;

    for (i = 0; i < CAPACITY; i++)
        cpool_free(pools.dry, pools.held[i]);
}

void instructions_modes_create(void)
{
    pools.checked = create(CPOOL_CHECKED);
    pools.framed = create(0);
    cpool_free(pools.framed, cpool_alloc(pools.framed)); /* a magazine to go back to */
    pools.dry = create(0);
    hold_all();
    pools.bare = create_objects(false);
    pools.hooked = create_objects(true);
    pools.blocks = create_blocks();
}

void instructions_modes_destroy(void)
{
    require(cpool_destroy(pools.checked));
    require(cpool_destroy(pools.framed));
    drop_all();
    require(cpool_destroy(pools.dry));
    require(cpool_objects_destroy(pools.bare));
    require(cpool_objects_destroy(pools.hooked));
    require(cpool_sized_destroy(pools.blocks));
}
