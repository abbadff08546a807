/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * depot.c - exchange of magazines.
 *
 * ORDERING TABLE (tagstack.h has the stacks')
 *   leave   | partial CAS 0 to node   | release | take | the magazine's count and rounds
 *   take    | partial CAS node to 0   | acq_rel | leave see | what is in it; the taker's mark
 *   see     | partial load, CAS failure in a drain | acquire | take | the taker's mark
 *   glance  | partial magazine load for figures, CAS failure | relaxed | - | -
 *   make    | made CAS                | relaxed | make    | -
 *   made    | made load, CAS failure  | relaxed | make    | -
 *   ready   | committed load          | acquire | extent.c's publish | the magazine's memory
 *   counted | counter load         | acquire | depot.h's account | the exchanges it counts
 *   drain   | drains fetch-and-add | acq_rel | drains | that a drain has begun, or ended
 *   drains  | drains load        | acquire | drain   | whether to search again
 *   enter   | flights CAS        | acquire | left    | what operations have given back
 *   left    | flights fetch-and-add | release | look, enter, turn | all that the operation did
 *   look    | flights load, CAS failure | acquire | left | all that the operation did
 *   turn    | flights CAS        | acquire | left    | all that the operation did
 *   ours    | flights load, CAS failure of enter, an operation's own counters | relaxed | - | -
 *   fold    | flown fetch-and-add | relaxed | - | -
 *   forked  | flights store in the child of a fork | relaxed | - | -
 *
 * doc/CONCURRENCY.md 3.2 says why the partial magazine needs no tag, and 3.6 why these orders are
 * enough for a thread that finds the pool dry.
 */
#include "depot/depot.h"

#include "base/bits.h"
#include "host/os.h"

/*
 * The word `flights`, from its low end: the operations of even epochs in flight, those of odd
 * epochs, the epoch, and the number of operations so far that have exchanged something.
 *
 *   | moves 32 | epoch 16 | odd 8 | even 8 |      (doc/CONCURRENCY.md 3.6)
 */
#define CPI_COUNT_MAX 255u
#define CPI_ONE_OF(epoch) ((uint64_t)1 << ((epoch) % 2 * 8))
#define CPI_EPOCH ((uint64_t)1 << 16)
#define CPI_MOVE ((uint64_t)1 << 32)

static inline uint16_t epoch_of(uint64_t flights)
{
    return (uint16_t)(flights >> 16);
}

static inline uint32_t count_of_epoch(uint64_t flights, unsigned epoch)
{
    return (uint32_t)(flights >> (epoch % 2 * 8)) & CPI_COUNT_MAX;
}

/* Tries to find an empty magazine before we accept that there is none. */
#define CPI_EMPTY_TRIES 8u

size_t cpi_depot_stride(size_t limit)
{
    return cpi_align_up(offsetof(struct cpi_magazine, rounds) + limit * sizeof(void *), CPI_LINE);
}

size_t cpi_depot_magazines(size_t capacity, size_t limit, size_t uncached)
{
    /* Full magazines, the partial magazine, and two held by each uncached operation. */
    return capacity / limit + 1 + 2 * uncached;
}

void cpi_depot_init(struct cpi_depot *depot, uint32_t limit, uint32_t uncached)
{
    CPI_ASSERT(limit > 0 && uncached > 0 && uncached < CPI_COUNT_MAX);
    depot->links.links = depot->for_slots.base;
    depot->links.stride = cpi_depot_stride(limit);
    depot->limit = limit;
    depot->uncached = uncached;
    depot->for_slots_max = (uint32_t)(depot->for_slots.size / depot->links.stride);
}

bool cpi_depot_provide(struct cpi_depot *depot, uintptr_t handed_out)
{
    size_t magazines = cpi_depot_magazines(handed_out, depot->limit, depot->uncached);

    return cpi_extent_reach(&depot->for_slots, magazines * depot->links.stride);
}

static uint32_t count_of(const struct cpi_depot *depot, uint32_t node)
{
    return cpi_magazine_count(cpi_depot_magazine(depot, node));
}

uint32_t cpi_depot_take_stocked(struct cpi_depot *depot, struct cpi_counters *counters)
{
    uint32_t node = cpi_depot_pop(depot, &depot->stocked, &counters->stocked_out);

    CPI_ASSERT(node == 0 || count_of(depot, node) == depot->limit);
    return node;
}

/* A magazine from an extent that has never been used.  The extent's magazines are numbered from
 * before + 1.  Returns 0 if all committed memory is in use. */
static uint32_t make_magazine(const struct cpi_depot *depot, const struct cpi_extent *extent,
                     _Atomic uint32_t *made, uint32_t before)
{
    size_t bytes = cpi_load(&extent->committed, acquire); /* [ready] */
    uint32_t room = (uint32_t)(bytes / depot->links.stride);
    uint32_t number = cpi_load(made, relaxed); /* [made] */

    while (number < room) {
        uint32_t node = before + number + 1;

        if (cpi_cas_weak(made, &number, number + 1, relaxed, relaxed)) { /* [make] [made] */
            cpi_magazine_set_count(cpi_depot_magazine(depot, node), 0);
            return node;
        }
    }
    return 0;
}

static uint32_t make_any(struct cpi_depot *depot)
{
    uint32_t node = make_magazine(depot, &depot->for_slots, &depot->made_for_slots, 0);

    if (node == 0)
        node = make_magazine(depot, &depot->for_caches, &depot->made_for_caches,
                             depot->for_slots_max);
    return node;
}

/* Once all magazines are made, the one for this party lies on the stack (doc/CONCURRENCY.md 3.3).
 * The retries are for a processor that still shows an old head for a moment. */
uint32_t cpi_depot_take_empty(struct cpi_depot *depot, struct cpi_counters *counters)
{
    uint32_t node = cpi_depot_pop(depot, &depot->empty, &counters->others);

    CPI_ASSERT(node == 0 || count_of(depot, node) == 0);
    if (CPI_LIKELY(node != 0))
        return node;
    node = make_any(depot);
    for (unsigned tries = 0; node == 0 && tries < CPI_EMPTY_TRIES; tries++) {
        if (tries > 0)
            cpi_os_back_off(tries);
        node = cpi_depot_pop(depot, &depot->empty, &counters->others);
    }
    CPI_ASSERT(node == 0 || count_of(depot, node) == 0);
    return node;
}

uint32_t cpi_depot_take_partial(struct cpi_depot *depot, struct cpi_counters *counters)
{
    uint32_t node = cpi_load(&depot->partial, acquire); /* [see] */

    do {
        if (node == 0)
            return 0;
    } while (!cpi_cas_weak(&depot->partial, &node, 0, acq_rel, acquire)); /* [take] [see] */
    cpi_depot_account(&counters->others, 1);
    CPI_ASSERT(count_of(depot, node) > 0 && count_of(depot, node) < depot->limit);
    return node;
}

/* Puts a magazine on its stack.  Returns false if it is neither full nor empty. */
static inline bool push_by_fill(struct cpi_depot *depot, struct cpi_counters *counters,
                                uint32_t node)
{
    uint32_t count = count_of(depot, node);

    CPI_ASSERT(count <= depot->limit);
    if (count == 0)
        cpi_depot_push(depot, &depot->empty, node, &counters->others);
    else if (count == depot->limit)
        cpi_depot_push(depot, &depot->stocked, node, &counters->stocked_in);
    else
        return false;
    return true;
}

/* Merges two magazines by moving the rounds of the one with fewer.  Gives back the one that became
 * full or empty, and returns the other. */
static uint32_t merge_magazines(struct cpi_depot *depot, struct cpi_counters *counters, uint32_t a,
                      uint32_t b)
{
    bool fuller = count_of(depot, a) > count_of(depot, b);
    struct cpi_magazine *from = cpi_depot_magazine(depot, fuller ? b : a);
    struct cpi_magazine *to = cpi_depot_magazine(depot, fuller ? a : b);
    uint32_t have = cpi_magazine_count(from);
    uint32_t held = cpi_magazine_count(to);
    uint32_t moved = have < depot->limit - held ? have : depot->limit - held;

    CPI_ASSERT(a != b && held <= depot->limit);
    for (uint32_t i = 0; i < moved; i++)
        to->rounds[held + i] = from->rounds[have - moved + i];
    cpi_magazine_set_count(from, have - moved);
    cpi_magazine_set_count(to, held + moved);
    if (push_by_fill(depot, counters, a))
        return b;
    push_by_fill(depot, counters, b);
    CPI_ASSERT(count_of(depot, a) > 0 && count_of(depot, a) < depot->limit);
    return a;
}

CPI_APART static void give_partial(struct cpi_depot *depot, struct cpi_counters *counters,
                                   uint32_t node)
{
    do {
        uint32_t none = 0;
        uint32_t other;

        if (cpi_cas_strong(&depot->partial, &none, node, release, relaxed)) { /* [leave] [glance] */
            cpi_depot_account(&counters->others, 1);
            return;
        }
        other = cpi_depot_take_partial(depot, counters);
        if (other != 0)
            node = merge_magazines(depot, counters, other, node);
    } while (!push_by_fill(depot, counters, node));
}

void cpi_depot_give(struct cpi_depot *depot, struct cpi_counters *counters, uint32_t node)
{
    if (CPI_UNLIKELY(!push_by_fill(depot, counters, node)))
        give_partial(depot, counters, node);
}

/* --- Operations without a cache --- */

bool cpi_depot_try_enter(struct cpi_depot *depot, struct cpi_uncached *uncached)
{
    uint64_t now = cpi_load(&depot->flights, relaxed); /* [ours] */

    atomic_init(&uncached->counters.stocked_in, 0);
    atomic_init(&uncached->counters.stocked_out, 0);
    atomic_init(&uncached->counters.others, 0);
    do {
        if (cpi_depot_in_flight(now) == depot->uncached)
            return false;
        uncached->epoch = epoch_of(now);
    } while (!cpi_cas_weak(&depot->flights, &now, now + CPI_ONE_OF(uncached->epoch), /* [enter] */
                           acquire, relaxed));                                       /* [ours] */
    return true;
}

void cpi_depot_enter(struct cpi_depot *depot, struct cpi_uncached *uncached)
{
    unsigned times = 0;

    while (!cpi_depot_try_enter(depot, uncached))
        cpi_os_back_off(times++);
}

static void fold_counter(_Atomic uint64_t *sum, const _Atomic uint64_t *counter)
{
    uint64_t more = cpi_load(counter, relaxed); /* [ours] */

    if (CPI_UNLIKELY(more != 0))
        cpi_fetch_add(sum, more, relaxed); /* [fold] */
}

void cpi_depot_leave(struct cpi_depot *depot, const struct cpi_uncached *uncached)
{
    const struct cpi_counters *counters = &uncached->counters;
    uint64_t moves = cpi_depot_exchanged(counters) != 0 ? CPI_MOVE : 0;
    uint16_t epoch = epoch_of(cpi_load(&depot->flights, relaxed)); /* [ours] */

    if (CPI_UNLIKELY((uint16_t)(epoch - uncached->epoch) > 1)) /* the child of its own fork */
        return;
    fold_counter(&depot->flown.stocked_in, &counters->stocked_in);
    fold_counter(&depot->flown.stocked_out, &counters->stocked_out);
    cpi_fetch_add(&depot->flights, moves - CPI_ONE_OF(uncached->epoch), release); /* [left] */
}

uint64_t cpi_depot_flights(const struct cpi_depot *depot)
{
    return cpi_load(&depot->flights, acquire); /* [look] */
}

/* One advance of the epoch is enough if no operation was in flight in that epoch itself. */
bool cpi_depot_have_left(struct cpi_depot *depot, uint64_t flights)
{
    uint64_t now = cpi_load(&depot->flights, acquire); /* [look] */
    uint16_t first = epoch_of(flights);
    int turns = count_of_epoch(flights, first) != 0 ? 2 : 1;

    while (cpi_depot_in_flight(now) != 0 && (uint16_t)(epoch_of(now) - first) < turns) {
        if (count_of_epoch(now, epoch_of(now) + 1u) != 0)
            return false;
        if (cpi_cas_weak(&depot->flights, &now, now + CPI_EPOCH, /* [turn] */
                         acquire, acquire))                      /* [look] */
            now += CPI_EPOCH;
    }
    return true;
}

CPI_COLD bool cpi_depot_forked(struct cpi_depot *depot)
{
    uint64_t now = cpi_load(&depot->flights, relaxed); /* [ours] */
    uint64_t none = (now & ~(uint64_t)0xffff) + 2 * CPI_EPOCH;

    cpi_store(&depot->flights, none, relaxed); /* [forked] */
    return cpi_depot_in_flight(now) != 0;
}

void *cpi_depot_alloc_slot(struct cpi_depot *depot, struct cpi_counters *counters)
{
    uint32_t node = cpi_depot_take_partial(depot, counters);
    struct cpi_magazine *magazine;
    uint32_t count;
    void *slot;

    if (node == 0)
        node = cpi_depot_take_stocked(depot, counters);
    if (node == 0)
        return NULL;
    magazine = cpi_depot_magazine(depot, node);
    CPI_ASSERT(cpi_magazine_count(magazine) > 0);
    count = cpi_magazine_count(magazine) - 1;
    slot = magazine->rounds[count];
    cpi_magazine_set_count(magazine, count);
    cpi_depot_give(depot, counters, node);
    return slot;
}

bool cpi_depot_free_slot(struct cpi_depot *depot, struct cpi_counters *counters, void *slot)
{
    uint32_t node = cpi_depot_take_partial(depot, counters);
    struct cpi_magazine *magazine;
    uint32_t count;

    if (node == 0)
        node = cpi_depot_take_empty(depot, counters);
    if (node == 0)
        return false;
    magazine = cpi_depot_magazine(depot, node);
    count = cpi_magazine_count(magazine);
    CPI_ASSERT(slot != NULL && count < depot->limit);
    magazine->rounds[count] = slot;
    cpi_magazine_set_count(magazine, count + 1);
    cpi_depot_give(depot, counters, node);
    return true;
}

void cpi_depot_reset(struct cpi_depot *depot)
{
    cpi_tagstack_clear(&depot->stocked);
    cpi_tagstack_clear(&depot->empty);
    cpi_store(&depot->partial, 0, relaxed);         /* [glance] */
    cpi_store(&depot->made_for_slots, 0, relaxed);  /* [made] */
    cpi_store(&depot->made_for_caches, 0, relaxed); /* [made] */
}

void cpi_depot_turn_drain(struct cpi_depot *depot)
{
    cpi_fetch_add(&depot->drains, 1u, acq_rel); /* [drain] */
}

uint32_t cpi_depot_drains(const struct cpi_depot *depot)
{
    return cpi_load(&depot->drains, acquire); /* [drains] */
}

uint32_t cpi_depot_made(const struct cpi_depot *depot)
{
    return cpi_load(&depot->made_for_slots, relaxed) +  /* [made] */
           cpi_load(&depot->made_for_caches, relaxed);  /* [made] */
}

uint32_t cpi_depot_partial_rounds(const struct cpi_depot *depot)
{
    uint32_t node = cpi_load(&depot->partial, relaxed); /* [glance] */

    return node == 0 ? 0 : cpi_magazine_count(cpi_depot_magazine(depot, node));
}

size_t cpi_depot_count_stocked(const struct cpi_depot *depot)
{
    uint32_t node = cpi_tagstack_top(&depot->stocked);
    size_t steps;

    for (steps = 0; node != 0; steps++)
        node = cpi_tagstack_below(&depot->links, node);
    return steps;
}

uint64_t cpi_depot_exchanged(const struct cpi_counters *counters)
{
    return cpi_load(&counters->stocked_in, acquire) +  /* [counted] */
           cpi_load(&counters->stocked_out, acquire) + /* [counted] */
           cpi_load(&counters->others, acquire);       /* [counted] */
}
