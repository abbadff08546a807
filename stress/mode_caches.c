/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_caches.c - explicit caches: the thread's own, and caches that are handed
 * from thread to thread.
 *
 * Includes worker.h.  A rack holds caches made with cpool_cache_create.  To use one, a thread takes
 * it from the rack by an atomic exchange and later puts it back: the exchange makes the hand-over
 * legal.  Slots allocated through one cache are freed through any other, or through none.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "worker.h"

#define CACHES_RACK 8

/* The longest use of a cache, in steps. */
#define CACHES_STEPS_MAX 100

struct caches {
    struct arena arena;
    _Atomic(cpool_cache_t *) rack[CACHES_RACK]; /* NULL: in use, or not made */
};

static cpool_cache_t *caches_swap(struct worker *worker, struct caches *caches,
                                  cpool_cache_t *cache)
{
    return atomic_exchange_explicit(&caches->rack[random_below(&worker->random, CACHES_RACK)],
                                    cache, memory_order_acq_rel);
}

/* One allocation or free through the cache. */
static void caches_step(struct worker *worker, struct caches *caches, struct bag *bag,
                        cpool_cache_t *cache)
{
    void *slot;

    if (bag->count == 0 || (bag->count < bag->room && random_once_in(&worker->random, 2))) {
        slot = worker_took(worker, &caches->arena, cpool_cache_alloc(cache));
        if (slot != NULL)
            bag_add(bag, slot);
    } else {
        cpool_cache_free(cache,
                         worker_gives(worker, &caches->arena, bag_remove(bag, &worker->random)));
    }
}

/* Takes a cache from the rack, or creates one.  NULL when all that the pool can have are in use. */
static cpool_cache_t *caches_obtain(struct worker *worker, struct caches *caches)
{
    cpool_cache_t *cache = caches_swap(worker, caches, NULL);
    int code;

    if (cache != NULL)
        return cache;
    code = cpool_cache_create(&cache, caches->arena.pool);
    STRESS_REQUIRE(code == 0 || (code == CPOOL_ELIMIT && cache == NULL));
    return cache;
}

static void caches_hand_over(struct worker *worker, struct caches *caches, cpool_cache_t *cache)
{
    if (!random_once_in(&worker->random, 8))
        cache = caches_swap(worker, caches, cache);
    cpool_cache_destroy(cache); /* the one that was in its place, if any */
}

static void caches_body(struct worker *worker)
{
    struct caches *caches = worker->context;
    struct bag bag;

    bag_init(&bag, &caches->arena, &worker->random, worker->episode->threads);
    while (!episode_over(worker->episode)) {
        cpool_cache_t *cache = caches_obtain(worker, caches);

        for (size_t steps = random_below(&worker->random, CACHES_STEPS_MAX); steps > 0; steps--) {
            if (cache != NULL && !random_once_in(&worker->random, 8))
                caches_step(worker, caches, &bag, cache);
            else
                worker_step(worker, &bag);
        }
        if (cache != NULL && random_once_in(&worker->random, 8))
            cpool_cache_flush(cache);
        caches_hand_over(worker, caches, cache);
    }
    worker_leave(worker, &bag);
    bag_fini(&bag);
}

static void caches_run(struct episode *episode)
{
    uint64_t *random = &episode->random;
    cpool_config_t config = arena_draw(random, random_once_in(random, 2) ? ARENA_ROOMY
                                                                         : ARENA_TIGHT);
    struct caches caches = {0};

    if (random_once_in(random, 3))
        config.flags = CPOOL_CHECKED;
    arena_create(&caches.arena, &config, 2 * episode->threads + CACHES_RACK, random);
    crew_run(episode, caches_body, &caches, NULL);
    for (size_t i = 0; i < CACHES_RACK; i++)
        cpool_cache_destroy(
            atomic_exchange_explicit(&caches.rack[i], NULL, memory_order_acq_rel));
    arena_audit(&caches.arena, random, episode->tally);
    arena_destroy(&caches.arena);
}

const struct mode mode_caches = {
    .name = "caches",
    .purpose = "explicit caches, handed from thread to thread",
    .run = caches_run,
};
