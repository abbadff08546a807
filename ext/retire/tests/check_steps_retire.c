/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_retire.c - a thread stops at every step of a retire, a flush, the end of a reader or
 * the pass of a dry pool, and another one begins a section, finds the pool dry, waits for the
 * slots, or forks meanwhile.
 *
 * Includes retire_scene.h.
 */
#include "retire_scene.h" /* first: it says which system interfaces are wanted */

#include <limits.h>

#include "retire/domain.h"

/* --- What the worker does --- */

static void retire_all(void *argument)
{
    struct scene *scene = argument;

    while (scene->next < RETIRED &&
           cpool_retire(scene->workers, scene->pool, scene->slots[scene->next]) == 0)
        scene->next++;
}

static void fill_bags(void *argument)
{
    struct scene *scene = argument;

    while (scene->next < RETIRED)
        retire_next(scene, scene->workers);
}

static void alloc_in_vain(void *argument)
{
    struct scene *scene = argument;
    void *slot = cpool_alloc(scene->pool);

    scene->got += slot != NULL;
    cpool_free(scene->pool, slot);
}

static void destroy_reader(void *argument)
{
    struct scene *scene = argument;

    cpool_reader_destroy(scene->workers);
}

/* Takes the shown slot out of reach, and gives it back as soon as may be. */
static void replace(void *argument)
{
    struct scene *scene = argument;

    (void)cpool_retire_flush(scene->workers, 0); /* steps before */
    atomic_store_explicit(&scene->shown, NULL, memory_order_release);
    retire_next(scene, scene->workers);
    (void)cpool_retire_flush(scene->workers, 0);
    (void)cpool_retire_flush(scene->workers, 0);
}

/* --- Beside a dry pool --- */

/* Takes what comes.  Each slot is a retired one, and comes once. */
static void take_retired(struct scene *scene, bool *taken)
{
    void *slot;

    while ((slot = cpool_alloc(scene->pool)) != NULL) {
        size_t i = 0;

        while (i < CAPACITY && scene->slots[i] != slot)
            i++;
        REQUIRE(i < RETIRED && !taken[i]);
        taken[i] = true;
    }
}

static bool dry_beside(unsigned flags, struct worker *worker, size_t nth,
                       void (*body)(void *argument), bool fills)
{
    bool taken[CAPACITY] = {false};
    struct scene scene;
    struct steps_stop stop;
    bool stopped;

    build(&scene, flags, worker);
    if (fills)
        worker_do(worker, fill_bags, &scene);
    stopped = steps_run(&stop, worker, NULL, nth, body, &scene);
    take_retired(&scene, taken);
    steps_go_on(&stop);
    take_retired(&scene, taken);
    for (size_t i = 0; i < scene.next; i++)
        REQUIRE(taken[i]);
    REQUIRE(reader_in(scene.domain, CPOOL_READER_UNOWNED) != NULL);
    demolish(&scene, 0);
    return stopped;
}

static bool dry_beside_retire(unsigned flags, struct worker *worker, size_t nth)
{
    return dry_beside(flags, worker, nth, retire_all, false);
}

static bool dry_beside_flush(unsigned flags, struct worker *worker, size_t nth)
{
    return dry_beside(flags, worker, nth, flush, true);
}

static bool dry_beside_end(unsigned flags, struct worker *worker, size_t nth)
{
    return dry_beside(flags, worker, nth, destroy_reader, true);
}

TEST_TIMES(dry_pool_takes_each_retired_slot_once, 3 * MODES)
{
    static beside *const all[] = {dry_beside_retire, dry_beside_flush, dry_beside_end};

    sweep(all[(size_t)_i / MODES], modes[(size_t)_i % MODES], 20);
}

/* --- Waiting --- */

/* The worker frees slots of the second pool, too, and does nothing else there. */
static bool barrier_beside_dry(unsigned flags, struct worker *worker, size_t nth)
{
    struct scene scene;
    struct steps_stop stop;
    bool stopped;
    bool waited;

    build(&scene, flags, worker);
    scene.second = steps_pool(flags, CAPACITY, 0, ROUNDS);
    fill_with_two_pools(&scene, scene.own);
    stopped = steps_run(&stop, worker, NULL, nth, alloc_in_vain, &scene);
    steps_plan(STEPS_LOCK, 1, resume, &stop);
    REQUIRE_EQUAL(cpool_retire_flush(scene.own, CPOOL_FLUSH_WAIT), 0);
    waited = steps_drop(); /* the figures take the lock, too */
    support_require_live(scene.second, 0);
    if (!waited)
        steps_resume(&stop);
    worker_await(worker);
    REQUIRE_EQUAL(scene.got, 1);
    support_destroy_empty(scene.second);
    demolish(&scene, scene.next);
    return stopped;
}

TEST_TIMES(barrier_awaits_slots_that_a_dry_pool_takes, MODES)
{
    sweep(barrier_beside_dry, modes[_i], 40);
}

/* --- Sections --- */

/* `inside`: the reader was inside before, so that it begins inline where it can. */
static bool section_beside(unsigned flags, struct worker *worker, size_t nth, bool inside)
{
    struct scene scene;
    struct steps_stop stop;
    void *found;
    void *slot;
    bool stopped;

    build(&scene, flags, worker);
    if (inside) {
        cpool_read_begin(scene.own);
        cpool_read_end(scene.own);
    }
    atomic_store_explicit(&scene.shown, scene.slots[0], memory_order_release);
    stopped = steps_run(&stop, worker, NULL, nth, replace, &scene);
    cpool_read_begin(scene.own);
    found = atomic_load_explicit(&scene.shown, memory_order_acquire);
    steps_go_on(&stop);
    slot = cpool_alloc(scene.pool);
    REQUIRE(found == NULL || slot == NULL);
    cpool_read_end(scene.own);
    if (slot == NULL)
        REQUIRE((slot = cpool_alloc(scene.pool)) != NULL);
    REQUIRE(slot == scene.slots[0]);
    demolish(&scene, 0);
    return stopped;
}

static bool section_beside_replace(unsigned flags, struct worker *worker, size_t nth)
{
    return section_beside(flags, worker, nth, false);
}

static bool next_section_beside_replace(unsigned flags, struct worker *worker, size_t nth)
{
    return section_beside(flags, worker, nth, true);
}

static void leave(void *argument)
{
    struct scene *scene = argument;

    cpool_read_end(scene->workers);
}

/* The worker stops in a section's beginning. */
static void find(void *argument)
{
    struct scene *scene = argument;

    cpool_read_begin(scene->workers);
    scene->found = atomic_load_explicit(&scene->shown, memory_order_acquire);
}

static bool replace_beside_section(unsigned flags, struct worker *worker, size_t nth)
{
    struct scene scene;
    struct steps_stop stop;
    void *slot;
    bool stopped;

    build(&scene, flags, worker);
    atomic_store_explicit(&scene.shown, scene.slots[0], memory_order_release);
    stopped = steps_run(&stop, worker, NULL, nth, find, &scene);
    atomic_store_explicit(&scene.shown, NULL, memory_order_release);
    retire_next(&scene, scene.own);
    (void)cpool_retire_flush(scene.own, 0);
    steps_go_on(&stop);
    (void)cpool_retire_flush(scene.own, 0);
    slot = cpool_alloc(scene.pool);
    REQUIRE(scene.found == NULL || slot == NULL);
    worker_do(worker, leave, &scene);
    REQUIRE_EQUAL(cpool_retire_flush(scene.own, 0), 0);
    if (slot == NULL)
        REQUIRE((slot = cpool_alloc(scene.pool)) != NULL);
    REQUIRE(slot == scene.slots[0]);
    demolish(&scene, 0);
    return stopped;
}

TEST_TIMES(section_holds_what_it_has_found, 2 * MODES)
{
    static beside *const all[] = {section_beside_replace, next_section_beside_replace};

    sweep(all[(size_t)_i / MODES], modes[(size_t)_i % MODES], 20);
}

TEST_TIMES(section_that_begins_holds_what_it_will_find, MODES)
{
    sweep(replace_beside_section, modes[_i], 2);
}

/* Where words are short, so many bags may be closed before a beginning goes on that epochs wrap.
 * While its section is shown, too few are. */
static void wrap(struct scene *scene)
{
    if (!cpi_is_inside(scene->workers->inside))
        scene->domain->epoch += ((uintptr_t)1 << (sizeof(uintptr_t) * CHAR_BIT - 1)) + 64;
}

static bool replace_after_wrap(unsigned flags, struct worker *worker, size_t nth)
{
    struct scene scene;
    struct steps_stop stop;
    bool stopped;

    build(&scene, flags, worker);
    atomic_store_explicit(&scene.shown, scene.slots[0], memory_order_release);
    stopped = steps_run(&stop, worker, NULL, nth, find, &scene);
    wrap(&scene);
    steps_go_on(&stop);
    atomic_store_explicit(&scene.shown, NULL, memory_order_release);
    retire_next(&scene, scene.own);
    REQUIRE_EQUAL(cpool_retire_flush(scene.own, 0), 1);
    worker_do(worker, leave, &scene);
    REQUIRE_EQUAL(cpool_retire_flush(scene.own, 0), 0);
    demolish(&scene, 1);
    return stopped;
}

TEST_TIMES(section_that_begins_slowly_holds_what_it_finds, MODES)
{
    sweep(replace_after_wrap, modes[_i], 2);
}

/* --- Claims --- */

/* Another thread leaves a claim of the reader's bags while its owner reports. */
static void leave_claim(const cpool_error_t *error, void *reader)
{
    struct cpi_reader *claimed = reader;

    REQUIRE_EQUAL(error->code, CPOOL_ESTALLED);
    atomic_store_explicit(&claimed->claim, 0, memory_order_release);
}

TEST(bag_that_a_claim_keeps_open_is_not_lost)
{
    cpool_t *pool = steps_pool(0, CAPACITY, 0, ROUNDS);
    cpool_domain_t *domain;
    cpool_reader_t *other;
    struct cpi_reader *by;

    REQUIRE_EQUAL(domain_create(&domain, READERS, HELD, 0), 0);
    by = cpi_reader_of(reader_in(domain, CPOOL_READER_UNOWNED));
    other = reader_in(domain, CPOOL_READER_UNOWNED);
    cpool_read_begin(other);
    REQUIRE_EQUAL(cpool_retire(&by->section, pool, cpool_alloc(pool)), 0);
    REQUIRE_EQUAL(cpool_retire_flush(&by->section, 0), 1); /* closes a bag that has room */
    while (domain_stats(domain).held < 1 + (CPI_BAGS - 1) * BAG)
        REQUIRE_EQUAL(cpool_retire(&by->section, pool, cpool_alloc(pool)), 0);
    domain->stall_limit_ns = by->blocker.since = 1; /* the next retire in vain reports */
    atomic_store_explicit(&by->claim, (uintptr_t)cpi_thread_forks() * 4 + 2,
                          memory_order_relaxed);
    cpool_set_error_handler((cpool_error_handler_t){ leave_claim, by });
    REQUIRE_EQUAL(cpool_retire(&by->section, pool, cpool_alloc(pool)), 0);
    REQUIRE_EQUAL(by->claim, 0);
    cpool_set_error_handler((cpool_error_handler_t){ NULL, NULL });
    cpool_read_end(other);
    REQUIRE_EQUAL(cpool_retire_flush(&by->section, 0), 0);
    REQUIRE_EQUAL(cpool_domain_destroy(domain), 0);
    support_destroy_empty(pool);
}

/* --- Forks --- */

/* No slot comes twice.  A thread that vanished may have had in its hands one bag, the slot that it
 * retired, and two magazines. */
static void take_all_in_child(void *argument)
{
    bool taken[CAPACITY] = {false};
    struct scene *scene = argument;
    size_t lost = RETIRED;

    steps_allow(0);
    REQUIRE_EQUAL(cpool_retire_flush(scene->own, CPOOL_FLUSH_WAIT), 0);
    take_retired(scene, taken);
    for (size_t i = 0; i < RETIRED; i++)
        lost -= taken[i];
    REQUIRE(lost <= RETIRED - scene->next + BAG + 1 + 2 * ROUNDS);
    REQUIRE_EQUAL(domain_stats(scene->domain).held, 0);
    for (size_t i = 1; i <= 2; i++) { /* one is the reader of the thread that vanished */
        cpool_reader_t *by = reader_in(scene->domain, CPOOL_READER_UNOWNED);

        REQUIRE(by != NULL);
        REQUIRE_EQUAL(cpool_retire(by, scene->pool, scene->slots[CAPACITY - i]), 0);
        REQUIRE_EQUAL(domain_stats(scene->domain).held, i);
    }
    REQUIRE_EQUAL(cpool_domain_destroy(scene->domain), 0);
}

/* With a section that lasts while the worker fills its bags, all of them are still there. */
static bool fork_beside(unsigned flags, struct worker *worker, size_t nth,
                        void (*body)(void *argument), bool fills, bool held)
{
    struct scene scene;
    struct steps_stop stop;
    bool stopped;

    build(&scene, flags, worker);
    if (held)
        cpool_read_begin(scene.own);
    if (fills)
        worker_do(worker, fill_bags, &scene);
    if (held)
        cpool_read_end(scene.own);
    stopped = steps_run(&stop, worker, NULL, nth, body, &scene);
    support_in_child(take_all_in_child, &scene);
    steps_go_on(&stop);
    REQUIRE_EQUAL(cpool_retire_flush(scene.workers, 0), 0);
    demolish(&scene, scene.next);
    return stopped;
}

static bool fork_beside_retire(unsigned flags, struct worker *worker, size_t nth)
{
    return fork_beside(flags, worker, nth, retire_all, false, false);
}

static bool fork_beside_flush(unsigned flags, struct worker *worker, size_t nth)
{
    return fork_beside(flags, worker, nth, flush, true, false);
}

/* Another thread has emptied the bag that the worker fills. */
static void flush_empty_bag(void *argument)
{
    struct scene *scene = argument;

    (void)cpi_retire_reclaim(scene->domain, NULL, true, NULL);
    flush(scene);
}

static bool fork_beside_choice(unsigned flags, struct worker *worker, size_t nth)
{
    return fork_beside(flags, worker, nth, flush_empty_bag, true, false);
}

/* The worker finds the pool dry, and visits the domain. */
static bool fork_beside_dry(unsigned flags, struct worker *worker, size_t nth)
{
    return fork_beside(flags, worker, nth, alloc_in_vain, true, true);
}

TEST_TIMES(child_of_a_fork_has_the_slots_of_a_thread_that_vanished, 4 * MODES)
{
    static beside *const all[] = {fork_beside_retire, fork_beside_flush, fork_beside_choice,
                                  fork_beside_dry};

    sweep(all[(size_t)_i / MODES], modes[(size_t)_i % MODES], 20);
}

/* A thread closes the worker's bag once more, because a slot was added beside the first time.  The
 * slot was found by a section that had begun after the first stamp, and the child has it. */
static void pass_all(void *argument)
{
    struct scene *scene = argument;

    (void)cpi_retire_reclaim(scene->domain, NULL, true, NULL);
}

static void read_in_child(void *argument)
{
    struct scene *scene = argument;
    void *slot;

    cpool_read_end(scene->later);
    cpool_reader_destroy(scene->later);
    (void)cpool_retire_flush(scene->own, 0);
    while ((slot = cpool_alloc(scene->pool)) != NULL)
        REQUIRE(slot != scene->slots[1]);
    cpool_read_end(scene->own);
    REQUIRE_EQUAL(cpool_retire_flush(scene->own, CPOOL_FLUSH_WAIT), 0);
    REQUIRE_EQUAL(domain_stats(scene->domain).held, 0);
}

static bool fork_beside_second_stamp(unsigned flags, struct worker *worker, size_t nth)
{
    struct scene scene;
    struct steps_stop stop;
    bool stopped;

    build(&scene, flags, worker);
    REQUIRE((scene.later = reader_in(scene.domain, CPOOL_READER_UNOWNED)) != NULL);
    cpool_read_begin(scene.later); /* holds the first slot */
    retire_next(&scene, scene.workers);
    REQUIRE(steps_run(&stop, worker, "close_bag", 4, pass_all, &scene)); /* with the stamp */
    cpool_read_begin(scene.own);
    retire_next(&scene, scene.workers);
    steps_go_on(&stop);
    stopped = steps_run(&stop, worker, NULL, nth, pass_all, &scene);
    support_in_child(read_in_child, &scene);
    steps_go_on(&stop);
    cpool_read_end(scene.later);
    cpool_read_end(scene.own);
    REQUIRE_EQUAL(cpool_retire_flush(scene.workers, 0), 0);
    demolish(&scene, scene.next);
    return stopped;
}

TEST_TIMES(child_of_a_fork_holds_what_its_section_has_found, MODES)
{
    sweep(fork_beside_second_stamp, modes[_i], 10);
}
