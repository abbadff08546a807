/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * entities.c - monsters and missiles of a game, which refer to each other by handles.
 *
 * For programs in which things end while others still know them.  A missile keeps a handle of the
 * monster that it flies to, and not its address: once the monster has gone, the handle leads
 * nowhere, even if the slot is another monster's by then.  The engine visits all monsters by an
 * iterator, without a list of its own.  The physics only knows bodies, so what a body belongs to
 * is found by its address.  At the end of a level all goes at once.
 *
 *     cc -std=c11 entities.c $(pkg-config --cflags --libs cpool)
 */
#include <cpool/pools.h>
#include <cpool/track.h>

#include <stdio.h>
#include <stdlib.h>

#define MONSTERS 12
#define FRAMES 6

struct body {
    float place, speed;
};

struct monster {
    int life;
    struct body body;
};

struct missile {
    cpool_handle_t target;
    struct body body;
};

static cpool_t *monsters, *missiles;
static unsigned hits, lost;

static cpool_t *make_pool(const char *name, size_t slot_size, size_t capacity)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_t *pool;
    int error;

    config.name = name;
    config.slot_size = slot_size;
    config.capacity = capacity;
    config.flags = CPOOL_TRACKED;
    error = cpool_create(&pool, &config);
    if (error != 0) {
        fprintf(stderr, "entities: %s: %s\n", name, cpool_strerror(error));
        exit(1);
    }
    return pool;
}

static void add_monster(float place)
{
    struct monster *monster = cpool_calloc(monsters); /* at rest */

    if (monster != NULL) {
        monster->life = 2;
        monster->body.place = place;
    }
}

static void shoot_at(const struct monster *monster)
{
    struct missile *missile = cpool_calloc(missiles);

    if (missile != NULL) {
        missile->target = cpool_handle(monsters, monster);
        missile->body.speed = 4;
    }
}

/* The physics has found that something hit this body: a part of a monster, or of a missile. */
static void hit(struct body *body)
{
    void *slot;
    cpool_t *pool = cpool_of(body, &slot);

    if (pool == monsters) {
        struct monster *monster = slot;

        hits++;
        if (--monster->life > 0)
            return;
    }
    cpool_free(pool, slot);
}

static void move_missiles(void)
{
    cpool_iter_t iter = CPOOL_ITER_INIT(missiles, 0, SIZE_MAX);
    struct missile *missile;

    while ((missile = cpool_iter_next(&iter)) != NULL) {
        struct monster *monster = cpool_resolve(monsters, missile->target);

        missile->body.place += missile->body.speed;
        if (monster == NULL) { /* another missile was faster */
            cpool_free(missiles, missile);
            lost++;
        } else if (missile->body.place >= monster->body.place) {
            hit(&monster->body);
            hit(&missile->body);
        }
    }
}

/* Shoots at all that are near. */
static void defend(void)
{
    cpool_iter_t iter = CPOOL_ITER_INIT(monsters, 0, SIZE_MAX);
    struct monster *monster;

    while ((monster = cpool_iter_next(&iter)) != NULL)
        if (monster->body.place < 16)
            shoot_at(monster);
}

static void play_level(int level)
{
    size_t left;

    hits = lost = 0;
    for (int i = 0; i < MONSTERS; i++)
        add_monster((float)(3 * i));
    for (int frame = 0; frame < FRAMES; frame++) {
        defend();
        move_missiles();
    }
    left = cpool_reset(monsters);
    printf("level %d: %u hits, %u missiles without their target, and at the end %zu monsters",
           level, hits, lost, left);
    printf(" and %zu missiles\n", cpool_reset(missiles));
}

int main(void)
{
    monsters = make_pool("monsters", sizeof(struct monster), 100);
    missiles = make_pool("missiles", sizeof(struct missile), 400);
    for (int level = 1; level <= 2; level++)
        play_level(level);
    return cpool_destroy(missiles) == 0 && cpool_destroy(monsters) == 0 ? 0 : 1;
}
