/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wrong.c - wrong calls: each is reported with its code, and nothing changes.
 */
#include "fuzz.h"

#include <cpool/debug.h>
#include <cpool/print.h>

static void free_foreign(struct model *model)
{
    struct model *other = &models[input_below(POOLS)];
    char here[16];
    void *address = here;

    if (other != model && other->pool != NULL && other->n_held > 0)
        address = cpool_at(other->pool, model_some(other));
    FUZZ_REQUIRE(!cpool_owns(model->pool, address));
    FUZZ_EQUAL(cpool_index(model->pool, address), SIZE_MAX);
    FUZZ_EQUAL(cpool_verify(model->pool, address), CPOOL_EFOREIGN);
    REPORTS_EQUAL(1, CPOOL_EFOREIGN);
    cpool_free(model->pool, address);
    REPORTS_EQUAL(1, CPOOL_EFOREIGN);
    cpool_free_bulk(model->pool, &address, 1);
    REPORTS_EQUAL(1, CPOOL_EFOREIGN);
}

static void free_inside(struct model *model)
{
    size_t stride = model_stats(model).slot_stride;
    char *slot;

    if (model->n_held == 0 || stride < 2)
        return;
    slot = cpool_at(model->pool, model_some(model));
    cpool_free(model->pool, slot + 1 + input_number(stride - 1));
    REPORTS_EQUAL(1, CPOOL_EMISALIGNED);
}

/* After a shrink, plain pools find a free of a removed slot later. */
static void free_unused(struct model *model)
{
    size_t unused = model_stats(model).circulating;
    void *slot;

    if (unused >= model->limit || (model->shrunk && !model->tracked))
        return;
    slot = cpool_at(model->pool, unused + input_number(model->limit - unused));
    cpool_free(model->pool, slot);
    REPORTS_EQUAL(1, CPOOL_EUNUSED);
    FUZZ_EQUAL(cpool_verify(model->pool, slot), CPOOL_EUNUSED);
    REPORTS_EQUAL(1, CPOOL_EUNUSED);
}

/* A slot that is free, or that lies in a magazine and was never taken. */
static void free_twice(struct model *model)
{
    size_t index = input_number(model->limit);
    int code = model->slots[index].state == FREE ? CPOOL_EDOUBLEFREE : CPOOL_EUNUSED;
    void *slot = cpool_at(model->pool, index);
    void *slots[2] = { slot, slot };

    if (!model->tracked || model->slots[index].state >= HELD)
        return;
    if (code == CPOOL_EUNUSED && index < model_stats(model).circulating)
        return; /* after a reset or a shrink either code may come */
    if (index >= model_stats(model).circulating)
        code = CPOOL_EUNUSED;
    cpool_free(model->pool, slot);
    REPORTS_EQUAL(1, code);
    cpool_free_bulk(model->pool, slots, 2);
    REPORTS_EQUAL(2, code);
}

static void free_framed(struct model *model)
{
    for (size_t i = 0; i < model->limit; i++) {
        if (model->slots[i].state != IN_FRAME || !model->checked)
            continue;
        cpool_free(model->pool, cpool_at(model->pool, i));
        REPORTS_EQUAL(1, CPOOL_EFRAMED);
        return;
    }
}

/* Bytes just beside a slot, which are in the gap of this slot alone. */
static void overrun(struct model *model)
{
    unsigned char *slot;
    size_t index;

    if (!model->checked || model->n_held == 0)
        return;
    index = model_some(model);
    slot = cpool_at(model->pool, index);
    slot[input_below(2) == 0 ? (ptrdiff_t)model->config.slot_size : -1] ^= 0x5A;
    if (input_below(2) == 0)
        FUZZ_EQUAL(cpool_verify(model->pool, slot), CPOOL_EGUARD);
    else
        cpool_free(model->pool, slot);
    FUZZ_REQUIRE(reports_with(CPOOL_EGUARD) >= 1);
    FUZZ_REQUIRE(cpool_resolve(model->pool, model->slots[index].handle) == slot);
    FUZZ_EQUAL(cpool_verify(model->pool, NULL), 0);
}

static void ask_another_kind(struct model *model)
{
    cpool_iter_t iter = CPOOL_ITER_INIT(model->pool, 0, SIZE_MAX);

    if (!model->tracked) {
        FUZZ_EQUAL(cpool_handle(model->pool, cpool_at(model->pool, 0)), CPOOL_HANDLE_NONE);
        FUZZ_REQUIRE(cpool_resolve(model->pool, input_number(60000)) == NULL);
        FUZZ_REQUIRE(cpool_iter_next(&iter) == NULL);
        REPORTS_EQUAL(3, CPOOL_EKIND);
    }
}

static void pass_null(struct model *model)
{
    size_t n = 1 + input_below(9);

    FUZZ_EQUAL(cpool_alloc_bulk(model->pool, NULL, n, 0), 0);
    cpool_free_bulk(model->pool, NULL, n);
    REPORTS_EQUAL(2, CPOOL_ENULL);
    FUZZ_EQUAL(cpool_read_stats(model->pool, NULL), CPOOL_ENULL);
    cpool_free(model->pool, NULL);
    cpool_free_uncached(model->pool, NULL);
    cpool_cache_destroy(NULL);
    FUZZ_REQUIRE(!cpool_owns(model->pool, NULL));
    FUZZ_REQUIRE(cpool_at(model->pool, model->limit + input_below(9)) == NULL);
}

/* Every function refuses what is no pool: a destroyed one, NULL, or anything else. */
static void use_no_pool(void)
{
    static const struct timespec at_once = { 0, 0 };
    cpool_t *none[3] = { destroyed, NULL, (cpool_t *)(void *)&models };
    cpool_t *pool = none[input_below(3)];
    void *slots[2] = { models, models };
    cpool_cache_t *cache;

    FUZZ_REQUIRE(cpool_alloc_uncached(pool) == NULL);
    FUZZ_REQUIRE(cpool_alloc_wait(pool, &at_once) == NULL);
    FUZZ_REQUIRE(cpool_alloc_or_notify(pool) == NULL);
    FUZZ_EQUAL(cpool_cache_create(&cache, pool), pool == NULL ? CPOOL_ENULL : CPOOL_EPOOL);
    cpool_free_uncached(pool, slots[1]);
    cpool_flush(pool);
    FUZZ_EQUAL(cpool_alloc_bulk(pool, slots, 2, 0), 0);
    cpool_free_bulk(pool, slots, 2);
    REPORTS_EQUAL(pool == NULL ? 7 : 8, CPOOL_EPOOL);
    FUZZ_EQUAL(cpool_grow(pool, 1), 0);
    FUZZ_EQUAL(cpool_shrink(pool, 1), 0);
    FUZZ_EQUAL(cpool_trim(pool), 0);
    FUZZ_EQUAL(cpool_reserve(pool, 1), CPOOL_EPOOL);
    FUZZ_EQUAL(cpool_reset(pool), 0);
    FUZZ_EQUAL(cpool_verify(pool, NULL), CPOOL_EPOOL);
    FUZZ_EQUAL(cpool_verify(pool, slots), CPOOL_EPOOL);
    REPORTS_EQUAL(7, CPOOL_EPOOL);
    if (pool == NULL)
        return;
    FUZZ_EQUAL(cpool_destroy(pool), CPOOL_EPOOL);
    REPORTS_EQUAL(1, CPOOL_EPOOL);
}

void wrong_any(struct model *model)
{
    size_t what = input_below(12);

    fuzz_trace("wrong", what);
    switch (what) {
    case 0: free_foreign(model); break;
    case 1: free_inside(model); break;
    case 2: free_unused(model); break;
    case 3: overrun(model); break;
    case 4: break; /* for nothing, in the programs of the corpus */
    case 5: ask_another_kind(model); break;
    case 6: pass_null(model); break;
    case 7: use_no_pool(); break;
    case 9: free_framed(model); break;
    default: free_twice(model); break;
    }
    REPORTS_EQUAL(0, 0);
}
