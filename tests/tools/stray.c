/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stray.c - a wrong program: a thread writes to a slot that it has freed.
 *
 *   stray early    after its free, and before another thread gets the slot
 *   stray late     when another thread has the slot and has written to it
 *
 * ThreadSanitizer is to find the race.  The order in which all this happens is
 * brought about by relaxed operations, which order nothing else.
 *
 * Compiled by check-tsan.sh with -fsanitize=thread, as a user would.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cpool.h>

static cpool_t *pool;
static bool is_late;
static atomic_int turn;

static void await(int wanted)
{
    while (atomic_load_explicit(&turn, memory_order_relaxed) != wanted)
        sched_yield();
}

static void pass_to(int next)
{
    atomic_store_explicit(&turn, next, memory_order_relaxed);
}

/* Registers a cache under a lock.  Its order could hide later ones. */
static void warm_up(void)
{
    void *slot = cpool_alloc(pool);

    if (slot == NULL)
        abort();
    cpool_free(pool, slot);
}

static void write_to(int *slot)
{
    *slot = 1;
}

static void *stray(void *argument)
{
    int *slot;

    await(1);
    slot = cpool_alloc(pool);
    if (slot == NULL)
        abort();
    write_to(slot);
    cpool_free(pool, slot);
    if (!is_late)
        write_to(slot);
    pass_to(2);
    await(3);
    if (is_late)
        write_to(slot);
    return argument;
}

int main(int argc, char **argv)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    pthread_t thread;
    int *slot;

    is_late = argc > 1 && strcmp(argv[1], "late") == 0;
    config.slot_size = sizeof(*slot);
    config.capacity = 1;
    if (cpool_create(&pool, &config) != CPOOL_OK)
        abort();
    warm_up();
    if (pthread_create(&thread, NULL, stray, NULL) != 0)
        abort();
    pass_to(1);
    await(2);
    slot = cpool_alloc(pool);
    if (slot == NULL)
        abort();
    write_to(slot);
    pass_to(3);
    pthread_join(thread, NULL);
    cpool_free(pool, slot);
    puts("not found");
    return 0;
}
