/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model.c - the contents of a pool, slot by slot.
 *
 * Each owner fills the whole slot with bytes of its own.  They are verified when the slot
 * goes back, and when it comes again, because free slots keep their bytes.
 */
#include "fuzz.h"

#include <string.h>

#include "random.h"

struct model models[POOLS];

static unsigned char byte_of(uint32_t seed, size_t at)
{
    return (unsigned char)(random_mix(seed) + at * 37);
}

static void fill(struct model *model, unsigned char *bytes, struct slot *slot)
{
    slot->seed = ++model->next_seed;
    slot->known = true;
    for (size_t i = 0; i < model->config.slot_size; i++)
        bytes[i] = byte_of(slot->seed, i);
}

static void verify_live(const struct model *model, const unsigned char *bytes,
                        const struct slot *slot)
{
    for (size_t i = 0; i < model->config.slot_size; i++)
        FUZZ_EQUAL(bytes[i], byte_of(slot->seed, i));
}

/* Of a slot that comes again: as it was left, or zero where pages went back. */
static void verify_free(const struct model *model, const unsigned char *bytes,
                        const struct slot *slot)
{
    for (size_t i = 0; i < model->config.slot_size; i++) {
        if (!slot->known)
            FUZZ_REQUIRE(bytes[i] == 0 || !model->zero);
        else if (bytes[i] != 0)
            FUZZ_EQUAL(bytes[i], byte_of(slot->seed, i));
        else
            FUZZ_REQUIRE(model->purged || byte_of(slot->seed, i) == 0);
    }
}

static void hold(struct model *model, size_t index)
{
    model->slots[index].place = (uint32_t)model->n_held;
    model->held[model->n_held++] = (uint32_t)index;
}

static void let_go(struct model *model, size_t index)
{
    uint32_t place = model->slots[index].place;
    uint32_t last = model->held[--model->n_held];

    model->held[place] = last;
    model->slots[last].place = place;
}

void model_move(struct model *model, size_t index, enum state state)
{
    struct slot *slot = &model->slots[index];

    if (slot->state == HELD)
        let_go(model, index);
    slot->state = (uint8_t)state;
    if (state == HELD)
        hold(model, index);
}

/* Handles: the old one is stale, and the new one leads to the slot. */
static void take_handle(const struct model *model, void *address, struct slot *slot)
{
    cpool_handle_t handle;

    if (!model->tracked)
        return;
    handle = cpool_handle(model->pool, address);
    FUZZ_REQUIRE(handle != CPOOL_HANDLE_NONE && handle != slot->handle);
    FUZZ_REQUIRE(cpool_resolve(model->pool, handle) == address);
    FUZZ_REQUIRE(cpool_resolve(model->pool, slot->handle) == NULL);
    slot->handle = handle;
}

static void take(struct model *model, void *address, enum state state)
{
    size_t index = cpool_index(model->pool, address);
    size_t align = model->config.slot_align != 0 ? model->config.slot_align : 1;
    struct slot *slot;

    FUZZ_REQUIRE(index < model->limit);
    FUZZ_REQUIRE(cpool_owns(model->pool, address) && cpool_at(model->pool, index) == address);
    FUZZ_EQUAL(((uintptr_t)address + model->config.slot_offset) % align, 0);
    slot = &model->slots[index];
    FUZZ_REQUIRE(slot->state == NEVER || slot->state == FREE);
    take_handle(model, address, slot);
    model->live++;
    model_move(model, index, state);
}

void model_take(struct model *model, void *address, enum state state)
{
    size_t index = cpool_index(model->pool, address);

    FUZZ_REQUIRE(index < model->limit);
    verify_free(model, address, &model->slots[index]);
    take(model, address, state);
    fill(model, address, &model->slots[index]);
}

void model_take_zeroed(struct model *model, void *address)
{
    const unsigned char *bytes = address;

    take(model, address, HELD);
    for (size_t i = 0; i < model->config.slot_size; i++)
        FUZZ_EQUAL(bytes[i], 0);
    fill(model, address, &model->slots[cpool_index(model->pool, address)]);
}

void model_give(struct model *model, size_t index)
{
    struct slot *slot = &model->slots[index];

    FUZZ_REQUIRE(slot->state >= HELD);
    verify_live(model, cpool_at(model->pool, index), slot);
    model_move(model, index, FREE);
    model->live--;
}

void model_is_free(const struct model *model, size_t index)
{
    FUZZ_REQUIRE(model->slots[index].state == FREE);
    if (!model->tracked)
        return;
    FUZZ_EQUAL(cpool_handle(model->pool, cpool_at(model->pool, index)), CPOOL_HANDLE_NONE);
    FUZZ_REQUIRE(cpool_resolve(model->pool, model->slots[index].handle) == NULL);
}

size_t model_some(const struct model *model)
{
    return model->held[input_number(model->n_held)];
}

/* As after a reset. */
void model_clear(struct model *model)
{
    for (size_t i = 0; i < model->limit; i++)
        model->slots[i].state = NEVER;
    model->shrunk = false;
    model->n_held = 0;
    model->live = 0;
    memset(model->caches, 0, sizeof model->caches);
    memset(model->frames, 0, sizeof model->frames);
}

size_t model_obtainable(const struct model *model)
{
    size_t most = model->grows ? model->max : model_stats(model).capacity;

    return model->live < most ? most - model->live : 0;
}

struct figures model_stats(const struct model *model)
{
    struct figures stats;

    FUZZ_REQUIRE(figures_read(model->pool, &stats));
    return stats;
}

static void verify_tracked(struct model *model)
{
    cpool_iter_t iter = CPOOL_ITER_INIT(model->pool, 0, SIZE_MAX);
    size_t n = 0;
    void *slot;

    for (; (slot = cpool_iter_next(&iter)) != NULL; n++) {
        size_t index = cpool_index(model->pool, slot);

        FUZZ_REQUIRE(index < model->limit && model->slots[index].state >= HELD);
        FUZZ_REQUIRE(iter.handle == model->slots[index].handle);
    }
    FUZZ_EQUAL(n, model->live);
}

void model_verify(struct model *model)
{
    struct figures stats = model_stats(model);
    size_t live = 0;

    for (size_t i = 0; i < model->limit; i++) {
        if (model->slots[i].state < HELD)
            continue;
        verify_live(model, cpool_at(model->pool, i), &model->slots[i]);
        live++;
    }
    FUZZ_EQUAL(live, model->live);
    FUZZ_EQUAL(stats.live, model->live);
    FUZZ_EQUAL(stats.live + stats.in_depot + stats.in_caches + stats.fresh, stats.capacity);
    FUZZ_REQUIRE(stats.capacity >= 1 && stats.capacity <= model->max);
    FUZZ_REQUIRE(stats.live <= stats.circulating);
    FUZZ_EQUAL(stats.max_capacity, model->max);
    FUZZ_EQUAL(stats.slot_size, model->config.slot_size);
    FUZZ_EQUAL(stats.stalls, 0);
    if (model->tracked)
        verify_tracked(model);
    REPORTS_EQUAL(0, 0);
}
