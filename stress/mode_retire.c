/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode_retire.c - lock-free lists whose nodes are retired.
 *
 * Includes worker.h.  The lists are Harris and Michael's, with few keys and several threads at each
 * node.  The nodes come from two pools of one domain.  A node that went back is poisoned by
 * the thread that takes it next, before anything else.  A reader that finds the poison in its
 * section fails, and a read that the domain does not order before the poison is a data race.
 *
 * The threads end in all ways, also inside sections.  The remaining keys are those that were
 * inserted and not removed, and a drained pool has all slots except theirs.
 *
 * ORDERING TABLE
 *   insert | CAS of a link  | release | publishes the new node to [follow]
 *   follow | load of a link | acquire | sees the node as it was inserted
 *   unlink | CAS of a link  | release | publishes the node behind, which this thread has followed
 *   mark   | CAS of a link  | release | nothing: the others only check the mark
 *   failed | those CAS      | relaxed | the value that was found is not used
 *   own    | store, load    | relaxed | no other thread sees the node, or the list
 *   count  | balance        | relaxed | the main thread reads it when all have ended
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "worker.h"

#include <cpool/retire.h>
#include <cpool/track.h>
#include <sched.h>
#include <string.h>

#define RETIRE_KEYS 64
#define RETIRE_BUCKETS 8
#define RETIRE_POOLS 2
#define RETIRE_POISON 0xb5
#define RETIRE_STEPS 400

/* The address of a node, or 0, with a mark in the lowest bit if the node that contains this link is
 * removed. */
typedef _Atomic uintptr_t retire_link;

struct retire_node {
    uint64_t key;
    uint64_t home;  /* which pool's */
    uint64_t proof; /* made from these and the address */
    retire_link next;
};

struct retire {
    cpool_domain_t *domain;
    cpool_t *pools[RETIRE_POOLS];
    bool tracked[RETIRE_POOLS];
    size_t keys;
    size_t buckets;
    retire_link heads[RETIRE_BUCKETS];
    _Atomic int balance[RETIRE_KEYS]; /* insertions less removals */
};

/* A place in a list: the link to the first node with this key or a larger one. */
struct retire_place {
    retire_link *link;
    struct retire_node *node;
    uintptr_t next;
};

/* ---- Nodes --------------------------------------------------------------------- */

static struct retire_node *retire_node_of(uintptr_t link)
{
    return (struct retire_node *)(link & ~(uintptr_t)1);
}

static uint64_t retire_proof(const struct retire_node *node)
{
    return random_mix(node->key ^ (node->home << 32) ^ (uint64_t)(uintptr_t)node);
}

/* Called inside the section that has found the node. */
static void retire_verify(const struct retire *retire, const struct retire_node *node)
{
    if (node->key >= retire->keys || node->home >= RETIRE_POOLS ||
        node->proof != retire_proof(node))
        stress_fail("a reader sees a node that went back: key %llx, proof %llx",
                    (unsigned long long)node->key, (unsigned long long)node->proof);
}

static struct retire_node *retire_make(struct worker *worker, struct retire *retire, uint64_t key)
{
    size_t home = random_below(&worker->random, RETIRE_POOLS);
    struct retire_node *node = cpool_alloc(retire->pools[home]);

    worker->operations++;
    if (node == NULL) {
        worker->dry++;
        return NULL;
    }
    memset(node, RETIRE_POISON, sizeof *node);
    if (random_once_in(&worker->random, 16))
        sched_yield();
    node->key = key;
    node->home = home;
    node->proof = retire_proof(node);
    return node;
}

/* Called outside sections.  The handle of a tracked slot is stale from then on. */
static void retire_node(struct worker *worker, struct retire *retire, cpool_reader_t *reader,
                        struct retire_node *node)
{
    size_t home = (size_t)node->home;
    cpool_handle_t handle = CPOOL_HANDLE_NONE;
    int code;

    if (retire->tracked[home])
        handle = cpool_handle(retire->pools[home], node);
    while ((code = cpool_retire(reader, retire->pools[home], node)) == CPOOL_EHELD)
        sched_yield();
    STRESS_REQUIRE(code == 0);
    STRESS_REQUIRE(handle == CPOOL_HANDLE_NONE ||
                   cpool_resolve(retire->pools[home], handle) == NULL);
    worker->operations++;
}

/* ---- Lists --------------------------------------------------------------------- */

static retire_link *retire_head(struct retire *retire, uint64_t key)
{
    return &retire->heads[key % retire->buckets];
}

/* Returns NULL, or a removed node that it has unlinked on the way. */
static struct retire_node *retire_search(struct retire *retire, uint64_t key,
                                         struct retire_place *place)
{
    place->link = retire_head(retire, key);
    for (;;) {
        uintptr_t expected;

        place->node = retire_node_of(atomic_load_explicit(place->link, memory_order_acquire));
        if (place->node == NULL) /* [follow] */
            return NULL;
        retire_verify(retire, place->node);
        place->next = atomic_load_explicit(&place->node->next, memory_order_acquire); /* [follow] */
        expected = (uintptr_t)place->node;
        if ((place->next & 1) == 0) {
            if (place->node->key >= key)
                return NULL;
            place->link = &place->node->next;
        } else if (atomic_compare_exchange_strong_explicit(
                       place->link, &expected, place->next - 1, memory_order_release,
                       memory_order_relaxed)) { /* [unlink] [failed] */
            return place->node;
        } else {
            place->link = retire_head(retire, key);
        }
    }
}

/* Enters a section, and finds the key's place.  Returns true if the key is there. */
static bool retire_find(struct worker *worker, struct retire *retire, cpool_reader_t *reader,
                        uint64_t key, struct retire_place *place)
{
    struct retire_node *removed;

    cpool_read_begin(reader);
    while ((removed = retire_search(retire, key, place)) != NULL) {
        cpool_read_end(reader);
        retire_node(worker, retire, reader, removed);
        cpool_read_begin(reader);
    }
    return place->node != NULL && place->node->key == key;
}

static void retire_insert(struct worker *worker, struct retire *retire, cpool_reader_t *reader,
                          uint64_t key)
{
    struct retire_node *node = retire_make(worker, retire, key);
    struct retire_place place;

    if (node == NULL)
        return;
    while (!retire_find(worker, retire, reader, key, &place)) {
        uintptr_t expected = (uintptr_t)place.node;
        bool inserted;

        atomic_store_explicit(&node->next, expected, memory_order_relaxed); /* [own] */
        inserted = atomic_compare_exchange_strong_explicit(
            place.link, &expected, (uintptr_t)node, memory_order_release,
            memory_order_relaxed); /* [insert] [failed] */
        cpool_read_end(reader);
        if (inserted) {
            atomic_fetch_add_explicit(&retire->balance[key], 1, memory_order_relaxed); /* [count] */
            return;
        }
    }
    cpool_read_end(reader);
    cpool_free(retire->pools[node->home], node);
}

static void retire_remove(struct worker *worker, struct retire *retire, cpool_reader_t *reader,
                          uint64_t key)
{
    struct retire_place place;
    bool marked = false;

    while (!marked) {
        if (!retire_find(worker, retire, reader, key, &place)) {
            cpool_read_end(reader);
            return;
        }
        marked = atomic_compare_exchange_strong_explicit(
            &place.node->next, &place.next, place.next | 1, memory_order_release,
            memory_order_relaxed); /* [mark] [failed] */
        cpool_read_end(reader);
    }
    atomic_fetch_sub_explicit(&retire->balance[key], 1, memory_order_relaxed); /* [count] */
    (void)retire_find(worker, retire, reader, key, &place);
    cpool_read_end(reader);
}

/* Walks through a list, and stays at some nodes for a while. */
static void retire_walk(struct worker *worker, struct retire *retire, uint64_t key)
{
    const retire_link *link = retire_head(retire, key);
    const struct retire_node *node;

    while ((node = retire_node_of(atomic_load_explicit(link, memory_order_acquire))) != NULL) {
        retire_verify(retire, node); /* [follow] */
        if (random_once_in(&worker->random, 32)) {
            sched_yield();
            retire_verify(retire, node);
        }
        link = &node->next;
    }
    worker->operations++;
}

/* ---- Threads ------------------------------------------------------------------- */

/* Reads in one section; or in several, in a thread that announces when it is quiescent; or in
 * nested ones. */
static void retire_read(struct worker *worker, struct retire *retire, cpool_reader_t *reader)
{
    size_t walks = random_between(&worker->random, 1, 3);
    bool nested = random_once_in(&worker->random, 4);

    cpool_read_begin(reader);
    while (walks-- > 0) {
        if (nested)
            cpool_read_begin(reader);
        retire_walk(worker, retire, random_below(&worker->random, retire->keys));
        if (nested)
            cpool_read_end(reader);
        else if (random_once_in(&worker->random, 2))
            cpool_read_quiescent(reader);
    }
    cpool_read_end(reader);
}

static void retire_step(struct worker *worker, struct retire *retire, cpool_reader_t *reader)
{
    uint64_t key = random_below(&worker->random, retire->keys);
    cpool_domain_stats_t stats = CPOOL_DOMAIN_STATS_INIT;

    switch (random_below(&worker->random, 64)) {
    case 0:
        (void)cpool_retire_flush(reader, 0);
        break;
    case 1:
        STRESS_REQUIRE(cpool_retire_flush(reader, CPOOL_FLUSH_WAIT) == 0);
        break;
    case 2:
        STRESS_REQUIRE(cpool_domain_read_stats(retire->domain, &stats) == 0);
        break;
    default:
        if (random_once_in(&worker->random, 3))
            retire_read(worker, retire, reader);
        else if (random_once_in(&worker->random, 2))
            retire_insert(worker, retire, reader, key);
        else
            retire_remove(worker, retire, reader, key);
    }
}

/* With the thread's reader, or with an explicit one. */
static void retire_steps(struct worker *worker)
{
    struct retire *retire = worker->context;
    size_t steps = random_between(&worker->random, 1, RETIRE_STEPS);
    bool own = random_once_in(&worker->random, 8);
    cpool_reader_t *reader;
    int code = cpool_reader_create(&reader, retire->domain, own ? CPOOL_READER_UNOWNED : 0);

    STRESS_REQUIRE(code == 0 || code == CPOOL_ELIMIT);
    if (code != 0) { /* readers of ended threads wait for sections */
        sched_yield();
        return;
    }
    while (steps-- > 0 && !episode_over(worker->episode))
        retire_step(worker, retire, reader);
    if (own)
        cpool_reader_destroy(reader);
}

/* A thread that ends inside a section. */
static void retire_life(struct worker *worker)
{
    struct retire *retire = worker->context;
    cpool_reader_t *reader;

    retire_steps(worker);
    if (cpool_reader_create(&reader, retire->domain, 0) == 0 &&
        random_once_in(&worker->random, 2)) {
        cpool_read_begin(reader);
        retire_walk(worker, retire, 0);
    }
}

static void retire_body(struct worker *worker)
{
    while (!episode_over(worker->episode))
        if (random_once_in(&worker->random, 8))
            worker_reborn(worker, retire_life);
        else
            retire_steps(worker);
}

/* ---- Episodes ------------------------------------------------------------------ */

static void retire_open_pool(struct retire *retire, size_t i, uint64_t *random)
{
    cpool_config_t config = arena_draw(random, ARENA_TIGHT);

    config.slot_size = sizeof(struct retire_node) + 8 * random_below(random, 4);
    config.slot_align = 0;
    config.slot_offset = 0;
    config.magazine_rounds = 0;
    config.thread_caches = 0;
    if (random_once_in(random, 3))
        config.flags |= CPOOL_TRACKED;
    else if (random_once_in(random, 3))
        config.flags |= CPOOL_CHECKED;
    retire->tracked[i] = (config.flags & (CPOOL_CHECKED | CPOOL_TRACKED)) != 0;
    STRESS_REQUIRE(cpool_create(&retire->pools[i], &config) == 0);
}

/* Returns the number of slots that come out of a pool, including retired ones. */
static size_t retire_drain(cpool_t *pool)
{
    struct retire_node *all = NULL;
    struct retire_node *node;
    size_t n = 0;

    for (; (node = cpool_alloc(pool)) != NULL; n++) {
        atomic_init(&node->next, (uintptr_t)all);
        all = node;
    }
    while ((node = all) != NULL) {
        all = retire_node_of(atomic_load_explicit(&node->next, memory_order_relaxed)); /* [own] */
        cpool_free(pool, node);
    }
    return n;
}

/* Counts the nodes, empties the lists, and compares the keys with the balance. */
static void retire_count(struct retire *retire, size_t *linked)
{
    for (size_t i = 0; i < retire->buckets; i++) {
        uintptr_t link = atomic_load_explicit(&retire->heads[i], memory_order_relaxed); /* [own] */

        while (link != 0) {
            struct retire_node *node = retire_node_of(link);

            retire_verify(retire, node);
            link = atomic_load_explicit(&node->next, memory_order_relaxed); /* [own] */
            linked[node->home]++;
            if ((link & 1) == 0)
                atomic_fetch_sub_explicit(&retire->balance[node->key], 1, memory_order_relaxed);
            link &= ~(uintptr_t)1; /* [count] */
        }
    }
    for (size_t key = 0; key < retire->keys; key++)
        STRESS_REQUIRE(atomic_load_explicit(&retire->balance[key], memory_order_relaxed) == 0);
}

static void retire_close(struct retire *retire)
{
    for (size_t i = 0; i < retire->buckets; i++) {
        struct retire_node *node;

        while ((node = retire_node_of(
                    atomic_load_explicit(&retire->heads[i], memory_order_relaxed))) != NULL) {
            atomic_store_explicit(&retire->heads[i],
                                  atomic_load_explicit(&node->next, memory_order_relaxed),
                                  memory_order_relaxed); /* [own] */
            cpool_free(retire->pools[node->home], node);
        }
    }
    for (size_t i = 0; i < RETIRE_POOLS; i++)
        STRESS_REQUIRE(cpool_destroy(retire->pools[i]) == 0);
}

/* All threads have ended.  Slots that they retired come back when a pool is dry, or by a
 * barrier. */
static void retire_audit(struct retire *retire)
{
    size_t linked[RETIRE_POOLS] = {0};
    cpool_domain_stats_t held = CPOOL_DOMAIN_STATS_INIT;
    cpool_reader_t *reader;

    retire_count(retire, linked);
    for (size_t i = 0; i < RETIRE_POOLS; i++) {
        cpool_stats_t stats = CPOOL_STATS_INIT;

        STRESS_REQUIRE(cpool_read_stats(retire->pools[i], &stats) == 0);
        STRESS_REQUIRE(retire_drain(retire->pools[i]) + linked[i] >= stats.capacity);
    }
    STRESS_REQUIRE(cpool_reader_create(&reader, retire->domain, 0) == 0);
    STRESS_REQUIRE(cpool_retire_flush(reader, CPOOL_FLUSH_WAIT) == 0);
    STRESS_REQUIRE(cpool_domain_read_stats(retire->domain, &held) == 0 && held.held == 0);
    STRESS_REQUIRE(cpool_domain_destroy(retire->domain) == 0);
}

static void retire_run(struct episode *episode)
{
    uint64_t *random = &episode->random;
    struct retire retire = {.keys = random_between(random, 1, RETIRE_KEYS)};
    cpool_domain_config_t config = CPOOL_DOMAIN_CONFIG_INIT;

    retire.buckets = random_between(random, 1, RETIRE_BUCKETS);
    for (size_t i = 0; i < RETIRE_POOLS; i++)
        retire_open_pool(&retire, i, random);
    config.readers = episode->threads * 2 + 1;
    config.max_held = random_between(random, 4, 256);
    STRESS_REQUIRE(cpool_domain_create(&retire.domain, &config) == 0);
    crew_run(episode, retire_body, &retire, NULL);
    retire_audit(&retire);
    retire_close(&retire);
}

const struct mode mode_retire = {
    .name = "retire",
    .purpose = "lists without locks, and readers of nodes that are retired",
    .run = retire_run,
};
