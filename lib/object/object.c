/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object.c - getting and putting objects, and the calls of their hooks.
 *
 * ORDERING TABLE
 *   own    | record load by the thread that has the slot in hand | relaxed | - | -
 *   mine   | record store of BUSY and VACANT, by the same | relaxed | - | -
 *   active | record store of ACTIVE, NEW, INACTIVE | release | seize, object_list.c's see |
 *                                           the object's construction, and its trace
 *   seize  | record CAS from ACTIVE | acq_rel | active | what the get wrote
 *   failed | CAS failure | relaxed | - | -
 *   trace  | trace store | relaxed | - | -
 *   count  | counters | relaxed | - | -
 *   use    | active fetch-and-add of a get | release | used | that the object exists
 *   used   | active load | acquire | use | the same
 *
 * A slot goes from thread to thread through the pool of slots, or by the vacancy bits, which
 * order the record along with it.  So the thread that has a slot in hand reads its record
 * without an order of its own.
 */
#include "object/object.h"

#include <string.h>

#include "base/atomic.h"
#include "base/error.h"
#include "host/os.h"
#include "base/text.h"

/* --- Addresses --- */

void *cpi_object_at(const cpool_objects_t *pool, uintptr_t index)
{
    if (pool->fake)
        return cpi_load(&pool->blocks[index], relaxed); /* [own] */
    return cpool_at(pool->pool, index);
}

static inline uintptr_t index_of(const cpool_objects_t *pool, const void *object)
{
    uintptr_t index;

    CPOOL_INDEX_(pool->pool, object, index);
    return index;
}

uintptr_t cpi_object_index(const cpool_objects_t *pool, const void *object)
{
    uintptr_t index;

    if (pool->fake)
        return cpi_object_fake_index(pool, object);
    index = index_of(pool, object);
    return index < pool->max ? index : CPI_OBJECT_NONE;
}

/* --- Reports --- */

void cpi_object_report(int code, const char *function, const cpool_objects_t *pool,
                       const void *object)
{
    uintptr_t index = object != NULL ? cpi_object_index(pool, object) : CPI_OBJECT_NONE;
    cpool_error_t error;

    memset(&error, 0, sizeof error);
    error.code = code;
    error.function = function;
    error.pool = cpool_objects_pool(pool);
    error.name = pool->name;
    error.address = object;
    if (index != CPI_OBJECT_NONE) {
        error.slot = object;
        error.index = index;
    }
    if (object == NULL)
        cpi_report(&error, "%s: %s (object pool '%s')", function, cpool_strerror(code),
                   CPI_SHOWN(pool->name));
    else
        cpi_report(&error, "%s: %s (object pool '%s', address %p)", function, cpool_strerror(code),
                   CPI_SHOWN(pool->name), object);
}

/* The mistake in putting back an address that is not an active object. */
CPI_COLD static int refuse(const cpool_objects_t *pool, const void *object, const char *function)
{
    int code = CPOOL_EINACTIVE;

    if (!pool->fake && index_of(pool, object) >= pool->max) {
        uintptr_t first = (uintptr_t)cpool_at(pool->pool, 0);
        uintptr_t last = (uintptr_t)cpool_at(pool->pool, pool->max - 1);

        code = (uintptr_t)object > first && (uintptr_t)object < last + pool->type.object_size
                   ? CPOOL_EMISALIGNED
                   : CPOOL_EFOREIGN;
    }
    cpi_object_report(code, function, pool, object);
    return code;
}

/* --- Records --- */

static uint32_t state_of(const cpool_objects_t *pool, uintptr_t index)
{
    return cpi_load(&pool->records[index], relaxed) & CPI_OBJECT_STATES; /* [own] */
}

static void set_busy(cpool_objects_t *pool, uintptr_t index)
{
    uint32_t record = cpi_load(&pool->records[index], relaxed); /* [own] */

    cpi_store(&pool->records[index], (record & ~CPI_OBJECT_STATES) | CPI_OBJECT_BUSY,
              relaxed); /* [mine] */
}

static inline bool leave_active(cpool_objects_t *pool, uintptr_t index, uint32_t state)
{
    uint32_t record = cpi_load(&pool->records[index], relaxed); /* [own] */

    return (record & CPI_OBJECT_STATES) == CPI_OBJECT_ACTIVE &&
           cpi_cas_strong(&pool->records[index], &record, /* [seize] [failed] */
                          (record & ~CPI_OBJECT_STATES) | state, acq_rel, relaxed);
}

bool cpi_object_seize(cpool_objects_t *pool, uintptr_t index)
{
    return leave_active(pool, index, CPI_OBJECT_BUSY);
}

void cpi_object_shelve(cpool_objects_t *pool, uintptr_t index, uint32_t state)
{
    uint32_t record = cpi_load(&pool->records[index], relaxed); /* [own] */

    cpi_store(&pool->records[index], (record & ~CPI_OBJECT_STATES) | state, release); /* [active] */
    cpi_object_repair(pool, index);
    cpool_free(pool->pool, cpool_at(pool->pool, index));
}

/* --- Counts --- */

static void count_active(cpool_objects_t *pool)
{
    uint64_t active = cpi_fetch_add(&pool->active, 1u, release) + 1; /* [use] */

    if (!pool->fake)
        cpi_raise(&pool->peak, active, relaxed); /* [count] [failed] */
}

static void uncount_active(cpool_objects_t *pool)
{
    if (pool->counted)
        cpi_fetch_add(&pool->active, UINT64_MAX, relaxed); /* [count] */
}

/* --- Hooks --- */

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
    return code;
}

void cpi_object_unmake(cpool_objects_t *pool, uintptr_t index)
{
    set_busy(pool, index);
    if (pool->type.destroy != NULL)
        pool->type.destroy(cpi_object_at(pool, index), pool->type.arg);
    cpi_fetch_add(&pool->destructions, 1u, relaxed);              /* [count] */
    cpi_store(&pool->records[index], CPI_OBJECT_VACANT, relaxed); /* [mine] */
}

void cpi_object_deactivate(cpool_objects_t *pool, uintptr_t index)
{
    if (pool->type.deactivate != NULL)
        pool->type.deactivate(cpi_object_at(pool, index), pool->type.arg);
}

static void reset(const cpool_objects_t *pool, uintptr_t index)
{
    if (pool->type.reset != NULL)
        pool->type.reset(cpi_object_at(pool, index), pool->type.arg);
    if (pool->reset != NULL)
        pool->reset(cpi_object_at(pool, index), pool->reset_arg);
}

/* Ends the use of a BUSY object, which stays in hand. */
static void end_use(cpool_objects_t *pool, uintptr_t index)
{
    if (pool->policy != NULL)
        pool->policy->given(pool, index);
    cpi_object_deactivate(pool, index);
    uncount_active(pool);
}

void cpi_object_end(cpool_objects_t *pool, uintptr_t index)
{
    end_use(pool, index);
    cpi_object_unmake(pool, index);
}

void cpi_object_give(cpool_objects_t *pool, uintptr_t index)
{
    end_use(pool, index);
    if (!pool->fake && cpi_object_take_place(pool)) {
        if (pool->eager)
            reset(pool, index);
        cpi_object_shelve(pool, index, CPI_OBJECT_INACTIVE);
    } else {
        cpi_object_unmake(pool, index);
        cpi_object_give_up(pool, index);
    }
}

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
    found->recycled = state_of(pool, found->index) == CPI_OBJECT_INACTIVE;
    cpi_object_leave_place(pool);
    set_busy(pool, found->index);
}

/* Creates an object, for which there is room. */
static int create_another(cpool_objects_t *pool, struct found *found)
{
    found->index = cpi_object_vacancy(pool);
    if (found->index == CPI_OBJECT_NONE) {
        cpi_object_unreserve(pool);
        cpi_object_offer_some(pool, 1);
        return CPOOL_ENOMEM;
    }
    if (state_of(pool, found->index) == CPI_OBJECT_VACANT)
        return construct(pool, found->index);
    cpi_object_unreserve(pool);
    cpi_object_offer_some(pool, 1);
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
    cpi_object_lose(pool, index);
    return CPOOL_ENOMEM;
}

/* Ends the use of the least important object. */
static int reclaim(cpool_objects_t *pool, struct found *found, struct cpi_object_wish *wish)
{
    found->index = pool->policy->reclaim(pool, wish);
    if (found->index == CPI_OBJECT_NONE)
        return CPOOL_EDRY;
    if (pool->fake)
        return replace(pool, found->index);
    cpi_object_deactivate(pool, found->index);
    if (pool->eager)
        reset(pool, found->index);
    found->recycled = true;
    found->counted = pool->counted;
    return 0;
}

/* No inactive object was found: one is created, or an active one reclaimed. */
static int find_another(cpool_objects_t *pool, struct found *found, struct cpi_object_wish *wish)
{
    if (cpi_object_reserve(pool, true, &found->more)) {
        if (pool->waitable)
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
    if (slot == NULL && !pool->fake)
        slot = cpool_alloc(pool->pool);
    for (; slot != NULL; slot = cpool_alloc(pool->pool), passed++) {
        found->index = index_of(pool, slot);
        if (!cpi_object_was_offered(pool, found->index)) {
            recycle(pool, found);
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

        if (found->recycled && pool->lazy)
            reset(pool, found->index);
        code = pool->type.activate != NULL ? pool->type.activate(object, pool->type.arg) : 0;
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
        code = construct(pool, found->index);
        if (code != 0)
            return code;
    }
}

void cpi_object_show(cpool_objects_t *pool, uintptr_t index, uint32_t uses)
{
    cpi_store(&pool->records[index], uses * CPI_OBJECT_USE + CPI_OBJECT_ACTIVE, /* [active] */
              release);
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
    if (pool->counted && !found->counted)
        count_active(pool);
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
            _Atomic uint32_t *record = &pool->records[index_of(pool, slot)];
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

int cpool_object_put(cpool_objects_t *pool, void *object)
{
    static const char function[] = "cpool_object_put";
    uintptr_t index;

    if (CPI_UNLIKELY(object == NULL))
        return 0;
    if (CPI_LIKELY(pool->brief_put)) {
        index = index_of(pool, object);
        if (CPI_LIKELY(index < pool->max && leave_active(pool, index, CPI_OBJECT_INACTIVE))) {
            cpool_free(pool->pool, object);
            return 0;
        }
        return refuse(pool, object, function);
    }
    index = cpi_object_index(pool, object);
    if (pool->checked && cpool_object_is_active(pool, object) && cpi_object_repair(pool, index))
        return CPOOL_EGUARD;
    if (index == CPI_OBJECT_NONE || !cpi_object_seize(pool, index))
        return refuse(pool, object, function);
    cpi_object_give(pool, index);
    return 0;
}
