/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_barrier.c - without the kernel's barrier: it is refused at the start, or not wanted, or
 * refused later, when owners rely on it already (lib/cache/reclaim.h).
 *
 * A filter of system calls refuses it, in a child.  The threads that a test makes before the
 * filter is there are not refused, and go on as they were.
 */
#include "crew.h"
#include "waiter.h"

#include <errno.h>

#include "../../../ext/retire/tests/domains.h"
#include "base/atomic.h"
#include "cache/reclaim.h"
#include "inside.h"

#if defined(__linux__)
#include <sys/syscall.h>
#endif

enum { CAPACITY = 1000, OWNERS = 3, BURST = 100 };

static const struct timespec a_moment = { 0, 1000000 };

static bool can_refuse(void)
{
#if defined(SYS_membarrier)
    return growth_has_filters();
#else
    return false;
#endif
}

/* From now on this thread is refused, and those that it makes. */
static void refuse(int error)
{
#if defined(SYS_membarrier)
    REQUIRE(growth_refuse_call(SYS_membarrier, error));
#else
    (void)error;
#endif
}

/* What the child of a test does. */
struct scene {
    void (*body)(const struct scene *scene);
    int error;
    unsigned flags;
    int way;
};

static void play(void *argument)
{
    const struct scene *scene = argument;

    scene->body(scene);
}

static size_t messages_in(const char *text)
{
    const char *next = strstr(text, "refuses membarrier");

    return next != NULL ? 1 + messages_in(next + 1) : 0;
}

/* The child ends well, and says so many times that the barrier was lost, and nothing else. */
static void require_messages(const struct scene *scene, size_t count)
{
    struct support_outcome outcome;
    struct scene copy = *scene;

    support_fork(play, &copy, &outcome);
    if (outcome.status != 0)
        fputs(outcome.text, stderr);
    REQUIRE_EQUAL(outcome.status, 0);
    REQUIRE_EQUAL(messages_in(outcome.text), count);
    REQUIRE(count > 0 || outcome.text[0] == '\0');
}

static size_t open_entries(const cpool_t *pool)
{
    const struct cpi_registry *registry = &inside(pool)->registry;
    size_t count = 0;

    for (size_t i = 0; i < cpi_registry_made(registry); i++)
        count += cpi_word_load(&cpi_cache_active(cpi_registry_cache(registry, i))->limit,
                               relaxed) != 0;
    return count;
}

static void use_once(void *pool)
{
    cpool_free(pool, cpool_alloc(pool));
}

static void use_often(void *pool)
{
    for (unsigned i = 0; i < 3 * CPI_CALM; i++)
        use_once(pool);
}

/* --- Lost --- */

static const int errors[] = { EPERM, ENOSYS };

/* Each error, with each kind of pool. */
enum { VARIANTS = 2 * GROWTH_KINDS };

static void lose(int variant, void (*body)(const struct scene *scene))
{
    struct scene scene = { body, errors[variant % 2], growth_kinds[variant / 2 % GROWTH_KINDS],
                           variant / VARIANTS };

    cpi_barrier_startup();
    SKIP_IF(!cpi_has_barrier(), "there is no barrier to lose");
    SKIP_IF(!can_refuse(), "no way here to refuse the barrier");
    require_messages(&scene, 1);
}

/* A test in each variant, in so many ways.  What follows is for the child. */
#define TEST_LOST(name, ways)                                                                \
    static void name##_in_child(const struct scene *scene);                                  \
    TEST_TIMES(name, VARIANTS * (ways))                                                      \
    {                                                                                        \
        lose(_i, name##_in_child);                                                           \
    }                                                                                        \
    static void name##_in_child(const struct scene *scene)

/* Each has a magazine loaded, and its entry open. */
static void begin_crew(struct crew *crew, struct worker **workers, unsigned flags)
{
    cpool_t *pool = crew_create(flags, CAPACITY, 0);

    workers_start(workers, OWNERS);
    crew_init(crew, workers, OWNERS, pool);
    for (size_t i = 0; i < OWNERS; i++) {
        REQUIRE_EQUAL(crew_take(&crew->members[i], BURST), BURST);
        crew_give(&crew->members[i]);
    }
    REQUIRE_EQUAL(open_entries(pool), OWNERS);
}

static void end_crew(struct crew *crew)
{
    for (size_t i = 0; i < OWNERS; i++)
        worker_stop(crew->members[i].worker);
    crew_fini(crew);
    crew_require_obtainable_here(crew->pool);
    support_destroy_empty(crew->pool);
}

/* All but what the owners have loaded. */
static void require_most_obtainable(cpool_t *pool)
{
    struct hold hold = hold_of(pool);

    hold_take(&hold, SIZE_MAX);
    REQUIRE(hold.count < CAPACITY);
    REQUIRE_EQUAL(hold.count + support_stats(pool).in_caches, CAPACITY);
    REQUIRE(hold.count + OWNERS * support_stats(pool).magazine_rounds >= CAPACITY);
    support_require_live(pool, hold.count);
    hold_free_all(&hold);
    hold_fini(&hold);
}

enum { BY_USE, BY_FLUSH, BY_END, ENDS };

static void flush(void *pool)
{
    cpool_flush(pool);
}

/* What was loaded comes back when its owner comes. */
static void bring_back(struct crew *crew, int way)
{
    for (size_t i = 0; i < OWNERS; i++) {
        struct worker **worker = &crew->members[i].worker;

        worker_do(*worker, way == BY_FLUSH ? flush : use_once, crew->pool);
        if (way == BY_END) {
            worker_stop(*worker);
            *worker = worker_start();
        }
    }
}

TEST_LOST(search_after_loss_misses_what_is_loaded_until_its_owner_comes, ENDS)
{
    struct worker *workers[OWNERS];
    struct crew crew;

    begin_crew(&crew, workers, scene->flags);
    refuse(scene->error);
    for (int round = 0; round < 3; round++)
        require_most_obtainable(crew.pool);
    REQUIRE(!cpi_has_barrier());
    REQUIRE_EQUAL(open_entries(crew.pool), 0);
    bring_back(&crew, scene->way);
    crew_require_obtainable_here(crew.pool);
    /* Those that rely on it stay closed, however long nobody closes any. */
    for (size_t i = 0; scene->way != BY_END && i < OWNERS; i++)
        worker_do(workers[i], use_often, crew.pool);
    use_often(crew.pool);
    REQUIRE(scene->way == BY_END || open_entries(crew.pool) == 0);
    for (size_t i = 0; i < OWNERS; i++) {
        REQUIRE_EQUAL(crew_take(&crew.members[i], SIZE_MAX), CAPACITY);
        crew_give(&crew.members[i]);
    }
    end_crew(&crew);
}

/* They rely on no barrier of the kernel's, and are taken from as those of a system without. */
TEST_LOST(caches_made_after_the_loss_are_opened_and_taken_from, 1)
{
    struct worker *workers[OWNERS];
    struct worker *late = worker_start();
    struct crew crew;

    begin_crew(&crew, workers, scene->flags);
    refuse(scene->error);
    require_most_obtainable(crew.pool);
    bring_back(&crew, BY_USE);
    for (int round = 0; round < 3; round++) {
        worker_do(late, use_often, crew.pool);
        REQUIRE_EQUAL(open_entries(crew.pool), 1);
        REQUIRE(support_stats(crew.pool).in_caches > 0);
        crew_require_obtainable_here(crew.pool);
        REQUIRE_EQUAL(open_entries(crew.pool), 0);
    }
    worker_stop(late);
    end_crew(&crew);
}

static void require_all_here(void *pool)
{
    crew_require_obtainable_here(pool);
}

/* Where the owners do not exist, what they had is there. */
TEST_LOST(child_of_a_fork_after_the_loss_has_all, 1)
{
    struct worker *workers[OWNERS];
    struct crew crew;

    begin_crew(&crew, workers, scene->flags);
    refuse(scene->error);
    require_most_obtainable(crew.pool);
    support_in_child(require_all_here, crew.pool);
    require_most_obtainable(crew.pool);
    end_crew(&crew);
}

/* --- Lost, with waiters --- */

/* The only slot is in the cache of the worker, whose entry is open. */
static cpool_t *begin_with_owner(struct worker **owner, unsigned flags)
{
    cpool_t *pool = waiter_pool(flags, 1);

    *owner = worker_start();
    worker_do(*owner, use_once, pool);
    REQUIRE_EQUAL(open_entries(pool), 1);
    return pool;
}

/* Returns when the waiter sleeps. */
static void begin_wait(struct waiter *waiter)
{
    uint64_t waits = support_stats(waiter->pool).waits;

    waiter_begin(waiter);
    waiter_await_sleep(waiter->pool, waits + 1);
}

/* The slot is freed while the waiter sleeps, which gets it. */
static void pass_to(struct waiter *waiter, void *slot)
{
    begin_wait(waiter);
    cpool_free(waiter->pool, slot);
    slot = waiter_end(waiter);
    REQUIRE(slot != NULL);
    cpool_free(waiter->pool, slot);
}

TEST_LOST(wait_after_loss_ends_when_the_owner_comes, 1)
{
    struct worker *owner;
    struct waiter waiter;
    cpool_t *pool = begin_with_owner(&owner, scene->flags);

    refuse(scene->error);
    REQUIRE(cpool_alloc_wait(pool, &a_moment) == NULL);
    waiter_start(&waiter, pool, NULL);
    begin_wait(&waiter);
    worker_do(owner, use_once, pool);
    cpool_free(pool, waiter_end(&waiter));
    REQUIRE_EQUAL(open_entries(pool), 0);
    support_require_live(pool, 0);
    for (int round = 0; round < 3; round++) /* all entries are closed */
        pass_to(&waiter, cpool_alloc(pool));
    worker_stop(waiter.worker);
    worker_stop(owner);
    support_destroy_whole(pool);
}

/* It may not have reached an owner that has not seen who waits, so it is no reason to sleep. */
TEST_LOST(closing_with_the_loss_itself_is_not_done, 1)
{
    cpool_t *pool = crew_create(scene->flags, CAPACITY, 0);
    struct cpi_registry *registry = &inside(pool)->registry;
    unsigned begun = cpi_reclaim_begin(registry);

    refuse(scene->error);
    REQUIRE(!cpi_reclaim_all(registry, NULL, true));
    REQUIRE(cpi_reclaim_all(registry, NULL, true));
    cpi_reclaim_end(registry, begun);
    support_destroy_empty(pool);
}

/* --- Lost, with readers --- */

struct reading {
    cpool_domain_t *domain;
    cpool_reader_t *reader;
};

static void begin_reader(void *argument)
{
    struct reading *reading = argument;

    reading->reader = reader_in(reading->domain, 0);
    REQUIRE(reading->reader != NULL);
}

static void read_once(void *argument)
{
    const struct reading *reading = argument;

    cpool_read_begin(reading->reader);
    cpool_read_end(reading->reader);
}

/* The worker's has been inside once. */
static void begin_readers(struct reading *mine, struct reading *other, struct worker *worker)
{
    REQUIRE_EQUAL(domain_create(&other->domain, 4, CAPACITY, 0), CPOOL_OK);
    mine->domain = other->domain;
    worker_do(worker, begin_reader, other);
    worker_do(worker, read_once, other);
    begin_reader(mine);
}

static void end_readers(struct reading *mine, cpool_t *pool, struct worker *worker)
{
    worker_stop(worker);
    REQUIRE_EQUAL(cpool_domain_destroy(mine->domain), CPOOL_OK);
    support_destroy_empty(pool);
}

/* A reader outside is in the way of a slot until it is inside once more. */
TEST_LOST(retire_after_loss_waits_for_readers_to_come_once, 1)
{
    cpool_t *pool = waiter_pool(scene->flags, CAPACITY);
    struct worker *worker = worker_start();
    struct reading mine, other;

    begin_readers(&mine, &other, worker);
    read_once(&mine);
    refuse(scene->error);
    REQUIRE_EQUAL(cpool_retire(mine.reader, pool, cpool_alloc(pool)), CPOOL_OK);
    REQUIRE_EQUAL(cpool_retire_flush(mine.reader, 0), 1);
    REQUIRE(!cpi_has_barrier());
    for (int round = 0; round < 3; round++) {
        worker_do(worker, read_once, &other); /* out of line from now on, and so seen */
        REQUIRE_EQUAL(cpool_retire_flush(mine.reader, 0), 0);
        REQUIRE_EQUAL(cpool_retire(mine.reader, pool, cpool_alloc(pool)), CPOOL_OK);
    }
    end_readers(&mine, pool, worker);
}

/* --- Never there --- */

enum { BY_OPTION, BY_OPTION_AND_FILTER, BY_EPERM, BY_ENOSYS, WAYS };

static void do_without(int way)
{
    if (way == BY_OPTION || way == BY_OPTION_AND_FILTER)
        REQUIRE_EQUAL(setenv("CPOOL_OPTIONS", "barrier=no", 1), 0);
    if (way != BY_OPTION)
        refuse(way == BY_ENOSYS ? ENOSYS : EPERM);
}

static void never(int variant, void (*body)(const struct scene *scene))
{
    struct scene scene = { body, 0, growth_kinds[variant % GROWTH_KINDS],
                           variant / GROWTH_KINDS };

    SKIP_IF(scene.way != BY_OPTION && !can_refuse(), "no way here to refuse the barrier");
    require_messages(&scene, 0);
}

#define TEST_WITHOUT(name)                                                                   \
    static void name##_in_child(const struct scene *scene);                                  \
    TEST_TIMES(name, GROWTH_KINDS * WAYS)                                                    \
    {                                                                                        \
        never(_i, name##_in_child);                                                          \
    }                                                                                        \
    static void name##_in_child(const struct scene *scene)

/* Entries are opened all the same, but none to the inline path, and no barrier is passed. */
TEST_WITHOUT(use_without_the_barrier_from_the_start_finds_all)
{
    struct worker *workers[OWNERS];
    struct crew crew;
    const struct cpi_registry *registry;

    do_without(scene->way);
    begin_crew(&crew, workers, scene->flags);
    REQUIRE(!cpi_has_barrier());
    registry = &inside(crew.pool)->registry;
    for (size_t i = 0; i < cpi_registry_made(registry); i++) {
        REQUIRE(!cpi_registry_cache(registry, i)->fenced);
        REQUIRE_EQUAL(cpi_registry_cache(registry, i)->entry->limit, 0);
    }
    for (size_t i = 0; i < OWNERS; i++) {
        worker_do(workers[i], use_often, crew.pool);
        REQUIRE_EQUAL(crew_take(&crew.members[i], SIZE_MAX), CAPACITY);
        crew_give(&crew.members[i]);
    }
    crew_require_obtainable_here(crew.pool);
    REQUIRE_EQUAL(cpi_load(&inside(crew.pool)->registry.barriers, relaxed), 0);
    end_crew(&crew);
}

TEST_WITHOUT(wait_without_the_barrier_from_the_start_ends)
{
    struct worker *owner;
    struct waiter waiter;
    cpool_t *pool;
    void *slot;

    do_without(scene->way);
    pool = begin_with_owner(&owner, scene->flags);
    slot = cpool_alloc_wait(pool, &a_moment); /* out of the cache of the other */
    REQUIRE(slot != NULL);
    waiter_start(&waiter, pool, NULL);
    pass_to(&waiter, slot);
    worker_stop(waiter.worker);
    worker_stop(owner);
    support_destroy_empty(pool);
}

/* A reader is not in the way, although it began once and does not come again. */
TEST_WITHOUT(retire_without_the_barrier_from_the_start_holds_nothing_back)
{
    struct worker *worker = worker_start();
    struct reading mine, other;
    cpool_t *pool;

    do_without(scene->way);
    pool = waiter_pool(scene->flags, CAPACITY);
    begin_readers(&mine, &other, worker);
    REQUIRE_EQUAL(cpool_retire(mine.reader, pool, cpool_alloc(pool)), CPOOL_OK);
    REQUIRE_EQUAL(cpool_retire_flush(mine.reader, 0), 0);
    end_readers(&mine, pool, worker);
}
