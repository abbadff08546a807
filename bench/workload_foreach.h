/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * workload_foreach.h - iterating over the live ones of 1,000,000 slots, compared with ways in which
 * users do it themselves.
 *
 * Included by workloads.h for pools of libcpool only.  The parameter is the percentage of slots
 * that are live, chosen at random.  A run of one chunk, which only shows that it works, has 10,000
 * slots.
 *
 *   iterator   cpool_iter_next on a tracked pool
 *   flags      an array of structures with a flag in each
 *   list       the live structures of an array, linked in the order of their addresses
 *   shuffled   the same in random order, as after much use
 *
 * Every visit reads and writes one word of the slot, and all slots and structures have 64 bytes.
 * The array and the lists do it in their loops, the iterator behind a call.  Each way is walked
 * once before it is timed, so that whatever fits into the caches is there.
 */

#include <cpool/track.h>

#define FOREACH_SLOTS ((size_t)1000000)
#define FOREACH_FEW ((size_t)10000)

struct foreach_body {
    uint64_t word;
    struct foreach_body *next; /* of the lists */
    char rest[47];
    bool live; /* of the array */
};

enum foreach_way {
    FOREACH_ITERATOR,
    FOREACH_FLAGS,
    FOREACH_LIST,
    FOREACH_SHUFFLED,
    FOREACH_WAYS
};

struct foreach {
    cpool_t *pool;
    struct foreach_body *flags;   /* `slots` of them */
    struct foreach_body *first[2]; /* of the list, and of the shuffled one */
    size_t slots, live;
    uint64_t spent[FOREACH_WAYS]; /* nanoseconds since begin */
    uint64_t walks;               /* in each way since begin */
};

static size_t foreach_live(const struct bench_cell *cell)
{
    (void)cell;
    return 1;
}

static inline void foreach_touch(void *slot)
{
    ++*(volatile uint64_t *)slot;
}

/* Links the first `live` bodies in `order`.  Returns the first of them. */
static struct foreach_body *foreach_link(struct foreach_body *bodies, const uint32_t *order,
                                         size_t live)
{
    size_t i;

    for (i = 0; i < live; i++)
        bodies[order[i]].next = i + 1 < live ? &bodies[order[i + 1]] : NULL;
    return &bodies[order[0]];
}

/* A pool with the slots at the places order[0] to order[live - 1] live. */
static cpool_t *foreach_pool(const struct bench_worker *self, const uint32_t *order,
                             const struct foreach *all)
{
    struct bench_cell cell = *self->cell;
    cpool_t *pool;
    size_t i;

    cell.capacity = all->slots;
    cell.slot_size = sizeof(struct foreach_body);
    pool = (cpool_t *)rival_create_with(&cell, CPOOL_TRACKED, 0);
    for (i = 0; i < all->slots; i++)
        foreach_touch(bench_take(cpool_alloc(pool), 0));
    for (i = all->live; i < all->slots; i++)
        cpool_free(pool, cpool_at(pool, order[i]));
    return pool;
}

static int foreach_compare(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

    return left < right ? -1 : left > right ? 1 : 0;
}

static void foreach_setup(struct bench_worker *self)
{
    struct foreach *all = (struct foreach *)bench_memory(1, sizeof *all);
    struct foreach_body *bodies[2];
    uint32_t *order;
    size_t i;

    all->slots = self->cell->milliseconds == 0 ? FOREACH_FEW : FOREACH_SLOTS;
    all->live = all->slots * self->cell->parameter / 100;
    if (all->live == 0 || all->live > all->slots)
        bench_fail("%zu percent of %zu slots", self->cell->parameter, all->slots);
    order = (uint32_t *)bench_memory(all->slots, sizeof *order);
    for (i = 0; i < all->slots; i++)
        order[i] = (uint32_t)i;
    bench_shuffle(order, all->slots, &self->random);
    all->pool = foreach_pool(self, order, all);
    all->flags = (struct foreach_body *)bench_memory(all->slots, sizeof *all->flags);
    for (i = 0; i < 2; i++)
        bodies[i] = (struct foreach_body *)bench_memory(all->slots, sizeof *bodies[i]);
    for (i = 0; i < all->live; i++)
        all->flags[order[i]].live = true;
    all->first[1] = foreach_link(bodies[1], order, all->live);
    qsort(order, all->live, sizeof *order, foreach_compare);
    all->first[0] = foreach_link(bodies[0], order, all->live);
    free(order);
    self->state = all;
}

static size_t foreach_iterate(const struct foreach *all)
{
    cpool_iter_t iter = CPOOL_ITER_INIT(all->pool, 0, SIZE_MAX);
    size_t visited = 0;
    void *slot;

    for (; (slot = cpool_iter_next(&iter)) != NULL; visited++)
        foreach_touch(slot);
    return visited;
}

static size_t foreach_flags(const struct foreach *all)
{
    size_t visited = 0, i;

    for (i = 0; i < all->slots; i++) {
        if (all->flags[i].live) {
            foreach_touch(&all->flags[i]);
            visited++;
        }
    }
    return visited;
}

static size_t foreach_list(struct foreach_body *body)
{
    size_t visited = 0;

    for (; body != NULL; body = body->next, visited++)
        foreach_touch(body);
    return visited;
}

/* Walks once in one way.  Returns the number of visits. */
static size_t foreach_walk(const struct foreach *all, enum foreach_way way)
{
    switch (way) {
    case FOREACH_ITERATOR:
        return foreach_iterate(all);
    case FOREACH_FLAGS:
        return foreach_flags(all);
    default:
        return foreach_list(all->first[way - FOREACH_LIST]);
    }
}

static void foreach_begin(struct bench_worker *self)
{
    struct foreach *all = (struct foreach *)self->state;

    memset(all->spent, 0, sizeof all->spent);
    all->walks = 0;
    self->timed = 0;
}

static uint64_t foreach_chunk(struct bench_worker *self)
{
    struct foreach *all = (struct foreach *)self->state;
    uint64_t before = all->spent[FOREACH_ITERATOR], start;
    unsigned way;

    for (way = 0; way < FOREACH_WAYS; way++) {
        (void)foreach_walk(all, (enum foreach_way)way);
        start = bench_now();
        if (foreach_walk(all, (enum foreach_way)way) != all->live)
            bench_fail("not every live slot was visited, or others");
        all->spent[way] += bench_now() - start;
    }
    all->walks++;
    self->timed += all->spent[FOREACH_ITERATOR] - before;
    return all->live;
}

static void foreach_report(const struct bench_worker *self)
{
    static const char *const names[FOREACH_WAYS][2] = { { "iterator_ns", "iterator_us" },
                                                        { "flags_ns", "flags_us" },
                                                        { "list_ns", "list_us" },
                                                        { "shuffled_ns", "shuffled_us" } };
    const struct foreach *all = (const struct foreach *)self[0].state;
    unsigned way;

    for (way = 0; way < FOREACH_WAYS; way++) {
        double walk = (double)all->spent[way] / (double)all->walks;

        bench_metric(names[way][0], walk / (double)all->live);
        bench_metric(names[way][1], walk / 1e3);
    }
    (void)cpool_reset(all->pool);
    cpool_destroy(all->pool);
}

static const struct bench_workload foreach_workload = {
    "foreach", "visit the live slots, n percent of 1,000,000", "slot",
    BENCH_SELF_TIMED, 1, foreach_live, foreach_chunk,
    NULL, foreach_setup, foreach_begin, NULL, foreach_report
};
