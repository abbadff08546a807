/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_lease.c - objects that go back with a lease.
 *
 * Includes object.h.
 *
 * The record of a leased object reads INACTIVE, as that of one in the pool.  So no put, visit or
 * reclaim takes it for a caller's, and there is nothing to write when the lease ends.  A lease
 * knows its objects in one of two ways:
 *
 *   whole    their slots are those of a lease of the pool of slots (lib/lease/), which gives
 *            them back by whole magazines
 *   listed   where something is to be done for each object at the end.  The lease has a list
 *
 * At a reset a lease does the same, and stays open.
 *
 *   listed:  top -> | below of object 7 | -> | below of object 2 | -> EMPTY
 *
 * Threads push on a list at once.  One thread takes from it, beside no push and after all of them
 * (the contract of the end), so no index comes back to the top while another thread looks at it.
 *
 * ORDERING TABLE
 *   own    | record load and store by the thread that has the slot in hand | relaxed | - | -
 *   made   | leases CAS, from none       | release | see    | the leases, all closed
 *   see    | leases load, CAS failure    | acquire | made   | the leases, all closed
 *   begin  | top CAS from CLOSED         | acquire | close  | that the lease before has ended
 *   close  | top store of CLOSED         | release | begin  | that this lease has ended
 *   slots  | slots load and store        | relaxed | - | - (the user hands the lease over)
 *   link   | below store                 | relaxed | push   | -
 *   push   | top CAS to an object        | release | the child of a fork | what lies below
 *   pop    | top CAS to what lies below  | relaxed | - | - (the user orders the end after all gets)
 *   look   | top load, below load, CAS failure | relaxed | - | -
 */
#include <cpool/object_lease.h>

#include "object/object.h"

#include <stdlib.h>

#include "base/atomic.h"
#include "lease/lease_layer.h"

/* The values of `top` and `below`.  CLOSED is zero.  From FIRST on it is an index. */
enum { CLOSED, EMPTY, FIRST };

/* Objects of a pool where leases have lists. */
#define CPI_LISTED_MAX (UINT32_MAX - FIRST + 1)

struct cpool_object_lease {
    cpool_objects_t *pool;          /* constant */
    _Atomic(cpool_lease_t *) slots; /* of a whole one, or NULL */
    _Atomic uint32_t top;           /* of a listed one.  Of a whole one EMPTY */
};

struct cpi_object_leases {
    struct cpool_object_lease lease[CPOOL_LEASES_MAX];
    _Atomic uint32_t begun;   /* so that a lease that has ended is used again late */
    _Atomic uint32_t below[]; /* of each object in a list */
};

/* Whether there is nothing to be done for an object when its use ends. */
static bool is_whole(const cpool_objects_t *pool)
{
    return !cpi_object_is_fake(pool) && (pool->flags & CPOOL_OBJECT_COUNTED) == 0 &&
           pool->max_inactive == 0 && !cpi_object_slots_are(pool, CPOOL_WAITABLE) &&
           pool->policy == NULL && pool->type.deactivate == NULL &&
           pool->resets != CPI_RESET_ON_PUT;
}

static int refuse(const char *function)
{
    cpi_object_report(CPOOL_ELEASE, function, NULL, NULL);
    return CPOOL_ELEASE;
}

static bool is_open(const cpool_object_lease_t *lease)
{
    return cpi_load(&lease->top, relaxed) != CLOSED; /* [look] */
}

bool cpi_object_is_leased(const cpool_objects_t *pool)
{
    const struct cpi_object_leases *leases = cpi_load(&pool->leases, acquire); /* [see] */

    for (unsigned i = 0; leases != NULL && i < CPOOL_LEASES_MAX; i++)
        if (is_open(&leases->lease[i]))
            return true;
    return false;
}

/* --- Beginning --- */

static struct cpi_object_leases *leases_of(cpool_objects_t *pool)
{
    struct cpi_object_leases *leases = cpi_load(&pool->leases, acquire); /* [see] */
    struct cpi_object_leases *other = NULL;

    if (leases != NULL)
        return leases;
    leases = calloc(1, sizeof *leases + pool->max * sizeof leases->below[0]);
    if (leases == NULL)
        return NULL;
    for (unsigned i = 0; i < CPOOL_LEASES_MAX; i++)
        leases->lease[i].pool = pool;
    if (cpi_cas_strong(&pool->leases, &other, leases, release, acquire)) /* [made] [see] */
        return leases;
    free(leases);
    return other;
}

static cpool_object_lease_t *claim(struct cpi_object_leases *leases)
{
    uint32_t first = cpi_fetch_add(&leases->begun, 1u, relaxed); /* [look] */

    for (uint32_t i = 0; i < CPOOL_LEASES_MAX; i++) {
        cpool_object_lease_t *lease = &leases->lease[(first + i) % CPOOL_LEASES_MAX];
        uint32_t top = CLOSED;

        if (cpi_cas_strong(&lease->top, &top, EMPTY, acquire, relaxed)) /* [begin] [look] */
            return lease;
    }
    return NULL;
}

static void close_lease(cpool_object_lease_t *lease)
{
    cpi_store(&lease->slots, NULL, relaxed); /* [slots] */
    cpi_store(&lease->top, CLOSED, release); /* [close] */
}

cpool_object_lease_t *cpool_object_lease_begin(cpool_objects_t *pool)
{
    bool whole = is_whole(pool);
    struct cpi_object_leases *leases = NULL;
    cpool_object_lease_t *lease;
    cpool_lease_t *slots;

    if (whole || pool->max <= CPI_LISTED_MAX)
        leases = leases_of(pool);
    lease = leases != NULL ? claim(leases) : NULL;
    if (lease == NULL || !whole)
        return lease;
    slots = cpool_lease_begin(pool->pool);
    if (slots == NULL) {
        close_lease(lease);
        return NULL;
    }
    cpi_store(&lease->slots, slots, relaxed); /* [slots] */
    return lease;
}

/* --- Getting and adopting --- */

static void push(cpool_object_lease_t *lease, uintptr_t index)
{
    _Atomic uint32_t *below = &cpi_load(&lease->pool->leases, acquire)->below[index]; /* [see] */
    uint32_t top = cpi_load(&lease->top, relaxed);                                    /* [look] */

    do
        cpi_store(below, top, relaxed); /* [link] */
    while (!cpi_cas_weak(&lease->top, &top, (uint32_t)index + FIRST, /* [push] [look] */
                         release, relaxed));
}

/* A BUSY object is the lease's from now on, unless a code is returned.  Then it is active. */
static int join(cpool_object_lease_t *lease, uintptr_t index)
{
    cpool_objects_t *pool = lease->pool;
    cpool_lease_t *slots = cpi_load(&lease->slots, relaxed); /* [slots] */
    int code = 0;

    if (pool->policy != NULL)
        pool->policy->given(pool, index);
    cpi_object_settle(pool, index, CPI_OBJECT_INACTIVE);
    if (slots == NULL)
        push(lease, index);
    else
        code = cpool_lease_adopt(slots, cpi_object_at(pool, index));
    if (code != 0)
        cpi_object_show(pool, index, cpi_load(&pool->records[index], relaxed) / /* [own] */
                                         CPI_OBJECT_USE);
    return code;
}

/* An object of a slot under the lease.  A hook that is left leaves it as it was: the lease's. */
static void *use(cpool_objects_t *pool, void *slot)
{
    uintptr_t index = cpi_object_index_of(pool, slot);
    uint32_t record = cpi_load(&pool->records[index], relaxed); /* [own] */

    if (pool->resets == CPI_RESET_ON_GET &&
        (record & CPI_OBJECT_STATES) == CPI_OBJECT_INACTIVE)
        cpi_object_reset(pool, slot);
    cpi_store(&pool->records[index], /* [own] */
              (record & ~CPI_OBJECT_STATES) + CPI_OBJECT_USE + CPI_OBJECT_INACTIVE, relaxed);
    return slot;
}

/* Of a priority pool another get may reclaim the object before it is the lease's. */
CPI_APART static void *get_and_join(cpool_object_lease_t *lease, const void *site)
{
    cpool_objects_t *pool = lease->pool;
    struct cpi_object_wish wish = {.site = site};
    uintptr_t index;
    void *object;

    if (!is_open(lease)) {
        (void)refuse("cpool_object_lease_get");
        return NULL;
    }
    do {
        if (cpi_object_obtain(pool, NULL, &object, NULL, &wish) != 0)
            return NULL;
        index = cpi_object_index(pool, object);
    } while (!cpi_object_seize(pool, index));
    if (join(lease, index) == 0)
        return object;
    (void)cpool_object_put(pool, object);
    return NULL;
}

void *cpool_object_lease_get(cpool_object_lease_t *lease)
{
    cpool_objects_t *pool = lease->pool;
    cpool_lease_t *slots = cpi_load(&lease->slots, relaxed); /* [slots] */
    void *slot = NULL;

    if (CPI_LIKELY(slots != NULL && pool->type.activate == NULL) &&
        (pool->short_put == 0 || !cpi_layer_pop((const cpool_t *)(const void *)slots, &slot)))
        slot = cpi_lease_near(slots);
    return CPI_LIKELY(slot != NULL) ? use(pool, slot) : get_and_join(lease, CPI_CALLER());
}

int cpool_object_lease_adopt(cpool_object_lease_t *lease, void *object)
{
    static const char function[] = "cpool_object_lease_adopt";
    cpool_objects_t *pool = lease->pool;
    uintptr_t index;

    if (!is_open(lease))
        return refuse(function);
    if (object == NULL)
        return 0;
    index = cpi_object_index(pool, object);
    if (index == CPI_OBJECT_NONE || !cpi_object_seize(pool, index))
        return cpi_object_refuse(pool, object, function);
    return join(lease, index);
}

/* --- The end --- */

static uintptr_t pop(cpool_object_lease_t *lease)
{
    const struct cpi_object_leases *leases = cpi_load(&lease->pool->leases, acquire); /* [see] */
    uint32_t top = cpi_load(&lease->top, relaxed);                                    /* [look] */

    while (top >= FIRST)
        if (cpi_cas_weak(&lease->top, &top,                               /* [pop] [look] */
                         cpi_load(&leases->below[top - FIRST], relaxed), /* [look] */
                         relaxed, relaxed))
            return top - FIRST;
    return CPI_OBJECT_NONE;
}

/* An object is off the list before its hooks run, so that the next end goes on after one that
 * was left. */
static size_t give_listed(cpool_object_lease_t *lease)
{
    uintptr_t index;
    size_t objects;

    for (objects = 0; (index = pop(lease)) != CPI_OBJECT_NONE; objects++) {
        cpi_object_set_busy(lease->pool, index);
        cpi_object_give(lease->pool, index);
    }
    return objects;
}

static size_t end_listed(cpool_object_lease_t *lease)
{
    size_t objects = give_listed(lease);

    close_lease(lease);
    return objects;
}

/* An end that is refused leaves the lease open. */
static size_t end_whole(cpool_object_lease_t *lease, cpool_lease_t *slots)
{
    size_t objects;

    if (cpi_lease_end(slots, "cpool_object_lease_end", &objects, &lease->slots))
        close_lease(lease);
    return objects;
}

size_t cpool_object_lease_end(cpool_object_lease_t *lease)
{
    cpool_lease_t *slots;

    if (lease == NULL || !is_open(lease)) {
        (void)refuse("cpool_object_lease_end");
        return 0;
    }
    slots = cpi_load(&lease->slots, relaxed); /* [slots] */
    return slots != NULL ? end_whole(lease, slots) : end_listed(lease);
}

size_t cpool_object_lease_reset(cpool_object_lease_t *lease)
{
    static const char function[] = "cpool_object_lease_reset";
    cpool_lease_t *slots;

    if (lease == NULL || !is_open(lease)) {
        (void)refuse(function);
        return 0;
    }
    slots = cpi_load(&lease->slots, relaxed); /* [slots] */
    return slots != NULL ? cpi_lease_reset(slots, function) : give_listed(lease);
}

/* The objects of a list are destroyed, and those of whole leases are the pool's. */
size_t cpi_object_leases_end(cpool_objects_t *pool)
{
    struct cpi_object_leases *leases = cpi_load(&pool->leases, acquire); /* [see] */
    size_t objects = 0;

    for (unsigned i = 0; leases != NULL && i < CPOOL_LEASES_MAX; i++) {
        cpool_object_lease_t *lease = &leases->lease[i];
        cpool_lease_t *slots = cpi_load(&lease->slots, relaxed); /* [slots] */
        uintptr_t index;

        if (slots != NULL)
            objects += end_whole(lease, slots);
        for (; (index = pop(lease)) != CPI_OBJECT_NONE; objects++) {
            cpi_object_set_busy(pool, index);
            cpi_object_end(pool, index, cpi_object_end_deactivates(pool));
            if (cpi_object_is_fake(pool))
                cpi_object_fake_close(pool, index);
        }
    }
    return objects;
}
