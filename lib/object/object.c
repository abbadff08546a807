/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object.c - getting and putting objects.
 *
 * ORDERING TABLE
 *   own    | record load by the thread that has the slot in hand | relaxed | - | -
 *   active | record store of ACTIVE      | release | object.h's seize, object_life.c's see,
 *                                          object_list.c's see | the object, and its trace
 *   trace  | trace store                 | relaxed | - | -
 *   count  | counters                    | relaxed | - | -
 *   used   | active load                 | acquire | object_life.c's use | that the object exists
 */
#include "object/object.h"

#include "base/atomic.h"
#include "host/os.h"

/* --- Getting --- */

/* The object of a get on its way to the caller. */
struct found {
    uintptr_t index;
    bool recycled; /* handed out before */
    bool counted;  /* as active, from the use that ended for it */
    size_t more;   /* objects to be created beside it */
};

/* Creates an object in a vacant slot in hand, which is counted.  Else both are given up. */
static int construct(cpool_objects_t *pool, uintptr_t index)
{
    int code = cpi_object_make(pool, index);

    if (code != 0)
        cpi_object_give_up(pool, index);
    return code;
}

/* Takes an inactive object that a slot in hand turned out to have. */
static void recycle(cpool_objects_t *pool, struct found *found)
{
    found->recycled = cpi_object_state(pool, found->index) == CPI_OBJECT_INACTIVE;
    cpi_object_leave_place(pool);
    cpi_object_set_busy(pool, found->index);
}

/* Creates an object, for which there is room. */
static int create_another(cpool_objects_t *pool, struct found *found)
{
    found->index = cpi_object_find_slot(pool);
    if (found->index == CPI_OBJECT_NONE)
        return CPOOL_ENOMEM;
    if (cpi_object_state(pool, found->index) == CPI_OBJECT_VACANT)
        return construct(pool, found->index);
    recycle(pool, found);
    return 0;
}

/* A fake pool's object is destroyed with its use, and another one takes its room. */
static int replace(cpool_objects_t *pool, uintptr_t index)
{
    cpi_object_end(pool, index);
    cpi_object_fake_close(pool, index);
    if (cpi_object_fake_open(pool, index))
        return construct(pool, index);
    cpi_object_give_up(pool, index);
    return CPOOL_ENOMEM;
}

/* Ends the use of the least important object. */
static int reclaim(cpool_objects_t *pool, struct found *found, struct cpi_object_wish *wish)
{
    found->index = pool->policy->reclaim(pool, wish);
    if (found->index == CPI_OBJECT_NONE)
        return CPOOL_EDRY;
    if (cpi_object_is_fake(pool))
        return replace(pool, found->index);
    cpi_object_deactivate(pool, found->index);
    if (pool->resets == CPI_RESET_ON_PUT)
        cpi_object_reset(pool, found->index);
    found->recycled = true;
    found->counted = (pool->flags & CPOOL_OBJECT_COUNTED) != 0;
    return 0;
}

/* No inactive object was found: one is created, or an active one reclaimed. */
static int find_another(cpool_objects_t *pool, struct found *found, struct cpi_object_wish *wish)
{
    if (cpi_object_count_in(pool, true, &found->more)) {
        if (cpi_object_slots_are(pool, CPOOL_WAITABLE))
            cpi_object_offer_rest(pool);
        return create_another(pool, found);
    }
    return pool->policy != NULL ? reclaim(pool, found, wish) : CPOOL_EDRY;
}

/* In priority pools: whether all objects are active, so that there is none to be found.  An
 * object whose use has ended for another get counts as active. */
static bool is_used_up(const cpool_objects_t *pool)
{
    return pool->policy != NULL &&
           cpi_object_is_full(pool, cpi_load(&pool->active, acquire)); /* [used] */
}

/*
 * An object in the state BUSY, from this slot or, if it is NULL, from anywhere.  Vacant slots
 * that lie free are passed by as long as there may be inactive objects.  They are offered again
 * as long as there is room.
 */
static int find(cpool_objects_t *pool, void *slot, struct found *found,
                struct cpi_object_wish *wish)
{
    size_t passed = 0;

    if (slot == NULL && is_used_up(pool))
        return reclaim(pool, found, wish);
    if (slot == NULL && !cpi_object_is_fake(pool))
        slot = cpool_alloc(pool->pool);
    for (; slot != NULL; slot = cpool_alloc(pool->pool), passed++) {
        found->index = cpi_object_index_of(pool, slot);
        if (!cpi_object_take_offer(pool, found->index)) {
            recycle(pool, found);
            if (passed > 0)
                cpi_object_offer_some(pool, passed);
            return 0;
        }
        cpi_object_vacate(pool, found->index);
    }
    return find_another(pool, found, wish);
}

/* Readies an object for its caller.  An unfit one that was used before is replaced, if there is
 * anything that makes a new one different. */
static int activate(cpool_objects_t *pool, struct found *found)
{
    for (;;) {
        void *object = cpi_object_at(pool, found->index);
        int code;

        if (found->recycled && pool->resets == CPI_RESET_ON_GET)
            cpi_object_reset(pool, found->index);
        code = pool->type.activate != NULL ? pool->type.activate(object, pool->type.arg) : 0;
        if (code == 0)
            return 0;
        cpi_fetch_add(&pool->failures, 1u, relaxed); /* [count] */
        cpi_object_unmake(pool, found->index);
        if (found->counted)
            cpi_object_uncount_active(pool); /* before another get may have its room */
        found->counted = false;
        if (!found->recycled || pool->type.create == NULL) {
            cpi_object_give_up(pool, found->index);
            return code;
        }
        found->recycled = false;
        code = construct(pool, found->index);
        if (code != 0)
            return code;
    }
}

/* The object is its caller's from now on. */
static void hand_out(cpool_objects_t *pool, const struct found *found,
                     struct cpi_object_wish *wish)
{
    uintptr_t index = found->index;
    uint32_t record = cpi_load(&pool->records[index], relaxed); /* [own] */

    if (pool->traces != NULL) {
        cpi_store(&pool->traces[index].since, cpi_os_now(), relaxed);        /* [trace] */
        cpi_store(&pool->traces[index].site, (uintptr_t)wish->site, relaxed); /* [trace] */
    }
    if ((pool->flags & CPOOL_OBJECT_COUNTED) != 0 && !found->counted)
        cpi_object_count_active(pool);
    wish->uses = record / CPI_OBJECT_USE + 1;
    if (pool->policy != NULL)
        pool->policy->taken(pool, index, wish);
    else
        cpi_object_show(pool, index, wish->uses);
}

int cpi_object_obtain(cpool_objects_t *pool, void *slot, void **object, bool *is_new,
                      struct cpi_object_wish *wish)
{
    struct found found = {.index = CPI_OBJECT_NONE};
    int code = find(pool, slot, &found, wish);

    if (code == 0)
        code = activate(pool, &found);
    *object = NULL;
    if (code != 0)
        return code;
    *object = cpi_object_at(pool, found.index);
    if (is_new != NULL)
        *is_new = !found.recycled;
    hand_out(pool, &found, wish);
    if (found.more > 0)
        cpool_object_populate(pool, found.more, NULL);
    return 0;
}

CPI_COLD static int obtain_at_length(cpool_objects_t *pool, void *slot, void **object,
                                     bool *is_new, const void *site)
{
    struct cpi_object_wish wish = {.site = site};

    return cpi_object_obtain(pool, slot, object, is_new, &wish);
}

static inline int obtain(cpool_objects_t *pool, void **object, bool *is_new, const void *site)
{
    void *slot = NULL;

    if (CPI_LIKELY(pool->brief_get)) {
        slot = cpool_alloc(pool->pool);
        if (CPI_LIKELY(slot != NULL)) {
            _Atomic uint32_t *record = &pool->records[cpi_object_index_of(pool, slot)];
            uint32_t was = cpi_load(record, relaxed); /* [own] */

            if (CPI_LIKELY((was & CPI_OBJECT_STATES) == CPI_OBJECT_INACTIVE)) {
                cpi_store(record, was + CPI_OBJECT_USE + CPI_OBJECT_ACTIVE - /* [active] */
                                      CPI_OBJECT_INACTIVE, release);
                *object = slot;
                if (is_new != NULL)
                    *is_new = false;
                return 0;
            }
        }
    }
    return obtain_at_length(pool, slot, object, is_new, site);
}

void *cpool_object_get(cpool_objects_t *pool)
{
    void *object;

    return obtain(pool, &object, NULL, CPI_CALLER()) == 0 ? object : NULL;
}

int cpool_object_obtain(cpool_objects_t *pool, void **object, bool *is_new)
{
    return obtain(pool, object, is_new, CPI_CALLER());
}

/* --- Putting --- */

/* The mistake in putting back an address that is not an active object. */
CPI_COLD static int refuse(const cpool_objects_t *pool, const void *object, const char *function)
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
    return code;
}

int cpool_object_put(cpool_objects_t *pool, void *object)
{
    static const char function[] = "cpool_object_put";
    uintptr_t index;

    if (CPI_UNLIKELY(object == NULL))
        return 0;
    if (CPI_LIKELY(pool->brief_put)) {
        index = cpi_object_index_of(pool, object);
        if (CPI_LIKELY(index < pool->max &&
                       cpi_object_seize(pool, index, CPI_OBJECT_INACTIVE))) {
            cpool_free(pool->pool, object);
            return 0;
        }
        return refuse(pool, object, function);
    }
    index = cpi_object_index(pool, object);
    if (cpi_object_slots_are(pool, CPOOL_CHECKED) && cpool_object_is_active(pool, object) &&
        cpi_object_repair(pool, index))
        return CPOOL_EGUARD;
    if (index == CPI_OBJECT_NONE || !cpi_object_seize(pool, index, CPI_OBJECT_BUSY))
        return refuse(pool, object, function);
    cpi_object_give(pool, index);
    return 0;
}
