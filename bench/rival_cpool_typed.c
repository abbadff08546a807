/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_cpool_typed.c - libcpool by a typed pool: slots_alloc(), slots_free(), inline.
 *
 * Slots have the size of the type, so this rival takes part with 64 bytes.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

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

#define RIVAL_HAS_HANDLES /* of rival_cpool.h's functions only the other ones are used */
#include "rival_cpool.h"

struct slot {
    uint64_t words[8];
};

CPOOL_DECLARE(slots, struct slot);
CPOOL_DEFINE(slots, struct slot, .capacity = 1);

/* The one pool of the type, opened as the cell says. */
static void *rival_open(const struct bench_cell *cell)
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

static void rival_close(void *pool)
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

#define rival_create rival_open
#define rival_destroy rival_close
#include "workloads.h"

const struct bench_rival bench_rival_cpool_typed = {
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

const struct bench_rival bench_rival_cpool_typed = {
    RIVAL_NAME, RIVAL_SUMMARY,
    BENCH_OURS, 64, 64,
    rival_absent, NULL, NULL, NULL, NULL, NULL, NULL, NULL
};

#endif
