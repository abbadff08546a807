/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_churn.c - threads that live for a short time, end in every possible way, and leave filled
 * caches behind.  Later threads free their slots.
 *
 * Includes board.h and disturb.h.  Hundreds of threads come and go in an episode.  The magazines
 * that they leave must be reused (arena_stats verifies that), and so must all their slots (the
 * audit verifies that).
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "board.h"
#include "disturb.h"

#include <stdlib.h>

/* The longest life, in steps. */
#define CHURN_STEPS_MAX 300

struct churn {
    struct arena arena;
    struct board board;
};

/* Its destructor uses the pool while the thread ends.  It is created before the first pool, and
 * so before the library's own key.  No standard says that its destructor then runs first, but
 * it does. */
static pthread_key_t churn_key;

/* The slots that a dying thread leaves to a destructor of thread-specific data. */
struct churn_will {
    struct worker *worker;
    struct bag *bag;
    unsigned int rounds; /* of destructors so far */
};

/*
 * Clang's ThreadSanitizer forgets a thread before the last round of destructors, and crashes if one
 * of the library's runs later.  This happens if the thread's first use of a pool that gives it a
 * cache is in the second round.
 */
#if STRESS_TSAN && defined(__clang__)
#define CHURN_ROUNDS 1
#else
#define CHURN_ROUNDS 2
#endif

/*
 * The first time it sets the key again, as POSIX permits, so that it is called again, certainly
 * after the library's destructor.
 */
static void churn_execute(void *argument)
{
    struct churn_will *will = argument;
    struct worker *worker = will->worker;
    struct arena *arena = will->bag->arena;
    bool again = ++will->rounds < CHURN_ROUNDS;
    size_t kept = again ? will->bag->count / 2 : 0;
    void *slot = worker_took(worker, arena, cpool_alloc(arena->pool));

    while (will->bag->count > kept)
        cpool_free(arena->pool,
                   worker_gives(worker, arena, bag_remove(will->bag, &worker->random)));
    if (slot != NULL)
        cpool_free(arena->pool, worker_gives(worker, arena, slot));
    if (again) {
        pthread_setspecific(churn_key, will);
        return;
    }
    bag_fini(will->bag);
    free(will->bag);
    free(will);
}

static struct churn_will *churn_will_new(struct worker *worker, struct churn *churn)
{
    struct churn_will *will = malloc(sizeof *will);

    if (will == NULL || (will->bag = malloc(sizeof *will->bag)) == NULL)
        stress_fail("no memory for a life");
    will->worker = worker;
    will->rounds = 0;
    bag_init(will->bag, &churn->arena, &worker->random, worker->episode->threads);
    pthread_setspecific(churn_key, will);
    return will;
}

/* Leaves a slot for any later thread, and frees the slots that others have left. */
static void churn_bequeath(struct worker *worker, struct churn *churn, struct bag *bag)
{
    void *slot = bag->count > 0 ? bag_remove(bag, &worker->random) : NULL;

    slot = board_swap(&churn->board, &worker->random, slot);
    if (slot != NULL) {
        worker_adopts(worker, &churn->arena, slot);
        cpool_free(churn->arena.pool, worker_gives(worker, &churn->arena, slot));
    }
}

static void churn_life(struct worker *worker)
{
    struct churn *churn = worker->context;
    struct churn_will *will = churn_will_new(worker, churn);
    size_t steps = random_between(&worker->random, 1, CHURN_STEPS_MAX);

    for (size_t i = 0; i < steps; i++) {
        worker_step(worker, will->bag);
        if (random_once_in(&worker->random, 8))
            churn_bequeath(worker, churn, will->bag);
    }
    switch (random_below(&worker->random, 3)) {
    case 0:
        pthread_exit(NULL);
    case 1:
        disturb_leave(); /* a stall would be a cancellation point */
        pthread_cancel(pthread_self());
        pthread_testcancel();
        break;
    default:
        break;
    }
}

static void churn_body(struct worker *worker)
{
    while (!episode_over(worker->episode))
        worker_reborn(worker, churn_life);
}

static void churn_run(struct episode *episode)
{
    uint64_t *random = &episode->random;
    cpool_config_t config = arena_draw(random, random_once_in(random, 2) ? ARENA_ROOMY
                                                                         : ARENA_TIGHT);
    struct churn churn = {0};

    arena_create(&churn.arena, &config, episode->threads, random);
    crew_run(episode, churn_body, &churn, NULL);
    board_clear(&churn.board, &churn.arena);
    arena_audit(&churn.arena, random, episode->tally);
    arena_destroy(&churn.arena);
}

static void churn_prepare(void)
{
    if (pthread_key_create(&churn_key, churn_execute) != 0)
        stress_fail("no key for thread-specific data");
}

const struct mode mode_churn = {
    .name = "churn",
    .purpose = "short-lived threads die with filled caches; others free their slots",
    .run = churn_run,
    .prepare = churn_prepare,
};
