/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object.c - an object from its construction to its end: the calls of its hooks, getting, putting,
 * and the active objects.
 *
 * A get by a short way takes an inactive object of the thread's cache, or goes on at length.
 *
 * A slot goes from thread to thread through the pool of slots, or by the vacancy bits, which
 * order the record along with it.  So the thread that has a slot in hand reads its record
 * without an order of its own.
 *
 * ORDERING TABLE
 *   own    | record load by the thread that has the slot in hand | relaxed | - | -
 *   mine   | record store of BUSY and VACANT, by the same | relaxed | - | -
 *   active | record store of ACTIVE      | release | object.h's seize, see | the object, and its
 *                                                                            trace
 *   see    | record load by any thread   | acquire | active, object.h's active | that the object
 *                                                                                is there
 *   next   | block load by any thread    | acquire | object_slot.c's block | that the object before
 *                                                                it at its place has been put
 *   seize  | record fetch-and, ACTIVE to INACTIVE | acq_rel | active, object.h's active | what
 *                                          the get wrote
 *   count  | counters, trace             | relaxed | - | -
 *   failed | CAS failure                 | relaxed | - | -
 *   use    | active fetch-and-add of a get | release | object_room.c's used | that the object
 *                                                                            exists
 */

#include "objects/object.h"

void cpi_object_report(int code, const char *function, const cpool_objects_t *pool,
                       const void *object)
{
    uintptr_t index =
        pool != NULL && object != NULL ? cpi_object_index(pool, object) : CPI_OBJECT_NONE;
    const char *name = pool != NULL ? pool->name : "";
    cpool_error_t error = {.code = code, .function = function, .name = name, .address = object,
                           .pool = pool != NULL ? cpool_objects_pool(pool) : NULL};

    if (index != CPI_OBJECT_NONE) {
        error.slot = object;
        error.index = index;
    }
    if (object == NULL)
        cpool_client_report(&error, "%s: %s (object pool '%s')", function, cpool_strerror(code),
                            name);
    else if (pool == NULL)
        cpool_client_report(&error, "%s: %s (address %p)", function, cpool_strerror(code), object);
    else
        cpool_client_report(&error, "%s: %s (object pool '%s', address %p)", function,
                            cpool_strerror(code), name, object);
}

void cpi_object_shelve(cpool_objects_t *pool, uintptr_t index, uint32_t state)
{
    cpi_object_settle(pool, index, state);
    cpi_object_free(pool, index);
}

static void uncount_active(cpool_objects_t *pool)
{
    if ((pool->flags & CPOOL_OBJECT_COUNTED) != 0)
        cpi_fetch_add(&pool->active, UINT64_MAX, relaxed); /* [count] */
}

int cpi_object_make(cpool_objects_t *pool, uintptr_t index)
{
    int code = 0;

    cpi_store(&pool->records[index], CPI_OBJECT_BUSY, relaxed); /* [mine] */
    if (pool->type.create != NULL)
        code = pool->type.create(cpi_object_at(pool, index), pool->type.arg);
    if (code == 0) {
        cpi_fetch_add(&pool->creations, 1u, relaxed); /* [count] */
        return 0;
    }
    cpi_fetch_add(&pool->failures, 1u, relaxed);                  /* [count] */
    cpi_store(&pool->records[index], CPI_OBJECT_VACANT, relaxed); /* [mine] */
    cpi_object_give_up(pool, index);
    return code;
}

void cpi_object_unmake(cpool_objects_t *pool, uintptr_t index)
{
    cpi_object_set_busy(pool, index);
    if (pool->type.destroy != NULL)
        pool->type.destroy(cpi_object_at(pool, index), pool->type.arg);
    cpi_fetch_add(&pool->destructions, 1u, relaxed);              /* [count] */
    cpi_store(&pool->records[index], CPI_OBJECT_VACANT, relaxed); /* [mine] */
}

static inline void deactivate(const cpool_objects_t *pool, void *object)
{
    if (pool->type.deactivate != NULL)
        pool->type.deactivate(object, pool->type.arg);
}

/* Ends the use of a BUSY object, which stays in hand. */
static void end_use(cpool_objects_t *pool, uintptr_t index, bool deactivates)
{
    if (pool->priorities != NULL)
        cpi_priority_given(pool, index);
    if (deactivates)
        deactivate(pool, cpi_object_at(pool, index));
    uncount_active(pool);
}

void cpi_object_end(cpool_objects_t *pool, uintptr_t index)
{
    end_use(pool, index, (pool->flags & CPOOL_OBJECT_NO_DEACTIVATE) == 0);
    cpi_object_unmake(pool, index);
}

void cpi_object_give(cpool_objects_t *pool, uintptr_t index)
{
    end_use(pool, index, true);
    if (!cpi_object_is_fake(pool) && cpi_object_take_place(pool)) {
        if (pool->resets == CPI_RESET_ON_PUT)
            cpi_object_reset(pool, cpi_object_at(pool, index));
        cpi_object_shelve(pool, index, CPI_OBJECT_INACTIVE);
    } else {
        cpi_object_unmake(pool, index);
        cpi_object_give_up(pool, index);
    }
}

/* --- Finding an object --- */

/* The object of a get on its way to the caller. */
struct found {
    uintptr_t index;
    bool recycled; /* handed out before */
    bool counted;  /* as active, from the use that ended for it */
    size_t more;   /* objects to be created beside it */
    size_t passed; /* offers that it has taken on its way */
};

/* Takes an inactive object that a slot in hand turned out to have. */
static void recycle(cpool_objects_t *pool, struct found *found)
{
    found->recycled = cpi_object_state(pool, found->index) == CPI_OBJECT_INACTIVE;
    cpi_object_leave_place(pool);
    cpi_object_set_busy(pool, found->index);
}

/* A fake pool's object is destroyed with its use, and another one takes its room. */
static int replace(cpool_objects_t *pool, uintptr_t index)
{
    end_use(pool, index, true);
    cpi_object_unmake(pool, index);
    cpi_object_fake_close(pool, index);
    if (cpi_object_fake_open(pool, index))
        return cpi_object_make(pool, index);
    cpi_object_give_up(pool, index);
    return CPOOL_ENOMEM;
}

/* In a dry pool: ends the use of the least important object, if there is such a thing. */
static int reclaim(cpool_objects_t *pool, struct found *found, struct cpi_object_wish *wish)
{
    found->index = pool->priorities != NULL ? cpi_priority_reclaim(pool, wish) : CPI_OBJECT_NONE;
    wish->dry = found->index == CPI_OBJECT_NONE;
    if (wish->dry)
        return CPOOL_EDRY;
    if (cpi_object_is_fake(pool))
        return replace(pool, found->index);
    deactivate(pool, cpi_object_at(pool, found->index));
    if (pool->resets == CPI_RESET_ON_PUT)
        cpi_object_reset(pool, cpi_object_at(pool, found->index));
    found->recycled = true;
    found->counted = (pool->flags & CPOOL_OBJECT_COUNTED) != 0;
    return 0;
}

/* Creates an object, in a pool that grows only where `grows`.  Returns false without room, and
 * where the slot for it was lost. */
static bool create_another(cpool_objects_t *pool, struct found *found, bool grows, int *code)
{
    if (!cpi_object_count_in(pool, grows, &found->more))
        return false;
    if ((pool->flags & CPOOL_OBJECT_WAITABLE) != 0)
        cpi_object_offer_rest(pool);
    found->index = cpi_object_find_slot(pool);
    *code = 0;
    if (found->index == CPI_OBJECT_NONE)
        *code = CPOOL_ENOMEM;
    else if (cpi_object_state(pool, found->index) == CPI_OBJECT_VACANT)
        *code = cpi_object_make(pool, found->index);
    else
        recycle(pool, found);
    return found->index != CPI_OBJECT_NONE || !cpi_object_has_lost(pool);
}

/* Takes an inactive object, as cpi_object_take_inactive. */
static bool take(cpool_objects_t *pool, void *slot, bool near, struct found *found)
{
    found->index = cpi_object_take_inactive(pool, slot, near, &found->passed);
    if (found->index == CPI_OBJECT_NONE)
        return false;
    recycle(pool, found);
    return true;
}

/*
 * An object in the state BUSY, from this slot or, if it is NULL, from anywhere.  While there is
 * room an object is created rather than taken from another thread's cache, so that threads do not
 * take objects from each other in turn.  Where that fails the others' objects are as good.  A pool
 * that keeps few inactive objects would destroy one too many, so it looks everywhere first.
 */
static int find(cpool_objects_t *pool, void *slot, struct found *found,
                struct cpi_object_wish *wish)
{
    bool had_room = false;
    int code = CPOOL_EDRY;

    if (slot == NULL && pool->priorities != NULL && cpi_object_is_used_up(pool))
        return reclaim(pool, found, wish);
    if (pool->max_inactive == 0) {
        if (take(pool, slot, true, found))
            return 0;
        had_room = create_another(pool, found, false, &code);
        if (had_room && code == 0)
            return 0;
        slot = NULL;
    }
    if (take(pool, slot, false, found))
        return 0;
    if (!had_room && !create_another(pool, found, true, &code))
        return reclaim(pool, found, wish);
    return code;
}

/* Readies an object for its caller: the code that activate has returned already, or 0.  An unfit
 * one that was used before is replaced, if there is anything that makes a new one different. */
static int activate(cpool_objects_t *pool, struct found *found, int code)
{
    for (;; code = 0) {
        void *object = cpi_object_at(pool, found->index);

        if (code == 0 && found->recycled && pool->resets == CPI_RESET_ON_GET)
            cpi_object_reset(pool, object);
        if (code == 0 && pool->type.activate != NULL)
            code = pool->type.activate(object, pool->type.arg);
        if (code == 0)
            return 0;
        cpi_fetch_add(&pool->failures, 1u, relaxed); /* [count] */
        cpi_object_unmake(pool, found->index);
        if (found->counted)
            uncount_active(pool); /* before another get may have its room */
        found->counted = false;
        if (!found->recycled || pool->type.create == NULL) {
            cpi_object_give_up(pool, found->index);
            return code;
        }
        found->recycled = false;
        code = cpi_object_make(pool, found->index);
        if (code != 0)
            return code;
    }
}

/* The object is its caller's from now on.  It is active, unless it is for a frame. */
static void hand_out(cpool_objects_t *pool, const struct found *found,
                     struct cpi_object_wish *wish)
{
    uintptr_t index = found->index;
    uint32_t record = cpi_load(&pool->records[index], relaxed); /* [own] */

    if (pool->traces != NULL) {
        cpi_store(&pool->traces[index].since, pool->client.system->now(), relaxed); /* [count] */
        cpi_store(&pool->traces[index].site, (uintptr_t)wish->site, relaxed); /* [count] */
    }
    if ((pool->flags & CPOOL_OBJECT_COUNTED) != 0 && !found->counted) {
        uint64_t active = cpi_fetch_add(&pool->active, 1u, release) + 1; /* [use] */

        if (!cpi_object_is_fake(pool))
            cpi_raise(&pool->peak, active, relaxed); /* [count] [failed] */
    }
    wish->uses = record / CPI_OBJECT_USE + 1;
    if (wish->framed)
        cpi_store(&pool->records[index], record + CPI_OBJECT_USE, relaxed); /* [mine] */
    else if (pool->priorities != NULL)
        cpi_priority_taken(pool, index, wish);
    else
        cpi_object_show(pool, index, wish->uses);
    if (pool->priorities == NULL)
        wish->claim = (cpool_claim_t)(index + 1) << 32 | wish->uses;
}

int cpi_object_obtain(cpool_objects_t *pool, void *slot, void **object,
                      struct cpi_object_wish *wish)
{
    struct found found = {.recycled = wish->unfit != 0};
    int code = 0;

    wish->dry = false;
    if (wish->unfit != 0)
        found.index = cpi_object_index_of(pool, slot);
    else
        code = find(pool, slot, &found, wish);
    if (found.passed > 0 && cpi_object_has_room(pool))
        cpi_object_offer_some(pool, found.passed);
    if (code == 0)
        code = activate(pool, &found, wish->unfit);
    *object = NULL;
    if (code != 0)
        return code;
    *object = cpi_object_at(pool, found.index);
    wish->index = found.index;
    hand_out(pool, &found, wish);
    if (found.more > 0)
        cpool_objects_populate(pool, found.more, NULL);
    return 0;
}

/* --- Getting --- */

/* A slot of the thread's cache, or NULL.  *was is its object's record, or VACANT without a slot. */
CPI_WITHIN static inline void *pop(const cpool_objects_t *pool, uintptr_t *index, uint32_t *was)
{
    cpool_t *slots = pool->short_get;
    void *slot;

    *index = *was = CPI_OBJECT_VACANT;
    if (CPI_UNLIKELY(!cpi_object_pop(slots, &slot)))
        return NULL;
    CPOOL_INDEX_(slots, slot, *index);
    *was = cpi_load(&pool->records[*index], relaxed); /* [own] */
    return slot;
}

/* The object is its caller's from now on.  This is what its record was in the pool. */
CPI_WITHIN static inline void show(cpool_objects_t *pool, uintptr_t index, uint32_t was)
{
    was += CPI_OBJECT_USE + CPI_OBJECT_ACTIVE - CPI_OBJECT_INACTIVE;
    cpi_store(&pool->records[index], was, release); /* [active] */
}

/* The same after the hooks of a get.  False if there is no such object, or if it is unfit. */
CPI_WITHIN static inline bool ready(cpool_objects_t *pool, void *slot, uintptr_t index,
                                    uint32_t was, int *unfit)
{
    *unfit = 0;
    if (CPI_UNLIKELY((was & CPI_OBJECT_INACTIVE) == 0))
        return false;
    was += CPI_OBJECT_BUSY - CPI_OBJECT_INACTIVE;
    cpi_store(&pool->records[index], was, relaxed); /* [mine] */
    if (pool->resets == CPI_RESET_ON_GET)
        cpi_object_reset(pool, slot);
    if (pool->type.activate != NULL)
        *unfit = pool->type.activate(slot, pool->type.arg);
    if (CPI_UNLIKELY(*unfit != 0))
        return false;
    show(pool, index, was - (CPI_OBJECT_BUSY - CPI_OBJECT_INACTIVE));
    return true;
}

/* With the slot in hand that a pop has left, or NULL. */
CPI_APART static void *get_at_length(cpool_objects_t *pool, void *slot, int unfit, const void *site)
{
    struct cpi_object_wish wish = {.site = site, .unfit = unfit};
    void *object;

    if (cpi_ended_check(&pool->ended, pool, "cpool_object_get"))
        return NULL;
    if (cpi_object_obtain(pool, slot, &object, &wish) != 0)
        cpi_fetch_add(&pool->misses, 1u, relaxed); /* [count] */
    return object;
}

/* With hooks. */
CPI_APART static void *get(cpool_objects_t *pool, void *slot, uintptr_t index, uint32_t was,
                           const void *site)
{
    int unfit;

    if (CPI_LIKELY(ready(pool, slot, index, was, &unfit)))
        return slot;
    return get_at_length(pool, slot, unfit, site);
}

void *cpool_object_get(cpool_objects_t *pool)
{
    uintptr_t index;
    uint32_t was;
    void *slot = pop(pool, &index, &was);

    if (CPI_UNLIKELY((was & pool->brief_get) == 0))
        return get(pool, slot, index, was, CPI_CALLER());
    show(pool, index, was);
    return slot;
}

/* --- Waiting, in the pool of slots.  Each event that makes a get possible frees a slot there: a
 * put, an object that was destroyed, or room that was made. --- */

#define CPI_SECOND UINT64_C(1000000000)
#define CPI_NEVER UINT64_MAX
/* A wait beyond it has no limit.  With the monotonic time added it fits a time_t of 32 bits. */
#define CPI_LONGEST (INT32_MAX / 2 * CPI_SECOND)

/* When so many nanoseconds are over, or 0 for none. */
static uint64_t deadline_of(const cpool_objects_t *pool, uint64_t wait)
{
    uint64_t now = wait != 0 ? pool->client.system->now() : 0;

    return wait < CPI_NEVER - now ? now + wait : CPI_NEVER;
}

/* Sleeps until there is a slot, or it is worth looking again.  False if the time is up. */
static bool sleep_until(const cpool_objects_t *pool, uint64_t deadline, void **slot)
{
    uint64_t now = deadline != 0 ? pool->client.system->now() : 0;
    struct timespec left;

    *slot = NULL;
    if (now >= deadline)
        return false;
    if (cpi_object_is_fake(pool)) {
        pool->client.system->back_off(CPI_OBJECTS_SLEEP);
        return true;
    }
    left.tv_sec = (time_t)((deadline - now) / CPI_SECOND);
    left.tv_nsec = (long)((deadline - now) % CPI_SECOND);
    *slot = cpool_alloc_wait(pool->pool, deadline - now <= CPI_LONGEST ? &left : NULL);
    return *slot != NULL;
}

/* Whether there can be a get that waits so long. */
static int check_wait(const cpool_objects_t *pool, uint64_t wait)
{
    if (cpi_ended_check(&pool->ended, pool, "cpool_object_get_with"))
        return CPOOL_EPOOL;
    if (wait == 0 || cpi_object_is_fake(pool) || (pool->flags & CPOOL_OBJECT_WAITABLE) != 0)
        return 0;
    cpi_object_report(CPOOL_EKIND, "cpool_object_get_with", pool, NULL);
    return CPOOL_EKIND;
}

int cpool_object_get_with(cpool_objects_t *pool, void **object, cpool_grant_t *given)
{
    struct cpi_object_wish wish = {.site = CPI_CALLER()};
    cpool_grant_t grant = CPOOL_GRANT_INIT;
    uint64_t deadline;
    void *slot = NULL;
    int code;

    *object = NULL;
    code = given != NULL ? cpi_given_read(&grant, sizeof grant, given) : 0;
    if (code != 0)
        return code;
    code = check_wait(pool, grant.wait_ns);
    if (code == 0) {
        wish.number = grant.priority;
        deadline = deadline_of(pool, grant.wait_ns);
        do {
            code = cpi_object_obtain(pool, slot, object, &wish);
        } while (wish.dry && sleep_until(pool, deadline, &slot));
        if (code != 0)
            cpi_fetch_add(&pool->misses, 1u, relaxed); /* [count] */
    }
    grant.claim = wish.claim;
    grant.ended = wish.ended;
    grant.uses = wish.uses;
    if (given != NULL)
        (void)cpi_given_write(given, &grant, sizeof grant);
    return code;
}

/* --- Putting --- */

CPI_COLD void cpi_object_refuse(const cpool_objects_t *pool, const void *object,
                                const char *function)
{
    int code = CPOOL_EINACTIVE;

    if (!cpi_object_is_fake(pool) && cpi_object_index_of(pool, object) >= pool->max) {
        uintptr_t first = (uintptr_t)cpool_at(pool->pool, 0);
        uintptr_t last = (uintptr_t)cpool_at(pool->pool, pool->max - 1);

        code = (uintptr_t)object > first && (uintptr_t)object < last + pool->type.object_size
                   ? CPOOL_EMISALIGNED
                   : CPOOL_EFOREIGN;
    }
    cpi_object_report(code, function, pool, object);
}

/* In any pool. */
CPI_APART static void put_at_length(cpool_objects_t *pool, void *object)
{
    uintptr_t index;

    if (object == NULL || cpi_ended_check(&pool->ended, pool, "cpool_object_put"))
        return;
    index = cpi_object_index(pool, object);
    if ((pool->flags & CPOOL_CHECKED) != 0 && index != CPI_OBJECT_NONE &&
        cpi_object_state(pool, index) == CPI_OBJECT_ACTIVE && cpi_object_repair(pool, index))
        return;
    if (CPI_UNLIKELY(index == CPI_OBJECT_NONE || !cpi_object_seize(pool, index)))
        cpi_object_refuse(pool, object, "cpool_object_put");
    else
        cpi_object_give(pool, index);
}

/* As cpi_object_give, where puts are short. */
CPI_WITHIN static inline void give_shortly(cpool_objects_t *pool, uintptr_t index, void *object)
{
    deactivate(pool, object);
    if (pool->resets == CPI_RESET_ON_PUT)
        cpi_object_reset(pool, object);
    cpi_object_settle(pool, index, CPI_OBJECT_INACTIVE);
    cpi_object_push(pool->slots, object, index);
}

/* With hooks, by what may be its index. */
CPI_APART static void put(cpool_objects_t *pool, void *object, uintptr_t index)
{
    if (CPI_UNLIKELY(index >= pool->short_put || !cpi_object_seize(pool, index)))
        put_at_length(pool, object);
    else
        give_shortly(pool, index, object);
}

/* Makes an active object inactive, by one instruction with GCC.  Returns false, and changes
 * nothing, in any other state. */
static inline bool retire(_Atomic uint32_t *record)
{
    return (cpi_fetch_and(record, ~CPI_OBJECT_OUT, acq_rel) & CPI_OBJECT_OUT) != 0; /* [seize] */
}

void cpool_object_put(cpool_objects_t *pool, void *object)
{
    cpool_t *slots = pool->slots;
    uintptr_t index;

    CPOOL_INDEX_(slots, object, index);
    if (CPI_UNLIKELY(index >= pool->brief_put))
        put(pool, object, index);
    else if (CPI_UNLIKELY(!retire(&pool->records[index])))
        cpi_object_refuse(pool, object, "cpool_object_put");
    else
        cpi_object_push(slots, object, index);
}

/* --- Active objects --- */

/* Fills in what there is to say about the object with this index, if it is active. */
static void describe_active(const cpool_objects_t *pool, uintptr_t index,
                            cpool_object_info_t *info)
{
    uint32_t record = cpi_load(&pool->records[index], acquire); /* [see] */

    if ((record & CPI_OBJECT_STATES) != CPI_OBJECT_ACTIVE)
        return;
    if (!cpi_object_is_fake(pool))
        info->object = cpi_object_at(pool, index);
    else if ((info->object = cpi_load(&pool->blocks[index], acquire)) != NULL && /* [next] */
             cpi_load(&pool->records[index], acquire) != record)                 /* [see] */
        info->object = NULL; /* of the object after it, which may be in the making */
    info->index = index;
    info->uses = record / CPI_OBJECT_USE;
    if (pool->traces != NULL) {
        uint64_t since = cpi_load(&pool->traces[index].since, relaxed); /* [count] */
        uint64_t now = pool->client.system->now();

        info->age_ns = now > since ? now - since : 0;
        info->site = (const void *)cpi_load(&pool->traces[index].site, relaxed); /* [count] */
    }
}

void *cpool_objects_next(const cpool_objects_t *pool, cpool_object_info_t *info)
{
    cpool_object_info_t found;

    if (CPI_ENDED(pool))
        return NULL;
    if (cpi_given_read(&found, sizeof found, info) != 0) {
        cpi_object_report(CPOOL_ESTRUCT, "cpool_objects_next", pool, NULL);
        return NULL;
    }
    found.object = NULL;
    while (found.object == NULL && found.next < cpi_object_reached(pool))
        describe_active(pool, found.next++, &found);
    (void)cpi_given_write(info, &found, sizeof found);
    return found.object;
}

uintptr_t cpi_object_seize_next(cpool_objects_t *pool, bool by_rank, uintptr_t *next)
{
    uintptr_t reached = cpi_object_reached(pool);

    if (by_rank)
        return cpi_priority_reclaim(pool, NULL);
    while (*next < reached)
        if (cpi_object_seize(pool, (*next)++))
            return *next - 1;
    return CPI_OBJECT_NONE;
}

size_t cpool_objects_reset(cpool_objects_t *pool, size_t n)
{
    bool by_rank = pool->priorities != NULL && n != SIZE_MAX;
    uintptr_t index, next = 0;
    size_t put = 0;

    if (CPI_ENDED(pool))
        return 0;
    for (; put < n && (index = cpi_object_seize_next(pool, by_rank, &next)) != CPI_OBJECT_NONE;
         put++) {
        if (index < pool->short_put)
            give_shortly(pool, index, cpi_object_at(pool, index));
        else
            cpi_object_give(pool, index);
    }
    return put;
}
