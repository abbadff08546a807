/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sized_create.c - choosing the classes, making and ending their pools, and their figures.
 *
 * ORDERING TABLE
 *   count | counters' loads | relaxed | - | -
 *   made  | pools store | release | sized_impl.h's pool | the pool
 *   none  | pools load with the lock held | relaxed | - | -
 *   alone | pools store at the end, when nobody uses them | relaxed | - | -
 */
#include "sized/sized_impl.h"

#include <stdio.h>

/* Classes by default: the number of steps in each doubling, and the first step, bytes. */
#define CPI_SIZED_STEPS ((size_t)4)
#define CPI_SIZED_STEP_MIN ((size_t)16)
#define CPI_SIZED_LARGEST ((size_t)32 * 1024)

#define CPI_SIZED_WIDE (sizeof(void *) >= 8)
#define CPI_SIZED_CLASS_BYTES (CPI_SIZED_WIDE ? (size_t)1 << 30 : (size_t)2 * 1024 * 1024)
#define CPI_SIZED_CACHES_FEW ((size_t)16)
#define CPI_SIZED_CACHES (CPI_SIZED_WIDE ? (size_t)0 : CPI_SIZED_CACHES_FEW)

/* The least that is tried by default. */
#define CPI_SIZED_CLASS_BYTES_LEAST ((size_t)64 * 1024)

/* Bytes of a pool's name, with its end. */
#define CPI_SIZED_NAME 64

/* --- Classes --- */

static int take_sizes(struct cpool_sized *plan)
{
    const cpool_sized_config_t *config = &plan->given;
    size_t before = 0;

    if (config->class_count == 0 || config->class_count > CPOOL_SIZED_CLASSES_MAX)
        return CPOOL_ESLOTSIZE;
    for (size_t i = 0; i < config->class_count; i++) {
        size_t size = config->classes[i];

        if (size <= before || size > CPOOL_SIZED_MAX || size % CPOOL_SIZED_GRAIN != 0)
            return CPOOL_ESLOTSIZE;
        plan->sizes[i] = before = size;
    }
    plan->classes = (unsigned)config->class_count;
    return 0;
}

static int choose_sizes(struct cpool_sized *plan)
{
    size_t most = plan->given.max_size != 0 ? plan->given.max_size : CPI_SIZED_LARGEST;
    size_t step = CPI_SIZED_STEP_MIN;
    size_t size = 0;

    if (plan->given.class_count != 0 || most > CPOOL_SIZED_MAX)
        return CPOOL_ESLOTSIZE;
    while (size < most) {
        if (size >= 2 * CPI_SIZED_STEPS * step)
            step *= 2;
        size += step;
        plan->sizes[plan->classes++] = size;
    }
    return 0;
}

static void pool_config(const struct cpool_sized *blocks, size_t number, char *name,
                        cpool_config_t *config)
{
    const cpool_sized_config_t *given = &blocks->given;
    size_t size = blocks->sizes[number];

    *config = (cpool_config_t)CPOOL_CONFIG_INIT;
    snprintf(name, CPI_SIZED_NAME, "%zu%s%s", size, blocks->name[0] ? " " : "", blocks->name);
    config->name = name;
    config->slot_size = size;
    config->slot_align = size & (~size + 1); /* the lowest bit */
    config->capacity = given->class_bytes > size ? given->class_bytes / size : 1;
    if (config->capacity > CPOOL_CAPACITY_MAX)
        config->capacity = CPOOL_CAPACITY_MAX;
    config->flags = (given->flags & ~CPOOL_SIZED_BOUNDED) | CPOOL_CLIENT_RESERVED;
    config->thread_caches = given->thread_caches != 0 ? given->thread_caches : CPI_SIZED_CACHES;
}

/* The bytes of the largest pool.  Returns 0, or the code with which it is refused. */
static int largest_pool(struct cpool_sized *plan, size_t *largest)
{
    plan->largest = plan->sizes[plan->classes - 1];
    *largest = 0;
    for (size_t number = 0; number < plan->classes; number++) {
        char name[CPI_SIZED_NAME];
        cpool_config_t config;
        cpool_t *pool;
        size_t bytes;

        pool_config(plan, number, name, &config);
        bytes = cpool_memory_required(&config);
        if (bytes == 0) {
            config.flags &= ~CPOOL_CLIENT_RESERVED;
            config.memory = &config; /* not looked at before the settings are */
            return cpool_create(&pool, &config);
        }
        if (bytes > *largest)
            *largest = bytes;
    }
    return 0;
}

/* --- The range --- */

static unsigned range_flags(const struct cpool_sized *blocks)
{
    bool huge = (blocks->given.flags & CPOOL_HUGE_PAGES) != 0;

    return CPOOL_CLIENT_RESERVED | (huge ? CPOOL_CLIENT_HUGE : 0u);
}

static void fill_table(struct cpool_sized *blocks)
{
    size_t number = 0;

    for (size_t i = 0; i <= blocks->largest / CPOOL_SIZED_GRAIN; i++) {
        if (i * CPOOL_SIZED_GRAIN > blocks->sizes[number])
            number++;
        blocks->table[i] = (uint8_t)number;
    }
}

/* Makes the header for the plan, and reserves the range.  `sparing` as for cpool_client_memory. */
static int reserve_range(struct cpool_sized **blocks, struct cpool_sized *plan,
                         size_t largest, unsigned sparing)
{
    size_t part = 1;

    plan->header = sizeof(struct cpool_sized) + plan->largest / CPOOL_SIZED_GRAIN + 1;
    for (; part != 0 && part < largest; part *= 2)
        plan->shift++;
    if (part == 0 || part > SIZE_MAX / 2 / plan->classes)
        return CPOOL_ECAPACITY;
    plan->range = plan->classes * part;
    plan->base = (uintptr_t)cpool_client_memory(plan->range, range_flags(plan) | sparing);
    if (plan->base == 0)
        return CPOOL_ENOMEM;
    *blocks = cpool_client_memory(plan->header, 0);
    if (*blocks != NULL)
        return 0;
    cpool_client_release((void *)plan->base, plan->range, range_flags(plan), NULL);
    return CPOOL_ENOMEM;
}

/* Destroys the pools that were made, last first, and the range.  Returns the first failure. */
static int end_pools(struct cpool_sized *blocks)
{
    int result = 0;

    while (blocks->classes > 0) {
        int code = cpool_destroy(cpi_sized_pool(blocks, --blocks->classes));

        if (result == 0)
            result = code;
    }
    cpool_client_release((void *)blocks->base, blocks->range, range_flags(blocks), NULL);
    return result;
}

/* With the lock held, unless nobody knows the blocks yet. */
static int make_pool(struct cpool_sized *blocks, size_t number)
{
    size_t part = (size_t)1 << blocks->shift;
    char name[CPI_SIZED_NAME];
    cpool_config_t config;
    int code;

    pool_config(blocks, number, name, &config);
    config.memory = (void *)(blocks->base + number * part);
    config.memory_size = part;
    code = cpool_client_create(&blocks->client, &config);
    if (code == 0)
        cpi_store(&blocks->pools[number], blocks->client.pool, release); /* [made] */
    return code;
}

cpool_t *cpi_sized_make_pool(struct cpool_sized *blocks, size_t number)
{
    if (blocks->classes == 0 ||  /* it has ended */
        !cpool_client_lock()) /* a thread that has it allocates in a handler of fork */
        return NULL;
    if (cpi_load(&blocks->pools[number], relaxed) == blocks->none) /* [none] */
        (void)make_pool(blocks, number);
    cpool_client_unlock();
    return cpi_sized_pool(blocks, number);
}

/* --- Figures --- */

static void add_figures(const cpool_t *pool, cpool_stats_t *sum)
{
    cpool_stats_t stats = CPOOL_STATS_INIT;

    if (pool == NULL || cpool_read_stats(pool, &stats) != 0)
        return;
    sum->capacity += stats.capacity;
    sum->max_capacity += stats.max_capacity;
    sum->live += stats.live;
    sum->free += stats.free;
    sum->circulating += stats.circulating;
    sum->committed_bytes += stats.committed_bytes;
    sum->failures += stats.failures;
    sum->stalls += stats.stalls;
    sum->reclaims += stats.reclaims;
    sum->system_calls += stats.system_calls;
}

/* Of all classes together, with the lock held. */
static void sum_figures(const void *owner, cpool_stats_t *stats)
{
    const cpool_sized_t *blocks = owner;

    for (size_t number = 0; number < blocks->classes; number++)
        add_figures(cpi_sized_pool(blocks, number), stats);
    stats->reserved_bytes = blocks->header + blocks->range;
    stats->committed_bytes += blocks->header;
}

/* --- Life --- */

/* Fills in what the plan does not have, and makes the first pool, with which there is a descriptor
 * of none. */
static int fill_in(struct cpool_sized *blocks)
{
    int code;

    fill_table(blocks);
    if (blocks->given.fallback != NULL)
        blocks->fallback = *blocks->given.fallback;
    blocks->client = (cpool_client_t){.size = sizeof blocks->client, .kind = CPOOL_VIEW_SIZED,
                                      .owner = blocks, .name = blocks->name, .sums = true,
                                      .figures = sum_figures};
    code = make_pool(blocks, 0);
    blocks->none = blocks->client.none;
    blocks->system = blocks->client.system;
    for (size_t number = 1; number < blocks->classes; number++)
        atomic_init(&blocks->pools[number], blocks->none);
    return code;
}

static int make_blocks(struct cpool_sized **blocks, const cpool_sized_config_t *config,
                       unsigned sparing)
{
    struct cpool_sized plan;
    size_t largest;
    int code;

    memset(&plan, 0, sizeof plan);
    plan.given = *config;
    cpi_name_copy(plan.name, sizeof plan.name, config->name);
    if ((config->flags & (CPOOL_CLIENT_RESERVED | CPOOL_RESIDENT)) != 0)
        return CPOOL_EFLAGS;
    code = config->classes != NULL ? take_sizes(&plan) : choose_sizes(&plan);
    if (code == 0)
        code = largest_pool(&plan, &largest);
    if (code == 0)
        code = reserve_range(blocks, &plan, largest, sparing);
    if (code != 0)
        return code;
    memcpy(*blocks, &plan, sizeof plan);
    code = fill_in(*blocks);
    if (code != 0) {
        (void)end_pools(*blocks);
        cpool_client_release(*blocks, plan.header, 0, NULL);
        return code;
    }
    cpool_client_show(&(*blocks)->client, true);
    return 0;
}

/* The default is less where address space is short, with few caches in each class.  Half of a
 * limited address space is left to others. */
static int make_by_default(struct cpool_sized **blocks, cpool_sized_config_t *config)
{
    int code;

    config->class_bytes = CPI_SIZED_CLASS_BYTES;
    code = make_blocks(blocks, config, CPOOL_CLIENT_SPARING);
    if (config->thread_caches == 0)
        config->thread_caches = CPI_SIZED_CACHES_FEW;
    while (code == CPOOL_ENOMEM && config->class_bytes > CPI_SIZED_CLASS_BYTES_LEAST) {
        config->class_bytes /= 2;
        code = make_blocks(blocks, config, CPOOL_CLIENT_SPARING);
    }
    return code;
}

int cpool_sized_create(cpool_sized_t **blocks, const cpool_sized_config_t *given)
{
    cpool_sized_fallback_t fallback;
    struct cpool_sized *made = NULL;
    cpool_sized_config_t config;
    int code;

    if (blocks == NULL)
        return CPOOL_ENULL;
    *blocks = NULL;
    code = cpi_given_read(&config, sizeof config, given);
    if (code == 0 && config.fallback != NULL && (config.flags & CPOOL_SIZED_BOUNDED) != 0)
        code = CPOOL_EFLAGS;
    if (code == 0 && config.fallback != NULL) {
        code = cpi_given_read(&fallback, sizeof fallback, config.fallback);
        if (code == 0 && (fallback.alloc == NULL || fallback.free == NULL))
            code = CPOOL_ENULL;
        config.fallback = &fallback;
    }
    if (code != 0)
        return code;
    code = config.class_bytes != 0 ? make_blocks(&made, &config, 0)
                                   : make_by_default(&made, &config);
    if (code == 0)
        *blocks = made;
    return code;
}

int cpool_sized_destroy(cpool_sized_t *blocks)
{
    bool live;
    int code;

    if (blocks == NULL)
        return 0;
    if (CPI_ENDED(blocks))
        return CPOOL_EPOOL;
    live = cpi_load(&blocks->fallback_live, relaxed) > 0; /* [count] */
    cpool_client_show(&blocks->client, false);
    code = end_pools(blocks);
    blocks->largest = 0;
    cpi_store(&blocks->pools[0], blocks->none, relaxed); /* [alone] */
    cpool_client_release(blocks, blocks->header, 0, &blocks->ended);
    return code == 0 && live ? CPOOL_ELIVE : code;
}

/* --- What programs ask --- */

int cpool_sized_class_of(const cpool_sized_t *blocks, size_t size, cpool_sized_class_t *description)
{
    cpool_sized_class_t known = CPOOL_SIZED_CLASS_INIT;
    size_t number;

    if (CPI_ENDED(blocks))
        return CPOOL_EPOOL;
    if (size > blocks->largest)
        return CPOOL_ESLOTSIZE;
    number = cpi_sized_first(blocks, size);
    known.block_size = blocks->sizes[number];
    known.source = cpi_sized_pool(blocks, number);
    known.pool = known.source != NULL ? cpool_of(cpool_at(known.source, 0), NULL) : NULL;
    known.dry = cpi_load(&blocks->dry[number], relaxed); /* [count] */
    return cpi_given_write(description, &known, sizeof known);
}

int cpool_sized_read_stats(const cpool_sized_t *blocks, cpool_sized_stats_t *stats)
{
    cpool_sized_stats_t known = CPOOL_SIZED_STATS_INIT;

    if (CPI_ENDED(blocks))
        return CPOOL_EPOOL;
    known.class_count = blocks->classes;
    known.reserved_bytes = blocks->header + blocks->range;
    known.committed_bytes = blocks->header;
    for (size_t number = 0; number < blocks->classes; number++) {
        const cpool_t *pool = cpi_sized_pool(blocks, number);
        cpool_stats_t figures = CPOOL_STATS_INIT;

        known.dry += cpi_load(&blocks->dry[number], relaxed); /* [count] */
        if (pool == NULL || cpool_read_stats(pool, &figures) != 0)
            continue;
        known.live += figures.live;
        known.live_bytes += figures.live * blocks->sizes[number];
        known.committed_bytes += figures.committed_bytes;
    }
    known.fallback_live = cpi_load(&blocks->fallback_live, relaxed);   /* [count] */
    known.fallback_bytes = cpi_load(&blocks->fallback_bytes, relaxed); /* [count] */
    known.fallback_total = cpi_load(&blocks->fallback_total, relaxed); /* [count] */
    return cpi_given_write(stats, &known, sizeof known);
}

size_t cpool_sized_trim(cpool_sized_t *blocks)
{
    size_t bytes = 0;

    if (CPI_ENDED(blocks))
        return 0;
    for (size_t number = 0; number < blocks->classes; number++) {
        cpool_t *pool = cpi_sized_pool(blocks, number);

        bytes += pool != NULL ? cpool_trim(pool) : 0;
    }
    return bytes;
}
