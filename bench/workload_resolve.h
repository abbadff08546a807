/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * workload_resolve.h - from handles to slots, compared with an array with generations as a user
 * would write it.
 *
 * Included by workloads.h for pools of libcpool only.  The parameter is n, the slots, all
 * of them live, of 64 bytes.  A chunk resolves all n handles in each way in turn:
 *
 *   cpool    cpool_resolve, in a tracked pool
 *   beside   an array of slots and an array of generations: compare, and add
 *   inside   an array of slots with the generation in each: the line that the caller
 *            touches next
 *
 * The order is that of the slots, or random.  A touch reads and writes a word of the slot.  Without
 * a touch, `inside` loads the line just the same, so it has no such figure.  No handle depends on
 * the previous one: the figures are throughput, not latency.
 */

#include <cpool/track.h>

struct resolve_body {
    uint32_t generation; /* of `inside` */
    uint32_t flags;
    uint64_t words[7];
};

enum resolve_way {
    RESOLVE_SEQUENTIAL,
    RESOLVE_SEQUENTIAL_BESIDE,
    RESOLVE_RANDOM,
    RESOLVE_RANDOM_BESIDE,
    RESOLVE_TOUCH,
    RESOLVE_TOUCH_BESIDE,
    RESOLVE_TOUCH_INSIDE,
    RESOLVE_WAYS
};

struct resolve {
    cpool_t *pool;
    struct resolve_body *bodies;
    uint32_t *generations; /* beside them */
    size_t count;          /* of both */
    uint64_t *handles[2];  /* of the pool, in order and at random */
    uint64_t *ours[2];     /* generation << 32 | index, likewise */
    uint64_t spent[RESOLVE_WAYS]; /* nanoseconds since begin */
    uint64_t resolved;            /* in each way since begin */
};

typedef void *(*resolve_function)(const struct resolve *resolve, uint64_t handle);

static inline void *resolve_by_pool(const struct resolve *resolve, uint64_t handle)
{
    return cpool_resolve(resolve->pool, handle);
}

static inline void *resolve_beside(const struct resolve *resolve, uint64_t handle)
{
    uint32_t index = (uint32_t)handle;

    if (index >= resolve->count || resolve->generations[index] != handle >> 32)
        return NULL;
    return &resolve->bodies[index];
}

static inline void *resolve_inside(const struct resolve *resolve, uint64_t handle)
{
    uint32_t index = (uint32_t)handle;

    if (index >= resolve->count || resolve->bodies[index].generation != handle >> 32)
        return NULL;
    return &resolve->bodies[index];
}

/* Inlined with the function and the touch as constants: a loop of its own for each way. */
#if defined(__GNUC__)
__attribute__((__always_inline__))
#endif
static inline uint64_t resolve_all(const struct resolve *resolve, resolve_function function,
                                   const uint64_t *handles, bool touch)
{
    uint64_t start = bench_now();
    size_t n = resolve->count, i;

    for (i = 0; i < n; i++) {
        void *slot = function(resolve, handles[i]);

        if (BENCH_UNLIKELY(slot == NULL))
            bench_fail("a handle of a live slot is stale");
        BENCH_HIDE(slot);
        if (touch)
            ++*(volatile uint64_t *)&((struct resolve_body *)slot)->words[0];
    }
    return bench_now() - start;
}

static size_t resolve_live(const struct bench_cell *cell)
{
    (void)cell;
    return 1;
}

/* A copy of n numbers in the order of `order`. */
static uint64_t *resolve_reordered(const uint64_t *numbers, const uint32_t *order, size_t n)
{
    uint64_t *copy = (uint64_t *)bench_memory(n, sizeof *copy);
    size_t i;

    for (i = 0; i < n; i++)
        copy[i] = numbers[order[i]];
    return copy;
}

static void resolve_setup(struct bench_worker *self)
{
    struct resolve *resolve = (struct resolve *)bench_memory(1, sizeof *resolve);
    size_t n = self->cell->parameter, i;
    struct bench_cell cell = *self->cell;
    uint32_t *order = (uint32_t *)bench_memory(n, sizeof *order);

    cell.capacity = n;
    cell.slot_size = sizeof(struct resolve_body);
    resolve->pool = (cpool_t *)rival_create_with(&cell, CPOOL_TRACKED, 0);
    resolve->bodies = (struct resolve_body *)bench_memory(n, sizeof *resolve->bodies);
    resolve->generations = (uint32_t *)bench_memory(n, sizeof *resolve->generations);
    resolve->handles[0] = (uint64_t *)bench_memory(n, sizeof(uint64_t));
    resolve->ours[0] = (uint64_t *)bench_memory(n, sizeof(uint64_t));
    resolve->count = n;
    for (i = 0; i < n; i++) {
        size_t index = cpool_index(resolve->pool, bench_clear(cpool_alloc(resolve->pool),
                                                              cell.slot_size));

        order[i] = (uint32_t)i;
        resolve->handles[0][index] = cpool_handle(resolve->pool, cpool_at(resolve->pool, index));
        resolve->generations[i] = resolve->bodies[i].generation = (uint32_t)i % 7u + 1u;
        resolve->ours[0][i] = (uint64_t)resolve->generations[i] << 32 | i;
    }
    bench_shuffle(order, n, &self->random);
    resolve->handles[1] = resolve_reordered(resolve->handles[0], order, n);
    resolve->ours[1] = resolve_reordered(resolve->ours[0], order, n);
    free(order);
    self->state = resolve;
}

static void resolve_begin(struct bench_worker *self)
{
    struct resolve *resolve = (struct resolve *)self->state;

    memset(resolve->spent, 0, sizeof resolve->spent);
    resolve->resolved = 0;
    self->timed = 0;
}

static uint64_t resolve_chunk(struct bench_worker *self)
{
    struct resolve *r = (struct resolve *)self->state;
    uint64_t *spent = r->spent, before = spent[RESOLVE_RANDOM];

    spent[RESOLVE_SEQUENTIAL] += resolve_all(r, resolve_by_pool, r->handles[0], false);
    spent[RESOLVE_SEQUENTIAL_BESIDE] += resolve_all(r, resolve_beside, r->ours[0], false);
    spent[RESOLVE_RANDOM] += resolve_all(r, resolve_by_pool, r->handles[1], false);
    spent[RESOLVE_RANDOM_BESIDE] += resolve_all(r, resolve_beside, r->ours[1], false);
    spent[RESOLVE_TOUCH] += resolve_all(r, resolve_by_pool, r->handles[1], true);
    spent[RESOLVE_TOUCH_BESIDE] += resolve_all(r, resolve_beside, r->ours[1], true);
    spent[RESOLVE_TOUCH_INSIDE] += resolve_all(r, resolve_inside, r->ours[1], true);
    r->resolved += r->count;
    self->timed += spent[RESOLVE_RANDOM] - before;
    return r->count;
}

static void resolve_report(const struct bench_worker *all)
{
    static const char *const names[RESOLVE_WAYS] = {
        "sequential_per_s",    "sequential_beside_per_s", "random_per_s",
        "random_beside_per_s", "touch_per_s",             "touch_beside_per_s",
        "touch_inside_per_s"
    };
    const struct resolve *resolve = (const struct resolve *)all[0].state;
    unsigned way;

    for (way = 0; way < RESOLVE_WAYS; way++)
        bench_metric(names[way],
                     (double)resolve->resolved * 1e9 / (double)resolve->spent[way]);
    cpool_destroy(resolve->pool);
}

static const struct bench_workload resolve_workload = {
    "resolve", "from the handles of n live slots to the slots", "handle",
    BENCH_SELF_TIMED, 1, resolve_live, resolve_chunk,
    NULL, resolve_setup, resolve_begin, NULL, resolve_report
};
