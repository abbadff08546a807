/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * growth.c - shared by the tests of recall, growth, trimming and waiting
 * (growth.h).
 */
#include "growth.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#if defined(__linux__)
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#endif

/* --- Pools --- */

const unsigned growth_kinds[GROWTH_KINDS] = { 0, CPOOL_CHECKED };

cpool_t *growth_pool(size_t slot_size, unsigned flags, size_t capacity, size_t max_capacity)
{
    return SUPPORT_CREATE(slot_size, capacity, .flags = flags, .max_capacity = max_capacity);
}

void growth_require_capacity(const cpool_t *pool, size_t capacity)
{
    REQUIRE_EQUAL(support_stats(pool).capacity, capacity);
}

/* --- Workers --- */

struct worker {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    void (*body)(void *argument); /* the task, or NULL to sleep */
    void *argument;
    bool ended;
};

static void *work(void *argument)
{
    struct worker *worker = argument;

    pthread_mutex_lock(&worker->mutex);
    while (!worker->ended) {
        if (worker->body == NULL) {
            pthread_cond_wait(&worker->changed, &worker->mutex);
            continue;
        }
        pthread_mutex_unlock(&worker->mutex);
        worker->body(worker->argument);
        pthread_mutex_lock(&worker->mutex);
        worker->body = NULL;
        pthread_cond_broadcast(&worker->changed);
    }
    pthread_mutex_unlock(&worker->mutex);
    return NULL;
}

struct worker *worker_start(void)
{
    struct worker *worker = support_calloc(1, sizeof(*worker));

    REQUIRE_EQUAL(pthread_mutex_init(&worker->mutex, NULL), 0);
    REQUIRE_EQUAL(pthread_cond_init(&worker->changed, NULL), 0);
    worker->thread = support_start(work, worker);
    return worker;
}

void worker_begin(struct worker *worker, void (*body)(void *argument), void *argument)
{
    pthread_mutex_lock(&worker->mutex);
    REQUIRE(worker->body == NULL);
    worker->body = body;
    worker->argument = argument;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->mutex);
}

void worker_await(struct worker *worker)
{
    pthread_mutex_lock(&worker->mutex);
    while (worker->body != NULL)
        pthread_cond_wait(&worker->changed, &worker->mutex);
    pthread_mutex_unlock(&worker->mutex);
}

void worker_do(struct worker *worker, void (*body)(void *argument), void *argument)
{
    worker_begin(worker, body, argument);
    worker_await(worker);
}

void worker_stop(struct worker *worker)
{
    pthread_mutex_lock(&worker->mutex);
    worker->ended = true;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->mutex);
    support_join(worker->thread);
    REQUIRE_EQUAL(pthread_cond_destroy(&worker->changed), 0);
    REQUIRE_EQUAL(pthread_mutex_destroy(&worker->mutex), 0);
    free(worker);
}

void workers_start(struct worker **workers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        workers[i] = worker_start();
}

void workers_stop(struct worker **workers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        worker_stop(workers[i]);
}

/* --- Holds --- */

struct hold hold_of(cpool_t *pool)
{
    static _Atomic uint64_t stamps;
    struct hold hold = {.pool = pool, .room = cpool_index_limit(pool)};

    /* relaxed: a number that nobody else has, no more. */
    hold.stamp = (atomic_fetch_add_explicit(&stamps, 1, memory_order_relaxed) + 1) *
                 UINT64_C(0x9E3779B97F4A7C15);
    hold.bytes = support_stats(pool).slot_size;
    REQUIRE_EQUAL(hold.bytes % sizeof(hold.stamp), 0);
    hold.slots = support_calloc(hold.room, sizeof(*hold.slots));
    return hold;
}

void hold_fini(struct hold *hold)
{
    REQUIRE_EQUAL(hold->count, 0);
    free(hold->slots);
}

static void require_stamped(const struct hold *hold, const void *slot)
{
    const uint64_t *words = slot;

    for (size_t i = 0; i < hold->bytes / sizeof(*words); i++)
        REQUIRE(words[i] == hold->stamp);
}

void hold_add(struct hold *hold, void *slot)
{
    uint64_t *words = slot;

    REQUIRE(hold->count < hold->room);
    REQUIRE(cpool_owns(hold->pool, slot));
    for (size_t i = 0; i < hold->bytes / sizeof(*words); i++)
        words[i] = hold->stamp;
    hold->slots[hold->count++] = slot;
}

size_t hold_take(struct hold *hold, size_t n)
{
    size_t before = hold->count;
    void *slot;

    while (hold->count - before < n && (slot = cpool_alloc(hold->pool)) != NULL)
        hold_add(hold, slot);
    return hold->count - before;
}

void hold_verify(const struct hold *hold)
{
    for (size_t i = 0; i < hold->count; i++)
        require_stamped(hold, hold->slots[i]);
}

void hold_free(struct hold *hold, size_t n)
{
    REQUIRE(n <= hold->count);
    while (n-- > 0) {
        void *slot = hold->slots[--hold->count];

        require_stamped(hold, slot);
        *(uint64_t *)slot = ~hold->stamp; /* so that a second owner finds it changed */
        cpool_free(hold->pool, slot);
    }
}

void hold_free_all(struct hold *hold)
{
    hold_free(hold, hold->count);
}

void hold_end(struct hold *hold)
{
    hold_free_all(hold);
    hold_fini(hold);
    support_destroy_empty(hold->pool);
}

void hold_free_one(struct hold *hold, size_t i)
{
    void *slot = hold->slots[i];

    hold->slots[i] = hold->slots[hold->count - 1];
    hold->slots[hold->count - 1] = slot;
    hold_free(hold, 1);
}

/* --- Filters of system calls --- */

#if defined(__linux__) && defined(SECCOMP_RET_ERRNO)

/* The process uses the system calls of one architecture only, so their numbers
 * are all that there is to look at. */
#define LOAD_NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))

static bool install(struct sock_filter *instructions, size_t count)
{
    struct sock_fprog program = { (unsigned short)count, instructions };

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

bool growth_refuse_call(long number, int error)
{
    struct sock_filter filter[] = {
        LOAD_NUMBER,
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ((uint32_t)error & SECCOMP_RET_DATA)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };

    return install(filter, sizeof(filter) / sizeof(filter[0]));
}

bool growth_allow_only(const long *numbers, size_t count)
{
    struct sock_filter filter[64];
    const struct sock_filter load = LOAD_NUMBER;
    const struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_filter trap = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    size_t length = 0;

    REQUIRE(2 * count + 2 <= sizeof(filter) / sizeof(filter[0]));
    filter[length++] = load;
    for (size_t i = 0; i < count; i++) {
        const struct sock_filter skip =
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)numbers[i], 0, 1);

        filter[length++] = skip;
        filter[length++] = allow;
    }
    filter[length++] = trap;
    return install(filter, length);
}

#else

bool growth_refuse_call(long number, int error)
{
    (void)number;
    (void)error;
    return false;
}

bool growth_allow_only(const long *numbers, size_t count)
{
    (void)numbers;
    (void)count;
    return false;
}

#endif

static void try_filter(void *argument)
{
    (void)argument;
    REQUIRE(growth_refuse_call(-1, 0)); /* no call has this number */
}

bool growth_has_filters(void)
{
    struct support_outcome outcome;

    support_fork(try_filter, NULL, &outcome);
    return WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == 0;
}

bool growth_populates(void)
{
#if defined(__linux__) && !defined(CPOOL_PLAIN_POSIX)
    return madvise(NULL, 0, 23) == 0 && madvise(NULL, 0, 0x7fff) != 0;
#else
    return false;
#endif
}
