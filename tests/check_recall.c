/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_recall.c - empty means empty: the capacity can be had by any mix of
 * threads, whatever the others have in their caches, and in exact pools never
 * more.
 *
 * Includes growth.h, and recall.h, to see which barrier was chosen.  Every test
 * runs with the kernel's barrier, where there is one, and in a child that the
 * kernel refuses it.
 */
#include "growth.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recall.h"

#if defined(__linux__)
#include <sys/syscall.h>
#endif

enum { WORKERS_MAX = 8, K_MAX = 200, SLOT_SIZE = 16 };

/*
 * ---- Kinds of pools ------------------------------------------------------
 */

static const unsigned kinds[] = {
    0,
    CPOOL_EXACT,
    CPOOL_WAITABLE,
    CPOOL_CHECKED,
    CPOOL_CHECKED | CPOOL_EXACT,
    CPOOL_AUTO_TRIM,
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), VARIANTS = 2 * KINDS };

static bool is_exact(unsigned flags)
{
    return (flags & (CPOOL_EXACT | CPOOL_WAITABLE)) != 0;
}

static cpool_t *create(unsigned flags, size_t capacity, size_t rounds)
{
    cpool_config_t config = support_config(SLOT_SIZE, capacity);

    config.flags = flags;
    config.magazine_rounds = rounds;
    config.thread_caches = 2 * WORKERS_MAX;
    return support_create(&config);
}

/* The most slots that may be live at once: one magazine beyond the capacity for
 * each cache that there has been at the same time, unless the pool is exact. */
static size_t most_live(const cpool_t *pool, unsigned flags)
{
    cpool_stats_t stats = support_stats(pool);

    return stats.capacity + (is_exact(flags) ? 0 : (WORKERS_MAX + 1) * stats.magazine_rounds);
}

/*
 * ---- The two barriers ----------------------------------------------------
 */

struct case_of_child {
    void (*body)(unsigned flags);
    unsigned flags;
};

static void without_barrier(void *argument)
{
    struct case_of_child *child = argument;

#if defined(__linux__) && defined(SYS_membarrier)
    if (!growth_refuse_call(SYS_membarrier, ENOSYS))
        return;
#endif
    cpi_recall_startup(); /* there may have been a pool before this test */
    REQUIRE(!cpi_recall_has_barrier());
    child->body(child->flags);
    REQUIRE(!cpi_recall_has_barrier());
}

/* Of each kind with one barrier, then of each with the other. */
static void run_variant(int variant, void (*body)(unsigned flags))
{
    struct case_of_child child = { body, kinds[variant % KINDS] };

    if (variant < KINDS)
        body(child.flags);
    else
        support_in_child(without_barrier, &child);
}

/*
 * ---- Threads that take turns ---------------------------------------------
 */

struct member {
    struct worker *worker;
    struct hold hold;
    size_t wanted;
    size_t got;
};

struct crew {
    cpool_t *pool;
    size_t count;
    struct member members[WORKERS_MAX];
};

static void take(void *argument)
{
    struct member *member = argument;

    member->got = hold_take(&member->hold, member->wanted);
}

static void give(void *argument)
{
    struct member *member = argument;

    hold_free_all(&member->hold);
}

static size_t let_take(struct member *member, size_t wanted)
{
    member->wanted = wanted;
    worker_do(member->worker, take, member);
    return member->got;
}

static void let_give(struct member *member)
{
    worker_do(member->worker, give, member);
}

static void crew_init(struct crew *crew, struct worker **workers, size_t count, cpool_t *pool)
{
    crew->pool = pool;
    crew->count = count;
    for (size_t i = 0; i < count; i++) {
        crew->members[i].worker = workers[i];
        hold_init(&crew->members[i].hold, pool);
    }
}

static void crew_fini(struct crew *crew)
{
    for (size_t i = 0; i < crew->count; i++)
        hold_fini(&crew->members[i].hold);
}

/* One after the other takes all that there is and gives it back. */
static void fill_caches(struct crew *crew)
{
    for (size_t i = 0; i < crew->count; i++) {
        let_take(&crew->members[i], SIZE_MAX);
        let_give(&crew->members[i]);
    }
}

/* Each takes k while the caches of all the others are as full as they get;
 * then nothing is left, but for the slack of a plain pool. */
static void require_everyone_gets(struct crew *crew, unsigned flags, size_t k, size_t first)
{
    size_t live = crew->count * k;

    for (size_t i = 0; i < crew->count; i++)
        REQUIRE_EQUAL(let_take(&crew->members[(first + i) % crew->count], k), k);
    REQUIRE_EQUAL(support_stats(crew->pool).live, live);
    for (size_t i = 0; i < crew->count; i++)
        live += let_take(&crew->members[i], SIZE_MAX);
    REQUIRE(live <= most_live(crew->pool, flags));
    REQUIRE(live >= crew->count * k);
    for (size_t i = 0; i < crew->count; i++)
        let_give(&crew->members[i]);
}

/* Each in turn gets everything. */
static void require_each_gets_all(struct crew *crew, unsigned flags, size_t capacity)
{
    for (size_t i = 0; i < crew->count; i++) {
        size_t got = let_take(&crew->members[i], SIZE_MAX);

        REQUIRE(got >= capacity);
        REQUIRE(got <= most_live(crew->pool, flags));
        let_give(&crew->members[i]);
    }
}

static void require_capacity(struct worker **workers, size_t count, unsigned flags, size_t k)
{
    const size_t rounds[] = { 0, 1, k, count * k };
    cpool_t *pool = create(flags, count * k, rounds[k % 4]);
    struct crew crew;

    crew_init(&crew, workers, count, pool);
    fill_caches(&crew);
    require_everyone_gets(&crew, flags, k, 0);
    fill_caches(&crew);
    require_everyone_gets(&crew, flags, k, count - 1);
    require_each_gets_all(&crew, flags, count * k);
    crew_fini(&crew);
    support_destroy_empty(pool);
}

static void everyone_gets_k(unsigned flags)
{
    static const size_t counts[] = { 1, 2, 3, WORKERS_MAX };
    struct worker *workers[WORKERS_MAX];

    for (size_t i = 0; i < WORKERS_MAX; i++)
        workers[i] = worker_start();
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++)
        for (size_t k = 1; k <= K_MAX; k += SUPPORT_COUNT(1u, 13u))
            require_capacity(workers, counts[c], flags, k);
    for (size_t i = 0; i < WORKERS_MAX; i++)
        worker_stop(workers[i]);
}

START_TEST(alloc_with_all_others_asleep_on_full_caches_succeeds)
{
    run_variant(_i, everyone_gets_k);
}
END_TEST

/* Without slack, what the others have loaded is all that is out of reach. */
static void require_most_in_reach(struct crew *crew, size_t capacity)
{
    size_t rounds = support_stats(crew->pool).magazine_rounds;

    for (size_t i = 0; i < crew->count; i++) {
        size_t got = let_take(&crew->members[i], SIZE_MAX);

        REQUIRE(got <= capacity);
        REQUIRE(got + (crew->count - 1) * rounds >= capacity);
        let_give(&crew->members[i]);
    }
}

/* Where there is no room for slack, it takes an exact pool. */
START_TEST(alloc_in_callers_memory_with_all_others_asleep_succeeds)
{
    cpool_config_t config = support_config(SLOT_SIZE, 2000);
    struct worker *workers[WORKERS_MAX];
    struct crew crew;
    void *memory;
    cpool_t *pool;

    config.flags = kinds[_i];
    config.memory_size = cpool_memory_required(&config);
    REQUIRE_EQUAL(posix_memalign(&memory, CPOOL_MEMORY_ALIGN, config.memory_size), 0);
    config.memory = memory;
    pool = support_create(&config);
    REQUIRE_EQUAL(cpool_index_limit(pool), 2000);
    for (size_t i = 0; i < WORKERS_MAX; i++)
        workers[i] = worker_start();
    crew_init(&crew, workers, WORKERS_MAX, pool);
    fill_caches(&crew);
    if (is_exact(kinds[_i])) {
        require_everyone_gets(&crew, CPOOL_EXACT, 2000 / WORKERS_MAX, 3);
        require_each_gets_all(&crew, CPOOL_EXACT, 2000);
    } else {
        require_most_in_reach(&crew, 2000);
    }
    for (size_t i = 0; i < WORKERS_MAX; i++)
        worker_stop(workers[i]);
    crew_fini(&crew);
    support_destroy_empty(pool);
    free(memory);
}
END_TEST

/*
 * ---- Threads that are gone, and caches that nobody uses ------------------
 */

enum { CAPACITY = 1000 };

static void require_obtainable_here(cpool_t *pool, unsigned flags)
{
    size_t most = most_live(pool, flags);
    struct hold hold;

    hold_init(&hold, pool);
    hold_take(&hold, SIZE_MAX);
    REQUIRE(hold.count >= support_stats(pool).capacity);
    REQUIRE(hold.count <= most);
    hold_free_all(&hold);
    hold_fini(&hold);
}

static void exited_threads(unsigned flags)
{
    cpool_t *pool = create(flags, CAPACITY, 0);

    for (size_t i = 0; i < SUPPORT_COUNT(50u, 10u); i++) {
        struct worker *worker = worker_start();
        struct crew crew;

        crew_init(&crew, &worker, 1, pool);
        fill_caches(&crew);
        worker_stop(worker);
        crew_fini(&crew);
        require_obtainable_here(pool, flags);
    }
    support_destroy_empty(pool);
}

START_TEST(alloc_after_threads_ended_with_full_caches_succeeds)
{
    run_variant(_i, exited_threads);
}
END_TEST

static void fill_explicit(cpool_cache_t *cache)
{
    void *slots[CAPACITY];
    size_t count = 0;

    while (count < CAPACITY && (slots[count] = cpool_cache_alloc(cache)) != NULL)
        count++;
    while (count > 0)
        cpool_cache_free(cache, slots[--count]);
}

static void explicit_caches(unsigned flags)
{
    cpool_t *pool = create(flags, CAPACITY, 0);
    cpool_cache_t *caches[WORKERS_MAX];

    for (int i = 0; i < WORKERS_MAX; i++) {
        REQUIRE_EQUAL(cpool_cache_create(&caches[i], pool), 0);
        fill_explicit(caches[i]);
    }
    for (int round = 0; round < 3; round++) {
        require_obtainable_here(pool, flags);
        for (int i = 0; i < WORKERS_MAX; i++)
            fill_explicit(caches[i]);
    }
    for (int i = 0; i < WORKERS_MAX; i++)
        cpool_cache_destroy(caches[i]);
    require_obtainable_here(pool, flags);
    support_destroy_empty(pool);
}

START_TEST(alloc_with_full_explicit_caches_succeeds)
{
    run_variant(_i, explicit_caches);
}
END_TEST

/* Slots taken past all caches, and many at once. */
static void other_ways(unsigned flags)
{
    cpool_t *pool = create(flags, CAPACITY, 0);
    struct worker *worker = worker_start();
    void **slots = support_calloc(cpool_index_limit(pool) + 1, sizeof(*slots));
    struct crew crew;
    size_t got = 0;

    crew_init(&crew, &worker, 1, pool);
    fill_caches(&crew);
    while ((slots[got] = cpool_depot_alloc(pool)) != NULL)
        got++;
    REQUIRE(got >= CAPACITY && got <= most_live(pool, flags));
    while (got > 0)
        cpool_depot_free(pool, slots[--got]);
    fill_caches(&crew);
    REQUIRE_EQUAL(cpool_alloc_bulk(pool, slots, CAPACITY), CAPACITY);
    cpool_free_bulk(pool, slots, CAPACITY);
    fill_caches(&crew);
    REQUIRE_EQUAL(cpool_alloc_bulk_all(pool, slots, CAPACITY), 0);
    cpool_free_bulk(pool, slots, CAPACITY);
    worker_stop(worker);
    crew_fini(&crew);
    free(slots);
    require_obtainable_here(pool, flags);
    support_destroy_empty(pool);
}

START_TEST(depot_and_bulk_alloc_with_another_asleep_succeed)
{
    run_variant(_i, other_ways);
}
END_TEST

/*
 * ---- Threads that are blocked or stopped ---------------------------------
 */

struct blocked {
    struct hold hold;
    int ends[2];
    sem_t full; /* posted when the cache is */
};

static void *block(void *argument)
{
    struct blocked *blocked = argument;
    char byte;

    hold_take(&blocked->hold, SIZE_MAX);
    hold_free_all(&blocked->hold);
    REQUIRE_EQUAL(sem_post(&blocked->full), 0);
    REQUIRE_EQUAL(read(blocked->ends[0], &byte, 1), 1);
    hold_take(&blocked->hold, 100);
    hold_free_all(&blocked->hold);
    return NULL;
}

static void blocked_thread(unsigned flags)
{
    cpool_t *pool = create(flags, CAPACITY, 0);
    struct blocked blocked;
    pthread_t thread;

    hold_init(&blocked.hold, pool);
    REQUIRE_EQUAL(pipe(blocked.ends), 0);
    REQUIRE_EQUAL(sem_init(&blocked.full, 0, 0), 0);
    thread = support_start(block, &blocked);
    REQUIRE_EQUAL(sem_wait(&blocked.full), 0);
    for (int round = 0; round < 10; round++)
        require_obtainable_here(pool, flags);
    REQUIRE_EQUAL(write(blocked.ends[1], "", 1), 1);
    support_join(thread);
    hold_fini(&blocked.hold);
    close(blocked.ends[0]);
    close(blocked.ends[1]);
    REQUIRE_EQUAL(sem_destroy(&blocked.full), 0);
    support_destroy_empty(pool);
}

START_TEST(alloc_with_a_thread_blocked_in_read_succeeds)
{
    run_variant(_i, blocked_thread);
}
END_TEST

enum { BURST = 40, ROUNDS = 7 };

static sem_t started;
static sem_t stopped;
static int resume_ends[2];
static _Atomic bool over;

/* The thread stands still wherever it happens to be, inside the library too. */
static void stand_still(int signal)
{
    int saved = errno;
    char byte;

    (void)signal;
    if (sem_post(&stopped) != 0 || read(resume_ends[0], &byte, 1) != 1)
        abort();
    errno = saved;
}

static void *keep_busy(void *argument)
{
    struct hold *hold = argument;
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

    hold_take(hold, BURST);
    REQUIRE_EQUAL(sem_post(&started), 0);
    while (!atomic_load_explicit(&over, memory_order_relaxed)) {
        hold_take(hold, BURST - hold->count);
        hold_free_all(hold);
        /* Here ThreadSanitizer lets signals in. */
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void stop_thread(pthread_t thread)
{
    REQUIRE_EQUAL(pthread_kill(thread, SIGUSR1), 0);
    while (sem_wait(&stopped) != 0)
        REQUIRE(errno == EINTR);
}

/* All can be had but what the stopped thread has live and what was in its hands:
 * the magazine it had loaded, and one on either way. */
static void require_most_obtainable(struct hold *hold, size_t most)
{
    hold_take(hold, SIZE_MAX);
    REQUIRE(hold->count <= most);
    REQUIRE(hold->count + BURST + 3 * ROUNDS >= CAPACITY);
    hold_free_all(hold);
}

static void install_stopper(void)
{
    struct sigaction action;

    REQUIRE_EQUAL(pipe(resume_ends), 0);
    REQUIRE_EQUAL(sem_init(&started, 0, 0), 0);
    REQUIRE_EQUAL(sem_init(&stopped, 0, 0), 0);
    memset(&action, 0, sizeof(action));
    action.sa_handler = stand_still;
    action.sa_flags = SA_RESTART;
    REQUIRE_EQUAL(sigaction(SIGUSR1, &action, NULL), 0);
}

/* Stopped after its first use of the pool, when it no longer takes the library's
 * lock: a pool that trims by itself would. */
static void stopped_thread(unsigned flags)
{
    cpool_t *pool = create(flags & ~CPOOL_AUTO_TRIM, CAPACITY, ROUNDS);
    size_t most = most_live(pool, flags);
    struct hold busy;
    struct hold hold;
    pthread_t thread;

    hold_init(&hold, pool);
    hold_init(&busy, pool);
    install_stopper();
    hold_take(&hold, 1);
    hold_free_all(&hold);
    thread = support_start(keep_busy, &busy);
    REQUIRE_EQUAL(sem_wait(&started), 0);
    for (size_t i = 0; i < SUPPORT_COUNT(200u, 20u); i++) {
        stop_thread(thread);
        require_most_obtainable(&hold, most);
        REQUIRE_EQUAL(write(resume_ends[1], "", 1), 1);
    }
    atomic_store_explicit(&over, true, memory_order_relaxed);
    support_join(thread);
    require_obtainable_here(pool, flags);
    hold_fini(&hold);
    hold_fini(&busy);
    support_destroy_empty(pool);
}

START_TEST(alloc_with_a_thread_stopped_anywhere_ends)
{
    run_variant(_i, stopped_thread);
}
END_TEST

/*
 * ---- All at once ---------------------------------------------------------
 */

struct contest {
    struct hold hold;
    size_t share;
    size_t capacity;
    size_t turns;
    _Atomic size_t *live;
    struct support_door *door;
};

/* Takes one more, however often it takes; at any moment the shares of all fit. */
static void take_one(struct contest *contest)
{
    while (hold_take(&contest->hold, 1) == 0)
        ;
    /* relaxed: raised after the alloc and lowered before the free, so it never
     * tells too many, and no other data goes with it. */
    REQUIRE(atomic_fetch_add_explicit(contest->live, 1, memory_order_relaxed) <
            contest->capacity);
}

static void *compete(void *argument)
{
    struct contest *contest = argument;

    support_door_wait(contest->door);
    for (size_t turn = 0; turn < contest->turns; turn++) {
        while (contest->hold.count < contest->share)
            take_one(contest);
        atomic_fetch_sub_explicit(contest->live, contest->share, memory_order_relaxed);
        hold_free_all(&contest->hold);
    }
    /* In the end all have their shares at once, so that all slots are live. */
    while (contest->hold.count < contest->share)
        take_one(contest);
    support_door_wait(contest->door + 1);
    hold_free_all(&contest->hold);
    return NULL;
}

static void run_contest(unsigned flags, size_t k, size_t turns)
{
    cpool_t *pool = create(flags, WORKERS_MAX * k, 0);
    struct support_door doors[2];
    struct contest contests[WORKERS_MAX];
    pthread_t threads[WORKERS_MAX];
    _Atomic size_t live = 0;

    support_door_init(&doors[0]);
    support_door_init(&doors[1]);
    for (int i = 0; i < WORKERS_MAX; i++) {
        contests[i].share = k;
        contests[i].capacity = WORKERS_MAX * k;
        contests[i].turns = turns;
        contests[i].live = &live;
        contests[i].door = doors;
        hold_init(&contests[i].hold, pool);
        threads[i] = support_start(compete, &contests[i]);
    }
    support_door_await(&doors[0], WORKERS_MAX);
    support_door_open(&doors[0]);
    support_door_await(&doors[1], WORKERS_MAX);
    REQUIRE_EQUAL(support_stats(pool).live, WORKERS_MAX * k);
    REQUIRE(!is_exact(flags) || cpool_alloc(pool) == NULL);
    support_door_open(&doors[1]);
    for (int i = 0; i < WORKERS_MAX; i++) {
        support_join(threads[i]);
        hold_fini(&contests[i].hold);
    }
    require_obtainable_here(pool, flags);
    support_destroy_empty(pool);
}

static void everyone_competes(unsigned flags)
{
    run_contest(flags, 1, SUPPORT_COUNT(500u, 30u));
    run_contest(flags, 3, SUPPORT_COUNT(300u, 20u));
    run_contest(flags, 30, SUPPORT_COUNT(100u, 10u));
    run_contest(flags, 200, SUPPORT_COUNT(30u, 5u));
}

START_TEST(alloc_of_all_slots_by_all_threads_at_once_succeeds)
{
    run_variant(_i, everyone_competes);
}
END_TEST

/*
 * ---- Exactly the capacity ------------------------------------------------
 */

struct greed {
    struct hold hold;
    size_t capacity;
    _Atomic size_t *live;
    size_t turns;
    uint64_t random;
};

/* Takes and frees at random, as much as can be had. */
static void *be_greedy(void *argument)
{
    struct greed *greed = argument;

    for (size_t turn = 0; turn < greed->turns; turn++) {
        size_t wanted = support_random(&greed->random) % (greed->capacity + 1);
        size_t given;

        for (size_t i = 0; i < wanted && hold_take(&greed->hold, 1) == 1; i++) {
            REQUIRE(cpool_index(greed->hold.pool, greed->hold.slots[greed->hold.count - 1]) <
                    greed->capacity);
            /* relaxed: as in take_one */
            REQUIRE(atomic_fetch_add_explicit(greed->live, 1, memory_order_relaxed) <
                    greed->capacity);
        }
        given = support_random(&greed->random) % (greed->hold.count + 1);
        atomic_fetch_sub_explicit(greed->live, given, memory_order_relaxed);
        hold_free(&greed->hold, given);
    }
    atomic_fetch_sub_explicit(greed->live, greed->hold.count, memory_order_relaxed);
    hold_free_all(&greed->hold);
    return NULL;
}

static void greedy_threads(unsigned flags)
{
    size_t capacity = 300;
    cpool_t *pool = create(flags | CPOOL_EXACT, capacity, 0);
    struct greed greeds[WORKERS_MAX];
    pthread_t threads[WORKERS_MAX];
    _Atomic size_t live = 0;

    REQUIRE_EQUAL(cpool_index_limit(pool), capacity);
    for (int i = 0; i < WORKERS_MAX; i++) {
        greeds[i].capacity = capacity;
        greeds[i].live = &live;
        greeds[i].turns = SUPPORT_COUNT(300u, 20u);
        greeds[i].random = (uint64_t)i + 1;
        hold_init(&greeds[i].hold, pool);
        threads[i] = support_start(be_greedy, &greeds[i]);
    }
    for (int i = 0; i < WORKERS_MAX; i++) {
        support_join(threads[i]);
        hold_fini(&greeds[i].hold);
    }
    REQUIRE_EQUAL(support_stats(pool).slack, 0);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}

START_TEST(alloc_in_exact_pool_never_exceeds_the_capacity)
{
    run_variant(_i, greedy_threads);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(alloc_with_all_others_asleep_on_full_caches_succeeds, VARIANTS),
        TIMES(alloc_in_callers_memory_with_all_others_asleep_succeeds, KINDS),
        TIMES(alloc_after_threads_ended_with_full_caches_succeeds, VARIANTS),
        TIMES(alloc_with_full_explicit_caches_succeeds, VARIANTS),
        TIMES(depot_and_bulk_alloc_with_another_asleep_succeed, VARIANTS),
        TIMES(alloc_with_a_thread_blocked_in_read_succeeds, VARIANTS),
        TIMES(alloc_with_a_thread_stopped_anywhere_ends, VARIANTS),
        TIMES(alloc_of_all_slots_by_all_threads_at_once_succeeds, VARIANTS),
        TIMES(alloc_in_exact_pool_never_exceeds_the_capacity, VARIANTS),
    };

    return SUPPORT_RUN("recall", tests);
}
