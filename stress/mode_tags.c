/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_tags.c - subsystems that share a pool, each with a limit of its own.
 *
 * Includes board.h.  The program counts the slots of each tag beside the library: in its
 * own hands at a moment are no more than the tag has live, and no more than the limit.  At
 * the end the figures of each tag are what the program counted, and each tag can have as
 * many slots as its limit allows.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "board.h"

#include <cpool/pools.h>
#include <stdlib.h>

#define TAGS_MAX 4
#define TAGS_BULK 8

/* A subsystem. */
struct tagged {
    cpool_tag_t tag;
    struct board board;
    size_t limit;
    _Atomic size_t held;    /* slots that its threads have: at no moment more than live */
    _Atomic size_t most;    /* of them, seen so far */
    _Atomic size_t missing; /* slots that were asked for and not had */
};

struct tags {
    struct arena arena;
    size_t count;
    bool shares; /* the limits add up to the capacity at most */
    struct tagged tagged[TAGS_MAX];
};

static void tags_took(struct tagged *tagged, size_t n, size_t asked)
{
    size_t held = (tagged->held += n);
    size_t most = tagged->most;

    if (held > tagged->limit)
        stress_fail("%zu slots are held by a tag with a limit of %zu", held, tagged->limit);
    while (most < held && !atomic_compare_exchange_weak(&tagged->most, &most, held))
        ;
    tagged->missing += asked - n;
}

/* By one of the ways, up to n slots.  Returns how many. */
static size_t tags_obtain(struct worker *worker, struct tags *tags, struct tagged *tagged,
                          void **slots, size_t n)
{
    switch (random_below(&worker->random, 4)) {
    case 0:
        return cpool_tag_alloc_bulk(&tagged->tag, slots, n);
    case 1: {
        size_t granted = cpool_tag_take(&tagged->tag, n);
        size_t had = cpool_alloc_bulk(tags->arena.pool, slots, granted);

        cpool_tag_give(&tagged->tag, granted - had);
        return had;
    }
    default:
        slots[0] = cpool_tag_alloc(&tagged->tag);
        return slots[0] != NULL;
    }
}

static void tags_take(struct worker *worker, struct tags *tags, struct tagged *tagged,
                      struct bag *bag)
{
    void *slots[TAGS_BULK];
    size_t room = bag->room - bag->count;
    size_t wanted = random_between(&worker->random, 1, room < TAGS_BULK ? room : TAGS_BULK);
    size_t had = tags_obtain(worker, tags, tagged, slots, wanted);

    tags_took(tagged, had, wanted);
    worker->dry += had == 0;
    for (size_t i = 0; i < had; i++)
        bag_add(bag, worker_took(worker, &tags->arena, slots[i]));
}

static void tags_give(struct worker *worker, struct tags *tags, struct tagged *tagged,
                      struct bag *bag)
{
    void *slots[TAGS_BULK];
    size_t n = random_between(&worker->random, 1, bag->count < TAGS_BULK ? bag->count : TAGS_BULK);

    for (size_t i = 0; i < n; i++)
        slots[i] = worker_gives(worker, &tags->arena, bag_remove(bag, &worker->random));
    tagged->held -= n;
    switch (random_below(&worker->random, 3)) {
    case 0:
        cpool_tag_free_bulk(&tagged->tag, slots, n);
        break;
    case 1:
        cpool_free_bulk(tags->arena.pool, slots, n);
        cpool_tag_give(&tagged->tag, n);
        break;
    default:
        for (size_t i = 0; i < n; i++)
            cpool_tag_free(&tagged->tag, slots[i]);
    }
}

/* A slot of the subsystem to another of its threads, and one back. */
static void tags_swap(struct worker *worker, struct tags *tags, struct tagged *tagged,
                      struct bag *bag)
{
    void *slot = bag->count > 0 ? bag_remove(bag, &worker->random) : NULL;

    slot = board_swap(&tagged->board, &worker->random, slot);
    if (slot != NULL)
        bag_add(bag, worker_adopts(worker, &tags->arena, slot));
}

static void tags_look(const struct tagged *tagged)
{
    cpool_tag_view_t view = CPOOL_TAG_VIEW_INIT;

    STRESS_REQUIRE(cpool_tag_view(&tagged->tag, &view) == 0);
    STRESS_REQUIRE(view.limit == tagged->limit && view.live <= view.limit);
    STRESS_REQUIRE(view.peak <= view.limit);
}

static void tags_body(struct worker *worker)
{
    struct tags *tags = worker->context;
    struct tagged *tagged = &tags->tagged[worker->index % tags->count];
    struct bag bag;

    bag_init(&bag, &tags->arena, &worker->random, worker->episode->threads);
    while (!episode_over(worker->episode)) {
        bool full = bag.count == bag.room;

        if (bag.count == 0 || (!full && random_once_in(&worker->random, 2)))
            tags_take(worker, tags, tagged, &bag);
        else
            tags_give(worker, tags, tagged, &bag);
        if (bag.count < bag.room && random_once_in(&worker->random, 4))
            tags_swap(worker, tags, tagged, &bag);
        if (random_once_in(&worker->random, 64))
            tags_look(tagged);
    }
    while (bag.count > 0)
        tags_give(worker, tags, tagged, &bag);
    bag_fini(&bag);
}

/* ---- The end ------------------------------------------------------------------- */

static void tags_clear(struct tags *tags, struct tagged *tagged)
{
    struct stamp_owner owner = {.number = STAMP_OWNERS - 2};

    for (size_t i = 0; i < BOARD_PLACES; i++) {
        void *slot = tagged->board.places[i];

        if (slot == NULL)
            continue;
        stamp_adopt(&tags->arena.book, &owner, slot);
        stamp_give(&tags->arena.book, &owner, slot);
        tagged->held--;
        cpool_tag_free(&tagged->tag, slot);
    }
}

/* All that the limit allows, and not one more.  No other slot is live. */
static void tags_fill(struct tagged *tagged)
{
    void **slots = calloc(tagged->limit + 1, sizeof *slots);
    size_t had = 0;

    STRESS_REQUIRE(slots != NULL);
    while (had <= tagged->limit && (slots[had] = cpool_tag_alloc(&tagged->tag)) != NULL)
        had++;
    if (had != tagged->limit)
        stress_fail("a tag with a limit of %zu got %zu slots", tagged->limit, had);
    cpool_tag_free_bulk(&tagged->tag, slots, had);
    free(slots);
}

/* Slots that the tag refused were not had. */
static void tags_audit(struct tagged *tagged)
{
    cpool_tag_view_t view = CPOOL_TAG_VIEW_INIT;

    STRESS_REQUIRE(cpool_tag_view(&tagged->tag, &view) == 0);
    if (view.live != 0 || tagged->held != 0 || view.peak < tagged->most ||
        view.refused > tagged->missing)
        stress_fail("a tag has %zu live, a peak of %zu and %zu refused; counted were %zu held, %zu "
                    "at most and %zu not had",
                    view.live, view.peak, view.refused, tagged->held, tagged->most,
                    tagged->missing);
    tags_fill(tagged);
    STRESS_REQUIRE(cpool_tag_close(&tagged->tag) == 0);
}

static void tags_open(struct tags *tags, uint64_t *random)
{
    size_t left = tags->arena.capacity;

    for (size_t i = 0; i < tags->count; i++) {
        struct tagged *tagged = &tags->tagged[i];

        tagged->limit = tags->shares ? left / (tags->count - i)
                                     : random_below(random, tags->arena.capacity + 1);
        left -= tags->shares ? tagged->limit : 0;
        tagged->tag = (cpool_tag_t)CPOOL_TAG_INIT;
        STRESS_REQUIRE(cpool_tag_open(&tagged->tag, tags->arena.pool, "tag", tagged->limit) == 0);
    }
}

static void tags_run(struct episode *episode)
{
    uint64_t *random = &episode->random;
    cpool_config_t config = arena_draw(random, arena_draw_room(random));
    struct tags *tags = calloc(1, sizeof *tags);

    STRESS_REQUIRE(tags != NULL);
    if (random_once_in(random, 2))
        config.flags = CPOOL_EXACT;
    arena_create(&tags->arena, &config, episode->threads, random);
    tags->count = random_between(random, 1, TAGS_MAX);
    tags->shares = random_once_in(random, 2);
    tags_open(tags, random);
    crew_run(episode, tags_body, tags, NULL);
    for (size_t i = 0; i < tags->count; i++)
        tags_clear(tags, &tags->tagged[i]);
    cpool_flush(tags->arena.pool);
    for (size_t i = 0; i < tags->count; i++)
        tags_audit(&tags->tagged[i]);
    arena_audit(&tags->arena, random, episode->tally);
    arena_destroy(&tags->arena);
    free(tags);
}

const struct mode mode_tags = {
    .name = "tags",
    .purpose = "subsystems with limits of their own share a pool",
    .run = tags_run,
};
