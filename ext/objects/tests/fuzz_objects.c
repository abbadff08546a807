/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_objects.c - a pool of objects, with hooks that hold their order against a model.
 */
#include "fuzz.h"

#include <string.h>

#include <cpool/object.h>

enum { MOST = 128, CREATE_FAILED = 77, ACTIVATE_FAILED = 78 };

/* NEW has been created, and DIRTY waits to be reset. */
enum life { DEAD, NEW, ACTIVE, DIRTY, HALF_CLEAN, CLEAN };

struct body {
    uint64_t magic; /* its address, while it is constructed */
    uint32_t life;
    uint32_t uses;
};

static struct {
    cpool_objects_t *pool; /* NULL: none */
    cpool_objects_config_t config;
    cpool_object_type_t type;
    bool fake;
    bool fails_create; /* the next one */
    bool fails_activate;
    size_t created;
    size_t destroyed;
    size_t n_held;
    struct body *held[MOST];
} objects;

/*
 * ---- Hooks -------------------------------------------------------------------
 */

static void require_constructed(const struct body *body, void *arg)
{
    FUZZ_REQUIRE(arg == &objects);
    FUZZ_EQUAL(body->magic, (uintptr_t)body);
}

static int create(void *object, void *arg)
{
    struct body *body = object;

    FUZZ_REQUIRE(arg == &objects);
    if (objects.fails_create) {
        objects.fails_create = false;
        return CREATE_FAILED;
    }
    body->magic = (uintptr_t)body;
    body->life = NEW;
    body->uses = 0;
    objects.created++;
    return 0;
}

static int activate(void *object, void *arg)
{
    struct body *body = object;

    require_constructed(body, arg);
    FUZZ_REQUIRE(body->life == NEW || body->life == CLEAN);
    if (objects.fails_activate) {
        objects.fails_activate = false;
        return ACTIVATE_FAILED;
    }
    body->life = ACTIVE;
    body->uses++;
    return 0;
}

static void let_go(const struct body *body)
{
    for (size_t i = 0; i < objects.n_held; i++)
        if (objects.held[i] == body) {
            objects.held[i] = objects.held[--objects.n_held];
            return;
        }
    FUZZ_REQUIRE(objects.n_held == SIZE_MAX); /* it was not held */
}

static void deactivate(void *object, void *arg)
{
    struct body *body = object;

    require_constructed(body, arg);
    FUZZ_EQUAL(body->life, ACTIVE);
    body->life = DIRTY;
    let_go(body);
}

static void reset_type(void *object, void *arg)
{
    struct body *body = object;

    require_constructed(body, arg);
    FUZZ_EQUAL(body->life, DIRTY);
    body->life = HALF_CLEAN;
}

static void reset_pool(void *object, void *arg)
{
    struct body *body = object;

    require_constructed(body, arg);
    FUZZ_EQUAL(body->life, HALF_CLEAN);
    body->life = CLEAN;
}

static void destroy(void *object, void *arg)
{
    struct body *body = object;

    require_constructed(body, arg);
    FUZZ_REQUIRE(body->life != ACTIVE && body->life != DEAD);
    body->magic = 0;
    body->life = DEAD;
    objects.destroyed++;
}

/*
 * ---- Calls -------------------------------------------------------------------
 */

static cpool_objects_stats_t verify(void)
{
    cpool_objects_stats_t stats = CPOOL_OBJECTS_STATS_INIT;
    size_t exist = objects.created - objects.destroyed;

    FUZZ_EQUAL(cpool_objects_read_stats(objects.pool, &stats), 0);
    FUZZ_EQUAL(stats.active, objects.n_held);
    FUZZ_EQUAL(stats.objects, exist);
    FUZZ_EQUAL(stats.inactive, exist - objects.n_held);
    FUZZ_EQUAL(stats.creations, objects.created);
    FUZZ_EQUAL(stats.destructions, objects.destroyed);
    FUZZ_REQUIRE(stats.objects <= stats.capacity && stats.capacity <= stats.max_capacity);
    FUZZ_REQUIRE(stats.peak >= objects.n_held);
    for (size_t i = 0; i < objects.n_held; i++) {
        require_constructed(objects.held[i], &objects);
        FUZZ_EQUAL(objects.held[i]->life, ACTIVE);
    }
    REPORTS_EQUAL(0, 0);
    return stats;
}

static bool is_full(void)
{
    cpool_objects_stats_t stats = verify();

    return objects.n_held >= (objects.config.growth != 0 ? stats.max_capacity : stats.capacity) ||
           objects.n_held == MOST;
}

static void get(void)
{
    bool create_fails = objects.fails_create;
    bool activate_fails = objects.fails_activate;
    bool full = is_full();
    cpool_grant_t grant = CPOOL_GRANT_INIT;
    void *object = &objects;
    int code;

    if (objects.n_held == MOST)
        return;
    if ((objects.config.flags & CPOOL_OBJECT_WAITABLE) != 0 && input_below(3) == 0)
        grant.wait_ns = 1;
    code = cpool_object_get_with(objects.pool, &object, &grant);
    fuzz_trace("get, code", (size_t)-code);
    FUZZ_EQUAL(object != NULL, code == 0);
    if (code == CREATE_FAILED)
        FUZZ_REQUIRE(create_fails && !objects.fails_create);
    else if (code == ACTIVATE_FAILED)
        FUZZ_REQUIRE(activate_fails && !objects.fails_activate);
    else
        FUZZ_EQUAL(code, full ? CPOOL_EDRY : 0);
    if (code != 0)
        return;
    objects.held[objects.n_held++] = object;
    FUZZ_EQUAL(((struct body *)object)->uses == 1, grant.uses == 1);
    FUZZ_EQUAL((uintptr_t)object % (objects.type.object_align != 0 ? objects.type.object_align : 8),
               0);
}

static void put(void)
{
    struct body *body;

    if (objects.n_held == 0)
        return;
    body = objects.held[input_below(objects.n_held)];
    if (input_below(3) == 0)
        cpool_object_release(body);
    else
        cpool_object_put(objects.pool, body);
    if (objects.fake)
        return;
    cpool_object_put(objects.pool, body);
    REPORTS_EQUAL(1, CPOOL_EINACTIVE);
}

/* While other pools are fake, a release reads the bytes before the address. */
static void put_wrong(void)
{
    if (objects.fake)
        return;
    cpool_object_put(objects.pool, objects.held);
    cpool_object_release(objects.held);
    REPORTS_EQUAL(2, CPOOL_EFOREIGN);
    cpool_object_put(objects.pool, NULL);
    if (objects.n_held == 0)
        return;
    cpool_object_put(objects.pool, (char *)objects.held[0] + 1);
    REPORTS_EQUAL(1, CPOOL_EMISALIGNED);
}

static void put_all(void)
{
    size_t active = objects.n_held;

    FUZZ_EQUAL(cpool_objects_reset(objects.pool, SIZE_MAX), active);
    FUZZ_EQUAL(objects.n_held, 0);
}

static void find_active(void)
{
    cpool_object_info_t info = CPOOL_OBJECT_INFO_INIT;
    const struct body *body;
    size_t count = 0;

    for (; (body = cpool_objects_next(objects.pool, &info)) != NULL; count++) {
        FUZZ_EQUAL(body->life, ACTIVE);
        FUZZ_EQUAL(info.uses, body->uses);
    }
    FUZZ_EQUAL(count, objects.n_held);
}

static void resize(void)
{
    cpool_objects_stats_t stats = verify();
    size_t n = input_below(40);
    unsigned flags = input_below(3) == 0 ? CPOOL_OBJECT_ACTIVE_TOO : 0;
    size_t room = stats.max_capacity - stats.capacity;
    size_t idle = stats.capacity - (flags != 0 ? 0 : stats.active);

    if (input_below(2) == 0) {
        FUZZ_EQUAL(cpool_objects_resize(objects.pool, (ptrdiff_t)n, 0), n < room ? n : room);
        return;
    }
    fuzz_trace("shrink objects", n);
    FUZZ_EQUAL(cpool_objects_resize(objects.pool, -(ptrdiff_t)n, flags), n < idle ? n : idle);
    FUZZ_EQUAL(verify().capacity, stats.capacity - (n < idle ? n : idle));
}

static void populate(void)
{
    cpool_objects_stats_t stats = verify();
    size_t n = input_below(20);
    bool create_fails = objects.fails_create;
    bool waitable = (objects.config.flags & CPOOL_OBJECT_WAITABLE) != 0;
    size_t room = stats.capacity - stats.objects;
    int code = 1;
    size_t made = cpool_objects_populate(objects.pool, n, &code);

    fuzz_trace("populate", made);
    if (objects.fake) {
        FUZZ_EQUAL(made, 0);
        return;
    }
    if (objects.config.max_inactive != 0) {
        size_t places = stats.inactive < objects.config.max_inactive
                            ? objects.config.max_inactive - stats.inactive
                            : 0;
        if (places < room)
            room = places;
    }
    if (code == CREATE_FAILED)
        FUZZ_REQUIRE(create_fails && made < n);
    else
        FUZZ_REQUIRE(code == (n > room ? CPOOL_EDRY : 0) || (waitable && code == CPOOL_EDRY));
    if (code != CREATE_FAILED)
        FUZZ_REQUIRE(made == (n < room ? n : room) || (waitable && made < n && made < room));
}

/*
 * ---- The pool ------------------------------------------------------------------
 */

static void choose(void)
{
    static const unsigned kinds[] = {0, 0, CPOOL_OBJECT_WAITABLE, CPOOL_CHECKED, CPOOL_TRACKED};
    static const cpool_object_type_t type = {
        sizeof type, sizeof(struct body), 0, create, activate, deactivate, reset_type, destroy,
        &objects
    };
    cpool_objects_config_t *config = &objects.config;

    memset(&objects, 0, sizeof objects);
    objects.type = type;
    objects.type.object_size += 8 * input_below(16);
    objects.type.object_align = input_below(2) * 64;
    *config = (cpool_objects_config_t)CPOOL_OBJECTS_CONFIG_INIT;
    config->type = &objects.type;
    config->reset = reset_pool;
    config->reset_arg = &objects;
    config->capacity = input_below(30);
    config->max_capacity = config->capacity + 1 + input_below(MOST - 40);
    config->growth = input_below(2) * input_below(12);
    config->populate = input_below(3) == 0 ? input_below(40) : 0;
    config->max_inactive = input_below(4) == 0 ? 1 + input_below(10) : 0;
    config->flags = (unsigned)input_below(16) * CPOOL_OBJECT_EAGER;
    config->flags |= kinds[input_below(5)];
    config->flags |= input_below(6) == 0 ? CPOOL_COLOUR : 0;
    objects.fake = (config->flags & CPOOL_OBJECT_FAKE) != 0;
    objects.fails_create = input_below(8) == 0;
}

static void make(void)
{
    cpool_objects_t *pool = (cpool_objects_t *)(void *)&objects;
    bool contradicts, fails;
    int code;

    choose();
    fails = objects.fails_create;
    contradicts = objects.config.max_inactive != 0 &&
                  objects.config.populate > objects.config.max_inactive &&
                  objects.config.capacity > objects.config.max_inactive;
    code = cpool_objects_create(&pool, &objects.config);
    fuzz_trace("objects, code", (size_t)-code);
    if (contradicts)
        FUZZ_EQUAL(code, CPOOL_ECAPACITY);
    else
        FUZZ_REQUIRE(code == 0 || (code == CREATE_FAILED && fails));
    FUZZ_EQUAL(pool != NULL, code == 0);
    FUZZ_EQUAL(objects.created - objects.destroyed == 0 || code == 0, true);
    objects.pool = pool;
}

void objects_end(void)
{
    size_t active = objects.n_held;

    if (objects.pool == NULL)
        return;
    FUZZ_EQUAL(cpool_objects_destroy(objects.pool), active == 0 ? 0 : CPOOL_ELIVE);
    FUZZ_EQUAL(objects.created, objects.destroyed);
    FUZZ_EQUAL(objects.n_held, 0);
    REPORTS_EQUAL(0, 0);
    objects.pool = NULL;
}

void objects_any(void)
{
    size_t steps = 1 + input_below(12);

    if (objects.pool == NULL) {
        make();
        return;
    }
    for (; steps > 0 && input_left(); steps--) {
        size_t what = input_below(24);

        fuzz_trace("objects", what);
        switch (what) {
        case 0: resize(); break;
        case 1: populate(); break;
        case 2: find_active(); break;
        case 3: put_wrong(); break;
        case 4: cpool_objects_resize(objects.pool, 0, 0); break;
        case 5: put_all(); break;
        case 6: objects.fails_create = true; break;
        case 7: objects.fails_activate = true; break;
        case 8:
        case 9:
        case 10:
        case 11:
        case 12: put(); break;
        default: get(); break;
        }
        verify();
    }
    if (input_below(12) == 0)
        objects_end();
}
