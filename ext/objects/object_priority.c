/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_priority.c - object pools that take the least important object back when they are
 * dry.
 *
 *   uses   | use, pins, key | use, pins, key | ...    one for each object
 *   heap   the objects in use that nobody has pinned, the least important one on top
 *
 * ORDERING TABLE
 *   lock   | owner CAS                  | acquire | unlock | the heap, the uses
 *   failed | CAS failure, owner load    | relaxed | - | -
 *   unlock | owner store of none        | release | lock   | the same
 *   alone  | stores before the pool is used | relaxed | - | -
 *
 * Invariant: an object in use is ACTIVE, or in the hands of a thread that has seized it and
 * has not called `given` yet.  `taken` makes it ACTIVE and puts it into the heap with the
 * lock held, and `reclaim` seizes it with the lock held.  So an object is in the heap once at
 * most, and a use ends once.
 *
 * The lock of a pool's uses says in which process it was taken.  In the child of a fork the
 * operation of a thread that vanished is undone.
 */
#include <cpool/priority.h>

#include "objects/object.h"
#include "objects/object_heap.h"

#include <stdlib.h>

/* How often a thread tries to get the lock before it gives its processor up, and how often
 * it does that before it sleeps.  Threads that sleep leave the heap in one processor's cache
 * (doc/performance/trials.md). */
#define CPI_LOCK_TRIES 10u
#define CPI_LOCK_YIELDS 4u

/* The present use of an object.  Guarded by the lock, but the thread that has the object in
 * hand is the only one that changes `used`. */
struct use {
    struct cpi_heap_key key;
    uint32_t number; /* of the uses so far */
    uint32_t pins;
    bool used;
};

struct priorities {
    _Atomic uintptr_t owner; /* of the lock: 0, or a number of the process that took it */
    cpool_objects_t *pool; /* constant */
    bool keeps;
    uint64_t turn;           /* the last one given to a key */
    struct cpi_heap heap;
    struct use *uses;
};

/* --- The lock --- */

/* The uses tell what is to be in the heap. */
static void rebuild_heap(struct priorities *priorities)
{
    cpi_heap_clear(&priorities->heap, priorities->pool->max);
    for (uintptr_t index = 0; index < priorities->pool->max; index++) {
        const struct use *use = &priorities->uses[index];

        if (use->used && use->pins == 0)
            cpi_heap_add(&priorities->heap, index, use->key);
    }
}

/* No fork waits for the lock of a pool.  One that was taken in the parent is void in the child: a
 * thread that vanished may have left the heap halfway through a change. */
static bool try_lock(struct priorities *priorities)
{
    uintptr_t owner = cpi_load(&priorities->owner, relaxed); /* [failed] */
    uintptr_t valid = (uintptr_t)cpi_objects_forks(priorities->pool) * 2 + 1;
    bool is_void = owner != 0;

    if (owner == valid ||
        !cpi_cas_strong(&priorities->owner, &owner, valid, acquire, relaxed)) /* [lock] [failed] */
        return false;
    if (CPI_UNLIKELY(is_void))
        rebuild_heap(priorities);
    return true;
}

/* By chance the others wait. */
static void lock_uses(struct priorities *priorities)
{
    unsigned tries = 0;

    while (!try_lock(priorities))
        if (++tries >= CPI_LOCK_TRIES)
            priorities->pool->client.system->back_off(
                tries - CPI_LOCK_TRIES < CPI_LOCK_YIELDS ? 0 : CPI_OBJECTS_SLEEP);
}

static void unlock_uses(struct priorities *priorities)
{
    cpi_store(&priorities->owner, 0, release); /* [unlock] */
}

/* --- Uses --- */

static cpool_claim_t claim_of(const struct priorities *priorities, uintptr_t index)
{
    return (cpool_claim_t)(index + 1) << 32 | priorities->uses[index].number;
}

/* Locks a priority pool and finds the object of a claim, or CPI_OBJECT_NONE with nothing locked if
 * the use has ended. */
static uintptr_t lock_use(const cpool_objects_t *pool, cpool_claim_t claim)
{
    struct priorities *priorities = pool->policy_data;
    uintptr_t index = (uintptr_t)(claim >> 32) - 1; /* none for claim 0 */

    if (priorities == NULL || index >= pool->max)
        return CPI_OBJECT_NONE;
    lock_uses(priorities);
    if (priorities->uses[index].used && priorities->uses[index].number == (uint32_t)claim)
        return index;
    unlock_uses(priorities);
    return CPI_OBJECT_NONE;
}

/* The object's use is over.  With the lock held. */
static void end(struct priorities *priorities, uintptr_t index)
{
    if (cpi_heap_has(&priorities->heap, index))
        cpi_heap_remove(&priorities->heap, index);
    priorities->uses[index].used = false;
}

/* --- The policy --- */

static void taken(cpool_objects_t *pool, uintptr_t index, struct cpi_object_wish *wish)
{
    struct priorities *priorities = pool->policy_data;
    struct use *use = &priorities->uses[index];

    lock_uses(priorities);
    CPI_ASSERT(!use->used && !cpi_heap_has(&priorities->heap, index));
    use->key.number = wish->number;
    use->key.turn = ++priorities->turn;
    use->number++;
    use->pins = 0;
    use->used = true;
    cpi_heap_add(&priorities->heap, index, use->key);
    wish->claim = claim_of(priorities, index);
    cpi_object_show(pool, index, wish->uses);
    unlock_uses(priorities);
}

static void given(cpool_objects_t *pool, uintptr_t index)
{
    struct priorities *priorities = pool->policy_data;

    if (!priorities->uses[index].used)
        return;
    lock_uses(priorities);
    end(priorities, index);
    unlock_uses(priorities);
}

/* An object that cannot be seized is just being put back. */
static uintptr_t reclaim(cpool_objects_t *pool, struct cpi_object_wish *wish)
{
    struct priorities *priorities = pool->policy_data;
    const struct cpi_heap_entry *least;
    uintptr_t found = CPI_OBJECT_NONE;

    lock_uses(priorities);
    while (found == CPI_OBJECT_NONE && (least = cpi_heap_least(&priorities->heap)) != NULL) {
        uintptr_t index = least->index;

        if (wish != NULL && priorities->keeps && least->key.number > wish->number)
            break;
        if (!cpi_object_seize(pool, index)) {
            cpi_heap_remove(&priorities->heap, index);
            continue;
        }
        end(priorities, index);
        found = index;
        if (wish != NULL)
            wish->ended = claim_of(priorities, index);
    }
    unlock_uses(priorities);
    return found;
}

static cpool_claim_t claim(const cpool_objects_t *pool, uintptr_t index)
{
    struct priorities *priorities = pool->policy_data;
    cpool_claim_t found;

    lock_uses(priorities);
    found = claim_of(priorities, index);
    unlock_uses(priorities);
    return found;
}

static void free_priorities(struct priorities *priorities)
{
    cpi_heap_fini(&priorities->heap);
    free(priorities->uses);
    free(priorities);
}

static void end_pool(cpool_objects_t *pool)
{
    free_priorities(pool->policy_data);
}

static const struct cpi_object_policy policy = {taken, given, reclaim, claim, end_pool};

static struct priorities *allocate(size_t max)
{
    struct priorities *priorities = calloc(1, sizeof *priorities);

    if (priorities == NULL)
        return NULL;
    priorities->uses = calloc(max, sizeof *priorities->uses);
    if (cpi_heap_init(&priorities->heap, max) && priorities->uses != NULL)
        return priorities;
    free_priorities(priorities);
    return NULL;
}

int cpool_priority_attach(cpool_objects_t *pool, unsigned flags)
{
    cpool_object_stats_t stats = CPOOL_OBJECT_STATS_INIT;
    struct priorities *priorities;

    if (pool == NULL)
        return CPOOL_ENULL;
    if (CPI_OBJECTS_ENDED(pool))
        return CPOOL_EPOOL;
    if ((flags & ~CPOOL_PRIORITY_KEEP_LARGER) != 0 || (pool->flags & CPOOL_OBJECT_WAITABLE) != 0)
        return CPOOL_EFLAGS;
    if (pool->policy != NULL)
        return CPOOL_EOPEN;
    if (cpool_object_stats(pool, &stats) != 0 || stats.active != 0)
        return CPOOL_ELIVE;
    priorities = allocate(pool->max);
    if (priorities == NULL)
        return CPOOL_ENOMEM;
    priorities->pool = pool;
    priorities->keeps = flags != 0;
    if ((pool->flags & CPOOL_OBJECT_COUNTED) == 0 && !cpi_object_is_fake(pool))
        cpi_store(&pool->peak, 0, relaxed); /* [alone] it was that of all objects */
    cpi_store(&pool->shrunk, false, relaxed); /* [alone] */
    pool->short_get = pool->client.none;
    pool->short_put = pool->brief_put = 0;
    atomic_signal_fence(memory_order_seq_cst); /* a child that counts finds no short way */
    pool->flags |= CPOOL_OBJECT_COUNTED;
    pool->policy_data = priorities;
    pool->policy = &policy; /* last: a child of a fork may find any part of this done */
    return 0;
}

/* --- Putting --- */

int cpool_priority_put(cpool_objects_t *pool, cpool_claim_t claim)
{
    struct priorities *priorities = pool->policy_data;
    uintptr_t index = lock_use(pool, claim);
    bool mine;

    if (index == CPI_OBJECT_NONE)
        return CPI_OBJECTS_ENDED(pool) ? CPOOL_EPOOL : CPOOL_EINACTIVE;
    mine = cpi_object_seize(pool, index);
    if (mine)
        end(priorities, index);
    unlock_uses(priorities);
    if (!mine)
        return CPOOL_EINACTIVE;
    cpi_object_give(pool, index);
    return 0;
}

/* --- Importance --- */

int cpool_priority_set(cpool_objects_t *pool, cpool_claim_t claim, int64_t priority)
{
    struct priorities *priorities = pool->policy_data;
    uintptr_t index = lock_use(pool, claim);

    if (index == CPI_OBJECT_NONE)
        return CPI_OBJECTS_ENDED(pool) ? CPOOL_EPOOL : CPOOL_EINACTIVE;
    priorities->uses[index].key.number = priority;
    if (cpi_heap_has(&priorities->heap, index))
        cpi_heap_change(&priorities->heap, index, priorities->uses[index].key);
    unlock_uses(priorities);
    return 0;
}

void *cpool_priority_pin(cpool_objects_t *pool, cpool_claim_t claim)
{
    struct priorities *priorities = pool->policy_data;
    uintptr_t index = lock_use(pool, claim);
    void *object;

    if (CPI_OBJECTS_ENDED(pool) || index == CPI_OBJECT_NONE)
        return NULL;
    priorities->uses[index].pins++;
    if (cpi_heap_has(&priorities->heap, index))
        cpi_heap_remove(&priorities->heap, index);
    object = cpi_object_at(pool, index);
    unlock_uses(priorities);
    return object;
}

int cpool_priority_unpin(cpool_objects_t *pool, cpool_claim_t claim)
{
    struct priorities *priorities = pool->policy_data;
    uintptr_t index = lock_use(pool, claim);
    struct use *use;
    bool pinned;

    if (index == CPI_OBJECT_NONE)
        return CPI_OBJECTS_ENDED(pool) ? CPOOL_EPOOL : CPOOL_EINACTIVE;
    use = &priorities->uses[index];
    pinned = use->pins > 0;
    if (pinned && --use->pins == 0)
        cpi_heap_add(&priorities->heap, index, use->key);
    unlock_uses(priorities);
    return pinned ? 0 : CPOOL_EINACTIVE;
}
