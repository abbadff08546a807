/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_urcu.h - liburcu's call_rcu, flavour memb, which has the system's barrier
 * (membarrier(2)) on the writers' side as libcpool has.
 *
 * Included by rival_urcu.c and rival_urcu_pool.c, which have defined rival_create,
 * rival_destroy, rival_alloc and rival_free, and URCU_ID, URCU_NAME and URCU_SUMMARY.
 * Sections are inlined.  All threads share the queue and the thread of liburcu's that call_rcu
 * makes by default.  One for each processor, or for each thread, takes as long, and holds back
 * three quarters to twice as many nodes.  Left out under sanitizers, which do not see liburcu's
 * inline assembly.
 */
#define _LGPL_SOURCE /* inline: functions of up to ten lines, which any program may have */
#include <urcu/urcu-memb.h>

#define RIVAL_HAS_END

/* Most threads that count what they have retired, or freed. */
#define URCU_THREADS 64u

struct urcu_count {
    uint64_t nodes; /* atomic: one thread's */
    char padding[BENCH_LINE - sizeof(uint64_t)];
};

static struct urcu_count urcu_retired[URCU_THREADS], urcu_freed[URCU_THREADS];
static unsigned urcu_retirers, urcu_freers; /* atomic: how many count */
static __thread struct urcu_count *urcu_mine;

static struct urcu_count *urcu_join(struct urcu_count *counts, unsigned *members)
{
    unsigned index = __atomic_fetch_add(members, 1, __ATOMIC_RELAXED);

    if (index >= URCU_THREADS)
        bench_fail("more threads than can be counted");
    return &counts[index];
}

/* Relaxed: a figure. */
static inline void urcu_add(struct urcu_count *count)
{
    __atomic_store_n(&count->nodes, count->nodes + 1, __ATOMIC_RELAXED);
}

static void *rival_domain_create(const struct bench_cell *cell, size_t bag)
{
    (void)cell, (void)bag;
    /* Here its thread is not tied to the processor of one of ours. */
    (void)urcu_memb_get_default_call_rcu_data();
    return urcu_freed;
}

/* Waits for all callbacks. */
static void rival_domain_destroy(void *domain)
{
    (void)domain;
    urcu_memb_barrier();
}

static void *rival_reader_enter(void *domain)
{
    (void)domain;
    urcu_memb_register_thread();
    urcu_mine = urcu_join(urcu_retired, &urcu_retirers);
    return urcu_mine;
}

static void rival_reader_leave(void *reader)
{
    (void)reader;
    urcu_memb_unregister_thread();
}

static inline void *rival_read(void *reader, void **place)
{
    (void)reader;
    urcu_memb_read_lock();
    return __atomic_load_n(place, __ATOMIC_ACQUIRE);
}

static inline void rival_read_end(void *reader)
{
    (void)reader;
    urcu_memb_read_unlock();
}

static size_t rival_held(void *domain)
{
    uint64_t freed = 0, retired = 0;
    unsigned i;

    (void)domain;
    for (i = 0; i < URCU_THREADS; i++)
        freed += __atomic_load_n(&urcu_freed[i].nodes, __ATOMIC_RELAXED);
    for (i = 0; i < URCU_THREADS; i++)
        retired += __atomic_load_n(&urcu_retired[i].nodes, __ATOMIC_RELAXED);
    return retired < freed ? 0 : (size_t)(retired - freed);
}

static void urcu_free(struct rcu_head *head)
{
    if (urcu_mine == NULL)
        urcu_mine = urcu_join(urcu_freed, &urcu_freers);
    rival_free(bench_pool, (char *)head - RETIRE_HEAD);
    urcu_add(urcu_mine);
}

static inline bool rival_retire(void *reader, void *node)
{
    urcu_add((struct urcu_count *)reader);
    urcu_memb_call_rcu((struct rcu_head *)(void *)((char *)node + RETIRE_HEAD), urcu_free);
    return false;
}

#include "rival_retire.h"

RIVAL_RETIRE(URCU_ID, URCU_NAME, URCU_SUMMARY, 0);
