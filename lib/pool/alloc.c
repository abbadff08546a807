/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * alloc.c - the slow paths of alloc and free: a swap of magazines, an exchange with the depot, and
 * what an alloc does when the pool is dry.
 *
 * The inline path fails where the loaded magazine is empty or full, or the entry is closed.  It
 * calls the functions at the end of this file.
 *
 * ORDERING TABLE
 *   count | failures, stalls, growths fetch-and-add | relaxed | - | -
 *   held  | waiters' delayed load | relaxed | - | -
 *   usage | CAS, fetch-and-add of the counts of live slots | relaxed | - | -
 *   due   | countdown load, store | relaxed | - | -
 *   press | words of pressure: load, store with the lock held, fetch-and-add | relaxed | - | -
 *   mark  | calls store 1        | relaxed | - | -
 *   rest  | calls store 0        | release | reclaim.c's inside | the owner's
 *                                                      last access to the pool
 *
 * [mark] needs no order of its own: giving the slot publishes it.  An owner that counts down may
 * overwrite the 1 of [due] that wait.c stores, and then counts later.
 */
#include "pool/alloc.h"

#include "base/atomic.h"
#include "base/bits.h"

/* --- Automatic growth --- */

/* A pool grows automatically by half, but by no more slots than this. */
#define CPI_GROWTH_MAX ((uintptr_t)1024 * 1024)

bool cpi_pool_raise(struct cpi_pool *pool, uint64_t bounds, uintptr_t more)
{
    if (!cpi_slab_set_bounds(&pool->slab, bounds, bounds + CPI_BOUNDS(more, 0)))
        return false;
    cpi_fetch_add(&pool->growths, 1u, relaxed); /* [count] */
    return true;
}

/* Raises the capacity if every slot has been handed out and the pool may grow.  Returns true if the
 * capacity is larger now.  Lock-free. */
static bool grow_by_itself(struct cpi_pool *pool)
{
    uint64_t bounds;
    uintptr_t capacity;
    uintptr_t more;

    if (!pool->slab.grows)
        return false;
    bounds = cpi_slab_bounds(&pool->slab);
    capacity = CPI_BOUNDS_CAPACITY(bounds);
    if (capacity == pool->slab.slots || CPI_BOUNDS_FRESH(bounds) < capacity)
        return false;
    more = cpi_within(capacity / 2, pool->depot.limit, CPI_GROWTH_MAX);
    more = cpi_lower(more, pool->slab.slots - capacity);
    CPI_ASSERT(more > 0);
    /* If this fails, another thread was faster, and the capacity is larger just the same. */
    cpi_pool_raise(pool, bounds, more);
    return true;
}

/* --- Counting live slots --- */

/* Whether the mark of pressure is reached, or enough slots are free to arm it again. */
CPI_COLD static bool pressure_turns(const struct cpi_pool *pool, size_t live)
{
    size_t slots = cpi_load(&pool->pressure_slots, relaxed);   /* [press] */
    bool armed = cpi_load(&pool->pressure_armed, relaxed); /* [press] */

    return slots != 0 && (armed ? live >= slots : live <= slots - (slots + 7) / 8);
}

/* Of several threads at the mark, the first that takes the lock calls the function, without it. */
CPI_COLD static void turn_pressure(struct cpi_pool *pool)
{
    cpool_pressure_t due = {0, NULL, NULL};
    size_t live;

    if (!cpi_lock_unless_held()) /* not a moment for the program's functions */
        return;
    live = cpi_registry_count_live(&pool->registry);
    if (pressure_turns(pool, live)) {
        if (cpi_load(&pool->pressure_armed, relaxed)) /* [press] */
            due = pool->pressure;
        cpi_store(&pool->pressure_armed, due.reached == NULL, relaxed); /* [press] */
    }
    cpi_unlock();
    if (due.reached != NULL)
        due.reached(pool->handle, live, due.arg);
}

/* A count walks through all caches.  The more there are, the more exchanges lie between two counts,
 * so that the cost per exchange is the same in any pool.  But until the next count the exchanges of
 * all caches must not bring the live slots past the mark. */
CPI_COLD static uint32_t exchanges_to_count(const struct cpi_pool *pool, size_t live)
{
    size_t caches = cpi_registry_made(&pool->registry);
    size_t least = 1 + caches / 64;
    size_t usual = CPI_COUNT_EVERY * (1 + caches / 8);
    size_t slots = cpi_load(&pool->pressure_slots, relaxed); /* [press] */
    size_t way = (live < slots ? slots - live : slots / 8) / (pool->depot.limit * caches);

    if (slots == 0 || way > usual)
        way = usual;
    return (uint32_t)(way > least ? way : least);
}

/* For the peak, the mark, and the average, which is over exchanges of caches.  The cache is NULL
 * for other allocs. */
CPI_COLD static void count_live(struct cpi_pool *pool, struct cpi_cache *cache)
{
    size_t live = cpi_registry_count_live(&pool->registry);

    cpi_raise(&pool->peak, (uint64_t)live, relaxed); /* [usage] */
    if (cache != NULL) {
        cpi_fetch_add(&pool->sum, (uint64_t)live, relaxed); /* [usage] */
        cpi_fetch_add(&pool->counts, (uint64_t)1, relaxed); /* [usage] */
        cpi_store(&cache->countdown, exchanges_to_count(pool, live), relaxed); /* [due] */
    }
    if (pressure_turns(pool, live))
        turn_pressure(pool);
}

/* Counts an exchange, unless it is time to count live slots. */
static inline bool count_down(struct cpi_cache *cache)
{
    uint32_t left = cpi_load(&cache->countdown, relaxed) - 1; /* [due] */

    if (CPI_LIKELY(left != 0))
        cpi_store(&cache->countdown, left, relaxed); /* [due] */
    return CPI_LIKELY(left != 0);
}

void cpi_pool_note_exchange(struct cpi_pool *pool, struct cpi_cache *cache)
{
    if (!count_down(cache))
        count_live(pool, cache);
}

/* --- Taking and giving --- */

void *cpi_pool_take(struct cpi_pool *pool, struct cpi_cache *cache)
{
    return cache != NULL ? cpi_cache_take(cache) : cpi_take_uncached(&pool->slab, &pool->depot);
}

/* Until a free has checked for waiters, the operation in flight, or the owner's `calls`, keeps
 * cpool_destroy waiting (doc/CONCURRENCY.md 5). */
static bool give_uncached(struct cpi_pool *pool, void *slot)
{
    struct cpi_uncached uncached;
    bool done;

    cpi_depot_enter(&pool->depot, &uncached);
    done = cpi_waiters_hand_over(&pool->waiters, slot, NULL) ||
           cpi_depot_free_slot(&pool->depot, &uncached.counters, slot);
    cpi_waiters_came(&pool->waiters);
    cpi_depot_leave(&pool->depot, &uncached);
    return done;
}

bool cpi_pool_give(struct cpi_pool *pool, struct cpi_cache *cache, void *slot)
{
    bool done;

    if (cache == NULL)
        return give_uncached(pool, slot);
    cpi_store(&cache->calls, 1u, relaxed); /* [mark] */
    done = cpi_waiters_hand_over(&pool->waiters, slot, NULL) || cpi_cache_give(cache, slot);
    cpi_waiters_came(&pool->waiters);
    cpi_store(&cache->calls, 0u, release); /* [rest] */
    return done;
}

/* --- When the pool is dry --- */

/* Tries to get more slots without disturbing other threads.  Returns whether it is worth searching
 * again. */
static bool find_more(struct cpi_pool *pool, bool retires)
{
    return grow_by_itself(pool) || cpi_reclaim_spare(&pool->registry) ||
           (retires && cpi_load(&pool->waiters.delayed, relaxed) && /* [held] */
            cpi_client_give_back(pool, false) != 0);
}

/* Whether a trim or shrink holds the depot's magazines, or has held them since `seen` was read.  If
 * so, waits, without a lock, until it has given some back. */
static inline bool was_drained(const struct cpi_pool *pool, uint32_t seen)
{
    if (CPI_LIKELY(!cpi_depot_was_drained(&pool->depot, seen)))
        return false;
    cpi_drain_await(&pool->depot);
    return true;
}

void *cpi_pool_look(struct cpi_pool *pool, bool retires)
{
    uint32_t seen;
    void *slot;

    do {
        seen = cpi_depot_drains(&pool->depot);
        slot = cpi_take_uncached(&pool->slab, &pool->depot);
    } while (slot == NULL &&
             (cpi_depot_was_drained(&pool->depot, seen) ? cpi_depot_drains(&pool->depot) % 2 == 0
                                                        : find_more(pool, retires)));
    return slot;
}

/* The pool was dry only if nothing moved from before the search until every operation that was
 * inside after it has left (doc/CONCURRENCY.md 3.6). */
enum verdict { DRY, AGAIN, LATER, STALLED };

/* Searches while all entries are closed. */
static void *look_closed(struct cpi_pool *pool, struct cpi_backoff *backoff, enum verdict *verdict)
{
    uint64_t before = cpi_reclaim_activity(&pool->registry);
    uint32_t seen = cpi_depot_drains(&pool->depot);
    bool all = cpi_reclaim_all(&pool->registry, backoff, false);
    void *slot = cpi_take_uncached(&pool->slab, &pool->depot);

    *verdict = DRY;
    if (slot == NULL && (was_drained(pool, seen) || grow_by_itself(pool)))
        *verdict = AGAIN;
    else if (slot == NULL && (!all || !cpi_await_inside(&pool->registry, backoff)))
        *verdict = STALLED;
    else if (slot == NULL && cpi_reclaim_activity(&pool->registry) != before)
        *verdict = LATER;
    return slot;
}

/* Takes spares once more, as owners may have swapped loaded magazines for them since find_more.
 * Entries may be opened between two searches.  If they stayed closed all the time, owners would
 * exchange every slot with the depot for as long as this thread waits. */
static void *look_again(struct cpi_pool *pool)
{
    struct cpi_backoff backoff = {pool->stall_limit_ns, 0, 0};
    enum verdict verdict;
    unsigned begun;
    void *slot;

    do {
        begun = cpi_reclaim_begin(&pool->registry);
        slot = look_closed(pool, &backoff, &verdict);
        cpi_reclaim_end(&pool->registry, begun);
    } while (verdict == AGAIN || (verdict == LATER && cpi_await_pause(&backoff)));
    if (verdict != DRY)
        cpi_fetch_add(&pool->stalls, 1u, relaxed); /* [count] */
    return slot;
}

/* The caller has found nothing in its cache, the depot and the fresh slots.  But it did not read
 * the number of drains before, so the search repeats that. */
CPI_COLD static void *search_pool(struct cpi_pool *pool, struct cpi_cache *cache)
{
    uint32_t seen;
    void *slot;

    do {
        seen = cpi_depot_drains(&pool->depot);
        slot = cpi_pool_take(pool, cache);
    } while (slot == NULL && (was_drained(pool, seen) || find_more(pool, true)));
    return slot != NULL ? slot : look_again(pool);
}

/* --- Alloc and free, in any state of the cache --- */

CPI_COLD void cpi_pool_note_failure(struct cpi_pool *pool)
{
    cpi_fetch_add(&pool->failures, 1u, relaxed); /* [count] */
}

/* The function of cpool_set_pressure may give back slots before the search for one. */
void *cpi_pool_try(struct cpi_pool *pool, struct cpi_cache *cache)
{
    void *slot;

    if (CPI_LIKELY(cache != NULL))
        cpi_pool_note_exchange(pool, cache);
    else if (cpi_load(&pool->pressure_slots, relaxed) != 0 && /* [press] */
             cpi_fetch_add(&pool->uncached, 1u, relaxed) % CPI_COUNT_EVERY == 0) /* [press] */
        count_live(pool, NULL);
    slot = cpi_pool_take(pool, cache);
    if (CPI_UNLIKELY(slot == NULL) && cpi_load(&pool->pressure_slots, relaxed) != 0) /* [press] */
        count_live(pool, NULL);
    return slot;
}

CPI_APART static void *obtain_slot(struct cpi_pool *pool, struct cpi_cache *cache)
{
    void *slot = cpi_pool_try(pool, cache);

    if (CPI_UNLIKELY(slot == NULL))
        slot = search_pool(pool, cache);
    if (CPI_UNLIKELY(slot == NULL))
        cpi_pool_note_failure(pool);
    /* A waiter may have missed slots that the search put into the depot.  But fresh slots whose
     * memory the system refuses are no reason to wake anybody. */
    if (slot != NULL || (cpi_reclaim_left(&pool->registry) & CPI_LEFT_SLOTS) != 0)
        cpi_waiters_came(&pool->waiters);
    return slot;
}

CPI_APART void *cpi_pool_alloc(struct cpi_pool *pool, struct cpi_cache *cache,
                               struct cpi_call call)
{
    uintptr_t ahead = 0;
    void *slot;

    do
        if (CPI_UNLIKELY(cache == NULL) ||
            CPI_UNLIKELY(!cpi_cache_pop(cache, cpi_cache_active(cache), &slot))) {
            slot = obtain_slot(pool, cache);
            ahead = cache != NULL && cache->near != CPI_NEAR_NONE ? cpi_cache_count(cache) : 0;
        }
    while (slot != NULL && CPI_UNLIKELY(!cpi_pool_hand(pool, cache, &slot, ahead, call)));
    return slot;
}

int cpi_pool_judge(const struct cpi_pool *pool, const void *slot, const char *function,
                   uintptr_t *index)
{
    int code = cpi_pool_place(pool, slot, index);

    if (CPI_UNLIKELY(code != 0))
        cpi_pool_report_address(code, function, pool, slot, *index);
    return code;
}

void cpi_pool_free(struct cpi_pool *pool, struct cpi_cache *cache, void *slot,
                   struct cpi_call call)
{
    const void *given = slot;
    uintptr_t index;

    if (CPI_UNLIKELY(slot == NULL) ||
        CPI_UNLIKELY(cpi_pool_judge(pool, slot, call.function, &index) != 0))
        return;
    slot = cpi_slab_slot(&pool->slab, index);
    if (CPI_UNLIKELY(!cpi_pool_returns(pool, slot, call)) ||
        (CPI_UNLIKELY(slot != given) && !cpi_pool_close_sample(pool, given, index, call)))
        return;
    /* Once the slot is given back, another thread may destroy the pool, so nothing may follow,
     * unless there was no place for the slot. */
    if (CPI_LIKELY(cache != NULL) &&
        CPI_LIKELY(cpi_cache_push(cache, cpi_cache_active(cache), slot)))
        return;
    if (CPI_UNLIKELY(!cpi_pool_give(pool, cache, slot)))
        cpi_pool_report_slot(CPOOL_EDOUBLEFREE, call.function, pool, index);
}

/* --- With an open entry: swap with a spare, or exchange with the depot --- */

/* There is no full spare.  Leaves *slot unchanged if the depot has nothing either, or if it is time
 * to count, which cpi_pool_alloc does, because this owner is inside. */
CPI_APART static void exchange_empty(struct cpi_cache *cache, cpool_cache_t *entry, void **slot)
{
    void **round;

    if (!count_down(cache))
        return;
    round = cpi_cache_refill_from_depot(cache, entry, 1);
    if (CPI_LIKELY(round != NULL))
        *slot = *round;
}

CPI_APART static void *swap_empty(const cpool_t *handle, struct cpi_cache *cache,
                                  struct cpi_call call)
{
    cpool_cache_t *active = cpi_cache_active(cache);
    uint32_t left;
    void **round;
    void *slot = NULL;

    if (CPI_LIKELY(cpi_cache_enter(cache, active)) && CPI_LIKELY(cpi_entry_count(active) == 0)) {
        if (CPI_LIKELY(!__builtin_sub_overflow(cpi_cache_stocked(cache), 1u, &left))) {
            round = cpi_cache_refill_from_spare(cache, active, left, 1);
            if (CPI_LIKELY(round != NULL))
                slot = *round;
        } else {
            exchange_empty(cache, active, &slot);
        }
    }
    cpi_cache_leave(cache, active);
    if (CPI_UNLIKELY(slot == NULL))
        return cpi_pool_alloc(handle->state, cache, call);
    return CPI_LIKELY(cache->sample_in == 0)
               ? slot
               : cpi_pool_sample(handle->state, cache, slot, cpi_entry_count(active), call.site);
}

/* There is no empty spare.  Returns false if there is no place. */
CPI_APART static bool exchange_full(struct cpi_cache *cache, void *slot)
{
    uint32_t node;

    return CPI_LIKELY(cpi_cache_spill_to_depot(cache, slot, &node)) ||
           cpi_cache_spill_slow(cache, node, slot);
}

CPI_APART static void swap_full(const cpool_t *handle, struct cpi_cache *cache, void *slot,
                                uintptr_t index, struct cpi_call call)
{
    cpool_cache_t *active = cpi_cache_active(cache);
    bool given = false;

    if (CPI_LIKELY(cpi_cache_enter(cache, active)) &&
        CPI_LIKELY(cpi_cache_is_just_full(cache, active, index))) {
        uint32_t stocked = cpi_cache_stocked(cache);

        given = (CPI_LIKELY(stocked < cache->quota) &&
                 CPI_LIKELY(cpi_cache_spill_to_spare(cache, active, stocked, slot))) ||
                exchange_full(cache, slot);
    }
    cpi_cache_leave(cache, active);
    if (CPI_UNLIKELY(!given))
        cpi_pool_free(handle->state, cache, slot, call);
}

void *cpi_pool_alloc_near(const cpool_t *handle, struct cpi_cache *cache, struct cpi_call call)
{
    if (CPI_LIKELY(cache->near == CPI_NEAR_SWAPS))
        return swap_empty(handle, cache, call);
    if (cache->near == CPI_NEAR_TRACKED)
        return cpi_track_alloc(handle, cache, call);
    return cpi_pool_alloc(handle->state, cache, call);
}

void cpi_pool_free_near(const cpool_t *handle, struct cpi_cache *cache, void *slot,
                        uintptr_t index, struct cpi_call call)
{
    if (CPI_LIKELY(cache->near == CPI_NEAR_SWAPS))
        swap_full(handle, cache, slot, index, call);
    else if (cache->near == CPI_NEAR_TRACKED)
        cpi_track_free(handle, cache, slot, index, call);
    else
        cpi_pool_free(handle->state, cache, slot, call);
}

/* --- Functions that the inline path calls --- */

/* The pool and the cache where the calling thread has no cache yet, the handle is wrong, or the
 * entry is an explicit cache, which is the handle, too, and whose `function` was called.  After the
 * end of that cache its pool is none. */
static struct cpi_pool *find_cache(const cpool_t *handle, const cpool_cache_t *entry,
                                   const char *function, struct cpi_cache **cache,
                                   struct cpi_call *call)
{
    bool is_explicit = (const void *)handle == entry;
    struct cpi_pool *pool;

    if (is_explicit)
        call->function = function;
    pool = cpi_pool_of(is_explicit ? entry->pool : handle, call->function);
    if (pool != NULL)
        *cache = is_explicit ? entry->home : cpi_registry_own_cache(&pool->registry);
    return pool;
}

CPI_COLD static void *alloc_without_cache(const cpool_t *handle, const cpool_cache_t *entry,
                                          struct cpi_call call)
{
    struct cpi_cache *cache;
    struct cpi_pool *pool = find_cache(handle, entry, "cpool_cache_alloc", &cache, &call);

    return pool != NULL ? cpi_pool_alloc(pool, cache, call) : NULL;
}

CPI_COLD static void free_without_cache(const cpool_t *handle, void *slot,
                                        const cpool_cache_t *entry, struct cpi_call call)
{
    struct cpi_cache *cache;
    struct cpi_pool *pool = find_cache(handle, entry, "cpool_cache_free", &cache, &call);

    if (pool != NULL)
        cpi_pool_free(pool, cache, slot, call);
}

/* entry->pool == handle only in the table of a thread that has a cache of this pool.  The inline
 * path has already read the entry, so a wrong handle traps there or is noticed here. */
void *cpi_alloc_out(cpool_t *handle, cpool_cache_t *entry, const void *site)
{
    const struct cpi_call call = {"cpool_alloc", site};

    if (CPI_UNLIKELY(entry->pool != handle))
        return alloc_without_cache(handle, entry, call);
    return cpi_pool_alloc_near(handle, entry->home, call);
}

void cpi_free_out(cpool_t *handle, void *slot, uintptr_t index, cpool_cache_t *entry,
                  const void *site)
{
    const struct cpi_call call = {"cpool_free", site};

    if (CPI_LIKELY(entry->pool == handle))
        cpi_pool_free_near(handle, entry->home, slot, index, call);
    else
        free_without_cache(handle, slot, entry, call);
}

void *cpool_alloc_abi1(cpool_t *handle, cpool_cache_t *entry)
{
    return cpi_alloc_out(handle, entry, CPI_CALLER());
}

void cpool_free_abi1(cpool_t *handle, void *slot, uintptr_t index, cpool_cache_t *entry)
{
    cpi_free_out(handle, slot, index, entry, CPI_CALLER());
}
