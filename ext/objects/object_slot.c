/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_slot.c - slots: which are vacant, those that were never used, how they are offered,
 * found, given up and trimmed, and the memory that a fake pool has instead.
 *
 *   of a fake pool, from malloc   | padding | pool, index, proof | object ...
 *
 * ORDERING TABLE
 *   vacate | bits set, add               | release | occupy | the object or the slot's bytes, and
 *                                                          the record
 *   occupy | bits cleared, CAS, and      | acquire | vacate | the same
 *   stretch | stretch CAS that gives a run | release | use | that the slots are there
 *   use    | stretch CAS that takes a slot | acquire | stretch | the same
 *   look   | word of bits, stretch load  | relaxed | - | -
 *   hint   | vacant, cursor, reached, room load | relaxed | - | -
 *   failed | CAS failure                 | relaxed | - | -
 *   offer  | offered fetch-and-add       | acq_rel | offer  | the room and the vacant slot for
 *                                                          which there was no offer
 *   own    | record load by the thread that has the slot in hand | relaxed | - | -
 *   block  | block store                 | release | object.c's next | that the object before it
 *                                                                  at its place has been put
 *   mine   | block load by the thread that has the index, NULL store | relaxed | - | - (the record
 *                                                              orders what lies in the block)
 *   pools  | fake_pools fetch-and-add, load | relaxed | - | -
 *
 * A slot that a trim has in hand is given back with the library's lock held.
 */
#include <cpool/debug.h>

#include "objects/object.h"

#include <stdlib.h>

/* Nanoseconds for which a thread looks again for a vacant slot that another one has, or lost. */
#define CPI_PATIENCE UINT64_C(1000000000)
#define CPI_PATIENCE_LOST UINT64_C(1000000)

/* Slots that are offered at once, so that a get has few to pass by. */
#define CPI_OFFERS 8u

/* Words of vacancy bits that a trim has in hand at once, and about how many bytes of slots,
 * so that nobody waits for it for long. */
#define CPI_TRIM_WORDS ((uintptr_t)64)
#define CPI_TRIM_BYTES ((size_t)4 << 20)

/* --- Fake pools --- */

/* Lies before an object. */
struct front {
    void *memory; /* of malloc */
    cpool_objects_t *pool;
    uintptr_t index;
    uintptr_t proof; /* made of the address, so that other memory hardly has it */
};

/* Bytes of it, so that what follows is aligned as malloc does. */
#define CPI_FRONT \
    ((sizeof(struct front) / _Alignof(max_align_t) + 1) * _Alignof(max_align_t))

#define CPI_PROOF ((uintptr_t)0x6f626a65)

static _Atomic size_t fake_pools; /* of this process, now */

bool cpi_object_fake_open(cpool_objects_t *pool, uintptr_t index)
{
    size_t align = pool->align > _Alignof(max_align_t) ? pool->align : 0; /* past malloc's own */
    size_t lead = CPI_FRONT + align;
    char *memory = pool->type.object_size <= PTRDIFF_MAX - lead
                       ? malloc(lead + pool->type.object_size)
                       : NULL;
    struct front *front;
    char *object;

    if (memory == NULL)
        return false;
    object = memory + lead;
    if (align != 0)
        object -= (uintptr_t)object % align;
    front = (struct front *)(void *)object - 1;
    front->memory = memory;
    front->pool = pool;
    front->index = index;
    front->proof = (uintptr_t)object ^ CPI_PROOF;
    cpi_store(&pool->blocks[index], object, release); /* [block] */
    return true;
}

void cpi_object_fake_close(cpool_objects_t *pool, uintptr_t index)
{
    char *object = cpi_load(&pool->blocks[index], relaxed); /* [mine] */
    struct front *front;

    if (object == NULL)
        return;
    cpi_store(&pool->blocks[index], NULL, relaxed); /* [mine] */
    front = (struct front *)(void *)object - 1;
    front->proof = 0;
    free(front->memory);
}

uintptr_t cpi_object_fake_index(const cpool_objects_t *pool, const void *object)
{
    const struct front *front = (const struct front *)object - 1;

    if (front->proof != ((uintptr_t)object ^ CPI_PROOF) || front->pool != pool ||
        front->index >= pool->max ||
        cpi_load(&pool->blocks[front->index], relaxed) != object) /* [mine] */
        return CPI_OBJECT_NONE;
    return front->index;
}

void cpi_object_fake_count(size_t by)
{
    cpi_fetch_add(&fake_pools, by, relaxed); /* [pools] */
}

cpool_objects_t *cpi_object_fake_pool(const void *object)
{
    const struct front *front = (const struct front *)object - 1;

    if (cpi_load(&fake_pools, relaxed) == 0 || /* [pools] */
        (uintptr_t)object % sizeof(void *) != 0)
        return NULL;
    return front->proof == ((uintptr_t)object ^ CPI_PROOF) ? front->pool : NULL;
}

/* --- Vacant slots --- */

void cpi_object_vacate(cpool_objects_t *pool, uintptr_t index)
{
    uint64_t bit = (uint64_t)1 << index % 64;
    uint64_t others;

    if (cpi_object_is_fake(pool))
        cpi_object_fake_close(pool, index);
    CPI_ASSERT(cpi_object_reached(pool) > index);
    cpi_fetch_add(&pool->vacant, 1u, relaxed);                        /* [hint] */
    others = cpi_fetch_add(&pool->vacancy[index / 64], bit, release); /* [vacate] */
    CPI_ASSERT((others & bit) == 0);
    (void)others;
    if (index / 64 < cpi_load(&pool->cursor, relaxed)) /* [hint] */
        cpi_store(&pool->cursor, index / 64, relaxed); /* [hint] */
}

/* The slot of the lowest bit of a word, in hand, or CPI_OBJECT_NONE. */
static uintptr_t occupy_from(cpool_objects_t *pool, uintptr_t word)
{
    uint64_t set = cpi_load(&pool->vacancy[word], relaxed); /* [look] */

    while (set != 0)
        if (cpi_cas_weak(&pool->vacancy[word], &set, set & (set - 1), /* [occupy] [failed] */
                         acquire, relaxed)) {
            cpi_fetch_add(&pool->vacant, UINTPTR_MAX, relaxed); /* [hint] */
            return word * 64 + (uintptr_t)__builtin_ctzll(set);
        }
    return CPI_OBJECT_NONE;
}

/* A vacant slot, in hand, or CPI_OBJECT_NONE. */
static uintptr_t occupy_any(cpool_objects_t *pool)
{
    uintptr_t words = (cpi_object_reached(pool) + 63) / 64;
    uintptr_t word = cpi_load(&pool->cursor, relaxed);               /* [hint] */

    if (cpi_load(&pool->vacant, relaxed) == 0) /* [hint] */
        return CPI_OBJECT_NONE;
    for (uintptr_t i = 0; i < words; i++, word++) {
        uintptr_t index = occupy_from(pool, word < words ? word : word % words);

        if (index == CPI_OBJECT_NONE)
            continue;
        cpi_store(&pool->cursor, index / 64, relaxed); /* [hint] */
        return index;
    }
    return CPI_OBJECT_NONE;
}

/* Waits for a trim that has some in hand. */
static uintptr_t occupy_beside_trim(cpool_objects_t *pool)
{
    uintptr_t index;

    (void)cpool_client_lock();
    index = occupy_any(pool);
    cpool_client_unlock();
    return index;
}

/* --- Slots that were never used --- */

uintptr_t cpi_object_reached(const cpool_objects_t *pool)
{
    return cpi_load(&pool->reached, relaxed); /* [hint] */
}

/* A number of the thread's, as small as there have been threads. */
static unsigned own_number(void)
{
    static _Atomic unsigned numbers;
    static _Thread_local unsigned number;

    if (number == 0)
        number = cpi_fetch_add(&numbers, 1u, relaxed) + 1; /* [hint] */
    return number;
}

static uintptr_t take_from(_Atomic uint64_t *stretch)
{
    uint64_t run = cpi_load(stretch, relaxed); /* [look] */

    do
        if ((run & UINT32_MAX) == 0)
            return CPI_OBJECT_NONE;
    while (!cpi_cas_weak(stretch, &run, run + ((uint64_t)1 << 32) - 1, /* [use] [failed] */
                         acquire, relaxed));
    return (uintptr_t)(run >> 32);
}

/* The first of up to *n fresh slots, of which *n is the number then, or CPI_OBJECT_NONE. */
static uintptr_t take_run(cpool_objects_t *pool, size_t *n)
{
    uintptr_t index = cpi_load(&pool->reached, relaxed); /* [hint] */
    void *slot;

    if (!cpi_object_is_fake(pool)) {
        slot = cpool_client_take(pool->pool, CPOOL_CLIENT_FRESH, n);
        if (slot == NULL)
            return CPI_OBJECT_NONE;
        index = cpi_object_index_of(pool, slot);
        cpi_raise(&pool->reached, index + *n, relaxed); /* [hint] [failed] */
        return index;
    }
    do {
        if (*n > pool->max - index)
            *n = pool->max - index;
        if (*n == 0)
            return CPI_OBJECT_NONE;
    } while (!cpi_cas_weak(&pool->reached, &index, index + *n, /* [hint] [failed] */
                           relaxed, relaxed));
    return index;
}

/* How many fresh slots to take: up to the end of a line of records. */
static size_t run_length(const cpool_objects_t *pool)
{
    uintptr_t capacity = CPI_ROOM_CAPACITY(cpi_load(&pool->room, relaxed)); /* [hint] */
    size_t lines = capacity / (CPI_STRETCH_PART * CPI_STRETCH);
    size_t most = CPI_STRETCH_LINES;

    if (pool->type.object_size > CPI_STRETCH_OBJECT || (pool->flags & CPOOL_OBJECT_WAITABLE) != 0)
        return 1;
    if (most > CPI_STRETCH_OBJECT / CPI_STRETCH / pool->type.object_size)
        most = CPI_STRETCH_OBJECT / CPI_STRETCH / pool->type.object_size;
    if (lines > most)
        lines = most;
    return (lines > 0 ? lines : 1) * CPI_STRETCH - cpi_object_reached(pool) % CPI_STRETCH;
}

bool cpi_object_claim(cpool_objects_t *pool)
{
    size_t n = run_length(pool);
    _Atomic uint64_t *stretch = &pool->stretches[own_number() % CPI_STRETCHES];
    uint64_t run = cpi_load(stretch, relaxed); /* [look] */
    uintptr_t first;

    first = take_run(pool, &n);
    if (first == CPI_OBJECT_NONE)
        return false;
    if ((run & UINT32_MAX) == 0 &&
        cpi_cas_strong(stretch, &run, (uint64_t)first << 32 | n, /* [stretch] [failed] */
                       release, relaxed))
        return true;
    while (n > 0) /* another thread has the same place */
        cpi_object_vacate(pool, first + --n);
    return true;
}

/* A vacant slot, or one that was never used, or CPI_OBJECT_NONE.  Of a fake pool an index. */
static uintptr_t take_unused(cpool_objects_t *pool)
{
    uintptr_t index = occupy_any(pool);

    if (index != CPI_OBJECT_NONE)
        return index;
    do
        index = take_from(&pool->stretches[own_number() % CPI_STRETCHES]);
    while (index == CPI_OBJECT_NONE && cpi_object_claim(pool));
    for (size_t i = 0; i < CPI_STRETCHES && index == CPI_OBJECT_NONE; i++)
        index = take_from(&pool->stretches[i]);
    return index;
}

/* --- Into the pool of slots, and out of it --- */

bool cpi_object_repair(const cpool_objects_t *pool, uintptr_t index)
{
    unsigned repairs = 0; /* of the bytes after it, and of those before it */

    while (repairs < 2 &&
           cpool_verify(pool->pool, cpool_at(pool->pool, index)) == CPOOL_EGUARD)
        repairs++;
    return repairs > 0;
}

void cpi_object_free(cpool_objects_t *pool, uintptr_t index)
{
    if ((pool->flags & CPOOL_CHECKED) != 0)
        cpi_object_repair(pool, index);
    cpool_free(pool->pool, cpool_at(pool->pool, index));
}

/* Of a slot that was free: whether it was offered, which it then is no more. */
static bool take_offer(cpool_objects_t *pool, uintptr_t index)
{
    if (cpi_load(&pool->records[index], relaxed) != CPI_OBJECT_VACANT) /* [own] */
        return false;
    cpi_fetch_add(&pool->offered, UINT64_MAX, acq_rel); /* [offer] */
    return true;
}

/* Offers a slot in hand, or makes it vacant and returns false if enough of them lie free.  The
 * thread that takes one of those finds the vacant slot and offers it if there is room left
 * (cpi_object_offer_rest).  Offers that were taken before may leave too few. */
static bool offer(cpool_objects_t *pool, uintptr_t index)
{
    while (cpi_fetch_add(&pool->offered, 1u, acq_rel) >= CPI_OFFERS) { /* [offer] */
        cpi_object_vacate(pool, index);
        if (cpi_fetch_add(&pool->offered, UINT64_MAX, acq_rel) > CPI_OFFERS || /* [offer] */
            (index = occupy_beside_trim(pool)) == CPI_OBJECT_NONE)
            return false;
    }
    cpi_object_free(pool, index);
    return true;
}

uintptr_t cpi_object_take_inactive(cpool_objects_t *pool, void *slot, bool near, size_t *passed)
{
    for (;; (*passed)++, slot = NULL) {
        uintptr_t index;

        if (slot == NULL && !cpi_object_is_fake(pool))
            slot = near ? cpool_client_take(pool->pool, CPOOL_CLIENT_NEAR, NULL)
                        : cpool_alloc(pool->pool);
        if (slot == NULL)
            return CPI_OBJECT_NONE;
        index = cpi_object_index_of(pool, slot);
        if (!take_offer(pool, index))
            return index;
        cpi_object_vacate(pool, index);
    }
}

/* --- Finding one --- */

static uintptr_t look_everywhere(cpool_objects_t *pool)
{
    uintptr_t index = take_unused(pool);
    void *slot;

    if (index != CPI_OBJECT_NONE || cpi_object_is_fake(pool))
        return index;
    slot = cpool_alloc(pool->pool);
    if (slot == NULL)
        return CPI_OBJECT_NONE;
    index = cpi_object_index_of(pool, slot);
    if (take_offer(pool, index) && cpi_object_has_room(pool))
        cpi_object_offer_some(pool, 1);
    return index;
}

/* `reached` is behind the slots that a thread has just taken, or had when it vanished in a fork. */
static bool are_all_used(const cpool_objects_t *pool)
{
    cpool_stats_t stats = CPOOL_STATS_INIT;

    if (cpi_object_reached(pool) >= pool->max)
        return true;
    return pool->pool != NULL && cpool_read_stats(pool->pool, &stats) == 0 &&
           stats.circulating >= pool->max;
}

bool cpi_object_has_lost(const cpool_objects_t *pool)
{
    return pool->forks != cpi_objects_forks(pool) && are_all_used(pool);
}

/* Nothing was found: another thread has a slot in hand or, with some unused, memory is refused. */
CPI_COLD static uintptr_t look_again(cpool_objects_t *pool)
{
    uint64_t patience = cpi_object_has_lost(pool) ? CPI_PATIENCE_LOST : CPI_PATIENCE;
    uint64_t end = pool->client.system->now() + patience;
    uintptr_t index = occupy_beside_trim(pool);

    for (unsigned times = 0; index == CPI_OBJECT_NONE; times++) {
        if (!are_all_used(pool) || pool->client.system->now() >= end)
            break;
        pool->client.system->back_off(times);
        index = look_everywhere(pool);
    }
    return index;
}

uintptr_t cpi_object_find_slot(cpool_objects_t *pool)
{
    uintptr_t index = look_everywhere(pool);

    if (CPI_UNLIKELY(index == CPI_OBJECT_NONE))
        index = look_again(pool);
    if (index != CPI_OBJECT_NONE && cpi_object_is_fake(pool) &&
        !cpi_object_fake_open(pool, index)) {
        cpi_object_vacate(pool, index);
        index = CPI_OBJECT_NONE;
    }
    if (index == CPI_OBJECT_NONE || cpi_object_state(pool, index) != CPI_OBJECT_VACANT) {
        cpi_object_count_out(pool, 0);
        cpi_object_offer_some(pool, 1);
    }
    return index;
}

/* --- Giving up and offering --- */

/* A thread that waits is woken by the slot, and must find the room.  It may create, get all
 * and destroy the pool, so the offer comes last. */
void cpi_object_give_up(cpool_objects_t *pool, uintptr_t index)
{
    if ((pool->flags & CPOOL_OBJECT_WAITABLE) != 0 && !cpi_object_is_fake(pool)) {
        cpi_object_count_out(pool, 0);
        (void)offer(pool, index);
    } else {
        cpi_object_vacate(pool, index);
        cpi_object_count_out(pool, 0);
    }
}

void cpi_object_offer_some(cpool_objects_t *pool, size_t n)
{
    for (; (pool->flags & CPOOL_OBJECT_WAITABLE) != 0 && !cpi_object_is_fake(pool) && n > 0; n--) {
        uintptr_t index = take_unused(pool);

        if (index == CPI_OBJECT_NONE)
            index = occupy_beside_trim(pool);
        if (index == CPI_OBJECT_NONE || !offer(pool, index))
            return;
    }
}

void cpi_object_offer_rest(cpool_objects_t *pool)
{
    if (cpi_object_has_room(pool))
        cpi_object_offer_some(pool, CPI_OFFERS);
}

/* --- Memory of vacant slots that goes back to the operating system --- */

/* The largest number up to this one such that the bit below it is `set`, or 0 without one. */
static uintptr_t find_down(const uint64_t *bits, uintptr_t above, bool set)
{
    while (above > 0 && (bits[(above - 1) / 64] >> (above - 1) % 64 & 1u) != set)
        above--;
    return above;
}

/* With the lock held, so that a fork and a get that finds nothing wait until the slots are back. */
static void trim_portion(cpool_objects_t *pool, uintptr_t from, uintptr_t n)
{
    uint64_t mask = n < 64 ? (((uint64_t)1 << n) - 1) << from % 64 : UINT64_MAX;
    _Atomic uint64_t *vacancy = pool->vacancy + from / 64;
    uintptr_t words = (n + 63) / 64;
    uint64_t taken[CPI_TRIM_WORDS];
    uintptr_t begin, end = from % 64 + n; /* of a run of vacant slots */
    uintptr_t i = 0;

    do /* there is a word at least */
        taken[i] = cpi_fetch_and(&vacancy[i], ~mask, acquire) & mask; /* [occupy] */
    while (++i < words);
    for (; (end = find_down(taken, end, true)) > 0; end = begin) {
        begin = find_down(taken, end, false);
        (void)cpool_client_discard(pool->pool, cpool_at(pool->pool, from - from % 64 + begin),
                                   end - begin);
    }
    for (i = 0; i < words; i++)
        cpi_fetch_add(&vacancy[i], taken[i], release); /* [vacate]: none of them is set */
}

void cpi_object_trim(cpool_objects_t *pool)
{
    uintptr_t end = cpi_object_is_fake(pool) ? 0 : (cpi_object_reached(pool) + 63) / 64 * 64;
    uintptr_t portion = 64 * CPI_TRIM_WORDS; /* whole words, or a part of one that divides it */

    while (portion > 1 && portion > CPI_TRIM_BYTES / pool->type.object_size)
        portion /= 2;
    for (uintptr_t from = 0; from < end; from += portion) {
        (void)cpool_client_lock();
        trim_portion(pool, from, end - from < portion ? end - from : portion);
        cpool_client_unlock();
    }
}
