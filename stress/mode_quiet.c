/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_quiet.c - quiet scopes and tickets, while other threads make all the noise
 * there is in the same pool.
 *
 * Includes worker.h.  Each worker does by turns
 *
 *   work     anything, counted: the counts of all threads add up to no more than the
 *            pool's own, and for slots taken for the first time to exactly that
 *   ticket   draws some slots and takes them in a scope that traps everything
 *   frame    likewise: gives a slot, takes one and gives it, which has its cache
 *            loaded, so that nothing is left to do for the library
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "worker.h"

#include <string.h>

#define QUIET_TRAPS \
    (CPOOL_TRAP_GROWTHS | CPOOL_TRAP_SYSTEM_CALLS | CPOOL_TRAP_FRESH_SLOTS | CPOOL_TRAP_EXCHANGES)

#define QUIET_TICKET_MAX 8
#define QUIET_STEPS_MAX 100

struct quiet {
    struct arena arena;
    /* Sums of the workers' counts, added up at their ends.  Relaxed: they are
     * read when all have been joined. */
    _Atomic uint64_t fresh, exchanges, growths;
};

static void quiet_begin(unsigned int traps)
{
    int code = cpool_quiet_begin(traps);

    if (code != 0)
        stress_fail("cpool_quiet_begin: %s", cpool_strerror(code));
}

static cpool_quiet_t quiet_end(void)
{
    cpool_quiet_t counts = CPOOL_QUIET_INIT;
    int code = cpool_quiet_end(&counts);

    if (code != 0)
        stress_fail("cpool_quiet_end: %s", cpool_strerror(code));
    return counts;
}

/* A trap that springs ends the program, as every mistake that the library reports. */
static void quiet_require_none(const char *what)
{
    cpool_quiet_t counts = quiet_end();

    if (counts.growths + counts.system_calls + counts.fresh_slots + counts.exchanges != 0)
        stress_fail("%s: a quiet scope counted %llu growths, %llu system calls, %llu fresh slots, "
                    "%llu exchanges",
                    what, (unsigned long long)counts.growths,
                    (unsigned long long)counts.system_calls,
                    (unsigned long long)counts.fresh_slots,
                    (unsigned long long)counts.exchanges);
}

static void quiet_count(struct quiet *quiet)
{
    cpool_quiet_t counts = quiet_end();

    atomic_fetch_add_explicit(&quiet->fresh, counts.fresh_slots, memory_order_relaxed);
    atomic_fetch_add_explicit(&quiet->exchanges, counts.exchanges, memory_order_relaxed);
    atomic_fetch_add_explicit(&quiet->growths, counts.growths, memory_order_relaxed);
}

/* ---- What a worker does ---------------------------------------------------------- */

static void quiet_work(struct worker *worker, struct bag *bag)
{
    size_t steps = random_between(&worker->random, 1, QUIET_STEPS_MAX);

    while (steps-- > 0)
        worker_step(worker, bag);
}

/* Draws, uses some and returns the rest, within a scope that counts. */
static void quiet_ticket(struct worker *worker, struct quiet *quiet)
{
    void *room[QUIET_TICKET_MAX];
    void *slots[QUIET_TICKET_MAX];
    size_t drawn = random_between(&worker->random, 1, QUIET_TICKET_MAX);
    size_t used = random_below(&worker->random, drawn + 1);
    cpool_ticket_t ticket = CPOOL_TICKET_INIT;

    quiet_begin(0);
    if (cpool_ticket_draw(&ticket, quiet->arena.pool, room, drawn) != 0)
        drawn = used = 0;
    quiet_count(quiet);
    quiet_begin(QUIET_TRAPS);
    for (size_t i = 0; i < used; i++)
        slots[i] = cpool_ticket_alloc(&ticket);
    quiet_require_none("taking slots of a ticket");
    for (size_t i = 0; i < used; i++)
        if (worker_took(worker, &quiet->arena, slots[i]) == NULL)
            stress_fail("a ticket for %zu slots had only %zu", drawn, i);
    quiet_begin(0);
    STRESS_REQUIRE(cpool_ticket_return(&ticket) == drawn - used);
    for (size_t i = 0; i < used; i++)
        cpool_free(quiet->arena.pool, worker_gives(worker, &quiet->arena, slots[i]));
    quiet_count(quiet);
}

/* Nobody takes what a thread of a plain pool has loaded. */
static void quiet_frame(struct worker *worker, struct quiet *quiet, struct bag *bag)
{
    cpool_t *pool = quiet->arena.pool;
    void *slot;

    if (bag->count == 0 || quiet->arena.exact)
        return;
    slot = bag_remove(bag, &worker->random);
    quiet_begin(0);
    cpool_free(pool, worker_gives(worker, &quiet->arena, slot));
    quiet_count(quiet);
    quiet_begin(QUIET_TRAPS);
    slot = cpool_alloc(pool);
    if (worker_took(worker, &quiet->arena, slot) != NULL)
        cpool_free(pool, worker_gives(worker, &quiet->arena, slot));
    quiet_require_none("an alloc after a free, and a free");
    STRESS_REQUIRE(slot != NULL);
}

static void quiet_body(struct worker *worker)
{
    struct quiet *quiet = worker->context;
    struct bag bag;

    bag_init(&bag, &quiet->arena, &worker->random, worker->episode->threads);
    while (!episode_over(worker->episode)) {
        quiet_begin(0);
        quiet_work(worker, &bag);
        quiet_count(quiet);
        quiet_ticket(worker, quiet);
        quiet_frame(worker, quiet, &bag);
    }
    quiet_begin(0);
    worker_leave(worker, &bag);
    quiet_count(quiet);
    bag_fini(&bag);
}

/* ---- The sums -------------------------------------------------------------------- */

static void quiet_verify(struct quiet *quiet)
{
    cpool_stats_t stats = arena_stats(&quiet->arena);
    uint64_t fresh = atomic_load_explicit(&quiet->fresh, memory_order_relaxed);
    uint64_t exchanges = atomic_load_explicit(&quiet->exchanges, memory_order_relaxed);
    uint64_t growths = atomic_load_explicit(&quiet->growths, memory_order_relaxed);

    if (fresh != stats.high_water || exchanges > stats.exchanges || growths != stats.growths)
        stress_fail("quiet scopes counted %llu fresh slots, %llu exchanges, %llu growths, and the "
                    "pool %zu, %llu, %llu",
                    (unsigned long long)fresh, (unsigned long long)exchanges,
                    (unsigned long long)growths, stats.high_water,
                    (unsigned long long)stats.exchanges, (unsigned long long)stats.growths);
}

static void quiet_run(struct episode *episode)
{
    uint64_t *random = &episode->random;
    cpool_config_t config = arena_draw(random, arena_draw_room(random));
    struct quiet quiet;

    memset(&quiet, 0, sizeof quiet);
    config.thread_caches = episode->threads + 1; /* a thread without a cache has no quiet */
    if (random_once_in(random, 2))
        config.max_capacity = config.capacity * random_between(random, 1, 4);
    arena_create(&quiet.arena, &config, episode->threads, random);
    quiet.arena.moving = config.max_capacity > config.capacity;
    crew_run(episode, quiet_body, &quiet, NULL);
    quiet_verify(&quiet);
    arena_audit(&quiet.arena, random, episode->tally);
    arena_destroy(&quiet.arena);
}

const struct mode mode_quiet = {
    .name = "quiet",
    .purpose = "quiet scopes and tickets in the midst of noise",
    .run = quiet_run,
};
