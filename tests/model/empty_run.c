/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * empty_run.c - an owner with a full magazine loaded frees a second slot, for which it puts the
 * magazine among its spares, and takes a run of one.  Meanwhile a thread without a cache looks for
 * a slot.  The pool has the inline path, and slack for one slot that is out of reach.
 *
 * Holds: the thread finds one, as the first slot is free all the time.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 1
#define MODEL_SLOTS 3
#define MODEL_SLACK 1
#define MODEL_MAGAZINES 7
#include "pool.h"

#define cpi_registry_own_cache(registry) cpi_registry_known_cache(registry)

#include "pool/pool_bulk.c"

MODEL_ABSENT(void, cpi_pool_report_handle, const char *function, const cpool_t *handle)
MODEL_ABSENT(void, cpi_tools_wrote, const void *address, size_t size)

static struct cpi_handles model_handles;
_Atomic(struct cpi_handles *) cpi_handles_at = &model_handles;

static void *owner(void *number)
{
    void *slot;

    model_begin(number);
    assert(cpi_pool_give(&model_pool, model_own_cache(), &model_slots[1]));
    (void)take_run(cpi_cache_active(model_cache(1)), &slot, 1);
    return NULL;
}

int main(void)
{
    static model_thread *const bodies[] = {owner, model_looker};
    int i;

    model_open_pool(false, 0);
    for (i = 0; i < 2; i++)
        assert(cpi_cache_free(model_cache(1), &model_slots[i]));
    for (i = 0; i < 2; i++)
        assert(cpi_cache_alloc(model_cache(1)) != NULL);
    assert(cpi_cache_free(model_cache(1), &model_slots[0]));
    model_run(2, bodies);
    return 0;
}
