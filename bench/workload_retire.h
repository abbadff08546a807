/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * workload_retire.h - nodes are replaced while other threads read them without a lock.
 *
 * Included by workloads.h for rivals that define RIVAL_RETIRES, and by those that have no
 * other workload.  All of them define
 *
 *     void *rival_domain_create(const struct bench_cell *cell, size_t bag)   nodes in a batch,
 *                                                  where it frees them in batches of its own
 *     void rival_domain_destroy(void *domain)      all threads have left
 *     void *rival_reader_enter(void *domain)       in each thread
 *     void rival_reader_leave(void *reader)
 *     void *rival_read(void *reader, void **place) begins a section, and loads the node
 *     void rival_read_end(void *reader)
 *     bool rival_retire(void *reader, void *node)  frees it after all sections.  Returns whether
 *                                                  it had to wait for one
 *     size_t rival_held(void *domain)              nodes retired, and not free yet
 *
 * The parameter is the number of nodes that all threads can find, in a table.  Each thread
 * replaces the nodes of its own part, and reads those of all parts: a batch of updates, then
 * a batch of sections.  An update allocates a node, writes to it, publishes it, reads the old
 * node and retires it.  A section reads one node.  A node that a section finds must be the one
 * of its place, so a node that was freed too early does not go unnoticed.  RIVAL_IS_UNSAFE
 * leaves that out.
 *
 * Both batches are timed by the processor time of their thread, because others may have the
 * processor meanwhile.  A retire that waits for readers gives it to them, and is counted.  The
 * work of threads that a rival has for itself is in `all_ns` alone: the time of the process
 * that was not spent in sections.
 *
 * A node has room for a rival's head, RETIRE_HEAD bytes behind its beginning.  Held back are
 * nodes that were retired and cannot be allocated yet, as a thread finds them after each batch
 * of updates.
 */

#include "machine.h"

/* A thread scans the readers once for this many nodes. */
#define RETIRE_BAG 256u

/* In a batch: enough to hide the cost of reading the clock.  Because the number of updates is odd,
 * batches end at all places of a bag in turn, where the nodes that are held back are counted. */
#define RETIRE_UPDATES 4001u
#define RETIRE_SECTIONS 65536u

/* Slots of the pool in addition to the live ones, for nodes that are held back. */
#define RETIRE_ROOM ((size_t)1 << 20)

struct retire_node {
    uint64_t stamp; /* bench_take's */
    uint64_t place; /* in the table */
    void *head[3];  /* the rival's, at RETIRE_HEAD */
};

_Static_assert(offsetof(struct retire_node, head) == RETIRE_HEAD, "the head is elsewhere");

struct retire_table {
    void *domain;
    void **nodes;   /* atomic */
    uint64_t spent; /* processor time of the process since begin: thread 0's */
};

struct retire {
    struct retire_table *table;
    void *reader;
    size_t first, end;   /* this thread's places */
    size_t update, read; /* the next places */
    /* Since begin. */
    uint64_t read_ns, sections, updates, waits, strays;
    size_t held; /* the most nodes that were seen held back */
    char padding[BENCH_LINE];
};

static size_t retire_live(const struct bench_cell *cell)
{
    return cell->parameter + RETIRE_ROOM;
}

static void retire_prepare(struct bench_shared *shared)
{
    struct retire_table *table = (struct retire_table *)bench_memory(1, sizeof *table);

    if (shared->cell->parameter < shared->cell->threads)
        bench_leave_out("fewer nodes than threads");
    if (shared->cell->slot_size < sizeof(struct retire_node))
        bench_leave_out("not with this slot size");
    table->nodes = (void **)bench_memory(shared->cell->parameter, sizeof(void *));
    table->domain = rival_domain_create(shared->cell, RETIRE_BAG);
    if (table->domain == NULL)
        bench_fail("no domain");
    shared->state = table;
}

static inline void retire_publish(struct bench_worker *self, struct retire *retire, size_t place)
{
    struct retire_node *node =
        (struct retire_node *)bench_take(rival_alloc(BENCH_HANDLE(self->handle)), self->stamp++);

    node->place = place;
    __atomic_store_n(&retire->table->nodes[place], node, __ATOMIC_RELEASE);
}

static void retire_setup(struct bench_worker *self)
{
    struct retire *retire = (struct retire *)bench_memory(1, sizeof *retire);
    const struct bench_cell *cell = self->cell;
    size_t place;

    retire->table = (struct retire_table *)self->shared->state;
    retire->reader = rival_reader_enter(retire->table->domain);
    if (retire->reader == NULL)
        bench_fail("no reader");
    retire->first = cell->parameter * self->index / cell->threads;
    retire->end = cell->parameter * (self->index + 1) / cell->threads;
    retire->update = retire->read = retire->first;
    for (place = retire->first; place < retire->end; place++)
        retire_publish(self, retire, place);
    self->state = retire;
}

static void retire_begin(struct bench_worker *self)
{
    struct retire *retire = (struct retire *)self->state;

    retire->read_ns = retire->sections = retire->updates = retire->waits = 0;
    retire->held = 0;
    self->timed = 0;
    if (self->index == 0)
        retire->table->spent = bench_process_time();
}

static void retire_update(struct bench_worker *self, struct retire *retire)
{
    size_t place = retire->update;
    uint64_t waits = 0;
    unsigned i;

    for (i = 0; i < RETIRE_UPDATES; i++) {
        void *old = retire->table->nodes[place]; /* no other thread writes there */

        retire_publish(self, retire, place);
        self->sum += bench_read(old);
        if (BENCH_UNLIKELY(rival_retire(retire->reader, old)))
            waits++;
        place = place + 1 == retire->end ? retire->first : place + 1;
    }
    retire->update = place;
    retire->waits += waits;
}

static void retire_read(struct retire *retire, size_t count)
{
    void **nodes = retire->table->nodes;
    size_t place = retire->read;
    uint64_t strays = 0;
    unsigned i;

    for (i = 0; i < RETIRE_SECTIONS; i++) {
        struct retire_node *node = (struct retire_node *)rival_read(retire->reader, &nodes[place]);

        BENCH_HIDE(node);
        strays += node->place != place ? 1u : 0u;
        rival_read_end(retire->reader);
        place = place + 1 == count ? 0 : place + 1;
    }
    retire->read = place;
    retire->strays += strays;
}

/* Threads that share processors: measure.c takes their times for time by the clock. */
static unsigned retire_lanes(const struct bench_cell *cell)
{
    unsigned processors = machine_processors();

    return cell->threads < processors ? cell->threads : processors;
}

static uint64_t retire_chunk(struct bench_worker *self)
{
    struct retire *retire = (struct retire *)self->state;
    uint64_t start = bench_thread_time();
    size_t held;

    retire_update(self, retire);
    self->timed += (bench_thread_time() - start) * self->cell->threads / retire_lanes(self->cell);
    held = rival_held(retire->table->domain);
    retire->held = held > retire->held ? held : retire->held;

    start = bench_thread_time();
    retire_read(retire, self->cell->parameter);
    retire->read_ns += bench_thread_time() - start;
    retire->sections += RETIRE_SECTIONS;
    retire->updates += RETIRE_UPDATES;
    return RETIRE_UPDATES;
}

static void retire_teardown(struct bench_worker *self)
{
    struct retire *retire = (struct retire *)self->state;
    size_t place;

    if (self->index == 0)
        retire->table->spent = bench_process_time() - retire->table->spent;
    for (place = retire->first; place < retire->end; place++) {
        self->sum += bench_read(retire->table->nodes[place]);
        (void)rival_retire(retire->reader, retire->table->nodes[place]);
    }
    rival_reader_leave(retire->reader);
}

static void retire_report(const struct bench_worker *all)
{
    const struct retire_table *table = (const struct retire_table *)all[0].shared->state;
    double read_ns = 0.0, sections = 0.0, updates = 0.0, waits = 0.0;
    size_t held = 0;
    unsigned i;

    for (i = 0; i < all[0].cell->threads; i++) {
        const struct retire *retire = (const struct retire *)all[i].state;

        read_ns += (double)retire->read_ns;
        sections += (double)retire->sections;
        updates += (double)retire->updates;
        waits += (double)retire->waits;
        held = retire->held > held ? retire->held : held;
#ifndef RIVAL_IS_UNSAFE
        if (retire->strays != 0)
            bench_fail("a section found a node that was freed");
#endif
    }
    bench_metric("section_ns", read_ns / sections);
    bench_metric("all_ns", ((double)table->spent - read_ns) / updates);
    bench_metric("held", (double)held);
    bench_metric("waits", 1e6 * waits / updates);
    rival_domain_destroy(table->domain);
}

static const struct bench_workload retire_workload = {
    "retire", "replace n nodes that all threads read: allocate, publish, retire", "update",
    BENCH_SELF_TIMED, 1, retire_live, retire_chunk,
    retire_prepare, retire_setup, retire_begin, retire_teardown, retire_report
};
