/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * types.c - pools of a type, by their own functions.
 */
#include "fuzz.h"

struct narrow {
    uint8_t byte;
};

struct wide {
    _Alignas(64) uint8_t bytes[64];
};

struct odd {
    uint8_t bytes[88];
};

CPOOL_DECLARE(narrows, struct narrow);
CPOOL_DEFINE(narrows, struct narrow, .capacity = 50);
CPOOL_DECLARE(wides, struct wide);
CPOOL_DEFINE(wides, struct wide, .capacity = 50);
CPOOL_DECLARE(odds, struct odd);
CPOOL_DEFINE(odds, struct odd, .capacity = 50);

static const struct type {
    struct cpool_typed *typed;
    size_t size;
    size_t align;
} types[] = {
    {&narrows_typed_, sizeof(struct narrow), _Alignof(struct narrow)},
    {&wides_typed_, sizeof(struct wide), _Alignof(struct wide)},
    {&odds_typed_, sizeof(struct odd), _Alignof(struct odd)},
};

/* Does one thing by the functions of the model's type. */
#define BY_TYPE(narrow, wide, odd) \
    (model->type == 1 ? (narrow) : model->type == 2 ? (wide) : (odd))

static bool is_open(unsigned type)
{
    for (size_t i = 0; i < POOLS; i++)
        if (models[i].pool != NULL && models[i].type == type)
            return true;
    return false;
}

bool type_open(struct model *model)
{
    unsigned number = 1 + (unsigned)input_below(3);
    const struct type *type = &types[number - 1];
    cpool_config_t *config = &model->config;

    if (is_open(number) || config->memory != NULL)
        return false;
    model->type = number;
    config->slot_size = type->size + 1;
    FUZZ_EQUAL(cpool_typed_open_abi1(type->typed, config), CPOOL_ESLOTSIZE);
    config->slot_size = input_below(2) == 0 ? 0 : type->size;
    config->slot_offset = 0;
    if (config->slot_align < type->align)
        config->slot_align = 0;
    FUZZ_EQUAL(cpool_typed_open_abi1(type->typed, config), 0);
    FUZZ_EQUAL(cpool_typed_open_abi1(type->typed, config), CPOOL_EOPEN);
    FUZZ_EQUAL(cpool_typed_open_abi1(type->typed, NULL), 0);
    model->pool = cpool_typed_pool_abi1(type->typed);
    config->slot_size = type->size;
    if (config->slot_align == 0)
        config->slot_align = type->align;
    return true;
}

int type_close(struct model *model)
{
    if (input_below(2) == 0)
        return cpool_destroy(model->pool);
    return BY_TYPE(narrows_close(), wides_close(), odds_close());
}

void *type_alloc(const struct model *model, bool zeroed)
{
    if (zeroed)
        return BY_TYPE((void *)narrows_calloc(), (void *)wides_calloc(), (void *)odds_calloc());
    return BY_TYPE((void *)narrows_alloc(), (void *)wides_alloc(), (void *)odds_alloc());
}

void type_free(const struct model *model, void *slot)
{
    BY_TYPE(narrows_free(slot), wides_free(slot), odds_free(slot));
}

size_t type_alloc_bulk(const struct model *model, void **slots, size_t n)
{
    return BY_TYPE(narrows_alloc_bulk((struct narrow **)(void *)slots, n, 0),
                   wides_alloc_bulk((struct wide **)(void *)slots, n, 0),
                   odds_alloc_bulk((struct odd **)(void *)slots, n, 0));
}

void type_free_bulk(const struct model *model, void **slots, size_t n)
{
    BY_TYPE(narrows_free_bulk((struct narrow **)(void *)slots, n),
            wides_free_bulk((struct wide **)(void *)slots, n),
            odds_free_bulk((struct odd **)(void *)slots, n));
}
