/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_object.c - objects are constructed once, go through their hooks in order, and are
 * refused when they are not active.  Active objects that the pool itself ends are deactivated
 * before or, with CPOOL_OBJECT_NO_DEACTIVATE, are not.
 *
 * Includes object.h.
 */
#include "object.h"

#include <cpool/priority.h>
#include <cpool/sized.h>

#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* Every way in which a pool keeps its objects. */
static const struct {
    unsigned flags;
} kinds[] = {
    { 0 },
    { CPOOL_OBJECT_EAGER },
    { CPOOL_OBJECT_COUNTED },
    { CPOOL_OBJECT_TRACED | CPOOL_CHECKED },
    { CPOOL_OBJECT_EAGER | CPOOL_OBJECT_COUNTED | CPOOL_OBJECT_TRACED | CPOOL_OBJECT_WAITABLE },
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), FAKE = KINDS, KINDS_AND_FAKE };


static struct account account;
static cpool_object_type_t type;

static cpool_objects_config_t configure(int kind)
{
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;

    memset(&account, 0, sizeof account);
    type = thing_type(&account);
    config.name = "things";
    config.reset = thing_pool_reset;
    config.growth = 1;
    config.flags = kind == FAKE ? CPOOL_OBJECT_FAKE : kinds[kind].flags;
    return config;
}

static cpool_objects_t *make(int kind)
{
    cpool_objects_config_t config = configure(kind);

    return thing_pool(&config, &type);
}

static struct thing *get(cpool_objects_t *pool)
{
    struct thing *thing = cpool_object_get(pool);

    REQUIRE(thing != NULL && thing->state == THING_ACTIVE);
    return thing;
}

/*
 * ---- Hooks ---------------------------------------------------------------
 */

TEST_TIMES(object_put_and_got_again_is_the_same_construction, KINDS)
{
    cpool_objects_t *pool = make(_i);
    bool is_new = false;
    struct thing *thing;
    void *object;

    REQUIRE_EQUAL(object_obtain_new(pool, &object, &is_new), 0);
    thing = object;
    REQUIRE(is_new && thing->serial == 1 && thing->uses == 1 && thing->resets == 0);
    for (size_t round = 1; round <= 5; round++) {
        cpool_object_put(pool, object);
        REQUIRE_EQUAL(thing->resets,
                      (kinds[_i].flags & CPOOL_OBJECT_EAGER) != 0 ? round : round - 1);
        REQUIRE_EQUAL(object_obtain_new(pool, &object, &is_new), 0);
        REQUIRE(object == thing && !is_new);
        REQUIRE(thing->serial == 1 && thing->uses == round + 1);
        REQUIRE(thing->resets == round && thing->pool_resets == round);
    }
    thing_require(pool, &account, 1);
    cpool_object_put(pool, object);
    thing_require(pool, &account, 0);
    thing_end(pool, &account);
    REQUIRE(account.activated == 6 && account.deactivated == 6);
}

TEST(object_of_a_fake_pool_is_made_each_time)
{
    cpool_objects_t *pool = make(FAKE);

    for (size_t round = 1; round <= 5; round++) {
        struct thing *thing = get(pool);

        REQUIRE(thing->serial == round && thing->uses == 1 && thing->resets == 0);
        thing_require(pool, &account, 1);
        cpool_object_put(pool, thing);
        REQUIRE_EQUAL(account.destroyed, round);
        thing_require(pool, &account, 0);
    }
    REQUIRE(cpool_objects_pool(pool) == NULL);
    REQUIRE_EQUAL(thing_stats(pool).peak, 1);
    thing_end(pool, &account);
}

TEST_TIMES(hooks_may_be_left_out, KINDS_AND_FAKE)
{
    cpool_objects_config_t config = configure(_i);
    cpool_objects_t *pool;
    bool is_new;
    void *a, *b;

    type = (cpool_object_type_t)CPOOL_OBJECT_TYPE_INIT;
    type.object_size = 1;
    config.reset = NULL;
    pool = thing_pool(&config, &type);
    REQUIRE_EQUAL(object_obtain_new(pool, &a, &is_new), 0);
    REQUIRE(is_new);
    b = cpool_object_get(pool);
    REQUIRE(b != NULL && b != a);
    cpool_object_put(pool, a);
    REQUIRE_EQUAL(object_obtain_new(pool, &a, &is_new), 0);
    REQUIRE(is_new == (_i == FAKE));
    cpool_object_put(pool, a);
    cpool_object_put(pool, b);
    cpool_object_put(pool, NULL);
    REQUIRE_EQUAL(thing_stats(pool).creations, _i == FAKE ? 3 : 2);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
}

static int count_activate(void *object, void *arg)
{
    (void)object;
    ((struct account *)arg)->activated++;
    return 0;
}

static void count_deactivate(void *object, void *arg)
{
    (void)object;
    ((struct account *)arg)->deactivated++;
}

static void count_reset(void *object, void *arg)
{
    (void)object;
    ((struct account *)arg)->reset++;
}

TEST_TIMES(each_hook_is_called_without_the_others, KINDS_AND_FAKE)
{
    enum { USES = 5, ACTIVATE = 1, DEACTIVATE = 2, RESET = 4, ALL = 7 };
    cpool_objects_config_t config = configure(_i);
    size_t resets = (config.flags & CPOOL_OBJECT_EAGER) != 0 ? USES : USES - 1;

    config.reset = NULL;
    type = (cpool_object_type_t)CPOOL_OBJECT_TYPE_INIT;
    type.object_size = 1;
    type.arg = &account;
    for (int hooks = 0; hooks <= ALL; hooks++) {
        cpool_objects_t *pool;

        memset(&account, 0, sizeof account);
        type.activate = (hooks & ACTIVATE) != 0 ? count_activate : NULL;
        type.deactivate = (hooks & DEACTIVATE) != 0 ? count_deactivate : NULL;
        type.reset = (hooks & RESET) != 0 ? count_reset : NULL;
        pool = thing_pool(&config, &type);
        for (int i = 0; i < USES; i++)
            cpool_object_put(pool, cpool_object_get(pool));
        REQUIRE_EQUAL(account.activated, (hooks & ACTIVATE) != 0 ? USES : 0);
        REQUIRE_EQUAL(account.deactivated, (hooks & DEACTIVATE) != 0 ? USES : 0);
        REQUIRE_EQUAL(account.reset, (hooks & RESET) != 0 && _i != FAKE ? resets : 0);
        REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
    }
}

TEST_TIMES(create_that_fails_tells_its_code_and_loses_nothing, KINDS_AND_FAKE)
{
    cpool_objects_config_t config = configure(_i);
    cpool_objects_t *pool;
    struct thing *things[4];
    void *object = &account;

    config.growth = 0;
    config.capacity = 4;
    pool = thing_pool(&config, &type);
    for (int times = 0; times < 10; times++) {
        account.create_fails = ECONNREFUSED;
        REQUIRE_EQUAL(cpool_object_get_with(pool, &object, NULL), ECONNREFUSED);
        REQUIRE(object == NULL && cpool_object_get(pool) == NULL);
        thing_require(pool, &account, 0);
    }
    REQUIRE_EQUAL(thing_stats(pool).hook_failures, 20);
    account.create_fails = 0;
    for (int i = 0; i < 4; i++)
        things[i] = get(pool);
    REQUIRE_EQUAL(cpool_object_get_with(pool, &object, NULL), CPOOL_EDRY);
    thing_require(pool, &account, 4);
    if (cpool_objects_pool(pool) != NULL) {
        struct figures stats = support_stats(cpool_objects_pool(pool));

        REQUIRE_EQUAL(stats.failures, 21); /* gets, not the looks for a slot in each of them */
        REQUIRE(stats.live == 4 && stats.live + stats.free == stats.capacity);
    }
    for (int i = 0; i < 4; i++)
        cpool_object_put(pool, things[i]);
    thing_end(pool, &account);
}

/* A recycled object that is unfit is replaced at once, in its own slot. */
TEST_TIMES(activate_that_fails_replaces_the_object, KINDS_AND_FAKE)
{
    cpool_objects_t *pool = make(_i);
    struct thing *thing = get(pool);
    void *object;
    bool is_new;

    cpool_object_put(pool, thing);
    account.activate_fails = EPIPE;
    REQUIRE_EQUAL(cpool_object_get_with(pool, &object, NULL), EPIPE); /* the new one, too */
    REQUIRE(object == NULL && account.destroyed == account.created);
    thing_require(pool, &account, 0);
    account.activate_fails = 0;
    thing = get(pool);
    cpool_object_put(pool, thing);
    thing_require(pool, &account, 0);
    if (_i != FAKE) {
        size_t created = account.created;

        account.activate_fails = EPIPE;
        account.create_fails = ENOTCONN;
        REQUIRE_EQUAL(cpool_object_get_with(pool, &object, NULL), ENOTCONN);
        account.activate_fails = account.create_fails = 0;
        REQUIRE_EQUAL(object_obtain_new(pool, &object, &is_new), 0);
        REQUIRE(is_new && account.created == created + 1);
        cpool_object_put(pool, object);
    }
    thing_require(pool, &account, 0);
    thing_end(pool, &account);
}

static int activate_once_in_two(void *object, void *arg)
{
    struct thing *thing = object;

    if (thing->uses == 1)
        return EPIPE; /* worn out */
    return thing_activate(object, arg);
}

TEST_TIMES(recycled_object_that_is_unfit_is_replaced_by_a_new_one, KINDS)
{
    cpool_objects_config_t config = configure(_i);
    cpool_objects_t *pool;
    bool is_new;
    void *object;

    type.activate = activate_once_in_two;
    pool = thing_pool(&config, &type);
    for (size_t round = 1; round <= 5; round++) {
        REQUIRE_EQUAL(object_obtain_new(pool, &object, &is_new), 0);
        REQUIRE(is_new && ((struct thing *)object)->serial == round);
        cpool_object_put(pool, object);
    }
    REQUIRE_EQUAL(thing_stats(pool).capacity, 1);
    REQUIRE_EQUAL(thing_stats(pool).hook_failures, 4);
    thing_require(pool, &account, 0);
    thing_end(pool, &account);
}

static int times_activated, times_refused;

static int activate_in_turns(void *object, void *arg)
{
    (void)object;
    (void)arg;
    return times_activated++ < times_refused ? EPIPE : 0;
}

TEST(recycled_object_that_nothing_makes_anew_is_refused)
{
    cpool_objects_config_t config = configure(0);
    cpool_objects_t *pool;
    void *object;

    type = (cpool_object_type_t)CPOOL_OBJECT_TYPE_INIT;
    type.object_size = 64;
    type.activate = activate_in_turns;
    config.reset = NULL;
    pool = thing_pool(&config, &type);
    times_activated = times_refused = 0;
    cpool_object_put(pool, cpool_object_get(pool));
    times_activated = 0;
    times_refused = 1;
    REQUIRE_EQUAL(cpool_object_get_with(pool, &object, NULL), EPIPE);
    REQUIRE(object == NULL && times_activated == 1 && thing_stats(pool).objects == 0);
    REQUIRE_EQUAL(cpool_object_get_with(pool, &object, NULL), 0);
    cpool_object_put(pool, object);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
}

/* Hooks hold nothing, so they may use the pool that calls them. */
static cpool_objects_t *used_by_hooks;
static int depth;

static int create_with_helper(void *object, void *arg)
{
    if (depth < 3) {
        void *helper;

        depth++;
        helper = cpool_object_get(used_by_hooks);
        depth--;
        REQUIRE(helper != NULL && helper != object);
        cpool_object_put(used_by_hooks, helper);
    }
    return thing_create(object, arg);
}

static void destroy_with_helper(void *object, void *arg)
{
    cpool_objects_stats_t stats = thing_stats(used_by_hooks);

    REQUIRE(stats.objects > 0);
    thing_destroy(object, arg);
}

TEST_TIMES(hooks_may_use_their_pool, KINDS_AND_FAKE)
{
    cpool_objects_config_t config = configure(_i);
    struct thing *thing;

    type.create = create_with_helper;
    type.destroy = destroy_with_helper;
    used_by_hooks = thing_pool(&config, &type);
    depth = 0;
    thing = get(used_by_hooks);
    cpool_object_put(used_by_hooks, thing);
    thing_require(used_by_hooks, &account, 0);
    REQUIRE(account.created > 1);
    thing_end(used_by_hooks, &account);
}

static jmp_buf way_out;

static int create_and_jump(void *object, void *arg)
{
    thing_create(object, arg);
    longjmp(way_out, 1);
}

TEST_TIMES(hook_that_was_left_is_reported_at_the_end, KINDS)
{
    cpool_objects_config_t config = configure(_i);
    cpool_objects_t *pool;

    config.capacity = 2;
    config.growth = 0;
    type.create = create_and_jump;
    pool = thing_pool(&config, &type);
    if (setjmp(way_out) == 0) {
        REQUIRE(cpool_object_get(pool) == NULL);
        support_fail(__FILE__, __LINE__, "the hook returned");
    }
    REQUIRE_EQUAL(thing_stats(pool).objects, 1);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_objects_destroy(pool), CPOOL_EHOOK);
    REQUIRE_REPORT(CPOOL_EHOOK);
    support_release_reports();
}

/*
 * ---- Mistakes ------------------------------------------------------------
 */

TEST_TIMES(object_that_is_not_active_refused, KINDS)
{
    cpool_objects_t *pool = make(_i);
    cpool_objects_t *other;
    struct thing *thing = get(pool);
    struct thing *foreign;
    struct support_report report;

    REQUIRE(object_active(pool, thing));
    cpool_object_put(pool, thing);
    REQUIRE(!object_active(pool, thing) && !object_active(pool, NULL));
    support_capture_reports();
    cpool_object_put(pool, thing);
    report = REQUIRE_REPORT(CPOOL_EINACTIVE);
    REQUIRE(report.address == thing && strcmp(report.name, "things") == 0);
    REQUIRE(strcmp(report.function, "cpool_object_put") == 0);
    cpool_object_put(pool, (char *)thing + 1);
    REQUIRE_REPORT(CPOOL_EMISALIGNED);
    cpool_object_put(pool, cpool_at(cpool_objects_pool(pool), 1)); /* never made */
    REQUIRE_REPORT(CPOOL_EINACTIVE);
    other = make(_i);
    foreign = get(other);
    REQUIRE(!object_active(pool, foreign));
    cpool_object_put(pool, foreign);
    REQUIRE_REPORT(CPOOL_EFOREIGN);
    cpool_object_put(other, foreign);
    REQUIRE_EQUAL(cpool_objects_destroy(other), 0);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
    REQUIRE_NO_REPORT();
    support_release_reports();
}

TEST_TIMES(address_in_the_last_object_refused, 2)
{
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_object_type_t plain = CPOOL_OBJECT_TYPE_INIT;
    cpool_objects_t *pool;
    char *last;

    plain.object_size = 64;
    plain.deactivate = _i == 1 ? thing_deactivate : NULL; /* never called */
    config.type = &plain;
    config.capacity = 2;
    REQUIRE_EQUAL(cpool_objects_create(&pool, &config), 0);
    last = cpool_at(cpool_objects_pool(pool), 1);
    support_capture_reports();
    for (int i = 1; i < 64; i++) {
        cpool_object_put(pool, last + i);
        REQUIRE_REPORT(CPOOL_EMISALIGNED);
    }
    cpool_object_put(pool, last + 64);
    REQUIRE_REPORT(CPOOL_EFOREIGN);
    support_release_reports();
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
}

/* Of a longer name 31 bytes are kept, all of them printable. */
TEST(name_is_copied_as_a_pools_is)
{
    cpool_objects_t *pool;
    cpool_objects_config_t config = configure(0);
    struct support_report report;
    int local;

    config.name = "123456789012345678901234567890\xc3\xa9";
    pool = thing_pool(&config, &type);
    support_capture_reports();
    cpool_object_put(pool, &local);
    report = REQUIRE_REPORT(CPOOL_EFOREIGN);
    REQUIRE(strcmp(report.name, "123456789012345678901234567890?") == 0);
    support_release_reports();
    thing_end(pool, &account);
}

static void put_with_damage_around(unsigned flags)
{
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_object_type_t plain = CPOOL_OBJECT_TYPE_INIT;
    cpool_objects_t *pool;
    char *object;

    plain.object_size = 64;
    config.type = &plain;
    config.capacity = 1;
    config.flags = flags;
    REQUIRE_EQUAL(cpool_objects_create(&pool, &config), 0);
    object = cpool_object_get(pool);
    REQUIRE(object != NULL);
    object[64] = (char)~object[64];
    support_capture_reports();
    cpool_object_put(pool, object);
    REQUIRE_REPORT(CPOOL_EGUARD);
    REQUIRE(object_active(pool, object));
    cpool_object_put(pool, object);
    REQUIRE(cpool_object_get(pool) == object);
    REQUIRE_NO_REPORT();
    object[64] = (char)~object[64];
    object[-1] = (char)~object[-1];
    cpool_object_put(pool, object);
    REQUIRE_EQUAL(support_take_reports(NULL), 2);
    cpool_object_put(pool, object);
    REQUIRE(cpool_object_get(pool) == object);
    object[64] = (char)~object[64];
    REQUIRE_EQUAL(cpool_objects_reset(pool, SIZE_MAX), 1);
    REQUIRE_REPORT(CPOOL_EGUARD);
    REQUIRE(cpool_object_get(pool) == object);
    cpool_object_put(pool, object);
    REQUIRE_NO_REPORT();
    support_release_reports();
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
}

TEST(object_with_damage_around_it_stays_active)
{
    put_with_damage_around(CPOOL_CHECKED);
}

static void put_with_options(void *unused)
{
    (void)unused;
    REQUIRE_EQUAL(setenv("CPOOL_OPTIONS", ":checked,capacity=5", 1), 0);
    put_with_damage_around(0);
}

TEST(word_of_cpool_options_checks_objects_as_the_flag_does)
{
    support_in_child(put_with_options, NULL);
}

TEST(wait_in_a_pool_without_waiting_refused)
{
    cpool_objects_t *pool = make(0);
    void *object;

    support_capture_reports();
    REQUIRE_EQUAL(object_wait(pool, &object, UINT64_MAX), CPOOL_EKIND);
    REQUIRE_REPORT(CPOOL_EKIND);
    support_release_reports();
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
}

/*
 * ---- Configurations ------------------------------------------------------
 */

TEST(configuration_that_is_wrong_refused)
{
    cpool_objects_config_t good = configure(0);
    cpool_objects_config_t config = good;
    cpool_objects_t *pool = (cpool_objects_t *)(void *)&config;

#define REFUSED(code)                                                   \
    do {                                                                \
        REQUIRE_EQUAL(cpool_objects_create(&pool, &config), (code));    \
        REQUIRE(pool == NULL);                                          \
        config = good;                                                  \
        config.type = &type;                                            \
        type = thing_type(&account);                                    \
    } while (0)

    REFUSED(CPOOL_ENULL); /* no type */
    REQUIRE_EQUAL(cpool_objects_create(NULL, &config), CPOOL_ENULL);
    REQUIRE_EQUAL(cpool_objects_create(&pool, NULL), CPOOL_ENULL);
    config.size = 3;
    REFUSED(CPOOL_ESTRUCT);
    type.size = 3;
    REFUSED(CPOOL_ESTRUCT);
    type.object_size = 0;
    REFUSED(CPOOL_ESLOTSIZE);
    type.object_align = 24;
    REFUSED(CPOOL_EALIGN);
    config.growth = 0;
    REFUSED(CPOOL_ECAPACITY);
    config.capacity = 4;
    config.max_capacity = 3;
    REFUSED(CPOOL_ECAPACITY);
    config.flags = 0x80000000u;
    REFUSED(CPOOL_EFLAGS);
    config.thread_caches = CPOOL_THREAD_CACHES_MAX + 1;
    REFUSED(CPOOL_ECACHES);
    config.capacity = config.populate = 2;
    config.max_inactive = 1;
    REFUSED(CPOOL_ECAPACITY);
    config.capacity = config.populate = 5;
    account.create_fails = EIO;
    account.after = 3;
    REFUSED(EIO);
    REQUIRE(account.created == 3 && account.destroyed == 3);
}

/* Also those of other functions, of blocks of many sizes, and of clients. */
TEST_TIMES(unknown_flag_refused, KINDS_AND_FAKE)
{
    const unsigned known =
        CPOOL_CHECKED | CPOOL_TRACKED | CPOOL_HUGE_PAGES | CPOOL_COLOUR | CPOOL_KEEP_PAGES |
        CPOOL_NO_POISON | CPOOL_RESIDENT | CPOOL_OBJECT_EAGER | CPOOL_OBJECT_COUNTED |
        CPOOL_OBJECT_TRACED | CPOOL_OBJECT_FAKE | CPOOL_OBJECT_NO_DEACTIVATE |
        CPOOL_OBJECT_WAITABLE | CPOOL_OBJECT_PRIORITY | CPOOL_OBJECT_KEEP_LARGER;
    cpool_objects_t *pool;

    for (unsigned flag = 1; flag != 0; flag <<= 1) {
        cpool_objects_config_t config = configure(_i);

        config.type = &type;
        config.flags |= flag;
        if ((flag & known) == 0)
            REQUIRE_EQUAL(cpool_objects_create(&pool, &config), CPOOL_EFLAGS);
    }
}

TEST_TIMES(objects_are_aligned_as_the_type_says, KINDS_AND_FAKE)
{
    cpool_objects_config_t config = configure(_i);
    cpool_objects_t *pool;
    void *objects[20];

    config.reset = NULL;
    type = (cpool_object_type_t)CPOOL_OBJECT_TYPE_INIT;
    type.object_size = 40;
    type.object_align = 256;
    pool = thing_pool(&config, &type);
    for (int i = 0; i < 20; i++) {
        objects[i] = cpool_object_get(pool);
        REQUIRE(objects[i] != NULL && (uintptr_t)objects[i] % 256 == 0);
        memset(objects[i], i, 40);
    }
    for (int i = 0; i < 20; i++) {
        REQUIRE_EQUAL(*(unsigned char *)objects[i], i);
        cpool_object_put(pool, objects[i]);
    }
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
}

/*
 * ---- Objects that the pool ends ----------------------------------------------
 */

enum { CAPACITY = 8, SHRUNK = 3 };

/* An object is destroyed in whatever state it is. */
static void destroy_abruptly(void *object, void *arg)
{
    struct account *given = arg;

    (void)object;
    given->destroyed++;
}

static cpool_objects_config_t configure_end(int kind, unsigned more_flags)
{
    cpool_objects_config_t config = configure(kind);

    type.destroy = destroy_abruptly;
    config.growth = 0;
    config.capacity = CAPACITY;
    config.flags |= more_flags;
    return config;
}

static void end_active(int kind, unsigned more_flags, size_t deactivated)
{
    cpool_objects_config_t config = configure_end(kind, more_flags);
    cpool_objects_t *pool = thing_pool(&config, &type);
    int i;

    for (i = 0; i < CAPACITY; i++)
        REQUIRE(cpool_object_get(pool) != NULL);
    REQUIRE_EQUAL(cpool_objects_resize(pool, -SHRUNK, CPOOL_OBJECT_ACTIVE_TOO), SHRUNK);
    REQUIRE_EQUAL(account.destroyed, SHRUNK);
    REQUIRE_EQUAL(account.deactivated, deactivated != 0 ? SHRUNK : 0);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), CPOOL_ELIVE);
    REQUIRE_EQUAL(account.destroyed, CAPACITY);
    REQUIRE_EQUAL(account.deactivated, deactivated);
}

TEST_TIMES(object_that_the_pool_ends_is_deactivated, KINDS_AND_FAKE)
{
    end_active(_i, 0, CAPACITY);
}

TEST_TIMES(object_that_the_pool_ends_is_not_deactivated_by_choice, KINDS_AND_FAKE)
{
    end_active(_i, CPOOL_OBJECT_NO_DEACTIVATE, 0);
}

/* An object that a caller gives back is deactivated in any pool, and so is one that is put back for
 * its caller. */
TEST_TIMES(object_that_is_put_back_is_always_deactivated, KINDS_AND_FAKE)
{
    cpool_objects_config_t config = configure_end(_i, CPOOL_OBJECT_NO_DEACTIVATE);
    cpool_objects_t *pool;
    void *object;
    int i;

    type.destroy = thing_destroy;
    pool = thing_pool(&config, &type);
    object = cpool_object_get(pool);
    REQUIRE(object != NULL);
    cpool_object_put(pool, object);
    REQUIRE_EQUAL(account.deactivated, 1);
    for (i = 0; i < 3; i++)
        REQUIRE(cpool_object_get(pool) != NULL);
    REQUIRE_EQUAL(cpool_objects_reset(pool, 0), 0);
    REQUIRE_EQUAL(cpool_objects_reset(pool, 2), 2);
    REQUIRE_EQUAL(cpool_objects_reset(pool, SIZE_MAX), 1);
    REQUIRE_EQUAL(account.deactivated, 4);
    REQUIRE_EQUAL(cpool_objects_reset(pool, SIZE_MAX), 0);
    thing_end(pool, &account);
}

/* A use that another one ends goes to a caller, as it would after a put. */
TEST_TIMES(object_that_is_reclaimed_is_always_deactivated, KINDS_AND_FAKE)
{
    cpool_objects_config_t config = configure_end(_i, CPOOL_OBJECT_NO_DEACTIVATE);
    cpool_objects_t *pool;
    int i;

    config.capacity = 1;
    config.flags &= ~CPOOL_OBJECT_WAITABLE;
    config.flags |= CPOOL_OBJECT_PRIORITY;
    pool = thing_pool(&config, &type);
    for (i = 0; i < 3; i++)
        REQUIRE(cpool_object_get(pool) != NULL);
    REQUIRE(account.activated == 3 && account.deactivated == 2);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), CPOOL_ELIVE);
    REQUIRE_EQUAL(account.deactivated, 2);
    REQUIRE_EQUAL(account.created, account.destroyed);
}
