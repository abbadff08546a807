/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object.h - what an object pool is made of.
 *
 * The slots come from the public interface of pools, and from cpool/client.h.
 *
 *   records    | state 0 | state 1 | ...        one word for each object
 *   vacancy    | 0 1 1 0 ...                    one bit: the slot is vacant
 *
 *              create            get
 *   VACANT -> BUSY -> INACTIVE -> (BUSY) -> ACTIVE
 *                        ^  put: (BUSY)        |
 *                        +---------------------+
 *
 * A slot is in one of six places:
 *
 *   fresh     never used
 *   vacant    it has its bit, and no object.  It is live in the pool of slots
 *   offered   it has no object, and is free in the pool of slots, where a waiter finds it and
 *             creates an object.  With CPOOL_OBJECT_WAITABLE alone
 *   shelved   it has an inactive object, and is free in the pool of slots
 *   active    it has a caller's object
 *   in hand   it is one thread's.  The record is BUSY while hooks run
 *
 * A thread with a slot in hand shelves or shows its object, or it vacates or offers the slot
 * once the object is unmade.  To give up is to vacate, or to offer where threads may wait, and
 * to count the object out.
 *
 * Invariant: objects <= capacity <= max.  A thread counts an object in before it takes a slot
 * for it, and vacates the slot before it counts the object out.  So a thread that has counted
 * an object in finds a slot, though another one may have it in hand for a moment, or may have
 * vanished with it in a fork.
 *
 * ORDERING TABLE
 *   own    | record load by the thread that has the slot in hand | relaxed | - | -
 *   mine   | record store of BUSY, by the same | relaxed | - | -
 *   active | record store of ACTIVE, NEW, INACTIVE | release | seize, object.c's see |
 *                                               the object, and its trace
 *   seize  | record CAS from ACTIVE | acq_rel | active, object.c's active |
 *                                               what the get wrote
 *   place  | inactive fetch-and-add | relaxed | - | -
 *   failed | CAS failure | relaxed | - | -
 *   ended  | ended, forks load | relaxed | - | -
 */
#ifndef CPI_OBJECT_H
#define CPI_OBJECT_H

#include <cpool/object.h>

#include "common.h"

/* The states of an object, in the low bits of its record.  Above them its uses are counted.
 * Zero is VACANT, so that records need no initialisation.  ACTIVE is INACTIVE and OUT.  Of a slot
 * that was free INACTIVE is the one state with its bit. */
#define CPI_OBJECT_VACANT 0u
#define CPI_OBJECT_INACTIVE 2u
#define CPI_OBJECT_ACTIVE 3u
#define CPI_OBJECT_NEW 4u /* inactive, and never handed out */
#define CPI_OBJECT_BUSY 6u
#define CPI_OBJECT_OUT 1u    /* the bit of no other state */
#define CPI_OBJECT_STATES 7u /* mask */
#define CPI_OBJECT_USE 8u    /* one use */

/* The slots that a thread takes at once have records that fill whole lines, so that it writes no
 * line of another thread's.  They are many lines, because a processor fetches lines beside those
 * that it uses, but a part of the capacity and CPI_STRETCH_OBJECT bytes at most, or one line.
 * Stretches are kept in so many places, each for a thread.  Objects that are larger are taken one
 * by one, and so are those that others may wait for. */
#define CPI_STRETCH (CPI_LINE / sizeof(uint32_t)) /* records of a line */
#define CPI_STRETCH_LINES 64u
#define CPI_STRETCH_PART 16u
#define CPI_STRETCHES 64u
#define CPI_STRETCH_OBJECT ((size_t)1 << 16) /* bytes */

/* An index that is none. */
#define CPI_OBJECT_NONE UINTPTR_MAX

/* Time and caller of an object's last get. */
struct cpi_object_trace {
    _Atomic uint64_t since; /* nanoseconds */
    _Atomic uintptr_t site;
};

/* A get: its caller, whether the pool was dry, and in priority pools its number and result. */
struct cpi_object_wish {
    const void *site;
    int64_t number;
    int unfit;      /* 0, or the result of activate for the BUSY object in the slot */
    bool framed;    /* the object stays BUSY, so that it is nobody's before it joins its frame */
    bool dry;       /* result: CPOOL_EDRY is the pool's code, and no hook's */
    uint64_t claim; /* result: of this use */
    uint64_t ended; /* result: the claim of the use that ended for it, or 0 */
    uint32_t uses;  /* result: of the object, this one included */
    uintptr_t index; /* result: the object's */
};

/* When an object is reset, if there is anything to reset. */
enum cpi_object_resets { CPI_RESET_NEVER, CPI_RESET_ON_GET, CPI_RESET_ON_PUT };

struct cpool_objects {
    cpool_t *face; /* what cpool_objects_pool returns: first */

    /* Constant. */
    cpool_t *pool;                 /* of slots, or NULL for a fake pool */
    void *records_block;           /* where the records lie, from calloc */
    _Atomic uint32_t *records;     /* one for each object, from the begin of a line */
    cpool_t *slots;                /* `pool`, or pool->client.none */
    cpool_t *short_get;      /* likewise: `pool` where the thread's cache serves a get */
    uintptr_t brief_get;           /* CPI_OBJECT_INACTIVE where it calls no hooks, or 0 */
    uintptr_t short_put, brief_put; /* the same of puts: `max`, or 0 */
    enum cpi_object_resets resets;
    unsigned flags;                /* CPOOL_OBJECT_COUNTED ..., that always in priority pools, and
                                      CPOOL_CHECKED if the slots are */
    uintptr_t max;                 /* objects */
    size_t growth;                 /* objects, or 0 */
    size_t max_inactive;           /* or 0 */
    size_t align;                  /* bytes: of a fake pool's objects */
    unsigned forks;                /* as of cpi_thread_forks at its creation */
    cpool_object_type_t type;
    void (*reset)(void *object, void *arg); /* or NULL */
    void *reset_arg;
    struct cpi_object_trace *traces; /* one for each object, or NULL */
    _Atomic(void *) *blocks;         /* a fake pool's objects by index, or NULL */
    struct cpi_priorities *priorities; /* of a priority pool, or NULL */
    cpool_client_t client;
    uintptr_t ended; /* atomic */
    char name[32];

    /* Which slots are vacant: object_slot.c. */
    _Alignas(CPI_LINE) _Atomic uint64_t stretches[CPI_STRETCHES]; /* fresh slots, by thread */
    _Atomic uintptr_t reached;  /* indices of a fake pool that were taken */
    _Atomic uint64_t *vacancy;  /* a bit for each slot that is vacant */
    _Atomic uintptr_t vacant;   /* bits set, or a few more */
    _Atomic uintptr_t cursor;   /* a word where a set bit was last seen */
    _Atomic uint64_t room;      /* see CPI_ROOM */
    _Atomic bool shrunk;        /* the capacity was lowered */

    /* Figures. */
    _Alignas(CPI_LINE) _Atomic uint64_t active; /* counted pools' */
    _Atomic uint64_t peak;      /* of active, or of objects */
    _Atomic uint64_t inactive;  /* places taken, where max_inactive is set */
    _Atomic uint64_t offered;   /* slots */
    _Atomic uint64_t creations;
    _Atomic uint64_t destructions;
    _Atomic uint64_t failures; /* of hooks */
    _Atomic uint64_t misses;   /* gets without an object */
};

#define CPI_OBJECTS_SLEEP 32u /* times after which the system's back_off sleeps */

/* A number that is another one in the child of each fork. */
static inline unsigned cpi_objects_forks(const cpool_objects_t *pool)
{
    return cpi_word_load(pool->client.system->forks, relaxed); /* [ended] */
}

/* Capacity and objects in one word, so that both are compared at once. */
#define CPI_ROOM(capacity, objects) ((uint64_t)(capacity) << 32 | (uint64_t)(objects))
#define CPI_ROOM_CAPACITY(room) ((uintptr_t)((room) >> 32))
#define CPI_ROOM_OBJECTS(room) ((uintptr_t)((room) & UINT32_MAX))

static inline bool cpi_object_is_fake(const cpool_objects_t *pool)
{
    return (pool->flags & CPOOL_OBJECT_FAKE) != 0;
}

/* Memory for an object with this index.  False if there is none. */
bool cpi_object_fake_open(cpool_objects_t *pool, uintptr_t index);

/* The reverse, where there is memory. */
void cpi_object_fake_close(cpool_objects_t *pool, uintptr_t index);
uintptr_t cpi_object_fake_index(const cpool_objects_t *pool, const void *object);

/* A fake pool is complete, or ends: by 1 or SIZE_MAX. */
void cpi_object_fake_count(size_t by);

/* The fake pool of an address in no pool of slots, or NULL. */
cpool_objects_t *cpi_object_fake_pool(const void *object);

/* --- The short way, to the loaded magazine of the calling thread's cache --- */

/* Returns false if the thread's cache and the depot have no slot, or for `none`. */
CPI_WITHIN static inline bool cpi_object_pop(cpool_t *slots, void **slot)
{
    cpool_cache_t *entry;

    CPOOL_OWN_ENTRY_(entry, slots);
    CPOOL_POP_(entry, *slot,
               return (*slot = cpool_client_take(slots, CPOOL_CLIENT_NEAR, NULL)) != NULL);
    return true;
}

/* Gives back a slot that is live. */
CPI_WITHIN static inline void cpi_object_push(cpool_t *slots, void *slot, uintptr_t index)
{
    cpool_cache_t *entry;

    CPOOL_OWN_ENTRY_(entry, slots);
    CPOOL_PUSH_(entry, slot, true, cpool_free_abi1(slots, slot, index, entry));
}

/* --- Addresses and records --- */

/* The address of an object. */
static inline void *cpi_object_at(const cpool_objects_t *pool, uintptr_t index)
{
    if (cpi_object_is_fake(pool))
        return cpi_load(&pool->blocks[index], relaxed); /* [own] */
    return cpool_at(pool->client.face, index);
}

/* The index of a slot of the pool of slots, or a number not below `max`. */
static inline uintptr_t cpi_object_index_of(const cpool_objects_t *pool, const void *slot)
{
    uintptr_t index;

    CPOOL_INDEX_(pool->pool, slot, index);
    return index;
}

/* The index of an object, or CPI_OBJECT_NONE for any other address. */
static inline uintptr_t cpi_object_index(const cpool_objects_t *pool, const void *object)
{
    uintptr_t index;

    if (cpi_object_is_fake(pool))
        return cpi_object_fake_index(pool, object);
    index = cpi_object_index_of(pool, object);
    return index < pool->max ? index : CPI_OBJECT_NONE;
}

static inline uint32_t cpi_object_state(const cpool_objects_t *pool, uintptr_t index)
{
    return cpi_load(&pool->records[index], relaxed) & CPI_OBJECT_STATES; /* [own] */
}

static inline void cpi_object_set_busy(cpool_objects_t *pool, uintptr_t index)
{
    uint32_t record = cpi_load(&pool->records[index], relaxed); /* [own] */

    cpi_store(&pool->records[index], (record & ~CPI_OBJECT_STATES) | CPI_OBJECT_BUSY,
              relaxed); /* [mine] */
}

/* Makes a BUSY object active, of which `uses` is the number of uses. */
static inline void cpi_object_show(cpool_objects_t *pool, uintptr_t index, uint32_t uses)
{
    cpi_store(&pool->records[index], uses * CPI_OBJECT_USE + CPI_OBJECT_ACTIVE, /* [active] */
              release);
}

/* Makes an active object BUSY.  False if it is not active: of several threads one gets true. */
static inline bool cpi_object_seize(cpool_objects_t *pool, uintptr_t index)
{
    uint32_t record = cpi_load(&pool->records[index], relaxed); /* [own] */

    return (record & CPI_OBJECT_STATES) == CPI_OBJECT_ACTIVE &&
           cpi_cas_strong(&pool->records[index], &record, /* [seize] [failed] */
                          record + (CPI_OBJECT_BUSY - CPI_OBJECT_ACTIVE), acq_rel, relaxed);
}

/* Seizes the least important object, or the first active one from *next on, or CPI_OBJECT_NONE. */
uintptr_t cpi_object_seize_next(cpool_objects_t *pool, bool by_rank, uintptr_t *next);

/* Makes a BUSY object inactive, in this state. */
static inline void cpi_object_settle(cpool_objects_t *pool, uintptr_t index, uint32_t state)
{
    uint32_t record = cpi_load(&pool->records[index], relaxed); /* [own] */

    cpi_store(&pool->records[index], record + state - CPI_OBJECT_BUSY, release); /* [active] */
}

/* Calls the hooks that reset an object. */
static inline void cpi_object_reset(const cpool_objects_t *pool, void *object)
{
    if (pool->type.reset != NULL)
        pool->type.reset(object, pool->type.arg);
    if (pool->reset != NULL)
        pool->reset(object, pool->reset_arg);
}

/* An object, from this slot or, if NULL, anywhere.  As cpool_object_get_with, without a wait. */
int cpi_object_obtain(cpool_objects_t *pool, void *slot, void **object,
                      struct cpi_object_wish *wish);

/* Ends the use of a BUSY object: deactivates and resets it, and gives it back or destroys it. */
void cpi_object_give(cpool_objects_t *pool, uintptr_t index);

/* Ends the use of a BUSY object that nobody puts back, deactivates it unless the pool is
 * CPOOL_OBJECT_NO_DEACTIVATE, and destroys it.  The slot is in the caller's hands. */
void cpi_object_end(cpool_objects_t *pool, uintptr_t index);

/* Ends the objects that are in frames, when the pool ends.  Returns how many those are. */
size_t cpi_object_frames_end(const cpool_objects_t *pool);

/* Reports the mistake in giving back an address that is not an active object. */
void cpi_object_refuse(const cpool_objects_t *pool, const void *object, const char *function);

/* Constructs an object, which is counted, in a vacant slot in hand.  It is BUSY then.  Returns 0,
 * or the hook's code after it gave up both. */
int cpi_object_make(cpool_objects_t *pool, uintptr_t index);

/* The reverse.  The slot is VACANT then, and still in hand. */
void cpi_object_unmake(cpool_objects_t *pool, uintptr_t index);

/* Puts an object in hand among the inactive ones, in the state NEW or INACTIVE. */
void cpi_object_shelve(cpool_objects_t *pool, uintptr_t index, uint32_t state);

/* The uses of a priority pool.  open returns 0 or a code, after which close frees what there is.
 * taken makes an object active, by cpi_object_show, and given hears that it has ceased to be.  The
 * object is in the hands of the calling thread. */
int cpi_priority_open(cpool_objects_t *pool);
void cpi_priority_close(cpool_objects_t *pool);
void cpi_priority_taken(cpool_objects_t *pool, uintptr_t index, struct cpi_object_wish *wish);
void cpi_priority_given(cpool_objects_t *pool, uintptr_t index);

/* An active object that the calling thread has made BUSY by cpi_object_seize, or CPI_OBJECT_NONE.
 * Without a wish the least important one that no caller keeps. */
uintptr_t cpi_priority_reclaim(cpool_objects_t *pool, struct cpi_object_wish *wish);

/* Reports a mistake about an address, or about the pool if that is NULL. */
void cpi_object_report(int code, const char *function, const cpool_objects_t *pool,
                       const void *object);

/* A fake pool's figures, as those of a pool of slots. */
void cpi_object_fake_figures(const void *pool, cpool_stats_t *stats);

/* Of figures of the pool of slots: those slots are live that have an active object. */
void cpi_object_correct_figures(const void *pool, cpool_stats_t *stats);

/* Counts one more object.  Where `grows`, a pool at its capacity raises it as it is
 * configured to, and *more is set to the objects that it should create beside this one.
 * False if there is no room.  Lock-free. */
bool cpi_object_count_in(cpool_objects_t *pool, bool grows, size_t *more);

/* The reverse, after the slot was vacated.  The capacity is lowered by `less`. */
void cpi_object_count_out(cpool_objects_t *pool, uintptr_t less);

/* In priority pools: whether all objects are active, with room for no other, so that there is none
 * to be found.  An object whose use has ended for another get counts as active.  Never true after
 * a shrink, which may have come between the two counts. */
bool cpi_object_is_used_up(const cpool_objects_t *pool);

/* Whether one more object could be counted in. */
bool cpi_object_has_room(const cpool_objects_t *pool);

/* Counts one more inactive object.  False if there are as many as the pool keeps. */
bool cpi_object_take_place(cpool_objects_t *pool);

static inline void cpi_object_leave_place(cpool_objects_t *pool)
{
    if (pool->max_inactive != 0)
        cpi_fetch_add(&pool->inactive, UINT64_MAX, relaxed); /* [place] */
}

/* Makes a slot in hand vacant.  In a fake pool its memory is freed, if it has any. */
void cpi_object_vacate(cpool_objects_t *pool, uintptr_t index);

/* Takes a stretch of slots that were never used for the calling thread.  False if there is none. */
bool cpi_object_claim(cpool_objects_t *pool);

/* Gives the pages of vacant slots back to the operating system. */
void cpi_object_trim(cpool_objects_t *pool);

/* Indices below it may have been used. */
uintptr_t cpi_object_reached(const cpool_objects_t *pool);

/* Of a checked pool: reports damage around a slot and repairs it, so that the free that follows
 * is not refused, which would lose the slot.  Returns whether there was any. */
bool cpi_object_repair(const cpool_objects_t *pool, uintptr_t index);

/* Frees a slot in the pool of slots, repaired. */
void cpi_object_free(cpool_objects_t *pool, uintptr_t index);

/* An inactive object, in hand, or CPI_OBJECT_NONE: from this slot or, if it is NULL, `near` (of the
 * thread's cache or the depot) or from anywhere.  Offered slots in front of it are vacated, and
 * counted in *passed. */
uintptr_t cpi_object_take_inactive(cpool_objects_t *pool, void *slot, bool near, size_t *passed);

/* Slots with inactive objects, and those that are offered. */
size_t cpi_object_in_pool(const cpool_objects_t *pool);

/* A slot for an object that the thread has counted in.  Its memory is taken in a fake pool.
 * Returns its index, or CPI_OBJECT_NONE without memory.  The record is not VACANT if an
 * inactive object was found instead.  The object is counted out again in both cases. */
uintptr_t cpi_object_find_slot(cpool_objects_t *pool);

/* Where there was none: whether, in the child of a fork, threads may have vanished with slots. */
bool cpi_object_has_lost(const cpool_objects_t *pool);

/* Gives up a slot in hand without an object, and counts the object out. */
void cpi_object_give_up(cpool_objects_t *pool, uintptr_t index);

/* There is room for n objects more: threads that wait may create them. */
void cpi_object_offer_some(cpool_objects_t *pool, size_t n);

/* The same as long as there is room, after an offer was taken. */
void cpi_object_offer_rest(cpool_objects_t *pool);

#endif /* CPI_OBJECT_H */
