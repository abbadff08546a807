/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_priority.c - object pools that take the least important object back when they are
 * dry.
 *
 *   uses   | use, key | use, key | ...    one for each object
 *   heap   the objects in use, the least important one on top
 *
 * ORDERING TABLE
 *   lock   | owner CAS                  | acquire | unlock | the heap, the uses
 *   failed | CAS failure, owner load    | relaxed | - | -
 *   unlock | owner store of none        | release | lock   | the same
 *
 * Invariant: an object in use is ACTIVE, or in the hands of a thread that has seized it and
 * has not called cpi_priority_given yet.  cpi_priority_taken makes it ACTIVE and puts it into the
 * heap with the lock held, and cpi_priority_reclaim seizes it with the lock held.  So an object is
 * in the heap once at most, and a use ends once.
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
    bool used;
};

struct cpi_priorities {
    _Atomic uintptr_t owner; /* of the lock: 0, or a number of the process that took it */
    cpool_objects_t *pool; /* constant */
    bool keeps;
    uint64_t turn;           /* the last one given to a key */
    struct cpi_heap heap;
    struct use *uses;
};

/* --- The lock --- */

/* The uses tell what is to be in the heap. */
static void rebuild_heap(struct cpi_priorities *priorities)
{
    cpi_heap_clear(&priorities->heap, priorities->pool->max);
    for (uintptr_t index = 0; index < priorities->pool->max; index++) {
        const struct use *use = &priorities->uses[index];

        if (use->used)
            cpi_heap_add(&priorities->heap, index, use->key);
    }
}

/* No fork waits for the lock of a pool.  One that was taken in the parent is void in the child: a
 * thread that vanished may have left the heap halfway through a change. */
static bool try_lock(struct cpi_priorities *priorities)
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
static void lock_uses(struct cpi_priorities *priorities)
{
    unsigned tries = 0;

    while (!try_lock(priorities))
        if (++tries >= CPI_LOCK_TRIES)
            priorities->pool->client.system->back_off(
                tries - CPI_LOCK_TRIES < CPI_LOCK_YIELDS ? 0 : CPI_OBJECTS_SLEEP);
}

static void unlock_uses(struct cpi_priorities *priorities)
{
    cpi_store(&priorities->owner, 0, release); /* [unlock] */
}

/* --- Uses --- */

static cpool_claim_t claim_of(const struct cpi_priorities *priorities, uintptr_t index)
{
    return (cpool_claim_t)(index + 1) << 32 | priorities->uses[index].number;
}

/* Locks a priority pool and finds a claim's object.  CPI_OBJECT_NONE, unlocked: its use is over. */
static uintptr_t lock_use(const cpool_objects_t *pool, cpool_claim_t claim)
{
    struct cpi_priorities *priorities = pool->priorities;
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
static void end(struct cpi_priorities *priorities, uintptr_t index)
{
    if (cpi_heap_has(&priorities->heap, index))
        cpi_heap_remove(&priorities->heap, index);
    priorities->uses[index].used = false;
}

/* --- What the pool asks for --- */

void cpi_priority_taken(cpool_objects_t *pool, uintptr_t index, struct cpi_object_wish *wish)
{
    struct cpi_priorities *priorities = pool->priorities;
    struct use *use = &priorities->uses[index];

    lock_uses(priorities);
    CPI_ASSERT(!use->used && !cpi_heap_has(&priorities->heap, index));
    use->key.number = wish->number;
    use->key.turn = ++priorities->turn;
    use->number++;
    use->used = true;
    cpi_heap_add(&priorities->heap, index, use->key);
    wish->claim = claim_of(priorities, index);
    cpi_object_show(pool, index, wish->uses);
    unlock_uses(priorities);
}

void cpi_priority_given(cpool_objects_t *pool, uintptr_t index)
{
    struct cpi_priorities *priorities = pool->priorities;

    if (!priorities->uses[index].used)
        return;
    lock_uses(priorities);
    end(priorities, index);
    unlock_uses(priorities);
}

/* An object that cannot be seized is just being put back. */
uintptr_t cpi_priority_reclaim(cpool_objects_t *pool, struct cpi_object_wish *wish)
{
    struct cpi_priorities *priorities = pool->priorities;
    const struct cpi_heap_entry *least;
    uintptr_t found = CPI_OBJECT_NONE;

    lock_uses(priorities);
    while (found == CPI_OBJECT_NONE && (least = cpi_heap_least(&priorities->heap)) != NULL) {
        uintptr_t index = least->index;

        if (least->key.number == CPOOL_PRIORITY_KEPT ||
            (wish != NULL && priorities->keeps && least->key.number > wish->number))
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

int cpi_priority_open(cpool_objects_t *pool)
{
    struct cpi_priorities *priorities = calloc(1, sizeof *priorities);

    pool->priorities = priorities;
    if (priorities == NULL)
        return CPOOL_ENOMEM;
    priorities->pool = pool;
    priorities->keeps = (pool->flags & CPOOL_OBJECT_KEEP_LARGER) != 0;
    priorities->uses = calloc(pool->max, sizeof *priorities->uses);
    return cpi_heap_init(&priorities->heap, pool->max) && priorities->uses != NULL ? 0
                                                                                   : CPOOL_ENOMEM;
}

void cpi_priority_close(cpool_objects_t *pool)
{
    if (pool->priorities == NULL)
        return;
    cpi_heap_fini(&pool->priorities->heap);
    free(pool->priorities->uses);
    free(pool->priorities);
    pool->priorities = NULL;
}

/* --- Putting --- */

int cpool_priority_put(cpool_objects_t *pool, cpool_claim_t claim)
{
    struct cpi_priorities *priorities = pool->priorities;
    uintptr_t index = lock_use(pool, claim);
    bool mine;

    if (index == CPI_OBJECT_NONE)
        return CPI_ENDED(pool) ? CPOOL_EPOOL : CPOOL_EINACTIVE;
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
    struct cpi_priorities *priorities = pool->priorities;
    uintptr_t index = lock_use(pool, claim);

    if (index == CPI_OBJECT_NONE)
        return CPI_ENDED(pool) ? CPOOL_EPOOL : CPOOL_EINACTIVE;
    priorities->uses[index].key.number = priority;
    if (cpi_heap_has(&priorities->heap, index))
        cpi_heap_change(&priorities->heap, index, priorities->uses[index].key);
    unlock_uses(priorities);
    return 0;
}
