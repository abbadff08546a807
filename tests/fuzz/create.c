/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * create.c - pools of every configuration, wrong configurations, and the ends of pools.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* MAP_ANONYMOUS */
#endif

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

cpool_t *destroyed;

/* The programs of the corpus have two bits for nothing, and two for checks. */
static const unsigned flags_of_byte[8] = {
    CPOOL_CHECKED, 0, 0, CPOOL_COLOUR,
    CPOOL_TRACKED, CPOOL_KEEP_PAGES, CPOOL_CHECKED, CPOOL_NO_POISON
};

/* Most of the time few flags, or none. */
static unsigned some_flags(void)
{
    unsigned byte = input_byte();
    unsigned flags = 0;

    if (byte % 4 == 0)
        return 0;
    if (byte % 4 == 1)
        return flags_of_byte[byte / 4 % 8];
    for (byte = input_byte(); byte != 0; byte &= byte - 1)
        for (unsigned bit = 0; bit < 8; bit++)
            if ((byte & (0u - byte)) == 1u << bit)
                flags |= flags_of_byte[bit];
    return flags;
}

static void choose_size(cpool_config_t *config)
{
    config->slot_size = 1 + input_below(200);
    if (input_below(8) == 0)
        config->slot_size *= 16;
    if (input_below(3) == 0)
        config->slot_align = (size_t)1 << input_below(13);
    if (input_below(5) == 0)
        config->slot_offset = input_number(config->slot_size + 1);
}

static void choose_capacity(cpool_config_t *config)
{
    config->capacity = 1 + input_number(input_below(2) == 0 ? 40 : 700);
    if (input_below(3) == 0)
        config->max_capacity = config->capacity + input_number(500);
    if (input_below(3) == 0)
        config->magazine_rounds = 1 + input_below(config->capacity < 40 ? config->capacity : 40);
    if (input_below(3) == 0)
        config->thread_caches = 1 + input_below(8);
    if (input_below(6) == 0)
        config->cache_slots = input_below(200);
}

static cpool_config_t some_config(void)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;

    config.name = "fuzz";
    config.stall_limit_ms = 1;
    choose_size(&config);
    choose_capacity(&config);
    config.flags = some_flags();
    return config;
}

/* Memory of exactly the size that is needed. */
static void provide(struct model *model)
{
    cpool_config_t *config = &model->config;
    size_t align = 4096;
    size_t size = cpool_memory_required(config);

    FUZZ_REQUIRE(size > 0);
    model->memory = aligned_alloc(align, (size + align - 1) & ~(align - 1));
    FUZZ_REQUIRE(model->memory != NULL);
    memset(model->memory, 0xA5, size);
    config->memory = model->memory;
    config->memory_size = size;
}

static void expect_of(struct model *model)
{
    const cpool_config_t *config = &model->config;
    unsigned flags = config->flags;

    model->max = config->max_capacity != 0 ? config->max_capacity : config->capacity;
    model->grows = model->max > config->capacity;
    model->checked = (flags & CPOOL_CHECKED) != 0;
    model->tracked = model->checked || (flags & CPOOL_TRACKED) != 0;
    model->zero = config->memory == NULL;
    model->limit = cpool_index_limit(model->pool);
    FUZZ_EQUAL(model->limit, model->max);
    model->slots = calloc(model->limit, sizeof *model->slots);
    model->held = calloc(model->limit, sizeof *model->held);
    FUZZ_REQUIRE(model->slots != NULL && model->held != NULL);
}

void create_any(struct model *model)
{
    unsigned kind = (unsigned)input_below(10);

    memset(model, 0, sizeof *model);
    model->config = some_config();
    if (kind == 0)
        provide(model);
    fuzz_trace("create, flags", model->config.flags);
    if (kind < 7 || !type_open(model))
        FUZZ_EQUAL(cpool_create(&model->pool, &model->config), 0);
    FUZZ_REQUIRE(model->pool != NULL);
    expect_of(model);
    model_verify(model);
}

/* One mistake in a configuration that is right otherwise. */
static int spoil(cpool_config_t *config)
{
    switch (input_below(16)) {
    case 0: config->size = input_below(8); return CPOOL_ESTRUCT;
    case 1: config->size = 4097 + input_number(60000); return CPOOL_ESTRUCT;
    case 2: config->slot_size = 0; return CPOOL_ESLOTSIZE;
    case 3: config->slot_align = 3u << input_below(20); return CPOOL_EALIGN;
    case 4: config->slot_align = CPOOL_ALIGN_MAX << (1 + input_below(8)); return CPOOL_EALIGN;
    case 5: config->slot_offset = config->slot_size + 1 + input_number(300); return CPOOL_EALIGN;
    case 6: config->capacity = 0; return CPOOL_ECAPACITY;
    case 7: config->capacity = CPOOL_CAPACITY_MAX + 1 + input_below(9); return CPOOL_ECAPACITY;
    case 8:
        config->capacity = 2 + input_below(100);
        config->max_capacity = 1 + input_below(config->capacity - 1);
        config->magazine_rounds = 0;
        return CPOOL_ECAPACITY;
    case 9: config->max_capacity = SIZE_MAX - input_below(100); return CPOOL_ECAPACITY;
    case 10: config->magazine_rounds = config->capacity + 1; return CPOOL_EROUNDS;
    case 11: config->thread_caches = CPOOL_THREAD_CACHES_MAX + 1; return CPOOL_ECACHES;
    case 12:
        config->flags |= 1u << (16 + input_below(12)); /* above them are those of clients */
        return CPOOL_EFLAGS;
    case 13: config->memory_size = 1 + input_number(9999); return CPOOL_EMEMORY;
    case 14: config->slot_size = SIZE_MAX - input_below(100);
        config->slot_offset = 0;
        return CPOOL_ECAPACITY;
    default: config->flags |= 0x100u; return CPOOL_EFLAGS;
    }
}

/* The caller's memory is too small or not aligned. */
static void create_in_wrong_memory(cpool_config_t *config)
{
    cpool_t *pool = (cpool_t *)(void *)config;
    size_t size = cpool_memory_required(config);
    char *memory = aligned_alloc(4096, (size + 8191) & ~(size_t)4095);

    FUZZ_REQUIRE(size > 0 && memory != NULL);
    config->memory = memory;
    config->memory_size = size - 1 - input_number(size - 1);
    FUZZ_EQUAL(cpool_create(&pool, config), CPOOL_EMEMSIZE);
    config->memory = memory + 1 + input_below(63);
    config->memory_size = size;
    FUZZ_EQUAL(cpool_create(&pool, config), CPOOL_EMEMORY);
    FUZZ_REQUIRE(pool == NULL);
    free(memory);
}

void create_wrong(void)
{
    union {
        cpool_config_t config;
        char room[4200];
    } any;
    cpool_t *pool = (cpool_t *)(void *)&any;
    int code;

    memset(&any, 0, sizeof any);
    any.config = some_config();
    switch (input_below(4)) {
    case 0:
        create_in_wrong_memory(&any.config);
        break;
    case 1:
        any.config.size = sizeof any.config + 1 + input_number(3000);
        any.room[sizeof any.config] = 1;
        FUZZ_EQUAL(cpool_create(&pool, &any.config), CPOOL_ESTRUCT);
        FUZZ_REQUIRE(pool == NULL);
        break;
    default:
        code = spoil(&any.config);
        fuzz_trace("create, to get code", (size_t)-code);
        FUZZ_EQUAL(cpool_create(&pool, &any.config), code);
        FUZZ_REQUIRE(pool == NULL);
        if (code != CPOOL_EMEMORY)
            FUZZ_EQUAL(cpool_memory_required(&any.config), 0);
        break;
    }
    FUZZ_EQUAL(cpool_create(NULL, &any.config), CPOOL_ENULL);
    FUZZ_EQUAL(cpool_create(&pool, NULL), CPOOL_ENULL);
    REPORTS_EQUAL(0, 0);
}

void destroy_any(struct model *model, bool frees_all)
{
    size_t out;
    int code;

    for (unsigned i = 0; i < FRAMES && frees_all; i++)
        cpool_frame_end(model->frames[i]);
    for (size_t i = 0; i < model->limit && frees_all; i++)
        if (model->slots[i].state == HELD)
            cpool_free(model->pool, cpool_at(model->pool, i));
    out = frees_all ? 0 : model->live;
    fuzz_trace("destroy, live", out);
    code = model->type != 0 ? type_close(model) : cpool_destroy(model->pool);
    FUZZ_EQUAL(code, out == 0 ? 0 : CPOOL_ELIVE);
    REPORTS_EQUAL(0, 0);
    destroyed = model->pool;
    model->pool = NULL;
    free(model->slots);
    free(model->held);
    free(model->memory);
}
