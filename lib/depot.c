/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * depot.c - exchange of magazines.
 *
 * ORDERING TABLE (the stacks' own is in tagstack.h)
 *   leave   | remnant CAS 0 to node   | release | collect | the magazine's count and rounds
 *   collect | remnant CAS node to 0   | acquire | leave   | the magazine's count and rounds
 *   glance  | remnant load, CAS failure | relaxed | -     | -
 *   make    | made CAS                | relaxed | make    | -
 *   made    | made load, CAS failure  | relaxed | make    | -
 *   ready   | committed load          | acquire | extent.c's publish | the magazine's memory
 *   hint    | dry load, store         | relaxed | - | -
 *   done    | taking, giving store    | release | recall.c's hands | the magazine's new place
 *   account | dealings load, store    | relaxed | - | -
 *   begin   | collections fetch-and-add | acq_rel | watch | that the depot is being emptied
 *   end     | collections fetch-and-add | acq_rel | watch | that it is full again
 *   watch   | collections load        | acquire | begin end | whether to look again
 *
 * The remnant needs no tag: nobody reads a magazine's link or content before
 * the CAS that makes it his, so it does not matter whether the same magazine
 * left and came back in between.
 */
#include "depot.h"

#include "bits.h"
#include "quiet.h"

/* Looks for an empty magazine before it is believed that there is none. */
#define CPI_EMPTY_TRIES 10000000u

size_t cpi_depot_stride(size_t limit)
{
    return cpi_align_up(offsetof(struct cpi_magazine, rounds) + limit * sizeof(void *), CPI_LINE);
}

size_t cpi_depot_magazines(size_t capacity, size_t limit, size_t uncached)
{
    /* Full ones, the remnant, and two in the hands of each uncached thread. */
    return capacity / limit + 1 + 2 * uncached;
}

void cpi_depot_init(struct cpi_depot *depot, const struct cpi_extent *for_slots,
                    const struct cpi_extent *for_caches, uint32_t limit, uint32_t uncached)
{
    depot->links.links = for_slots->base;
    depot->links.stride = cpi_depot_stride(limit);
    depot->limit = limit;
    depot->uncached = uncached;
    depot->for_slots_max = (uint32_t)(for_slots->size / depot->links.stride);
    cpi_extent_copy(&depot->for_slots, for_slots);
    cpi_extent_copy(&depot->for_caches, for_caches);
    atomic_init(&depot->stocked.head, 0);
    atomic_init(&depot->empty.head, 0);
    atomic_init(&depot->remnant, 0);
    atomic_init(&depot->made_for_slots, 0);
    atomic_init(&depot->made_for_caches, 0);
    atomic_init(&depot->dry, false);
    atomic_init(&depot->collections, 0);
}

bool cpi_depot_provide(struct cpi_depot *depot, uintptr_t handed_out)
{
    size_t magazines = cpi_depot_magazines(handed_out, depot->limit, depot->uncached);

    return cpi_extent_reach(&depot->for_slots, magazines * depot->links.stride);
}

bool cpi_depot_provide_caches(struct cpi_depot *depot, uint32_t magazines)
{
    return cpi_extent_reach(&depot->for_caches, magazines * depot->links.stride);
}

/* The counters have one writer each, so adding needs no locked instruction. */
static void account(_Atomic uint64_t *counter, uint64_t more)
{
    cpi_store(counter, cpi_load(counter, relaxed) + more, relaxed); /* [account] */
}

static uint32_t pop(struct cpi_depot *depot, struct cpi_tagstack *stack,
                    struct cpi_dealings *dealings, _Atomic uint64_t *counter)
{
    uint64_t retries = 0;
    uint32_t node = cpi_tagstack_pop(stack, &depot->links, &dealings->taking, &retries);

    if (retries != 0)
        account(&dealings->retries, retries);
    if (node != 0) {
        account(counter, 1);
        cpi_quiet_note(CPI_NOISE_EXCHANGE, 1);
    }
    return node;
}

static void push(struct cpi_depot *depot, struct cpi_tagstack *stack, uint32_t node,
                 struct cpi_dealings *dealings, _Atomic uint64_t *counter)
{
    uint32_t retries = cpi_tagstack_push(stack, &depot->links, node);

    if (retries != 0)
        account(&dealings->retries, retries);
    account(counter, 1);
    cpi_quiet_note(CPI_NOISE_EXCHANGE, 1);
}

uint32_t cpi_depot_take_stocked(struct cpi_depot *depot, struct cpi_dealings *dealings)
{
    return pop(depot, &depot->stocked, dealings, &dealings->stocked_out);
}

/*
 * A magazine of an extent that has never been used: those of the extent are
 * numbered from before + 1.  0 if all that is committed is in use.  It is named
 * before it is taken, and as one that is being made, because its count is not
 * valid yet.
 */
static uint32_t make(struct cpi_depot *depot, struct cpi_extent *extent, _Atomic uint32_t *made,
                     uint32_t before, struct cpi_dealings *dealings)
{
    size_t bytes = cpi_load(&extent->committed, acquire); /* [ready] */
    uint32_t room = (uint32_t)(bytes / depot->links.stride);
    uint32_t number = cpi_load(made, relaxed); /* [made] */

    while (number < room) {
        uint32_t node = before + number + 1;

        cpi_store(&dealings->taking, node | CPI_MAKING, relaxed); /* [account] */
        if (cpi_cas_weak(made, &number, number + 1, relaxed, relaxed)) { /* [make] [made] */
            cpi_magazine_set_count(cpi_depot_magazine(depot, node), 0);
            cpi_store(&dealings->taking, node, release); /* [done] */
            return node;
        }
    }
    cpi_depot_taken(dealings);
    return 0;
}

static uint32_t make_any(struct cpi_depot *depot, struct cpi_dealings *dealings)
{
    uint32_t node = make(depot, &depot->for_slots, &depot->made_for_slots, 0, dealings);

    if (node == 0)
        node = make(depot, &depot->for_caches, &depot->made_for_caches, depot->for_slots_max,
                    dealings);
    return node;
}

bool cpi_depot_has_made(const struct cpi_depot *depot, uint32_t node)
{
    if (node <= depot->for_slots_max)
        return node <= cpi_load(&depot->made_for_slots, relaxed); /* [made] */
    return node - depot->for_slots_max <= cpi_load(&depot->made_for_caches, relaxed); /* [made] */
}

uint64_t cpi_depot_swapped(struct cpi_dealings *dealings)
{
    account(&dealings->swaps, 1);
    return cpi_load(&dealings->swaps, relaxed); /* [account] */
}

uint64_t cpi_depot_retries(const struct cpi_dealings *dealings)
{
    return cpi_load(&dealings->retries, relaxed); /* [account] */
}

uint32_t cpi_depot_take_empty(struct cpi_depot *depot, struct cpi_dealings *dealings)
{
    uint32_t node = 0;
    uint32_t tries;

    /* By the second invariant a magazine is left for each party; not to find
     * it means that another party took or gave one in between. */
    for (tries = 0; node == 0 && tries < CPI_EMPTY_TRIES; tries++) {
        node = pop(depot, &depot->empty, dealings, &dealings->empty_out);
        if (node == 0)
            node = make_any(depot, dealings);
    }
    return node;
}

uint32_t cpi_depot_take_remnant(struct cpi_depot *depot, struct cpi_dealings *dealings)
{
    uint32_t node = cpi_load(&depot->remnant, relaxed); /* [glance] */

    do {
        cpi_store(&dealings->taking, node, relaxed); /* [account] */
        if (node == 0)
            return 0;
    } while (!cpi_cas_weak(&depot->remnant, &node, 0, acquire, relaxed)); /* [collect] [glance] */
    account(&dealings->remnants, 1);
    return node;
}

void cpi_depot_takes(struct cpi_dealings *dealings, uint32_t node)
{
    cpi_store(&dealings->taking, node, relaxed); /* [account] */
}

void cpi_depot_taken(struct cpi_dealings *dealings)
{
    cpi_store(&dealings->taking, 0, release); /* [done] */
}

void cpi_depot_gives(struct cpi_dealings *dealings, uint32_t node)
{
    cpi_store(&dealings->giving, node, release); /* [done] */
}

/* Puts a magazine on the stack that it belongs to; false if on neither. */
static bool settle(struct cpi_depot *depot, struct cpi_dealings *dealings, uint32_t node)
{
    uint32_t count = cpi_magazine_count(cpi_depot_magazine(depot, node));

    if (count == depot->limit)
        push(depot, &depot->stocked, node, dealings, &dealings->stocked_in);
    else if (count == 0)
        push(depot, &depot->empty, node, dealings, &dealings->empty_in);
    else
        return false;
    return true;
}

/* Merges two magazines, settles one that became full or empty, and returns the
 * other. */
static uint32_t merge(struct cpi_depot *depot, struct cpi_dealings *dealings, uint32_t a,
                      uint32_t b)
{
    cpi_magazine_move(cpi_depot_magazine(depot, a), cpi_depot_magazine(depot, b), depot->limit);
    if (settle(depot, dealings, a))
        return b;
    settle(depot, dealings, b);
    return a;
}

void cpi_depot_give(struct cpi_depot *depot, struct cpi_dealings *dealings, uint32_t node)
{
    while (!settle(depot, dealings, node)) {
        uint32_t none = 0;
        uint32_t other;

        if (cpi_cas_strong(&depot->remnant, &none, node, release, relaxed)) { /* [leave] [glance] */
            account(&dealings->remnants, 1);
            break;
        }
        other = cpi_depot_take_remnant(depot, dealings);
        if (other != 0)
            node = merge(depot, dealings, other, node);
        cpi_depot_gives(dealings, node);
        cpi_depot_taken(dealings);
    }
    cpi_depot_gives(dealings, 0);
}

void *cpi_depot_alloc_slot(struct cpi_depot *depot, struct cpi_dealings *dealings)
{
    uint32_t node = cpi_depot_take_remnant(depot, dealings);
    struct cpi_magazine *magazine;
    uint32_t count;
    void *slot;

    if (node == 0)
        node = cpi_depot_take_stocked(depot, dealings);
    if (node == 0)
        return NULL;
    magazine = cpi_depot_magazine(depot, node);
    count = cpi_magazine_count(magazine) - 1;
    slot = magazine->rounds[count];
    cpi_magazine_set_count(magazine, count);
    cpi_depot_gives(dealings, node);
    cpi_depot_taken(dealings);
    cpi_depot_give(depot, dealings, node);
    return slot;
}

bool cpi_depot_free_slot(struct cpi_depot *depot, struct cpi_dealings *dealings, void *slot)
{
    uint32_t node = cpi_depot_take_remnant(depot, dealings);
    struct cpi_magazine *magazine;
    uint32_t count;

    if (node == 0)
        node = cpi_depot_take_empty(depot, dealings);
    if (node == 0)
        return false;
    magazine = cpi_depot_magazine(depot, node);
    count = cpi_magazine_count(magazine);
    magazine->rounds[count] = slot;
    cpi_magazine_set_count(magazine, count + 1);
    cpi_depot_gives(dealings, node);
    cpi_depot_taken(dealings);
    cpi_depot_give(depot, dealings, node);
    return true;
}

void cpi_depot_reset(struct cpi_depot *depot)
{
    cpi_tagstack_clear(&depot->stocked);
    cpi_tagstack_clear(&depot->empty);
    cpi_store(&depot->remnant, 0, relaxed);         /* [glance] */
    cpi_store(&depot->made_for_slots, 0, relaxed);  /* [made] */
    cpi_store(&depot->made_for_caches, 0, relaxed); /* [made] */
    cpi_depot_set_dry(depot, false);
}

void cpi_depot_set_dry(struct cpi_depot *depot, bool dry)
{
    if (cpi_depot_is_dry(depot) != dry)
        cpi_store(&depot->dry, dry, relaxed); /* [hint] */
}

bool cpi_depot_is_dry(const struct cpi_depot *depot)
{
    return cpi_load(&depot->dry, relaxed); /* [hint] */
}

void cpi_depot_begin_collection(struct cpi_depot *depot)
{
    cpi_fetch_add(&depot->collections, 1u, acq_rel); /* [begin] */
}

void cpi_depot_end_collection(struct cpi_depot *depot)
{
    cpi_fetch_add(&depot->collections, 1u, acq_rel); /* [end] */
}

uint32_t cpi_depot_collections(const struct cpi_depot *depot)
{
    return cpi_load(&depot->collections, acquire); /* [watch] */
}

bool cpi_depot_was_collected(const struct cpi_depot *depot, uint32_t seen)
{
    return seen % 2 != 0 || cpi_depot_collections(depot) != seen;
}

bool cpi_depot_has_stocked(const struct cpi_depot *depot)
{
    return cpi_tagstack_top(&depot->stocked) != 0;
}

uint32_t cpi_depot_made(const struct cpi_depot *depot)
{
    return cpi_load(&depot->made_for_slots, relaxed) +  /* [made] */
           cpi_load(&depot->made_for_caches, relaxed);  /* [made] */
}

uint32_t cpi_depot_remnant_rounds(const struct cpi_depot *depot)
{
    uint32_t node = cpi_load(&depot->remnant, relaxed); /* [glance] */

    return node == 0 ? 0 : cpi_magazine_count(cpi_depot_magazine(depot, node));
}

/* Steps down a stack to `wanted`, or to the end; returns where it stopped, and
 * the steps made. */
static uint32_t walk(const struct cpi_depot *depot, const struct cpi_tagstack *stack,
                     uint32_t wanted, size_t *steps)
{
    uint32_t node = cpi_tagstack_top(stack);

    for (*steps = 0; node != 0 && node != wanted; ++*steps)
        node = cpi_tagstack_below(&depot->links, node);
    return node;
}

size_t cpi_depot_count_stocked(const struct cpi_depot *depot)
{
    size_t steps;

    walk(depot, &depot->stocked, 0, &steps);
    return steps;
}

bool cpi_depot_holds(const struct cpi_depot *depot, uint32_t node)
{
    size_t steps;

    return cpi_load(&depot->remnant, relaxed) == node || /* [glance] */
           walk(depot, &depot->stocked, node, &steps) == node ||
           walk(depot, &depot->empty, node, &steps) == node;
}
