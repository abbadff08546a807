/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * extras.c - explicit caches and leases.
 */
#include "fuzz.h"

/*
 * ---- Caches --------------------------------------------------------------------
 */

static void use_cache(struct model *model)
{
    cpool_cache_t **cache = &model->caches[input_below(CACHES)];
    int code;

    if (*cache == NULL) {
        code = cpool_cache_create(cache, model->pool);
        FUZZ_REQUIRE(code == 0 || code == CPOOL_ENOMEM);
        FUZZ_EQUAL(*cache != NULL, code == 0);
        FUZZ_REQUIRE(code == 0 || model->config.thread_caches != 0 ||
                     model->config.memory != NULL);
    } else {
        cpool_cache_destroy(*cache);
        *cache = NULL;
    }
    cpool_cache_destroy(NULL);
}

/*
 * ---- Leases --------------------------------------------------------------------
 */

static void end_lease(struct model *model, size_t which)
{
    struct lease *lease = &model->leases[which];

    for (size_t i = 0; i < model->limit; i++)
        if (model->slots[i].state == IN_LEASE && model->slots[i].lease == which)
            model_give(model, i);
    FUZZ_EQUAL(cpool_lease_end(lease->handle), lease->count);
    for (size_t i = 0; i < model->limit; i++)
        if (model->slots[i].state == FREE)
            model_is_free(model, i);
    REPORTS_EQUAL(0, 0);
    FUZZ_EQUAL(cpool_lease_end(lease->handle), 0);
    REPORTS_EQUAL(1, CPOOL_ELEASE);
    *lease = (struct lease){ NULL, 0 };
}

static void lease_slot(struct model *model, size_t which)
{
    size_t obtainable = model_obtainable(model);
    void *slot = cpool_lease_alloc(model->leases[which].handle);

    FUZZ_REQUIRE(slot != NULL || obtainable == 0);
    if (slot == NULL)
        return;
    model_take(model, slot, IN_LEASE);
    model->slots[cpool_index(model->pool, slot)].lease = (uint8_t)which;
    model->leases[which].count++;
}

static void adopt(struct model *model, size_t which)
{
    size_t index;

    if (model->n_held == 0)
        return;
    index = model_some(model);
    FUZZ_EQUAL(cpool_lease_adopt(model->leases[which].handle, cpool_at(model->pool, index)), 0);
    model_move(model, index, IN_LEASE);
    model->slots[index].lease = (uint8_t)which;
    model->leases[which].count++;
}

static void use_lease(struct model *model)
{
    size_t which = input_below(LEASES);
    struct lease *lease = &model->leases[which];

    if (lease->handle == NULL) {
        lease->handle = cpool_lease_begin(model->pool);
        FUZZ_REQUIRE(lease->handle != NULL || model->config.thread_caches != 0 ||
                     model->config.memory != NULL);
        return;
    }
    switch (input_below(16)) {
    case 0: end_lease(model, which); break;
    case 1:
    case 2: adopt(model, which); break;
    default:
        for (size_t n = input_below(80); n > 0; n--)
            lease_slot(model, which);
        break;
    }
}

void extra_any(struct model *model)
{
    size_t what = input_below(8);

    fuzz_trace("extra", what);
    switch (what) {
    case 0:
    case 1: use_cache(model); break;
    default: use_lease(model); break;
    }
    REPORTS_EQUAL(0, 0);
}
