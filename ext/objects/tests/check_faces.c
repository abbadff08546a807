/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_faces.c - object pools, blocks of many sizes and lanes as they are found by address, by
 * name and in a walk, and that nobody else takes or gives their slots.
 *
 * Includes the public API only.
 */
#include "support.h"

#include <string.h>

#include <cpool/lanes.h>
#include <cpool/object.h>
#include <cpool/pools.h>
#include <cpool/sized.h>
#include <cpool/track.h>
#include <cpool/print.h>

#include "misuse.h"

enum { CAPACITY = 4, SIZE = 64 };

/* The ways in which a pool's slots may belong to a layer above. */
enum { OBJECTS, OBJECTS_CHECKED, OBJECTS_WAITABLE, SIZED, SIZED_CHECKED, LANES, LAYERS };

static const unsigned flags[LAYERS] = { 0, CPOOL_CHECKED, 0, 0, CPOOL_CHECKED, 0 };

struct layer {
    cpool_objects_t *objects;
    cpool_sized_t *sized;
    cpool_lanes_t *lanes;
    void *slot; /* live */
    cpool_t *face;
};

static cpool_objects_t *make_objects(unsigned with)
{
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_objects_t *pool;

    type.object_size = SIZE;
    config.type = &type;
    config.name = "conns";
    config.capacity = CAPACITY;
    config.flags = with;
    REQUIRE_EQUAL(cpool_objects_create(&pool, &config), 0);
    return pool;
}

static cpool_sized_t *make_sized(unsigned with)
{
    static const size_t classes[] = { SIZE, 2 * SIZE };
    cpool_sized_config_t config = CPOOL_SIZED_CONFIG_INIT;
    cpool_sized_t *blocks;

    config.name = "text";
    config.classes = classes;
    config.class_count = 2;
    config.class_bytes = (size_t)SIZE * CAPACITY;
    config.flags = with;
    REQUIRE_EQUAL(cpool_sized_create(&blocks, &config), 0);
    return blocks;
}

static cpool_lanes_t *make_lanes(void)
{
    cpool_config_t slots = support_config(SIZE, CAPACITY);
    cpool_lanes_config_t config = CPOOL_LANES_CONFIG_INIT;
    cpool_lanes_t *lanes;

    slots.name = "units";
    config.slots = &slots;
    config.lanes = 2;
    REQUIRE_EQUAL(cpool_lanes_create(&lanes, &config), 0);
    return lanes;
}

/* The handle that a layer hands out. */
static cpool_t *pool_of(const struct layer *layer)
{
    cpool_sized_class_t class = CPOOL_SIZED_CLASS_INIT;

    if (layer->objects != NULL)
        return cpool_objects_pool(layer->objects);
    if (layer->lanes != NULL)
        return cpool_lanes_pool(layer->lanes);
    REQUIRE_EQUAL(cpool_sized_class_of(layer->sized, 0, &class), 0);
    return class.pool;
}

static struct layer begin(int kind)
{
    struct layer layer = { NULL, NULL, NULL, NULL, NULL };

    if (kind <= OBJECTS_WAITABLE) {
        layer.objects = make_objects(flags[kind] |
                                     (kind == OBJECTS_WAITABLE ? CPOOL_OBJECT_WAITABLE : 0));
        layer.slot = cpool_object_get(layer.objects);
    } else if (kind <= SIZED_CHECKED) {
        layer.sized = make_sized(flags[kind]);
        layer.slot = cpool_sized_alloc(layer.sized, SIZE);
    } else {
        layer.lanes = make_lanes();
        layer.slot = cpool_lane_alloc(layer.lanes, 0);
    }
    REQUIRE(layer.slot != NULL);
    layer.face = pool_of(&layer);
    return layer;
}

static void end(struct layer *layer)
{
    if (layer->objects != NULL) {
        cpool_object_put(layer->objects, layer->slot);
        REQUIRE_EQUAL(cpool_objects_destroy(layer->objects), 0);
    } else if (layer->sized != NULL) {
        cpool_sized_free(layer->sized, layer->slot);
        REQUIRE_EQUAL(cpool_sized_destroy(layer->sized), 0);
    } else {
        cpool_lane_free(layer->lanes, 0, layer->slot);
        REQUIRE_EQUAL(cpool_lanes_destroy(layer->lanes), 0);
    }
}

/*
 * ---- Functions that take or give slots, or change how many there are ------
 */

static size_t free_slots(const struct layer *layer)
{
    void *slots[2 * CAPACITY];
    size_t n = 0;

    if (layer->objects != NULL) {
        while ((slots[n] = cpool_object_get(layer->objects)) != NULL)
            n++;
        for (size_t i = 0; i < n; i++)
            cpool_object_put(layer->objects, slots[i]);
    } else if (layer->sized != NULL) {
        n = CAPACITY - support_stats(layer->face).live;
    } else {
        n = cpool_lanes_balance(layer->lanes);
    }
    return n;
}

TEST_TIMES(slots_of_a_layer_refused_to_everybody_else, LAYERS)
{
    struct layer layer = begin(_i);
    struct misuse misuse = { layer.face, layer.slot, NULL };
    struct support_report report;
    const char *wrong;

    REQUIRE(layer.face != NULL);
    wrong = misuse_takes(&misuse);
    if (wrong != NULL)
        support_fail(__FILE__, __LINE__, wrong);
    support_capture_reports();
    cpool_free(layer.face, layer.slot);
    REQUIRE_REPORT(CPOOL_EPOOL);
    REQUIRE(cpool_alloc(layer.face) == NULL);
    REQUIRE_REPORT(CPOOL_EPOOL);
    cpool_release(layer.slot);
    report = REQUIRE_REPORT(CPOOL_EPOOL);
    REQUIRE(report.pool == layer.face && report.name[0] != '\0');
    support_release_reports();
    REQUIRE_EQUAL(free_slots(&layer), CAPACITY - 1);
    end(&layer);
}

/*
 * ---- Questions -------------------------------------------------------------
 */

TEST_TIMES(questions_about_a_layers_slots_are_answered, LAYERS)
{
    struct layer layer = begin(_i);
    cpool_t *face = layer.face;
    cpool_iter_t iter = CPOOL_ITER_INIT(face, 0, CAPACITY);
    void *around;

    REQUIRE(cpool_of(layer.slot, NULL) == face);
    REQUIRE(cpool_of((char *)layer.slot + 1, &around) == face && around == layer.slot);
    REQUIRE(cpool_owns(face, layer.slot));
    REQUIRE(cpool_at(face, cpool_index(face, layer.slot)) == layer.slot);
    REQUIRE_EQUAL(cpool_index_limit(face), CAPACITY);
    REQUIRE(support_stats(face).slot_size >= SIZE);
    support_capture_reports();
    cpool_release((char *)layer.slot + 1);
    REQUIRE_REPORT(CPOOL_EMISALIGNED);
    if (_i != OBJECTS_CHECKED && _i != SIZED_CHECKED) { /* their slots are tracked */
        REQUIRE(cpool_iter_next(&iter) == NULL);
        REQUIRE_REPORT(CPOOL_EKIND);
    }
    support_release_reports();
    end(&layer);
    REQUIRE(cpool_of(layer.slot, NULL) == NULL);
}

TEST(tracked_objects_have_handles)
{
    cpool_objects_t *pool = make_objects(CPOOL_TRACKED);
    cpool_t *face = cpool_objects_pool(pool);
    void *object = cpool_object_get(pool);

    REQUIRE(cpool_resolve(face, cpool_handle(face, object)) == object);
    cpool_object_put(pool, object);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
}

TEST(thread_that_waits_for_an_object_is_dismissed)
{
    struct layer layer = begin(OBJECTS_WAITABLE);
    cpool_grant_t grant = CPOOL_GRANT_INIT;
    void *object;

    grant.wait_ns = 1000000;
    REQUIRE_EQUAL(cpool_wait_close(layer.face), 0);
    cpool_wait_open(layer.face);
    while (cpool_object_get(layer.objects) != NULL)
        ;
    REQUIRE_EQUAL(cpool_object_get_with(layer.objects, &object, &grant), CPOOL_EDRY);
    REQUIRE_EQUAL(cpool_objects_reset(layer.objects, SIZE_MAX), CAPACITY);
    layer.slot = cpool_object_get(layer.objects);
    end(&layer);
}

/*
 * ---- By name, and in a walk -------------------------------------------------
 */

struct walk {
    struct layer *layer;
    unsigned kind;
    const char *name;
    size_t found;
};

static bool visit(const cpool_view_t *view, void *arg)
{
    struct walk *walk = arg;

    if (view->owner != NULL) {
        REQUIRE(view->owner == walk->layer->objects || view->owner == walk->layer->sized ||
                view->owner == walk->layer->lanes);
        REQUIRE_EQUAL(view->kind & (CPOOL_VIEW_OBJECTS | CPOOL_VIEW_SIZED | CPOOL_VIEW_LANES),
                      walk->kind);
        REQUIRE(view->pool == (walk->kind == CPOOL_VIEW_SIZED ? NULL : walk->layer->face));
        REQUIRE_EQUAL(strcmp(view->name, walk->name), 0);
        REQUIRE_EQUAL(view->stats->live, walk->kind == CPOOL_VIEW_LANES ? CAPACITY : 1);
        walk->found++;
    }
    return true;
}

static bool find_line(cpool_t *pool, enum cpool_dump_form what, const char *start)
{
    char text[64] = "";
    FILE *out = tmpfile();

    REQUIRE(out != NULL);
    cpool_print(pool, what, out);
    rewind(out);
    REQUIRE(fgets(text, sizeof text, out) != NULL);
    fclose(out);
    return strncmp(text, start, strlen(start)) == 0;
}

static bool find_printed(cpool_t *pool, const char *start)
{
    return find_line(pool, CPOOL_DUMP_TEXT, start);
}

static bool find_printed_among_all(const char *start)
{
    return find_line(NULL, CPOOL_DUMP_TEXT, start);
}

TEST_TIMES(layers_are_found_as_what_they_are, LAYERS)
{
    static const unsigned kinds[LAYERS] = { CPOOL_VIEW_OBJECTS, CPOOL_VIEW_OBJECTS,
                                            CPOOL_VIEW_OBJECTS, CPOOL_VIEW_SIZED,
                                            CPOOL_VIEW_SIZED,   CPOOL_VIEW_LANES };
    static const char *const printed[LAYERS] = { "objects 'conns'", "objects 'conns'",
                                                 "objects 'conns'", "sized '64 text'",
                                                 "sized '64 text'", "lanes 'units'" };
    static const char *const titles[LAYERS] = {
        "objects 'conns'",       "objects 'conns'", "objects 'conns'", "sized 'text'",
        "sized 'text' (checked", "lanes 'units'"
    };
    struct layer layer = begin(_i);
    static const char *const names[LAYERS] = { "conns", "conns", "conns",
                                               "text",  "text",  "units" };
    struct walk walk = { &layer, kinds[_i], names[_i], 0 };

    REQUIRE(support_find(0, "conns") == NULL);
    REQUIRE(support_find(0, "units") == NULL);
    REQUIRE(support_find(0, "text") == NULL);
    REQUIRE(support_find(0, "64 text") == NULL);
    REQUIRE(support_find(CPOOL_VIEW_OBJECTS, "conns") == layer.objects);
    REQUIRE(support_find(CPOOL_VIEW_SIZED, "text") == layer.sized);
    REQUIRE(support_find(CPOOL_VIEW_LANES, "units") == layer.lanes);
    REQUIRE_EQUAL(cpool_each(visit, &walk), 1);
    REQUIRE_EQUAL(walk.found, 1);
    REQUIRE(find_printed_among_all(titles[_i]));
    REQUIRE(find_printed(layer.face, printed[_i]));
    end(&layer);
    REQUIRE(support_find(CPOOL_VIEW_OBJECTS, "conns") == NULL);
    REQUIRE(support_find(CPOOL_VIEW_LANES, "units") == NULL);
}

/* Not those that wait to be made objects. */
TEST_TIMES(objects_that_callers_have_are_printed_as_live, OBJECTS_WAITABLE + 1)
{
    struct layer layer = begin(_i);
    char text[2048] = "", all[2048] = "";
    FILE *out = tmpfile();
    char *number;

    REQUIRE(out != NULL);
    REQUIRE_EQUAL(cpool_print(layer.face, CPOOL_DUMP_JSON, out), 1);
    rewind(out);
    REQUIRE(fread(text, 1, sizeof text - 1, out) > 0);
    REQUIRE(strstr(text, "\"live\":1,") != NULL);
    number = strstr(text, ",\"number\":");
    REQUIRE(number != NULL);
    rewind(out); /* its number is the same among all */
    REQUIRE_EQUAL(cpool_print(NULL, CPOOL_DUMP_JSON, out), 1);
    rewind(out);
    REQUIRE(fread(all, 1, sizeof all - 1, out) > 0);
    fclose(out);
    *strchr(number + 1, ',') = '\0';
    REQUIRE(strstr(all, number) != NULL);
    end(&layer);
}

static bool visit_fake(const cpool_view_t *view, void *seen)
{
    cpool_objects_t **each = seen;

    REQUIRE(view->kind == CPOOL_VIEW_OBJECTS && view->pool == NULL && view->slots == 0);
    REQUIRE_EQUAL(strcmp(view->name, "conns"), 0);
    REQUIRE_EQUAL(view->stats->capacity, CAPACITY);
    REQUIRE_EQUAL(view->stats->live, 1);
    REQUIRE_EQUAL(view->stats->slot_size, SIZE);
    *each = view->owner;
    return true;
}

TEST(fake_object_pools_are_visited_and_printed)
{
    cpool_objects_t *pool = make_objects(CPOOL_OBJECT_FAKE);
    void *object = cpool_object_get(pool);
    cpool_objects_t *seen = NULL;

    REQUIRE_EQUAL(cpool_each(visit_fake, &seen), 1);
    REQUIRE(seen == pool);
    REQUIRE(find_printed_among_all("objects 'conns' (fake): 4 slots of 64 bytes"));
    cpool_object_put(pool, object);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
    REQUIRE_EQUAL(cpool_each(visit_fake, &seen), 0);
}

/* Creates and destroys pools, its own among them, while they are visited. */
static bool visit_and_end(const cpool_view_t *view, void *arg)
{
    cpool_objects_t **made = arg;

    REQUIRE_EQUAL(cpool_objects_destroy(view->owner), 0);
    if (*made == NULL)
        *made = make_objects(0);
    else
        *made = view->owner;
    return true;
}

TEST(layers_may_begin_and_end_while_they_are_visited)
{
    cpool_objects_t *made = NULL;

    (void)make_objects(0);
    (void)make_objects(CPOOL_OBJECT_FAKE);
    REQUIRE_EQUAL(cpool_each(visit_and_end, &made), 2);
    REQUIRE_EQUAL(cpool_each(visit_and_end, &made), 1); /* the one that a visit has made */
    REQUIRE_EQUAL(cpool_each(visit_and_end, &made), 0);
}

/* A walk ends, whoever makes pools meanwhile. */
static bool visit_and_replace(const cpool_view_t *view, void *unused)
{
    (void)unused;
    REQUIRE_EQUAL(cpool_objects_destroy(view->owner), 0);
    (void)make_objects(0);
    return true;
}

TEST(walk_passes_by_what_begins_during_it)
{
    cpool_objects_t *made = NULL;

    (void)make_objects(0);
    for (int i = 0; i < 3; i++)
        REQUIRE_EQUAL(cpool_each(visit_and_replace, NULL), 1);
    made = make_objects(CPOOL_OBJECT_FAKE);
    REQUIRE_EQUAL(cpool_each(visit_and_end, &made), 2);
}

TEST(fake_object_pools_are_found_by_name)
{
    cpool_objects_t *first = make_objects(CPOOL_OBJECT_FAKE);
    cpool_objects_t *second = make_objects(CPOOL_OBJECT_FAKE);
    cpool_objects_t *third = make_objects(CPOOL_OBJECT_FAKE);

    REQUIRE(support_find(CPOOL_VIEW_OBJECTS, "conns") == first);
    REQUIRE(support_find(CPOOL_VIEW_OBJECTS, "other") == NULL);
    REQUIRE_EQUAL(cpool_objects_destroy(second), 0);
    REQUIRE_EQUAL(cpool_objects_destroy(first), 0);
    REQUIRE(support_find(CPOOL_VIEW_OBJECTS, "conns") == third);
    REQUIRE_EQUAL(cpool_objects_destroy(third), 0);
    REQUIRE(support_find(CPOOL_VIEW_OBJECTS, "conns") == NULL);
}
