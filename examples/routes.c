/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * routes.c - threads forward packets by a table that is replaced while they do.
 *
 * For data that is read all the time, and changed now and then.  The table is a slot, and a change
 * makes a new one: forwarders that began with the old table finish with it, and it is retired,
 * so it goes back when none of them can see it any more.  A forwarder is always inside a section.
 * Between two bursts it says by cpool_read_quiescent that it holds no table, which is one store,
 * and it takes no lock and writes nothing that others read.
 *
 * ORDERING TABLE
 *   publish | exchange of the table | acq_rel | shows the new table's routes to [follow]
 *   follow  | load of the table     | acquire | sees the routes as they were published
 *   end     | store and load        | relaxed | says no more than itself
 *
 *     cc -std=c11 routes.c $(pkg-config --cflags --libs cpool) -pthread
 */
#include <cpool/retire.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define FORWARDERS 3
#define ROUTES 256
#define BURST 32
#define BURSTS 2000 /* of each forwarder, at least */
#define CHANGES 500
#define HELD 8 /* tables that may wait for forwarders */

struct table {
    unsigned version;
    unsigned port[ROUTES]; /* by the destination */
};

struct forwarder {
    pthread_t thread;
    size_t packets, wrong;
};

static cpool_t *tables;
static cpool_domain_t *domain;
static struct table *_Atomic current;
static atomic_bool is_over;

static void require(int code)
{
    if (code != 0) {
        fprintf(stderr, "routes: %s\n", cpool_strerror(code));
        exit(1);
    }
}

static unsigned port_of(unsigned version, unsigned destination)
{
    return (version + destination) % 16;
}

/* Returns the number of packets that went astray. */
static size_t forward_burst(const struct table *table, unsigned first)
{
    size_t wrong = 0;

    for (unsigned i = 0; i < BURST; i++) {
        unsigned destination = (first + i * 7) % ROUTES;

        wrong += table->port[destination] != port_of(table->version, destination);
    }
    return wrong;
}

static void *forward(void *argument)
{
    struct forwarder *self = argument;
    cpool_reader_t *reader;
    bool over = false;

    require(cpool_reader_create(&reader, domain, 0));
    cpool_read_begin(reader);
    for (unsigned i = 0; !over || i < BURSTS; i++) {
        self->wrong +=
            forward_burst(atomic_load_explicit(&current, memory_order_acquire), i); /* [follow] */
        self->packets += BURST;
        cpool_read_quiescent(reader);
        over = atomic_load_explicit(&is_over, memory_order_relaxed); /* [end] */
    }
    cpool_read_end(reader);
    cpool_reader_destroy(reader); /* another thread may have it before this one has ended */
    return NULL;
}

/* Returns the table before, for all threads that begin now. */
static struct table *publish(unsigned version)
{
    struct table *table = cpool_alloc(tables);

    if (table == NULL)
        require(CPOOL_EDRY);
    table->version = version;
    for (unsigned i = 0; i < ROUTES; i++)
        table->port[i] = port_of(version, i);
    return atomic_exchange_explicit(&current, table, memory_order_acq_rel); /* [publish] */
}

static void change_all(cpool_reader_t *reader)
{
    for (unsigned version = 1; version <= CHANGES; version++) {
        struct table *before = publish(version);

        while (cpool_retire(reader, tables, before) == CPOOL_EHELD)
            sched_yield(); /* forwarders are at work with as many tables as may be */
    }
}

static void create(void)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_domain_config_t readers = CPOOL_DOMAIN_CONFIG_INIT;

    config.name = "tables";
    config.slot_size = sizeof(struct table);
    config.capacity = 2 + HELD;
    require(cpool_create(&tables, &config));
    readers.readers = FORWARDERS + 1;
    readers.max_held = HELD;
    require(cpool_domain_create(&domain, &readers));
}

int main(void)
{
    static struct forwarder forwarders[FORWARDERS];
    cpool_reader_t *reader;
    size_t packets = 0, wrong = 0;
    size_t held;

    create();
    require(cpool_reader_create(&reader, domain, 0));
    (void)publish(0);
    for (int i = 0; i < FORWARDERS; i++)
        if (pthread_create(&forwarders[i].thread, NULL, forward, &forwarders[i]) != 0)
            return 1;
    change_all(reader);
    held = cpool_retire_flush(reader, CPOOL_FLUSH_WAIT); /* this thread has nothing else to do */
    atomic_store_explicit(&is_over, true, memory_order_relaxed); /* [end] */
    for (int i = 0; i < FORWARDERS; i++) {
        pthread_join(forwarders[i].thread, NULL);
        packets += forwarders[i].packets;
        wrong += forwarders[i].wrong;
    }
    if (packets >= (size_t)FORWARDERS * BURSTS * BURST)
        printf("%d threads forwarded their packets, and %zu went astray\n", FORWARDERS, wrong);
    printf("after %d changes %zu old tables are held back\n", CHANGES, held);
    cpool_free(tables, atomic_load_explicit(&current, memory_order_acquire)); /* [follow] */
    if (cpool_domain_destroy(domain) != 0 || cpool_destroy(tables) != 0)
        return 1;
    return wrong == 0 && held == 0 ? 0 : 1;
}
