/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_pressure.c - the mark at which a pool calls a function, before it runs dry.
 */
#include "doors.h"

#include <cpool/frame.h>

#include <stdatomic.h>
#include <time.h>

/* ROUNDS in a magazine, two of which a cache has. */
enum { CAPACITY = 400, ROUNDS = 5, MARK = 200, EIGHTH = MARK / 8 };

/* How far beyond the mark an alloc may come upon it: with a cache, without one. */
enum { BEYOND = 2 * ROUNDS, BEYOND_UNCACHED = 32 };

struct scene {
    cpool_t *pool;
    void *slots[CAPACITY + 1];
    size_t count;
    _Atomic unsigned calls;
    size_t live; /* of the last call */
    void (*acts)(struct scene *scene); /* in the function, or NULL */
};

static void note_call(cpool_t *pool, size_t live, void *arg)
{
    struct scene *scene = arg;

    REQUIRE(pool == scene->pool);
    atomic_fetch_add(&scene->calls, 1u);
    scene->live = live;
    if (scene->acts != NULL)
        scene->acts(scene);
}

static cpool_pressure_t set_mark(struct scene *scene, size_t slots)
{
    return cpool_set_pressure(scene->pool, (cpool_pressure_t){ slots, note_call, scene });
}

static void scene_init(struct scene *scene, unsigned flags, size_t capacity)
{
    cpool_config_t config = support_config(16, capacity);

    config.flags = flags;
    config.magazine_rounds = ROUNDS;
    *scene = (struct scene){ .pool = support_create(&config) };
    atomic_init(&scene->calls, 0);
}

static void give_all(struct scene *scene, size_t but)
{
    while (scene->count > but)
        cpool_free(scene->pool, scene->slots[--scene->count]);
}

static void scene_fini(struct scene *scene)
{
    give_all(scene, 0);
    support_destroy_empty(scene->pool);
}

/* The doors, and three that have a search of their own or a way past all of them. */
enum { WAITS = DOORS, ASKS, FRAMES, WAYS };

static cpool_frame_t *frame;

static void *alloc_by(int way, cpool_t *pool)
{
    static const struct timespec at_once = { 0, 1 };

    switch (way) {
    case WAITS:
        return cpool_alloc_wait(pool, &at_once);
    case ASKS:
        return cpool_alloc_or_notify(pool);
    case FRAMES:
        return cpool_frame_alloc(frame);
    default:
        return alloc_through(way, pool);
    }
}

/* Takes slots until so many are live, or the pool is dry. */
static void take_until(struct scene *scene, int way, size_t live)
{
    void *slot;

    while (scene->count < live && (slot = alloc_by(way, scene->pool)) != NULL)
        scene->slots[scene->count++] = slot;
}

static const unsigned kinds[] = { 0, CPOOL_TRACKED, CPOOL_CHECKED };

enum { KINDS = sizeof kinds / sizeof kinds[0] };

static void begin_way(struct scene *scene, int way)
{
    if (way == DOORS - 1)
        REQUIRE_EQUAL(cpool_cache_create(&handed, scene->pool), 0);
    if (way == FRAMES)
        REQUIRE_EQUAL(cpool_frame_begin(&frame, scene->pool), 0);
}

static void end_way(struct scene *scene, int way)
{
    if (way == DOORS - 1) {
        give_all(scene, 0);
        cpool_cache_destroy(handed);
    }
    if (way == FRAMES) {
        scene->count = 0;
        cpool_frame_end(frame);
    }
}

/* By one call between the mark and so much beyond it. */
static void require_call_by(struct scene *scene, int way, unsigned calls)
{
    size_t most = MARK + (way == 2 ? BEYOND_UNCACHED : BEYOND);

    take_until(scene, way, MARK - 1);
    REQUIRE_EQUAL(scene->calls, calls - 1);
    take_until(scene, way, most + 1);
    REQUIRE_EQUAL(scene->calls, calls);
    REQUIRE(scene->live >= MARK && scene->live <= most);
    take_until(scene, way, SIZE_MAX); /* and not again in a dry pool */
    REQUIRE_EQUAL(scene->count, CAPACITY);
    REQUIRE_EQUAL(scene->calls, calls);
}

TEST_TIMES(mark_is_told_once_and_again_an_eighth_below, WAYS * KINDS)
{
    int way = _i % WAYS;
    struct scene scene;

    scene_init(&scene, kinds[_i / WAYS], CAPACITY);
    begin_way(&scene, way);
    REQUIRE_EQUAL(set_mark(&scene, MARK).slots, 0);
    require_call_by(&scene, way, 1);
    if (way != FRAMES) {
        give_all(&scene, MARK - EIGHTH + 1); /* one too many */
        take_until(&scene, way, SIZE_MAX);
        REQUIRE_EQUAL(scene.calls, 1);
        give_all(&scene, MARK / 2);
        require_call_by(&scene, way, 2);
    }
    end_way(&scene, way);
    scene_fini(&scene);
}

/* Counts, and leaves what is live. */
static void count_here(const struct scene *scene)
{
    for (int i = 0; i < 2 * BEYOND_UNCACHED; i++)
        cpool_free_uncached(scene->pool, cpool_alloc_uncached(scene->pool));
}

TEST(mark_of_one_slot_is_armed_by_its_free)
{
    struct scene scene;

    scene_init(&scene, 0, CAPACITY);
    set_mark(&scene, 1);
    for (unsigned calls = 1; calls <= 3; calls++) {
        take_until(&scene, 2, 1 + BEYOND_UNCACHED);
        give_all(&scene, 1);
        count_here(&scene);
        REQUIRE_EQUAL(scene.calls, calls);
        give_all(&scene, 0);
        count_here(&scene);
        REQUIRE_EQUAL(scene.calls, calls);
    }
    scene_fini(&scene);
}

/* Its cache and the other one have long to go to their next counts. */
TEST(mark_is_seen_by_caches_that_were_there_before)
{
    cpool_cache_t *other;
    struct scene scene;

    scene_init(&scene, 0, CAPACITY);
    REQUIRE_EQUAL(cpool_cache_create(&other, scene.pool), 0);
    for (int i = 0; i < 2; i++) {
        take_until(&scene, 0, 2 * BEYOND);
        give_all(&scene, 0);
    }
    cpool_cache_free(other, cpool_cache_alloc(other));
    set_mark(&scene, MARK);
    require_call_by(&scene, 0, 1);
    give_all(&scene, 0);
    handed = other;
    require_call_by(&scene, 4, 2);
    give_all(&scene, 0);
    cpool_cache_destroy(other);
    scene_fini(&scene);
}

TEST(mark_that_is_reached_when_it_is_set_is_told_by_the_next_exchange)
{
    struct scene scene;

    scene_init(&scene, 0, CAPACITY);
    take_until(&scene, 0, MARK);
    set_mark(&scene, MARK);
    REQUIRE_EQUAL(scene.calls, 0);
    take_until(&scene, 0, MARK + BEYOND);
    REQUIRE_EQUAL(scene.calls, 1);
    scene_fini(&scene);
}

TEST(setting_returns_the_mark_before_and_none_ends_it)
{
    cpool_pressure_t before;
    struct scene scene;
    int other;

    scene_init(&scene, 0, CAPACITY);
    set_mark(&scene, MARK);
    before = cpool_set_pressure(scene.pool, (cpool_pressure_t){ 7, note_call, &other });
    REQUIRE(before.slots == MARK && before.reached == note_call && before.arg == &scene);
    before = cpool_set_pressure(scene.pool, (cpool_pressure_t){ 7, NULL, &other });
    REQUIRE(before.slots == 7 && before.reached == note_call && before.arg == &other);
    before = cpool_set_pressure(scene.pool, (cpool_pressure_t){ 0, note_call, &scene });
    REQUIRE(before.slots == 0 && before.reached == NULL && before.arg == NULL);
    take_until(&scene, 0, SIZE_MAX);
    REQUIRE_EQUAL(scene.calls, 0);
    scene_fini(&scene);
}

/*
 * ---- In the function -----------------------------------------------------
 */

static void give_one(struct scene *scene)
{
    give_all(scene, scene->count - 1);
}

/* An alloc that finds the pool dry gets what the function frees, and does not wait for it. */
TEST_TIMES(slot_that_the_function_frees_is_there_for_the_alloc, WAYS)
{
    struct scene scene;

    if (_i == FRAMES)
        return;
    scene_init(&scene, 0, 2 * ROUNDS);
    begin_way(&scene, _i);
    scene.acts = give_one;
    set_mark(&scene, 2 * ROUNDS);
    take_until(&scene, _i, 2 * ROUNDS);
    REQUIRE_EQUAL(scene.calls, 0);
    scene.slots[scene.count] = alloc_by(_i, scene.pool);
    REQUIRE(scene.slots[scene.count++] != NULL);
    REQUIRE_EQUAL(scene.calls, 1);
    end_way(&scene, _i);
    scene_fini(&scene);
}

/* Makes a pool, for which it takes the lock, and takes all slots, for which it waits for threads
 * that are inside. */
static void *use_library(void *arg)
{
    struct scene *scene = arg;
    void *slots[CAPACITY];
    size_t n;

    support_destroy_empty(support_create_plain(16, 9));
    n = cpool_alloc_bulk(scene->pool, slots, CAPACITY, 0);
    REQUIRE_EQUAL(n + scene->live, CAPACITY);
    REQUIRE(cpool_alloc(scene->pool) == NULL);
    cpool_free_bulk(scene->pool, slots, n);
    REQUIRE_EQUAL(support_stats(scene->pool).stalls, 0);
    return NULL;
}

/* The thread that calls holds nothing, so another one may do all this, and so may itself. */
static void use_library_twice(struct scene *scene)
{
    support_in_thread(use_library, scene);
    use_library(scene);
    REQUIRE_EQUAL(cpool_set_pressure(scene->pool, (cpool_pressure_t){ 0, NULL, NULL }).slots, MARK);
    cpool_trim(scene->pool);
}

TEST_TIMES(function_may_use_the_pool, WAYS * KINDS)
{
    int way = _i % WAYS;
    struct scene scene;

    scene_init(&scene, kinds[_i / WAYS], CAPACITY);
    begin_way(&scene, way);
    scene.acts = use_library_twice;
    set_mark(&scene, MARK);
    take_until(&scene, way, SIZE_MAX);
    REQUIRE_EQUAL(scene.count, CAPACITY);
    REQUIRE_EQUAL(scene.calls, 1);
    end_way(&scene, way);
    scene_fini(&scene);
}

/*
 * ---- Several threads -----------------------------------------------------
 */

enum { THREADS = 4, SHARE = CAPACITY / THREADS };

struct party {
    struct scene *scene;
    struct support_door *start;
    struct support_door *full;
};

static void *take_share(void *arg)
{
    struct party *party = arg;
    void *slots[SHARE];

    support_door_wait(party->start);
    for (int i = 0; i < SHARE; i++) {
        slots[i] = cpool_alloc(party->scene->pool);
        REQUIRE(slots[i] != NULL);
    }
    support_door_wait(party->full);
    for (int i = 0; i < SHARE; i++)
        cpool_free(party->scene->pool, slots[i]);
    return NULL;
}

TEST(mark_that_threads_reach_at_once_is_told_once)
{
    struct support_door start, full;
    struct scene scene;
    struct party party = { &scene, &start, &full };
    pthread_t threads[THREADS];

    scene_init(&scene, 0, CAPACITY);
    set_mark(&scene, MARK);
    for (unsigned round = 1; round <= SUPPORT_COUNT(300, 30); round++) {
        support_door_init(&start);
        support_door_init(&full);
        for (int i = 0; i < THREADS; i++)
            threads[i] = support_start(take_share, &party);
        support_door_await(&start, THREADS);
        support_door_open(&start);
        support_door_await(&full, THREADS);
        REQUIRE_EQUAL(scene.calls, round);
        support_door_open(&full);
        for (int i = 0; i < THREADS; i++)
            support_join(threads[i]);
    }
    scene_fini(&scene);
}
