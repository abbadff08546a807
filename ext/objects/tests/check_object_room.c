/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_object_room.c - how many objects there are: growing, shrinking, populating,
 * rejecting, the list of active ones, and memory that goes back.
 *
 * Includes object.h.
 */
#include "object.h"

#include <errno.h>
#include <string.h>

#include <cpool/pools.h>

enum { MANY = 1000 };

static struct account account;
static cpool_object_type_t type;
static struct thing *things[MANY];

static cpool_objects_config_t configure(unsigned flags)
{
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;

    memset(&account, 0, sizeof account);
    type = thing_type(&account);
    config.name = "things";
    config.reset = thing_pool_reset;
    config.flags = flags;
    return config;
}

/* A pool that does not grow. */
static cpool_objects_t *fixed_pool(unsigned flags, size_t capacity)
{
    cpool_objects_config_t config = configure(flags);

    config.capacity = capacity;
    return thing_pool(&config, &type);
}

static void get_all(cpool_objects_t *pool, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        things[i] = cpool_object_get(pool);
        REQUIRE(things[i] != NULL && things[i]->holders++ == 0);
    }
}

static void put_all(cpool_objects_t *pool, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        things[i]->holders--;
        cpool_object_put(pool, things[i]);
    }
}

static const struct thing *highest(size_t n)
{
    const struct thing *found = things[0];

    for (size_t i = 1; i < n; i++)
        found = things[i] > found ? things[i] : found;
    return found;
}

static void require_dry(cpool_objects_t *pool)
{
    void *object;

    REQUIRE_EQUAL(cpool_object_get_with(pool, &object, NULL), CPOOL_EDRY);
    REQUIRE(object == NULL);
}

/*
 * ---- Growing -------------------------------------------------------------
 */

static const unsigned kinds[] = { 0, CPOOL_OBJECT_COUNTED, CPOOL_OBJECT_FAKE };

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

TEST_TIMES(pool_that_grows_by_one_has_as_many_objects_as_were_needed, KINDS)
{
    cpool_objects_config_t config = configure(kinds[_i]);
    cpool_objects_t *pool;

    config.growth = 1;
    config.max_capacity = 100;
    pool = thing_pool(&config, &type);
    thing_require(pool, &account, 0);
    REQUIRE_EQUAL(thing_stats(pool).capacity, 0);
    for (size_t n = 1; n <= 100; n += 33) {
        get_all(pool, n);
        thing_require(pool, &account, n);
        REQUIRE_EQUAL(thing_stats(pool).capacity, n);
        REQUIRE_EQUAL(thing_stats(pool).peak, n);
        put_all(pool, n);
        thing_require(pool, &account, 0);
    }
    REQUIRE(thing_stats(pool).available > 0);
    get_all(pool, 100);
    require_dry(pool);
    REQUIRE(thing_stats(pool).available == 0);
    REQUIRE(kinds[_i] == CPOOL_OBJECT_FAKE || account.created == 100);
    put_all(pool, 100);
    REQUIRE(thing_stats(pool).available > 0);
    thing_end(pool, &account);
}

TEST_TIMES(pool_that_grows_by_batch_creates_the_batch, KINDS)
{
    cpool_objects_config_t config = configure(kinds[_i]);
    bool fake = kinds[_i] == CPOOL_OBJECT_FAKE;
    cpool_objects_t *pool;

    config.growth = 32;
    config.max_capacity = 80;
    pool = thing_pool(&config, &type);
    get_all(pool, 1);
    REQUIRE_EQUAL(account.created, fake ? 1 : 32);
    REQUIRE_EQUAL(thing_stats(pool).capacity, 32);
    REQUIRE_EQUAL(thing_stats(pool).inactive, fake ? 0 : 31);
    put_all(pool, 1);
    get_all(pool, 33);
    REQUIRE_EQUAL(account.created, fake ? 34 : 64);
    put_all(pool, 33);
    get_all(pool, 80);
    REQUIRE_EQUAL(thing_stats(pool).capacity, 80);
    require_dry(pool);
    thing_require(pool, &account, 80);
    put_all(pool, 80);
    thing_end(pool, &account);
}

TEST(batch_that_cannot_be_created_leaves_the_get_alone)
{
    cpool_objects_config_t config = configure(0);
    cpool_objects_t *pool;

    config.growth = 10;
    pool = thing_pool(&config, &type);
    REQUIRE(thing_stats(pool).max_capacity > (sizeof(void *) > 4 ? 1000000 : MANY));
    account.create_fails = ENOMEM;
    account.after = 4;
    get_all(pool, 1);
    REQUIRE(account.created == 4 && thing_stats(pool).hook_failures == 1);
    thing_require(pool, &account, 1);
    account.create_fails = 0;
    put_all(pool, 1);
    get_all(pool, 10);
    REQUIRE_EQUAL(thing_stats(pool).capacity, 10);
    put_all(pool, 10);
    thing_end(pool, &account);
}

TEST_TIMES(grow_and_populate_tell_what_they_did, KINDS)
{
    cpool_objects_config_t config = configure(kinds[_i]);
    bool fake = kinds[_i] == CPOOL_OBJECT_FAKE;
    cpool_objects_t *pool;
    int code = 1;

    config.max_capacity = 50;
    pool = thing_pool(&config, &type);
    require_dry(pool);
    REQUIRE(thing_stats(pool).available == 0);
    REQUIRE_EQUAL(cpool_objects_populate(pool, 5, &code), 0);
    REQUIRE_EQUAL(code, fake ? 0 : CPOOL_EDRY);
    REQUIRE_EQUAL(cpool_objects_resize(pool, 20, 0), 20);
    REQUIRE(account.created == 0 && thing_stats(pool).available > 0);
    REQUIRE_EQUAL(cpool_objects_populate(pool, 15, &code), fake ? 0 : 15);
    REQUIRE_EQUAL(code, 0);
    thing_require(pool, &account, 0);
    account.create_fails = EIO;
    account.after = 2;
    REQUIRE_EQUAL(cpool_objects_populate(pool, 5, &code), fake ? 0 : 2);
    REQUIRE_EQUAL(code, fake ? 0 : EIO);
    account.create_fails = 0;
    thing_require(pool, &account, 0);
    get_all(pool, 20);
    require_dry(pool);
    REQUIRE_EQUAL(cpool_objects_resize(pool, 1000, 0), 30);
    REQUIRE_EQUAL(cpool_objects_resize(pool, 1, 0), 0);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_objects_resize(pool, -10, CPOOL_OBJECT_ACTIVE_TOO | 1u), 0);
    REQUIRE_REPORT(CPOOL_EFLAGS);
    support_release_reports();
    put_all(pool, 20);
    get_all(pool, 50);
    require_dry(pool);
    put_all(pool, 50);
    thing_end(pool, &account);
}

TEST(pool_made_populated_has_new_objects)
{
    cpool_objects_config_t config = configure(0);
    cpool_objects_t *pool;
    bool is_new;
    void *object;

    config.capacity = 10;
    config.populate = 8;
    pool = thing_pool(&config, &type);
    REQUIRE(account.created == 8 && thing_stats(pool).inactive == 8);
    REQUIRE_EQUAL(object_obtain_new(pool, &object, &is_new), 0);
    REQUIRE(is_new && account.created == 8 && ((struct thing *)object)->resets == 0);
    cpool_object_put(pool, object);
    get_all(pool, 10);
    require_dry(pool);
    put_all(pool, 10);
    thing_end(pool, &account);
}

/*
 * ---- Shrinking -----------------------------------------------------------
 */

TEST(shrink_takes_unused_then_inactive_then_by_choice_active_ones)
{
    cpool_objects_t *pool = fixed_pool(CPOOL_OBJECT_COUNTED, 100);

    get_all(pool, 70);
    put_all(pool, 30);                                       /* 30 unused, 30 inactive */
    REQUIRE_EQUAL(cpool_objects_resize(pool, -20, 0), 20);     /* 10, 30 */
    REQUIRE(account.destroyed == 0 && thing_stats(pool).capacity == 80);
    REQUIRE_EQUAL(cpool_objects_resize(pool, -15, 0), 15);     /* 0, 25 */
    REQUIRE_EQUAL(account.destroyed, 5);
    thing_require(pool, &account, 40);
    REQUIRE_EQUAL(cpool_objects_resize(pool, -1000, 0), 25);   /* 40 are active */
    REQUIRE_EQUAL(cpool_objects_resize(pool, -1, 0), 0);
    thing_require(pool, &account, 40);
    REQUIRE(account.destroyed == 30 && account.deactivated == 30);
    REQUIRE_EQUAL(cpool_objects_resize(pool, -3, CPOOL_OBJECT_ACTIVE_TOO), 3);
    REQUIRE(account.destroyed == 33 && account.deactivated == 33);
    thing_require(pool, &account, 37);
    require_dry(pool);
    REQUIRE_EQUAL(cpool_objects_resize(pool, 63, 0), 63);
    REQUIRE_EQUAL(cpool_objects_resize(pool, -1000, CPOOL_OBJECT_ACTIVE_TOO), 100);
    thing_require(pool, &account, 0);
    REQUIRE_EQUAL(thing_stats(pool).capacity, 0);
    require_dry(pool);
    REQUIRE_EQUAL(cpool_objects_resize(pool, 1000, 0), 100);
    get_all(pool, 100);
    require_dry(pool);
    put_all(pool, 100);
    thing_end(pool, &account);
}

static cpool_objects_t *shrunk;
static void *partners[2];

static void put_partners(void *unused, void *nothing)
{
    (void)unused;
    (void)nothing;
    for (size_t i = 0; i < 2; i++) {
        void *partner = partners[i];

        partners[i] = NULL;
        if (partner != NULL)
            cpool_object_put(shrunk, partner);
    }
}

/* The end of one object puts two others, of which the pool keeps one.  The other one ends, too, and
 * is room then. */
TEST_TIMES(shrink_drops_what_its_hooks_put, 2)
{
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_object_type_t trio = CPOOL_OBJECT_TYPE_INIT;
    unsigned flags = _i == 0 ? 0 : CPOOL_OBJECT_ACTIVE_TOO;
    void *third;
    int code;

    trio.object_size = 32;
    trio.destroy = put_partners;
    config.type = &trio;
    config.capacity = 3;
    config.max_inactive = 1;
    REQUIRE_EQUAL(cpool_objects_create(&shrunk, &config), 0);
    for (size_t i = 0; i < 2; i++)
        partners[i] = cpool_object_get(shrunk);
    third = cpool_object_get(shrunk);
    if (flags == 0) {
        cpool_object_put(shrunk, third);
    } else {
        partners[0] = NULL; /* the first to end */
        partners[1] = third;
    }
    REQUIRE_EQUAL(cpool_objects_resize(shrunk, -3, flags), 3);
    REQUIRE_EQUAL(cpool_objects_destroy(shrunk), 0);
    support_capture_reports();
    REQUIRE_EQUAL(cpool_objects_populate(shrunk, 1, &code), 0);
    REQUIRE_EQUAL(code, CPOOL_EPOOL);
    REQUIRE_REPORT(CPOOL_EPOOL);
    support_release_reports();
}

/* The caller of an object that a shrink destroyed comes too late. */
TEST(put_of_an_object_that_a_shrink_destroyed_refused)
{
    cpool_objects_t *pool = fixed_pool(0, 1);

    get_all(pool, 1);
    REQUIRE_EQUAL(cpool_objects_resize(pool, -1, CPOOL_OBJECT_ACTIVE_TOO), 1);
    support_capture_reports();
    cpool_object_put(pool, things[0]);
    REQUIRE_REPORT(CPOOL_EINACTIVE);
    support_release_reports();
    thing_end(pool, &account);
}

TEST(shrink_of_a_fake_pool_lowers_its_capacity)
{
    cpool_objects_t *pool = fixed_pool(CPOOL_OBJECT_FAKE, 10);

    get_all(pool, 6);
    REQUIRE_EQUAL(cpool_objects_resize(pool, -10, 0), 4);
    require_dry(pool);
    REQUIRE_EQUAL(cpool_objects_resize(pool, -2, CPOOL_OBJECT_ACTIVE_TOO), 2);
    thing_require(pool, &account, 4);
    REQUIRE_EQUAL(cpool_objects_reset(pool, SIZE_MAX), 4);
    thing_require(pool, &account, 0);
    thing_end(pool, &account);
}

/*
 * ---- Rejecting pools -----------------------------------------------------
 */

TEST_TIMES(put_beyond_max_inactive_destroys_the_object, 2)
{
    cpool_objects_config_t config = configure(0);
    const struct thing *last = NULL;
    cpool_objects_t *pool;
    int code;

    config.growth = 1;
    config.max_inactive = 10;
    config.flags |= _i == 1 ? CPOOL_OBJECT_WAITABLE : 0;
    pool = thing_pool(&config, &type);
    for (int round = 0; round < 3; round++) {
        get_all(pool, 50);
        thing_require(pool, &account, 50);
        last = round == 0 ? highest(50) : last;
        REQUIRE(highest(50) == last); /* room of destroyed objects comes before fresh memory */
        put_all(pool, 50);
        thing_require(pool, &account, 0);
        REQUIRE_EQUAL(thing_stats(pool).inactive, 10);
        REQUIRE_EQUAL(account.destroyed, 40 * (size_t)(round + 1));
    }
    REQUIRE_EQUAL(cpool_objects_populate(pool, 1, &code), 0);
    REQUIRE_EQUAL(code, CPOOL_EDRY);
    get_all(pool, 7);
    REQUIRE_EQUAL(thing_stats(pool).inactive, 3);
    REQUIRE_EQUAL(cpool_objects_populate(pool, 100, &code), 7);
    put_all(pool, 7);
    REQUIRE_EQUAL(thing_stats(pool).inactive, 10);
    REQUIRE_EQUAL(cpool_objects_resize(pool, PTRDIFF_MIN, 0), 50);
    get_all(pool, 12);
    put_all(pool, 12);
    REQUIRE_EQUAL(thing_stats(pool).inactive, 10);
    thing_end(pool, &account);
}

/*
 * ---- Active objects ------------------------------------------------------
 */

/* Requires that this many are active, each found once. */
static void require_found(const cpool_objects_t *pool, size_t expected)
{
    cpool_object_info_t info = CPOOL_OBJECT_INFO_INIT;
    const void *seen[MANY];
    size_t count = 0;

    while (cpool_objects_next(pool, &info) != NULL) {
        REQUIRE_EQUAL(info.size, sizeof info);
        REQUIRE_EQUAL(info.uses, ((struct thing *)info.object)->uses);
        REQUIRE(((struct thing *)info.object)->holders == 1);
        for (size_t i = 0; i < count; i++)
            REQUIRE(seen[i] != info.object);
        seen[count++] = info.object;
    }
    REQUIRE_EQUAL(count, expected);
    REQUIRE(info.object == NULL && cpool_objects_next(pool, &info) == NULL);
}

TEST_TIMES(next_finds_active_objects_once, KINDS)
{
    cpool_objects_config_t config = configure(kinds[_i]);
    cpool_object_info_t info = CPOOL_OBJECT_INFO_INIT;
    cpool_objects_t *pool;

    config.growth = 10;
    pool = thing_pool(&config, &type);
    require_found(pool, 0);
    get_all(pool, 100);
    put_all(pool, 40);
    require_found(pool, 60);
    for (size_t i = 60; i > 0; i--) { /* the loop may put back what it has found */
        REQUIRE(cpool_objects_next(pool, &info) != NULL);
        cpool_object_put(pool, info.object);
        require_found(pool, i - 1);
    }
    support_capture_reports();
    info.size = 0;
    REQUIRE(cpool_objects_next(pool, &info) == NULL);
    REQUIRE_REPORT(CPOOL_ESTRUCT);
    support_release_reports();
    thing_require(pool, &account, 0);
    REQUIRE_EQUAL(cpool_objects_reset(pool, SIZE_MAX), 0);
    thing_end(pool, &account);
}

/* With hooks and without: a get of an object that a thread's cache has takes a way of its own,
 * for one that was never handed out, too. */
TEST_TIMES(every_get_of_a_populated_pool_is_a_use, 2)
{
    cpool_objects_config_t config = configure(0);
    static void *objects[10];
    cpool_object_info_t info;
    cpool_objects_t *pool;
    bool is_new;

    if (_i == 1) {
        type = (cpool_object_type_t)CPOOL_OBJECT_TYPE_INIT;
        type.object_size = sizeof(struct thing);
        config.reset = NULL;
    }
    config.capacity = config.populate = 10;
    pool = thing_pool(&config, &type);
    for (size_t round = 1; round <= 5; round++) {
        for (int i = 0; i < 10; i++) {
            objects[i] = cpool_object_get(pool);
            REQUIRE(objects[i] != NULL && object_active(pool, objects[i]));
            REQUIRE_EQUAL(objects_count(pool, &info), i + 1);
            REQUIRE_EQUAL(info.uses, round);
        }
        for (int i = 0; i < 10; i++)
            cpool_object_put(pool, objects[i]);
    }
    REQUIRE_EQUAL(object_obtain_new(pool, &objects[0], &is_new), 0);
    REQUIRE(!is_new);
    cpool_object_put(pool, objects[0]);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
}

/* Not inlined, so that its address range is its own. */
__attribute__((__noinline__)) static struct thing *get_here(cpool_objects_t *pool)
{
    struct thing *thing = cpool_object_get(pool);

    REQUIRE(thing != NULL);
    return thing;
}

TEST_TIMES(next_tells_age_and_caller_where_traced, 2)
{
    cpool_objects_config_t config = configure(_i == 0 ? CPOOL_OBJECT_TRACED : 0);
    struct timespec pause = { 0, 2000000 };
    cpool_object_info_t info;
    cpool_objects_t *pool;
    struct thing *thing;

    config.growth = 1;
    pool = thing_pool(&config, &type);
    thing = get_here(pool);
    nanosleep(&pause, NULL);
    REQUIRE_EQUAL(objects_count(pool, &info), 1);
    REQUIRE(info.object == thing && info.index == cpool_index(cpool_objects_pool(pool), thing));
    if (_i == 0) {
        uintptr_t from = (uintptr_t)get_here;

        REQUIRE(info.age_ns >= 2000000);
        REQUIRE((uintptr_t)info.site > from && (uintptr_t)info.site < from + 4096);
    } else {
        REQUIRE(info.age_ns == 0 && info.site == NULL);
    }
    cpool_object_put(pool, thing);
    thing_end(pool, &account);
}

/*
 * ---- Memory --------------------------------------------------------------
 */

enum { PAGE_ISH = 65536 };

/* Objects are destroyed before their pages go, and others keep every byte. */
TEST(lower_capacity_gives_back_the_pages_of_destroyed_objects_alone)
{
    cpool_objects_config_t config = CPOOL_OBJECTS_CONFIG_INIT;
    static unsigned char *blocks[64];
    cpool_objects_t *pool;
    int gone = 0;

    type = (cpool_object_type_t)CPOOL_OBJECT_TYPE_INIT;
    type.object_size = PAGE_ISH;
    config.growth = 1;
    pool = thing_pool(&config, &type);
    for (int i = 0; i < 64; i++) {
        blocks[i] = cpool_object_get(pool);
        REQUIRE(blocks[i] != NULL);
        memset(blocks[i], i + 1, PAGE_ISH);
    }
    REQUIRE_EQUAL(cpool_objects_resize(pool, 0, 0), 0);
    for (int i = 0; i < 64; i += 2)
        cpool_object_put(pool, blocks[i]);
    REQUIRE_EQUAL(cpool_objects_resize(pool, 0, 0), 0); /* those are constructed */
    REQUIRE_EQUAL(cpool_objects_resize(pool, -20, 0), 20);
    for (int i = 0; i < 64; i++) {
        bool zero = i % 2 == 0 && blocks[i][PAGE_ISH / 2] == 0;

        REQUIRE(zero || blocks[i][PAGE_ISH / 2] == i + 1);
        gone += zero;
    }
    REQUIRE_EQUAL(gone, 20);
    REQUIRE_EQUAL(thing_stats(pool).inactive, 12);
    for (int i = 1; i < 64; i += 2)
        cpool_object_put(pool, blocks[i]);
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
}

/* Creation costs no memory for objects that there may be, but are not. */
TEST(pool_for_many_objects_takes_little_memory)
{
    cpool_objects_config_t config = configure(0);
    size_t before = support_resident();
    cpool_objects_t *pool;

    SKIP_IF(before == 0 || SUPPORT_SANITIZED, "resident memory cannot be measured");
    config.max_capacity = 1000000;
    config.growth = 1;
    pool = thing_pool(&config, &type);
    get_all(pool, 10);
    REQUIRE(support_resident() - before < (size_t)1 << 20);
    put_all(pool, 10);
    thing_end(pool, &account);
}
