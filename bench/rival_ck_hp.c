/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_ck_hp.c - Concurrency Kit's hazard pointers, with nodes from a pool of libcpool: one
 * pointer a thread, and ck_hp_free, which scans the readers when a bag of nodes is waiting.  Left
 * out under sanitizers, which do not see Concurrency Kit's inline assembly.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "bench.h"

#if defined(HAVE_CK) && HAVE_CK

#include <ck_hp.h>

#include "rival_cpool.h"

/* A thread's record, which must never be freed. */
struct hazard_reader {
    ck_hp_record_t record;
    void *pointer;
    char padding[BENCH_LINE];
};

static struct hazard_domain {
    ck_hp_t hazards;
    unsigned readers; /* atomic */
    struct hazard_reader *reader;
} hazard_domain;

static void hazard_free(void *node)
{
    cpool_free((cpool_t *)bench_pool, node);
}

static void *rival_domain_create(const struct bench_cell *cell, size_t bag)
{
    hazard_domain.reader =
        (struct hazard_reader *)bench_memory(cell->threads, sizeof *hazard_domain.reader);
    ck_hp_init(&hazard_domain.hazards, 1, (unsigned)bag, hazard_free);
    return &hazard_domain;
}

static void *rival_reader_enter(void *domain)
{
    struct hazard_reader *reader =
        &hazard_domain.reader[__atomic_fetch_add(&hazard_domain.readers, 1, __ATOMIC_RELAXED)];

    (void)domain;
    ck_hp_register(&hazard_domain.hazards, &reader->record, &reader->pointer);
    return reader;
}

static void rival_reader_leave(void *reader)
{
    ck_hp_purge(&((struct hazard_reader *)reader)->record);
}

/* The pointer protects the node if the node is still in its place afterwards. */
static inline void *rival_read(void *reader, void **place)
{
    ck_hp_record_t *record = &((struct hazard_reader *)reader)->record;
    void *node;

    do {
        node = __atomic_load_n(place, __ATOMIC_ACQUIRE);
        ck_hp_set_fence(record, 0, node);
    } while (BENCH_UNLIKELY(node != __atomic_load_n(place, __ATOMIC_ACQUIRE)));
    return node;
}

static inline void rival_read_end(void *reader)
{
    ck_pr_fence_release();
    ck_hp_set(&((struct hazard_reader *)reader)->record, 0, NULL);
}

static inline bool rival_retire(void *reader, void *node)
{
    ck_hp_hazard_t *hazard = (ck_hp_hazard_t *)(void *)((char *)node + RETIRE_HEAD);

    ck_hp_free(&((struct hazard_reader *)reader)->record, hazard, node, node);
    return false;
}

static size_t rival_held(void *domain)
{
    unsigned readers = __atomic_load_n(&hazard_domain.readers, __ATOMIC_RELAXED), i;
    size_t held = 0;

    (void)domain;
    for (i = 0; i < readers; i++)
        held += ck_pr_load_uint(&hazard_domain.reader[i].record.n_pending);
    return held;
}

#include "rival_retire.h"

RIVAL_RETIRE(bench_rival_ck_hp, "ck_hp",
             "Concurrency Kit's hazard pointers, nodes from a pool of libcpool", 0);

#else

BENCH_ABSENT(ck_hp, "ck_hp", "Concurrency Kit's hazard pointers, nodes from a pool of libcpool",
             "configure did not use Concurrency Kit")

#endif
