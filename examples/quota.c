/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * quota.c - subsystems that share a pool, each with a limit of its own.
 *
 * A quota is one counter of the program's.  Taking a slot counts it first, so that no
 * subsystem ever has more than its limit, and gives the count back if the pool is dry.
 * Limits that add up to the capacity of the pool give each subsystem a share that
 * no other can take.  Larger ones let them share what is free.
 *
 * A slot goes back through the quota by which it was taken.
 *
 *     cc -std=c11 quota.c $(pkg-config --cflags --libs cpool)
 */
#include <cpool.h>
#include <stdatomic.h>
#include <stdio.h>

struct quota {
    const char *name;
    size_t limit;
    atomic_size_t live; /* never above the limit */
};

/* Counts one more.  Returns false if the limit is reached. */
static bool quota_take(struct quota *quota)
{
    size_t live = atomic_load_explicit(&quota->live, memory_order_relaxed);

    do {
        if (live >= quota->limit)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&quota->live, &live, live + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

static void quota_give(struct quota *quota)
{
    atomic_fetch_sub_explicit(&quota->live, 1, memory_order_relaxed);
}

/* Returns NULL beyond the limit, and when the pool is dry. */
static void *quota_alloc(struct quota *quota, cpool_t *pool)
{
    void *slot;

    if (!quota_take(quota))
        return NULL;
    slot = cpool_alloc(pool);
    if (slot == NULL)
        quota_give(quota);
    return slot;
}

/* The slot first: it is in the pool when the count falls. */
static void quota_free(struct quota *quota, cpool_t *pool, void *slot)
{
    cpool_free(pool, slot);
    quota_give(quota);
}

#define BUFFERS 100

/* Takes as many as there are.  Returns how many. */
static size_t take_all(struct quota *quota, cpool_t *pool, void **slots)
{
    size_t n = 0;

    while (n < BUFFERS && (slots[n] = quota_alloc(quota, pool)) != NULL)
        n++;
    printf("%s: %zu of at most %zu\n", quota->name, n, quota->limit);
    return n;
}

static void give_all(struct quota *quota, cpool_t *pool, void **slots, size_t n)
{
    while (n > 0)
        quota_free(quota, pool, slots[--n]);
}

int main(void)
{
    static struct quota network = { "network", 70, 0 };
    static struct quota disk = { "disk", 60, 0 };
    cpool_config_t config = CPOOL_CONFIG_INIT;
    void *received[BUFFERS], *read[BUFFERS];
    size_t packets, blocks;
    cpool_t *buffers;

    config.name = "buffers";
    config.slot_size = 2048;
    config.capacity = BUFFERS;
    if (cpool_create(&buffers, &config) != 0)
        return 1;
    packets = take_all(&network, buffers, received); /* the limit's */
    blocks = take_all(&disk, buffers, read);         /* the pool's rest */
    give_all(&network, buffers, received, packets);
    give_all(&disk, buffers, read, blocks);
    blocks = take_all(&disk, buffers, read); /* the limit's */
    give_all(&disk, buffers, read, blocks);
    return cpool_destroy(buffers) == 0 ? 0 : 1;
}
