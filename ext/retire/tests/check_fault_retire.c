/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_fault_retire.c - what the functions of domains, and those of pools with slots in bags,
 * return when the system refuses one of their calls.
 *
 * Includes growth.h.
 */
#include "growth.h"

#include <sched.h>
#include <stdatomic.h>

#include "domains.h"
#include "fault_pool.h"

#include "process/descriptor.h"

/* Readers, and slots that each of them may hold back: four bags of eight. */
enum { READERS = 4, HELD = 32 };

/* --- Scenes --- */

static int create_domain(struct fault_scene *scene)
{
    cpool_domain_t *domain;
    int code = domain_create(&domain, READERS, HELD, 0);

    REQUIRE((code == 0) == (domain != NULL));
    scene->object = domain;
    return code;
}

static void make_domain(struct fault_scene *scene)
{
    fault_make(scene);
    REQUIRE_EQUAL(create_domain(scene), 0);
}

static void make_reader(struct fault_scene *scene)
{
    make_domain(scene);
    REQUIRE((scene->memory = reader_in(scene->object, CPOOL_READER_UNOWNED)) != NULL);
}

FAULT_CALL(retire, cpool_retire(scene->memory, scene->pool, scene->slots[--scene->count]))

/* The thread has a cache, the readers have been inside, so that a look needs the barrier, and
 * `left` slots of a reader's room are not retired yet. */
static cpool_reader_t *other;

static void fill_bags(struct fault_scene *scene, size_t left)
{
    make_reader(scene);
    REQUIRE((other = reader_in(scene->object, CPOOL_READER_UNOWNED)) != NULL);
    cpool_read_begin(other);
    cpool_read_end(other);
    scene->count = HELD + 1;
    for (size_t i = 0; i < scene->count; i++)
        REQUIRE((scene->slots[i] = cpool_alloc(scene->pool)) != NULL);
    while (scene->count > left)
        REQUIRE_EQUAL(retire(scene), 0);
}

/* The next retire closes the third bag. */
static void make_bags(struct fault_scene *scene)
{
    fill_bags(scene, HELD / 4 + 1);
}

static struct worker *worker;
static _Atomic bool is_over;

static void come_after_a_refusal(void *unused)
{
    (void)unused;
    while (refuse_refused() == 0 && !atomic_load_explicit(&is_over, memory_order_relaxed))
        sched_yield(); /* a flag, and no data behind it */
    do { /* the library may not know of the refusal yet, and the epoch goes on */
        cpool_read_begin(other);
        cpool_read_end(other);
        sched_yield();
    } while (!atomic_load_explicit(&is_over, memory_order_relaxed)); /* as above */
}

/* Without the barrier the other reader has to come. */
static void make_bags_beside_a_reader(struct fault_scene *scene)
{
    make_bags(scene);
    worker = worker_start();
    worker_begin(worker, come_after_a_refusal, NULL);
}

/* All slots are out, and some of them in bags. */
static void make_dry_with_bags(struct fault_scene *scene)
{
    make_bags(scene);
    for (size_t i = HELD + 1; i < FAULT_MOST; i++)
        REQUIRE((scene->slots[scene->count++] = cpool_alloc(scene->pool)) != NULL);
    REQUIRE(domain_stats(scene->object).held > 0);
}

/* --- Calls --- */

static int reader_create(struct fault_scene *scene)
{
    cpool_reader_t *reader;
    int code = cpool_reader_create(&reader, scene->object, 0);

    REQUIRE((code == 0) == (reader != NULL));
    if (code == 0)
        cpool_read_begin(reader);
    if (code == 0)
        cpool_read_end(reader);
    return code;
}

static int reader_create_unowned(struct fault_scene *scene)
{
    cpool_reader_t *reader;
    int code = cpool_reader_create(&reader, scene->object, CPOOL_READER_UNOWNED);

    scene->memory = reader;
    return code;
}

FAULT_CALL(reader_destroy, (cpool_reader_destroy(scene->memory), 0))
FAULT_CALL(retire_flush, (int)cpool_retire_flush(scene->memory, 0))
FAULT_CALL(retire_wait, (int)cpool_retire_flush(scene->memory, CPOOL_FLUSH_WAIT))
FAULT_CALL(alloc, fault_keep(scene, cpool_alloc(scene->pool)))
FAULT_CALL(domain_destroy, cpool_domain_destroy(scene->object))

/* --- Ends --- */

static void end_domain(struct fault_scene *scene)
{
    REQUIRE_EQUAL(cpool_domain_destroy(scene->object), 0);
}

static void end_all(struct fault_scene *scene)
{
    end_domain(scene);
    fault_end(scene);
}

static void end_beside_a_reader(struct fault_scene *scene)
{
    atomic_store_explicit(&is_over, true, memory_order_relaxed); /* as above */
    worker_await(worker);
    worker_stop(worker);
    end_all(scene);
}

/* The barrier that a look needs: it is registered again, and without it the bags stay. */
#define BARRIER(result, without) ROWS({ MEMBARRIER, 1, 1, result, without })

static const struct fault_case cases[] = {
    { "cpool_domain_create, the first", 0, NULL, create_domain, end_domain, 0,
      ROWS({ MMAP, 1, 2, CPOOL_ENOMEM, CPOOL_ENOMEM },
           FIRST_POOL(CPOOL_ENOMEM, 0, CPOOL_ENOMEM),
           { MMAP, 3, 3, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MMAP, 4, 4, 0, 0 },
           { MUNMAP, 1, 1, 0, 0 }) },
    { "cpool_domain_create", 0, fault_start, create_domain, end_domain, 0,
      ROWS({ MMAP, 1, 2, CPOOL_ENOMEM, CPOOL_ENOMEM }) },
    { "cpool_reader_create", 0, make_domain, reader_create, end_all, 0,
      ROWS({ MMAP, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { SETSPECIFIC, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM }) },
    { "cpool_reader_create, unowned", 0, make_domain, reader_create_unowned, end_all, 0, NO_ROWS },
    { "cpool_reader_destroy", 0, make_reader, reader_destroy, end_all, 0, NO_ROWS },
    { "cpool_reader_destroy, with slots", 0, make_bags, reader_destroy, end_all, 0,
      BARRIER(0, 0) },
    { "cpool_retire", 0, make_bags, retire, end_all, 0,
      BARRIER(0, 0) },
    { "cpool_retire, tracked", CPOOL_TRACKED, make_bags, retire, end_all, 0,
      BARRIER(0, 0) },
    { "cpool_retire_flush", 0, make_bags, retire_flush, end_all, 0,
      BARRIER(0, HELD - HELD / 4) },
    { "cpool_retire_flush, waiting", 0, make_bags_beside_a_reader, retire_wait,
      end_beside_a_reader, 0,
      BARRIER(0, 0) },
    { "cpool_alloc", 0, make_dry_with_bags, alloc, end_all, SOME,
      BARRIER(SOME, NONE) },
    { "cpool_domain_destroy", 0, make_bags, domain_destroy, fault_end, 0,
      ROWS({ MEMBARRIER, 1, 1, 0, 0 }, { MUNMAP, 1, 1, 0, 0 }) },
};

TEST_FAULTS(refused_calls_have_their_result, cases)

/* The memory of descriptors stays while a domain has one, and goes when the library is unloaded:
 * neither a domain that has ended holds it, nor one that got no descriptor. */
TEST(domain_holds_the_descriptors_while_it_lives)
{
    static cpool_t *taken[CPI_HANDLES];
    cpool_domain_t *domain;
    cpool_domain_t *none;
    size_t n = 0;

    REQUIRE(!cpi_handle_is_held());
    REQUIRE_EQUAL(domain_create(&domain, 1, 4, 0), 0);
    while (cpi_handle_take(&taken[n]) == 0)
        n++;
    REQUIRE_EQUAL(domain_create(&none, 1, 4, 0), CPOOL_ELIMIT);
    REQUIRE(none == NULL && cpi_handle_is_held());
    while (n > 0)
        cpi_handle_give(taken[--n]);
    REQUIRE(cpi_handle_is_held());
    REQUIRE_EQUAL(cpool_domain_destroy(domain), 0);
    REQUIRE(!cpi_handle_is_held());
}
