/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * calls.c - right calls: allocs and frees of every form, growing, trimming, figures.
 */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

#include <cpool/debug.h>
#include <cpool/print.h>

/* An alloc that may be zeroed.  Every form of it takes the same slots. */
static void *alloc_by(struct model *model, size_t form)
{
    static const struct timespec at_once = { 0, 0 };
    cpool_cache_t *cache;

    switch (form) {
    case 0: return cpool_alloc_uncached(model->pool);
    case 2: return cpool_alloc_wait(model->pool, &at_once);
    case 3: return cpool_alloc_or_notify(model->pool);
    case 6:
    case 7:
        cache = model->caches[form - 6];
        return cache != NULL ? cpool_cache_alloc(cache) : cpool_alloc(model->pool);
    default:
        return model->type != 0 ? type_alloc(model, false) : cpool_alloc(model->pool);
    }
}

static void alloc(struct model *model)
{
    size_t obtainable = model_obtainable(model);
    size_t form = input_below(12);
    void *slot;

    if (form == 11) {
        slot = model->type != 0 ? type_alloc(model, true) : cpool_calloc(model->pool);
        if (slot != NULL)
            model_take_zeroed(model, slot);
    } else {
        slot = alloc_by(model, form);
        if (slot != NULL)
            model_take(model, slot, HELD);
    }
    FUZZ_REQUIRE(slot != NULL || obtainable == 0);
}

static void free_by(struct model *model, void *slot, size_t form)
{
    cpool_cache_t *cache = NULL;

    if (form == 3 || form == 4)
        cache = model->caches[form - 3];
    if (cache != NULL)
        cpool_cache_free(cache, slot);
    else if (form == 0)
        cpool_free_uncached(model->pool, slot);
    else if (model->type != 0)
        type_free(model, slot);
    else
        cpool_free(model->pool, slot);
}

static void free_one(struct model *model)
{
    size_t index;

    if (model->n_held == 0)
        return;
    index = model_some(model);
    fuzz_trace("free", index);
    model_give(model, index);
    free_by(model, cpool_at(model->pool, index), input_below(8));
    model_is_free(model, index);
}

static void alloc_many(struct model *model)
{
    size_t n = input_number(input_below(4) == 0 ? 400 : 60);
    size_t obtainable = model_obtainable(model);
    void **slots = malloc((n + 1) * sizeof *slots);
    size_t got;

    FUZZ_REQUIRE(slots != NULL);
    got = model->type != 0 ? type_alloc_bulk(model, slots, n)
                           : cpool_alloc_bulk(model->pool, slots, n, 0);
    FUZZ_REQUIRE(got <= n && (got == n || got >= obtainable));
    fuzz_trace("bulk", got);
    for (size_t i = 0; i < got; i++)
        model_take(model, slots[i], HELD);
    free(slots);
}

static void free_many(struct model *model)
{
    size_t n = input_number(input_below(4) == 0 ? 400 : 60);
    void **slots = malloc((n + 1) * sizeof *slots);

    FUZZ_REQUIRE(slots != NULL);
    if (n > model->n_held)
        n = model->n_held;
    for (size_t i = 0; i < n; i++) {
        size_t index = model->held[input_byte() % model->n_held];

        slots[i] = cpool_at(model->pool, index);
        model_give(model, index);
    }
    slots[n] = NULL;
    fuzz_trace("free bulk", n);
    if (model->type != 0)
        type_free_bulk(model, slots, n + 1);
    else
        cpool_free_bulk(model->pool, slots, n + 1);
    for (size_t i = 0; i < n; i++)
        model_is_free(model, cpool_index(model->pool, slots[i]));
    free(slots);
}

static void grow(struct model *model)
{
    size_t n = input_below(4) == 0 ? SIZE_MAX : input_number(300);
    size_t before = model_stats(model).capacity;
    size_t added = cpool_grow(model->pool, n);

    fuzz_trace("grow", added);
    FUZZ_EQUAL(added, n < model->max - before ? n : model->max - before);
    FUZZ_EQUAL(model_stats(model).capacity, before + added);
}

static void shrink(struct model *model)
{
    size_t n = input_below(4) == 0 ? SIZE_MAX : input_number(300);
    size_t before = model_stats(model).capacity;
    size_t fresh = model_stats(model).fresh;
    size_t removed = cpool_shrink(model->pool, n);

    fuzz_trace("shrink", removed);
    FUZZ_REQUIRE(removed <= n && removed < before);
    FUZZ_REQUIRE(removed >= (n < fresh ? n : fresh) || removed == before - 1);
    FUZZ_EQUAL(model_stats(model).capacity, before - removed);
    FUZZ_EQUAL(cpool_index_limit(model->pool), model->limit);
    model->purged = model->purged || (removed > 0 && !model->checked);
    model->shrunk = model->shrunk || removed > 0;
}

static void trim(struct model *model)
{
    size_t bytes = cpool_trim(model->pool);

    fuzz_trace("trim", bytes);
    FUZZ_EQUAL(bytes % 4096, 0);
    if ((model->config.flags & CPOOL_KEEP_PAGES) != 0 || model->checked ||
        model->config.memory != NULL)
        FUZZ_EQUAL(bytes, 0);
    else
        model->purged = true;
}

static void reserve(struct model *model)
{
    struct figures stats = model_stats(model);
    size_t n = input_number(700);
    int code = cpool_reserve(model->pool, n);

    fuzz_trace("reserve", n);
    FUZZ_REQUIRE(code == 0 || code == CPOOL_EDRY);
    FUZZ_REQUIRE(code == 0 || n > stats.in_depot + stats.fresh);
    FUZZ_REQUIRE(code != 0 || n <= model->max - stats.live);
}

static void reset(struct model *model)
{
    fuzz_trace("reset, live", model->live);
    FUZZ_EQUAL(cpool_reset(model->pool), model->live);
    model_clear(model);
    model_verify(model);
}

static void print(const struct model *model)
{
    static FILE *nowhere;
    size_t listed;

    if (nowhere == NULL)
        nowhere = fopen("/dev/null", "w");
    FUZZ_REQUIRE(nowhere != NULL);
    cpool_print(model->pool, CPOOL_DUMP_TEXT, nowhere);
    cpool_print(model->pool, CPOOL_DUMP_JSON, nowhere);
    listed = cpool_print(model->pool, CPOOL_DUMP_LIVE, nowhere);
    FUZZ_EQUAL(listed, model->checked ? model->live : 0);
}

static void audit(struct model *model)
{
    model_verify(model);
    FUZZ_EQUAL(cpool_verify(model->pool, NULL), 0);
    if (model->n_held > 0)
        FUZZ_EQUAL(cpool_verify(model->pool, cpool_at(model->pool, model_some(model))), 0);
}

static void wake(struct model *model)
{
    static const struct timespec for_ever = { 1000000, 0 };
    void *slot;

    FUZZ_EQUAL(cpool_wait_close(model->pool), 0);
    slot = cpool_alloc_wait(model->pool, &for_ever);
    FUZZ_REQUIRE(slot != NULL || model_obtainable(model) == 0);
    if (slot != NULL)
        model_take(model, slot, HELD);
    cpool_wait_open(model->pool);
}

void call_any(struct model *model)
{
    size_t what = input_below(32);

    fuzz_trace("call", what);
    switch (what) {
    case 0: grow(model); break;
    case 1: shrink(model); break;
    case 2: trim(model); break;
    case 3: reserve(model); break;
    case 4: cpool_flush(model->pool); break;
    case 5: print(model); break;
    case 6: audit(model); break;
    case 7: wake(model); break;
    case 8:
    case 9:
        if (input_below(8) == 0)
            reset(model);
        break;
    case 10:
    case 11:
    case 12:
    case 13: alloc_many(model); break;
    case 14:
    case 15:
    case 16: free_many(model); break;
    case 17:
    case 18:
    case 19:
    case 20:
    case 21:
    case 22:
    case 23: free_one(model); break;
    default: alloc(model); break;
    }
    REPORTS_EQUAL(0, 0);
}
