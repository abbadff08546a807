/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_histories.c - records histories of real threads on real pools, and decides
 * of each whether it is linearizable.
 *
 *   check_histories [HISTORIES [SEED [SHAPE]]]      of each shape, or of that one
 *
 * A history: some threads run a burst of operations each, all at once, on a new
 * pool that has less than they want together.  Then, while they sleep, with what
 * they hold and with filled caches, the main thread takes all that there is: so at
 * the end of the history, when nobody is inside the library, the specification of
 * linear.h says exactly how many that must be.
 *
 * The machine decides the orders, so a seed does not repeat a history.  A failure
 * prints the history itself.  Orders chosen one by one are those of tests/sched, and
 * the same checker decides their histories.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "burst.h"
#include "random.h"
#include "linear.h"

#define HISTORIES 400

/* Of a shape, without arguments: beside busy processors each pause lasts as long as their time
 * slices, so it ends after some seconds, having recorded a few. */
#define FEWEST_HISTORIES 25
#define SHAPE_SECONDS 4
#define WORKERS 4
#define OPERATIONS_MAX 24

struct shape {
    const char *name;
    const char *letters;
    size_t capacity, max_capacity, rounds, thread_caches;
    unsigned flags;
    bool memory; /* the pool's is the caller's */
    size_t cache_slots;
};

static const struct shape shapes[] = {
    {"one round", "aazffl", 6, 0, 1, 0, 0, false, 0},
    {"mixed", "aAbbffFdx", 9, 0, 2, 0, 0, false, 0},
    {"explicit caches", "accbfCCdx", 8, 0, 1, 0, 0, false, 0},
    {"one slot", "aAffF", 1, 0, 0, 0, 0, false, 0},
    {"default magazines", "aabbAffFdx", 12, 0, 0, 16, 0, false, 0},
    {"in the caller's memory", "aAbffdx", 10, 0, 2, 0, 0, true, 0},
    {"more threads than caches", "aaffbx", 8, 0, 1, 2, 0, false, 0},
    {"depot alone", "AAFF", 5, 0, 1, 1, 0, false, 0},
    {"three spares", "aaabffdl", 16, 0, 1, 0, 0, false, 4},
    {"three spares, mixed", "aaabAffFdx", 24, 0, 2, 16, 0, false, 8},
    {"waiting", "aawfffx", 3, 0, 1, 0, 0, false, 0},
    {"growing", "aabffdx", 2, 12, 1, 16, 0, false, 0},
    {"checked", "aabAffFdx", 8, 0, 2, 16, CPOOL_CHECKED, false, 0},
};

#define SHAPES (sizeof shapes / sizeof shapes[0])

static struct worker workers[WORKERS + 1]; /* and the main thread */
static _Atomic(void *) mailbox;
static unsigned operations; /* in a burst; written between bursts */
static bool over;           /* likewise */
static pthread_barrier_t begun, ended;

/* Pairs with itself: orders nothing that the barriers do not, so relaxed.  Awake at
 * last, the workers wait for each other once more, to begin at the same time. */
static _Atomic unsigned awake;

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "check_histories: %s\n", what);
    exit(2);
}

static void *worker_main(void *argument)
{
    for (;;) {
        pthread_barrier_wait(&begun);
        if (over)
            return argument;
        atomic_fetch_add_explicit(&awake, 1, memory_order_relaxed);
        while (atomic_load_explicit(&awake, memory_order_relaxed) < WORKERS)
            sched_yield();
        burst_run(argument, operations);
        pthread_barrier_wait(&ended);
    }
}

/* --- One history --- */

static void *memory_for(cpool_config_t *config)
{
    void *memory = NULL;

    config->memory_size = cpool_memory_required(config);
    if (posix_memalign(&memory, CPOOL_MEMORY_ALIGN, config->memory_size) != 0)
        die("no memory");
    return config->memory = memory;
}

static cpool_t *make_pool(const struct shape *shape, void **memory)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_t *pool;
    int code;

    config.slot_size = 16;
    config.capacity = shape->capacity;
    config.max_capacity = shape->max_capacity;
    config.magazine_rounds = shape->rounds;
    config.cache_slots = shape->cache_slots;
    config.thread_caches = shape->thread_caches;
    config.flags = shape->flags;
    *memory = shape->memory ? memory_for(&config) : NULL;
    code = cpool_create(&pool, &config);
    if (code != 0)
        die(cpool_strerror(code));
    return pool;
}

/* The promises of a pool.  Inside, a thread can have in its hands what is
 * loaded, one spare, as many as configured rounds allow it, and one magazine on the
 * way. */
static struct linear_specification promise(const cpool_t *pool)
{
    cpool_stats_t stats = CPOOL_STATS_INIT;
    struct linear_specification specification;

    if (cpool_stats(pool, &stats) != 0)
        die("no figures");
    specification.capacity = stats.max_capacity;
    specification.slots = cpool_index_limit(pool);
    specification.inside = 3 * stats.magazine_rounds;
    return specification;
}

static void record(cpool_t *pool, const struct shape *shape, uint64_t *generator,
                   struct history *history)
{
    unsigned i;

    operations = 1 + (unsigned)random_below(generator, OPERATIONS_MAX);
    atomic_store_explicit(&awake, 0, memory_order_relaxed);
    atomic_store_explicit(&mailbox, NULL, memory_order_relaxed);
    for (i = 0; i <= WORKERS; i++)
        burst_prepare(&workers[i], pool, shape->letters,
                      ((uint64_t)random_below(generator, ~0u) << 8) + i);
    pthread_barrier_wait(&begun);
    pthread_barrier_wait(&ended);
    burst_drain(&workers[WORKERS]);
    history->count = 0;
    for (i = 0; i <= WORKERS; i++)
        history_append(history, &workers[i].history);
}

static bool has_stalled(const cpool_t *pool)
{
    cpool_stats_t stats = CPOOL_STATS_INIT;

    if (cpool_stats(pool, &stats) != 0)
        die("no figures");
    return stats.stalls > 0;
}

/* --- All histories --- */

/* Their kinds, for a reader.  Excused: see decide(). */
struct tally {
    unsigned long operations, overlaps, dry, excused;
};

static void count(struct tally *tally, const struct history *history)
{
    size_t i, j;

    for (i = 0; i < history->count; i++) {
        const struct operation *one = &history->operations[i];

        tally->operations++;
        tally->dry += one->kind != HISTORY_GIVE && one->count < one->wanted;
        for (j = 0; j < history->count; j++) {
            const struct operation *other = &history->operations[j];

            if (i != j && one->begin < other->end && other->begin < one->end) {
                tally->overlaps++;
                break;
            }
        }
    }
}

static _Noreturn void complain(const struct shape *shape,
                               const struct linear_specification *specification,
                               const struct history *history, const struct operation *stuck)
{
    printf("FAILED: %s: no order of these operations explains what they returned, with a\n"
           "capacity of %zu, %zu indices, and %zu slots out of reach for each other thread\n"
           "inside the library; stuck at the return of thread %u's, tick %lu:\n",
           shape->name, specification->capacity, specification->slots, specification->inside,
           stuck->thread, stuck->end);
    history_print(history, stdout);
    exit(1);
}

/* Whether the history is right only thanks to what threads inside may have in their hands.  An
 * alloc waits for these, but not for ever, and a wait that ends does not. */
static bool decide(const struct shape *shape, const struct linear_specification *specification,
                   const struct history *history, bool is_strict)
{
    struct linear_specification strict = *specification;
    const struct operation *stuck;

    strict.inside = 0;
    stuck = linear_check(&strict, history);
    if (stuck == NULL)
        return false;
    if (is_strict)
        complain(shape, &strict, history, stuck);
    stuck = linear_check(specification, history);
    if (stuck != NULL)
        complain(shape, specification, history, stuck);
    return true;
}

/* At most `histories`, and from `fewest` on no new one after SHAPE_SECONDS. */
static void check(const struct shape *shape, unsigned long histories, unsigned long fewest,
                  uint64_t seed)
{
    static struct history history;
    struct tally tally = {0, 0, 0, 0};
    time_t end = time(NULL) + SHAPE_SECONDS;
    unsigned long i;

    for (i = 0; i < histories && (i < fewest || time(NULL) < end); i++) {
        void *memory;
        cpool_t *pool = make_pool(shape, &memory);
        struct linear_specification specification = promise(pool);

        record(pool, shape, &seed, &history);
        tally.excused += decide(shape, &specification, &history,
                                strchr(shape->letters, 'w') == NULL && !has_stalled(pool));
        count(&tally, &history);
        if ((shape->flags & CPOOL_CHECKED) != 0)
            cpool_reset(pool); /* it would list what is live */
        cpool_destroy(pool);
        free(memory);
    }
    printf("%-32s %lu histories, %lu operations, %lu overlapping, %lu dry; %lu excused\n",
           shape->name, i, tally.operations, tally.overlaps, tally.dry, tally.excused);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    unsigned long histories = argc > 1 ? strtoul(argv[1], NULL, 10) : HISTORIES;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    const char *wanted = argc > 3 ? argv[3] : NULL;
    pthread_t threads[WORKERS];
    size_t i;

    if (histories == 0)
        die("usage: check_histories [HISTORIES [SEED [SHAPE]]]");
    if (pthread_barrier_init(&begun, NULL, WORKERS + 1) != 0 ||
        pthread_barrier_init(&ended, NULL, WORKERS + 1) != 0)
        die("no barriers");
    for (i = 0; i <= WORKERS; i++) {
        workers[i].number = (unsigned)i;
        workers[i].mailbox = &mailbox;
        if (i < WORKERS && pthread_create(&threads[i], NULL, worker_main, &workers[i]) != 0)
            die("no threads");
    }
    for (i = 0; i < SHAPES; i++)
        if (wanted == NULL || strcmp(shapes[i].name, wanted) == 0)
            check(&shapes[i], histories, argc > 1 ? histories : FEWEST_HISTORIES, seed + i);
    over = true;
    pthread_barrier_wait(&begun);
    for (i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
