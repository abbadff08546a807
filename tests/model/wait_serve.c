/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait_serve.c - a thread comes to wait, and starves, while another one frees a slot of a typed
 * waitable pool and a third one takes what it finds.  The functions that free are those that a
 * program defines, with the long way of wait_way.c behind them.
 *
 * Holds: a slot that is freed when the waiter is known to starve and to sleep is the waiter's.  The
 * waiter may have been called and not run yet.  Otherwise it does not sleep, uncalled, beside a
 * slot.
 */
#define MODEL_COINS 1
#define MODEL_LIMIT 2
#define MODEL_SLOTS 2
#define MODEL_MAGAZINES 8
#ifndef MODEL_SYMMETRIC
#define MODEL_BARRIER
#define MODEL_INLINE
#endif
#include "stealers.h"

#include "wait/queue.h"

static pthread_mutex_t model_lock = PTHREAD_MUTEX_INITIALIZER;
static struct cpi_queue model_queue;
static struct cpi_waiter model_waiter;

static void *found; /* by the waiter */
static void *taken; /* by the third thread */
static bool known;  /* to the owner, before it frees */
static uint32_t vain;

/* --- Out of line --- */

static void call(void)
{
    pthread_mutex_lock(&model_lock);
    (void)cpi_queue_call(&model_queue);
    pthread_mutex_unlock(&model_lock);
}

static bool serve(void *slot)
{
    bool served = false;

    pthread_mutex_lock(&model_lock);
    if (cpi_queue_says(&model_queue, CPI_QUEUE_STARVES))
        served = cpi_queue_serve(&model_queue, slot) != NULL;
    cpi_queue_starve(&model_queue, 1);
    pthread_mutex_unlock(&model_lock);
    return served;
}

/* As wait_way.c's give. */
static void give(void *slot)
{
    struct cpi_cache *cache = model_own_cache();
    uint32_t word = cpi_queue_glance(&model_queue);

    if ((word & CPI_QUEUE_STARVES) == 0 || !serve(slot)) {
        if (cpi_queue_glance(&model_queue) == 0 && cpi_mark_try_enter(cache)) {
            assert(cpi_cache_free(cache, slot));
            cpi_mark_leave(cache);
        } else {
            assert(cpi_depot_free_slot(&model_depot, model_own_counters(), slot));
        }
    }
    if (cpi_queue_is_asked(&model_queue, cpi_mark_has_barrier))
        call();
}

/* --- The program's part --- */

CPOOL_TYPED_WAITABLE_PATH_(model, int)

struct cpool_typed model_typed_;
cpool_cache_t model_none_;
__thread cpool_cache_t *model_entry_ = &model_none_;

void cpool_typed_exact_free_abi1(void *slot, struct cpool_typed *typed, cpool_cache_t **entry)
{
    (void)typed;
    (void)entry;
    give(slot);
}

/* At the end of a free, as cpi_pool_tell. */
void *cpool_typed_asked_abi1(void *slot, struct cpool_typed *typed)
{
    int *other = model_pop(model_own_cache());

    (void)typed;
    assert(slot == NULL);
    if (other != NULL)
        give(other);
    else
        call();
    return slot;
}

void *cpool_typed_exact_alloc_abi1(struct cpool_typed *typed, cpool_cache_t **entry)
{
    (void)typed;
    (void)entry;
    assert(false);
    return NULL;
}

/* --- Threads --- */

static void *owner(void *number)
{
    model_begin(number);
    if (cpi_mark_has_barrier)
        model_entry_ = &model_own_cache()->hidden;
    model_use_slot(&model_slots[1]);
    pthread_mutex_lock(&model_lock);
    known = model_waiter.asleep && cpi_queue_says(&model_queue, CPI_QUEUE_STARVES);
    if (known)
        (void)cpi_queue_call(&model_queue);
    pthread_mutex_unlock(&model_lock);
    model_free(&model_slots[1]);
    model_barrier_end();
    return NULL;
}

static void *look(void)
{
    void *slot;

    (void)cpi_steal_loaded(&model_registry, model_own_counters());
    slot = cpi_depot_alloc_slot(&model_depot, model_own_counters());
    if (slot != NULL)
        model_use_slot(slot);
    return slot;
}

static void *waiter(void *number)
{
    model_begin(number);
    pthread_mutex_lock(&model_lock);
    model_queue.shown[0] = &model_typed_.asked;
    cpi_queue_join(&model_queue, &model_waiter, 0);
    vain = cpi_queue_announce(&model_queue, &model_waiter);
    pthread_mutex_unlock(&model_lock);
    cpi_mark_barrier(&model_registry.barriers);
    found = look();
    pthread_mutex_lock(&model_lock);
    if (found != NULL)
        (void)cpi_queue_leave(&model_queue, &model_waiter, vain);
    else
        model_waiter.asleep = model_waiter.epoch == vain;
    cpi_queue_starve(&model_queue, 1);
    pthread_mutex_unlock(&model_lock);
    return NULL;
}

/* A waiter may have missed a slot that the look moved or locked.  The library looks again, or tells
 * it. */
static void *taker(void *number)
{
    model_begin(number);
    taken = look();
    if (cpi_queue_is_asked(&model_queue, cpi_mark_has_barrier))
        call();
    return NULL;
}

static void free_at_end(void *slot)
{
    if (slot != NULL)
        assert(cpi_cache_free(model_cache(0), slot));
}

int main(void)
{
    static model_thread *const bodies[] = {owner, waiter, taker};

    cpi_queue_init(&model_queue);
    model_open_exact();
    model_typed_.origin = (uintptr_t)model_slots;
    assert(cpi_cache_pop(model_cache(1)) == &model_slots[0]);
    model_run(3, bodies);
    assert(!known || model_waiter.slot == &model_slots[1]);
    if (model_waiter.asleep && model_waiter.slot == NULL && model_waiter.epoch == vain)
        assert(cpi_cache_count(model_cache(1)) == 0 &&
               cpi_depot_alloc_slot(&model_depot, model_own_counters()) == NULL);
    free_at_end(&model_slots[0]);
    free_at_end(model_waiter.slot);
    free_at_end(found);
    free_at_end(taken);
    model_audit_caches(2);
    return 0;
}
