/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_fork.c - the process forks while threads use the pool, start and end.
 *
 * Includes disturb.h.  Each child verifies that its pool works.  Its own slots are as it stamped
 * them.  Every slot that it can allocate is free in the book and as its last owner left it, and
 * comes once.  Slots that are neither live nor can be allocated are no more than the threads held
 * at the moment of the fork.  Then the child destroys the pool and creates another one.
 *
 * ThreadSanitizer does not follow a forked process with several threads, and AddressSanitizer must
 * not create threads in one.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "disturb.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The longest life of a thread, in steps, and the steps of a child before its audit. */
#define FORK_LIFE_STEPS_MAX 3000
#define FORK_CHILD_STEPS 500

/* The longest time between two forks. */
#define FORK_PAUSE_NS_MAX 2000000

struct forking {
    struct arena arena;
    struct worker forker; /* the main thread, as a worker */
    struct bag bag;       /* its slots */
    void **drained;       /* room for all slots */
    uint64_t forks;
};

static void fork_life(struct worker *worker)
{
    struct forking *forking = worker->context;
    size_t steps = random_between(&worker->random, 1, FORK_LIFE_STEPS_MAX);
    struct bag bag;

    bag_init(&bag, &forking->arena, &worker->random, worker->episode->threads);
    while (steps-- > 0 && !episode_over(worker->episode)) {
        void *slot;

        worker_step(worker, &bag);
        if (!random_once_in(&worker->random, 8))
            continue;
        slot = worker_took(worker, &forking->arena, cpool_alloc_uncached(forking->arena.pool));
        if (slot != NULL)
            cpool_free_uncached(forking->arena.pool, worker_gives(worker, &forking->arena, slot));
    }
    worker_empty(worker, &bag);
    bag_fini(&bag);
}

/* Half of the threads run for the whole episode, the others come and go. */
static void fork_body(struct worker *worker)
{
    while (!episode_over(worker->episode)) {
        if (worker->index % 2 == 0)
            fork_life(worker);
        else
            worker_reborn(worker, fork_life);
    }
}

/* ---- In the child ------------------------------------------------------------- */

static void child_steps(struct worker *worker)
{
    struct forking *forking = worker->context;

    for (size_t i = 0; i < FORK_CHILD_STEPS; i++)
        worker_step(worker, &forking->bag);
}

/* Allocates all slots and returns their number. */
static size_t child_drain(struct forking *forking)
{
    struct arena *arena = &forking->arena;
    size_t count = 0;
    void *slot;

    while ((slot = cpool_alloc(arena->pool)) != NULL) {
        STRESS_REQUIRE(count < arena->indices);
        stamp_take(&arena->book, &forking->forker.owner, slot);
        forking->drained[count++] = slot;
    }
    return count;
}

static void child_audit(struct forking *forking, unsigned int threads)
{
    struct arena *arena = &forking->arena;
    size_t live = stamp_count_live(&arena->book);
    size_t count = child_drain(forking);
    struct figures stats;
    size_t all = arena->capacity;
    size_t hidden = all - live - count;

    /* A thread that was inside the library may have held two magazines, neither of them full, or a
     * run of fresh slots, and one slot more. */
    if (hidden > threads * 2 * arena->rounds)
        stress_fail("%zu slots are live and %zu can be had of %zu; %u threads with %zu rounds in a "
                    "magazine cannot account for the rest",
                    live, count, all, threads, arena->rounds);
    for (size_t i = 0; i < count; i++) {
        stamp_give(&arena->book, &forking->forker.owner, forking->drained[i]);
        cpool_free(arena->pool, forking->drained[i]);
    }
    STRESS_REQUIRE(child_drain(forking) == count);
    stats = arena_stats(arena);
    if (stats.live != stats.capacity ||
        stats.in_depot + stats.in_caches + stats.fresh != 0)
        stress_fail("all that can be had was taken, but the statistics say live %zu, in depot %zu, "
                    "in caches %zu, fresh %zu, capacity %zu",
                    stats.live, stats.in_depot, stats.in_caches, stats.fresh, stats.capacity);
    STRESS_REQUIRE(stats.live == all);
    STRESS_REQUIRE(cpool_destroy(arena->pool) == CPOOL_ELIVE);
}

/* A pool that is created in the child works like any other. */
static void child_new_pool(void)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_t *pool;
    void *slot;

    config.slot_size = 24;
    config.capacity = 1;
    STRESS_REQUIRE(cpool_create(&pool, &config) == 0);
    slot = cpool_alloc(pool);
    STRESS_REQUIRE(slot != NULL && cpool_alloc(pool) == NULL);
    cpool_free(pool, slot);
    STRESS_REQUIRE(cpool_destroy(pool) == 0);
}

static _Noreturn void child_main(struct forking *forking, unsigned int threads)
{
    struct worker *forker = &forking->forker;

    report_in_child();
    disturb_in_child();
    for (size_t i = 0; i < forking->bag.count; i++)
        stamp_check(&forking->arena.book, &forker->owner, forking->bag.slots[i]);
    child_steps(forker);
    if (!STRESS_ASAN)
        worker_reborn(forker, child_steps);
    child_audit(forking, threads);
    child_new_pool();
    _exit(EXIT_SUCCESS);
}

/* ---- In the parent ------------------------------------------------------------- */

static void fork_await(pid_t child)
{
    int status;

    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            stress_fail("waitpid failed with %d", errno);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_SUCCESS)
        stress_fail("a child failed (wait status 0x%x)", (unsigned int)status);
}

static void fork_meanwhile(struct episode *episode, void *context)
{
    struct forking *forking = context;
    uint64_t *random = &forking->forker.random;
    const struct timespec pause = {0, (long)random_below(random, FORK_PAUSE_NS_MAX)};
    pid_t child;

    for (size_t steps = random_below(random, 200); steps > 0; steps--)
        worker_step(&forking->forker, &forking->bag);
    nanosleep(&pause, NULL);
    child = fork();
    if (child < 0)
        stress_fail("fork failed with %d", errno);
    if (child == 0)
        child_main(forking, episode->threads);
    fork_await(child);
    forking->forks++;
}

static void fork_run(struct episode *episode)
{
    uint64_t *random = &episode->random;
    cpool_config_t config = arena_draw(random, random_once_in(random, 3) ? ARENA_TIGHT
                                                                         : ARENA_ROOMY);
    struct forking forking = {0};

    arena_create(&forking.arena, &config, episode->threads, random);
    forking.forker.episode = episode;
    forking.forker.context = &forking;
    forking.forker.random = random_next(random);
    forking.forker.owner.number = episode->threads + 1;
    bag_init(&forking.bag, &forking.arena, random, episode->threads);
    forking.drained = calloc(forking.arena.indices, sizeof *forking.drained);
    if (forking.drained == NULL)
        stress_fail("no memory for an audit");
    crew_run(episode, fork_body, &forking, fork_meanwhile);
    worker_empty(&forking.forker, &forking.bag);
    episode->tally->operations += forking.forker.operations;
    bag_fini(&forking.bag);
    free(forking.drained);
    arena_audit(&forking.arena, random, episode->tally);
    arena_destroy(&forking.arena);
}

const struct mode mode_fork = {
    .name = "fork",
    .purpose = "children of fork go on with the pools of a process under load",
    .run = fork_run,
#if STRESS_TSAN
    .unavailable = "ThreadSanitizer does not follow fork",
#endif
};
