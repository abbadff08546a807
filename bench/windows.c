/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * windows.c - a typed pool and a pool by its handle compared with the C runtime's malloc, on
 * Windows.
 *
 *   figures [ROUNDS]     medians of so many turns of each (15), in nanoseconds for an alloc and
 *                        its free, and how many times longer malloc takes
 *
 * The three take turns, so that whatever else the machine does affects all of them:
 *
 *   same slot      one block is allocated and freed
 *   burst of N     N blocks are allocated, then freed in the same order
 *   two threads    each with bursts of 64
 *   producer to consumer   one thread allocates, another one frees
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cpool.h>

#define WIN32_LEAN_AND_MEAN 1
#include <windows.h>

enum { BLOCK = 64, CAPACITY = 1 << 16, BURST_MAX = 1024, RING = 1024, ROUNDS_MAX = 101 };

/* Pairs of a turn: some milliseconds. */
#define PAIRS ((size_t)1 << 17)

struct block {
    size_t words[BLOCK / sizeof(size_t)];
};

CPOOL_DECLARE(blocks, struct block);
CPOOL_DEFINE(blocks, struct block, .capacity = CAPACITY);

static cpool_t *pool;

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "figures: %s\n", what);
    exit(1);
}

/* Between two threads, one at each end. */
static struct {
    _Alignas(64) _Atomic size_t put;
    _Alignas(64) _Atomic size_t taken;
    _Alignas(64) struct block *_Atomic cells[RING];
} ring;

static void pass_on(struct block *block)
{
    size_t at = atomic_load_explicit(&ring.put, memory_order_relaxed); /* this thread's own */

    /* Acquire: the cell is free once its block was taken. */
    while (at - atomic_load_explicit(&ring.taken, memory_order_acquire) == RING)
        sched_yield();
    atomic_store_explicit(&ring.cells[at % RING], block, memory_order_relaxed);
    /* Release: publishes the cell and the block. */
    atomic_store_explicit(&ring.put, at + 1, memory_order_release);
}

static struct block *receive(void)
{
    size_t at = atomic_load_explicit(&ring.taken, memory_order_relaxed); /* this thread's own */
    struct block *block;

    /* Acquire: pairs with the release of pass_on. */
    while (atomic_load_explicit(&ring.put, memory_order_acquire) == at)
        sched_yield();
    block = atomic_load_explicit(&ring.cells[at % RING], memory_order_relaxed);
    /* Release: the cell may be used again. */
    atomic_store_explicit(&ring.taken, at + 1, memory_order_release);
    return block;
}

/* The work of one kind, with its calls in it. */
#define WORK(kind, alloc, give)                                                \
    static void burst_##kind(size_t length)                                    \
    {                                                                          \
        struct block *held[BURST_MAX];                                         \
                                                                               \
        for (size_t done = 0; done < PAIRS; done += length) {                  \
            for (size_t i = 0; i < length; i++) {                              \
                if ((held[i] = (alloc)) == NULL)                               \
                    fail("out of blocks");                                     \
                held[i]->words[0] = i;                                         \
            }                                                                  \
            for (size_t i = 0; i < length; i++)                                \
                give(held[i]);                                                 \
        }                                                                      \
    }                                                                          \
    static void *beside_##kind(void *length)                                   \
    {                                                                          \
        burst_##kind(*(size_t *)length);                                       \
        return NULL;                                                           \
    }                                                                          \
    static void *consume_##kind(void *unused)                                  \
    {                                                                          \
        for (size_t i = 0; i < PAIRS; i++)                                     \
            give(receive());                                                   \
        return unused;                                                         \
    }                                                                          \
    static void produce_##kind(void)                                           \
    {                                                                          \
        for (size_t i = 0; i < PAIRS; i++) {                                   \
            struct block *block = (alloc);                                     \
                                                                               \
            if (block == NULL)                                                 \
                fail("out of blocks");                                         \
            block->words[0] = i;                                               \
            pass_on(block);                                                    \
        }                                                                      \
    }

#define FREE_BY_HANDLE(block) cpool_free(pool, (block))
WORK(typed, blocks_alloc(), blocks_free)
WORK(handle, cpool_alloc(pool), FREE_BY_HANDLE)
WORK(malloc, malloc(sizeof(struct block)), free)

struct kind {
    void (*burst)(size_t length);
    void *(*beside)(void *length);
    void *(*consume)(void *unused);
    void (*produce)(void);
};

static const struct kind kinds[] = {
    { burst_typed, beside_typed, consume_typed, produce_typed },
    { burst_handle, beside_handle, consume_handle, produce_handle },
    { burst_malloc, beside_malloc, consume_malloc, produce_malloc },
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

struct line {
    const char *name;
    size_t burst;
    bool two;
    bool flow;
};

static const struct line lines[] = {
    { "same slot", 1, false, false },      { "burst of 16", 16, false, false },
    { "burst of 256", 256, false, false }, { "two threads", 64, true, false },
    { "producer to consumer", 0, false, true },
};

static void run(const struct kind *kind, const struct line *line)
{
    size_t burst = line->burst;
    pthread_t other;

    if (!line->two && !line->flow) {
        kind->burst(burst);
        return;
    }
    if (pthread_create(&other, NULL, line->flow ? kind->consume : kind->beside, &burst) != 0)
        fail("no thread");
    if (line->flow)
        kind->produce();
    else
        kind->burst(burst);
    pthread_join(other, NULL);
}

static double nanoseconds(const struct kind *kind, const struct line *line)
{
    LARGE_INTEGER unit;
    LARGE_INTEGER begin;
    LARGE_INTEGER end;

    QueryPerformanceFrequency(&unit);
    QueryPerformanceCounter(&begin);
    run(kind, line);
    QueryPerformanceCounter(&end);
    return (double)(end.QuadPart - begin.QuadPart) * 1e9 / (double)unit.QuadPart / (double)PAIRS;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left > right) - (left < right);
}

static void measure(const struct line *line, size_t rounds)
{
    double times[KINDS][ROUNDS_MAX];

    for (size_t round = 0; round <= rounds; round++) /* the first one warms up */
        for (size_t kind = 0; kind < KINDS; kind++)
            times[kind][round > 0 ? round - 1 : 0] = nanoseconds(&kinds[kind], line);
    for (size_t kind = 0; kind < KINDS; kind++)
        qsort(times[kind], rounds, sizeof(times[kind][0]), compare);
    printf("%-22s %8.1f %8.1f %8.1f %8.2f %8.2f\n", line->name, times[0][rounds / 2],
           times[1][rounds / 2], times[2][rounds / 2],
           times[2][rounds / 2] / times[0][rounds / 2],
           times[2][rounds / 2] / times[1][rounds / 2]);
}

int main(int argc, char **argv)
{
    size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 15;
    cpool_config_t config = CPOOL_CONFIG_INIT;

    config.slot_size = sizeof(struct block);
    config.capacity = CAPACITY;
    if (rounds == 0 || rounds >= ROUNDS_MAX || cpool_create(&pool, &config) != 0)
        fail("wrong rounds, or no pool");
    printf("%-22s %8s %8s %8s %8s %8s\n", "ns a pair", "typed", "handle", "malloc", "/ typed",
           "/ handle");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        measure(&lines[i], rounds);
    return cpool_destroy(pool) == 0 && blocks_close() == 0 ? 0 : 1;
}
