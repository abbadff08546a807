/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * retire_scene.h - a domain with two readers, one of them a worker's that stops at a step, and
 * slots that they retire.
 *
 * Includes steps.h.
 */
#ifndef CPOOL_TESTS_RETIRE_SCENE_H
#define CPOOL_TESTS_RETIRE_SCENE_H

#include "steps.h"

#include <stdatomic.h>
#include <string.h>

#include "domains.h"
#include "inside.h"

enum { CAPACITY = 24, RETIRED = 11, ROUNDS = 2, READERS = 3, BAG = 4, HELD = 4 * BAG };

static const unsigned modes[] = {0, CPOOL_CHECKED, CPOOL_TRACKED};

#define MODES (sizeof modes / sizeof modes[0])

struct scene {
    cpool_t *pool;
    cpool_t *second; /* or NULL */
    cpool_t *third;  /* likewise */
    cpool_domain_t *domain;
    cpool_reader_t *own;      /* the test's */
    cpool_reader_t *workers;  /* the worker's */
    cpool_reader_t *later;    /* or NULL */
    void *slots[CAPACITY];    /* all of the pool's */
    void *_Atomic shown;      /* to sections */
    size_t next;              /* of the slots, that is retired */
    size_t got;
    void *found;              /* by the worker's section */
};

static inline void make_reader(void *argument)
{
    struct scene *scene = argument;

    scene->workers = reader_in(scene->domain, 0);
    REQUIRE(scene->workers != NULL);
}

static inline void build(struct scene *scene, unsigned flags, struct worker *worker)
{
    memset(scene, 0, sizeof *scene);
    scene->pool = steps_pool(flags, CAPACITY, 0, ROUNDS);
    REQUIRE_EQUAL(domain_create(&scene->domain, READERS, HELD, 0), 0);
    scene->own = reader_in(scene->domain, 0);
    REQUIRE(scene->own != NULL);
    worker_do(worker, make_reader, scene);
    for (size_t i = 0; i < CAPACITY; i++)
        REQUIRE((scene->slots[i] = cpool_alloc(scene->pool)) != NULL);
}

/* The slots from the first one on are live. */
static inline void demolish(struct scene *scene, size_t first)
{
    for (size_t i = first; i < CAPACITY; i++)
        cpool_free(scene->pool, scene->slots[i]);
    REQUIRE_EQUAL(cpool_domain_destroy(scene->domain), 0);
    support_require_obtainable(scene->pool, 0);
    support_destroy_empty(scene->pool);
}

/* From now on the worker makes one step each time the caller takes a lock or gives way. */
static inline void resume(void *stop)
{
    REQUIRE(!cpi_lock_is_held());
    if (steps_go_on_to(stop, NULL, 1))
        steps_plan(STEPS_LOCK, 1, resume, stop);
}

/* The worker goes on, if the action has not waited for it. */
static inline void go_on(struct steps_stop *stop, struct worker *worker)
{
    if (!steps_drop())
        steps_resume(stop);
    worker_await(worker);
}

typedef bool beside(unsigned flags, struct worker *worker, size_t nth);

static inline void sweep(beside *at, unsigned flags, size_t least)
{
    struct worker *worker = worker_start();
    size_t nth = 1;

    while (at(flags, worker, nth))
        nth++;
    REQUIRE(nth > least);
    worker_stop(worker);
}

static inline void retire_next(struct scene *scene, cpool_reader_t *by)
{
    REQUIRE_EQUAL(cpool_retire(by, scene->pool, scene->slots[scene->next]), 0);
    scene->next++;
}

static inline void fill_with_two_pools(struct scene *scene, cpool_reader_t *by)
{
    for (size_t i = 0; i < RETIRED; i++) {
        if (i % 3 == 0)
            retire_next(scene, by);
        else
            REQUIRE_EQUAL(cpool_retire(by, scene->second, cpool_alloc(scene->second)), 0);
    }
}

static inline void fill_bags_with_two_pools(void *argument)
{
    struct scene *scene = argument;

    fill_with_two_pools(scene, scene->workers);
}

static inline void flush(void *argument)
{
    struct scene *scene = argument;

    (void)cpool_retire_flush(scene->workers, 0);
}

#endif /* CPOOL_TESTS_RETIRE_SCENE_H */
