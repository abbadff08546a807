/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weak_memory.c - atomic operations: the stores that a load may read, and the place of a
 * store.
 *
 * The rules, for a thread with its view `now`:
 *
 *   load      reads its place in the location's modification order, or a newer store,
 *             and the place moves there.  An acquire load takes over the view that the
 *             store carries.  A relaxed one keeps that view for the next acquire fence.
 *   store     goes anywhere after the thread's place, but not between a
 *             read-modify-write and the store it has read.  A release store
 *             carries the thread's view, a relaxed one the view of the thread's
 *             last release fence.
 *   update    reads a store that no other read-modify-write has read, and goes
 *             next to it.  It carries on what that store carries: the release
 *             sequence.  Plain stores of the same thread do not, as in C++20,
 *             which allows more than C11 does.
 *   seq_cst   operations take effect in the order in which they are executed.
 *             A store goes after, and a load reads no store older than, two
 *             things: the newest sequentially consistent store of the location,
 *             and the views of threads at sequentially consistent fences.  Each
 *             edge of RC11's `psc` then leads from an operation to a later one,
 *             so that no execution is explored that C11 forbids.
 *
 * Memory itself holds the newest store of each location.  If it holds anything
 * else, the program has written it without telling.  That write is taken as the
 * location's first store.
 */
#include <string.h>

#include "weak.h"

enum {
    LAG_STEPS = 1000
};

static bool acquires(int order)
{
    return order == __ATOMIC_ACQUIRE || order == __ATOMIC_CONSUME ||
           order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static bool releases(int order)
{
    return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static uint64_t memory_get(uintptr_t address, unsigned size)
{
    uint8_t byte;
    uint16_t half;
    uint32_t word;
    uint64_t value = 0;

    switch (size) {
    case 1: memcpy(&byte, (const void *)address, 1); return byte;
    case 2: memcpy(&half, (const void *)address, 2); return half;
    case 4: memcpy(&word, (const void *)address, 4); return word;
    default: memcpy(&value, (const void *)address, 8); return value;
    }
}

static void memory_put(uintptr_t address, unsigned size, uint64_t value)
{
    uint8_t byte = (uint8_t)value;
    uint16_t half = (uint16_t)value;
    uint32_t word = (uint32_t)value;

    switch (size) {
    case 1: memcpy((void *)address, &byte, 1); break;
    case 2: memcpy((void *)address, &half, 2); break;
    case 4: memcpy((void *)address, &word, 4); break;
    default: memcpy((void *)address, &value, 8); break;
    }
}

static uint64_t truncated(uint64_t value, unsigned size)
{
    return size == 8 ? value : value & (((uint64_t)1 << 8 * size) - 1);
}

static uint16_t newer(uint16_t a, uint16_t b)
{
    return weak_world->store[a].rank >= weak_world->store[b].rank ? a : b;
}

static void join_seen(struct weak_view *into, const struct weak_view *from)
{
    for (int i = 0; i < weak_world->locations; i++)
        into->seen[i] = newer(into->seen[i], from->seen[i]);
}

void weak_join(struct weak_view *into, const struct weak_view *from)
{
    for (int i = 0; i < WEAK_THREADS; i++)
        if (into->clock[i] < from->clock[i])
            into->clock[i] = from->clock[i];
    join_seen(into, from);
}

/* The new store after `older`, or the first of its location. */
static uint16_t new_store(struct weak_location *location, uint16_t older, uint64_t value)
{
    struct weak_store *store = weak_world->store;
    uint16_t id = (uint16_t)weak_world->stores++;
    uint16_t i;

    if (weak_world->stores == WEAK_STORES)
        weak_end(WEAK_DROPPED);
    store[id].value = value;
    store[id].view = NULL;
    store[id].taken = false;
    store[id].next = store[older].next;
    store[id].rank = store[older].rank + 1;
    if (older != 0)
        store[older].next = id;
    if (location->last == older)
        location->last = id;
    for (i = store[id].next; i != 0; i = store[i].next)
        store[i].rank++;
    return id;
}

static struct weak_location *find(uintptr_t address)
{
    size_t hash = (size_t)((address >> 1) * 0x9e3779b97f4a7c15u >> 40);
    struct weak_location *location;

    for (;; hash++) {
        uint16_t *place = &weak_world->place[hash % WEAK_PLACES];

        if (*place != 0) {
            location = &weak_world->location[*place - 1];
            if (location->address == address)
                return location;
            continue;
        }
        if (weak_world->locations == WEAK_LOCATIONS)
            weak_fail("more than %d atomic words", WEAK_LOCATIONS);
        location = &weak_world->location[weak_world->locations++];
        *place = (uint16_t)weak_world->locations;
        *location = (struct weak_location){.address = address};
        return location;
    }
}

/* The location, with at least one store. */
static struct weak_location *locate(uintptr_t address, unsigned size)
{
    struct weak_location *location = find(address);
    uint64_t value = memory_get(address, size);

    if (location->last == 0 || location->size != size ||
        weak_world->store[location->last].value != value) {
        location->size = (uint8_t)size;
        location->first = new_store(location, location->last, value);
    }
    return location;
}

static int number_of(const struct weak_location *location)
{
    return (int)(location - weak_world->location);
}

/* The oldest store that the thread may read with this order. */
static uint16_t oldest(const struct weak_thread *self, const struct weak_location *location,
                       int order)
{
    int i = number_of(location);
    uint16_t floor = newer(location->first, self->now.seen[i]);

    if (order == __ATOMIC_SEQ_CST)
        floor = newer(floor, weak_world->sequential.seen[i]);
    return floor;
}

/* The stores that a load, an update or a compare-and-swap may read. */
struct wanted {
    bool update;          /* succeeds, if the values are equal or need not be */
    bool compare;
    bool weak;
    uint64_t expected;
    uint16_t if_updating; /* the oldest, by the order of each end */
    uint16_t if_loading;
};

static bool may_update(const struct wanted *wanted, uint16_t id)
{
    const struct weak_store *store = &weak_world->store[id];

    return wanted->update && !store->taken &&
           store->rank >= weak_world->store[wanted->if_updating].rank &&
           (!wanted->compare || store->value == wanted->expected);
}

static bool may_load(const struct wanted *wanted, uint16_t id)
{
    const struct weak_store *store = &weak_world->store[id];

    return (!wanted->update || wanted->compare) &&
           store->rank >= weak_world->store[wanted->if_loading].rank &&
           (!wanted->compare || wanted->weak || store->value != wanted->expected);
}

/* Whether a load does not simply read the newest store: by chance, or at some of the
 * locations always, until the execution has become long, because a loop may wait for
 * it. */
static bool is_stale(const struct weak_location *location)
{
    const struct weak_style *style = &weak_world->style;

    if (style->lag == 0 || weak_world->steps > LAG_STEPS)
        return weak_chance(style->stale);
    return (((unsigned)number_of(location) * 2654435761u ^ style->salt) >> 16) % style->lag == 0;
}

/* One of them.  The newest always is. */
static uint16_t pick(const struct weak_location *location, const struct wanted *wanted)
{
    uint16_t floor = wanted->if_loading;
    unsigned n = 0;
    uint16_t id;

    if (!is_stale(location))
        return location->last;
    if (wanted->update && weak_world->store[wanted->if_updating].rank <
                              weak_world->store[floor].rank)
        floor = wanted->if_updating;
    for (id = floor; id != 0; id = weak_world->store[id].next)
        n += may_update(wanted, id) || may_load(wanted, id);
    n = weak_world->style.lag == 0 ? weak_random(n) : 0;
    for (id = floor;; id = weak_world->store[id].next)
        if ((may_update(wanted, id) || may_load(wanted, id)) && n-- == 0)
            return id;
}

static void observe(struct weak_thread *self, const struct weak_location *location, uint16_t id,
                    int order)
{
    const struct weak_view *view = weak_world->store[id].view;

    self->now.seen[number_of(location)] = id;
    if (view == NULL)
        return;
    if (acquires(order))
        weak_join(&self->now, view);
    else
        weak_join(&self->acquired, view);
}

static struct weak_view *new_view(const struct weak_view *from)
{
    struct weak_view *view = &weak_world->view[weak_world->views++];

    if (weak_world->views == WEAK_VIEWS)
        weak_end(WEAK_DROPPED);
    *view = *from;
    return view;
}

/* The view of the thread's new store, which continues the sequence of `before`. */
static void carry(struct weak_thread *self, const struct weak_location *location, uint16_t id,
                  const struct weak_view *before, int order)
{
    int i = number_of(location);
    struct weak_view *view;

    self->now.seen[i] = id;
    if (order == __ATOMIC_SEQ_CST)
        weak_world->sequential.seen[i] = id;
    weak_world->store[id].view = before;
    if (!releases(order) && !self->has_released)
        return;
    view = new_view(releases(order) ? &self->now : &self->released);
    view->seen[i] = id;
    if (before != NULL)
        weak_join(view, before);
    weak_world->store[id].view = view;
    if (releases(order))
        self->now.clock[weak_world->current]++;
}

/* Writes behind the store that was read. */
static void update(struct weak_thread *self, struct weak_location *location, uint16_t id,
                   uint64_t value, int order)
{
    uint16_t own;

    observe(self, location, id, order);
    weak_access(location->address, location->size, WEAK_ATOMIC_WRITE);
    own = new_store(location, id, value);
    weak_world->store[id].taken = true;
    carry(self, location, own, weak_world->store[id].view, order);
    memory_put(location->address, location->size, weak_world->store[location->last].value);
}

uint64_t weak_load(uintptr_t address, unsigned size, int order)
{
    struct weak_thread *self;
    struct weak_location *location;
    struct wanted wanted = {0};
    uint16_t id;

    weak_step();
    self = weak_self();
    location = locate(address, size);
    wanted.if_loading = oldest(self, location, order);
    id = pick(location, &wanted);
    observe(self, location, id, order);
    weak_access(address, size, WEAK_ATOMIC_READ);
    weak_trace("load %#lx, order %d: %#llx%s", (unsigned long)address, order,
               (unsigned long long)weak_world->store[id].value,
               id == location->last ? "" : ", not the newest");
    return weak_world->store[id].value;
}

/* The store behind which the thread's own goes. */
static uint16_t choose_older(const struct weak_location *location, uint16_t floor)
{
    unsigned n = 0;
    uint16_t id;

    if (!weak_chance(weak_world->style.inserts))
        return location->last;
    for (id = floor; id != 0; id = weak_world->store[id].next)
        n += !weak_world->store[id].taken;
    n = weak_random(n);
    for (id = floor;; id = weak_world->store[id].next)
        if (!weak_world->store[id].taken && n-- == 0)
            return id;
}

void weak_store(uintptr_t address, unsigned size, uint64_t value, int order)
{
    struct weak_thread *self;
    struct weak_location *location;
    uint16_t id;

    weak_step();
    self = weak_self();
    location = locate(address, size);
    weak_access(address, size, WEAK_ATOMIC_WRITE);
    id = choose_older(location, oldest(self, location, order));
    id = new_store(location, id, truncated(value, size));
    carry(self, location, id, NULL, order);
    memory_put(address, size, weak_world->store[location->last].value);
    weak_trace("store %#lx, order %d: %#llx%s", (unsigned long)address, order,
               (unsigned long long)value, id == location->last ? "" : ", before a newer one");
}

uint64_t weak_update(uintptr_t address, unsigned size, weak_operation *operation,
                     uint64_t operand, int order)
{
    struct weak_thread *self;
    struct weak_location *location;
    struct wanted wanted = {.update = true};
    uint64_t old, value;
    uint16_t id;

    weak_step();
    self = weak_self();
    location = locate(address, size);
    wanted.if_updating = oldest(self, location, order);
    wanted.if_loading = wanted.if_updating;
    id = pick(location, &wanted);
    old = weak_world->store[id].value;
    value = truncated(operation(old, operand), size);
    update(self, location, id, value, order);
    weak_trace("update %#lx, order %d: %#llx to %#llx", (unsigned long)address, order,
               (unsigned long long)old, (unsigned long long)value);
    return old;
}

bool weak_compare_swap(uintptr_t address, unsigned size, uint64_t *expected, uint64_t desired,
                       bool weak, int success, int failure)
{
    struct weak_thread *self;
    struct weak_location *location;
    struct wanted wanted = {.update = true, .compare = true, .weak = weak};
    bool updates;
    uint16_t id;

    weak_step();
    self = weak_self();
    location = locate(address, size);
    wanted.expected = truncated(*expected, size);
    wanted.if_updating = oldest(self, location, success);
    wanted.if_loading = oldest(self, location, failure);
    id = pick(location, &wanted);
    updates = may_update(&wanted, id) &&
              !(may_load(&wanted, id) && weak_chance(weak_world->style.spurious));
    if (updates) {
        update(self, location, id, truncated(desired, size), success);
    } else {
        *expected = weak_world->store[id].value;
        observe(self, location, id, failure);
        weak_access(address, size, WEAK_ATOMIC_READ);
    }
    weak_trace("compare %#lx, order %d: %#llx, %s", (unsigned long)address,
               updates ? success : failure, (unsigned long long)weak_world->store[id].value,
               updates ? "swapped" : "not swapped");
    return updates;
}

static void fence(int number, int order)
{
    struct weak_thread *thread = &weak_world->thread[number];

    if (acquires(order))
        weak_join(&thread->now, &thread->acquired);
    if (order == __ATOMIC_SEQ_CST) {
        join_seen(&thread->now, &weak_world->sequential);
        join_seen(&weak_world->sequential, &thread->now);
    }
    if (releases(order)) {
        thread->released = thread->now;
        thread->has_released = true;
        thread->now.clock[number]++;
    }
}

void weak_fence(int order)
{
    weak_step();
    fence(weak_world->current, order);
    weak_trace("fence, order %d", order);
}

void weak_barrier(void)
{
    weak_step();
    fence(weak_world->current, __ATOMIC_SEQ_CST);
    for (int i = 0; i < weak_world->threads; i++)
        fence(i, __ATOMIC_SEQ_CST);
    fence(weak_world->current, __ATOMIC_SEQ_CST);
    weak_trace("barrier in all threads");
}
