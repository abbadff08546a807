/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mark_user.c - a handle goes from one thread to another, which makes each of the marks with
 * it.  Meanwhile the first thread looks whether an operation of its own has the cache.
 *
 * Holds: the thread that has given the handle away never takes a mark for its own.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 1
#define MODEL_SLOTS 1
#define MODEL_MAGAZINES 6
#include "pool.h"

static _Atomic int passed;

static void *first(void *number)
{
    struct cpi_cache *cache = model_cache(1);

    model_begin(number);
    cpi_mark_use(cache);
    assert(cpi_mark_is_ours(cache));
    cpi_store(&passed, 1, release);
    assert(!cpi_mark_is_seen(cache) || !cpi_mark_is_ours(cache));
    model_barrier_end();
    return NULL;
}

/* As a typed pool's functions do it, which find nothing and no room here. */
static void pop_inline(cpool_cache_t *entry)
{
    void *slot;

    CPOOL_POP_MARKED_(entry, slot, return);
    (void)slot;
}

static void push_inline(cpool_cache_t *entry)
{
    CPOOL_PUSH_MARKED_(entry, NULL, true, return);
}

static void *second(void *number)
{
    struct cpi_cache *cache = model_cache(1);

    model_begin(number);
    if (cpi_load(&passed, acquire) == 0)
        return NULL;
    cpi_mark_use(cache);
    cpi_mark_enter(cache);
    cpi_mark_leave(cache);
    assert(cpi_mark_try_enter(cache));
    cpi_mark_leave(cache);
    assert(cpi_mark_begin_pop(cache) == 0);
    cpi_mark_end_pop(cache);
    assert(cpi_mark_begin_push(cache, 0));
    cpi_mark_end_push(cache, 0);
    pop_inline(&cache->hidden);
    push_inline(&cache->hidden);
    return NULL;
}

int main(void)
{
    static model_thread *const bodies[] = {first, second};

    model_open_pool(true, 0);
    model_run(2, bodies);
    return 0;
}
