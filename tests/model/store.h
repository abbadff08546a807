/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * store.h - a depot of a few magazines, and the slots they list.
 *
 * The library's depot.c and extent.c, compiled here, on static memory in place
 * of the operating system's.
 */
#ifndef MODEL_STORE_H
#define MODEL_STORE_H

#include "model.h"

#include "depot/depot.c"
#include "depot/extent.c"

/* Rounds in a full magazine. */
#ifndef MODEL_LIMIT
#define MODEL_LIMIT 2
#endif

/* Magazines that there is memory for, and more of them for what caches hold. */
#ifndef MODEL_MAGAZINES
#define MODEL_MAGAZINES 4
#endif
#ifndef MODEL_FOR_CACHES
#define MODEL_FOR_CACHES 0
#endif

/* Operations without a cache at once. */
#ifndef MODEL_VISITORS
#define MODEL_VISITORS 2u
#endif

#ifndef MODEL_SLOTS
#define MODEL_SLOTS 4
#endif

/* A magazine, laid out in full for the checker, which wants to know types. */
struct model_magazine {
    _Atomic uint32_t link;
    _Atomic uint32_t count;
    void *rounds[7];
};

static struct model_magazine model_magazines[MODEL_MAGAZINES + MODEL_FOR_CACHES];
#ifndef model_depot /* a part of something larger */
static struct cpi_depot model_depot;
#endif
static struct cpi_counters model_counters[MODEL_THREADS_MAX];

/* A slot counts its owners' uses of it. */
static int model_slots[MODEL_SLOTS];

/* Executions in which a thread would have to wait more than once are dropped. */
void cpi_os_back_off(unsigned times)
{
    __VERIFIER_assume(times == 0);
}

uint64_t cpi_os_now(void)
{
    return 0;
}

/* Stands for the operating system: the memory that has been committed. */
static _Atomic int model_usable[MODEL_MAGAZINES];

/* Only the second thread is granted all there is.  So the others' commits have
 * to be made in steps, and no model needs the last magazine. */
bool cpi_os_commit(void *address, size_t size)
{
    size_t i = (size_t)((struct model_magazine *)address - model_magazines);
    size_t end = i + size / sizeof(struct model_magazine);

    assert(end <= MODEL_MAGAZINES);
    if (end == MODEL_MAGAZINES && model_self != 2)
        return false;
    for (; i < end; i++)
        atomic_fetch_add_explicit(&model_usable[i], 1, memory_order_relaxed);
    return true;
}

/* The first n magazines are committed, and the caller can know. */
static inline void model_touch(uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        assert(atomic_load_explicit(&model_usable[i], memory_order_relaxed) != 0);
}

static inline void model_open_depot(void)
{
    const size_t size = sizeof(struct model_magazine);

    assert(cpi_depot_stride(MODEL_LIMIT) == size);
    cpi_extent_init(&model_depot.for_slots, model_magazines, MODEL_MAGAZINES * size, size, 0);
    cpi_extent_init(&model_depot.for_caches, model_magazines + MODEL_MAGAZINES,
                    MODEL_FOR_CACHES * size, size, MODEL_FOR_CACHES * size);
    cpi_depot_init(&model_depot, MODEL_LIMIT, MODEL_VISITORS);
}

/* The same, with all memory committed beforehand. */
static inline void model_open_committed_depot(void)
{
    model_open_depot();
    atomic_init(&model_depot.for_slots.committed,
                MODEL_MAGAZINES * sizeof(struct model_magazine));
}

/* The calling thread's. */
static inline struct cpi_counters *model_own_counters(void)
{
    return &model_counters[model_self];
}

static inline void model_use_slot(void *slot)
{
    ++*(int *)slot;
}

static inline int model_slot_uses(void)
{
    int slot, uses = 0;

    for (slot = 0; slot < MODEL_SLOTS; slot++)
        uses += model_slots[slot];
    return uses;
}

/* Puts the n slots from `first` on into the depot. */
static inline void model_stock(int first, int n)
{
    for (int i = first; i < first + n; i++)
        cpi_depot_free_slot(&model_depot, &model_counters[0], &model_slots[i]);
}

/* A magazine of the depot: each of its rounds, and it itself, is met for the
 * first time.  Returns its rounds. */
static inline uint32_t model_audit_magazine(uint32_t node, int seen_slot[])
{
    const struct cpi_magazine *magazine = cpi_depot_magazine(&model_depot, node);
    uint32_t count = cpi_magazine_count(magazine);

    assert(count <= MODEL_LIMIT);
    for (uint32_t i = 0; i < count; i++) {
        int slot = (int)((int *)magazine->rounds[i] - model_slots);

        assert(slot >= 0 && slot < MODEL_SLOTS);
        assert(seen_slot[slot] == 0);
        seen_slot[slot] = 1;
    }
    return count;
}

/* Once per run: all magazines lie in the depot, each once and in the right place, and `slots`
 * slots in them, none twice. */
static inline void model_audit_depot(uint32_t slots)
{
    static int seen[MODEL_MAGAZINES + MODEL_FOR_CACHES + 1];
    static int seen_slot[MODEL_SLOTS];
    uint32_t node = cpi_load(&model_depot.partial, relaxed);
    uint32_t found = 0;
    int i;

    if (node != 0) {
        seen[node] = 1;
        i = (int)model_audit_magazine(node, seen_slot);
        assert(i > 0 && i < MODEL_LIMIT);
        found += (uint32_t)i;
    }
    model_count(&model_depot.stocked, &model_depot.links, MODEL_MAGAZINES + MODEL_FOR_CACHES, seen);
    for (node = cpi_tagstack_top(&model_depot.stocked); node != 0;
         node = cpi_tagstack_below(&model_depot.links, node)) {
        assert(model_audit_magazine(node, seen_slot) == MODEL_LIMIT);
        found += MODEL_LIMIT;
    }
    model_count(&model_depot.empty, &model_depot.links, MODEL_MAGAZINES + MODEL_FOR_CACHES, seen);
    for (node = cpi_tagstack_top(&model_depot.empty); node != 0;
         node = cpi_tagstack_below(&model_depot.links, node))
        assert(model_audit_magazine(node, seen_slot) == 0);
    for (node = 1; node <= cpi_depot_made(&model_depot); node++)
        assert(seen[node] == 1);
    assert(found == slots);
}

#endif /* MODEL_STORE_H */
