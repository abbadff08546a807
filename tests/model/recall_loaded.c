/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recall_loaded.c - in an exact pool a thief takes the magazine that an owner has
 * loaded, while the owner frees a slot and allocates one.  The variant without
 * membarrier, whose effect the checker does not know.
 *
 * Holds: thief and owner are never both at the loaded magazine; what each has
 * done to it the other sees; nothing is lost.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 2
#define MODEL_SLOTS 2
#define MODEL_MAGAZINES 8
#include "caches.h"

#undef CPI_PAUSE
#define CPI_PAUSE() ((void)0)
#define CPI_LOOKS 2u
#include "recall.c"

static struct cpi_roster model_roster;
static int *kept;
static int *robbed;

bool cpi_os_barrier_ready(void)
{
    return false;
}

bool cpi_os_barrier(void)
{
    assert(0);
    return false;
}

size_t cpi_roster_made(const struct cpi_roster *roster)
{
    (void)roster;
    return 1;
}

struct cpi_cache *cpi_roster_cache(const struct cpi_roster *roster, size_t i)
{
    (void)roster;
    return model_cache(1 + (int)i);
}

/* As pool_alloc.c does it. */
static void free_marked(int *slot)
{
    if (!cpi_recall_enter(model_own_cache())) {
        assert(cpi_depot_free_slot(&model_depot, model_own_dealings(), slot));
        return;
    }
    assert(cpi_cache_free(model_own_cache(), slot));
    cpi_recall_leave(model_own_cache());
}

static int *alloc_marked(void)
{
    int *slot;

    if (!cpi_recall_enter(model_own_cache()))
        return cpi_depot_alloc_slot(&model_depot, model_own_dealings());
    slot = cpi_cache_alloc(model_own_cache());
    cpi_recall_leave(model_own_cache());
    return slot;
}

static void *owner(void *number)
{
    model_begin(number);
    model_use_slot(&model_slots[1]);
    free_marked(&model_slots[1]);
    kept = alloc_marked();
    if (kept != NULL)
        model_use_slot(kept);
    return NULL;
}

static void *thief(void *number)
{
    model_begin(number);
    if (!cpi_recall_loaded(&model_roster, model_own_dealings()))
        return NULL;
    robbed = cpi_depot_alloc_slot(&model_depot, model_own_dealings());
    if (robbed != NULL)
        model_use_slot(robbed);
    return NULL;
}

/* In the beginning the owner has one slot loaded, and holds the other. */
int main(void)
{
    static model_thread *const bodies[] = {owner, thief};
    uintptr_t first;

    model_open_committed_depot();
    model_open_slab();
    model_open_caches(2);
    cpi_recall_startup();
    model_roster.depot = &model_depot;
    model_roster.slab = &model_slab;
    model_roster.exact = true;
    assert(model_claim(2, &first) == 2);
    assert(cpi_cache_free(model_cache(1), &model_slots[0]));
    model_run(2, bodies);
    if (kept != NULL)
        assert(cpi_cache_free(model_cache(0), kept));
    if (robbed != NULL)
        assert(cpi_cache_free(model_cache(0), robbed));
    model_audit_caches(2);
    return 0;
}
