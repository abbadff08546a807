// SPDX-License-Identifier: BSD-2-Clause
/*
 * hpp_forms.cpp - <cpool/pool.hpp> and <cpool/object.hpp>: bulk, waits, notices and releases, and
 * the number of a pool's objects.  A part of check_hpp.
 */
#include "hpp.h"

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
    cpool_objects_config_t config = objects::configuration(2);
    objects::pointer one, two;
    objects pool;
    cpool_grant_t grant = CPOOL_GRANT_INIT;
    int code = -1;

    config.max_capacity = 4;
    REQUIRE(!pool.get() && pool.get_with(one) == CPOOL_EPOOL && pool.stats().active == 0);
    REQUIRE(pool.populate(1, &code) == 0 && code == CPOOL_EPOOL && pool.reset() == 0);
    REQUIRE(pool.resize(1) == 0 && pool.active().begin() == pool.active().end());
    REQUIRE(pool.open(config) == 0 && pool.populate(3, &code) == 2 && code == CPOOL_EDRY);
    REQUIRE(pool.get_with(one, &grant) == 0 && grant.uses == 1 && grant.claim != 0);
    REQUIRE(pool.get_with(two) == 0 && two && pool.get() == nullptr);
    REQUIRE(pool.resize(9) == 2 && pool.resize(-1) == 1);
    objects::release(one.release());
    REQUIRE(pool.stats().active == 1);
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
    cpool_objects_config_t config = objects::configuration(3);
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

template <class Pool> void require_waits(Pool &pool)
{
    const struct timespec moment = {0, 1000};
    thing *slots[4];

    REQUIRE(pool.allocate_bulk(slots, 4, 4) == 0);
    slots[0] = static_cast<thing *>(pool.allocate_uncached());
    REQUIRE(live(pool.native_handle()) == 1);
    pool.deallocate_uncached(slots[0]);

    REQUIRE(pool.allocate_bulk(slots, 4) == 3 && pool.allocate_wait(&moment) == nullptr);
    REQUIRE(pool.create_wait(&moment, 5) == nullptr && pool.allocate_or_notify() == nullptr);
    pool.deallocate_bulk(slots, 2);
    thing *one = pool.create_wait(nullptr, 5);
    REQUIRE(one != nullptr && one->number == 5);
    pool.release(one);
    pool.release(nullptr);
    pool.deallocate(slots[2]);
    REQUIRE(live(pool.native_handle()) == 0);
}

void pools_wait()
{
    cpool_config_t config = cpool::pool<thing>::configuration(3);
    cpool::pool<thing> pool;
    cpool::static_pool<thing, tables_tag> statically;

    REQUIRE(pool.open(config) == 0 && statically.open() == 0);
    REQUIRE(statically.open(&config) == CPOOL_EOPEN);
    require_waits(pool);
    require_waits(statically);
    REQUIRE(pool.close() == 0 && statically.close() == 0);
}

void count_bytes(const char *, std::size_t n, void *sum) { *static_cast<std::size_t *>(sum) += n; }
void count_notice(cpool_t *, void *sum) { ++*static_cast<std::size_t *>(sum); }
void count_pressure(cpool_t *, std::size_t, void *sum) { ++*static_cast<std::size_t *>(sum); }

void pools_act_as_a_whole()
{
    cpool_config_t config = cpool::pool<thing>::configuration(2);
    cpool::pool<thing> pool;
    const struct timespec hour = {3600, 0};
    std::size_t notices = 0, pressures = 0, bytes = 0;
    void *first;

    config.max_capacity = 5;
    config.flags = CPOOL_CHECKED;
    REQUIRE(pool.open(config) == 0 && pool.index_limit() == 5 && pool.grow(9) == 3);
    REQUIRE(pool.reserve(6) == CPOOL_EDRY && pool.shrink(2) == 2 && pool.stats().capacity == 3);
    thing *one = pool.create(4);
    REQUIRE(pool.owns(one) && !pool.owns(&config) && pool.at(pool.index(one)) == one);
    REQUIRE(pool.span(&first) == 5 * pool.stats().slot_stride && first == pool.at(0));
    REQUIRE(pool.verify(one) == 0 && pool.verify() == 0 && pool.trim() == 0);
    REQUIRE(pool.create() != nullptr && pool.create() != nullptr && pool.grow(2) == 2);
    REQUIRE(pool.create() != nullptr && pool.create() != nullptr);
    REQUIRE(pool.set_ready(count_notice, &notices) == 0 && pool.allocate_or_notify() == nullptr);
    REQUIRE(pool.set_pressure({5, count_pressure, &pressures}).slots == 0);
    pool.destroy(one);
    pool.flush();
    REQUIRE(notices == 1 && pool.create() == one && pool.wait_cancel() == 0);
    REQUIRE(pool.wait_close() == 0 && pool.allocate_wait(&hour) == nullptr && pressures == 1);
    pool.wait_open();
    REQUIRE(pool.dump(CPOOL_DUMP_JSON, count_bytes, &bytes) == 1 && bytes > 100);
    REQUIRE(living == 5 && pool.reset() == 5 && living == 0 && pool.close() == 0);
}

void caches_take_slots_of_their_own()
{
    cpool::pool<thing> pool(1);
    cpool::cache<thing> first(pool), second;

    REQUIRE(first.is_open() && first.open(pool.native_handle()) == CPOOL_EOPEN);
    second = std::move(first);
    first = cpool::cache<thing>(std::move(second));
    REQUIRE(first.is_open() && !second.is_open() && second.create() == nullptr);
    thing *one = first.create(3);
    REQUIRE(one != nullptr && one->number == 3 && first.create() == nullptr);
    first.destroy(one);
    first.destroy(nullptr);
    first.flush();
    REQUIRE(living == 0 && first.native_handle() != nullptr);
    first.close();
    REQUIRE(!first.is_open() && pool.close() == 0);
}

void blocks_have_any_size()
{
    cpool::sized blocks(small_blocks());
    char *text = static_cast<char *>(blocks.allocate(100));

    text[99] = 'a';
    text = static_cast<char *>(blocks.reallocate(text, 100000));
    REQUIRE(text[99] == 'a' && blocks.usable_size(text) >= 100000);
    blocks.deallocate(text);
    void *aligned = blocks.allocate_aligned(100, 256);
    int *zeroes = static_cast<int *>(blocks.allocate_zeroed(10, sizeof(int)));
    REQUIRE(reinterpret_cast<std::uintptr_t>(aligned) % 256 == 0 && zeroes[9] == 0);
    REQUIRE(blocks.stats().live == 2);
    blocks.deallocate(aligned);
    blocks.deallocate(zeroes);
    REQUIRE(blocks.stats().live == 0 && blocks.trim() + 1 > 0 && blocks.close() == 0);
}

} // namespace

CPOOL_STATIC_POOL(nothing, thing);
CPOOL_DEFINE(nothing, thing, .capacity = 2, .magazine_rounds = 3);

namespace {

struct reports {
    int code, count;
};

void count_report(const cpool_error_t *error, void *reported)
{
    struct reports *all = static_cast<struct reports *>(reported);

    REQUIRE(error->code == all->code);
    all->count++;
}

// Why there is no pool is reported once.
void static_pools_that_cannot_be_created_have_no_slots()
{
    using pool = cpool::static_pool<thing, nothing_tag>;
    thing *slots[2];
    reports reports = {CPOOL_EROUNDS, 0};

    cpool_set_error_handler({count_report, &reports});
    REQUIRE(pool::native_handle() == nullptr && pool::create() == nullptr);
    REQUIRE(pool::allocate_bulk(slots, 2) == 0 && pool::allocate_or_notify() == nullptr);
    REQUIRE(pool::allocate_wait() == nullptr && pool::create_wait(nullptr) == nullptr);
    pool::deallocate_bulk(slots, 0);
    REQUIRE(!pool::handle_of(nullptr) && pool::resolve(cpool::handle<thing>()) == nullptr);
    REQUIRE(pool::close() == 0 && reports.count == 1);
    REQUIRE(cpool_set_error_handler({nullptr, nullptr}).report == count_report);
}

// Each use is one report.
void require_no_slots(cpool::pool<thing> &pool, thing *other, reports &reports)
{
    thing *slots[2];
    std::size_t bytes = 0;
    int before = reports.count;

    REQUIRE(!pool.is_open() && pool.native_handle() == nullptr && pool.close() == 0);
    REQUIRE(pool.allocate() == nullptr && pool.create(1) == nullptr && !pool.make(1));
    REQUIRE(pool.allocate_bulk(slots, 2) == 0 && pool.allocate_wait() == nullptr);
    pool.deallocate(other);
    pool.destroy(other);
    pool.flush();
    REQUIRE(reports.count == before + 8 && pool.live().begin() == pool.live().end());
    REQUIRE(pool.stats().capacity == 0 && pool.dump(CPOOL_DUMP_TEXT, count_bytes, &bytes) == 0);
    REQUIRE(!cpool::cache<thing>(pool).is_open() && reports.count == before + 9);
}

void what_is_not_open_is_refused()
{
    reports reports = {CPOOL_EPOOL, 0};
    cpool::pool<thing> from(3), to(std::move(from)), never;
    cpool::sized blocks;
    cpool::frame<int> frame;
    cpool::cache<thing> cache;

    cpool_set_error_handler({count_report, &reports});
    require_no_slots(from, to.create(), reports);
    require_no_slots(never, to.create(), reports);
    REQUIRE(living == 0 && to.is_open() && from.open(cpool::pool<thing>::configuration(1)) == 0);
    reports.count = 0;
    REQUIRE(blocks.allocate(1) == nullptr && blocks.allocate_aligned(1, 8) == nullptr);
    REQUIRE(blocks.allocate_zeroed(1, 1) == nullptr && blocks.reallocate(&blocks, 1) == nullptr);
    REQUIRE(blocks.usable_size(&blocks) + blocks.trim() + blocks.stats().class_count == 0);
    REQUIRE(frame.allocate() == nullptr && frame.create() == nullptr && cache.create() == nullptr);
    cache.flush();
    REQUIRE(reports.count == 0);
    thing *last = to.create();
    cache.destroy(last);
    blocks.deallocate(last);
    REQUIRE(reports.count == 2 && to.close() == CPOOL_ELIVE);
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
    pools_act_as_a_whole();
    caches_take_slots_of_their_own();
    blocks_have_any_size();
    static_pools_that_cannot_be_created_have_no_slots();
    what_is_not_open_is_refused();
}
