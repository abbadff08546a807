/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * retire_sections.c - a thread reads a list of one node in two sections.  Meanwhile another one
 * replaces the node twice, or once, retires each and gives back those that it may.  A slot that is
 * free again is used again.
 *
 * Holds: nobody writes to a slot that a section reads, and all slots go back in the end.
 */
#define MODEL_COINS 1
#include "barrier.h"
#include "model.h"

#include "retire/retire.c"
#include "retire/epoch.c"

/* GenMC explores all executions.  It is given fewer where barriers add to them. */
#if defined(WEAK_GENMC_H) || defined(MODEL_SYMMETRIC)
enum { SECTIONS = 2, TURNS = 2 };
#else
enum { SECTIONS = 2, TURNS = 1 };
#endif

#if defined(MODEL_OPEN)
enum { BAG = 2, HELD = 1, ROUNDS = 2, NODES = HELD + ROUNDS }; /* slots before */
#elif defined(MODEL_DRY)
enum { BAG = 2, HELD = BAG * CPI_BAGS, ROUNDS = 2, NODES = HELD + ROUNDS }; /* full bags before */
#else
enum { BAG = 1, NODES = 3, ROUNDS = TURNS };
#endif

static _Alignas(CPI_LINE) char memory[1 << 14];
static cpool_reader_t *readers[2];
static int nodes[NODES]; /* plain: a section reads them */
static bool is_free[NODES];
static _Atomic(int *) list;
#if defined(MODEL_DRY)
static char pools[2];
static int *left[NODES]; /* of which the retire was refused */
#endif

#if defined(MODEL_SYMMETRIC) || defined(MODEL_OFFLINE) || defined(MODEL_OPEN)
static const bool is_offline = true;
#else
static const bool is_offline = false; /* the readers have begun inline */
#endif

static bool pass_barrier(void)
{
    model_barrier();
    return true;
}

static bool has_barrier(void)
{
#if defined(MODEL_SYMMETRIC)
    return false;
#else
    return true;
#endif
}

void cpool_free_uncached(cpool_t *pool, void *slot)
{
    int *node = slot;

    (void)pool;
    assert(node >= nodes && node < nodes + NODES && !is_free[node - nodes]);
    is_free[node - nodes] = true;
    *node = -1;
}

void cpool_free_bulk(cpool_t *pool, void *const *slots, size_t n)
{
    for (size_t i = 0; i < n; i++)
        cpool_free_uncached(pool, slots[i]);
}

static unsigned forks;

/* Nobody waits, and there is no limit of time. */
static const cpool_client_system_t model_system = {
    .forks = &forks, .barrier = pass_barrier, .has_barrier = has_barrier};

/* Pools are plain. */
int cpool_client_retire(const cpool_t *pool, void *const *slots, size_t n,
                        enum cpool_client_step step)
{
    (void)pool, (void)slots, (void)n, (void)step;
    return 0;
}

/* The readers are there. */
void cpool_client_report(cpool_error_t *error, const char *format, ...)
{
    (void)error, (void)format;
    assert(0);
}

const char *cpool_strerror(int code)
{
    (void)code;
    return "";
}

/* As domain.c makes it, with room for BAG slots in each bag. */
static struct cpool_domain *make_domain(void)
{
    struct cpool_domain *made = (struct cpool_domain *)(void *)memory;
    char *at = (char *)&made->reader[2];

    made->client.system = &model_system;
    made->epoch = 1;
    made->readers = 2;
    made->bag_size = BAG;
    for (int i = 0; i < 2; i++) {
        made->reader[i].domain = made;
        made->reader[i].state = CPI_READER_USED;
        made->reader[i].section.inside = made->epoch + 1;
        made->reader[i].section.epoch = is_offline ? CPI_OFFLINE : &made->epoch;
        readers[i] = &made->reader[i].section;
        for (unsigned k = 0; k < CPI_BAGS; k++) {
            made->reader[i].bags[k].slots = (void **)(void *)at;
            made->reader[i].bags[k].pools = (cpool_t *_Atomic *)(void *)(at + BAG * sizeof(void *));
            at += 2 * BAG * sizeof(void *);
        }
    }
    assert(at <= memory + sizeof memory);
    return made;
}

static int *take(void)
{
    for (int i = 0; i < NODES; i++)
        if (is_free[i]) {
            is_free[i] = false;
            return &nodes[i];
        }
    return NULL;
}

static void reader(void)
{
    for (int round = 0; round < SECTIONS; round++) {
        int *node;

        cpool_read_begin(readers[0]);
        node = cpi_load(&list, acquire);
        if (node != NULL)
            assert(*node > 0);
        cpool_read_end(readers[0]);
    }
#if defined(MODEL_OPEN)
    if (cpi_reader_is_empty(cpi_reader_of(readers[1])))
        assert(is_free[0]);
#endif
}

static void writer(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        int *old = cpi_load(&list, relaxed);
        int *node = take();

        if (node != NULL)
            *node = 2 + round;
        cpi_store(&list, node, release);
        if (cpool_retire(readers[1], NULL, old) == 0)
            (void)cpool_retire_flush(readers[1], 0);
    }
}

#if defined(MODEL_ASKED)
/* Asks the reader, and takes it offline. */
static void asker(void)
{
    struct cpi_blocker seen;

    (void)cpi_epoch_scan((struct cpool_domain *)(void *)memory, NULL, true, &seen);
}
#endif

#if defined(MODEL_DRY)
/* Neighbours are of different pools, so that they go back one by one. */
static cpool_t *pool_of(int node)
{
    return (cpool_t *)(void *)&pools[node % 2];
}

/* A dry pool takes the writer's bags. */
static void helper(void)
{
    (void)cpi_retire_reclaim((struct cpool_domain *)(void *)memory, NULL, true, NULL);
}

/* Retires and does not flush.  First, because it has to pass the helper's barriers. */
static void retirer(void)
{
    for (int round = HELD; round < NODES; round++) {
        int *node = &nodes[round];

#if defined(MODEL_OPEN)
        cpi_store(&list, NULL, release);
        assert(*node == 5);
#else
        *node = 5;
#endif
        if (cpool_retire(readers[1], pool_of(round), node) != 0)
            left[round] = node;
    }
}
#endif

int main(void)
{
#if defined(MODEL_OPEN)
    static model_thread *const bodies[] = {retirer, helper, reader};
#elif defined(MODEL_DRY)
    static model_thread *const bodies[] = {retirer, helper};
#elif defined(MODEL_ASKED)
    static model_thread *const bodies[] = {reader, writer, asker};
#else
    static model_thread *const bodies[] = {reader, writer};
#endif
    struct cpool_domain *domain = make_domain();

#if defined(MODEL_DRY)
    if (!is_offline)
        cpool_read_begin(readers[0]);
    for (int i = 0; i < HELD; i++)
        assert(cpool_retire(readers[1], pool_of(i), &nodes[i]) == 0);
    if (!is_offline)
        cpool_read_end(readers[0]);
#if defined(MODEL_OPEN)
    for (int i = HELD; i < NODES; i++)
        nodes[i] = 5;
    cpi_store(&list, &nodes[HELD], relaxed);
#endif
    model_run((int)(sizeof bodies / sizeof bodies[0]), bodies);
    for (int i = HELD; i < NODES; i++)
        if (left[i] != NULL)
            assert(cpool_retire(readers[1], pool_of(i), left[i]) == 0);
    assert(cpool_retire_flush(readers[1], 0) == 0);
    for (int i = 0; i < NODES; i++)
        assert(is_free[i]);
    return 0;
#endif
    for (int i = 0; i < NODES; i++)
        is_free[i] = true;
    cpi_store(&list, take(), relaxed);
    *cpi_load(&list, relaxed) = 1;
    model_run((int)(sizeof bodies / sizeof bodies[0]), bodies);
    assert(cpool_retire_flush(readers[1], 0) == 0);
    assert(cpi_reader_held(&domain->reader[1], NULL) == 0);
    return 0;
}
