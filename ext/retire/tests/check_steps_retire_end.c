/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_retire_end.c - a thread stops at every step of a flush, or of the end of a pool, and
 * another pool ends meanwhile that has slots in the same bags.
 *
 * Includes retire_scene.h.
 */
#include "retire_scene.h" /* first: it says which system interfaces are wanted */

#include "retire/domain.h"

static void fill_bag_with_one_of_each(void *argument)
{
    struct scene *scene = argument;

    REQUIRE_EQUAL(cpool_retire(scene->workers, scene->second, cpool_alloc(scene->second)), 0);
    retire_next(scene, scene->workers);
}

/* All slots go back. */
static void reset(void *argument)
{
    struct scene *scene = argument;

    (void)cpool_reset(scene->pool);
    scene->next = CAPACITY;
}

/* The second pool ends, or is reset.  The worker does not use it but for what the domain does. */
static bool end_beside_flush(unsigned flags, struct worker *worker, size_t nth, bool destroys,
                             bool held)
{
    struct scene scene;
    struct steps_stop stop;
    bool stopped;

    build(&scene, flags, worker);
    scene.second = steps_pool(flags, CAPACITY, 0, ROUNDS);
    if (held)
        cpool_read_begin(scene.own);
    worker_do(worker, fill_bags_with_two_pools, &scene);
    support_capture_reports();
    stopped = steps_run(&stop, worker, NULL, nth, flush, &scene);
    steps_plan(STEPS_LOCK, 6, resume, &stop);
    if (destroys) {
        int code = cpool_destroy(scene.second);

        REQUIRE(code == 0 || (held && code == CPOOL_ELIVE));
        REQUIRE_NO_REPORT();
    } else {
        (void)cpool_reset(scene.second);
        support_require_obtainable(scene.second, 0);
    }
    go_on(&stop, worker);
    if (held)
        cpool_read_end(scene.own);
    REQUIRE_EQUAL(cpool_retire_flush(scene.workers, 0), 0);
    REQUIRE_NO_REPORT();
    support_release_reports();
    if (!destroys) {
        support_require_obtainable(scene.second, 0);
        support_destroy_empty(scene.second);
    }
    demolish(&scene, scene.next);
    return stopped;
}

static bool destroy_beside_flush(unsigned flags, struct worker *worker, size_t nth)
{
    return end_beside_flush(flags, worker, nth, true, false);
}

static bool destroy_beside_held(unsigned flags, struct worker *worker, size_t nth)
{
    return end_beside_flush(flags, worker, nth, true, true);
}

static bool reset_beside_flush(unsigned flags, struct worker *worker, size_t nth)
{
    return end_beside_flush(flags, worker, nth, false, false);
}

static bool reset_beside_held(unsigned flags, struct worker *worker, size_t nth)
{
    return end_beside_flush(flags, worker, nth, false, true);
}

static void end_domain(void *argument)
{
    struct scene *scene = argument;

    REQUIRE_EQUAL(cpool_domain_destroy(scene->domain), 0);
}

static cpool_reader_t *noticed;

static void obtain_when_ready(cpool_t *of, void *domain)
{
    (void)of;
    REQUIRE_EQUAL(cpool_reader_create(&noticed, domain, 0), 0);
}

/* Slots go back when a domain ends, and who is told of them obtains a reader of it. */
TEST(reader_that_a_notice_obtains_at_the_end_is_nobodys)
{
    struct worker *worker = worker_start();
    struct scene scene;

    build(&scene, 0, worker);
    REQUIRE_EQUAL(cpool_set_ready(scene.pool, obtain_when_ready, scene.domain), 0);
    cpool_read_begin(scene.own);
    retire_next(&scene, scene.own);
    REQUIRE(cpool_alloc_or_notify(scene.pool) == NULL);
    cpool_read_end(scene.own);
    noticed = NULL;
    REQUIRE_EQUAL(cpool_domain_destroy(scene.domain), 0);
    REQUIRE(noticed != NULL && cpi_reader_of(noticed)->owned.thread == NULL);
    for (size_t i = scene.next; i < CAPACITY; i++)
        cpool_free(scene.pool, scene.slots[i]);
    support_destroy_empty(scene.pool);
    worker_stop(worker);
}

static void retire_when_ready(cpool_t *of, void *scene)
{
    (void)of;
    retire_next(scene, ((struct scene *)scene)->own);
}

static void find_dry(void *argument)
{
    struct scene *scene = argument;

    cpool_free(scene->pool, cpool_alloc(scene->pool));
}

/* Until the worker's slot has gone back.  Then, as the caller gives way, until it is at its end. */
static void let_slot_go_back(void *stop)
{
    REQUIRE(steps_go_on_to(stop, "is_wanted", 1));
    steps_plan(STEPS_LOCK, 1, resume, stop);
}

/* The worker finds the pool dry while the domain ends.  A slot goes back, and who is told of it
 * retires another one, by a reader at which the end has looked just before. */
TEST_TIMES(slot_that_a_notice_retires_at_the_end_goes_back, 30)
{
    struct worker *worker = worker_start();
    struct steps_stop stop;
    struct scene scene;

    build(&scene, 0, worker);
    REQUIRE_EQUAL(cpool_set_ready(scene.pool, retire_when_ready, &scene), 0);
    cpool_read_begin(scene.own);
    retire_next(&scene, scene.workers);
    REQUIRE(cpool_alloc_or_notify(scene.pool) == NULL);
    cpool_read_end(scene.own);
    REQUIRE(steps_run(&stop, worker, "empty_bag", 3, find_dry, &scene));
    steps_plan("bag_is_empty", (size_t)_i + 1, let_slot_go_back, &stop);
    REQUIRE_EQUAL(cpool_domain_destroy(scene.domain), 0);
    go_on(&stop, worker);
    REQUIRE_EQUAL(scene.next, 2);
    for (size_t i = scene.next; i < CAPACITY; i++)
        cpool_free(scene.pool, scene.slots[i]);
    support_require_obtainable(scene.pool, 0);
    support_destroy_empty(scene.pool);
    worker_stop(worker);
}

static void use_up(cpool_t *of)
{
    void *slots[CAPACITY];
    size_t n = 0;

    while (n < CAPACITY && (slots[n] = cpool_alloc(of)) != NULL)
        n++;
    cpool_free_bulk(of, slots, n);
}

static void destroy_pool(cpool_t *of)
{
    REQUIRE_EQUAL(cpool_destroy(of), 0);
}

static void reset_pool(cpool_t *of)
{
    (void)cpool_reset(of);
}

/* The worker ends the domain. */
static bool end_beside_domain(unsigned flags, struct worker *worker, size_t nth,
                              void (*visit)(cpool_t *of))
{
    struct scene scene;
    struct steps_stop stop;
    bool stopped;

    build(&scene, flags, worker);
    scene.second = steps_pool(flags, CAPACITY, 0, ROUNDS);
    worker_do(worker, fill_bags_with_two_pools, &scene);
    support_capture_reports();
    stopped = steps_run(&stop, worker, NULL, nth, end_domain, &scene);
    steps_plan(STEPS_LOCK, 6, resume, &stop);
    visit(scene.second);
    go_on(&stop, worker);
    REQUIRE_NO_REPORT();
    support_release_reports();
    if (visit != destroy_pool) {
        support_require_obtainable(scene.second, 0);
        support_destroy_empty(scene.second);
    }
    for (size_t i = scene.next; i < CAPACITY; i++)
        cpool_free(scene.pool, scene.slots[i]);
    support_require_obtainable(scene.pool, 0);
    support_destroy_empty(scene.pool);
    return stopped;
}

static bool destroy_beside_domain(unsigned flags, struct worker *worker, size_t nth)
{
    return end_beside_domain(flags, worker, nth, destroy_pool);
}

static bool reset_beside_domain(unsigned flags, struct worker *worker, size_t nth)
{
    return end_beside_domain(flags, worker, nth, reset_pool);
}

static bool use_up_beside_domain(unsigned flags, struct worker *worker, size_t nth)
{
    return end_beside_domain(flags, worker, nth, use_up);
}

TEST_TIMES(end_of_a_pool_finds_the_slots_of_a_domain_that_ends, 3 * MODES)
{
    static beside *const all[] = {destroy_beside_domain, reset_beside_domain,
                                  use_up_beside_domain};

    sweep(all[(size_t)_i / MODES], modes[(size_t)_i % MODES], 20);
}

/* The worker resets the other pool, and so takes its slot out of the bag with both. */
static bool reset_beside_reset(unsigned flags, struct worker *worker, size_t nth)
{
    struct scene scene;
    struct steps_stop stop;
    bool stopped;

    build(&scene, flags, worker);
    scene.second = steps_pool(flags, CAPACITY, 0, ROUNDS);
    cpool_read_begin(scene.own);
    worker_do(worker, fill_bag_with_one_of_each, &scene);
    support_capture_reports();
    stopped = steps_run(&stop, worker, NULL, nth, reset, &scene);
    steps_plan(STEPS_LOCK, 6, resume, &stop);
    (void)cpool_reset(scene.second);
    go_on(&stop, worker);
    support_require_obtainable(scene.second, 0);
    cpool_read_end(scene.own);
    REQUIRE_EQUAL(cpool_retire_flush(scene.workers, 0), 0);
    REQUIRE_NO_REPORT();
    support_release_reports();
    support_require_obtainable(scene.second, 0);
    support_destroy_empty(scene.second);
    demolish(&scene, scene.next);
    return stopped;
}

/* The other pool's slot may be lost, and is nobody else's. */
static void give_back_in_child(void *argument)
{
    struct scene *scene = argument;
    size_t slots = 0;

    support_capture_reports();
    cpool_read_end(scene->own);
    REQUIRE_EQUAL(cpool_retire_flush(scene->own, CPOOL_FLUSH_WAIT), 0);
    REQUIRE_NO_REPORT();
    while (cpool_alloc(scene->second) != NULL)
        slots++;
    REQUIRE(slots + 1 >= CAPACITY);
}

/* The worker vanishes while it takes the pool's slot out of a bag with those of two. */
static bool fork_beside_reset(unsigned flags, struct worker *worker, size_t nth)
{
    struct scene scene;
    struct steps_stop stop;
    bool stopped;

    build(&scene, flags, worker);
    scene.second = steps_pool(flags, CAPACITY, 0, ROUNDS);
    cpool_read_begin(scene.own);
    worker_do(worker, fill_bag_with_one_of_each, &scene);
    stopped = steps_run(&stop, worker, "forget_in_bag", nth, reset, &scene);
    support_in_child(give_back_in_child, &scene);
    go_on(&stop, worker);
    cpool_read_end(scene.own);
    REQUIRE_EQUAL(cpool_retire_flush(scene.workers, 0), 0);
    support_require_obtainable(scene.second, 0);
    support_destroy_empty(scene.second);
    demolish(&scene, scene.next);
    return stopped;
}

TEST_TIMES(child_of_a_fork_beside_the_end_of_a_pool_frees_no_foreign_slot, MODES)
{
    sweep(fork_beside_reset, modes[_i], 5);
}

TEST_TIMES(slot_that_moves_in_its_bag_is_not_left_there, MODES)
{
    sweep(reset_beside_reset, modes[_i], 20);
}

TEST_TIMES(end_of_a_pool_awaits_slots_that_go_back, 4 * MODES)
{
    static beside *const all[] = {destroy_beside_flush, destroy_beside_held, reset_beside_flush,
                                  reset_beside_held};

    sweep(all[(size_t)_i / MODES], modes[(size_t)_i % MODES], 20);
}

static void retire_of_second(void *argument)
{
    struct scene *scene = argument;

    REQUIRE_EQUAL(cpool_retire(scene->workers, scene->second, cpool_alloc(scene->second)), 0);
}

static void retire_and_destroy(void *argument)
{
    struct scene *scene = argument;

    retire_of_second(scene);
    REQUIRE_EQUAL(cpool_destroy(scene->second), 0);
}

/* As far as the worker gets without the caller, who may be in its way. */
static void let_go_on(void *stop)
{
    (void)steps_go_on_to(stop, STEPS_LOCK, 6);
}

/* The worker has seen that its bag is open, and puts a slot into it, whose pool it ends, when the
 * bag has been closed, and the slot before goes back. */
static bool put_behind_close(unsigned flags, struct worker *worker, size_t nth)
{
    struct scene scene;
    struct steps_stop stop;
    bool reached;

    build(&scene, flags, worker);
    scene.second = steps_pool(flags, CAPACITY, 0, ROUNDS);
    cpool_free(scene.second, cpool_alloc(scene.second)); /* with its cache it takes no lock */
    worker_do(worker, retire_of_second, &scene);
    support_capture_reports();
    REQUIRE(steps_run(&stop, worker, "put_slot", 3, retire_and_destroy, &scene));
    steps_plan(NULL, nth, let_go_on, &stop);
    (void)cpi_retire_reclaim(scene.domain, NULL, true, NULL);
    reached = steps_drop();
    steps_go_on(&stop);
    REQUIRE_NO_REPORT();
    support_release_reports();
    demolish(&scene, 0);
    return reached;
}

static void close_all_bags(void *argument)
{
    struct scene *scene = argument;

    REQUIRE(cpool_alloc(scene->pool) == NULL); /* with its cache it takes no lock */
    while (scene->next < (CPI_BAGS - 1) * BAG)
        retire_next(scene, scene->workers);
    retire_of_second(scene);
    (void)cpool_retire_flush(scene->workers, 0);
}

static void retire_one(void *argument)
{
    struct scene *scene = argument;

    if (cpool_retire(scene->workers, scene->pool, scene->slots[scene->next]) == 0)
        scene->next++;
}

/* The worker opens a bag again, which a section has held back, while a pool with a slot in it
 * ends.  `later`: another section has begun since.  It holds back what is put into the bag now. */
static bool reopen_beside(unsigned flags, struct worker *worker, size_t nth, bool later)
{
    struct scene scene;
    struct steps_stop stop;
    bool reached;

    build(&scene, flags, worker);
    scene.second = steps_pool(flags, CAPACITY, 0, ROUNDS);
    REQUIRE((scene.later = reader_in(scene.domain, CPOOL_READER_UNOWNED)) != NULL);
    cpool_read_begin(scene.own);
    worker_do(worker, close_all_bags, &scene);
    support_capture_reports();
    REQUIRE(steps_run(&stop, worker, "claim_bags", 7, retire_one, &scene));
    if (later)
        cpool_read_begin(scene.later);
    cpool_read_end(scene.own);
    /* Not before the end of the pool has looked at the bag. */
    steps_plan(later ? STEPS_LOCK : NULL, later ? nth + 1 : nth, let_go_on, &stop);
    REQUIRE_EQUAL(cpool_destroy(scene.second), 0);
    reached = steps_drop();
    steps_go_on(&stop);
    if (later)
        cpool_read_end(scene.later);
    REQUIRE_NO_REPORT();
    support_release_reports();
    demolish(&scene, scene.next);
    return reached;
}

static bool destroy_beside_reopening(unsigned flags, struct worker *worker, size_t nth)
{
    return reopen_beside(flags, worker, nth, false);
}

static bool destroy_beside_later_section(unsigned flags, struct worker *worker, size_t nth)
{
    return reopen_beside(flags, worker, nth, true);
}

TEST_TIMES(end_of_a_pool_gives_back_what_it_has_found_free, 2)
{
    sweep(destroy_beside_later_section, _i % 2 != 0 ? CPOOL_TRACKED : 0, 2);
}

/* Not in checked pools, which take the lock for each slot that goes back. */
TEST_TIMES(end_of_a_pool_finds_slots_that_are_put_or_left_in_open_bags, 4)
{
    static beside *const all[] = {put_behind_close, destroy_beside_reopening};

    sweep(all[_i / 2], _i % 2 != 0 ? CPOOL_TRACKED : 0, 20);
}

/* The last bag has slots of two pools, and room, and later sections hold it back. */
static void close_bags_in_turn(void *argument)
{
    struct scene *scene = argument;

    while (scene->next < (CPI_BAGS - 1) * BAG)
        retire_next(scene, scene->workers);
    (void)cpool_retire_flush(scene->workers, 0);
    cpool_read_begin(scene->later);
    REQUIRE_EQUAL(cpool_retire(scene->workers, scene->third, cpool_alloc(scene->third)), 0);
    REQUIRE_EQUAL(cpool_retire(scene->workers, scene->second, cpool_alloc(scene->second)), 0);
    (void)cpool_retire_flush(scene->workers, 0);
}

/* The worker has the last bag filled again, where the third pool's slot was forgotten, and moves
 * the second pool's there.  `alone`: all other bags have just been emptied. */
static bool destroy_beside_move(unsigned flags, struct worker *worker, size_t nth, bool alone)
{
    struct scene scene;
    struct steps_stop stop;
    bool stopped;

    build(&scene, flags, worker);
    scene.second = steps_pool(flags, CAPACITY, 0, ROUNDS);
    scene.third = steps_pool(flags, CAPACITY, 0, ROUNDS);
    REQUIRE((scene.later = reader_in(scene.domain, CPOOL_READER_UNOWNED)) != NULL);
    cpool_read_begin(scene.own);
    worker_do(worker, close_bags_in_turn, &scene);
    (void)cpool_reset(scene.third);
    if (alone) {
        REQUIRE(steps_run(&stop, worker, "put_slot", 2, retire_one, &scene));
        cpool_read_end(scene.own);
        (void)cpi_retire_reclaim(scene.domain, NULL, true, NULL);
        REQUIRE_EQUAL(domain_stats(scene.domain).held, 1);
        stopped = steps_go_on_to(&stop, NULL, nth);
    } else {
        stopped = steps_run(&stop, worker, NULL, nth, retire_one, &scene);
        cpool_read_end(scene.own);
        cpool_read_end(scene.later);
    }
    support_capture_reports();
    steps_plan(STEPS_LOCK, 6, resume, &stop);
    (void)cpool_destroy(scene.second); /* reports a slot that is live then */
    (void)support_take_reports(NULL);
    go_on(&stop, worker);
    if (alone)
        cpool_read_end(scene.later);
    worker_do(worker, flush, &scene);
    REQUIRE_EQUAL(domain_stats(scene.domain).held, 0);
    REQUIRE_NO_REPORT();
    support_release_reports();
    support_destroy_empty(scene.third);
    demolish(&scene, scene.next);
    return stopped;
}

static bool destroy_beside_reopen(unsigned flags, struct worker *worker, size_t nth)
{
    return destroy_beside_move(flags, worker, nth, false);
}

static bool destroy_beside_last_move(unsigned flags, struct worker *worker, size_t nth)
{
    return destroy_beside_move(flags, worker, nth, true);
}

TEST_TIMES(end_of_a_pool_awaits_slots_that_move, 2 * MODES)
{
    static beside *const all[] = {destroy_beside_reopen, destroy_beside_last_move};

    sweep(all[(size_t)_i / MODES], modes[(size_t)_i % MODES], 10);
}
