/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_ck_stack.c - Concurrency Kit's lock-free stack with a slot per entry:
 * ck_stack_push_mpmc and ck_stack_pop_mpmc (many producers, many consumers).
 *
 * Not the _upmc pair, although it is shorter: it has no generation, so an entry must not be pushed
 * again while any thread may still be popping it, and a pool does exactly that.  When we tried it,
 * two threads that allocated and freed 16 slots each corrupted the stack and crashed within 3
 * milliseconds in 3 runs of 20 (ABA).
 *
 * The _mpmc pair compares and swaps 128 bits, including a generation.  It still reads the link of
 * the top entry, which is in the slot, while another thread may already own that slot and write to
 * it.  The value is not used then, but by C11 it is a data race, and the slots must not be unmapped
 * while any thread may be popping.  So no pool made this way can give memory back.  Left out under
 * sanitizers, which do not see Concurrency Kit's inline assembly.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "bench.h"

#if defined(HAVE_CK) && HAVE_CK
#include <ck_stack.h>
#endif

#ifdef CK_F_STACK_POP_MPMC

#include <stdlib.h>

struct ck_pool {
    ck_stack_t stack;
    char padding[BENCH_LINE];
    char *slots;
};

static const char *rival_absent(void)
{
#ifdef BENCH_SANITIZER
    return "left out under " BENCH_SANITIZER;
#else
    return NULL;
#endif
}

static void *rival_create(const struct bench_cell *cell)
{
    struct ck_pool *pool = aligned_alloc(BENCH_LINE, 2 * BENCH_LINE);
    size_t i;

    if (pool == NULL || (pool->slots = malloc(cell->capacity * cell->slot_size)) == NULL) {
        free(pool);
        return NULL;
    }
    ck_stack_init(&pool->stack);
    for (i = cell->capacity; i-- > 0;) {
        void *slot = pool->slots + i * cell->slot_size;

        ck_stack_push_mpmc(&pool->stack, slot);
    }
    return pool;
}

static void rival_destroy(void *handle)
{
    struct ck_pool *pool = handle;

    free(pool->slots);
    free(pool);
}

static inline void *rival_alloc(void *handle)
{
    struct ck_pool *pool = handle;

    return ck_stack_pop_mpmc(&pool->stack);
}

static inline void *rival_calloc(void *handle, size_t size)
{
    return bench_clear(rival_alloc(handle), size);
}

static inline void rival_free(void *handle, void *slot)
{
    struct ck_pool *pool = handle;

    ck_stack_push_mpmc(&pool->stack, slot);
}

#include "workloads.h"

const struct bench_rival bench_rival_ck_stack = {
    "ck_stack", "Concurrency Kit's stack, mpmc, a slot per entry",
    BENCH_POOL | BENCH_EAGER, sizeof(ck_stack_entry_t), SIZE_MAX,
    rival_absent, NULL, rival_create, rival_destroy, NULL, NULL, rival_workloads, NULL
};

#else

BENCH_ABSENT(ck_stack, "ck_stack", "Concurrency Kit's stack, mpmc, a slot per entry",
             "configure did not use Concurrency Kit")

#endif
