/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_dpdk.c - DPDK's rte_mempool: a ring of slots that all threads share,
 * and a cache of up to 512 of them for each thread.
 *
 * In a program of its own (bench-dpdk), because DPDK does things before main and brings
 * some libraries.  It is called inline, as its users do.  It runs without huge pages,
 * devices or shared files, so it needs no rights.  (--no-huge and --in-memory cannot be
 * had together since DPDK refuses legacy memory, which the first implies, with the
 * second.  --no-shconf is the part of it that remains.)
 *
 * Slots smaller than a cache line are not given one each, as they are by default:
 * ten million of 8 bytes would take more than a gigabyte.
 *
 * Only threads that DPDK knows have a cache: each registers itself, and where
 * there are more than it has numbers for, the others work at the ring.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <pthread.h>
#include <sched.h>
#include <stdio.h>

/* Its headers are not written for our warnings. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wundef"
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mempool.h>
#include <rte_version.h>

#include "bench.h"

/* Bytes of a slot beside its own, at most: a head, and rounding up. */
#define OVERHEAD ((size_t)192)

/* Memory beyond the slots: the ring's entries are counted, this is for the rest. */
#define ROOM ((size_t)64 << 20)

/* The largest pool that a workload makes beside the first one, slots. */
#define SECOND ((size_t)1 << 24)

static bool started;

/* Bytes that a pool of n slots needs, its ring of the next power of two included. */
static size_t pool_bytes(size_t n, size_t slot_size)
{
    return n * (slot_size + OVERHEAD + 4 * sizeof(void *)) + ROOM;
}

/* Starts DPDK once.  Its memory is address space until it is used. */
static bool start(size_t bytes)
{
    char megabytes[24];
    char program[] = "bench-dpdk", huge[] = "--no-huge", shared[] = "--no-shconf";
    char pci[] = "--no-pci", telemetry[] = "--no-telemetry", mode[] = "--iova-mode=va";
    char log[] = "--log-level=error", m[] = "-m", d[] = "-d", driver[] = BENCH_DPDK_DRIVER;
    char *arguments[] = { program, huge, shared, pci, telemetry, mode,
                          log, m, megabytes, d, driver, NULL };
    cpu_set_t processors;
    int code;

    snprintf(megabytes, sizeof megabytes, "%zu", (bytes >> 20) + 1);
    /* It ties the thread that starts it to one processor, and with it all
     * threads that this one will start. */
    (void)pthread_getaffinity_np(pthread_self(), sizeof processors, &processors);
    code = rte_eal_init((int)(sizeof arguments / sizeof arguments[0]) - 1, arguments);
    (void)pthread_setaffinity_np(pthread_self(), sizeof processors, &processors);
    started = code >= 0;
    return started;
}

static const char *rival_absent(void)
{
#ifdef BENCH_SANITIZER
    return "left out under " BENCH_SANITIZER;
#else
    return NULL;
#endif
}

static void *rival_create(const struct bench_cell *cell)
{
    size_t second = cell->parameter < SECOND ? cell->parameter : SECOND;
    size_t bytes = pool_bytes(cell->capacity + second, cell->slot_size);
    unsigned cache = RTE_MEMPOOL_CACHE_MAX_SIZE;
    static unsigned made;
    char name[24];

    if (cell->capacity > UINT32_MAX / 2)
        return NULL;
    if (!started && !start(bytes))
        bench_fail("rte_eal_init: %s", rte_strerror(rte_errno));
    if (cell->capacity < 2 * (size_t)cache)
        cache = (unsigned)cell->capacity / 2;
    snprintf(name, sizeof name, "bench%u", made++); /* each has a name of its own */
    return rte_mempool_create(name, (unsigned)cell->capacity, (unsigned)cell->slot_size, cache,
                              0, NULL, NULL, NULL, NULL, SOCKET_ID_ANY,
                              cell->slot_size < BENCH_LINE / 2 ? RTE_MEMPOOL_F_NO_CACHE_ALIGN : 0);
}

static void rival_destroy(void *pool)
{
    rte_mempool_free((struct rte_mempool *)pool);
}

static void *rival_enter(void *pool)
{
    (void)rte_thread_register(); /* fails when there are too many: then without a cache */
    return pool;
}

static void rival_leave(void *handle)
{
    (void)handle;
    rte_thread_unregister();
}

static const char *rival_version(void)
{
    return rte_version();
}

static inline void *rival_alloc(void *handle)
{
    void *slot;

    return rte_mempool_get((struct rte_mempool *)handle, &slot) == 0 ? slot : NULL;
}

static inline void *rival_calloc(void *handle, size_t size)
{
    return bench_clear(rival_alloc(handle), size);
}

static inline void rival_free(void *handle, void *slot)
{
    rte_mempool_put((struct rte_mempool *)handle, slot);
}

#include "workloads.h"

const struct bench_rival bench_rival_dpdk = {
    "dpdk", "DPDK's rte_mempool, a cache of 512 per thread",
    BENCH_POOL | BENCH_EAGER | BENCH_STRANDS, 8, SIZE_MAX,
    rival_absent, rival_version, rival_create, rival_destroy, rival_enter, rival_leave,
    rival_workloads, NULL
};
#pragma GCC diagnostic pop
