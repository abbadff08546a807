/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_fallback.c - small pools that fall back to malloc: slots and blocks change hands among
 * threads.
 *
 * Includes worker.h.  A slot or block has its holder's key in all of its bytes, and whoever frees
 * it compares them, so that one that two hold is found, and a free that is refused ends the
 * program.  Each counts what it holds before it takes and after it has freed: there is never
 * more than slots and blocks may be.  At the end all of them can be had, once.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "worker.h"

#include <cpool/pools.h>
#include <stdlib.h>
#include <string.h>

#define FALLBACK_HELD 16
#define FALLBACK_PLACES 32

struct fallback {
    cpool_t *pool;
    size_t size;   /* bytes of a slot */
    size_t most;   /* slots and blocks, or more where there is slack */
    size_t blocks;
    bool waitable;
    bool strict;   /* the capacity is exact */
    _Atomic size_t held;
    _Atomic(unsigned char *) board[FALLBACK_PLACES];
};

/* ---- Slots and blocks ---------------------------------------------------------- */

static void fallback_fill(const struct fallback *fallback, struct worker *worker,
                          unsigned char *slot)
{
    memset(slot, (int)random_below(&worker->random, 256), fallback->size);
}

static void fallback_compare(const struct fallback *fallback, const unsigned char *slot)
{
    for (size_t i = 1; i < fallback->size; i++)
        if (slot[i] != slot[0])
            stress_fail("byte %zu of %zu at %p is not as its holder left it", i, fallback->size,
                        (const void *)slot);
}

/* A thread that waits holds a few at most, so that all cannot wait for each other. */
static unsigned char *fallback_take(struct worker *worker, struct fallback *fallback, size_t holds)
{
    bool waits = fallback->waitable && holds == 0 && random_once_in(&worker->random, 8);
    struct timespec limit = {0, 200000};
    unsigned char *slot = waits ? cpool_alloc_wait(fallback->pool, &limit)
                                : cpool_alloc(fallback->pool);
    size_t held;

    worker->operations++;
    if (slot == NULL) {
        worker->dry++;
        return NULL;
    }
    held = atomic_fetch_add_explicit(&fallback->held, 1, memory_order_relaxed) + 1;
    if (fallback->strict && held > fallback->most)
        stress_fail("%zu are held, and there are %zu", held, fallback->most);
    fallback_fill(fallback, worker, slot);
    return slot;
}

static void fallback_give(struct worker *worker, struct fallback *fallback, unsigned char *slot)
{
    fallback_compare(fallback, slot);
    memset(slot, 0, fallback->size);
    atomic_fetch_sub_explicit(&fallback->held, 1, memory_order_relaxed);
    if (random_once_in(&worker->random, 8))
        cpool_release(slot);
    else
        cpool_free(fallback->pool, slot);
    worker->operations++;
}

/* ---- The crew ------------------------------------------------------------------ */

static void fallback_body(struct worker *worker)
{
    struct fallback *fallback = worker->context;
    unsigned char *slots[FALLBACK_HELD];
    size_t n = 0;

    while (!episode_over(worker->episode)) {
        size_t what = random_below(&worker->random, 8);

        if (what < 4 && n < FALLBACK_HELD) {
            slots[n] = fallback_take(worker, fallback, n);
            n += slots[n] != NULL;
        } else if (what < 6 && n > 0) {
            fallback_give(worker, fallback, slots[--n]);
        } else if (n > 0) {
            size_t place = random_below(&worker->random, FALLBACK_PLACES);

            slots[n - 1] = atomic_exchange(&fallback->board[place], slots[n - 1]);
            n -= slots[n - 1] == NULL;
        }
    }
    while (n > 0)
        fallback_give(worker, fallback, slots[--n]);
}

/* ---- The episode --------------------------------------------------------------- */

static void fallback_open(struct fallback *fallback, uint64_t *random)
{
    static const unsigned flags[] = {0, 0, CPOOL_EXACT, CPOOL_WAITABLE, CPOOL_TRACKED};
    cpool_config_t config = CPOOL_CONFIG_INIT;
    int code;

    config.slot_size = random_between(random, 1, 200);
    config.capacity = random_between(random, 1, 40);
    config.flags = flags[random_below(random, sizeof flags / sizeof flags[0])];
    config.fallback = random_between(random, 1, 60);
    code = cpool_create(&fallback->pool, &config);
    if (code != 0)
        stress_fail("cpool_create: %s", cpool_strerror(code));
    fallback->size = config.slot_size;
    fallback->blocks = config.fallback;
    fallback->most = config.capacity + config.fallback;
    fallback->waitable = (config.flags & CPOOL_WAITABLE) != 0;
    fallback->strict = (config.flags & (CPOOL_EXACT | CPOOL_WAITABLE)) != 0;
}

/* Slots come first, then blocks, and then nothing. */
static void fallback_audit(const struct fallback *fallback)
{
    void **slots = calloc(2 * fallback->most + 4096, sizeof *slots);
    cpool_stats_t stats = CPOOL_STATS_INIT;
    size_t blocks = 0;
    size_t n = 0;

    if (slots == NULL)
        stress_fail("no memory for the audit");
    STRESS_REQUIRE(cpool_stats(fallback->pool, &stats) == 0);
    STRESS_REQUIRE(stats.live == 0 && stats.fallback_live == 0);
    STRESS_REQUIRE(stats.fallback_peak <= fallback->blocks);
    for (; (slots[n] = cpool_alloc(fallback->pool)) != NULL; n++) {
        blocks += cpool_index(fallback->pool, slots[n]) == SIZE_MAX;
        STRESS_REQUIRE(cpool_of(slots[n], NULL) == fallback->pool);
    }
    STRESS_REQUIRE(blocks == fallback->blocks);
    STRESS_REQUIRE(fallback->strict ? n == fallback->most : n >= fallback->most);
    cpool_free_bulk(fallback->pool, slots, n);
    free(slots);
}

static void fallback_run(struct episode *episode)
{
    struct fallback *fallback = calloc(1, sizeof *fallback);
    struct worker nobody = {.random = 1};

    if (fallback == NULL)
        stress_fail("no memory for the pool");
    fallback_open(fallback, &episode->random);
    crew_run(episode, fallback_body, fallback, NULL);
    for (size_t i = 0; i < FALLBACK_PLACES; i++) {
        unsigned char *slot = atomic_load(&fallback->board[i]);

        if (slot != NULL)
            fallback_give(&nobody, fallback, slot);
    }
    fallback_audit(fallback);
    STRESS_REQUIRE(cpool_destroy(fallback->pool) == 0);
    free(fallback);
}

const struct mode mode_fallback = {
    .name = "fallback",
    .purpose = "slots and blocks of malloc change hands among threads",
    .run = fallback_run,
};
