/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rest_await.c - an owner gives the last live slot back.  Another thread obtains it, so that it has
 * all of them, and destroys the pool: it waits until the owner is at rest.
 *
 * Holds: the owner touches nothing of the pool after that.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 1
#define MODEL_SLOTS 1
#include "waiters.h"

static void owner(void)
{
    model_be_lucky();
#ifdef MODEL_UNCACHED
    assert(cpi_pool_give(&model_pool, NULL, &model_slots[0]));
#elif defined(MODEL_NEAR)
    assert(cpi_cache_give(model_own_cache(), &model_slots[0]));
#else
    assert(cpi_pool_give(&model_pool, model_own_cache(), &model_slots[0]));
#endif
}

static void destroyer(void)
{
    model_be_lucky();
    __VERIFIER_assume(model_find() != NULL);
    cpi_await_rest(&model_registry);
    memset(&model_waiters.queue, 0, sizeof model_waiters.queue);
    memset(model_cache(1), 0, sizeof model_caches[0]);
}

int main(void)
{
    model_open_pool(1, 0);
    model_open_waiters();
    MODEL_RUN(owner, destroyer);
    return 0;
}
