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

enum { BEYOND = 2 * ROUNDS, BEYOND_UNCACHED = 32 }; /* the mark, when an alloc comes upon it */

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
    *scene = (struct scene){ .pool = SUPPORT_CREATE(16, capacity, .flags = flags,
                                                    .magazine_rounds = ROUNDS) };
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

    if (way == WAITS)
        return cpool_alloc_wait(pool, &at_once);
    if (way == ASKS)
        return cpool_alloc_or_notify(pool);
    return way == FRAMES ? cpool_frame_alloc(frame) : alloc_through(way, pool);
}

static void take_until(struct scene *scene, int way, size_t live)
{
    void *slot;

    while (scene->count < live && (slot = alloc_by(way, scene->pool)) != NULL)
        scene->slots[scene->count++] = slot;
}

enum { KINDS = 3 };
static const unsigned kinds[KINDS] = { 0, CPOOL_TRACKED, CPOOL_CHECKED };

static void begin_way(struct scene *scene, int way, unsigned flags, size_t capacity)
{
    scene_init(scene, flags, capacity);
    if (way == DOORS - 1)
        REQUIRE_EQUAL(cpool_cache_create(&handed, scene->pool), 0);
    if (way == FRAMES)
        REQUIRE_EQUAL(cpool_frame_begin(&frame, scene->pool), 0);
}

static void end_way(struct scene *scene, int way)
{
    if (way == DOORS - 1)
        cpool_cache_destroy(handed);
    if (way == FRAMES) {
        scene->count = 0;
        cpool_frame_end(frame);
    }
    scene_fini(scene);
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

    begin_way(&scene, way, kinds[_i / WAYS], CAPACITY);
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
}

TEST(mark_of_one_slot_is_armed_by_its_free)
{
    struct scene scene;

    scene_init(&scene, 0, CAPACITY);
    set_mark(&scene, 1);
    for (unsigned calls = 1; calls <= 3; calls++) {
        take_until(&scene, 2, 1 + BEYOND_UNCACHED);
        for (size_t live = 2; live-- > 0; REQUIRE_EQUAL(scene.calls, calls)) {
            give_all(&scene, live);
            for (int i = 0; i < 2 * BEYOND_UNCACHED; i++) /* counts */
                cpool_free_uncached(scene.pool, cpool_alloc_uncached(scene.pool));
        }
    }
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

/* --- In the function --- */

static void give_one(struct scene *scene)
{
    give_all(scene, scene->count - 1);
}

TEST_TIMES(slot_that_the_function_frees_is_there_for_the_alloc, WAYS)
{
    struct scene scene;

    if (_i == FRAMES)
        return;
    begin_way(&scene, _i, 0, 2 * ROUNDS);
    scene.acts = give_one;
    set_mark(&scene, 2 * ROUNDS);
    take_until(&scene, _i, 2 * ROUNDS);
    REQUIRE_EQUAL(scene.calls, 0);
    scene.slots[scene.count] = alloc_by(_i, scene.pool);
    REQUIRE(scene.slots[scene.count++] != NULL);
    REQUIRE_EQUAL(scene.calls, 1);
    end_way(&scene, _i);
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
    REQUIRE_EQUAL(set_mark(scene, 0).slots, MARK);
    cpool_trim(scene->pool);
}

TEST_TIMES(function_may_use_the_pool, WAYS * KINDS)
{
    int way = _i % WAYS;
    struct scene scene;

    begin_way(&scene, way, kinds[_i / WAYS], CAPACITY);
    scene.acts = use_library_twice;
    set_mark(&scene, MARK);
    take_until(&scene, way, SIZE_MAX);
    REQUIRE_EQUAL(scene.count, CAPACITY);
    REQUIRE_EQUAL(scene.calls, 1);
    end_way(&scene, way);
}

/* --- Several threads --- */

enum { THREADS = 4, SHARE = CAPACITY / THREADS };

struct share {
    struct support_door *start;
    cpool_t *pool;
    void **slots;
};

static void *take_share(void *arg)
{
    const struct share *share = arg;

    support_door_wait(share->start);
    for (int i = 0; i < SHARE; i++)
        share->slots[i] = cpool_alloc(share->pool);
    return NULL;
}

TEST(mark_that_threads_reach_at_once_is_told_once)
{
    struct share shares[THREADS];
    pthread_t threads[THREADS];
    struct support_door start;
    struct scene scene;

    scene_init(&scene, 0, CAPACITY);
    set_mark(&scene, MARK);
    for (unsigned round = 1; round <= SUPPORT_COUNT(300, 30); round++) {
        support_door_init(&start);
        for (int i = 0; i < THREADS; i++) {
            shares[i] = (struct share){ &start, scene.pool, scene.slots + i * SHARE };
            threads[i] = support_start(take_share, &shares[i]);
        }
        support_door_await(&start, THREADS);
        support_door_open(&start);
        for (int i = 0; i < THREADS; i++)
            support_join(threads[i]);
        REQUIRE_EQUAL(scene.calls, round);
        scene.count = CAPACITY;
        give_all(&scene, 0);
    }
    scene_fini(&scene);
}
