/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * instructions.c - runs the hot path for callgrind to count.
 *
 * Includes instructions.h, and bench.h for BENCH_SANITIZER.  Run by instructions.sh under
 * callgrind, which counts only inside functions named *_measured, and writes its counts before each
 * call of instructions_mark.  Every part does N operations and then 2N.  The difference, divided by
 * N, is the cost of one operation, without one-time costs.  Parts that are loops run loops of twice
 * the length the second time, not twice as many, so that the code around a loop cancels out, too.
 *
 * Prints what it does, a line for each stretch between marks, in order:
 *
 *     key ARCHITECTURE COMPILER
 *     flags CFLAGS
 *     part PATH OPERATIONS
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "instructions.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

/* The length of a loop, or half of it. */
#define LENGTH 16u

/* Rounds in a magazine: enough that no loop empties or fills one. */
#define ROUNDS 128u

#if defined(__x86_64__)
#define ARCHITECTURE "x86_64"
#elif defined(__aarch64__)
#define ARCHITECTURE "aarch64"
#else
#define ARCHITECTURE "other"
#endif

#ifndef BENCH_CFLAGS
#define BENCH_CFLAGS ""
#endif

#define STRING(x) STRING_(x)
#define STRING_(x) #x

#ifdef BENCH_SANITIZER
#define COMPILER "instrumented"
#elif defined(__clang__)
#define COMPILER "clang-" STRING(__clang_major__)
#elif defined(__GNUC__)
#define COMPILER "gcc-" STRING(__GNUC__)
#else
#define COMPILER "other"
#endif

void instructions_mark(void);

COUNTED void instructions_mark(void)
{
    __asm__ __volatile__("" : : : "memory");
}

/* ---- What is counted ------------------------------------------------------------ */

COUNTED void *inline_alloc_measured(cpool_t *pool)
{
    return cpool_alloc(pool);
}

COUNTED void inline_free_measured(cpool_t *pool, void *slot)
{
    cpool_free(pool, slot);
}

COUNTED void *cache_alloc_measured(cpool_cache_t *cache)
{
    return cpool_cache_alloc(cache);
}

COUNTED void cache_free_measured(cpool_cache_t *cache, void *slot)
{
    cpool_cache_free(cache, slot);
}

/* Two typed pools: a stride that is a power of two, and one that is not. */
struct even {
    char bytes[64];
};

struct uneven {
    char bytes[48];
};

CPOOL_DECLARE(even, struct even);
CPOOL_DEFINE(even, struct even, .capacity = 16 * (size_t)ROUNDS, .magazine_rounds = ROUNDS);
CPOOL_DECLARE(uneven, struct uneven);
CPOOL_DEFINE(uneven, struct uneven, .capacity = 16 * (size_t)ROUNDS, .magazine_rounds = ROUNDS);

COUNTED void *typed_alloc_measured(void)
{
    return even_alloc();
}

COUNTED void typed_free_measured(void *slot)
{
    even_free((struct even *)slot);
}

COUNTED void *uneven_alloc_measured(void)
{
    return uneven_alloc();
}

COUNTED void uneven_free_measured(void *slot)
{
    uneven_free((struct uneven *)slot);
}

/* The loops differ in two expressions: one frees a slot and one allocates one. */
#define LOOPS(name, type, give, take)                                                  \
    COUNTED void name##_loop_alloc_measured(type *owner, void **slots, size_t n)     \
    {                                                                                  \
        size_t i;                                                                      \
                                                                                       \
        (void)owner;                                                                   \
        for (i = 0; i < n; i++) {                                                      \
            void *slot = give;                                                         \
                                                                                       \
            INSTRUCTIONS_HIDE(slot);                                                   \
            slots[i] = slot;                                                           \
        }                                                                              \
    }                                                                                  \
                                                                                       \
    COUNTED void name##_loop_free_measured(type *owner, void **slots, size_t n)      \
    {                                                                                  \
        size_t i;                                                                      \
                                                                                       \
        (void)owner;                                                                   \
        for (i = 0; i < n; i++) {                                                      \
            void *slot = slots[i];                                                     \
                                                                                       \
            INSTRUCTIONS_HIDE(slot);                                                   \
            take;                                                                      \
        }                                                                              \
    }                                                                                  \
                                                                                       \
    COUNTED void name##_loop_pair_measured(type *owner, void **slots, size_t n)      \
    {                                                                                  \
        size_t i;                                                                      \
                                                                                       \
        (void)owner, (void)slots;                                                      \
        for (i = 0; i < n; i++) {                                                      \
            void *slot = give;                                                         \
                                                                                       \
            INSTRUCTIONS_HIDE(slot);                                                   \
            take;                                                                      \
        }                                                                              \
    }

/* A pointer from nowhere, at no cost. */
static inline void *nothing(void)
{
    void *slot;

    __asm__ __volatile__("" : "=r"(slot));
    return slot;
}

LOOPS(inline, cpool_t, cpool_alloc(owner), cpool_free(owner, slot))
LOOPS(cache, cpool_cache_t, cpool_cache_alloc(owner), cpool_cache_free(owner, slot))
LOOPS(typed, cpool_t, even_alloc(), even_free((struct even *)slot))
LOOPS(empty, cpool_t, nothing(), (void)slot)

/* ---- The parts: what is not counted is done here -------------------------------- */

struct work {
    cpool_t *pool;
    cpool_cache_t *cache;
    void *slots[2 * LENGTH];
    cpool_t *tracked_pool;
};

static void take_slots(struct work *work, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++)
        work->slots[i] = cpool_alloc(work->pool);
}

static void give_slots(struct work *work, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++)
        cpool_free(work->pool, work->slots[i]);
}

static void take_cached_slots(struct work *work, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++)
        work->slots[i] = cpool_cache_alloc(work->cache);
}

static void give_cached_slots(struct work *work, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++)
        cpool_cache_free(work->cache, work->slots[i]);
}

static void take_typed_slots(struct work *work, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++)
        work->slots[i] = even_alloc();
}

static void give_typed_slots(struct work *work, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++)
        even_free((struct even *)work->slots[i]);
}

/* A part of single calls.  Only `call` is counted. */
#define SINGLE(name, call)                                                             \
    static void name(struct work *work, size_t n)                                      \
    {                                                                                  \
        size_t i;                                                                      \
                                                                                       \
        (void)work;                                                                    \
        for (i = 0; i < n; i++)                                                        \
            call;                                                                      \
    }

SINGLE(inline_alloc, cpool_free(work->pool, inline_alloc_measured(work->pool)))
SINGLE(inline_free, inline_free_measured(work->pool, cpool_alloc(work->pool)))
SINGLE(cache_alloc, cpool_cache_free(work->cache, cache_alloc_measured(work->cache)))
SINGLE(cache_free, cache_free_measured(work->cache, cpool_cache_alloc(work->cache)))
SINGLE(outline_alloc, cpool_free(work->pool, outline_alloc_measured(work->pool)))
SINGLE(outline_free, outline_free_measured(work->pool, cpool_alloc(work->pool)))
SINGLE(typed_alloc, even_free((struct even *)typed_alloc_measured()))
SINGLE(typed_free, typed_free_measured(even_alloc()))
SINGLE(uneven_alloc_part, uneven_free((struct uneven *)uneven_alloc_measured()))
SINGLE(uneven_free_part, uneven_free_measured(uneven_alloc()))

/* Out of line, without crossing the end of a magazine. */
SINGLE(tracked_alloc, cpool_free(work->tracked_pool, inline_alloc_measured(work->tracked_pool)))
SINGLE(tracked_free, inline_free_measured(work->tracked_pool, cpool_alloc(work->tracked_pool)))

/* A part that is one loop.  `before` allocates its slots, and `after` frees them. */
#define LOOP(name, owner, before, after)                                               \
    static void name(struct work *work, size_t n)                                      \
    {                                                                                  \
        before;                                                                        \
        name##_measured(work->owner, work->slots, n);                                  \
        after;                                                                         \
    }

#define NO_SLOTS ((void)0)

LOOP(inline_loop_alloc, pool, NO_SLOTS, give_slots(work, n))
LOOP(inline_loop_free, pool, take_slots(work, n), NO_SLOTS)
LOOP(inline_loop_pair, pool, NO_SLOTS, NO_SLOTS)
LOOP(cache_loop_alloc, cache, NO_SLOTS, give_cached_slots(work, n))
LOOP(cache_loop_free, cache, take_cached_slots(work, n), NO_SLOTS)
LOOP(cache_loop_pair, cache, NO_SLOTS, NO_SLOTS)
LOOP(typed_loop_alloc, pool, NO_SLOTS, give_typed_slots(work, n))
LOOP(typed_loop_free, pool, take_typed_slots(work, n), NO_SLOTS)
LOOP(typed_loop_pair, pool, NO_SLOTS, NO_SLOTS)
LOOP(empty_loop_alloc, pool, NO_SLOTS, NO_SLOTS)
LOOP(empty_loop_free, pool, NO_SLOTS, NO_SLOTS)
LOOP(empty_loop_pair, pool, NO_SLOTS, NO_SLOTS)

static const struct {
    const char *name;
    void (*run)(struct work *work, size_t n);
} parts[] = {
    { "inline-alloc", inline_alloc },           { "inline-free", inline_free },
    { "cache-alloc", cache_alloc },             { "cache-free", cache_free },
    { "typed-alloc", typed_alloc },             { "typed-free", typed_free },
    { "uneven-alloc", uneven_alloc_part },      { "uneven-free", uneven_free_part },
    { "outline-alloc", outline_alloc },         { "outline-free", outline_free },
    { "inline-loop-alloc", inline_loop_alloc }, { "inline-loop-free", inline_loop_free },
    { "inline-loop-pair", inline_loop_pair },   { "cache-loop-alloc", cache_loop_alloc },
    { "cache-loop-free", cache_loop_free },     { "cache-loop-pair", cache_loop_pair },
    { "typed-loop-alloc", typed_loop_alloc },   { "typed-loop-free", typed_loop_free },
    { "typed-loop-pair", typed_loop_pair },     { "empty-loop-alloc", empty_loop_alloc },
    { "empty-loop-free", empty_loop_free },
    { "empty-loop-pair", empty_loop_pair },     { "tracked-alloc", tracked_alloc },
    { "tracked-free", tracked_free },
};

#define PARTS (sizeof parts / sizeof parts[0])

static void run_part(size_t part, struct work *work, unsigned long rounds, size_t length)
{
    unsigned long i;

    printf("part %s %lu\n", parts[part].name, rounds * (unsigned long)length);
    instructions_mark();
    for (i = 0; i < rounds; i++)
        parts[part].run(work, length);
}

static void run_mode(const struct instructions_mode *mode, unsigned long rounds, size_t length)
{
    unsigned long i;

    printf("part %s %lu\n", mode->name, rounds * (unsigned long)length);
    instructions_mark();
    for (i = 0; i < rounds; i++)
        mode->run(length);
}

static void run_modes(const struct instructions_mode *mode, unsigned long count)
{
    for (; mode->name != NULL; mode++) {
        run_mode(mode, count / LENGTH, LENGTH);
        run_mode(mode, count / LENGTH, 2 * LENGTH);
    }
}

/* Ends the program if it fails. */
static cpool_t *create(const cpool_config_t *config)
{
    cpool_t *pool;
    int code = cpool_create(&pool, config);

    if (code != CPOOL_OK) {
        fprintf(stderr, "instructions: %s\n", cpool_strerror(code));
        exit(EXIT_FAILURE);
    }
    return pool;
}

static void create_pools(struct work *work)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;

    config.name = "instructions";
    config.slot_size = 64;
    config.capacity = 16 * (size_t)ROUNDS;
    config.magazine_rounds = ROUNDS;
    work->pool = create(&config);
    if (cpool_cache_create(&work->cache, work->pool) != CPOOL_OK) {
        fprintf(stderr, "instructions: no cache\n");
        exit(EXIT_FAILURE);
    }
    config.flags = CPOOL_TRACKED;
    work->tracked_pool = create(&config);
}

/* Binds symbols, and fills caches. */
static void warm(struct work *work)
{
    const struct instructions_mode *mode;
    size_t part;

    for (part = 0; part < PARTS; part++)
        parts[part].run(work, 2 * LENGTH);
    for (mode = instructions_modes; mode->name != NULL; mode++)
        mode->run(2 * LENGTH);
}

static int run_all(unsigned long count)
{
    static struct work work;
    size_t part;

    create_pools(&work);
    instructions_modes_create();
    warm(&work);
    for (part = 0; part < PARTS; part++) {
        run_part(part, &work, count / LENGTH, LENGTH);
        run_part(part, &work, count / LENGTH, 2 * LENGTH);
    }
    run_modes(instructions_modes, count);
    run_modes(instructions_retire, count);
    instructions_mark();
    instructions_modes_destroy();
    return cpool_destroy(work.pool) == 0 && cpool_destroy(work.tracked_pool) == 0 ? EXIT_SUCCESS
                                                                                  : EXIT_FAILURE;
}

int main(int count, char **arguments)
{
    printf("key %s %s\nflags %s\n", ARCHITECTURE, COMPILER, BENCH_CFLAGS);
    if (count != 2)
        return EXIT_SUCCESS;
    return run_all(strtoul(arguments[1], NULL, 10));
}
