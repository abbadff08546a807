/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_cpool_typed.h - libcpool by a typed pool: slots_alloc(), slots_free(), inline.
 *
 * A template: slots have the size of the type, so each size is compiled on its own, by
 * a file that defines RIVAL_SLOT, bytes, RIVAL_POOL, the name of the pool, and RIVAL_ID,
 * the name of the rival's variable.  All have one name in the table.
 */
#define RIVAL_HAS_HANDLES
#define RIVAL_MAKES_POOLS
#include "rival_cpool.h"

struct slot {
    uint64_t words[RIVAL_SLOT / sizeof(uint64_t)];
};

/* The name of the pool is a macro, to be replaced before it becomes a part of names. */
#define RIVAL_DECLARE(name) CPOOL_DECLARE(name, struct slot)
#define RIVAL_DEFINE(name) CPOOL_DEFINE(name, struct slot, .capacity = 1)
#define RIVAL_JOIN(name, what) name##what
#define RIVAL_NAMED(name, what) RIVAL_JOIN(name, what)
#define RIVAL_CALL(what) RIVAL_NAMED(RIVAL_POOL, what)

RIVAL_DECLARE(RIVAL_POOL);
RIVAL_DEFINE(RIVAL_POOL);

/* The one pool of the type, opened as the cell says. */
static void *rival_create(const struct bench_cell *cell)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    int code;

    config.name = "bench";
    config.slot_size = sizeof(struct slot);
    config.capacity = cell->capacity;
    configure(&config, cell->config);
    code = RIVAL_CALL(_open)(&config);
    if (code != CPOOL_OK)
        bench_fail("cannot open a typed pool: %s", cpool_strerror(code));
    return RIVAL_CALL(_pool)();
}

static void rival_destroy(void *pool)
{
    (void)pool;
    RIVAL_CALL(_close)();
}

static inline void *rival_alloc(void *handle)
{
    (void)handle;
    return RIVAL_CALL(_alloc)();
}

static inline void *rival_calloc(void *handle, size_t size)
{
    (void)handle;
    (void)size;
    return RIVAL_CALL(_calloc)();
}

static inline void rival_free(void *handle, void *slot)
{
    (void)handle;
    RIVAL_CALL(_free)((struct slot *)slot);
}

#include "workloads.h"

const struct bench_rival RIVAL_ID = {
    "cpool-typed", "libcpool, inline, by a typed pool: slots_alloc()",
    BENCH_OURS, sizeof(struct slot), sizeof(struct slot),
    NULL, rival_version, rival_create, rival_destroy, NULL, NULL, rival_workloads,
    rival_exchanges
};
