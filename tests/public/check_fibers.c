/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_fibers.c - fibers that go on in another thread in the middle of a function.
 *
 * Compiled with CPOOL_NO_INLINE, which is what such code needs: no address of thread-local
 * storage is computed in it.  Each thread's cache must stay its own.  Includes growth.h.
 */
#include "growth.h"

#include <stdlib.h>
#include <ucontext.h>

/* musl has the header, and not the functions. */
#if defined(__linux__) && !defined(__GLIBC__)

int main(void)
{
    return support_skip_all("fibers", "this C library has no contexts");
}

#else

enum { STACK = 256 * 1024, SLOT_SIZE = 64, CAPACITY = 1000, STEPS = 2000 };

struct fiber {
    ucontext_t self;
    ucontext_t thread; /* which runs it now */
    cpool_t *pool;
    cpool_cache_t *cache; /* of its own, or NULL: the thread's */
    void *expected[2];    /* next slots of the two threads' caches */
    size_t steps;
    bool over;
};

static struct fiber *starting;

static void *fiber_alloc(struct fiber *fiber)
{
    return fiber->cache != NULL ? cpool_cache_alloc(fiber->cache) : cpool_alloc(fiber->pool);
}

static void fiber_free(struct fiber *fiber, void *slot)
{
    if (fiber->cache != NULL)
        cpool_cache_free(fiber->cache, slot);
    else
        cpool_free(fiber->pool, slot);
}

/* Takes a slot, goes on in the other thread, takes the slot that this thread's cache has
 * on top, and frees both there. */
static void run(void)
{
    struct fiber *fiber = starting;
    size_t i;

    for (i = 0; i < STEPS; i++) {
        void *first = fiber_alloc(fiber);
        void *second;

        REQUIRE(first != NULL);
        REQUIRE(fiber->cache != NULL || first == fiber->expected[fiber->steps % 2]);
        swapcontext(&fiber->self, &fiber->thread);
        second = fiber_alloc(fiber);
        REQUIRE(second != NULL && second != first);
        REQUIRE(fiber->cache != NULL || second == fiber->expected[fiber->steps % 2]);
        fiber_free(fiber, first);
        fiber_free(fiber, second);
    }
    fiber->over = true;
    swapcontext(&fiber->self, &fiber->thread);
}

/* In either thread: leaves a slot on top of its cache, and runs the fiber to its next
 * switch. */
static void resume(void *argument)
{
    struct fiber *fiber = argument;
    void *slot = cpool_alloc(fiber->pool);

    REQUIRE(slot != NULL);
    cpool_free(fiber->pool, slot);
    fiber->expected[fiber->steps % 2] = slot;
    swapcontext(&fiber->thread, &fiber->self);
    fiber->steps++;
}

static void try_fiber(struct fiber *fiber)
{
    struct worker *other = worker_start();
    char *stack = support_calloc(1, STACK);

    REQUIRE_EQUAL(getcontext(&fiber->self), 0);
    fiber->self.uc_stack.ss_sp = stack;
    fiber->self.uc_stack.ss_size = STACK;
    fiber->self.uc_link = NULL;
    makecontext(&fiber->self, run, 0);
    starting = fiber;
    while (!fiber->over) {
        if (fiber->steps % 2 == 0)
            resume(fiber);
        else
            worker_do(other, resume, fiber);
    }
    worker_stop(other);
    free(stack);
}

TEST_TIMES(fiber_uses_the_cache_of_the_thread_that_runs_it, 3)
{
    static const unsigned flags[] = { 0, CPOOL_EXACT, CPOOL_CHECKED };
    cpool_config_t config = support_config(SLOT_SIZE, CAPACITY);
    struct fiber fiber = { .cache = NULL };

    SKIP_IF(SUPPORT_SANITIZED, "sanitizers do not know of switched stacks");
    config.flags = flags[_i];
    fiber.pool = support_create(&config);
    try_fiber(&fiber);
    support_destroy_empty(fiber.pool);
}

/* In any thread, and with the inline path or without. */
TEST(fiber_takes_its_own_cache_along)
{
    cpool_config_t config = support_config(SLOT_SIZE, CAPACITY);
    struct fiber fiber = { .cache = NULL };

    SKIP_IF(SUPPORT_SANITIZED, "sanitizers do not know of switched stacks");
    fiber.pool = support_create(&config);
    REQUIRE_EQUAL(cpool_cache_create(&fiber.cache, fiber.pool), 0);
    try_fiber(&fiber);
    cpool_cache_destroy(fiber.cache);
    support_destroy_empty(fiber.pool);
}

#endif
