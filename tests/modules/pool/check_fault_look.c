/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_fault_look.c - what the functions that look at pools return when the system
 * refuses one of their calls.
 *
 * The calls that a stream makes are not the library's, and are not refused.
 */
#include "fault_pool.h"

#include <cpool/debug.h>
#include <cpool/pools.h>
#include <cpool/track.h>

#include <stdio.h>

/* Slots that are taken at once: more than what the first step of memory has room for. */
enum { BULK = 100 };

/*
 * ---- Looking -------------------------------------------------------------
 */

static FILE *stream(struct fault_scene *scene)
{
    return scene->object;
}

/* A pool with slots in hand, and a stream that swallows all. */
static void make_to_look(struct fault_scene *scene)
{
    fault_make_used(scene);
    scene->count = cpool_alloc_bulk(scene->pool, scene->slots, BULK);
    scene->object = fopen("/dev/null", "w");
    REQUIRE(scene->object != NULL);
}

static void end_look(struct fault_scene *scene)
{
    fclose(stream(scene));
    fault_end(scene);
}

FAULT_CALL(audit, (int)cpool_audit(scene->pool))
FAULT_CALL(verify, cpool_verify(scene->pool, scene->slots[0]))

static int iterate(struct fault_scene *scene)
{
    cpool_iter_t iter = CPOOL_ITER_INIT(scene->pool, 0, FAULT_CAPACITY);
    int count = 0;

    while (cpool_iter_next(&iter) != NULL)
        count++;
    return count;
}

static bool see_pool(const cpool_view_t *view, void *pool)
{
    return view->pool == pool;
}

FAULT_CALL(each, (int)cpool_each(see_pool, scene->pool))
FAULT_CALL(find, cpool_find(0, "no pool's name") != NULL ? SOME : NONE)

static int print(struct fault_scene *scene)
{
    cpool_print(scene->pool, CPOOL_PRINT_FIGURES, stream(scene));
    cpool_print(scene->pool, CPOOL_PRINT_JSON, stream(scene));
    return 0;
}

static int print_all(struct fault_scene *scene)
{
    cpool_print(NULL, CPOOL_PRINT_ALL, stream(scene));
    cpool_print(NULL, CPOOL_PRINT_ALL_JSON, stream(scene));
    return 0;
}

FAULT_CALL(print_live, (int)cpool_print(scene->pool, CPOOL_PRINT_LIVE, stream(scene)))

static const struct fault_case looks[] = {
    { "cpool_audit", CPOOL_CHECKED, make_to_look, audit, end_look, 0, NO_ROWS },
    { "cpool_verify", CPOOL_CHECKED, make_to_look, verify, end_look, 0, NO_ROWS },
    { "cpool_iter_next", CPOOL_TRACKED, make_to_look, iterate, end_look, BULK, NO_ROWS },
    { "cpool_each", 0, make_to_look, each, end_look, 1, NO_ROWS },
    { "cpool_find", 0, make_to_look, find, end_look, NONE, NO_ROWS },
    { "cpool_print, and json", 0, make_to_look, print, end_look, 0, NO_ROWS },
    { "cpool_print, all pools", 0, make_to_look, print_all, end_look, 0, NO_ROWS },
    { "cpool_print, live slots", CPOOL_CHECKED, make_to_look, print_live, end_look, BULK, NO_ROWS },
};

#define COUNT(cases) (sizeof(cases) / sizeof((cases)[0]))

TEST_TIMES(refused_look_sees_the_same, COUNT(looks))
{
    fault_run(&looks[_i]);
}
