/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_fault_look.c - what tags, tickets, and the functions that look at pools return when the
 * system refuses one of their calls.
 *
 * The calls that a stream makes are not the library's, and are not refused.
 */
#include "fault_pool.h"

#include <cpool/debug.h>
#include <cpool/pools.h>
#include <cpool/quiet.h>
#include <cpool/track.h>

#include <stdio.h>

/* Slots that are taken at once: more than what the first step of memory has room for. */
enum { BULK = 100 };

/*
 * ---- Tags ----------------------------------------------------------------
 */

static cpool_tag_t tag = CPOOL_TAG_INIT;

static int tag_open(struct fault_scene *scene)
{
    return cpool_tag_open(&tag, scene->pool, "tag", BULK);
}

static void make_tagged(struct fault_scene *scene)
{
    fault_make(scene);
    REQUIRE_EQUAL(tag_open(scene), 0);
}

static void make_tagged_and_used(struct fault_scene *scene)
{
    fault_make_used(scene);
    REQUIRE_EQUAL(tag_open(scene), 0);
}

static int tag_alloc(struct fault_scene *scene)
{
    scene->object = cpool_tag_alloc(&tag);
    return scene->object != NULL ? SOME : NONE;
}

static int tag_alloc_bulk(struct fault_scene *scene)
{
    cpool_tag_free_bulk(&tag, scene->slots, scene->count);
    scene->count = cpool_tag_alloc_bulk(&tag, scene->slots, BULK);
    return (int)scene->count;
}

/* A slot in hand, of a thread that has no cache. */
static void make_with_tagged_slot(struct fault_scene *scene)
{
    make_tagged(scene);
    REQUIRE_EQUAL(cpool_tag_take(&tag, 1), 1);
    scene->object = cpool_depot_alloc(scene->pool);
}

static int tag_free(struct fault_scene *scene)
{
    cpool_tag_free(&tag, scene->object);
    scene->object = NULL;
    return 0;
}

static int tag_free_bulk(struct fault_scene *scene)
{
    cpool_tag_free_bulk(&tag, &scene->object, 1);
    scene->object = NULL;
    return 0;
}

static int tag_close(struct fault_scene *scene)
{
    (void)scene;
    return cpool_tag_close(&tag);
}

/* The account has what was had, and no more. */
static void end_tag(struct fault_scene *scene)
{
    cpool_tag_view_t view = CPOOL_TAG_VIEW_INIT;

    cpool_tag_free(&tag, scene->object);
    cpool_tag_free_bulk(&tag, scene->slots, scene->count);
    scene->count = 0;
    REQUIRE_EQUAL(cpool_tag_view(&tag, &view), 0);
    REQUIRE_EQUAL(view.live, 0);
    REQUIRE_EQUAL(cpool_tag_close(&tag), 0);
    fault_end(scene);
}

static const struct fault_case tags[] = {
    { "cpool_tag_open", 0, fault_make, tag_open, end_tag, 0, NO_ROWS },
    { "cpool_tag_alloc", 0, make_tagged, tag_alloc, end_tag, SOME,
      ROWS({ MMAP, 1, 1, SOME, NONE },
           { MPROTECT, 1, 1, SOME, NONE },
           { SETSPECIFIC, 1, 1, SOME, NONE },
           { MPROTECT, 2, 5, SOME, NONE }) },
    { "cpool_tag_alloc_bulk", 0, make_tagged_and_used, tag_alloc_bulk, end_tag, BULK,
      ROWS({ MPROTECT, 1, 1, BULK, 32 },
           { MPROTECT, 2, 2, BULK, 64 }) },
    { "cpool_tag_free", 0, make_with_tagged_slot, tag_free, end_tag, 0,
      ROWS({ MMAP, 1, 1, 0, 0 },
           { MPROTECT, 1, 1, 0, 0 },
           { SETSPECIFIC, 1, 1, 0, 0 },
           { MPROTECT, 2, 3, 0, 0 }) },
    { "cpool_tag_free_bulk", 0, make_with_tagged_slot, tag_free_bulk, end_tag, 0,
      ROWS({ MMAP, 1, 1, 0, 0 },
           { MPROTECT, 1, 1, 0, 0 },
           { SETSPECIFIC, 1, 1, 0, 0 },
           { MPROTECT, 2, 3, 0, 0 }) },
    { "cpool_tag_close", 0, make_tagged, tag_close, fault_end, 0, NO_ROWS },
};

/*
 * ---- Tickets -------------------------------------------------------------
 */

static cpool_ticket_t ticket = CPOOL_TICKET_INIT;

static int ticket_draw(struct fault_scene *scene)
{
    return cpool_ticket_draw(&ticket, scene->pool, scene->slots, BULK);
}

static void make_ticket(struct fault_scene *scene)
{
    fault_make(scene);
    REQUIRE_EQUAL(ticket_draw(scene), 0);
}

static int ticket_alloc(struct fault_scene *scene)
{
    return fault_keep(scene, cpool_ticket_alloc(&ticket));
}

static int ticket_return(struct fault_scene *scene)
{
    (void)scene;
    return (int)cpool_ticket_return(&ticket);
}

static void end_ticket(struct fault_scene *scene)
{
    (void)cpool_ticket_return(&ticket);
    fault_end(scene);
}

static const struct fault_case tickets[] = {
    { "cpool_ticket_draw", 0, fault_make_used, ticket_draw, end_ticket, 0,
      ROWS({ MPROTECT, 1, 2, 0, CPOOL_EDRY }) },
    { "cpool_ticket_alloc", 0, make_ticket, ticket_alloc, end_ticket, SOME, NO_ROWS },
    { "cpool_ticket_return", 0, make_ticket, ticket_return, fault_end, BULK, NO_ROWS },
};

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

static int audit(struct fault_scene *scene)
{
    return (int)cpool_audit(scene->pool);
}

static int verify(struct fault_scene *scene)
{
    return cpool_verify(scene->pool, scene->slots[0]);
}

static bool see(void *slot, cpool_handle_t handle, void *nothing)
{
    (void)nothing;
    return slot != NULL && handle != CPOOL_HANDLE_NONE;
}

static int foreach(struct fault_scene *scene)
{
    return (int)cpool_foreach(scene->pool, see, NULL);
}

static int iterate(struct fault_scene *scene)
{
    cpool_iter_t iter = CPOOL_ITER_INIT;
    int count = 0;

    REQUIRE_EQUAL(cpool_iter_begin(&iter, scene->pool, 0, FAULT_CAPACITY), 0);
    while (cpool_iter_next(&iter) != NULL)
        count++;
    return count;
}

static int count_live(struct fault_scene *scene)
{
    return (int)cpool_count_live(scene->pool, 0, FAULT_CAPACITY);
}

static bool see_pool(const cpool_view_t *view, void *pool)
{
    return view->pool == pool;
}

static int each(struct fault_scene *scene)
{
    return (int)cpool_each(see_pool, scene->pool);
}

static int find(struct fault_scene *scene)
{
    (void)scene;
    return cpool_find("no pool's name") != NULL ? SOME : NONE;
}

static int print(struct fault_scene *scene)
{
    cpool_print(scene->pool, stream(scene));
    cpool_print_json(scene->pool, stream(scene));
    return 0;
}

static int print_all(struct fault_scene *scene)
{
    cpool_print_all(stream(scene));
    cpool_print_json_all(stream(scene));
    return 0;
}

static int print_live(struct fault_scene *scene)
{
    return (int)cpool_print_live(scene->pool, stream(scene));
}

static int print_log(struct fault_scene *scene)
{
    return (int)cpool_print_log(scene->pool, stream(scene));
}

static int quiet_begin(struct fault_scene *scene)
{
    (void)scene;
    return cpool_quiet_begin(0);
}

static const struct fault_case looks[] = {
    { "cpool_audit", CPOOL_CHECKED, make_to_look, audit, end_look, 0, NO_ROWS },
    { "cpool_verify", CPOOL_CHECKED, make_to_look, verify, end_look, 0, NO_ROWS },
    { "cpool_foreach", CPOOL_TRACKED, make_to_look, foreach, end_look, BULK, NO_ROWS },
    { "cpool_iter_begin, and next", CPOOL_TRACKED, make_to_look, iterate, end_look, BULK,
      NO_ROWS },
    { "cpool_count_live", CPOOL_TRACKED, make_to_look, count_live, end_look, BULK, NO_ROWS },
    { "cpool_each", 0, make_to_look, each, end_look, 1, NO_ROWS },
    { "cpool_find", 0, make_to_look, find, end_look, NONE, NO_ROWS },
    { "cpool_print, and json", 0, make_to_look, print, end_look, 0, NO_ROWS },
    { "cpool_print_all, and json", 0, make_to_look, print_all, end_look, 0, NO_ROWS },
    { "cpool_print_live", CPOOL_CHECKED, make_to_look, print_live, end_look, BULK, NO_ROWS },
    { "cpool_print_log", CPOOL_CHECKED, make_to_look, print_log, end_look, 0, NO_ROWS },
    { "cpool_quiet_begin", 0, fault_make, quiet_begin, fault_end, 0,
      ROWS({ MMAP, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MPROTECT, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { SETSPECIFIC, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM }) },
};

#define COUNT(cases) (sizeof(cases) / sizeof((cases)[0]))

START_TEST(refused_tag_has_its_result)
{
    fault_run(&tags[_i]);
}
END_TEST

START_TEST(refused_ticket_has_its_result)
{
    fault_run(&tickets[_i]);
}
END_TEST

START_TEST(refused_look_sees_the_same)
{
    fault_run(&looks[_i]);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(refused_tag_has_its_result, COUNT(tags)),
        TIMES(refused_ticket_has_its_result, COUNT(tickets)),
        TIMES(refused_look_sees_the_same, COUNT(looks)),
    };

    return SUPPORT_RUN("fault_look", tests);
}
