/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * whole_retire.c - a section, and a writer that replaces what it reads and retires the old slot.
 *
 * QUIETS   how often the section says that it has forgotten all, 1 by default
 * FLUSHES  the writer flushes after each retire
 * TAKES    another thread takes all slots that there are, and frees them
 * WAITS    another thread waits for a slot
 *
 * Holds: nobody writes to a slot that a section reads, and all slots come back.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#include <cpool.h>
#include <cpool/wait.h>

#include "../../ext/retire/tests/domains.h"

#ifndef QUIETS
#define QUIETS 1
#endif

enum { CAPACITY = 3, TURNS = 2, READERS = 4, HELD = 4 };

typedef struct {
    long value; /* 0: nobody has written it */
    long rest[7];
} node;

static _Alignas(64) char region[1 << 15];
static cpool_t *pool;
static cpool_domain_t *domain;
static node *_Atomic shown;

static void use_shown(void)
{
    node *one = atomic_load_explicit(&shown, memory_order_acquire);

    assert(one == NULL || one->value > 0);
}

static void *read(void *unused)
{
    cpool_reader_t *reader = reader_in(domain, 0);

    (void)unused;
    assert(reader != NULL);
    cpool_read_begin(reader);
    use_shown();
    for (int i = 0; i < QUIETS; i++) {
        cpool_read_quiescent(reader);
        use_shown();
    }
    cpool_read_end(reader);
    whole_end_thread();
    return NULL;
}

/* Another thread that is at the bags goes on meanwhile. */
static void give_way(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

static void *write(void *unused)
{
    cpool_reader_t *reader = reader_in(domain, 0);

    (void)unused;
    assert(reader != NULL);
    for (int i = 0; i < TURNS; i++) {
        node *old = atomic_load_explicit(&shown, memory_order_relaxed);
        node *next = cpool_alloc(pool);

        if (next != NULL)
            next->value = 10 + i;
        atomic_store_explicit(&shown, next, memory_order_release);
        while (old != NULL && cpool_retire(reader, pool, old) != 0)
            give_way();
#ifdef FLUSHES
        (void)cpool_retire_flush(reader, 0);
#endif
    }
    whole_end_thread();
    return NULL;
}

#ifdef TAKES
static void *take(void *unused)
{
    node *mine[CAPACITY];
    int n = 0;

    (void)unused;
    while (n < CAPACITY && (mine[n] = cpool_alloc(pool)) != NULL)
        mine[n++]->value = -1;
    while (n > 0)
        cpool_free(pool, mine[--n]);
    whole_end_thread();
    return NULL;
}
#endif

#ifdef WAITS
static void *await(void *unused)
{
    node *one = cpool_alloc_wait(pool, NULL);

    (void)unused;
    assert(one != NULL);
    one->value = -1;
    cpool_free(pool, one);
    whole_end_thread();
    return NULL;
}
#endif

static void audit(void)
{
    cpool_reader_t *reader = reader_in(domain, 0);
    int count = atomic_load_explicit(&shown, memory_order_relaxed) != NULL;

    assert(reader != NULL && cpool_retire_flush(reader, CPOOL_FLUSH_WAIT) == 0);
    assert(domain_stats(domain).held == 0);
    while (cpool_alloc(pool) != NULL)
        count++;
    assert(count == CAPACITY);
}

int main(void)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    pthread_t thread[3];
    node *first;
    int n = 0;

    config.slot_size = sizeof(node);
    config.capacity = CAPACITY;
    config.magazine_rounds = 1;
    config.memory = region;
    config.memory_size = sizeof region;
    config.thread_caches = 5;
    assert(cpool_create(&pool, &config) == 0);
    assert(domain_create(&domain, READERS, HELD, 0) == 0);
    first = cpool_alloc(pool);
    first->value = 1;
    atomic_store_explicit(&shown, first, memory_order_relaxed);
    pthread_create(&thread[n++], NULL, read, NULL);
    pthread_create(&thread[n++], NULL, write, NULL);
#ifdef TAKES
    pthread_create(&thread[n++], NULL, take, NULL);
#endif
#ifdef WAITS
    pthread_create(&thread[n++], NULL, await, NULL);
#endif
    while (n > 0)
        pthread_join(thread[--n], NULL);
    audit();
    return 0;
}
