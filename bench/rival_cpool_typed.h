/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_cpool_typed.h - libcpool by a typed pool: slots_alloc(), slots_free(), inline.
 *
 * A template: slots have the size of the type, so each size is compiled on its own, by
 * a file that defines RIVAL_SLOT, bytes, and RIVAL_ID, the name of the rival's variable.
 * All have one name in the table.
 */
#include "bench.h"

#if defined(__has_include)
#if __has_include(<cpool/typed.h>)
#define RIVAL_TYPED
#endif
#endif

#define RIVAL_NAME "cpool-typed"
#define RIVAL_SUMMARY "libcpool, inline, by a typed pool: slots_alloc()"

#ifdef RIVAL_TYPED

#include <cpool/typed.h>

#define RIVAL_HAS_HANDLES
#define RIVAL_MAKES_POOLS
#include "rival_cpool.h"

struct slot {
    uint64_t words[RIVAL_SLOT / sizeof(uint64_t)];
};

CPOOL_DECLARE(slots, struct slot);
CPOOL_DEFINE(slots, struct slot, .capacity = 1);

/* The one pool of the type, opened as the cell says. */
static void *rival_create(const struct bench_cell *cell)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    int code;

    config.name = "bench";
    config.slot_size = sizeof(struct slot);
    config.capacity = cell->capacity;
    configure(&config, cell->config);
    code = slots_open(&config);
    if (code != CPOOL_OK)
        bench_fail("slots_open: %s", cpool_strerror(code));
    return slots_pool();
}

static void rival_destroy(void *pool)
{
    (void)pool;
    slots_close();
}

static inline void *rival_alloc(void *handle)
{
    (void)handle;
    return slots_alloc();
}

static inline void *rival_calloc(void *handle, size_t size)
{
    (void)handle;
    (void)size;
    return slots_calloc();
}

static inline void rival_free(void *handle, void *slot)
{
    (void)handle;
    slots_free((struct slot *)slot);
}

#include "workloads.h"

const struct bench_rival RIVAL_ID = {
    RIVAL_NAME, RIVAL_SUMMARY,
    BENCH_OURS, sizeof(struct slot), sizeof(struct slot),
    NULL, rival_version, rival_create, rival_destroy, NULL, NULL, rival_workloads,
    rival_exchanges
};

#else

static const char *rival_absent(void)
{
    return "this libcpool has no typed pools";
}

const struct bench_rival RIVAL_ID = {
    RIVAL_NAME, RIVAL_SUMMARY,
    BENCH_OURS, RIVAL_SLOT, RIVAL_SLOT,
    rival_absent, NULL, NULL, NULL, NULL, NULL, NULL, NULL
};

#endif
