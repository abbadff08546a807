// SPDX-License-Identifier: BSD-2-Clause
/*
 * hpp_forms.cpp - <cpool/pool.hpp> and <cpool/object.hpp>: bulk, waits, notices and releases, and
 * the number of a pool's objects.  A part of check_hpp.
 */
#include "hpp.h"

#include <cpool/live.hpp>
#include <cpool/object.hpp>
#include <cpool/pool.hpp>

void check_forms();

namespace {

int living;

#if THROWS
int refusals; // that are to come
#endif

// Making and clearing it throw when told to.
struct thing {
    explicit thing(int a = 0) : number(a)
    {
        require_allowed();
        living++;
    }
    thing(const thing &) = delete;
    ~thing() { living--; }
    void reset() { require_allowed(); }
    static void require_allowed()
    {
#if THROWS
        if (refusals > 0) {
            refusals--;
            throw 5;
        }
#endif
    }

    int number;
};

void object_pools_have_the_size_that_they_are_given()
{
    using objects = cpool::object_pool<thing, cpool::reset_member>;
    cpool_object_config_t config = objects::configuration(2);
    objects::pointer one, two;
    objects pool;
    cpool_grant_t grant = CPOOL_GRANT_INIT;
    int code = -1;

    config.max_capacity = 4;
    REQUIRE(pool.open(config) == 0 && pool.populate(3, &code) == 2 && code == CPOOL_EDRY);
    REQUIRE(pool.get_with(one, &grant) == 0 && grant.uses == 1 && grant.claim != 0);
    REQUIRE(pool.get_with(two) == 0 && two && pool.get() == nullptr);
    REQUIRE(pool.resize(9) == 2 && pool.resize(-1) == 1);
    REQUIRE(objects::release(one.release()) == 0 && pool.stats().active == 1);
#if THROWS
    int caught = 0;

    refusals = 1;
    try {
        pool.populate(1); // the third
    } catch (int number) {
        caught += number;
    }
    refusals = 1;
    try {
        pool.get_with(one); // its reset, after which the object goes back
    } catch (int number) {
        caught += number;
    }
    REQUIRE(caught == 10 && refusals == 0 && !one && pool.stats().active == 1);
#endif
    REQUIRE(pool.populate(9) == 1);
    (void)two.release();
    REQUIRE(pool.reset() == 1 && pool.stats().active == 0);
    REQUIRE(pool.get_with(one) == 0 && pool.get_with(two) == 0);
    REQUIRE(pool.resize(-3) == 1);
    (void)pool.resize(0);
    one.reset();
    two.reset();
    REQUIRE(pool.close() == 0 && living == 0);
}

#if THROWS
cpool::object_pool<thing> *others;

// Its reset and its end use another pool.
struct user {
    user() : own() {}
    ~user() { others->get(); }
    void reset()
    {
        own.reset();
        others->get();
    }

    thing own;
};

struct third_refused {
    void operator()(void *place)
    {
        refusals = ++made == 3;
        ::new (place) user;
    }

    int made = 0;
};

// An object that comes after another one's exception does not lose it.
void exceptions_outlast_the_use_of_other_pools()
{
    using objects = cpool::object_pool<user, cpool::reset_member>;
    cpool_object_config_t config = objects::configuration(3);
    cpool::object_pool<thing> pool(1);
    int caught = 0;

    others = &pool;
    config.flags = CPOOL_OBJECT_EAGER;
    {
        objects users(config);
        objects::pointer one = users.get(), two = users.get();

        refusals = 1;
        try {
            users.reset();
        } catch (int number) {
            caught += number;
        }
        (void)one.release();
        (void)two.release();
    }
    config.populate = 3;
    try {
        cpool::object_pool<user, cpool::reset_member, third_refused> users(config);
    } catch (int number) {
        caught += number;
    }
    REQUIRE(caught == 10 && refusals == 0 && pool.close() == 0 && living == 0);
}
#endif

} // namespace

CPOOL_STATIC_POOL(tables, thing);
CPOOL_DEFINE(tables, thing, .capacity = 3);

namespace {

std::size_t live_slots(cpool_t *pool)
{
    cpool_stats_t stats = CPOOL_STATS_INIT;

    REQUIRE(cpool_read_stats(pool, &stats) == 0);
    return stats.live;
}

template <class Pool> void require_waits(Pool &pool)
{
    const struct timespec moment = {0, 1000};
    thing *slots[4];

    REQUIRE(pool.allocate_bulk(slots, 4) == 3 && pool.allocate_wait(&moment) == nullptr);
    REQUIRE(pool.create_wait(&moment, 5) == nullptr && pool.allocate_or_notify() == nullptr);
    pool.deallocate_bulk(slots, 2);
    thing *one = pool.create_wait(nullptr, 5);
    REQUIRE(one != nullptr && one->number == 5);
    pool.release(one);
    pool.release(nullptr);
    pool.deallocate(slots[2]);
    REQUIRE(live_slots(pool.native_handle()) == 0);
}

void pools_wait()
{
    cpool_config_t config = cpool::pool<thing>::configuration(3);
    cpool::pool<thing> pool;
    cpool::static_pool<thing, tables_tag> statically;

    REQUIRE(pool.open(config) == 0);
    require_waits(pool);
    require_waits(statically);
    REQUIRE(pool.close() == 0 && statically.close() == 0);
}

} // namespace

CPOOL_STATIC_POOL(nothing, thing);
CPOOL_DEFINE(nothing, thing, .capacity = 2, .magazine_rounds = 3);

namespace {

// Its constructor may throw.
struct mark {
    explicit mark(char letter) : name(letter) { thing::require_allowed(); }

    char name;
};

void count_report(const cpool_error_t *error, void *reports)
{
    REQUIRE(error->code == CPOOL_EROUNDS);
    ++*static_cast<int *>(reports);
}

// Why there is no pool is reported once.
void static_pools_that_cannot_be_created_have_no_slots()
{
    using pool = cpool::static_pool<thing, nothing_tag>;
    thing *slots[2];
    int reports = 0;

    cpool_set_error_handler({count_report, &reports});
    REQUIRE(pool::native_handle() == nullptr && pool::create() == nullptr);
    REQUIRE(pool::allocate_bulk(slots, 2) == 0 && pool::allocate_or_notify() == nullptr);
    REQUIRE(pool::allocate_wait() == nullptr && pool::create_wait(nullptr) == nullptr);
    pool::deallocate_bulk(slots, 0);
    REQUIRE(!pool::handle_of(nullptr) && pool::resolve(cpool::handle<thing>()) == nullptr);
    REQUIRE(pool::close() == 0 && reports == 1);
    cpool_set_error_handler({nullptr, nullptr});
}

} // namespace

// Each macro leaves its namespace as it was for the next one.
namespace rooms {

CPOOL_DECLARE(chairs, thing);
CPOOL_DECLARE_HANDLES(chairs, thing);
CPOOL_DECLARE_FRAMES(chairs, thing);
CPOOL_DECLARE_NOTICES(chairs, thing);
CPOOL_DECLARE(lamps, thing);
CPOOL_DEFINE(chairs, thing, .capacity = 2);
CPOOL_DEFINE(lamps, thing, .capacity = 2);
CPOOL_OBJECTS_DECLARE(doors, thing);
CPOOL_OBJECTS_DECLARE_FRAMES(doors, thing);
CPOOL_OBJECTS_DECLARE(windows, thing);
CPOOL_OBJECTS_DEFINE(doors, thing, CPOOL_OBJECT_HOOKS(), .capacity = 2);
CPOOL_OBJECTS_DEFINE(windows, thing, CPOOL_OBJECT_HOOKS(), .capacity = 2);

} // namespace rooms

namespace {

void typed_pools_share_a_namespace()
{
    rooms::chairs_free(rooms::chairs_alloc());
    rooms::lamps_free(rooms::lamps_alloc());
    rooms::doors_put(rooms::doors_get());
    rooms::windows_put(rooms::windows_get());
    REQUIRE(rooms::chairs_close() == 0 && rooms::lamps_close() == 0);
    REQUIRE(rooms::doors_close() == 0 && rooms::windows_close() == 0);
}

} // namespace

void check_forms()
{
    typed_pools_share_a_namespace();
    object_pools_have_the_size_that_they_are_given();
#if THROWS
    exceptions_outlast_the_use_of_other_pools();
#endif
    pools_wait();
    static_pools_that_cannot_be_created_have_no_slots();
}
