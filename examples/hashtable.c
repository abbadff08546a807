/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hashtable.c - a hash table with lookups that take no lock.
 *
 * A bucket is a list sorted by key.  A removal marks the link of a node, so that nothing can be
 * inserted behind it, and then unlinks the node.  Insertions and both steps of a removal are
 * compare-and-swaps.  A lookup writes nothing to the table.
 * (T. Harris, "A pragmatic implementation of non-blocking linked-lists", DISC 2001; M. Michael,
 * "High performance dynamic lock-free hash tables and list-based sets", SPAA 2002.)
 *
 * Nodes are slots of a pool.  A lookup may still be at a node that has been unlinked, so the node
 * is retired: its slot goes back after all sections that may have found it.  For the same reason,
 * inside a section no address in a link can have been freed and handed out again, so the
 * compare-and-swaps need no tag.
 *
 * The number of buckets is fixed.  Call insertions and removals outside sections, because
 * they may have to wait for sections.
 *
 * ORDERING TABLE
 *   insert | CAS of a link  | release | publishes the new node's key, value and link to [follow]
 *   follow | load of a link | acquire | sees the node as it was inserted
 *   unlink | CAS of a link  | release | publishes the node behind, which this thread has followed
 *   mark   | CAS of a link  | release | the thread that sees it sees what came before
 *   failed | those CAS      | relaxed | the value that was found is not used
 *   own    | load and store | relaxed | no other thread sees the node, or the table
 *
 *     hashtable [threads [operations of each]]
 *
 *     cc -std=c11 hashtable.c $(pkg-config --cflags --libs cpool) -pthread
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L /* clock_gettime, where -std=c11 hides it */
#endif

#include <cpool/retire.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/*
 * ---- The table -------------------------------------------------------------
 */

/* The address of a node, or 0, with the mark in the lowest bit. */
typedef _Atomic uintptr_t link_t;

struct node {
    uint64_t key;
    uint64_t value;
    link_t next; /* marked if this node is removed */
};

struct table {
    cpool_t *nodes;
    cpool_domain_t *readers;
    link_t *buckets;
    size_t mask; /* number of buckets - 1 */
};

static bool is_marked(uintptr_t link)
{
    return (link & 1u) != 0;
}

static struct node *node_of(uintptr_t link)
{
    return (struct node *)(link & ~(uintptr_t)1);
}

static link_t *bucket_of(const struct table *self, uint64_t key)
{
    return &self->buckets[(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & self->mask];
}

/* A place in a bucket: the link to the first node with this key or a larger one. */
struct place {
    link_t *link;
    struct node *node; /* NULL at the end */
    uintptr_t next;    /* the node's link, not marked */
};

/* Returns NULL, or a removed node that it has unlinked on the way, which the caller retires. */
static struct node *search(link_t *bucket, uint64_t key, struct place *place)
{
    place->link = bucket;
    for (;;) {
        uintptr_t expected;

        place->node = node_of(atomic_load_explicit(place->link, memory_order_acquire));
        if (place->node == NULL) /* [follow] */
            return NULL;
        place->next = atomic_load_explicit(&place->node->next, memory_order_acquire); /* [follow] */
        expected = (uintptr_t)place->node;
        if (!is_marked(place->next)) {
            if (place->node->key >= key)
                return NULL;
            place->link = &place->node->next;
        } else if (atomic_compare_exchange_strong_explicit(
                       place->link, &expected, place->next - 1,
                       memory_order_release, memory_order_relaxed)) { /* [unlink] [failed] */
            return place->node;
        } else {
            place->link = bucket;
        }
    }
}

/*
 * Enters a section, and finds the key's place.  Removed nodes are retired outside, where this
 * thread's own section cannot hold them back.  Returns true if the key is there.
 */
static bool find_place(const struct table *self, cpool_reader_t *reader, uint64_t key,
                       struct place *place)
{
    struct node *removed;

    cpool_read_begin(reader);
    while ((removed = search(bucket_of(self, key), key, place)) != NULL) {
        cpool_read_end(reader);
        while (cpool_retire(reader, self->nodes, removed) != 0)
            sched_yield(); /* sections last, and as much is held back as may be */
        cpool_read_begin(reader);
    }
    return place->node != NULL && place->node->key == key;
}

/* Returns the node with this key, or NULL.  The caller is in a section, and may use the node
 * there. */
static const struct node *table_find(const struct table *self, uint64_t key)
{
    const link_t *link = bucket_of(self, key);

    for (;;) {
        const struct node *node = node_of(atomic_load_explicit(link, memory_order_acquire));

        if (node == NULL || node->key > key) /* [follow] */
            return NULL;
        link = &node->next;
        if (node->key == key)
            return is_marked(atomic_load_explicit(link, memory_order_acquire)) ? NULL : node;
    }
}

/*
 * Returns 0, EEXIST or ENOMEM.  Allocates the slot before the section, because inside one a dry
 * pool could not take back retired slots.
 */
static int table_insert(const struct table *self, cpool_reader_t *reader, uint64_t key,
                        uint64_t value)
{
    struct node *node = cpool_alloc(self->nodes);
    struct place place;

    if (node == NULL)
        return ENOMEM;
    node->key = key;
    node->value = value;
    while (!find_place(self, reader, key, &place)) {
        uintptr_t expected = (uintptr_t)place.node;
        bool inserted;

        atomic_store_explicit(&node->next, expected, memory_order_relaxed); /* [own] */
        inserted = atomic_compare_exchange_strong_explicit(
            place.link, &expected, (uintptr_t)node,
            memory_order_release, memory_order_relaxed); /* [insert] [failed] */
        cpool_read_end(reader);
        if (inserted)
            return 0;
    }
    cpool_read_end(reader);
    cpool_free(self->nodes, node); /* no reader has seen it */
    return EEXIST;
}

/* Returns false if the key is not there. */
static bool table_remove(const struct table *self, cpool_reader_t *reader, uint64_t key)
{
    struct place place;
    bool marked = false;

    while (!marked) {
        if (!find_place(self, reader, key, &place)) {
            cpool_read_end(reader);
            return false;
        }
        marked = atomic_compare_exchange_strong_explicit(
            &place.node->next, &place.next, place.next | 1u,
            memory_order_release, memory_order_relaxed); /* [mark] [failed] */
        cpool_read_end(reader);
    }
    (void)find_place(self, reader, key, &place); /* unlinks it, if no other thread has */
    cpool_read_end(reader);
    return true;
}

/* Up to `threads` threads may use the table, and each may hold back this many nodes. */
static int table_create(struct table *self, size_t capacity, size_t buckets, size_t threads,
                        size_t held)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_domain_config_t domain = CPOOL_DOMAIN_CONFIG_INIT;
    int code;

    config.name = "nodes";
    config.slot_size = sizeof(struct node);
    config.capacity = capacity + threads * held;
    self->mask = buckets - 1;
    self->buckets = calloc(buckets, sizeof *self->buckets);
    if (self->buckets == NULL)
        return CPOOL_ENOMEM;
    for (size_t i = 0; i < buckets; i++)
        atomic_init(&self->buckets[i], 0);
    code = cpool_create(&self->nodes, &config);
    if (code != 0)
        return code;
    domain.readers = threads;
    domain.max_held = held;
    return cpool_domain_create(&self->readers, &domain);
}

/* No other thread uses the table any more.  Returns the number of keys that were in it. */
static size_t table_destroy(struct table *self)
{
    size_t keys = 0;

    cpool_domain_destroy(self->readers);
    for (size_t i = 0; i <= self->mask; i++) {
        struct node *node = node_of(atomic_load_explicit(&self->buckets[i], memory_order_relaxed));

        while (node != NULL) { /* [own] */
            uintptr_t next = atomic_load_explicit(&node->next, memory_order_relaxed);

            keys += !is_marked(next);
            cpool_free(self->nodes, node);
            node = node_of(next);
        }
    }
    free(self->buckets);
    return cpool_destroy(self->nodes) == 0 ? keys : SIZE_MAX;
}

/*
 * ---- The threads -----------------------------------------------------------
 */

#define KEYS 4096u /* of each thread */
#define BUCKETS 4096u
#define HELD 256u /* nodes, by each thread */
#define THREADS_MAX 64u

static struct table table;
static size_t threads, operations;

/* A thread changes keys of its own, for which it knows what each call must return. */
struct worker {
    pthread_t thread;
    size_t index, found, inserted, removed, wrong, held;
    bool present[KEYS];
};

static uint64_t value_of(uint64_t key)
{
    return ~key * UINT64_C(0xbf58476d1ce4e5b9);
}

static void change(struct worker *worker, cpool_reader_t *reader, size_t number)
{
    uint64_t key = number * threads + worker->index;

    worker->present[number] = !worker->present[number];
    if (worker->present[number]) {
        worker->wrong += table_insert(&table, reader, key, value_of(key)) != 0;
        worker->inserted++;
    } else {
        worker->wrong += !table_remove(&table, reader, key);
        worker->removed++;
    }
}

/* The node does not change during the section, even if other threads remove it. */
static void look_up(struct worker *worker, cpool_reader_t *reader, uint64_t key, bool stay)
{
    const struct node *node;

    cpool_read_begin(reader);
    node = table_find(&table, key);
    if (key % threads == worker->index)
        worker->wrong += (node != NULL) != worker->present[key / threads];
    if (stay)
        sched_yield();
    if (node != NULL) {
        worker->wrong += node->key != key || node->value != value_of(key);
        worker->found++;
    }
    cpool_read_end(reader);
}

/* One operation in five is a change. */
static void *run(void *argument)
{
    struct worker *worker = argument;
    cpool_domain_stats_t stats = CPOOL_DOMAIN_STATS_INIT;
    cpool_reader_t *reader;
    uint64_t random = worker->index;

    if (cpool_reader_create(&reader, table.readers, 0) != CPOOL_OK)
        abort();
    for (size_t i = 0; i < operations; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        if (i % 5 == 0)
            change(worker, reader, (random >> 33) % KEYS);
        else
            look_up(worker, reader, (random >> 33) % (KEYS * threads), i % 256 == 1);
        if (i % 1024 == 0 && cpool_domain_read_stats(table.readers, &stats) == 0 &&
            stats.held > worker->held)
            worker->held = stats.held;
    }
    return NULL;
}

/* Runs the threads, and adds up their counts. */
static struct worker run_all(void)
{
    static struct worker workers[THREADS_MAX];
    struct worker sum = { .held = 0 };

    for (size_t i = 0; i < threads; i++) {
        workers[i].index = i;
        if (pthread_create(&workers[i].thread, NULL, run, &workers[i]) != 0)
            exit(1);
    }
    for (size_t i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        sum.found += workers[i].found;
        sum.inserted += workers[i].inserted;
        sum.removed += workers[i].removed;
        sum.wrong += workers[i].wrong;
        sum.held = workers[i].held > sum.held ? workers[i].held : sum.held;
    }
    return sum;
}

static double seconds(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    struct worker sum;
    double start = seconds();
    size_t stay;

    threads = argc > 1 ? strtoul(argv[1], NULL, 10) : 4;
    operations = argc > 2 ? strtoul(argv[2], NULL, 10) : 200000;
    if (threads < 1 || threads > THREADS_MAX || operations < 1 || argc > 3) {
        fprintf(stderr, "usage: hashtable [threads [operations of each]]\n");
        return 2;
    }
    if (table_create(&table, threads * KEYS, BUCKETS, threads, HELD) != 0)
        return 1;
    sum = run_all();
    printf("%zu threads, %zu operations of each, %.0f ns for one\n", threads, operations,
           (seconds() - start) * 1e9 / (double)operations);
    stay = table_destroy(&table);
    printf("%zu keys found, %zu inserted, %zu removed, %zu stay\n", sum.found, sum.inserted,
           sum.removed, stay);
    printf("%zu of %zu nodes held back at most\n", sum.held, HELD * threads);
    printf("%zu results wrong\n", sum.wrong);
    return sum.wrong == 0 && sum.inserted - sum.removed == stay ? 0 : 1;
}
