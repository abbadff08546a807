/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * extras.c - explicit caches and frames.
 */
#include "fuzz.h"

static void use_cache(struct model *model)
{
    cpool_cache_t **cache = &model->caches[input_below(CACHES)];
    int code;

    if (*cache == NULL) {
        code = cpool_cache_create(cache, model->pool);
        FUZZ_REQUIRE(code == 0 || code == CPOOL_ELIMIT);
        FUZZ_EQUAL(*cache != NULL, code == 0);
        FUZZ_REQUIRE(code == 0 || model->config.thread_caches != 0 ||
                     model->config.memory != NULL);
    } else {
        cpool_cache_destroy(*cache);
        *cache = NULL;
    }
    cpool_cache_destroy(NULL);
}

/* The slots of a frame go back, by its end or a reset. */
static void give_frame(struct model *model, size_t which, bool ends)
{
    cpool_frame_t *frame = model->frames[which];

    for (size_t i = 0; i < model->limit; i++)
        if (model->slots[i].state == IN_FRAME && model->slots[i].frame == which)
            model_give(model, i);
    if (ends)
        cpool_frame_end(frame);
    else
        cpool_frame_reset(frame);
    for (size_t i = 0; i < model->limit; i++)
        if (model->slots[i].state == FREE)
            model_is_free(model, i);
    if (!ends)
        return;
    REPORTS_EQUAL(0, 0);
    cpool_frame_end(frame);
    REPORTS_EQUAL(1, CPOOL_EFRAME);
    model->frames[which] = NULL;
}

static void frame_slot(struct model *model, size_t which)
{
    size_t obtainable = model_obtainable(model);
    void *slot = cpool_frame_alloc(model->frames[which]);

    FUZZ_REQUIRE(slot != NULL || obtainable == 0);
    if (slot == NULL)
        return;
    model_take(model, slot, IN_FRAME);
    model->slots[cpool_index(model->pool, slot)].frame = (uint8_t)which;
}

static void adopt(struct model *model, size_t which)
{
    size_t index;

    if (model->n_held == 0)
        return;
    index = model_some(model);
    FUZZ_EQUAL(cpool_frame_adopt(model->frames[which], cpool_at(model->pool, index)), 0);
    model_move(model, index, IN_FRAME);
    model->slots[index].frame = (uint8_t)which;
}

static void use_frame(struct model *model)
{
    size_t which = input_below(FRAMES);

    if (model->frames[which] == NULL) {
        FUZZ_EQUAL(cpool_frame_begin(&model->frames[which], model->pool), 0);
        return;
    }
    switch (input_below(16)) {
    case 0:
    case 1: give_frame(model, which, input_below(2) == 0); break;
    case 2:
    case 3: adopt(model, which); break;
    default:
        for (size_t n = input_below(80); n > 0; n--)
            frame_slot(model, which);
        break;
    }
}

void extra_any(struct model *model)
{
    size_t what = input_below(8);

    fuzz_trace("extra", what);
    if (what < 2)
        use_cache(model);
    else
        use_frame(model);
    REPORTS_EQUAL(0, 0);
}
