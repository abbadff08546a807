/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_ck_epoch.c - Concurrency Kit's epochs, with nodes from a pool of libcpool: ck_epoch_call,
 * with a poll for every bag of nodes, where its manual polls after each node.  Left out under
 * sanitizers, which do not see Concurrency Kit's inline assembly.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "bench.h"

#if defined(HAVE_CK) && HAVE_CK

#include <ck_epoch.h>

#include "rival_cpool.h"

/* A thread's record, which must never be freed. */
struct epoch_reader {
    ck_epoch_record_t record;
    size_t until_poll;
    char padding[BENCH_LINE];
};

static struct epoch_domain {
    ck_epoch_t epoch;
    size_t bag;
    unsigned readers; /* atomic */
    struct epoch_reader *reader;
} epoch_domain;

static void *rival_domain_create(const struct bench_cell *cell, size_t bag)
{
    epoch_domain.bag = bag;
    epoch_domain.reader =
        (struct epoch_reader *)bench_memory(cell->threads, sizeof *epoch_domain.reader);
    ck_epoch_init(&epoch_domain.epoch);
    return &epoch_domain;
}

static void *rival_reader_enter(void *domain)
{
    struct epoch_reader *reader =
        &epoch_domain.reader[__atomic_fetch_add(&epoch_domain.readers, 1, __ATOMIC_RELAXED)];

    (void)domain;
    ck_epoch_register(&epoch_domain.epoch, &reader->record, NULL);
    reader->until_poll = epoch_domain.bag;
    return reader;
}

static void rival_reader_leave(void *reader)
{
    ck_epoch_barrier(&((struct epoch_reader *)reader)->record);
}

static inline void *rival_read(void *reader, void **place)
{
    ck_epoch_begin(&((struct epoch_reader *)reader)->record, NULL);
    return __atomic_load_n(place, __ATOMIC_ACQUIRE);
}

static inline void rival_read_end(void *reader)
{
    ck_epoch_end(&((struct epoch_reader *)reader)->record, NULL);
}

static void epoch_free(ck_epoch_entry_t *entry)
{
    cpool_free((cpool_t *)bench_pool, (char *)entry - RETIRE_HEAD);
}

static inline bool rival_retire(void *handle, void *node)
{
    struct epoch_reader *reader = (struct epoch_reader *)handle;
    ck_epoch_entry_t *entry = (ck_epoch_entry_t *)(void *)((char *)node + RETIRE_HEAD);

    ck_epoch_call(&reader->record, entry, epoch_free);
    if (--reader->until_poll == 0) {
        reader->until_poll = epoch_domain.bag;
        (void)ck_epoch_poll(&reader->record);
    }
    return false;
}

static size_t rival_held(void *domain)
{
    unsigned readers = __atomic_load_n(&epoch_domain.readers, __ATOMIC_RELAXED), i;
    size_t held = 0;

    (void)domain;
    for (i = 0; i < readers; i++)
        held += ck_pr_load_uint(&epoch_domain.reader[i].record.n_pending);
    return held;
}

#include "rival_retire.h"

RIVAL_RETIRE(bench_rival_ck_epoch, "ck_epoch",
             "Concurrency Kit's epochs, nodes from a pool of libcpool", 0);

#else

BENCH_ABSENT(ck_epoch, "ck_epoch", "Concurrency Kit's epochs, nodes from a pool of libcpool",
             "configure did not use Concurrency Kit")

#endif
