/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait_inline.c - a thread comes to wait while another frees a slot and allocates one by the
 * inline path of typed waitable pools.  The waiter leaves the loaded magazine alone if it finds the
 * owner inside.
 *
 * Holds: the claims of recall_loaded.c.  A waiter does not sleep, uncalled, beside a slot.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 2
#define MODEL_SLOTS 2
#define MODEL_MAGAZINES 8
#define MODEL_BARRIER
#define MODEL_INLINE
#include "stealers.h"

#include "wait/queue.h"

static pthread_mutex_t model_lock = PTHREAD_MUTEX_INITIALIZER;
static struct cpi_queue model_queue;
static struct cpi_waiter model_waiter;

/* The program's part of a typed pool. */
static struct {
    uintptr_t asked;
} model_typed_;

static int *kept;
static int *found;
static bool sleeps;

static void call(void)
{
    pthread_mutex_lock(&model_lock);
    (void)cpi_queue_call(&model_queue);
    pthread_mutex_unlock(&model_lock);
}

/* Where the inline path ends, all that is out of line asks, too. */
static void *owner(void *number)
{
    model_begin(number);
    model_use_slot(&model_slots[1]);
    model_free_marked(&model_slots[1]);
    CPOOL_TYPED_ASK_(model, call());
    kept = model_alloc_marked();
    CPOOL_TYPED_ASK_(model, call());
    if (kept != NULL)
        model_use_slot(kept);
    model_barrier_end();
    return NULL;
}

static void *waiter(void *number)
{
    uint32_t vain;

    model_begin(number);
    pthread_mutex_lock(&model_lock);
    model_queue.shown[0] = &model_typed_.asked;
    cpi_queue_join(&model_queue, &model_waiter, 0);
    vain = cpi_queue_announce(&model_queue, &model_waiter);
    pthread_mutex_unlock(&model_lock);
    model_barrier();
    (void)cpi_steal_loaded(&model_registry, model_own_counters());
    found = cpi_depot_alloc_slot(&model_depot, model_own_counters());
    pthread_mutex_lock(&model_lock);
    sleeps = found == NULL && model_waiter.epoch == vain;
    pthread_mutex_unlock(&model_lock);
    if (found != NULL)
        model_use_slot(found);
    return NULL;
}

int main(void)
{
    static model_thread *const bodies[] = {owner, waiter};

    cpi_queue_init(&model_queue);
    model_open_exact();
    model_run(2, bodies);
    if (sleeps && model_waiter.epoch == 0)
        assert(cpi_cache_count(model_cache(1)) == 0 &&
               cpi_depot_alloc_slot(&model_depot, model_own_counters()) == NULL);
    if (kept != NULL)
        assert(cpi_cache_free(model_cache(0), kept));
    if (found != NULL)
        assert(cpi_cache_free(model_cache(0), found));
    model_audit_caches(2);
    return 0;
}
